"""Updates of the start by 0, 1, 2, … units: the best with a proof or a gap, and greedy and LASSO sequences beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.certificate import BOUNDED, OPTIMAL, OPTIMAL_GAP
from coordpath_governance.paths.row_walks.neighbours import quadratic_at
from coordpath_governance.paths.solution import Solution, solve_within
from coordpath_governance.paths.updates.lasso import entry_order
from coordpath_governance.paths.updates.nearest_sets import NearestSets, search_sets
from coordpath_governance.paths.updates.recalibration import RecalibrationName, recalibrated
from coordpath_governance.paths.updates.set_models import ModelsOnRows, QuadraticModels, models_of
from coordpath_governance.paths.walks.best_subsets import best_by_size
from coordpath_governance.paths.walks.geometry import FEW_UNITS, prepare_walks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.certificate import Status
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem

    FloatArray = NDArray[np.float64]

__all__ = ["Model", "Update", "Updates", "find_updates", "lasso_sequence"]

_SUBSETS_WORK = 150_000_000
"""Entries that leaps and bounds may update: two seconds."""

_NOTHING = 1e-8
"""Part of what the start costs above the minimum: differences up to it are none."""


@dataclass(frozen=True, eq=False)
class Model:
    """Coefficients, what they cost, and the units (indices into ``problem.units``) that have moved, in some order."""

    beta: FloatArray
    cost: float
    units: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Update:
    """The best model known that differs from the start in at most ``size`` units, and a bound on all such models.

    ``order``: the best order of its steps, None where nothing moves.
    """

    size: int
    model: Model
    lower_bound: float
    gap: float
    status: Status
    order: Solution | None


@dataclass(frozen=True, eq=False)
class Updates:
    """For k = 0, 1, 2, … the best update, the greedy and the LASSO sequence; and recalibrations of the start."""

    problem: PathProblem
    best: tuple[Update, ...]
    greedy: tuple[Model, ...]
    lasso: tuple[Model, ...]
    recalibrations: tuple[tuple[RecalibrationName, Model], ...]


def find_updates(problem: PathProblem, most: int, patience: Patience) -> Updates:
    """Updates of up to ``most`` units of a problem with a free end; its steps and weights are those of the orders.

    The greedy sequence moves the unit that lowers the cost most and leaves it where it is. The LASSO sequence moves the
    units in the order in which the lasso takes their columns in, on columns of length 1 from the start, and fits them anew
    at each size; of a cost on rows it is the lasso of the quadratic that touches it at the start.
    """
    if problem.target is not None:
        raise ProblemError("target: updates are over all models; give null")
    if most < 1:
        raise ProblemError(f"most: {most} is too few; give at least 1")
    most = min(most, len(problem.units))
    models = models_of(problem, patience)
    nearest = _nearest(problem, models, most, patience)
    betas = models.models(nearest.sets)
    best = tuple(
        _update(problem, size, Model(beta, float(cost), units), float(bound), float(nearest.costs[0]), patience)
        for size, (beta, cost, units, bound) in enumerate(
            zip(betas, nearest.costs, nearest.sets, nearest.bounds, strict=True)
        )
    )
    found = recalibrated(problem)
    again = models.costs(np.stack([beta for _, beta in found])) if found else ()
    return Updates(
        problem=problem,
        best=best,
        greedy=_greedy(problem, most, patience),
        lasso=_lasso(problem, models, most),
        recalibrations=tuple(
            (name, Model(beta, float(cost), _moved(problem, beta))) for (name, beta), cost in zip(found, again, strict=True)
        ),
    )


def _nearest(problem: PathProblem, models: QuadraticModels | ModelsOnRows, most: int, patience: Patience) -> NearestSets:
    """Best sets by leaps and bounds on columns where every unit is one, else by evaluating sets of units."""
    single = all(len(unit.members) == 1 for unit in problem.units)
    if not isinstance(models, QuadraticModels) or not single or len(problem.units) <= FEW_UNITS:
        return search_sets(models, len(problem.units), most)
    walks = models.walks
    columns = np.concatenate(walks.blocks, axis=1)
    known = best_by_size(walks.base, columns, most, work=_SUBSETS_WORK, expired=patience.expired)
    costs = models.costs(models.models(known.sets))
    bounds = problem.cost.minimum() + np.ldexp(known.least + walks.level, walks.exponent)
    return NearestSets(known.sets, costs, np.minimum(bounds, costs))


def _update(problem: PathProblem, size: int, model: Model, bound: float, first: float, patience: Patience) -> Update:
    """The certificate of one size, and the best order of its steps; ``first`` is what the start costs."""
    least = problem.cost.minimum()
    difference, above = max(model.cost - bound, 0.0), max(model.cost - least, 0.0)
    gap = min(difference / above, 1.0) if difference > 0 and above > 0 else 0.0
    proved = gap <= OPTIMAL_GAP or difference <= _NOTHING * (first - least)
    order = None
    if len(_moved(problem, model.beta)):
        order = solve_within(replace(problem, target=model.beta, steps=None), patience)
    return Update(size, model, bound, 0.0 if proved else gap, OPTIMAL if proved else BOUNDED, order)


def _moved(problem: PathProblem, beta: FloatArray) -> tuple[int, ...]:
    differs = beta != problem.start
    return tuple(u for u, unit in enumerate(problem.units) if differs[list(unit.members)].any())


def _greedy(problem: PathProblem, most: int, patience: Patience) -> tuple[Model, ...]:
    """At each step the single move that lowers the cost most; it ends where none does."""
    here, units = problem, tuple((u,) for u in range(len(problem.units)))
    first = models_of(problem, patience)
    found = [Model(problem.start, float(first.costs(problem.start[None, :])[0]), ())]
    for _ in range(most):
        models = models_of(here, patience)
        moved = models.models(units)
        costs = models.costs(moved)
        best = int(np.argmin(costs))
        if not costs[best] < found[-1].cost:
            break
        found.append(Model(moved[best], float(costs[best]), (*found[-1].units, best)))
        here = replace(problem, start=moved[best])
    return tuple(found)


def lasso_sequence(problem: PathProblem, most: int, patience: Patience) -> tuple[Model, ...]:
    """The LASSO sequence alone: see `find_updates`."""
    return _lasso(problem, models_of(problem, patience), most)


def _lasso(problem: PathProblem, models: QuadraticModels | ModelsOnRows, most: int) -> tuple[Model, ...]:
    sets = _lasso_sets(problem, models, most)
    refitted = models.models(sets)
    return tuple(map(Model, refitted, models.costs(refitted).tolist(), sets))


def _lasso_sets(problem: PathProblem, models: QuadraticModels | ModelsOnRows, most: int) -> list[tuple[int, ...]]:
    """For each size the first units, in the order in which the first of their columns comes in."""
    if isinstance(models, QuadraticModels):
        walks = models.walks
    else:
        walks = prepare_walks(replace(problem, cost=quadratic_at(models.walks, problem.start)))
    owner = [u for u, block in enumerate(walks.blocks) for _ in range(block.shape[1])]
    order = entry_order(walks.base, np.concatenate(walks.blocks, axis=1))
    units = tuple(dict.fromkeys(owner[column] for column in order))[:most]
    return [units[:size] for size in range(len(units) + 1)]
