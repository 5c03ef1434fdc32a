"""The tokens of a model formula: names, numbers, quoted text and signs. Anything else is refused, and quoted."""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from coordpath_governance.errors import UnsupportedModelError

__all__ = ["FUNCTIONS", "Token", "parsed_number", "refused", "tokens_of", "written"]

FUNCTIONS = ("log", "log1p", "sqrt", "exp", "expm1", "square", "abs")
"""Functions of numpy that a formula may apply."""

_MOST_CHARACTERS = 10_000
_SIGNS = ("+", "-", "*", "/", "**")
_TOKEN = re.compile(
    r"(?P<space>[ \t\n]+)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<text>'[^'\\\n]*'|\"[^\"\\\n]*\")"
    r"|(?P<sign>\*\*|//|[-+*/:(),=.~])"
)


@dataclass(frozen=True)
class Token:
    """One token, and its kind: name, number, text or sign."""

    kind: str
    text: str


def refused(reason: str) -> UnsupportedModelError:
    """The error for a formula that is not read; ``reason`` follows "the model's formula"."""
    return UnsupportedModelError(
        f"the model's formula {reason}, which is not read; read are column names, numbers, + - * / : ** ( ), C(), "
        f"Treatment(), Q(), I() of arithmetic and np.{{{', '.join(FUNCTIONS)}}}. Compute other columns before the model."
    )


def tokens_of(text: str) -> list[Token]:
    """The tokens of a formula, without white space."""
    if len(text) > _MOST_CHARACTERS:
        raise refused(f"has more than {_MOST_CHARACTERS} characters")
    out: list[Token] = []
    at = 0
    touching = False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise refused(f"holds {text[at : at + 20]!r}")
        kind, token = match.lastgroup, match.group()
        if kind != "space":
            if touching and kind in ("name", "text", "number") and out[-1].kind in ("name", "number", "text"):
                raise refused(f"holds {(out[-1].text + token)[:40]!r}")
            out.append(Token(kind, _name(token) if kind == "name" else token))
        touching = kind != "space"
        at = match.end()
    return out


def _name(text: str) -> str:
    if unicodedata.normalize("NFKC", text) != text:
        raise refused(f"has the name {text[:40]!r}, which Python would read as another one,")
    if keyword.iskeyword(text):
        raise refused(f"has the keyword {text!r}")
    return text


def parsed_number(text: str) -> float:
    """A number. Whole numbers stay whole, because Treatment() may name a level by its position."""
    if text.isdecimal():
        if (len(text) > 1 and text[0] == "0") or len(text) > 18:
            raise refused(f"has the number {text[:40]}")
        return int(text)
    value = float(text)
    if not math.isfinite(value):
        raise refused(f"has the number {text[:40]}")
    return value


def written(tokens: Sequence[Token]) -> str:
    """A factor as patsy writes its name: with spaces around signs between two values, and after commas."""
    out: list[str] = []
    wants_space = after_value = after_object = opened = False
    for token in tokens:
        value = token.kind in ("name", "number", "text")
        spaced = token.text in _SIGNS and after_object and not (opened and token.text in ("*", "**"))
        before = (wants_space or after_value) if value else (wants_space or spaced)
        out.append(f" {token.text}" if before else token.text)
        wants_space = not value and (spaced or token.text == ",")
        after_value, after_object = value, value or token.text == ")"
        opened = token.text in ("(", ",")
    return "".join(out)
