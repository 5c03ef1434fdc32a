"""Observed values and limits as text: a limit exactly as it was set, a value with enough digits to tell it from that."""

from __future__ import annotations

import math
from typing import Literal

from coordpath_governance.numbers import MINUS, NUMBER_SPACE, count, significant

__all__ = ["Unit", "limit_text", "value_text"]

Unit = Literal["number", "share", "count", "standard errors", "days"]

_FEWEST, _MOST = 4, 17
_EXACT = 15


def value_text(value: float, unit: Unit, limit: float | None = None) -> str:
    """``value`` with as few digits as tell it from ``limit``; time in days begun, so that the text holds for a day."""
    if not math.isfinite(value):
        return "without bound"
    if unit == "count":
        return count(int(value))
    if unit == "days":
        days = max(math.ceil(value), 1)
        return f"at most {count(days)} day{'s' if days > 1 else ''}"
    scaled = value * 100 if unit == "share" else value
    beside = None if limit is None or value == limit else limit_text(limit, unit)
    for digits in range(_FEWEST, _MOST):
        text = _with_unit(_plain(significant(scaled, digits)), unit)
        if text != beside:
            return text
    return _with_unit(repr(scaled).replace("-", MINUS), unit)


def limit_text(limit: float, unit: Unit) -> str:
    """``limit`` with all the digits it was given."""
    if unit == "count":
        return count(int(limit))
    scaled = limit * 100 if unit == "share" else limit
    return _with_unit(f"{scaled:.{_EXACT}g}".replace("-", MINUS), unit)


def _plain(text: str) -> str:
    """Without zeros that say nothing: 2.000 is 2, and 1,200 stays."""
    return text.rstrip("0").rstrip(".") if "." in text and "×" not in text else text


def _with_unit(text: str, unit: Unit) -> str:
    words = {"number": "", "share": f"{NUMBER_SPACE}%", "count": ""}
    return text + words.get(unit, f" {unit}")
