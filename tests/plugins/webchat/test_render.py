"""How a piece becomes what the page gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.delivery import Piece
from core.parts import Data, File, Part, Text
from plugins.webchat.render import ENTRY_LIMIT, payloads_of, split


def payloads(*parts: Part) -> tuple[dict[str, object], ...]:
    return payloads_of(Piece("artifact:a", parts))


def test_words_are_one_entry_and_chunks_are_not_torn_apart() -> None:
    assert payloads(Text("**Good"), Text(" day**")) == ({"markdown": "**Good day**"},)


def test_nothing_to_show_is_no_entry() -> None:
    assert payloads(Text(" \n")) == ()
    assert payloads() == ()


def test_files_are_links_beside_the_words() -> None:
    (payload,) = payloads(Text("See:"), File("plan.pdf", "application/pdf", "https://x.test/plan.pdf", 12))
    file = {"name": "plan.pdf", "media_type": "application/pdf", "url": "https://x.test/plan.pdf", "size": 12}
    assert payload == {"markdown": "See:", "files": [file]}


def test_a_file_alone_is_an_entry() -> None:
    (payload,) = payloads(File("", "image/png"))
    assert payload["markdown"] == ""
    assert payload["files"] == [{"name": "file", "media_type": "image/png", "url": "", "size": None}]


def test_data_are_shown_as_they_are() -> None:
    assert payloads(Data({"名": [1, None]}))[0]["markdown"] == '```json\n{\n  "名": [\n    1,\n    null\n  ]\n}\n```'


def test_a_long_answer_becomes_several_entries_cut_between_lines() -> None:
    lines = [f"line {number} of many" for number in range(4000)]
    shown = [str(payload["markdown"]) for payload in payloads(Text("\n".join(lines)))]
    assert len(shown) > 1
    assert all(len(text) <= ENTRY_LIMIT for text in shown)
    assert "\n".join(shown).split("\n") == lines


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_cut_fence_is_closed_and_opened_again(fence: str) -> None:
    code = "\n".join("x = 1" for _ in range(40))
    first, *rest = split(f"{fence}\n{code}\n{fence}\nafter", 100)
    assert first.endswith(f"\n{fence}")
    assert all(part.startswith(f"{fence}\n") for part in rest)
    assert sum(part.count("x = 1") for part in (first, *rest)) == 40
    assert all(len(part) <= 100 for part in (first, *rest))


@given(st.text(alphabet="ab \n`~中", max_size=600), st.integers(min_value=60, max_value=200))
def test_whatever_is_said_is_cut_within_the_limit_and_loses_no_word(text: str, limit: int) -> None:
    parts = split(text, limit)
    assert all(0 < len(part) <= limit for part in parts)
    words = "".join(character for part in parts for character in part if character in "ab中")
    assert words == "".join(character for character in text if character in "ab中")
