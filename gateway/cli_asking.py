"""The options that the commands have in common."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Form(StrEnum):
    HUMAN = "human"
    JSON = "json"


Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="The gateway's configuration.")]
Format = Annotated[Form, typer.Option("--format", help="How to answer.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many, newest first.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Its id, or a beginning of it that no other shares.")]
FullId = Annotated[str, typer.Argument(metavar="ID", help="Its whole id, as a list or the log shows it.")]
