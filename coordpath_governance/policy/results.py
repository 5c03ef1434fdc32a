"""What a rule says: observed, limit, result and reason, in words that stay short however long a model's names are.

A limit is written exactly as it was set, an observed value with enough digits to differ from the limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from coordpath_governance.numbers import MINUS, NUMBER_SPACE, count, significant
from coordpath_governance.reports.document import RuleFacts
from coordpath_governance.text import shorten, visible

__all__ = ["Finding", "Outcome", "Unit", "combine", "limit_text", "listed", "value_text"]

Outcome = Literal["pass", "review", "fail", "unknown", "waived"]

_NAMES = 5
_NAME = 60

Unit = Literal["number", "share", "count", "standard errors", "days"]

_FEWEST, _MOST = 4, 17
_EXACT = 15


@dataclass(frozen=True)
class Finding:
    """One comparison of a rule; ``met`` is None where it is not known. ``reason`` says what is wrong, or what to do."""

    observed: str
    limit: str
    met: bool | None
    reason: str = ""


def combine(rule: str, findings: Sequence[Finding], otherwise: Literal["fail", "review"]) -> RuleFacts:
    """The result of a rule: ``otherwise`` if a finding is not met, else "unknown" if one is not known, else "pass"."""
    violated = [finding for finding in findings if finding.met is False]
    unknown = [finding for finding in findings if finding.met is None]
    result: Outcome = otherwise if violated else "unknown" if unknown else "pass"
    reasons = _sentences(finding.reason for finding in [*violated, *unknown])
    return RuleFacts(
        rule=rule,
        observed="; ".join(dict.fromkeys(finding.observed for finding in findings)),
        limit="; ".join(dict.fromkeys(finding.limit for finding in findings)),
        result=result,
        reason=reasons,
    )


def listed(names: Sequence[str], nothing: str = "none") -> str:
    """Names for a sentence: the first few, each of them short and on one line, and how many more there are."""
    shown = [visible(shorten(name, _NAME)) for name in names[:_NAMES]]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(shown) + more if shown else nothing


def _sentences(reasons: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(reason for reason in reasons if reason))


def value_text(value: float, unit: Unit, limit: float | None = None) -> str:
    """``value`` in words, with as few digits as make it differ from ``limit``.

    Days are rounded up, so that the text stays true for a day.
    """
    if not math.isfinite(value):
        return "without bound"
    if unit == "count":
        return count(int(value))
    if unit == "days":
        days = max(math.ceil(value), 1)
        return f"at most {count(days)} day{'s' if days > 1 else ''}"
    scaled = value * 100 if unit == "share" else value
    limit_shown = None if limit is None or value == limit else limit_text(limit, unit)
    for digits in range(_FEWEST, _MOST):
        text = _with_unit(_plain(significant(scaled, digits)), unit)
        if text != limit_shown:
            return text
    return _with_unit(repr(scaled).replace("-", MINUS), unit)


def limit_text(limit: float, unit: Unit) -> str:
    """``limit`` in words, with all the digits that the policy has."""
    if unit == "count":
        return count(int(limit))
    scaled = limit * 100 if unit == "share" else limit
    return _with_unit(f"{scaled:.{_EXACT}g}".replace("-", MINUS), unit)


def _plain(text: str) -> str:
    """Without zeros at the end of a decimal fraction: 2.000 is 2, and 1,200 stays."""
    return text.rstrip("0").rstrip(".") if "." in text and "×" not in text else text


def _with_unit(text: str, unit: Unit) -> str:
    words = {"number": "", "share": f"{NUMBER_SPACE}%", "count": ""}
    return text + words.get(unit, f" {unit}")
