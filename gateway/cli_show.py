"""How a command shows its answer: aligned columns for people, JSON for programs."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise, takewhile
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

UNFOLDED = 1000  # columns
SHORTEST_ID = 8  # characters of an id shown at least

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    cell: Callable[[Item], str]
    style: str = ""


class Show:
    """`form` is human or json."""

    def __init__(self, form: str) -> None:
        self.is_json = form == "json"
        # In a pipe nothing is folded: a line is a record there.
        self._console = Console(highlight=False, width=None if sys.stdout.isatty() else UNFOLDED)

    def table(self, items: Sequence[Item], columns: Sequence[Column], *, none: str, more: bool = False) -> None:
        if self.is_json:
            self.json(list(items))
            return
        if not items:
            self.line(none)
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in columns:
            table.add_column(column.title, style=column.style, overflow="fold")
        for item in items:
            # Text: nobody's words are markup.
            table.add_row(*(Text(printable(column.cell(item))) for column in columns))
        self._print(table)
        if more:
            self.line("... and more; --limit shows them")

    def facts(self, item: Item, *, title: str) -> None:
        """One thing, with everything known of it; nested lists become indented lines."""
        if self.is_json:
            self.json(item)
            return
        self.line(title)
        width = max((len(label(key)) for key in item), default=0)
        for key, value in item.items():
            if isinstance(value, list) and value and isinstance(value[0], Mapping):
                self.line(f"\n{label(key)}:")
                for entry in value:
                    self.line("  " + "  ".join(_said(k, v) for k, v in entry.items() if v not in ("", None, [])))
            elif value not in ("", None, []):
                self.line(f"  {label(key):<{width}}  {plain(value, key)}")

    def done(self, answer: Item, words: str) -> None:
        if self.is_json:
            self.json(answer)
        else:
            self.line(words)

    def json(self, value: object) -> None:
        sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")

    def line(self, text: str) -> None:
        self._print(Text(text))

    def _print(self, thing: Table | Text) -> None:
        self._console.print(thing, soft_wrap=isinstance(thing, Text))


def shorten(ids: Iterable[str]) -> Callable[[str], str]:
    """The shortest beginnings that still tell these ids apart; ids made in one minute begin alike."""
    length = max([SHORTEST_ID, *(_shared(one, other) + 1 for one, other in pairwise(sorted(set(ids))))])
    return lambda full: full[:length]


def _shared(one: str, other: str) -> int:
    """How many characters two ids have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _said(key: str, value: object) -> str:
    """When something was needs no label."""
    return plain(value, key) if key == "time" else f"{label(key)} {plain(value, key)}"


def label(key: str) -> str:
    return key.replace("_", " ")


def plain(value: object, key: str = "") -> str:
    """A value in words: yes and no, local times, lists with commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(plain, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{label(str(k))} {plain(v, str(k))}" for k, v in value.items())
    text = "" if value is None else str(value)
    moment = _moment(text)
    return when(text) if moment and key not in ("id", "ref") else printable(text)


def printable(text: str) -> str:
    """What strangers wrote, without what a terminal would obey."""
    return "".join(
        char if char.isprintable() else " " if char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


def when(text: str | None) -> str:
    """A local time, and how long ago that was."""
    moment = _moment(text or "")
    if moment is None:
        return ""
    stamp = moment.astimezone()
    return f"{stamp:%Y-%m-%d %H:%M:%S} ({ago(time.time() - moment.timestamp())})"


def ago(seconds: float) -> str:
    tense = "ago" if seconds >= 0 else "from now"
    seconds = abs(seconds)
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} {tense}"
    return f"{seconds:.0f} s {tense}"


def _moment(text: str) -> datetime | None:
    if len(text) < 20 or text[4:5] != "-" or text[10:11] != "T":
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
