"""Choices: lines that any channel can show, and the words that choose one."""

import pytest

from core.choices import LONGEST, Offered, about, chosen, lines_of, may_choose
from core.parts import Data, Text

TABLE, CAR, BLANK = Offered("t1", "book a table"), Offered("t2", "book a car"), Offered("t3", "")
OFFERED = (TABLE, CAR, BLANK)


def test_each_is_a_line_with_its_number() -> None:
    assert lines_of(OFFERED) == ("1. book a table", "2. book a car", "3. …")


def test_a_line_says_the_beginning_of_a_message_in_one_line() -> None:
    assert about((Text("book\na  table"), Data({}))) == "book a table"
    assert about((Text("x" * 500),)) == "x" * (LONGEST - 1) + "…"


@pytest.mark.parametrize("words", ["2", " 2 ", "2.", "2 .", "2。", "２", "２、", "2. book a car", "2.  book a car\n"])
def test_its_number_or_its_line_chooses_it(words: str) -> None:
    assert chosen(words, OFFERED) == CAR
    assert may_choose(words)


@pytest.mark.parametrize(
    "words", ["", "0", "4", "999", "9999", "2 people", "2. book a bus", "3. book a car", "book a car", "-1", "1.5", "²"]
)
def test_anything_else_chooses_nothing(words: str) -> None:
    assert chosen(words, OFFERED) is None
