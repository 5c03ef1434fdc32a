"""The path between two trees as a report keeps it: the problem with its evidence, and every step in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from coordpath_governance.errors import ReportFormatError
from coordpath_governance.numbers import significant
from coordpath_governance.paths.certificate import Certificate
from coordpath_governance.paths.splits.solve import SplitPath, evaluate_splits, solve_splits
from coordpath_governance.paths.splits.split_loss import SplitLoss, Term
from coordpath_governance.paths.splits.split_units import COLLAPSE, GROW, MOVE, REFIT
from coordpath_governance.paths.splits.tree_change import TreeChange, TreeUnit
from coordpath_governance.reports.document import ComparedOrder, PathFacts, Settings, SplitFacts, StepFacts
from coordpath_governance.reports.impact_parts import RowEvidence
from coordpath_governance.reports.steps import TWO_ERRORS, brackets_of

__all__ = [
    "SPLITS_SCHEMA",
    "compared_orders",
    "label",
    "proved_again",
    "recorded_path",
    "split_loss_of",
    "split_path_facts",
    "step_titles",
    "stored_splits",
]

SPLITS_SCHEMA = "coordpath.splits/1"
_ROUNDING = 1e-12
_ROOT = "root"
Action = Literal["collapse", "grow", "move", "refit"]


def place(unit: TreeUnit) -> str:
    """Where a step is: the turns from the root."""
    return " → ".join((_ROOT, *unit.turns))


def label(unit: TreeUnit) -> str:
    """A step in words; no two steps of a report have the same."""
    at = f"at {place(unit)}"
    old, new = (None if value is None else f"{unit.column} ≤ {significant(value, 6)}" for value in unit.threshold)
    if unit.kind == GROW:
        return f"split {new} {at}"
    if unit.kind == COLLAPSE:
        return f"remove the split {old} {at}"
    if unit.kind == MOVE:
        before, afterwards = unit.threshold
        where = f"{old} to {significant(afterwards or 0.0, 6)}" if before != afterwards else f"{old}, missing values,"
        return f"move the split {where} {at}"
    return f"new value of the leaf {at}"


def stored_splits(loss: SplitLoss, settings: Settings) -> dict[str, Any]:
    """The problem and its evidence: which unit comes after which, and the sums over the rows."""
    return {
        "schema": SPLITS_SCHEMA,
        "gamma": settings.gamma,
        "max_steps": settings.max_steps,
        "units": [
            {"kind": kind, "after": list(after)} for kind, after in zip(loss.units.kinds, loss.units.after, strict=True)
        ],
        "terms": [
            {
                "condition": [[unit, done] for unit, done in term.condition],
                "base": term.base,
                "gains": [[unit, gain] for unit, gain in term.gains],
            }
            for term in loss.terms
        ],
    }


def split_loss_of(change: TreeChange, problem: Mapping[str, Any]) -> SplitLoss:
    """The recorded sums, of the units between the two recorded trees; `ReportFormatError` if they are not of these units."""
    try:
        units = [(entry["kind"], tuple(entry["after"])) for entry in problem["units"]]
        terms = tuple(
            Term(
                tuple((_count(unit), done is True) for unit, done in term["condition"]),
                float(term["base"]),
                tuple((_count(unit), float(gain)) for unit, gain in term["gains"]),
            )
            for term in problem["terms"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ReportFormatError(f"problem: does not hold the steps between two trees ({error})") from error
    if units != list(zip(change.units.kinds, change.units.after, strict=True)):
        raise ReportFormatError("problem.units: are not the steps between the two trees of the report")
    return SplitLoss(change.units, terms)


def _count(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is no unit")
    return value


def step_titles(change: TreeChange, path: SplitPath) -> tuple[str, ...]:
    """What each step of a path is called."""
    return tuple(_title(change, units) for units in _steps(path))


def _steps(path: SplitPath) -> list[tuple[int, ...]]:
    return [*((unit,) for unit in path.order), *([path.rest] if path.rest else [])]


def _title(change: TreeChange, units: Sequence[int]) -> str:
    return label(change.steps[units[0]]) if len(units) == 1 else f"the other {len(units)} steps, together"


def split_path_facts(change: TreeChange, loss: SplitLoss, path: SplitPath, rows: RowEvidence | None) -> PathFacts:
    """The path and its certificate with everything that is told beside each step."""
    order_free, certificate = loss.order_free(), path.certificate
    costs = list(path.costs)
    total = costs[-1] - costs[0]
    rounding = _ROUNDING * max(map(abs, costs))
    shares = rows is not None and abs(total) > TWO_ERRORS * rows.total_se
    brackets = brackets_of(costs, rounding)
    steps = []
    for index, units in enumerate(_steps(path)):
        delta = costs[index + 1] - costs[index]
        single = change.steps[units[0]] if len(units) == 1 else None
        steps.append(
            StepFacts(
                k=index + 1,
                kind="rest" if single is None else "split",
                feature=_title(change, units),
                from_=None if single is None or single.kind != MOVE else single.threshold[0],
                to=None if single is None or single.kind != MOVE else single.threshold[1],
                moves=(),
                cost=costs[index + 1],
                delta=delta,
                delta_se=None if rows is None else rows.step_se[index],
                share=delta / total if shares else None,
                shapley=math.fsum(order_free[unit] for unit in units),
                worsens=delta > rounding,
                bracket=brackets[index],
                split=None if single is None else _split_facts(units[0], single),
            )
        )
    return PathFacts(
        schema_="coordpath.path/1",
        objective=certificate.objective,
        lower_bound=certificate.lower_bound,
        gap=certificate.gap,
        gap_per_step=certificate.gap_per_step,
        status=certificate.status,
        solver=certificate.solver,
        start_cost=costs[0],
        minimum_cost=path.least,
        steps=tuple(steps),
    )


def _split_facts(number: int, unit: TreeUnit) -> SplitFacts:
    old, new = unit.threshold
    return SplitFacts(
        unit=number,
        action=cast("Action", unit.kind),
        place=place(unit),
        column=unit.column,
        old_threshold=old,
        new_threshold=new,
        old_value=unit.value[0] if unit.kind == REFIT and unit.value else None,
        new_value=unit.value[1] if unit.kind == REFIT and unit.value else None,
    )


_TITLES: Mapping[str, str] = {
    "ours": "This report's order",
    "greedy": "Greedy: at each step what lowers the cost most",
    "direct": "Direct: from the root down, place by place",
}


def compared_orders(change: TreeChange, loss: SplitLoss, path: SplitPath, gamma: float) -> tuple[ComparedOrder, ...]:
    """Ours, greedy and direct, with how much worse an average step of the others is."""
    if not path.order and not path.rest:
        return ()
    steps = len(path.order)
    others = {"ours": path.order, "greedy": _greedy(loss, steps), "direct": tuple(range(steps))}
    told = {name: evaluate_splits(loss, order, gamma) for name, order in others.items()}
    weight = path.weight
    return tuple(
        ComparedOrder(
            name=cast("Literal['ours', 'greedy', 'direct']", name),
            title=_TITLES[name],
            order=step_titles(change, other),
            costs=other.costs[1:],
            objective=other.certificate.objective,
            worse_per_step=(other.certificate.objective - path.certificate.objective) / weight,
        )
        for name, other in told.items()
    )


def _greedy(loss: SplitLoss, steps: int) -> tuple[int, ...]:
    order: list[int] = []
    gains = None if loss.additive is None else loss.additive.gains
    while len(order) < steps:
        done = frozenset(order)
        free = [unit for unit in range(len(loss.units)) if unit not in done and done.issuperset(loss.units.after[unit])]
        if gains is not None:
            order.append(max(free, key=lambda unit: gains[unit]))
        else:
            order.append(min(free, key=lambda unit: loss.value(done | {unit})))
    return tuple(order)


def recorded_path(loss: SplitLoss, path: PathFacts, settings: Settings) -> SplitPath:
    """The recorded order evaluated afresh, with the recorded bound."""
    order = tuple(step.split.unit for step in path.steps if step.split is not None)
    if any(not 0 <= unit < len(loss.units) for unit in order) or not loss.units.allows(order):
        raise ReportFormatError("path: the steps are not in an order in which they can be done")
    certificate = Certificate(
        objective=path.objective,
        lower_bound=path.lower_bound,
        gap=0.0,
        gap_per_step=0.0,
        status=path.status,
        solver=path.solver,
    )
    return evaluate_splits(loss, order, settings.gamma, certificate)


def proved_again(loss: SplitLoss, settings: Settings) -> SplitPath:
    """What can be proved from the recorded sums."""
    return solve_splits(loss, settings.gamma, settings.max_steps)
