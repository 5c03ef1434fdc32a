"""A path that a person walks: what was chosen so far, and the best path that keeps to it.

Choices are constraints of the question: a step that was accepted and a unit that is pinned have a place, a unit that is
forbidden moves with the rest (or not at all, if the person stops before), and "a before b" is an order. So the question with
the choices is a problem like any other, which `solve` takes and a document holds.

All sums are over the terms of the question without choices; a path that ends sooner rests at its last model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from coordpath_governance.costs import GlmCost
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.certificate import OPTIMAL
from coordpath_governance.paths.constraints import Constraints, Frozen, Order, Place
from coordpath_governance.paths.problem_document import problem_to_dict
from coordpath_governance.paths.row_orders.recorded_cost import RecordedCost, recorded
from coordpath_governance.paths.solution import Solution, solve_problem

if TYPE_CHECKING:
    from coordpath_governance.paths.path import Path, Step
    from coordpath_governance.paths.problem import PathProblem, Unit

__all__ = ["EXPLORATION_SCHEMA", "QUICK", "Choices", "Ending", "Exploration", "Price"]

EXPLORATION_SCHEMA = "coordpath.exploration/1"

QUICK = "quick"
"""The solver for somebody who waits."""

Ending = Literal["target", "here", "rest"]
"""Step by step to the target; nowhere after the steps that are done; or to the target at once after them."""


@dataclass(frozen=True)
class Choices:
    """What the person chose, by labels of units; ``pinned`` has the step at which a unit moves."""

    done: tuple[str, ...] = ()
    pinned: tuple[tuple[str, int], ...] = ()
    forbidden: tuple[str, ...] = ()
    orders: tuple[tuple[str, str], ...] = ()
    ending: Ending = "target"

    def without(self, label: str) -> Choices:
        """The same with a unit neither pinned nor forbidden."""
        return replace(
            self,
            pinned=tuple(pin for pin in self.pinned if pin[0] != label),
            forbidden=tuple(each for each in self.forbidden if each != label),
        )

    def to_dict(self) -> dict[str, Any]:
        """The ``choices`` of the exploration's document."""
        return {
            "done": list(self.done),
            "pinned": dict(self.pinned),
            "forbidden": list(self.forbidden),
            "order": [list(pair) for pair in self.orders],
            "ending": self.ending,
        }


@dataclass(frozen=True)
class Price:
    """By how much the path's sum exceeds that of the best path without choices: the two are equal if that is proved.

    Both are negative where a path pays that was none before: it moves several units at once, or ends before the target.
    """

    least: float
    most: float


