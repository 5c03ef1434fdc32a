"""One mixed-integer quadratic model in Gurobi: its limits, its messages, and what its bound is worth.

Gurobi computes with tolerances, so its bound is lowered before it counts. A node's relaxation is solved by the simplex
method: variables and slacks that violate a limit a little are basic and have multiplier zero, so the value at hand is that
of the dual, off by at most (tolerance of reduced costs)·(range of the variable) for each variable and slack. The relaxed
integrality and the relaxed feasibility only make the bound lower. Nodes may be dropped when they are better than the best
solution by less than the gap asked for. And a quadratic form that is not positive semi-definite by rounding must not be
"corrected", which would raise values: the tolerance for that is zero. So what counts is

    min(bound, best) − gap·best − 10·1e-9·Σ ranges − 1e-11·(constant + best),

the last for ordinary rounding of the sums that make up an objective, including its constant: in 200 problems that
were also enumerated it was below 1e-13.
"""

from __future__ import annotations

import math
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coordpath_governance.errors import SolverUnavailableError
from coordpath_governance.paths.patience import reclaim_interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import ChainTask, WalkTask

__all__ = ["OBJECTIVE", "Model", "Optimised", "missing", "optimise"]

OBJECTIVE = 1e4
"""What the best known value is scaled to, so that tolerances of 1e-9 are small against it."""

_TOLERANCE, _GAP, _ROUNDING = 1e-9, 1e-7, 1e-11
_NOT_INSTALLED = "needs the package gurobipy: pip install 'coordpath-governance[gurobi]'"
_TOO_LARGE, _NO_LICENCE = 10010, 10009

_PARAMETERS = {
    "OutputFlag": 0,
    "Threads": 1,
    "MIPGap": _GAP,
    "MIPGapAbs": 0.0,
    "OptimalityTol": _TOLERANCE,
    "FeasibilityTol": _TOLERANCE,
    "IntFeasTol": _TOLERANCE,
    "PSDTol": 0.0,
    "Method": 1,
    "NodeMethod": 1,
}


@dataclass(frozen=True, eq=False)
class Model:
    """min xᵀQx + aᵀx + constant, in units in which the value of ``start`` is near `OBJECTIVE`.

    lower ≤ x ≤ upper; of each of ``sets`` at most one entry is not zero; ``equal``: rows of (coefficients, right side);
    ``ordered``: pairs of ranges of variables, each entry of the first at most that of the second.
    """

    quadratic: NDArray[np.floating]
    linear: NDArray[np.floating]
    constant: float
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    start: NDArray[np.float64]
    binary: bool = False
    sets: tuple[tuple[int, ...], ...] = ()
    equal: tuple[tuple[NDArray[np.float64], float], ...] = ()
    ordered: tuple[tuple[slice, slice], ...] = ()

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.linear)

    @property
    def ranges(self) -> float:
        """Ranges of all variables and of the slacks of the ordered ones."""
        width: NDArray[np.float64] = self.upper - self.lower
        return float(width.sum() + sum(2.0 * width[later].sum() for _, later in self.ordered))

    def allow(self, bound: float, best: float) -> float:
        """What a bound of Gurobi is worth, given the best value known."""
        if not math.isfinite(bound):
            return -math.inf
        given_up = _GAP * best + 10.0 * _TOLERANCE * self.ranges + _ROUNDING * (abs(self.constant) + best)
        return min(bound, best) - given_up


@dataclass(frozen=True, eq=False)
class Optimised:
    """Gurobi's best point, None if it found none, and its own bound, −inf if it has none (or found no point)."""

    point: NDArray[np.float64] | None
    bound: float


def missing() -> str | None:
    """What is missing to use Gurobi at all."""
    try:
        import gurobipy  # noqa: F401
    except ImportError:
        return _NOT_INSTALLED
    return None


def optimise(model: Model, task: ChainTask | WalkTask, best: float, unit: float) -> Optimised:
    """Solve a model until it is proved or the task expires; ``unit`` is what one of the objective is in the task's terms.

    Gurobi handles Ctrl-C itself and reports it to nobody; here the signal goes to its usual handler. Raises
    `SolverUnavailableError` where the licence does not allow the model.
    """
    import gurobipy

    reported = (math.inf, -math.inf)
    stopped = False

    def watch(running: Any, where: int) -> None:  # noqa: ANN401
        nonlocal reported, stopped
        reclaim_interrupts()
        if task.expired():
            stopped = True
            running.terminate()
        if where == gurobipy.GRB.Callback.MIP:
            value = min(best, running.cbGet(gurobipy.GRB.Callback.MIP_OBJBST))
            bound = model.allow(running.cbGet(gurobipy.GRB.Callback.MIP_OBJBND), best)
            if (value, bound) != reported:
                reported = value, bound
                task.report("Gurobi", value * unit, max(bound * unit, 0.0))

    with _opened(model) as (made, variables):
        made.Params.Seed = task.seed % 2_000_000_000
        made.optimize(watch)
        if made.Status == gurobipy.GRB.INTERRUPTED and not stopped:
            signal.raise_signal(signal.SIGINT)
        point = np.array(variables.X, dtype=np.float64) if made.SolCount else None
        bound = float(made.ObjBound) if point is not None else -math.inf
    return Optimised(point, bound if bound > -gurobipy.GRB.INFINITY else -math.inf)


@contextmanager
def _opened(model: Model) -> Iterator[tuple[Any, Any]]:
    """The model in Gurobi, with its variables; errors of Gurobi become ours."""
    import gurobipy

    try:
        with gurobipy.Env(params=_PARAMETERS) as environment, gurobipy.Model(env=environment) as made:
            kind = gurobipy.GRB.BINARY if model.binary else gurobipy.GRB.CONTINUOUS
            variables = made.addMVar(model.size, lb=model.lower, ub=model.upper, vtype=kind)
            variables.setAttr("Start", model.start)
            made.setObjective(variables @ model.quadratic @ variables + model.linear @ variables + model.constant)
            listed = variables.tolist()
            for members in model.sets:
                made.addSOS(gurobipy.GRB.SOS_TYPE1, [listed[i] for i in members])
            for coefficients, right in model.equal:
                made.addConstr(coefficients @ variables == right)
            for before, after in model.ordered:
                made.addConstr(variables[before] <= variables[after])
            yield made, variables
    except gurobipy.GurobiError as error:
        raise SolverUnavailableError(_explain(error, model.size)) from error


def _explain(error: Any, size: int) -> str:  # noqa: ANN401
    if error.errno == _TOO_LARGE:
        return f"solver gurobi: the model has {size} variables, more than the Gurobi licence at hand allows; use auto"
    if error.errno == _NO_LICENCE:
        return f"solver gurobi: there is no valid Gurobi licence ({error}); use auto"
    return f"solver gurobi: Gurobi stopped with an error ({error}); use auto"
