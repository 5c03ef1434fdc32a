"""A person in the loop: how many steps somebody will choose is not known, but how likely each number is.

With pₖ the probability that k steps are chosen, the path with the least expected cost Σ pₖ c(βₖ) is the best path with
these weights. It takes one number per step; a sequence of models that are fitted anew at each size takes one per unit and
size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.solution import Solution, solve_within
from coordpath_governance.paths.weights import ExplicitWeights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.updates.updates import Model

__all__ = ["ChosenSteps", "best_for_choices", "check_choices"]

_ADDED_UP = 1e-9
"""By so much probabilities may miss 1, written in decimals as they are."""


@dataclass(frozen=True, eq=False)
class ChosenSteps:
    """The path with the least expected cost, and the LASSO sequence's; each with the numbers that tell it.

    ``probabilities[k − 1]`` is that of k steps.
    """

    probabilities: tuple[float, ...]
    solution: Solution
    numbers: int
    lasso: tuple[Model, ...]
    lasso_expected: float
    lasso_numbers: int


def check_choices(probabilities: Mapping[int, float]) -> tuple[float, ...]:
    """p₁ … p_K. Raises `ProblemError` unless they are numbers from 0 to 1 that add up to 1, of at least one step."""
    for steps, chance in probabilities.items():
        if steps < 1:
            raise ProblemError(f"steps chosen: {steps} is no number of steps; give 1 or more")
        if not 0.0 <= chance <= 1.0:
            raise ProblemError(f"steps chosen: the probability {chance:g} of {steps} steps is not between 0 and 1")
    total = math.fsum(probabilities.values())
    if not abs(total - 1.0) <= _ADDED_UP:
        raise ProblemError(f"steps chosen: the probabilities add up to {total:g}; they must add up to 1")
    most = max(steps for steps, chance in probabilities.items() if chance > 0)
    return tuple(probabilities.get(steps, 0.0) for steps in range(1, most + 1))


def best_for_choices(
    problem: PathProblem, probabilities: tuple[float, ...], lasso: Sequence[Model], patience: Patience
) -> ChosenSteps:
    """The best path with a free end, one step for each probability; ``lasso`` is the LASSO sequence from size 0 on."""
    weights = ExplicitWeights(probabilities, "p")
    solution = solve_within(replace(problem, steps=len(probabilities), weights=weights), patience)
    models = tuple(lasso[min(k, len(lasso) - 1)] for k in range(1, len(probabilities) + 1))
    widths = [sum(len(problem.units[u].members) for u in model.units) for model in models]
    return ChosenSteps(
        probabilities=probabilities,
        solution=solution,
        numbers=sum(len(step.moves) for step in solution.path.steps),
        lasso=models,
        lasso_expected=math.fsum(p * model.cost for p, model in zip(probabilities, models, strict=True)),
        lasso_numbers=sum(widths),
    )
