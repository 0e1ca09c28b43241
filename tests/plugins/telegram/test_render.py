"""What a person sees of an answer on Telegram: formatting, the verbatim fallback, and where a long text is cut."""

import re
import time
from html.parser import HTMLParser

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from plugins.telegram.inline import inline
from plugins.telegram.render import HTML_BYTES, RenderedText, render_markdown
from plugins.telegram.split import stretches, units

TAGS = {"b", "i", "u", "s", "code", "pre", "a", "blockquote", "tg-spoiler"}
MARKUP = [*"*_`~[]()<>&|#-+=!\\>\n \t", "**", "```", "\n\n", "](https://a.example/b_c)", "![", "> ", "- ", "1. "]
MARKUP += [
    "|---|",
    "| a | b |\n",
    "\n```python\n",
    "中文",
    "👨‍👩‍👧‍👦",
    "e\u0301",
    "word ",
    "https://x.example/a_b",
    "&amp;",
]
markdown = st.lists(st.sampled_from(MARKUP) | st.text(max_size=30), max_size=120).map("".join)
repeated = st.builds(lambda text, times: text * times, markdown, st.integers(1, 60))


class Seen(HTMLParser):
    """Telegram's reading of a message: strict about tags, and only interested in what is shown."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.open: list[str] = []
        self.starts: list[tuple[int, str]] = []
        self.tags: list[tuple[str | None, ...]] = []
        self.spans: list[tuple[str, str, str]] = []
        self.feed(html)
        self.close()
        assert not self.open, f"unclosed {self.open} in {html!r}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert all(name in {"href", "class"} for name, _ in attrs)
        self.open.append(tag)
        self.starts.append((len(self.text), "".join(value or "" for _, value in attrs)))
        self.tags.append((tag, *[value for _, value in attrs]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        start, attribute = self.starts.pop()
        self.spans.append((tag, self.text[start:], attribute))

    def handle_data(self, data: str) -> None:
        self.text += data


def only(text: str) -> RenderedText:
    (part,) = render_markdown(text)
    return part


def html(text: str) -> str | None:
    return only(text).html


def visible(part: RenderedText) -> str:
    return part.plain if part.html is None else Seen(part.html).text


def joined(parts: tuple[RenderedText, ...]) -> str:
    return "".join(part.plain for part in parts)


def code_of(parts: tuple[RenderedText, ...]) -> str:
    spans = [span for part in parts if part.html for span in Seen(part.html).spans]
    return "".join(shown for tag, shown, _ in spans if tag == "pre")


# Formatting


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**done**", "<b>done</b>"),
        ("*a* _b_ __c__ ***d***", "<i>a</i> <i>b</i> <b>c</b> <i><b>d</b></i>"),
        ("~~gone~~ but ~5 to ~6", "<s>gone</s> but ~5 to ~6"),
        ("run `x < 1 & y`", "run <code>x &lt; 1 &amp; y</code>"),
        ("`` a ` b ``", "<code>a ` b</code>"),
        ("# Title ##\ntext", "<b>Title</b>\ntext"),
        ("Title\n=====\ntext", "<b>Title</b>\ntext"),
        ("- a\n  * b\n    + c", "• a\n  • b\n    • c"),
        ("3. a\n7) **b**", "3. a\n7) <b>b</b>"),
        ("- [x] done\n- [ ] open", "☑ done\n☐ open"),
        ("a\n\n***\n\nb", "a\n\n———\n\nb"),
        ("- last\n---\nnext", "• last\n———\nnext"),
        ("> q *a*\n> b\n\nc", "<blockquote>q <i>a</i>\nb</blockquote>\n\nc"),
        ("> a\n> > b", "<blockquote>a\nb</blockquote>"),
        ("[a](https://x.example/?q=1&r=\"2\" 'title')", '<a href="https://x.example/?q=1&amp;r=&quot;2&quot;">a</a>'),
        ("[**b** `c`](tg://resolve?domain=x)", '<a href="tg://resolve?domain=x"><b>b</b> </a>'),
        ("![alt](https://x.example/i.png)", '<a href="https://x.example/i.png">alt</a>'),
        ("![](https://x.example/i.png)", '<a href="https://x.example/i.png">https://x.example/i.png</a>'),
        ("<https://x.example/a_b_c>", '<a href="https://x.example/a_b_c">https://x.example/a_b_c</a>'),
        (r"\*not\* &lt;b&gt; &amp;", "*not* &lt;b&gt; &amp;"),
        ("<b>raw</b> **x**", "&lt;b&gt;raw&lt;/b&gt; <b>x</b>"),
        ("```\na\n  <b>\n```", "<pre>a\n  &lt;b&gt;</pre>"),
        ("```py title\nx\n```\n", '<pre><code class="language-py">x</code></pre>\n'),
        ("~~~\n```\n~~~", "<pre>```</pre>"),
        ("- ```sh\n  ls\n    -l\n  ```", '• <pre><code class="language-sh">ls\n  -l</code></pre>'),
        ("> ```\n>  x\n> ```\n> y", "<pre> x</pre><blockquote>\ny</blockquote>"),
        ("a\n\n    if *x*:\n        y\n\nb *c*", "a\n\n<pre>if *x*:\n    y</pre>\n\nb <i>c</i>"),
        ("**注意：**请看", "<b>注意：</b>请看"),
    ],
)
def test_markdown_becomes_the_html_telegram_knows(text: str, expected: str) -> None:
    if "`c`" in text:
        expected = expected.replace("</b> </a>", "</b> <code>c</code></a>")
    assert html(text) == expected
    assert Seen(expected).text == visible(only(text))


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "data:text/html,x", "./file.md", "#top", "http://localhost/x", "file:///x"]
)
def test_a_link_telegram_would_drop_or_must_not_open_stays_as_written(target: str) -> None:
    text = f"[name]({target}) and **b**"
    assert Seen(html(text) or "").text == f"[name]({target}) and b"
    assert "<a" not in (html(text) or "")


def test_a_quotation_mark_cannot_leave_an_attribute() -> None:
    spans = Seen(html('[a](https://x.example/"onclick="b) ```"` *x*') or "").tags
    assert ("a", 'https://x.example/"onclick="b') in spans


def test_formatting_of_an_unfinished_stream_is_the_formatting_of_its_end() -> None:
    assert html("a\n```py\nx = 1") == 'a\n<pre><code class="language-py">x = 1</code></pre>'
    assert html("**half") == "**half"


def test_a_table_is_aligned_and_keeps_link_targets_and_surplus_cells() -> None:
    text = "| Name | N |\n|:--|--:|\n| **中文** | 1 |\n| [l](https://x.example) \\| z | 20 | more |"
    lines = Seen(html(text) or "").text.split("\n")
    assert lines[0] == "Name                      |  N"
    assert lines[2] == "中文                      |  1"
    assert lines[3] == "l (https://x.example) | z | 20 | more"
    assert (html(text) or "").startswith("<pre>")


def test_a_table_too_wide_for_alignment_is_shown_as_it_is_written() -> None:
    text = "| a | b |\n|---|---|\n" + f"| {'x' * 1100} | y |"
    assert html(text) == f"<pre>{text}</pre>"


@pytest.mark.case("TG-12")
@pytest.mark.parametrize(
    "text",
    [
        "see https://ex.test/a_b/c and https://ex.test/d_e/f",
        "https://ex.test/_a_/__b__/~~c~~ snake_case_name",
        "**bold** https://ex.test/_a_?x=_y_",
    ],
)
def test_underscores_in_urls_and_identifiers_survive(text: str) -> None:
    assert visible(only(text)) == text.replace("**", "")


@pytest.mark.case("TG-12")
def test_underscores_in_link_targets_survive() -> None:
    assert html("[a_b](https://ex.test/a_b/_c_)") == '<a href="https://ex.test/a_b/_c_">a_b</a>'


@pytest.mark.case("TG-15")
def test_a_preview_and_its_final_are_formatted_alike() -> None:
    assert render_markdown("**done**") == render_markdown("**done**") == (RenderedText("<b>done</b>", "**done**"),)


# The fallback


@pytest.mark.case("TG-11")
def test_the_fallback_is_the_original_without_escapes() -> None:
    part = only("Sure! Step 1 - done.")
    assert part == RenderedText("Sure! Step 1 - done.", "Sure! Step 1 - done.")


@pytest.mark.case("TG-13")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*   **主题**：内容 (v1.0)", "• <b>主题</b>：内容 (v1.0)"),
        ("**snake_case**", "<b>snake_case</b>"),
    ],
)
def test_text_that_breaks_markdown_v2_has_both_forms(text: str, expected: str) -> None:
    assert only(text) == RenderedText(expected, text)


@pytest.mark.parametrize("text", ["hello", "你好，世界", "a < b & c > d", "tom & jerry", "one\n  two\n\n\nthree  \n"])
def test_text_without_formatting_goes_out_as_written(text: str) -> None:
    assert only(text) == RenderedText(None, text)


@pytest.mark.case("TG-16")
@pytest.mark.parametrize("text", ["", "  \n", "\u200b\u2060", "\t\r\n\x00", "\u2800"])
def test_text_that_shows_nothing_makes_no_message(text: str) -> None:
    assert render_markdown(text) == ()


@pytest.mark.parametrize(
    "text", ["#", "**", "```\n```", "> ", "---", "` `", "[]()", "|", "-", "\\", "&nbsp;", "| |\n|-|"]
)
def test_bare_markup_is_shown_rather_than_lost(text: str) -> None:
    assert visible(only(text)).strip() or only(text).plain == text


def test_lone_surrogates_never_reach_the_wire() -> None:
    assert only("a\ud83d b").plain == "a\ufffd b"
    assert only("\ud83d\ude00").plain == "😀"


def test_html_that_would_be_too_large_gives_way_to_the_source() -> None:
    text = ">&\n\n" * 1023
    parts = render_markdown(text)
    assert joined(parts) == text
    assert all(part.html is None or len(part.html.encode()) <= HTML_BYTES for part in parts)
    assert parts[0].html is None


def test_a_limit_that_cannot_hold_text_is_refused() -> None:
    with pytest.raises(ValueError, match="63"):
        render_markdown("x", limit=63)


# Cutting


@pytest.mark.case("TG-01")
def test_length_is_counted_in_utf16_units() -> None:
    text = "😀" * 2049
    parts = render_markdown(text)
    assert [units(part.plain) for part in parts] == [4096, 2]
    assert joined(parts) == text


@pytest.mark.case("TG-02")
def test_a_cut_never_falls_into_a_surrogate_pair_or_a_cluster() -> None:
    assert [part.plain for part in render_markdown("a" * 4095 + "🎩" + "b" * 10)] == ["a" * 4095, "🎩" + "b" * 10]
    family = "👨‍👩‍👧‍👦"
    assert [part.plain for part in render_markdown("a" * 4090 + family * 3)] == ["a" * 4090, family * 3]


@pytest.mark.case("TG-02")
def test_a_cluster_larger_than_a_message_is_cut_between_its_characters() -> None:
    text = "e" + "\u0301" * 5000
    assert [len(part.plain) for part in render_markdown(text)] == [4096, 905]


@pytest.mark.case("TG-05")
def test_a_fence_cut_in_two_is_reopened_with_its_language_and_loses_no_byte() -> None:
    code = "".join(f"{' ' * (line % 9)}line_{line} = {line} < {line + 1}\n" for line in range(400))
    parts = render_markdown(f"{'prose words ' * 325}\n\n```python\n{code}```\nend")
    assert code_of(parts) + "\n" == code
    tags = [tag for part in parts if part.html for tag in Seen(part.html).tags]
    assert len(parts) == 4
    assert tags == [("pre",), ("code", "language-python")] * 3
    assert all(part.html and part.html.endswith("\n</code></pre>") for part in parts[1:-1])


@pytest.mark.case("TG-05")
def test_a_fence_that_fits_the_next_message_is_not_cut() -> None:
    code = "".join(f"    line {line}\n" for line in range(80))
    first, second = render_markdown("x" * 3900 + f"\n\n```python\n{code}```")
    assert first.plain == "x" * 3900 + "\n\n"
    assert code_of((second,)) + "\n" == code


@pytest.mark.case("TG-06")
def test_a_very_long_fence_info_line_ends_in_few_messages() -> None:
    parts = render_markdown("```" + "x" * 5000 + "\ncode\n```")
    assert len(parts) == 2
    assert "".join(map(visible, parts)) == "x" * 5000 + "\ncode"


@pytest.mark.case("TG-08")
@pytest.mark.parametrize("width", [60, 400])
def test_a_long_table_loses_no_row(width: int) -> None:
    rows = [f"| row {number} | {'v' * width} | {number * 7} |" for number in range(60)]
    parts = render_markdown("| name | value | n |\n|---|---|---|\n" + "\n".join(rows))
    assert len(parts) > 1
    lines = [line for part in parts for line in visible(part).split("\n")]
    for number in range(60):
        assert sum(re.fullmatch(rf"row {number} +\| v+ \| {number * 7}", line) is not None for line in lines) == 1


@pytest.mark.case("TG-09")
@pytest.mark.case("SRC-09")
def test_a_text_that_would_grow_by_escaping_is_neither_cut_off_nor_split() -> None:
    text = "a.b-c! " * 580
    assert only(text).plain == text
    escaped = "<&> *b* " * 2000
    assert "".join(map(visible, render_markdown(escaped))) == escaped.replace("*", "")


def test_cuts_prefer_paragraphs_then_lines_then_sentences_then_words() -> None:
    def first(text: str) -> str:
        return render_markdown(text, limit=100)[0].plain

    assert first("a" * 60 + "\n\n" + "b c\n" * 30) == "a" * 60 + "\n\n"
    assert first("a" * 60 + "\n" + "b. c " * 30) == "a" * 60 + "\n"
    assert first("a" * 60 + ". " + "b " * 60) == "a" * 60 + ". "
    assert first("字" * 60 + "。" + "字" * 60) == "字" * 60 + "。"
    assert first("a" * 60 + " " + "b" * 60) == "a" * 60 + " "
    assert first("a" * 160) == "a" * 100
    assert first("a" * 60 + " \u0301" + "b" * 60) == "a" * 60 + " \u0301" + "b" * 38
    assert first("a" * 60 + "\n\n```\n" + "x\n\ny\n\n" * 20 + "```") == "a" * 60 + "\n\n"


def test_bold_text_across_a_cut_is_closed_and_opened_again() -> None:
    parts = render_markdown("**" + "word " * 1000 + "end**")
    assert [Seen(part.html or "").tags for part in parts] == [[("b",)], [("b",)]]


def test_a_link_is_never_cut_in_its_target() -> None:
    text = "[a](https://x.example/" + "p" * 400 + " '" + "title. " * 70 + "')b"
    parts = render_markdown(text * 9)
    links = [span for part in parts for span in Seen(part.html or "").spans]
    assert links == [("a", "a", "https://x.example/" + "p" * 400)] * 9
    assert all(part.plain.endswith("b") for part in parts)
    assert joined(parts) == text * 9


def test_a_table_that_grows_by_its_alignment_is_measured_as_it_is_shown() -> None:
    text = f"| {'wide ' * 10} | b |\n|---|---|\n" + "| x | y |\n" * 25
    parts = render_markdown(text, limit=1024)
    assert len(parts) == 2 > units(text) / 1024
    assert all(units(visible(part)) <= 1024 for part in parts)
    assert sum(visible(part).count("x ") for part in parts) == 25


def test_a_link_target_longer_than_a_cut_can_spare_stays_readable() -> None:
    text = "[a](https://x.example/" + "p" * 5000 + ")"
    assert "".join(map(visible, render_markdown(text))) == text


def test_a_text_too_long_to_be_parsed_is_sent_as_written() -> None:
    text = "**b** " * 50_000
    parts = render_markdown(text)
    assert joined(parts) == text
    assert {part.html for part in parts} == {part.plain for part in parts}


# For every text


@given(
    st.text(
        alphabet=st.characters(exclude_characters="\\`*_~[]<&|>#-+=\t", exclude_categories=["Cs", "Cc", "Cf"]),
        min_size=1,
    ),
    st.integers(1, 90),
)
def test_unmarked_text_is_delivered_exactly(text: str, times: int) -> None:
    text = "x" + re.sub(r"\s+", " ", text) * times + "."
    parts = render_markdown(text, limit=128)
    assert joined(parts) == text
    assert all(units(part.plain) <= 128 and part.html in (None, part.plain) for part in parts)


@given(repeated, st.sampled_from([64, 100, 1024, 4096]))
def test_every_part_of_any_text_can_be_sent(text: str, limit: int) -> None:
    for part in render_markdown(text, limit=limit):
        shown = visible(part)
        part.plain.encode()
        assert shown.strip()
        assert 0 < units(shown) <= limit
        assert 0 < units(part.plain) <= limit
        assert part.html is None or len(part.html.encode()) <= HTML_BYTES


@given(repeated)
def test_no_letter_or_digit_is_lost_or_moved(text: str) -> None:
    source = re.sub(r"\(https://a.example/b_c\)|&amp;", "", re.sub(r"[^\S\n]", " ", text))
    shown = "".join(map(visible, render_markdown(source, limit=200)))
    words = re.findall(r"word|中文|x\.example", source)
    assert re.findall(r"word|中文|x\.example", shown) == words


@given(repeated)
def test_cuts_respect_clusters_of_the_source(text: str) -> None:
    parts = [part.plain for part in render_markdown(text, limit=256)]
    clusters = set()
    whole = "".join(parts)
    for found in regex.finditer(r"\X", whole):
        clusters.add(found.end())
    ends = [sum(map(len, parts[: index + 1])) for index in range(len(parts))]
    longest = max((units(found[0]) for found in regex.finditer(r"\X", whole)), default=0)
    assert longest > 32 or set(ends) <= clusters


@given(
    st.lists(
        st.sampled_from(["*", "**", "_", "__", "~~", "`", "``", "a", "b ", " ", "(", ")", "\\", "a_b", ".", "&amp;"]),
        max_size=14,
    )
)
def test_inline_markup_means_what_commonmark_says(pieces: list[str]) -> None:
    text = "".join(pieces).strip()
    if "~~~" not in text:
        assert ours(text) == commonmark(text)


def ours(text: str) -> list[tuple[str, frozenset[str]]]:
    notes = inline(text, reach=1000)
    result = []
    for part in stretches(text, notes, reach=1000):
        tags = frozenset(tag for start, end, (tag, _) in notes.spans if start <= part.start and part.end <= end)
        result += [(char, tags) for char in part.visible(text) if not char.isspace()]
    return result


def commonmark(text: str) -> list[tuple[str, frozenset[str]]]:
    names = {"em": "i", "strong": "b", "s": "s"}
    result, active = [], []
    tokens = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").parseInline(text)
    for token in tokens[0].children or []:
        if token.nesting == 1:
            active.append(names[token.tag])
        elif token.nesting == -1:
            del active[len(active) - 1 - active[::-1].index(names[token.tag])]
        else:
            tags = frozenset([*active, *(["code"] if token.type == "code_inline" else [])])
            result += [(char, tags) for char in token.content if not char.isspace()]
    return result


@pytest.mark.parametrize(
    "text",
    [
        *["*" * 100_000, "*a " * 33_000, "*a " * 16_000 + "b* " * 16_000, "*_" * 50_000, "[" * 100_000, "![" * 50_000],
        *[
            "[a](" * 25_000,
            "[a](b" * 20_000,
            '[a](b "' * 14_000,
            "[" * 1000 + "[a](https://a.b)" * 6_000,
            "<a" * 50_000,
        ],
        *[
            "> " * 50_000,
            (">" * 40 + "\n") * 2_400,
            ">" * 20 + "a\n" + "b\n" * 50_000,
            "- " * 50_000,
            "- " * 50_000 + "x",
        ],
        *[
            "`a" * 50_000,
            "".join("`" * size + " " for size in range(1, 440)),
            "|" * 50_000 + "x\n" + "|-" * 25_000 + "|",
        ],
        *["|" + "h" * 900 + "|b|\n|-|-|\n" + "||x|\n" * 20_000, "```\na\n```\n" * 10_000, "```" + " " * 100_000 + "x"],
        *[
            " " * 100_000 + "*x*",
            "# a #\n" * 16_000,
            "a://_" * 20_000,
            "    x\n\n" * 14_000,
            "e" + "\u0301" * 100_000 + "*",
        ],
    ],
    ids=range(27),
)
def test_hostile_text_costs_no_more_than_its_length(text: str) -> None:
    began = time.process_time()
    parts = render_markdown(text)
    # Seconds; linear work takes under one, quadratic work on 100,000 characters takes minutes.
    assert time.process_time() - began < 6
    assert all(units(visible(part)) <= 4096 for part in parts)
