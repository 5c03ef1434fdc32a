"""User text made safe to look at, and safe in Markdown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from coordpath_governance.rendering.templates import bar, code_block, code_span, escape_markdown
from coordpath_governance.text import EMPTY, fit, shorten, text_width, visible, visible_lines

BLOCKS = ["\u202a", "\u202b", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u200e", "\u200f", "\u061c"]


@pytest.mark.parametrize("char", BLOCKS)
def test_bidi_controls_are_seen(char):
    assert visible(f"a{char}b") == f"a⟨U+{ord(char):04X}⟩b"


def test_controls_line_breaks_and_tabs():
    assert visible("a\x00b\x1bc\x7f") == "a⟨U+0000⟩b⟨U+001B⟩c⟨U+007F⟩"
    assert visible("a\r\nb\u2028c\x85d\te") == "a↵b↵c↵d e"
    assert visible("\ud800") == "⟨U+D800⟩"


def test_joiners_stay_where_a_script_needs_them():
    assert visible("می\u200cخواهم") == "می\u200cخواهم"
    assert visible("a\u200cb") == "a⟨U+200C⟩b"


def test_heaps_of_combining_marks_are_cut():
    assert visible("e" + "\u0301" * 6).count("⟨U+0301⟩") == 2


@pytest.mark.parametrize("text", ["", "  ", "\t"])
def test_nothing_is_shown_as_empty(text):
    assert visible(text) == EMPTY


def test_lines():
    assert visible_lines("one\n\n two \u202e") == ("one", "two ⟨U+202E⟩")
    assert visible_lines("\n") == (EMPTY,)


@given(st.text())
def test_nothing_invisible_is_left(text):
    for char in visible(text):
        assert unicodedata.category(char) not in {"Cc", "Cs", "Co", "Cn"}
        assert char not in BLOCKS
    assert visible(visible(text)) == visible(text)


@given(st.text(), st.integers(3, 50))
def test_shorten_keeps_within_its_limit(text, limit):
    assert len(shorten(text, limit)) <= max(limit, 3)


def test_shorten_keeps_both_ends():
    assert shorten("abcdefghij", 7) == "abcd…ij"


def test_fit_keeps_within_its_width():
    assert fit("short", 13, 200) == "short"
    assert text_width(fit("W" * 500, 13, 120), 13) <= 120
    assert fit("漢字" * 10, 13, 60).endswith("字")
    assert len(fit("abcdefgh", 13, 1)) == 3


def inline(markdown: str) -> str:
    return MarkdownIt("gfm-like", {"linkify": False}).render(f"| x | y |\n| - | - |\n| {markdown} | end |\n")


@pytest.mark.parametrize(
    "text",
    [
        "a|b|c",
        "`code` ```",
        "*bold* __x__ ~~gone~~",
        "[click](/evil)",
        "![x](/p.png)",
        "<script>alert(1)</script> <b>",
        "&lt; &amp;",
        "line\n| two | three |",
        "\\| \\` \\",
        "# heading #",
    ],
)
def test_markdown_renders_user_text_as_text(text):
    cell = inline(escape_markdown(text))
    shown = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    assert f"<td>{shown}</td>\n<td>end</td>" in cell


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("@octocat", "@&#8203;octocat"),
        ("see #123", "see \\#&#8203;123"),
        ("GH-7", "GH-&#8203;7"),
        (":tada:", ":&#8203;tada:"),
        ("https://evil.example", "https:&#8203;//evil.example"),
        ("www.evil.example", "www&#8203;.evil.example"),
        ("$x$", "<span>$</span>x<span>$</span>"),
    ],
)
def test_what_github_finds_after_markdown_is_broken_up(text, broken):
    assert escape_markdown(text) == broken


@pytest.mark.parametrize("text", ["- item", "+ item", "1. item", "12) item", "=== x", "---"])
def test_text_at_the_start_of_a_line_makes_no_list_or_heading(text):
    page = MarkdownIt("gfm-like", {"linkify": False}).render(f"para\n\n{escape_markdown(text)}\n")
    assert page == f"<p>para</p>\n<p>{text}</p>\n"


def test_numbers_are_not_touched():
    for text in ("−0.0142 ± 0.0021", "+0.0228", "9.8395", "0 → −0.006230", "12.5 %"):
        assert escape_markdown(text) == text


def test_code_spans_and_blocks_cannot_be_left():
    assert code_span("abc") == "`abc`"
    assert code_span("a`b") == "a\\`b"
    assert code_span("a|b") == "a&#124;b"
    block = code_block("one\n```\n<b>")
    assert block.startswith("````\n")
    assert "&lt;b&gt;" in MarkdownIt().render(block)


@pytest.mark.parametrize(
    ("start", "end", "drawn"),
    [(1.0, 0.5, "·····█████"), (0.0, 0.2, "▒▒········"), (0.5, 0.5, "··········"), (1.0, 0.999, "·········█")],
)
def test_bars(start, end, drawn):
    assert bar(start, end, 0.0, 1.0, 10) == drawn


def test_bar_without_a_span():
    assert bar(1.0, 1.0, 1.0, 1.0, 4) == "····"
