"""Links lead somewhere, files that are named exist, and the way of a message is the one that is walked."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.reading import DOCUMENTS, GUIDES, anchors, coded, links

FILE = re.compile(r"(?:core|config|a2a|plugins|gateway|tests|benchmarks|docs|requirements|scripts)/[\w./*-]*")
PLACEHOLDER = re.compile(r"NAME|\*")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_internal_link_leads_somewhere(path: Path) -> None:
    broken = [link for link in links(path.read_text("utf-8")) if is_internal(link) and not resolves(path, link)]
    assert broken == []


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_is_named_exists(path: Path) -> None:
    named = [word for word in coded(path.read_text("utf-8")) if FILE.fullmatch(word) and not PLACEHOLDER.search(word)]
    assert [word for word in named if not (ROOT / word).exists()] == []


def test_every_document_is_reached_from_the_readme() -> None:
    reached = {ROOT / link for link in links((ROOT / "README.md").read_text("utf-8")) if is_internal(link)}
    assert {*ROOT.glob("docs/*.md")} <= reached


def is_internal(link: str) -> bool:
    return "://" not in link and not link.startswith("mailto:")


def resolves(path: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = path.parent / file if file else path
    return target.exists() and (not anchor or anchor in anchors(target.read_text("utf-8")))
