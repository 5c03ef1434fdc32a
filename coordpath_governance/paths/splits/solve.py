"""The best order of the steps between two trees, and what is proved of it.

min Σ_k γᵏ·F(S_k): all steps one by one, or the best m single steps and then all the rest at once. Optimal among these steps,
not over all edits of a tree.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.certificate import BOUNDED, Certificate, certify
from coordpath_governance.paths.splits.beginnings import best_beginning
from coordpath_governance.paths.splits.ideals import MOST_UNITS, Programme
from coordpath_governance.paths.splits.rough_orders import rough_order
from coordpath_governance.paths.splits.split_loss import SplitLoss
from coordpath_governance.paths.splits.strings import best_order, module_strings
from coordpath_governance.paths.weights import GeometricWeights, checked_alphas

__all__ = ["SplitPath", "evaluate_splits", "least_on_the_way", "solve_splits"]

_EPSILON = sys.float_info.epsilon
_LAST_PLACES = 1e-14
"""Two objectives are the same if they differ by at most this part of them."""
_ROUNDINGS = 8
"""Roundings for each number that is added up, generously."""


@dataclass(frozen=True)
class SplitPath:
    """Single steps in their order, then the ``rest`` at once (empty if there is none), and the loss before and after each.

    ``costs`` has the start and one entry for each step; ``certificate.solver`` says how the order was found: ``strings``,
    ``ideals``, ``beginnings`` or ``rough``. ``least`` is the least loss of any tree on the way, as far as it is known.
    """

    order: tuple[int, ...]
    rest: tuple[int, ...]
    costs: tuple[float, ...]
    gamma: float
    certificate: Certificate
    least: float

    @property
    def weight(self) -> float:
        """Σγᵏ over the steps."""
        return math.fsum(_weights(self.gamma, len(self.costs) - 1))


def solve_splits(loss: SplitLoss, gamma: float = 1.0, max_steps: int | None = None) -> SplitPath:
    """The order of the steps; ``max_steps`` single ones and then the rest, or all of them if it is None or they are as few.

    Raises `ProblemError` for a γ that is not above 0, no number, or too small or large for so many steps.
    """
    if max_steps is not None and max_steps < 1:
        raise ProblemError(f"max_steps: {max_steps} is less than one single step; choose 1 or more, or null for all")
    count = len(loss.units)
    steps = count if max_steps is None or max_steps >= count - 1 else max_steps
    alphas = checked_alphas(GeometricWeights(gamma), steps + (steps < count))
    single, additive = alphas[:steps], loss.additive
    least, difference = math.inf, 0.0
    if additive is not None:
        gains = additive.gains.tolist()
        least = least_on_the_way(loss)
        order, solver = best_order(loss.units.modules, gains, gamma), "strings"
        if steps < count:
            beginning = best_beginning(loss.units, additive, single, steps)
            order, solver, difference = list(beginning.order), "beginnings", beginning.value - beginning.bound
    elif count <= MOST_UNITS:
        programme = Programme(loss)
        least, order, solver = programme.least, programme.best(single, steps), "ideals"
    else:
        rough = rough_order(loss, single, gamma, steps)
        order, solver, difference = list(rough.order), "rough", rough.value - rough.bound
    rest = tuple(unit for unit in range(count) if unit not in set(order))
    costs = loss.along(order)
    if rest:
        costs.append(loss.value(frozenset(range(count))))
    floor = min(least, *costs)
    certificate = _certified(loss, costs, alphas.tolist(), floor, difference, solver)
    return SplitPath(tuple(order), rest, tuple(costs), gamma, certificate, floor)


def evaluate_splits(loss: SplitLoss, order: Sequence[int], gamma: float, stated: Certificate | None = None) -> SplitPath:
    """The path of a given order, the rest at its end; with the bound, status and solver of a ``stated`` certificate.

    Without one nothing is proved of it. The gap follows from the bound as everywhere.
    """
    rest = tuple(unit for unit in range(len(loss.units)) if unit not in set(order))
    costs = loss.along(order)
    if rest:
        costs.append(loss.value(frozenset(range(len(loss.units)))))
    alphas = _weights(gamma, len(costs) - 1)
    objective = math.fsum(alpha * cost for alpha, cost in zip(alphas, costs[1:], strict=True))
    least = min(least_on_the_way(loss), *costs)
    if stated is None:
        stated = Certificate(
            objective=objective, lower_bound=-math.inf, gap=1.0, gap_per_step=math.inf, status=BOUNDED, solver="given"
        )
    distance = max(objective - stated.lower_bound, 0.0)
    excess = math.fsum(alpha * (cost - least) for alpha, cost in zip(alphas, costs[1:], strict=True))
    gap = 0.0 if distance <= _LAST_PLACES * abs(objective) or excess <= 0 else min(distance / excess, 1.0)
    weight = math.fsum(alphas)
    per_step = distance / weight if weight and gap else 0.0
    certificate = replace(stated, objective=objective, gap=gap, gap_per_step=per_step)
    return SplitPath(tuple(order), rest, tuple(costs), gamma, certificate, least)


def least_on_the_way(loss: SplitLoss) -> float:
    """The least loss of any tree on the way; infinity where that is not known."""
    if loss.additive is not None:
        gains = loss.additive.gains.tolist()
        strings = [string for module in loss.units.modules for string in module_strings(module, gains)]
        return loss.additive.start - math.fsum(max(string.weighted, 0.0) for string in strings)
    return Programme(loss).least if len(loss.units) <= MOST_UNITS else math.inf


def _weights(gamma: float, steps: int) -> list[float]:
    weights: list[float] = checked_alphas(GeometricWeights(gamma), steps).tolist()
    return weights


def _certified(
    loss: SplitLoss, costs: list[float], alphas: list[float], least: float, difference: float, solver: str
) -> Certificate:
    """The certificate if no order is better by more than ``difference``; ``least`` is the least loss on any way."""
    weight = math.fsum(alphas)
    scale = math.fsum(abs(part) for term in loss.terms for part in (term.base, *(gain for _, gain in term.gains)))
    rounding = _ROUNDINGS * _EPSILON * weight * scale * math.log2(2 + loss.size)
    return certify(
        objective=math.fsum(alpha * cost for alpha, cost in zip(alphas, costs[1:], strict=True)),
        excess=math.fsum(alpha * (cost - least) for alpha, cost in zip(alphas, costs[1:], strict=True)),
        difference=difference,
        rounding=rounding,
        floor=0.0,
        nothing=rounding,
        weight=weight,
        exponents=(0, 0),
        solver=solver,
    )
