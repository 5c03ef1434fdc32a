"""Compare two documents leaf by leaf: numbers to within their own rounding, everything else exactly.

How much rounding may do depends on the figure. A cost is a difference of numbers as large as E[y²], and a score one of
numbers as large as the root of that. A mean or a cross product is as large as the spreads of its columns. A count, a share
or a slope has no such rounding. All sizes come from the recomputed document, never from the one under test.
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
"""The part of a cost by which a sum over many rows in another order may differ, and a minimum that is found by iteration."""

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
    """The sizes of the costs whose differences are the figures of a report on rows."""

    def __init__(self, recomputed: dict[str, Any]) -> None:
        path = recomputed["path"]
        self._along = [path["start_cost"], *(step["cost"] for step in path["steps"])]
        self._evaluations = recomputed["problem"]["cost"]["record"]["evaluations"]
        self._constant = recomputed["glm"]["constant_cost"]
        self._bend = max((abs(x) for row in recomputed["problem"]["cost"]["record"]["curvature"] for x in row), default=0.0)

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
        evaluation = self._evaluations[place[4]]
        return float(max(abs(evaluation["value"]), *(abs(slope) for slope in evaluation.get("slopes", ())), 0.0))


def _largest_score(recomputed: dict[str, Any], keys: tuple[str, ...], kinds: tuple[str, ...] = ()) -> float:
    """The size of the parts that scores are made of, of all coordinates or of some kinds."""
    parts = (c[key] for c in recomputed["coordinates"] for key in keys if not kinds or c["kind"] in kinds)
    return 1.0 + max((abs(part) for part in parts if part is not None), default=0.0)


def rounding_of(recomputed: dict[str, Any]) -> Allowance:
    """The allowance for each leaf of a report: how far rounding may move it, judged by the ``recomputed`` report."""
    glm = recomputed.get("glm")
    losses = _Losses(recomputed) if glm else None
    square = 0.0 if losses else float(recomputed["problem"]["cost"]["constant"])
    size = math.sqrt(max(square, 0.0))
    effect_size = size
    if losses is not None:
        baseline = _largest_score(recomputed, ("old", "new"), ("baseline",))
        size = baseline + _largest_score(recomputed, ("standardised_old", "standardised_new"))
        effect_size = _largest_score(recomputed, ("old", "new"), _EFFECTS)
    gram = glm["gram"] if glm else recomputed["problem"]["cost"]["gram"]
    spread = [math.sqrt(max(row[i], 0.0)) for i, row in enumerate(gram)]
    effects = {c["label"] for c in recomputed["coordinates"] if c["kind"] not in ("numeric", "missing")}
    excess = abs(recomputed["path"]["objective"] - recomputed["path"]["minimum_cost"]) or square or 1.0

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
            return _PURE + (_ROUNDING * square / excess if losses is None else losses.of_ratio(name, recomputed["path"]))
        if name in _PURE_NUMBERS:
            return _PURE
        if name == "gram":
            return _ROUNDING * 10 * spread[int(place[-2])] * spread[int(place[-1])]
        if name == "linear":
            return _ROUNDING * 10 * spread[int(place[-1])] * size
        if place[:1] == ("coordinates",) and name in ("mean", "sd"):
            return _ROUNDING * 10 * float(recomputed["coordinates"][place[1]]["sd"])
        if place[:1] == ("functions",) and name in ("old", "new"):
            return _ROUNDING * 10 * (size + effect_size)
        if place[:1] == ("coordinates",) and name in ("old", "new"):
            return _ROUNDING * effect_size * 10 if recomputed["coordinates"][place[1]]["label"] in effects else 0.0
        if name in ("start", "target") and names[0] == "problem":
            return _ROUNDING * effect_size * 10 if recomputed["problem"]["features"][int(place[-1])] in effects else 0.0
        if name in ("from", "to"):
            step = recomputed["path"]["steps"][place[2]]
            moves = [step["moves"][int(place[4])]] if "moves" in names else step["moves"]
            return _ROUNDING * effect_size * 10 if any(move["feature"] in effects for move in moves) else 0.0
        return 0.0

    return allowance


def differences(recorded: Any, recomputed: Any, allowance: Allowance, place: Place = ()) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Every leaf that differs by more than its ``allowance``, as "place: recorded, recomputed"."""
    if isinstance(recorded, dict) and isinstance(recomputed, dict):
        for key in dict.fromkeys([*recorded, *recomputed]):
            if key not in recorded or key not in recomputed:
                problem = "not in the report" if key not in recorded else "does not belong there"
                yield f"{_spelled((*place, key))}: {problem}"
            else:
                yield from differences(recorded[key], recomputed[key], allowance, (*place, key))
    elif isinstance(recorded, list) and isinstance(recomputed, list):
        if len(recorded) != len(recomputed):
            yield f"{_spelled(place)}: has {len(recorded)} entries, should have {len(recomputed)}"
            return
        for i, (recorded_entry, recomputed_entry) in enumerate(zip(recorded, recomputed, strict=True)):
            yield from differences(recorded_entry, recomputed_entry, allowance, (*place, i))
    elif isinstance(recorded, float) and isinstance(recomputed, float | int) and not isinstance(recomputed, bool):
        if abs(recorded - recomputed) > _RELATIVE * max(abs(recorded), abs(recomputed)) + allowance(place):
            yield f"{_spelled(place)}: {recorded!r}, recomputed {recomputed!r}"
    elif recorded != recomputed:
        yield f"{_spelled(place)}: {recorded!r}, recomputed {recomputed!r}"


def _spelled(place: Place) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def document_differences(document: ChangeReportDocument, recomputed: ChangeReportDocument) -> list[str]:
    """The leaves of ``document`` that differ from the ``recomputed`` one by more than rounding."""
    content = comparable(recomputed)
    return list(differences(comparable(document), content, rounding_of(content)))


def comparable(document: ChangeReportDocument) -> dict[str, Any]:
    """What must come out the same; sentences and verdict have checks of their own, digest and tool facts may differ."""
    content = document.model_dump(mode="json", by_alias=True)
    for key in ("digest", "summary", "limits", "tool", "assessment"):
        content.pop(key)
    content["recheck"].pop("versions")
    return content
