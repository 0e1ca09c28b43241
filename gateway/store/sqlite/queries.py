"""SQL lives in the .sql files beside this one, each query named and described; Python only passes values."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

FOLDER = Path(__file__).parent
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def load(file: str) -> Mapping[str, str]:
    """The queries of one file by name; a block runs from its `-- name:` line to the next one.

    Comments are left out of what is executed: SQLite compiles a statement once for each text, but reads every byte.
    """
    blocks = _NAME.split((FOLDER / file).read_text("utf-8"))[1:]
    return MappingProxyType({name: _bare(block) for name, block in zip(blocks[::2], blocks[1::2], strict=True)})


def _bare(block: str) -> str:
    lines = (line.strip() for line in block.splitlines())
    return " ".join(line for line in lines if line and not line.startswith("--")).rstrip(";")
