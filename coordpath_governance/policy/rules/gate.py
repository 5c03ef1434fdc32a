"""Rules that only the gate can check: how old the report is, and what has added up since the last full validation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

from pydantic import model_validator

from coordpath_governance.policy.observations import mean_shift, standardised_move
from coordpath_governance.policy.results import Finding, Unit, limit_text, value_text
from coordpath_governance.policy.rules.base import GateFacts, Limit, Most, Rule, Seen, days_between
from coordpath_governance.reports.document import ChangeReportDocument

__all__ = ["ChangeSinceValidation", "ReportAge"]

_AGAIN = "Have the change fully validated."


class ReportAge(Rule):
    """How many days old the report may be at the gate."""

    at_gate: ClassVar[bool] = True

    days: Limit

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """The age by the ledger's own clock."""
        said = f"at most {limit_text(self.days, 'days')}"
        age = None if seen.gate is None else days_between(seen.gate.report_made_at, seen.gate.now)
        if age is None:
            return [Finding("age: not known", said, None, "The report's time cannot be told: make the report again.")]
        met = age <= self.days
        why = "" if met else "The report is too old: make it again."
        return [Finding(f"age: {value_text(age, 'days', self.days)}", said, met, why)]


class ChangeSinceValidation(Rule):
    """How much may add up since the last full validation, this change included, so that many small ones do not slip through.

    ``changes``: promotions; ``days``: time; ``cost_increase``: the sum of all; ``mean_score_shift`` and
    ``standardised_change``: from the model that was validated to this one, the latter for any one coefficient.
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

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """A change that is itself a full validation begins the count anew."""
        given = {name: limit for name in _SUMS if (limit := getattr(self, name)) is not None}
        said = "; ".join(f"{_SUMS[name][0]} at most {limit_text(limit, _SUMS[name][1])}" for name, limit in given.items())
        if seen.full_validation:
            return [Finding("this change is itself a full validation", said, met=True)]
        gate = seen.gate
        if gate is None or gate.validated_at is None:
            return [Finding("never fully validated", said, None, f"This model was never fully validated. {_AGAIN}")]
        return [self._finding(name, limit, gate, seen.document) for name, limit in given.items()]

    @staticmethod
    def _finding(name: str, limit: float, gate: GateFacts, document: ChangeReportDocument) -> Finding:
        title, unit, measure = _SUMS[name]
        said = f"{title} at most {limit_text(limit, unit)}"
        value = measure(gate, (*gate.since_validation, document))
        if value is None:
            return Finding(f"{title}: not known", said, None, f"It cannot be told how far it moved. {_AGAIN}")
        met = value <= limit
        why = "" if met else f"Since the last full validation the {title} went over its limit. {_AGAIN}"
        return Finding(f"{title}: {value_text(value, unit, limit)}", said, met, why)


Changes = tuple[ChangeReportDocument, ...]


def _changes(_: GateFacts, changes: Changes) -> float | None:
    return float(len(changes))


def _time(gate: GateFacts, _: Changes) -> float | None:
    return None if gate.validated_at is None else days_between(gate.validated_at, gate.now)


def _cost(_: GateFacts, changes: Changes) -> float | None:
    return math.fsum(document.impact.delta for document in changes)


def _shift(_: GateFacts, changes: Changes) -> float | None:
    moves = [mean_shift(document) for document in changes]
    known = [move for move in moves if move is not None]
    return abs(math.fsum(known)) if len(known) == len(moves) else None


def _standardised(_: GateFacts, changes: Changes) -> float | None:
    """The largest |Σ Δ·sd| of one coefficient, by its label; not known if a change is not exercised."""
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
