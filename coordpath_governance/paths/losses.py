"""Interpretability losses of paths and of models.

Of a path: L_c(β) = K, its number of terms, and L_α(β) = Σₖ αₖ c(βₖ), with αₖ = γᵏ for L_γ. Of a model: the least loss of
any path that ends there, whatever its length; for L_c that is the number of units that differ from the start.

The *cost sequence* of a path is c(β₁) … c(β_K), 0, 0, …; a loss is *coherent* if it depends on nothing else and never
grows when no entry does. L_α is coherent where c ≥ 0. L_c is where c > 0: a step that costs nothing looks like no step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from coordpath_governance.errors import ProblemError, UsageError
from coordpath_governance.paths.by_cost import answers_for
from coordpath_governance.paths.certificate import BOUNDED, OPTIMAL
from coordpath_governance.paths.path import Path
from coordpath_governance.paths.problem import PathProblem, StepRange
from coordpath_governance.paths.problem_document import parse_problem, parse_weights
from coordpath_governance.paths.solution import Solution, solve_within

if TYPE_CHECKING:
    from coordpath_governance.paths.certificate import Status
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.weights import Weights

__all__ = [
    "EXTRA_TERMS",
    "LOSS_SCHEMA",
    "ModelLoss",
    "as_problem",
    "cost_sequence",
    "dominates",
    "find_model_loss",
    "model_complexity",
    "path_complexity",
    "path_loss",
]

LOSS_SCHEMA = "coordpath.loss/1"

EXTRA_TERMS = 3
"""How far beyond the complexity of a model paths to it are looked for unless ``steps`` says otherwise."""


def path_complexity(path: Path | Solution) -> int:
    """L_c(β) = K, rests included."""
    return _path(path).terms


def path_loss(path: Path | Solution, weights: Weights | Mapping[str, Any]) -> float:
    """L_α(β) = Σₖ αₖ c(βₖ); ``weights`` may be a document such as {"gamma": 0.5}."""
    path = _path(path)
    parsed = weights if hasattr(weights, "alphas") else parse_weights(weights)
    return math.fsum(a * c for a, c in zip(parsed.alphas(path.terms).tolist(), path.costs(), strict=True))


def cost_sequence(path: Path | Solution, length: int) -> tuple[float, ...]:
    """The first ``length`` entries of c(β₁) … c(β_K), 0, 0, …; tuples of one length compare in lexicographic order."""
    return (_path(path).costs() + (0.0,) * length)[:length]


def dominates(path: Path | Solution, other: Path | Solution) -> bool:
    """Whether no entry of the path's cost sequence exceeds the other's, so that no coherent loss is larger."""
    length = max(path_complexity(path), path_complexity(other))
    return all(c <= d for c, d in zip(cost_sequence(path, length), cost_sequence(other, length), strict=True))


def model_complexity(problem: PathProblem | Mapping[str, Any]) -> int:
    """L_c of the target: how many units (coefficients or groups) differ from the start."""
    problem = as_problem(problem)
    _need_target(problem)
    return len(problem.changed)


@dataclass(frozen=True, eq=False)
class ModelLoss:
    """L_α of a model: the best path found to it, and what is proved about all paths to it, of any length.

    ``solution`` covers the lengths of ``lengths``. ``longer_bound`` is a number below which no longer path goes: −∞ if
    nothing is known about them.
    """

    solution: Solution
    lengths: tuple[int, int]
    longer_bound: float

    @property
    def value(self) -> float:
        """Σₖ αₖ c(βₖ) of the best path found."""
        return self.solution.certificate.objective

    @property
    def lower_bound(self) -> float:
        """No path to the model has less, longer ones included."""
        return min(self.solution.certificate.lower_bound, self.longer_bound)

    @property
    def status(self) -> Status:
        """`optimal` if the path is proved best among the lengths searched and no longer one can be better."""
        proved = self.solution.certificate.status == OPTIMAL and self.longer_bound >= self.solution.certificate.lower_bound
        return OPTIMAL if proved else BOUNDED

    def to_dict(self) -> dict[str, object]:
        """The document `coordpath.loss/1`, of plain numbers and texts; a bound of −∞ is null."""
        return {
            "schema": LOSS_SCHEMA,
            "value": self.value,
            "lower_bound": _finite(self.lower_bound),
            "status": self.status,
            "lengths": {"min": self.lengths[0], "max": self.lengths[1]},
            "longer_bound": _finite(self.longer_bound),
            "path": self.solution.to_dict(),
        }


def find_model_loss(problem: PathProblem, patience: Patience, solver: str | None = None) -> ModelLoss:
    """L_α(β) = min over K and over paths β₁ … β_K = β of Σₖ αₖ c(βₖ), for the target β of a problem.

    Of a range of ``steps`` only the end counts: K goes from the fewest steps that lead to the target to there. Null ends it
    `EXTRA_TERMS` beyond that number, or sooner where longer paths cannot pay. A target that is the start has the empty path,
    and loss 0.
    """
    _need_target(problem)
    if problem.max_steps is not None:
        raise ProblemError("max_steps: on a path to a model units move one at a time, with no rest at once; leave it null")
    if isinstance(problem.steps, int):
        raise ProblemError("steps: the loss of a model is over paths of many lengths; give steps a range or null")
    if problem.constraints:
        raise ProblemError("constraints: the loss of a model is over all paths to it; leave them out")
    least = problem.fewest
    if least == 0:
        solution = solve_within(replace(problem, steps=None), patience, solver)
        return ModelLoss(solution, (0, 0), 0.0 if problem.cost.never_negative() else -math.inf)
    if isinstance(problem.steps, StepRange):
        most = problem.steps.most
        floors = _floors_of_longer(problem, most, patience)
    else:
        floors = _floors_of_longer(problem, least + EXTRA_TERMS, patience)
        once = solve_within(problem, patience, solver).certificate.objective
        most = next((terms for terms, floor in floors.items() if floor >= once), max(floors))
    searched = replace(problem, steps=StepRange(least, most))
    solution = solve_within(searched, patience, solver)
    return ModelLoss(solution, (searched.least_terms, most), floors[most])


def as_problem(problem: PathProblem | Mapping[str, Any]) -> PathProblem:
    """The problem, read from its document if it is one."""
    return problem if isinstance(problem, PathProblem) else parse_problem(problem)


def _path(path: Path | Solution) -> Path:
    if isinstance(path, Solution):
        return path.path
    if not isinstance(path, Path):
        raise UsageError(f"path: is a {type(path).__name__}; give a Solution or a Path")
    return path


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None


def _need_target(problem: PathProblem) -> None:
    if problem.target is None:
        raise ProblemError("target: is free, but a loss is asked of a model; give its coefficients")


def _floors_of_longer(problem: PathProblem, most: int, patience: Patience) -> dict[int, float]:
    """For K up to ``most``, as far as the weights reach: no path of more than K terms has less.

    Its first K + 1 models alone cost that much if c ≥ 0, since the one after k steps differs from the start in at most k
    units. Where αₖ₊₁ does not exist or overflows, the first K have to do.
    """
    positive = problem.cost.never_negative()
    costs = answers_for(problem).least_costs(problem, most + 1, patience)
    bounds: list[float] = []
    for terms in range(problem.least_terms, most + 2):
        try:
            alphas = problem.alphas(terms)
        except ProblemError:
            break
        bounds.append(float(alphas @ costs[:terms]) if positive else -math.inf)
    following = [*bounds[1:], bounds[-1]]
    return dict(zip(range(problem.least_terms, most + 1), following, strict=False))
