"""Front: the price of interpretability, as the models between which loss and cost can be traded.

For every λ > 0 the minimiser of c(β_K) + λ Σₖ αₖ c(βₖ) over all paths of K = 0 … N steps is Pareto-optimal; the models
found this way are the *supported* ones. Along one sequence of units the best coefficients change continuously with λ, so
a front is a list of arcs and single models, and what is listed is a sample whose density the resolution states.

F(λ) = min c(β_K) + λ Σₖ αₖ c(βₖ) is concave in λ. So two values of λ enclose it between them: the models found bound it from
above, the chord bounds it from below. The front is refined where the two are furthest apart, until they are nowhere
further apart than the resolution.

Under a quadratic cost the front also has the models that no weighted sum finds, as arcs: see `fronts.whole_front`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from coordpath_governance.costs.glm import GlmCost
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.certificate import BOUNDED, OPTIMAL
from coordpath_governance.paths.fronts.whole_front import WholeFront, draw_whole_front
from coordpath_governance.paths.losses import path_loss
from coordpath_governance.paths.path import Path
from coordpath_governance.paths.problem import PathProblem, StepRange, check_solver
from coordpath_governance.paths.reading import as_number
from coordpath_governance.paths.solution import Solution, solve_within
from coordpath_governance.paths.step_types import COORDINATE
from coordpath_governance.paths.weights import FinalWeights, GeometricWeights, Weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from coordpath_governance.paths.certificate import Certificate, Status
    from coordpath_governance.paths.path import Path
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["FRONT_SCHEMA", "Front", "FrontPoint", "trace_front"]

FRONT_SCHEMA = "coordpath.front/1"


@dataclass(frozen=True, eq=False)
class FrontPoint:
    """A model of the front and the path to it.

    ``lam`` is the interval of λ in which no other listed model is better. The path is the best found at ``solved_at``, and
    ``certificate`` is that of c(β_K) + λ·loss there; both are None for the start, which needs no path.
    """

    cost: float
    loss: float
    path: Path
    coefficients: tuple[float, ...]
    solved_at: float | None = None
    certificate: Certificate | None = None
    lam: tuple[float, float] = (0.0, math.inf)

    @property
    def status(self) -> Status:
        """That of the certificate. The start is the best model from some λ on, which is proved."""
        return OPTIMAL if self.certificate is None else self.certificate.status

    def value(self, lam: float) -> float:
        """The weighted sum cost + λ·loss."""
        return self.cost + lam * self.loss

    def to_dict(self) -> dict[str, object]:
        """As in the front document; an endless interval of λ ends in null."""
        return {
            "lambda": {"from": self.lam[0], "to": self.lam[1] if math.isfinite(self.lam[1]) else None},
            "solved_at": self.solved_at,
            "terms": self.path.terms,
            "cost": self.cost,
            "loss": self.loss,
            "coefficients": list(self.coefficients),
            "status": self.status,
            "gap": 0.0 if self.certificate is None else self.certificate.gap,
            "steps": [step.to_dict() for step in self.path.steps],
        }


@dataclass(frozen=True, eq=False)
class Front:
    """Supported Pareto-optimal models by growing loss, the start first.

    ``shortfall``: whatever λ > 0, no model reached in at most N steps has a smaller c + λ·loss than the best listed one
    by more than this, in the cost's unit. `optimal` if that is within the resolution, a part of c(start) − min c.
    ``whole``: the least cost at every loss; None for a cost on rows, and where weights are too uneven to draw it.
    """

    problem: PathProblem
    points: tuple[FrontPoint, ...]
    resolution: float
    shortfall: float
    status: Status
    whole: WholeFront | None = None

    def to_dict(self) -> dict[str, object]:
        """The document `coordpath.front/1`, of plain numbers and texts."""
        return {
            "schema": FRONT_SCHEMA,
            "features": list(self.problem.features),
            "start": self.problem.start.tolist(),
            "weights": self.problem.weights.to_dict(),
            "max_terms": self.problem.most_terms,
            "resolution": self.resolution,
            "shortfall": self.shortfall,
            "status": self.status,
            "points": [point.to_dict() for point in self.points],
            "whole": None if self.whole is None else self.whole.to_dict(),
        }


_FINEST = 1e-6
"""Finest resolution: beyond it, differences drown in the tolerance of `optimal`."""

_SLIGHT = 0.01
"""A part of the tolerance that makes no difference: the last model costs at most that much more than the least possible,
and a model that betters its neighbours by no more is not listed."""


@dataclass(frozen=True)
class _Tradeoff:
    """λ·αₖ, plus 1 on the last term: c(β_K) + λ Σ αₖ c(βₖ)."""

    weights: Weights
    lam: float

    def alphas(self, terms: int) -> NDArray[np.float64]:
        alphas = self.lam * self.weights.alphas(terms)
        alphas[-1] += 1.0
        return alphas

    def to_dict(self) -> dict[str, object]:
        return {"final": 1.0, "lambda": self.lam, **self.weights.to_dict()}


@dataclass(frozen=True)
class _Bound:
    """At this λ, F is at least ``lower``."""

    lam: float
    lower: float


def trace_front(problem: PathProblem, resolution: float, patience: Patience, solver: str | None = None) -> Front:
    """The supported Pareto front of a problem with a free end; ``steps`` (its maximum) is N, the longest path.

    ``weights`` are those of the loss: gamma, alpha or p. ``resolution`` is relative to c(start) − min c. When the patience
    is at an end, the front is of the models found until then, and its ``shortfall`` says what that leaves open.
    """
    check_solver(problem.solver if solver is None else solver, problem.target)
    _check(problem, resolution)
    return _Tracer(problem, resolution, patience, solver).trace()


def _check(problem: PathProblem, resolution: float) -> None:
    if problem.target is not None:
        raise ProblemError("target: a front is over all models; give null")
    if problem.constraints or problem.step_type is not COORDINATE:
        name = "constraints" if problem.constraints else "step_type"
        raise ProblemError(f"{name}: a front is over all coordinate paths; leave it out, or solve for one length at a time")
    if isinstance(problem.weights, FinalWeights):
        raise ProblemError("weights: the front tries every lambda itself; give gamma, alpha or p")
    if not _FINEST <= as_number(resolution, "resolution") <= 1:
        raise ProblemError(f"resolution: {resolution} is not a part of the range of costs; give {_FINEST:g} to 1")
    if not problem.alphas(problem.most_terms)[0] > 0:
        raise ProblemError("weights: the first is 0, so that a first step is free and nothing is traded; make it positive")
    if not problem.cost.never_negative():
        raise ProblemError("cost: is negative somewhere, so that longer paths would pay by themselves; add a constant")


class _Tracer:
    """Solves for one λ after the other."""

    def __init__(self, problem: PathProblem, resolution: float, patience: Patience, solver: str | None) -> None:
        self.problem, self.resolution, self.patience, self.solver = problem, resolution, patience, solver
        cost = _start_cost(problem)
        self.points = [FrontPoint(cost, 0.0, Path(cost, (), 0), tuple(problem.start.tolist()))]
        self.bounds: list[_Bound] = []
        self._hopeless = False
        self.least = self._least_cost()
        self.range = cost - self.least

    def trace(self) -> Front:
        tolerance = self.resolution * self.range
        if tolerance > 0:
            self._span(tolerance)
            self._refine((1 - 5 * _SLIGHT) * tolerance)
        self.points = _hull(self.points, _SLIGHT * tolerance)
        shortfall = self._shortfall()
        status = OPTIMAL if shortfall <= tolerance else BOUNDED
        return Front(self.problem, tuple(self.points), self.resolution, shortfall, status, self._whole(tolerance))

    def _whole(self, tolerance: float) -> WholeFront | None:
        if isinstance(self.problem.cost, GlmCost):
            return None
        lines = [(bound.lam, bound.lower) for bound in self.bounds]
        paths = [point.path for point in self.points]
        return draw_whole_front(self.problem, paths, lines, self._least_loss, self.least, tolerance)

    def _least_loss(self, terms: int) -> float:
        """No path of so many steps has less loss."""
        if self.patience.expired():
            return 0.0
        return self._solve(terms, self.problem.weights).certificate.lower_bound

    def _over(self) -> bool:
        """Whether to stop: the time is up, or the rows of a cost have taken all the work of a path that was not proved."""
        return self._hopeless or self.patience.expired()

    def _solve(self, steps: int | StepRange, weights: Weights) -> Solution:
        return solve_within(replace(self.problem, steps=steps, weights=weights), self.patience, self.solver)

    def _least_cost(self) -> float:
        """No model reached in N steps costs less."""
        if self.problem.most_terms >= len(self.problem.units):
            return self.problem.cost.minimum()
        bound = self._solve(self.problem.most_terms, FinalWeights(1.0, 0.0)).certificate.lower_bound
        return max(bound, self.problem.cost.minimum())

    def _span(self, tolerance: float) -> None:
        """From the λ at which the start is best to one so small that the cost alone decides."""
        first = float(self.problem.alphas(self.problem.most_terms)[0])
        once = first * self._solve(1, GeometricWeights()).certificate.lower_bound
        if not once > 0:
            raise ProblemError(
                "cost: one step brings it to 0, so that there is nothing to trade; solve with steps 1 instead"
            )
        lam = self.range / once
        self.bounds.append(_Bound(lam, self.points[0].cost))
        while not self._over():
            lam /= 8
            last = self._probe(lam)
            if last.cost - self.least <= _SLIGHT * tolerance or lam * last.loss <= _SLIGHT**2 * tolerance:
                return

    def _probe(self, lam: float) -> FrontPoint:
        """Solve at λ; the best point there."""
        solution = self._solve(StepRange(1, self.problem.most_terms), _Tradeoff(self.problem.weights, lam))
        self._hopeless = isinstance(self.problem.cost, GlmCost) and solution.certificate.status != OPTIMAL
        self.points.append(_point(solution, self.problem.weights, lam))
        self.bounds.append(_Bound(lam, min(self.points[0].cost, solution.certificate.lower_bound)))
        self.bounds.sort(key=lambda bound: -bound.lam)
        return self._best(lam)

    def _best(self, lam: float) -> FrontPoint:
        return min(self.points, key=lambda point: point.value(lam))

    def _refine(self, tolerance: float) -> None:
        """Between two values of λ, try the one at which their best models are equally good, the worst place first."""
        while not self._over():
            worst, at = tolerance, 0.0
            for high, low in pairwise(self.bounds):
                lam, above = self._crossing(high.lam, low.lam)
                chord = _chord(
                    high=high.lam,
                    at_high=self._best(high.lam).value(high.lam),
                    low=low.lam,
                    at_low=self._best(low.lam).value(low.lam),
                    lam=lam,
                )
                if above - chord > worst:
                    worst, at = above - chord, lam
            if not at:
                return
            self._probe(at)

    def _crossing(self, high: float, low: float) -> tuple[float, float]:
        """Where the best models at two values of λ are equally good, and their value there."""
        first, second = self._best(high), self._best(low)
        if second.loss <= first.loss:
            return high, first.value(high)
        lam = min(max((first.cost - second.cost) / (second.loss - first.loss), low), high)
        return lam, min(first.value(lam), second.value(lam))

    def _shortfall(self) -> float:
        """The most by which F can lie below the points: at the known λ, at crossings between them, and towards 0."""
        gaps = [max(0.0, self._best(bound.lam).value(bound.lam) - bound.lower) for bound in self.bounds]
        for high, low in pairwise(self.bounds):
            lam, above = self._crossing(high.lam, low.lam)
            gaps.append(above - _chord(high=high.lam, at_high=high.lower, low=low.lam, at_low=low.lower, lam=lam))
        gaps += [self._best(bound.lam).cost - self.least for bound in self.bounds[-1:]]
        return max(gaps, default=0.0)


def _start_cost(problem: PathProblem) -> float:
    cost = problem.cost
    return float(cost.values(problem.start)[0]) if isinstance(cost, GlmCost) else problem.quadratic.value(problem.start)


def _point(solution: Solution, weights: Weights, lam: float) -> FrontPoint:
    problem, path = solution.problem, solution.path
    values = dict(zip(problem.features, problem.start.tolist(), strict=True))
    for step in path.steps:
        values |= {move.feature: move.after for move in step.moves}
    return FrontPoint(path.costs()[-1], path_loss(path, weights), path, tuple(values.values()), lam, solution.certificate)


def _chord(*, high: float, at_high: float, low: float, at_low: float, lam: float) -> float:
    """The straight line through two values of a function, at λ."""
    share = (lam - low) / (high - low)
    return share * at_high + (1 - share) * at_low


def _hull(points: list[FrontPoint], slight: float) -> list[FrontPoint]:
    """The lower left convex hull, each point with the λ at which it is best."""
    hull: list[FrontPoint] = []
    for point in sorted(points, key=lambda point: (point.loss, point.cost)):
        if hull and point.cost >= hull[-1].cost - slight:
            continue
        while len(hull) > 1 and hull[-2].value(lam := _slope(hull[-2], point)) - hull[-1].value(lam) <= slight:
            hull.pop()
        hull.append(point)
    slopes = [math.inf, *(_slope(a, b) for a, b in pairwise(hull)), 0.0]
    return [replace(point, lam=(slopes[i + 1], slopes[i])) for i, point in enumerate(hull)]


def _slope(first: FrontPoint, second: FrontPoint) -> float:
    return (first.cost - second.cost) / (second.loss - first.loss)
