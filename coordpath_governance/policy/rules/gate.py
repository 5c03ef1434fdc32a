"""Rules that only the gate can check: the age of the report, and the sum of all changes since the last full validation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

from pydantic import model_validator

from coordpath_governance.policy.observations import mean_shift, standardised_move
from coordpath_governance.policy.results import Finding, Unit, limit_text, value_text
from coordpath_governance.policy.rules.base import GateFacts, JudgedChange, Limit, Most, Rule, days_between
from coordpath_governance.reports.document import ChangeReportDocument

__all__ = ["ChangeSinceValidation", "ReportAge"]

_AGAIN = "Have the change fully validated."


class ReportAge(Rule):
    """How many days old the report may be at the gate."""

    at_gate: ClassVar[bool] = True

    days: Limit

    def findings(self, change: JudgedChange) -> Sequence[Finding]:
        """One comparison: the age, by the clock of the ledger."""
        limit_words = f"at most {limit_text(self.days, 'days')}"
        age = None if change.gate is None else days_between(change.gate.report_made_at, change.gate.now)
        if age is None:
            return [Finding("age: not known", limit_words, None, "The report's time cannot be told: make the report again.")]
        met = age <= self.days
        why = "" if met else "The report is too old: make it again."
        return [Finding(f"age: {value_text(age, 'days', self.days)}", limit_words, met, why)]


class ChangeSinceValidation(Rule):
    """How much may add up since the last full validation, this change included: many small changes make a large one.

    ``changes`` is a number of promotions, ``cost_increase`` the sum of their increases. ``mean_score_shift`` and
    ``standardised_change`` compare this model with the validated one, the latter for any one coefficient.
    """

    at_gate: ClassVar[bool] = True

    changes: Most | None = None
    days: Limit | None = None
    cost_increase: Limit | None = None
    mean_score_shift: Limit | None = None
    standardised_change: Limit | None = None

    @model_validator(mode="after")
    def _has_a_limit(self) -> ChangeSinceValidation:
        if all(getattr(self, name) is None for name in _SUMS):
            raise ValueError(f"give at least one of {', '.join(_SUMS)}")
        return self

    def findings(self, change: JudgedChange) -> Sequence[Finding]:
        """One comparison for each limit that is set; a change that is itself a full validation meets them all."""
        limits = {name: limit for name in _SUMS if (limit := getattr(self, name)) is not None}
        limit_words = "; ".join(_limit_words(name, limit) for name, limit in limits.items())
        if change.full_validation:
            return [Finding("this change is itself a full validation", limit_words, met=True)]
        gate = change.gate
        if gate is None or gate.validated_at is None:
            return [Finding("never fully validated", limit_words, None, f"This model was never fully validated. {_AGAIN}")]
        return [self._finding(name, limit, gate, change.document) for name, limit in limits.items()]

    @staticmethod
    def _finding(name: str, limit: float, gate: GateFacts, document: ChangeReportDocument) -> Finding:
        title, unit, measure = _SUMS[name]
        limit_words = _limit_words(name, limit)
        value = measure(gate, (*gate.since_validation, document))
        if value is None:
            return Finding(f"{title}: not known", limit_words, None, f"It cannot be told how far it moved. {_AGAIN}")
        met = value <= limit
        why = "" if met else f"Since the last full validation the {title} went over its limit. {_AGAIN}"
        return Finding(f"{title}: {value_text(value, unit, limit)}", limit_words, met, why)


def _limit_words(name: str, limit: float) -> str:
    title, unit, _ = _SUMS[name]
    return f"{title} at most {limit_text(limit, unit)}"


Changes = tuple[ChangeReportDocument, ...]


def _changes(_: GateFacts, changes: Changes) -> float | None:
    return float(len(changes))


def _time(gate: GateFacts, _: Changes) -> float | None:
    return None if gate.validated_at is None else days_between(gate.validated_at, gate.now)


def _cost(_: GateFacts, changes: Changes) -> float | None:
    return math.fsum(document.impact.delta for document in changes)


def _shift(_: GateFacts, changes: Changes) -> float | None:
    moves = [mean_shift(document) for document in changes]
    sizes = [move for move in moves if move is not None]
    return abs(math.fsum(sizes)) if len(sizes) == len(moves) else None


def _standardised(_: GateFacts, changes: Changes) -> float | None:
    """The largest |Σ Δ·sd| of one coefficient over all changes, by its label; None if a change is not exercised."""
    moved: dict[str, list[float]] = {}
    for document in changes:
        for c in document.coordinates:
            if c.changed and c.kind != "baseline":
                move = standardised_move(c)
                if move is None:
                    return None
                moved.setdefault(c.label, []).append(move)
    return max((abs(math.fsum(moves)) for moves in moved.values()), default=0.0)


_SUMS: dict[str, tuple[str, Unit, Callable[[GateFacts, Changes], float | None]]] = {
    "changes": ("number of changes", "count", _changes),
    "days": ("time", "days", _time),
    "cost_increase": ("cost increase", "number", _cost),
    "mean_score_shift": ("mean score shift", "number", _shift),
    "standardised_change": ("standardised change of a coefficient", "number", _standardised),
}
"""Title, unit and sum of each limit."""
