"""Compare two documents leaf by leaf: numbers to within their own rounding, everything else exactly.

What rounding may do depends on the figure. A cost is a difference of numbers as large as E[y²], a score of numbers as
large as its root, and a mean or a cross product of numbers as large as the spreads it is made of; a count, a share or a
slope is none of these. The sizes are taken from the recomputed document, never from the one under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from coordpath_governance.reports.document import ChangeReportDocument

__all__ = ["comparable", "differences", "document_differences", "rounding_of"]

Place = tuple[str | int, ...]
Allowance = Callable[[Place], float]

_RELATIVE = 1e-9
_ROUNDING = 1e-13
_PURE = 1e-9
_SUMMED = 1e-11
"""Of the cost beside it: what a sum over many rows, in another order, may be off by, and a minimum found by iteration."""

_COSTS = frozenset(
    [
        "objective",
        "lower_bound",
        "gap_per_step",
        "start_cost",
        "minimum_cost",
        "cost",
        "delta",
        "shapley",
        "costs",
        "worse_per_step",
        "mse",
        "champion_cost",
        "candidate_cost",
        "constant",
    ]
)
_RECORDED = frozenset(("value", "slopes", "curvature", "minimum", "constant_cost", "champion_cost", "candidate_cost"))
_ERRORS_OF_PREDICTIONS = frozenset(("mae", "champion_mae", "candidate_mae"))
_EFFECTS = ("baseline", "level", "other", "rare", "rare-champion", "rare-candidate")
_COST_ERRORS = frozenset(("delta_se", "total_se", "step_se"))
_SCORES = frozenset(
    [
        "rmse",
        "bias",
        "mae",
        "champion_mae",
        "candidate_mae",
        "mean_shift",
        "p05",
        "p50",
        "p95",
        "largest",
        "shift_p05",
        "shift_p50",
        "shift_p95",
        "shift_largest",
        "standardised_old",
        "standardised_new",
    ]
)
_PURE_NUMBERS = frozenset(
    ("r2", "up", "down", "flips", "auc", "gini", "accuracy", "explained", "expected", "observed", "at")
)


class _Losses:
    """How large the costs are that a figure of a report on rows is a difference of: those beside it, not any others."""

    def __init__(self, again: dict[str, Any]) -> None:
        path = again["path"]
        self._along = [path["start_cost"], *(step["cost"] for step in path["steps"])]
        self._evaluations = again["problem"]["cost"]["record"]["evaluations"]
        self._constant = again["glm"]["constant_cost"]
        self._bend = max((abs(x) for row in again["problem"]["cost"]["record"]["curvature"] for x in row), default=0.0)

    def beside(self, place: Place) -> float:
        """The larger of the costs at both ends: of a step, or of the path."""
        numbers = [part for part in place if isinstance(part, int)]
        if place[:2] in (("path", "steps"), ("rows", "step_se")):
            return float(max(self._along[numbers[0]], self._along[numbers[0] + 1]))
        if place[:1] == ("path",):
            return float(max(self._along))
        return float(max(self._along[0], self._along[-1]))

    def of_ratio(self, name: str, path: dict[str, Any]) -> float:
        """What rounding of costs does to a ratio of their differences: shares of the gain, and the gap."""
        if name == "share":
            return self._in_units_of(self._along[-1] - self._along[0], max(self._along))
        return float(path["gap"]) * self._in_units_of(path["objective"] - path["lower_bound"], path["objective"])

    @staticmethod
    def _in_units_of(difference: float, cost: float) -> float:
        return _ROUNDING * 10 * cost / abs(difference) if difference else 0.0

    def recorded(self, place: Place) -> float:
        """The size of the sum that an evaluation is, or the cost of the best constant."""
        if "curvature" in place:
            return float(self._bend)
        if "evaluations" not in place:
            return float(self._constant)
        each = self._evaluations[place[4]]
        return float(max(abs(each["value"]), *(abs(slope) for slope in each.get("slopes", ())), 0.0))


def _largest_score(again: dict[str, Any], keys: tuple[str, ...], kinds: tuple[str, ...] = ()) -> float:
    """The size of the parts that scores are made of, of all coordinates or of some kinds."""
    parts = (c[key] for c in again["coordinates"] for key in keys if not kinds or c["kind"] in kinds)
    return 1.0 + max((abs(part) for part in parts if part is not None), default=0.0)


def rounding_of(again: dict[str, Any]) -> Allowance:
    """What rounding may do to each leaf of a report like ``again``."""
    glm = again.get("glm")
    losses = _Losses(again) if glm else None
    square = 0.0 if losses else float(again["problem"]["cost"]["constant"])
    size = math.sqrt(max(square, 0.0))
    effect_size = size
    if losses is not None:
        baseline = _largest_score(again, ("old", "new"), ("baseline",))
        size = baseline + _largest_score(again, ("standardised_old", "standardised_new"))
        effect_size = _largest_score(again, ("old", "new"), _EFFECTS)
    gram = glm["gram"] if glm else again["problem"]["cost"]["gram"]
    spread = [math.sqrt(max(row[i], 0.0)) for i, row in enumerate(gram)]
    effects = {c["label"] for c in again["coordinates"] if c["kind"] not in ("numeric", "missing")}
    excess = abs(again["path"]["objective"] - again["path"]["minimum_cost"]) or square or 1.0

    def allowance(place: Place) -> float:
        names = [part for part in place if isinstance(part, str)]
        name = names[-1] if names else ""
        if name in _RECORDED and losses is not None:
            return _SUMMED * losses.recorded(place)
        if name in _COSTS or name in _COST_ERRORS:
            return _ROUNDING * 10 * (square if losses is None else losses.beside(place))
        if name in _ERRORS_OF_PREDICTIONS and losses is not None:
            return 0.0
        if name in _SCORES or names[:2] == ["impact", "shift"]:
            return _ROUNDING * size * 10
        if name in ("gap", "share"):
            return _PURE + (_ROUNDING * square / excess if losses is None else losses.of_ratio(name, again["path"]))
        if name in _PURE_NUMBERS:
            return _PURE
        if name == "gram":
            return _ROUNDING * 10 * spread[int(place[-2])] * spread[int(place[-1])]
        if name == "linear":
            return _ROUNDING * 10 * spread[int(place[-1])] * size
        if place[:1] == ("coordinates",) and name in ("mean", "sd"):
            return _ROUNDING * 10 * float(again["coordinates"][place[1]]["sd"])
        if place[:1] == ("functions",) and name in ("old", "new"):
            return _ROUNDING * 10 * (size + effect_size)
        if place[:1] == ("coordinates",) and name in ("old", "new"):
            return _ROUNDING * effect_size * 10 if again["coordinates"][place[1]]["label"] in effects else 0.0
        if name in ("start", "target") and names[0] == "problem":
            return _ROUNDING * effect_size * 10 if again["problem"]["features"][int(place[-1])] in effects else 0.0
        if name in ("from", "to"):
            step = again["path"]["steps"][place[2]]
            moves = [step["moves"][int(place[4])]] if "moves" in names else step["moves"]
            return _ROUNDING * effect_size * 10 if any(move["feature"] in effects for move in moves) else 0.0
        return 0.0

    return allowance


def differences(recorded: Any, again: Any, allowance: Allowance, place: Place = ()) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Every leaf that differs, as "path: recorded, recomputed"."""
    if isinstance(recorded, dict) and isinstance(again, dict):
        for key in dict.fromkeys([*recorded, *again]):
            if key not in recorded or key not in again:
                what = "not in the report" if key not in recorded else "does not belong there"
                yield f"{_spelled((*place, key))}: {what}"
            else:
                yield from differences(recorded[key], again[key], allowance, (*place, key))
    elif isinstance(recorded, list) and isinstance(again, list):
        if len(recorded) != len(again):
            yield f"{_spelled(place)}: has {len(recorded)} entries, should have {len(again)}"
            return
        for i, (one, other) in enumerate(zip(recorded, again, strict=True)):
            yield from differences(one, other, allowance, (*place, i))
    elif isinstance(recorded, float) and isinstance(again, float | int) and not isinstance(again, bool):
        if abs(recorded - again) > _RELATIVE * max(abs(recorded), abs(again)) + allowance(place):
            yield f"{_spelled(place)}: {recorded!r}, recomputed {again!r}"
    elif recorded != again:
        yield f"{_spelled(place)}: {recorded!r}, recomputed {again!r}"


def _spelled(place: Place) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def document_differences(document: ChangeReportDocument, again: ChangeReportDocument) -> list[str]:
    """Leaves that differ by more than their rounding, which is judged by the recomputed document."""
    recomputed = comparable(again)
    return list(differences(comparable(document), recomputed, rounding_of(recomputed)))


def comparable(document: ChangeReportDocument) -> dict[str, Any]:
    """What must come out the same: all but sentences and verdict (checked apart), the digest and the tool's own facts."""
    content = document.model_dump(mode="json", by_alias=True)
    for key in ("digest", "summary", "limits", "tool", "assessment"):
        content.pop(key)
    content["recheck"].pop("versions")
    return content
