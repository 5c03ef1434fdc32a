"""What solving a problem comes to before it is certified: the models that the path passes through, and what is proved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.quadratic import Measured
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.certificate import Certificate, certify
from coordpath_governance.paths.path import Move, Path, Step
from coordpath_governance.paths.problem import REST_LABEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from coordpath_governance.paths.path import StepKind
    from coordpath_governance.paths.problem import PathProblem

__all__ = [
    "Outcome",
    "Stop",
    "certify_outcome",
    "check_order",
    "excess_of_stops",
    "measure_stops",
    "normalise",
    "nothing_at_all",
    "order_stops",
    "path_through",
    "trace",
]

_NOTHING = 1e-15
"""Part of what the features explain that is lost in the rounding of the moments themselves."""

_CANCELLED = 1e-16
"""The same of the start's excess is what is left of its residual after it was cancelled: the square of its rounding."""

_OVERFLOW = "cost: the objective overflows double precision; rescale the target variable or the weights"


@dataclass(frozen=True, eq=False)
class Stop:
    """The model reached at term ``k`` by moving one unit (or the rest)."""

    k: int
    kind: StepKind
    label: str
    beta: NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """Stops of the best path known, with its excess Σα(c − min c), and by how much a path may be better.

    ``excess``, ``difference``, ``rounding``, ``floor``, ``nothing`` (see `certify`) and ``weight`` (Σα) are in units of
    2^exponents[0] of cost and 2^exponents[1] of weight. ``along``: what the start and every stop cost.
    """

    stops: tuple[Stop, ...]
    terms: int
    excess: float
    difference: float
    rounding: float
    nothing: float
    weight: float
    exponents: tuple[int, int]
    solver: str
    along: Measured
    floor: float = 0.0


def normalise(alphas: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """The weights divided by a power of two so that the largest is near 1, and that power."""
    exponent = math.frexp(float(alphas.max(initial=0.0)))[1]
    return np.ldexp(alphas, -exponent), exponent


def nothing_at_all(problem: PathProblem, along: Measured, exponent: int) -> float:
    """Differences of a cost, in units of 2^exponent, up to which the moments are not known well enough to count.

    The excess of the ends hardly counts: however far they are, the terms in between may be small, and matter.
    """
    with np.errstate(over="ignore"):
        scale = max(problem.quadratic.explained(), _CANCELLED * along.excesses[0])
        return _NOTHING * float(np.ldexp(scale, -exponent))


def measure_stops(problem: PathProblem, stops: tuple[Stop, ...]) -> Measured:
    """What the start and every stop cost."""
    return problem.quadratic.measure(np.stack([problem.start, *(stop.beta for stop in stops)]))


def excess_of_stops(along: Measured, stops: tuple[Stop, ...], alphas: NDArray[np.float64], exponent: int) -> float:
    """Σαₖ(c(βₖ) − min c) along some stops and the rests between them, in units of 2^exponent a unit of cost."""
    reached = np.searchsorted([stop.k for stop in stops], np.arange(1, len(alphas) + 1), side="right")
    return math.fsum((alphas * np.ldexp(np.array(along.excesses), -exponent)[reached]).tolist())


def trace(problem: PathProblem, outcome: Outcome) -> Path:
    """The path of an outcome."""
    return path_through(problem, outcome.along, outcome.stops, outcome.terms)


def path_through(problem: PathProblem, along: Measured, stops: tuple[Stop, ...], terms: int) -> Path:
    """The path through some stops; a stop at which nothing moves is a rest and is not listed."""
    costs, excesses = along
    before, excess = problem.start, excesses[0]
    steps: list[Step] = []
    for stop, reached, cost in zip(stops, excesses[1:], costs[1:], strict=True):
        moved = np.flatnonzero(stop.beta != before)
        if len(moved):
            moves = tuple(Move(problem.features[i], _plain(before[i]), _plain(stop.beta[i])) for i in moved)
            steps.append(
                Step(
                    k=stop.k,
                    kind=stop.kind,
                    label=stop.label,
                    moves=moves,
                    cost=_plain(cost),
                    delta=_plain(reached - excess),
                )
            )
            before, excess = stop.beta, reached
    return Path(_plain(costs[0]), tuple(steps), terms)


def certify_outcome(problem: PathProblem, outcome: Outcome, path: Path) -> Certificate:
    """The certificate of a traced outcome; `ProblemError` where a figure does not fit in double precision."""
    with np.errstate(over="ignore"):
        terms = (problem.alphas(outcome.terms) * np.array(path.costs())).tolist()
    try:
        certificate = certify(
            objective=_plain(math.fsum(terms)),
            excess=outcome.excess,
            difference=outcome.difference,
            rounding=outcome.rounding,
            floor=outcome.floor,
            nothing=outcome.nothing,
            weight=outcome.weight,
            exponents=outcome.exponents,
            solver=outcome.solver,
        )
    except OverflowError as error:
        raise ProblemError(_OVERFLOW) from error
    if not math.isfinite(certificate.lower_bound):
        raise ProblemError(_OVERFLOW)
    return certificate


def _plain(value: float) -> float:
    """A Python float without a negative zero."""
    return float(value) + 0.0


def check_order(problem: PathProblem, order: Sequence[int]) -> None:
    """Raises `ProblemError` unless ``order`` has every index into ``problem.changed`` once."""
    size = len(problem.changed)
    if sorted(order) != list(range(size)):
        raise ProblemError(f"order: {list(order)} is not an arrangement of the {size} changed units 0 … {size - 1}")


def order_stops(problem: PathProblem, order: Sequence[int]) -> tuple[Stop, ...]:
    """The models along an order: ``singles`` single steps, then the rest at once if any is left."""
    target = problem.start if problem.target is None else problem.target
    beta: NDArray[np.float64] = problem.start.copy()
    stops: list[Stop] = []
    for k, u in enumerate(order[: problem.singles], start=1):
        unit = problem.changed[u]
        beta = beta.copy()
        beta[list(unit.members)] = target[list(unit.members)]
        stops.append(Stop(k, unit.kind, unit.label, beta))
    if problem.singles < len(problem.changed):
        stops.append(Stop(problem.singles + 1, "rest", REST_LABEL, target))
    return tuple(stops)
