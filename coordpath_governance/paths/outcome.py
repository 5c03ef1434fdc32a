"""What solving a problem comes to before it is certified: the models the path passes through, and what is proved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.certificate import Certificate, certify
from coordpath_governance.paths.path import Move, Path, Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.path import StepKind
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["KnownLength", "Outcome", "Stop", "certify_outcome", "data_scale", "normalise", "trace"]

_CANCELLED = 1e-14
"""Of the start's excess; a difference has to be below 1e-12 of that again."""

_OVERFLOW = "cost: the objective overflows double precision; rescale the target variable or the weights"


@dataclass(frozen=True, eq=False)
class Stop:
    """The model reached at term ``k`` by moving one unit (or the rest)."""

    k: int
    kind: StepKind
    label: str
    beta: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcome:
    """Stops of the best path known, with its excess and a bound of it.

    ``excess``, ``bound``, ``rounding``, ``scale`` (see `certify`) and ``weight`` (Σα) are in units of
    2^exponents[0] of cost and 2^exponents[1] of weight. ``along``: c − min c at the start and at every stop, if that is
    known already; otherwise the cost is asked.
    """

    stops: tuple[Stop, ...]
    terms: int
    excess: float
    bound: float
    rounding: float
    scale: float
    weight: float
    exponents: tuple[int, int]
    solver: str
    along: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class KnownLength:
    """The best path known with so many terms (None if that length was not searched), and a bound on all of them.

    ``value``, ``bound`` and ``rounding`` are sums Σα·c or Σα·(c − min c), as whoever compares the lengths says.
    """

    terms: int
    weight: float
    bound: float
    value: float = np.inf
    rounding: float = 0.0
    stops: tuple[Stop, ...] | None = None
    solver: str = ""


def normalise(alphas: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """The weights divided by a power of two so that the largest is near 1, and that power."""
    exponent = math.frexp(float(alphas.max(initial=0.0)))[1]
    return np.ldexp(alphas, -exponent), exponent


def data_scale(problem: PathProblem, exponent: int) -> float:
    """What the features explain, in units of 2^exponent: differences far below it are rounding of the data.

    The excess of the ends hardly counts: however far they are, the terms in between may be small, and matter. Only what
    is left of the start's residual after it was cancelled, the square of its rounding, is nothing.
    """
    with np.errstate(over="ignore"):
        scale = max(problem.quadratic.explained(), _CANCELLED * problem.quadratic.excess(problem.start))
        return float(np.ldexp(scale, -exponent))


def trace(problem: PathProblem, outcome: Outcome) -> Path:
    """The path through the stops; a stop at which nothing moves is a rest and is not listed."""
    cost, stops = problem.cost, outcome.stops
    excess, *along = outcome.along or problem.quadratic.excesses(np.stack([problem.start, *(s.beta for s in stops)]))
    start_cost = cost.minimum() + excess
    before = problem.start
    steps: list[Step] = []
    for stop, reached in zip(stops, along, strict=True):
        moved = np.flatnonzero(stop.beta != before)
        if len(moved):
            moves = tuple(Move(problem.features[i], _plain(before[i]), _plain(stop.beta[i])) for i in moved)
            value, delta = _plain(cost.minimum() + reached), _plain(reached - excess)
            steps.append(Step(stop.k, stop.kind, stop.label, moves, value, delta))
            before, excess = stop.beta, reached
    return Path(_plain(start_cost), tuple(steps), outcome.terms)


def certify_outcome(problem: PathProblem, outcome: Outcome, path: Path) -> Certificate:
    """The certificate of a traced outcome; `ProblemError` where a figure does not fit in double precision."""
    with np.errstate(over="ignore"):
        terms = (problem.alphas(outcome.terms) * np.array(path.costs())).tolist()
    try:
        certificate = certify(
            objective=_plain(math.fsum(terms)),
            excess=outcome.excess,
            bound=outcome.bound,
            rounding=outcome.rounding,
            own=partial(_own_rounding, problem, outcome) if outcome.along is None else lambda: outcome.rounding,
            scale=outcome.scale,
            weight=outcome.weight,
            exponents=outcome.exponents,
            solver=outcome.solver,
        )
    except OverflowError as error:
        raise ProblemError(_OVERFLOW) from error
    if not math.isfinite(certificate.lower_bound):
        raise ProblemError(_OVERFLOW)
    return certificate


def _own_rounding(problem: PathProblem, outcome: Outcome) -> float:
    """What floating point may do to Σαₖ·excess of the path's own models, each by its own residual and length."""
    cost = problem.quadratic
    curvature, slope = cost.left_out()
    reached = {stop.k: stop.beta for stop in outcome.stops}
    beta, total = problem.start, 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for k, alpha in enumerate(np.ldexp(problem.alphas(outcome.terms), -outcome.exponents[1]).tolist(), start=1):
            if k in reached or k == 1:
                beta = reached.get(k, beta)
                blur, length = cost.blur(beta) + cost.goal_blur(), cost.length(beta)
                error = np.float64(blur) * (2.0 * np.sqrt(cost.excess(beta)) + blur)
                error += (curvature * length + 2.0 * slope) * length
            total += alpha * float(np.ldexp(error, -outcome.exponents[0]))
    return total


def _plain(value: float) -> float:
    """A Python float without a negative zero."""
    return float(value) + 0.0
