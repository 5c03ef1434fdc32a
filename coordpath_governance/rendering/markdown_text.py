"""GitHub Markdown: user text that stays text, code spans, and bars made of characters."""

from __future__ import annotations

import re

from coordpath_governance.text import visible

__all__ = ["MarkdownText", "bar", "code_block", "code_span", "escape_markdown"]

ZERO_WIDTH_SPACE = "&#8203;"

ESCAPES = str.maketrans(
    {
        "\\": "\\\\",
        "`": "\\`",
        "*": "\\*",
        "_": "\\_",
        "[": "\\[",
        "]": "\\]",
        "~": "\\~",
        "#": "\\#",
        "<": "&lt;",
        ">": "&gt;",
        "&": "&amp;",
        "|": "&#124;",
        "@": "@" + ZERO_WIDTH_SPACE,
        "$": "<span>$</span>",
    }
)
"""``@`` would call people, ``$`` opens a formula, both after Markdown's own escapes are gone: so they get company."""

REFERENCES = re.compile(r"(?i)(#|\bgh-)(?=\d)")
EMOJI = re.compile(r":(?=[a-z0-9_+-]{1,40}:)", re.IGNORECASE)
LINK_STARTS = re.compile(r"(?i)(\w:|\bwww)(?=//|\.)")
LINE_STARTS = re.compile(r"^(\s*)(=|[-+](?=[\s+-]|$))|^(\s*\d+)([.)](?=\s|$))")
BREAK = "\ue000"
"""Stands for a zero-width space while escaping; `visible` leaves none of these in user text."""


class MarkdownText(str):
    """Text that is Markdown already and is not escaped again."""

    __slots__ = ()


def escape_markdown(text: str) -> MarkdownText:
    """``text`` as literal text in a paragraph or table cell: no emphasis, code, HTML, link, mention, issue or emoji."""
    plain = visible(text) if text else ""
    marked = LINK_STARTS.sub(rf"\1{BREAK}", plain)
    marked = REFERENCES.sub(rf"\1{BREAK}", marked)
    marked = EMOJI.sub(f":{BREAK}", marked)
    escaped = marked.translate(ESCAPES).replace(BREAK, ZERO_WIDTH_SPACE)
    return MarkdownText(LINE_STARTS.sub(r"\1\3\\\2\4", escaped))


def code_span(text: str) -> MarkdownText:
    """``text`` as inline code, or as escaped text where a backtick or a pipe would end the span or the cell."""
    plain = visible(text)
    if "`" in plain or "|" in plain:
        return escape_markdown(plain)
    return MarkdownText(f"`{plain}`")


def code_block(text: str, language: str = "") -> MarkdownText:
    """Lines of ``text`` as a fenced block whose fence is longer than any run of backticks inside."""
    lines = "\n".join(visible(line) if line else "" for line in text.split("\n"))
    fence = "`" * max(3, longest_run(lines) + 1)
    return MarkdownText(f"{fence}{language}\n{lines}\n{fence}")


def longest_run(text: str) -> int:
    """Length of the longest run of backticks."""
    return max((len(run) for run in re.findall("`+", text)), default=0)


def bar(start: float, end: float, low: float, high: float, width: int = 24) -> str:
    """A waterfall bar as characters: █ where the cost falls, ▒ where it rises, on a track of dots."""
    span = high - low
    if not span > 0:
        return "·" * width
    cells = [min(max((value - low) / span, 0.0), 1.0) * width for value in (min(start, end), max(start, end))]
    first = min(int(cells[0] + 0.5), width - 1)
    last = max(int(cells[1] + 0.5), first + 1) if start != end else first
    fill = "█" if end < start else "▒"
    return "·" * first + fill * (last - first) + "·" * (width - last)