@dataclass(frozen=True, eq=False)
class Exploration:
    """A question, the choices so far, and the best path found that keeps to them; every choice makes a new one.

    ``free`` and ``free_bound`` are the sum of the best path known without choices, and what none goes below. ``asked`` is
    the question with the choices.
    """

    problem: PathProblem
    choices: Choices
    asked: PathProblem
    solution: Solution
    free: float
    free_bound: float
    past: Exploration | None = None

    @classmethod
    def begin(cls, problem: PathProblem) -> Exploration:
        """Nothing chosen yet. Raises `ProblemError` if units may move again, the end is free or the cost is a record."""
        if not problem.moves_once:
            raise ProblemError("steps: a path is explored where every changed unit moves once; leave it null, give a target")
        if isinstance(problem.cost, RecordedCost):
            raise ProblemError("cost.record: tells one path only, no other choices; give the rows")
        solution = solve_problem(problem, solver=QUICK)
        return cls(problem, Choices(), problem, solution, solution.objective, solution.lower_bound)

    @property
    def next_step(self) -> Step | None:
        """The step that comes next; None where nothing is left."""
        steps, count = self.solution.path.steps, len(self.choices.done)
        return steps[count] if self.choices.ending == "target" and count < len(steps) else None

    @property
    def objective(self) -> float:
        """Σ αₖ c(βₖ) of the path."""
        return _sum(self.problem, self.solution.path)

    @property
    def lower_bound(self) -> float:
        """No path that keeps to the choices has a smaller objective."""
        return self.solution.lower_bound + (self.objective - self.solution.objective)

    @property
    def price(self) -> Price:
        """What the choices cost."""
        return Price(self.objective - self.free, self.objective - self.free_bound)

    def accept(self, count: int = 1) -> Exploration:
        """The next step is done, or so many; the rest, where it comes, is done with them."""
        self._expect_next()
        before = len(self.choices.done)
        steps = self.solution.path.steps[before : before + count]
        labels = [step.label for step in steps if step.kind != "rest"]
        reached = self
        if labels:
            pinned = tuple(pin for pin in self.choices.pinned if pin[0] not in labels)
            choices = replace(self.choices, done=(*self.choices.done, *labels), pinned=pinned)
            reached = self._choose(choices, self.solution)
        return reached if len(labels) == len(steps) else replace(reached.rest(), past=self)

    def stop(self) -> Exploration:
        """The steps that are done are all: the end is free, at the model reached."""
        self._expect_next()
        return self._choose(replace(self.choices, pinned=(), ending="here"))

    def rest(self) -> Exploration:
        """All that is left is done at once."""
        self._expect_next()
        if not self.choices.done:
            raise ProblemError("the rest comes after at least one single step; accept one first")
        return self._choose(replace(self.choices, pinned=(), forbidden=(), ending="rest"))

    def pin(self, name: str, step: int | None = None) -> Exploration:
        """A unit moves at a step; without one, next."""
        unit, next_one = self._open_unit(name), len(self.choices.done) + 1
        k = next_one if step is None else step
        if k < next_one:
            raise ProblemError(f"step {k} is done; pin {unit.label!r} at step {next_one} or later, or undo")
        choices = self.choices.without(unit.label)
        return self._choose(replace(choices, pinned=(*choices.pinned, (unit.label, k))))

    def forbid(self, name: str) -> Exploration:
        """A unit makes no single step: it moves with the rest, or, if the person stops before, not at all."""
        unit = self._open_unit(name)
        choices = self.choices.without(unit.label)
        return self._choose(replace(choices, forbidden=(*choices.forbidden, unit.label)))

    def order(self, first: str, then: str) -> Exploration:
        """One unit moves before another, or both with the rest."""
        pair = self._open_unit(first).label, self._open_unit(then).label
        if pair[0] == pair[1]:
            raise ProblemError(f"{first!r} and {then!r} move together; name two that move one at a time")
        return self._choose(replace(self.choices, orders=tuple(dict.fromkeys((*self.choices.orders, pair)))))

    def undo(self) -> Exploration:
        """As before the last choice."""
        if self.past is None:
            raise ProblemError("there is nothing to undo")
        return replace(self.past, free=self.free, free_bound=self.free_bound)

    def reset(self) -> Exploration:
        """As before the first choice; that can be undone."""
        return self._choose(Choices())

    def to_dict(self) -> dict[str, Any]:
        """The document `coordpath.exploration/1`."""
        asked, price = self.asked, self.price
        return {
            "schema": EXPLORATION_SCHEMA,
            "choices": self.choices.to_dict(),
            "target": None if asked.target is None else asked.target.tolist(),
            "max_steps": asked.max_steps,
            "constraints": asked.constraints.to_dict(),
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "without_choices": {"objective": self.free, "lower_bound": self.free_bound},
            "price": {"least": price.least, "most": price.most},
            "path": self.solution.to_dict(),
        }

    def document(self, *, rows: bool = True) -> dict[str, Any]:
        """The question with the choices, as `coordpath.problem/1`, for the solver that the question names.

        Without ``rows`` a cost on rows is written as what was asked of them, from which this path alone is found again.
        """
        if rows or not isinstance(self.asked.cost, GlmCost):
            return problem_to_dict(self.asked)
        asked = replace(self.asked, solver=QUICK)
        solve_problem(asked)
        return problem_to_dict(replace(asked, cost=recorded(asked, self.asked.cost)))

    def _choose(self, choices: Choices, known: Solution | None = None) -> Exploration:
        """The best path that keeps to other choices; ``known`` is one that does, and stays unless another is better."""
        asked = _asked(self.problem, choices)
        solution = known
        if solution is None or solution.status != OPTIMAL:
            other = solve_problem(asked, solver=QUICK)
            solution = other if solution is None or other.objective <= solution.objective else solution
        free = self.free
        if choices.ending == "target" and asked.max_steps == self.problem.max_steps:
            free = min(free, _sum(self.problem, solution.path))
        return Exploration(self.problem, choices, asked, solution, free, self.free_bound, self)

    def _expect_next(self) -> Step:
        step = self.next_step
        if step is None:
            raise ProblemError("no step is left; undo, reset or save")
        return step

    def _open_unit(self, name: str) -> Unit:
        """A changed unit that has not moved, by its label or one of its features."""
        self._expect_next()
        for unit in self.problem.changed:
            if name == unit.label or name in (self.problem.features[i] for i in unit.members):
                if unit.label in self.choices.done:
                    raise ProblemError(f"{name!r} has moved; undo, or name one that has not")
                return unit
        known = "does not change" if name in self.problem.features else "is not one of the features"
        raise ProblemError(f"{name!r} {known}; name one of the steps")


def _asked(problem: PathProblem, choices: Choices) -> PathProblem:
    """The question with the choices."""
    feature = {unit.label: problem.features[unit.members[0]] for unit in problem.changed}
    done = [Place(feature[label], k) for k, label in enumerate(choices.done, start=1)]
    orders = [Order(feature[first], feature[then]) for first, then in choices.orders]
    given = problem.constraints.items
    if choices.ending == "here":
        moved = [i for unit in problem.changed if unit.label in choices.done for i in unit.members]
        reached, target = problem.start if problem.target is None else problem.target, problem.start.copy()
        target[moved] = reached[moved]
        frozen = [Frozen(feature[label]) for label in choices.forbidden]
        kept = [each for each in given if not isinstance(each, Place) or each in done]
        return replace(problem, target=target, max_steps=None, constraints=_together(*kept, *done, *orders, *frozen))
    pinned = [Place(feature[label], k) for label, k in choices.pinned]
    resting = [Place(feature[label], None) for label in choices.forbidden]
    if choices.ending == "rest":
        kept = [each for each in given if not isinstance(each, Place) or each in done]
        return replace(problem, max_steps=len(done), constraints=_together(*kept, *done, *orders))
    every = {each for each in (*given, *resting) if isinstance(each, Place) and each.step is None}
    most = len(problem.changed) - len(every)
    if resting and most < 1:
        raise ProblemError("then no unit is left for a single step; leave one of them free")
    return replace(
        problem,
        max_steps=min(problem.singles, most) if resting else problem.max_steps,
        constraints=_together(*given, *done, *pinned, *orders, *resting),
    )


def _together(*items: Any) -> Constraints:  # noqa: ANN401 - constraints of any kind
    return Constraints(tuple(dict.fromkeys(items)))


def _sum(problem: PathProblem, path: Path) -> float:
    """Σ αₖ c(βₖ) over the terms of the problem; a path that ends sooner rests."""
    terms = problem.most_terms
    costs = path.costs() or (path.start_cost,)
    costs += (costs[-1],) * (terms - len(costs))
    return math.fsum(alpha * cost for alpha, cost in zip(problem.alphas(terms).tolist(), costs, strict=False))
