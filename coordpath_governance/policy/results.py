"""What a rule says: observed, limit, result, reason; in words that are short whatever names a model has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from coordpath_governance.reports.document import RuleFacts
from coordpath_governance.text import shorten, visible

__all__ = ["Finding", "Outcome", "combine", "listed"]

Outcome = Literal["pass", "review", "fail", "unknown", "waived"]

_NAMES = 5
_NAME = 60


@dataclass(frozen=True)
class Finding:
    """One comparison within a rule; ``met`` is None where it cannot be told. ``reason`` says what is wrong or what to do."""

    observed: str
    limit: str
    met: bool | None
    reason: str = ""


def combine(rule: str, findings: Sequence[Finding], otherwise: Literal["fail", "review"]) -> RuleFacts:
    """The result of all findings: one that is not met decides, then one that is not known."""
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
