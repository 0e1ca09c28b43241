"""The documents as data: their sections, tables, code blocks and links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

GUIDES = (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")))
DOCUMENTS = (*GUIDES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")

_BLOCK = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#+) ([^\n]+)$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `info` is what stands behind its three backticks."""

    document: str
    info: str
    text: str

    @property
    def id(self) -> str:
        first = next((line for line in self.text.splitlines() if line.strip()), "")
        return f"{self.document}: {first.strip()[:40]}"


def document(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def blocks(path: Path) -> Iterator[Block]:
    for indent, info, text in _BLOCK.findall(path.read_text("utf-8")):
        lines = (line.removeprefix(indent) for line in text.splitlines())
        yield Block(str(path.relative_to(ROOT)), info.strip(), "\n".join(lines) + "\n")


def all_blocks(info: str) -> list[Block]:
    return [block for path in DOCUMENTS for block in blocks(path) if block.info == info]


def prose(text: str) -> str:
    """The text without its code blocks."""
    return _BLOCK.sub("", text)


def sections(text: str) -> dict[str, str]:
    """What stands below each heading, up to the next one of any level."""
    found = list(_HEADING.finditer(prose(text)))
    ends = [*(heading.start() for heading in found[1:]), None]
    return {heading[2]: prose(text)[heading.end() : end] for heading, end in zip(found, ends, strict=True)}


def rows(section: str) -> list[list[str]]:
    """The cells of its table, without the heading."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def coded(text: str) -> list[str]:
    """Everything in backticks, in order."""
    return _CODE.findall(text)


def first(cell: str) -> str:
    """The one thing in backticks that the cell is about."""
    return coded(cell)[0]


def links(text: str) -> list[str]:
    return _LINK.findall(prose(text))


def anchors(text: str) -> set[str]:
    """The headings as addresses, in the way GitHub makes them."""
    titles = (re.sub(r"[`*]", "", title) for _, title in _HEADING.findall(prose(text)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
