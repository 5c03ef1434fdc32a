"""Compare two documents leaf by leaf: numbers to within their own rounding, everything else exactly.

What rounding may do depends on the figure. A cost is a difference of numbers as large as E[y²], a score of numbers as
large as its root, and a mean or a cross product of numbers as large as the spreads it is made of; a count, a share or a
slope is none of these. The sizes are taken from the recomputed document, never from the one under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["differences", "rounding_of"]

Place = tuple[str | int, ...]
Allowance = Callable[[Place], float]

_RELATIVE = 1e-9
_ROUNDING = 1e-13
_PURE = 1e-9
_SUMMED = 1e-11
"""Of the largest cost: what a sum over many rows, in another order, may be off by, and a minimum found by iteration."""

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
    ("r2", "gap", "share", "up", "down", "flips", "auc", "gini", "explained", "expected", "observed", "at")
)


def _largest_cost(again: dict[str, Any]) -> float:
    """The size that a mean loss is a sum of."""
    told = [each["value"] for each in again["problem"]["cost"]["record"]["evaluations"]]
    return float(max(abs(value) for value in [again["glm"]["constant_cost"], *told]))


def _largest_score(again: dict[str, Any]) -> float:
    """The size of the parts that scores are made of."""
    parts = (c[key] for c in again["coordinates"] for key in ("old", "new", "standardised_old", "standardised_new"))
    return 1.0 + max((abs(part) for part in parts if part is not None), default=0.0)


def rounding_of(again: dict[str, Any]) -> Allowance:
    """What rounding may do to each leaf of a report like ``again``."""
    glm = again.get("glm")
    square = _largest_cost(again) if glm else float(again["problem"]["cost"]["constant"])
    size = _largest_score(again) if glm else math.sqrt(max(square, 0.0))
    gram = glm["gram"] if glm else again["problem"]["cost"]["gram"]
    spread = [math.sqrt(max(row[i], 0.0)) for i, row in enumerate(gram)]
    effects = {c["label"] for c in again["coordinates"] if c["kind"] not in ("numeric", "missing")}
    excess = abs(again["path"]["objective"] - again["path"]["minimum_cost"]) or square

    def allowance(place: Place) -> float:
        names = [part for part in place if isinstance(part, str)]
        name = names[-1] if names else ""
        if name in _COSTS or name in _COST_ERRORS:
            return _ROUNDING * square * 10
        if name in _RECORDED:
            return _SUMMED * square
        if name in _SCORES or names[:2] == ["impact", "shift"]:
            return _ROUNDING * size * 10
        if name in _PURE_NUMBERS:
            return _PURE + (_ROUNDING * square / excess if name in ("gap", "share") else 0.0)
        if name == "gram":
            return _ROUNDING * 10 * spread[int(place[-2])] * spread[int(place[-1])]
        if name == "linear":
            return _ROUNDING * 10 * spread[int(place[-1])] * size
        if place[:1] == ("coordinates",) and name in ("mean", "sd"):
            return _ROUNDING * 10 * float(again["coordinates"][place[1]]["sd"])
        if place[:1] == ("coordinates",) and name in ("old", "new"):
            return _ROUNDING * size * 10 if again["coordinates"][place[1]]["label"] in effects else 0.0
        if name in ("start", "target") and names[0] == "problem":
            return _ROUNDING * size * 10 if again["problem"]["features"][int(place[-1])] in effects else 0.0
        if name in ("from", "to"):
            step = again["path"]["steps"][place[2]]
            moves = [step["moves"][int(place[4])]] if "moves" in names else step["moves"]
            return _ROUNDING * size * 10 if any(move["feature"] in effects for move in moves) else 0.0
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
