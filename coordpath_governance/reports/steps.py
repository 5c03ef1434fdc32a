"""The path section: steps in the report's own labels, with error, share, order-free value and brackets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from coordpath_governance.alignment.change import Change
from coordpath_governance.costs.quadratic import QuadraticCost
from coordpath_governance.paths import PathProblem, Solution, evaluate_order, greedy_order, shapley
from coordpath_governance.paths.path import Path, Step, StepKind
from coordpath_governance.reports.document import ComparedOrder, Move, PathFacts, StepFacts
from coordpath_governance.reports.impact_parts import RowEvidence

__all__ = ["Labels", "compare_orders", "path_facts", "steps_as_units"]

TWO_ERRORS = 2.0
_SUMMED = 1e-12
"""The part of the largest cost by which a sum over rows may be off; no step counts as worse by less."""
OrderName = Literal["ours", "greedy", "direct"]
FunctionKind = Literal["function", "interaction"]
_TITLES: dict[OrderName, str] = {
    "ours": "This report's order",
    "greedy": "Greedy: at each step the coefficient that lowers the cost most",
    "direct": "Direct: in the order in which the coefficients are listed",
}


@dataclass(frozen=True)
class Labels:
    """From a coordinate's label to the unit it moves with, and which units are functions, of how many columns."""

    unit_of: Mapping[str, str]
    functions: Mapping[str, FunctionKind]

    @classmethod
    def of(cls, change: Change) -> Labels:
        """The labels of a change."""
        functions = {c.unit: c.source.column for c in change.coordinates if c.source is not None and c.source.is_function}
        return cls(
            {c.label: c.unit for c in change.coordinates},
            {unit: "interaction" if name in change.interactions else "function" for unit, name in functions.items()},
        )

    def kind(self, step: Step) -> StepKind:
        """What kind of step it is: that of a function says so."""
        units = self.units(step)
        return self.functions.get(units[0], step.kind) if len(units) == 1 and step.kind != "rest" else step.kind

    def units(self, step: Step) -> tuple[str, ...]:
        """The units that a step moves, in the order of their coordinates."""
        return tuple(dict.fromkeys(self.unit_of[move.feature] for move in step.moves))

    def title(self, step: Step) -> str:
        """What the step is called: its unit, or all the rest where that is more than one."""
        units = self.units(step)
        return step.label if step.kind == "rest" and len(units) > 1 else units[0]


def steps_as_units(path: Path, labels: Labels) -> tuple[tuple[str, ...], ...]:
    """The units moved by each step."""
    return tuple(labels.units(step) for step in path.steps)


def path_facts(problem: PathProblem, solution: Solution, labels: Labels, rows: RowEvidence | None) -> PathFacts:
    """The path and its certificate with everything a reviewer reads beside each step."""
    path, certificate = solution.path, solution.certificate
    order_free = _order_free(problem, labels)
    total = sum(step.delta for step in path.steps)
    shares = rows is not None and abs(total) > TWO_ERRORS * rows.total_se
    costs = [path.start_cost, *(step.cost for step in path.steps)]
    rounding = 0.0 if isinstance(problem.cost, QuadraticCost) else _SUMMED * max(costs)
    brackets = _brackets(costs, rounding)
    steps = tuple(
        StepFacts(
            k=step.k,
            kind=labels.kind(step),
            feature=labels.title(step),
            from_=step.moves[0].before if _is_coefficient(step, labels) else None,
            to=step.moves[0].after if _is_coefficient(step, labels) else None,
            moves=tuple(Move(feature=move.feature, from_=move.before, to=move.after) for move in step.moves),
            cost=step.cost,
            delta=step.delta,
            delta_se=None if rows is None else rows.step_se[i],
            share=step.delta / total if shares else None,
            shapley=sum(order_free[unit] for unit in labels.units(step)),
            worsens=step.delta > rounding,
            bracket=brackets[i],
        )
        for i, step in enumerate(path.steps)
    )
    return PathFacts(
        schema_="coordpath.path/1",
        objective=certificate.objective,
        lower_bound=certificate.lower_bound,
        gap=certificate.gap,
        gap_per_step=certificate.gap_per_step,
        status=certificate.status,
        solver=certificate.solver,
        start_cost=path.start_cost,
        minimum_cost=problem.cost.minimum(),
        steps=steps,
    )


def _is_coefficient(step: Step, labels: Labels) -> bool:
    """Whether a single coefficient moves, and not a function as a whole."""
    return len(step.moves) == 1 and labels.units(step)[0] not in labels.functions


def _order_free(problem: PathProblem, labels: Labels) -> dict[str, float]:
    """Shapley value of each unit."""
    values = shapley(problem)
    return {
        labels.unit_of[problem.features[unit.members[0]]]: value for unit, value in zip(problem.changed, values, strict=True)
    }


def _brackets(costs: Sequence[float], rounding: float = 0.0) -> list[int | None]:
    """A number per step for the runs of steps that belong together: from one that worsens to the one that makes up for it.

    A step that no later step makes up for has no bracket. Costs that differ by at most ``rounding`` count as equal.
    """
    brackets: list[int | None] = [None] * (len(costs) - 1)
    number, k = 0, 1
    while k < len(costs):
        before = costs[k - 1]
        least = before + rounding
        end = next((j for j in range(k + 1, len(costs)) if costs[j] <= least), None) if costs[k] > least else None
        if end is None:
            k += 1
            continue
        number += 1
        brackets[k - 1 : end] = [number] * (end - k + 1)
        k = end + 1
    return brackets


def compare_orders(problem: PathProblem, solution: Solution, labels: Labels) -> tuple[ComparedOrder, ...]:
    """Our order, the greedy and the direct one, each with how much worse it is per step on average."""
    solutions: dict[OrderName, Solution] = {
        "ours": solution,
        "greedy": evaluate_order(problem, greedy_order(problem)),
        "direct": evaluate_order(problem, range(len(problem.changed))),
    }
    weight = float(problem.alphas(solution.path.terms).sum())
    return tuple(
        ComparedOrder(
            name=name,
            title=_TITLES[name],
            order=tuple(labels.title(step) for step in compared.path.steps),
            costs=tuple(step.cost for step in compared.path.steps),
            objective=compared.certificate.objective,
            worse_per_step=(compared.certificate.objective - solution.certificate.objective) / weight,
        )
        for name, compared in solutions.items()
    )
