"""A free end: any model may be reached in K steps.

The path is the greedy one with its values refitted, improved one visit at a time. The bound: the model at term k differs
from the start in at most k units, so its excess is at least that of the best such model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import SolverUnavailableError
from coordpath_governance.paths.outcome import Outcome, normalise
from coordpath_governance.paths.refit import Refit, least_excess, refitter
from coordpath_governance.paths.revisits import Candidate, best_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

__all__ = ["solve_free_end"]

_REFIT_WORK = 4000
_SWEEPS = 3
_VISITS = 40
"""Steps after which the path rests: beyond that a least-squares fit of all values takes too long."""


def solve_free_end(problem: PathProblem, solver: str, expired: Callable[[], bool]) -> Outcome:
    """The best path known over the allowed numbers of terms."""
    if solver in ("direct", "gurobi"):
        raise SolverUnavailableError(f"solver {solver}: cannot take a free end (target null) in this version; use auto")
    refit = refitter(problem)
    floors = least_excess(refit, problem.start, problem.most_terms)
    sequence = _greedy(refit, problem.most_terms)
    _, exponent = normalise(problem.alphas(problem.most_terms))

    def candidate(terms: int, alphas: NDArray[np.float64]) -> Candidate:
        slots = sequence[: min(terms, _VISITS)] + [None] * max(0, terms - _VISITS)
        value, stops = refit.value(slots, alphas)
        work = terms * terms * len(problem.units)
        for _ in range(_SWEEPS if solver != "greedy" and work <= _REFIT_WORK else 0):
            before = value
            for position in range(terms):
                for unit in range(len(problem.units)):
                    trial = [*slots[:position], unit, *slots[position + 1 :]]
                    total, path = refit.value(trial, alphas)
                    if total < value * (1.0 - 1e-12) and not expired():
                        slots, value, stops = trial, total, path
            if value == before:
                break
        name = "greedy" if solver == "greedy" else "local"
        return Candidate(terms, value, float(alphas @ floors[1 : terms + 1]), 0.0, stops, name)

    return best_length(problem, refit, exponent, candidate)


def _greedy(refit: Refit, terms: int) -> list[int | None]:
    """At each step the unit whose best value lowers the cost most, the first listed among equals."""
    residual = refit.base.copy()
    bases = [np.linalg.qr(block[:, np.any(block, axis=0)])[0] for block in refit.blocks]
    sequence: list[int | None] = []
    for _ in range(terms):
        gains = [float(np.sum(np.square(basis.T @ residual))) for basis in bases]
        chosen = int(np.argmax(gains))
        residual = residual - bases[chosen] @ (bases[chosen].T @ residual)
        sequence.append(chosen)
    return sequence
