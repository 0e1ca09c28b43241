"""What the commands that ask the running gateway have in common: their options, a list, one record, an action."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli_client import GatewayClient, segment
from gateway.cli_show import Column, Show, shorten

API = "/api/v1"


class Form(StrEnum):
    HUMAN = "human"
    JSON = "json"


Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="The gateway's configuration.")]
Format = Annotated[Form, typer.Option("--format", help="How to answer.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many, newest first.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Its id, or a beginning of it that no other shares.")]
FullId = Annotated[str, typer.Argument(metavar="ID", help="Its whole id, as a list or the log shows it.")]

Row = dict[str, Any]

# What a record may be asked for by besides its id: what its list shows, or its caller knows.
CALLED = {"tasks": ("task_id", "served_task")}


def list_(
    path: str,
    by: str,
    columns: Callable[[Callable[[str], str]], Sequence[Column]],
    none: str,
    config: Path | None,
    form: Form,
    limit: int,
    state: str | None,
) -> None:
    client = GatewayClient.of(config)
    items = list(client.items(f"{API}/{path}", most=limit + 1, state=state))
    short = shorten(str(item[by]) for item in items)
    nothing = none if state is None else f"none is {state}"
    Show(form).table(items[:limit], columns(short), none=nothing, more=len(items) > limit)


def show(
    path: str,
    short: str,
    config: Path | None,
    form: Form,
    *,
    by: str = "id",
    told: Callable[[Row], Row] = dict,
) -> None:
    """`told` is the record as people read it."""
    client = GatewayClient.of(config)
    full = client.find(f"{API}/{path}", short, by=by, called=CALLED.get(path, ()))
    item = client.get(f"{API}/{path}/{segment(full)}")
    Show(form).facts(told(item) if form is Form.HUMAN else item, title=full)


def facts(path: str, id: str, config: Path | None, form: Form) -> None:
    """One record by its whole id."""
    Show(form).facts(GatewayClient.of(config).get(f"{API}/{path}/{segment(id)}"), title=id)


def act(
    path: str,
    short: str,
    verb: str,
    words: Callable[[Row], str],
    config: Path | None,
    form: Form,
    *,
    body: Mapping[str, str] | None = None,
) -> None:
    client = GatewayClient.of(config)
    full = client.find(f"{API}/{path}", short, called=CALLED.get(path, ()))
    item = client.act(f"{API}/{path}/{segment(full)}:{verb}", body)
    Show(form).done(item, f"{full}: {words(item)}")
