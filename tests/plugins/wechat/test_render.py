"""What people see: plain words, split by bytes, whole."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from core.delivery import Piece
from core.parts import Data, File, Text
from plugins.wechat.render import PART_LIMIT, TEXT_LIMIT, degraded, payloads_of, split


def shown(*texts: str) -> list[str]:
    return [payload["text"] for payload in payloads_of(Piece("artifact:1", tuple(Text(text) for text in texts)))]


@pytest.mark.case("WX-09")
@pytest.mark.case("SRC-05")
def test_a_thousand_characters_of_three_bytes_are_two_messages() -> None:
    parts = shown("汉" * 1000)
    assert len(parts) == 2
    assert "".join(parts) == "汉" * 1000
    assert all(len(part.encode()) <= TEXT_LIMIT for part in parts)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=4000))
def test_parts_are_within_the_bytes_and_joined_are_the_text(text: str) -> None:
    parts = split(text)
    assert all(len(part.encode()) <= PART_LIMIT for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@pytest.mark.case("TG-02")
def test_an_emoji_of_several_code_points_is_not_cut() -> None:
    family = "👨‍👩‍👧‍👦"
    parts = split("a" * (PART_LIMIT - 3) + family + "b")
    assert parts[1].startswith(family)


def test_a_cut_is_made_between_sentences_where_there_are_any() -> None:
    sentence = "这是一句话。"
    assert all(part.endswith("。") for part in split(sentence * 300))


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("# Title\ntext", "Title\ntext"),
        ("**bold** and *it* and __b__ and _i_", "bold and it and b and i"),
        ("中文**粗体**字", "中文粗体字"),
        ("snake_case_word and 2*3*4", "snake_case_word and 2*3*4"),
        ("`a_b*c*`", "a_b*c*"),
        ("- one\n* two", "• one\n• two"),
        ("> said", "said"),
        ("~~gone~~", "gone"),
        ("[words](https://ex.test/a_b)", "words (https://ex.test/a_b)"),
        ("![](https://ex.test/a.png)", "https://ex.test/a.png"),
        ("see https://ex.test/a_b/c and https://ex.test/d_e/f", "see https://ex.test/a_b/c and https://ex.test/d_e/f"),
    ],
)
@pytest.mark.case("TG-12")
def test_marks_are_taken_away_and_meaning_is_kept(markdown: str, words: str) -> None:
    assert degraded(markdown) == words


@pytest.mark.case("TG-05")
def test_code_keeps_every_character() -> None:
    code = "    x = 1 ** 2\n# not a heading\n- not a point\n"
    assert degraded(f"before\n```python\n{code}```\nafter") == f"before\n{code}after"
    assert "".join(shown("```\n" + code * 100 + "```")).count("    x = 1 ** 2\n") == 100


def test_files_and_data_stand_apart() -> None:
    piece = Piece("a:1", (Text("see"), File("a.pdf", "application/pdf", "https://ex.test/a.pdf"), Data({"a": 1})))
    (payload,) = payloads_of(piece)
    assert payload["text"] == 'see\n\n📎 a.pdf\nhttps://ex.test/a.pdf\n\n{\n  "a": 1\n}'


@pytest.mark.case("TG-08")
@pytest.mark.case("SRC-09")
def test_a_long_table_without_a_blank_line_loses_no_row() -> None:
    rows = [f"| {number:02} | {'x' * 140} |" for number in range(60)]
    parts = shown("\n".join(rows))
    assert len(parts) > 1
    assert all(len(part.encode()) <= PART_LIMIT for part in parts)
    assert "".join(parts).split("\n") == rows


@pytest.mark.case("TG-06")
def test_an_endless_word_behind_a_fence_ends() -> None:
    parts = shown("```" + "x" * 5000 + "\ncode\n```")
    assert len(parts) <= 4
    assert "".join(parts).endswith("code")


def test_chunks_of_one_artifact_are_joined_as_they_are() -> None:
    assert shown("hel", "lo **th", "ere**") == ["hello there"]


@pytest.mark.case("TG-16")
def test_nothing_to_show_is_no_message() -> None:
    assert shown("  \n") == []


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "mark",
    [
        "[",
        "![a](",
        "[](",
        "**a ",
        "__a ",
        "~~a ",
        "*a ",
        "_a",
        "a**b",
        "`a``",
        '[a](b "c ',
        "# a #",
        "~~~\n```\n",
        "a_*~`[(",
    ],
)
def test_what_is_begun_ten_thousand_times_and_never_ended_holds_nobody_up(mark: str) -> None:
    """Looked for to the end of the text each time, it would take hours."""
    text = mark * 100_000
    assert degraded(text).strip()
    assert degraded(text + "x") != degraded(text)


@pytest.mark.parametrize("nothing", ["\x00\x01", "\ufffe", "\ud83d", " \x08\n"])
def test_an_answer_of_what_no_chat_can_hold_is_none(nothing: str) -> None:
    assert shown(nothing) == []
    assert shown(f"a{nothing}b")[0].startswith("a")
    assert payloads_of(Piece("artifact:1", (File(f"{nothing}x.pdf", "application/pdf"),)))[0]["text"].startswith(
        "📎 x.pdf"
    )


@given(st.lists(st.sampled_from(["🇨🇳", "👨‍👩‍👧‍👦", "👍🏽", "é", "汉", "a", "1️⃣", " "]), min_size=300, max_size=1500))
def test_no_emoji_is_cut_wherever_the_limit_falls(characters: list[str]) -> None:
    text = "".join(characters)
    whole = {*characters, *regex.findall(r"\X", text)}
    for part in split(text):
        assert len(part.encode()) <= PART_LIMIT
        assert set(regex.findall(r"\X", part)) <= whole
