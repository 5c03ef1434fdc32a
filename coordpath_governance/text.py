"""User text made safe to look at: no invisible characters, none that change the order of text, no endless text.

Names of models, features and levels, and texts that people wrote, may be hostile. `visible` replaces every character that
could hide or rearrange text by a readable escape such as ⟨U+202E⟩; `shorten` limits the length. HTML and Markdown are
escaped later, by the template environment.
"""

from __future__ import annotations

import unicodedata

__all__ = ["EMPTY", "fit", "shorten", "text_width", "visible", "visible_lines"]

EMPTY = "(empty)"
"""Shown for a name without any visible character."""

LINE_BREAKS = frozenset("\n\r\x0b\x0c\x85\u2028\u2029")
JOINERS = frozenset("\u200c\u200d")
MAX_MARKS = 4
HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
MARK_CATEGORIES = frozenset({"Mn", "Me"})
MIN_SHORT = 3


def visible(text: str) -> str:
    """``text`` on one line: control, bidi, format and unassigned characters as ⟨U+hex⟩, line breaks as ↵."""
    shown: list[str] = []
    marks = 0
    flat = text.replace("\r\n", "\n")
    for index, char in enumerate(flat):
        category = unicodedata.category(char)
        marks = marks + 1 if category in MARK_CATEGORIES else 0
        if char in LINE_BREAKS:
            shown.append("↵")
        elif char == "\t":
            shown.append(" ")
        elif marks > MAX_MARKS or (category in HIDDEN_CATEGORIES and not _joins_letters(flat, index)):
            shown.append(f"⟨U+{ord(char):04X}⟩")
        else:
            shown.append(char)
    return "".join(shown) if "".join(shown).strip() else EMPTY


def _joins_letters(text: str, index: int) -> bool:
    """Whether a joiner is between two non-ASCII characters, where scripts and emoji need it."""
    if text[index] not in JOINERS or not 0 < index < len(text) - 1:
        return False
    return ord(text[index - 1]) > 127 and ord(text[index + 1]) > 127 and text[index + 1] not in JOINERS


def visible_lines(text: str) -> tuple[str, ...]:
    """The non-blank lines of a longer text, each made `visible`."""
    lines = tuple(visible(line.strip()) for line in text.splitlines() if line.strip())
    return lines or (EMPTY,)


def shorten(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` characters: its beginning and end, with … for the part left out."""
    if len(text) <= limit:
        return text
    keep = max(limit, MIN_SHORT) - 1
    tail = keep // 3
    return text[: keep - tail].rstrip() + "…" + text[len(text) - tail :].lstrip()


def text_width(text: str, size: float) -> float:
    """An estimate, rather too large, of the width of ``text`` in a sans-serif font of ``size``, in the unit of ``size``."""
    width = 0.0
    for char in text:
        if unicodedata.category(char) in MARK_CATEGORIES:
            continue
        if unicodedata.east_asian_width(char) in {"W", "F"}:
            width += 1.05
        elif char in "iljtf.,:;|!'I ()[]":
            width += 0.36
        elif char in "mwMW@%" or ord(char) > 0x2000:
            width += 0.95
        elif char.isupper() or char == "_":
            width += 0.72
        else:
            width += 0.6
    return width * size


def fit(text: str, size: float, width: float) -> str:
    """``text``, shortened with … until its `text_width` is at most ``width``."""
    if text_width(text, size) <= width:
        return text
    for limit in range(min(len(text), 200) - 1, MIN_SHORT, -1):
        short = shorten(text, limit)
        if text_width(short, size) <= width:
            return short
    return shorten(text, MIN_SHORT)
