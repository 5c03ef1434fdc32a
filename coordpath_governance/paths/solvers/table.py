"""The contract's solver names and what stands behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordpath_governance.errors import SolverUnavailableError
from coordpath_governance.paths.solvers.improvement import Improvement
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.levels import Levels
from coordpath_governance.paths.solvers.listed import Direct, Greedy

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordpath_governance.paths.solvers.protocol import ChainTask, OrderSolver

__all__ = ["SOLVER_TABLE", "choose_solver"]

_LATTICE_UP_TO = 24
"""Up to here the whole table takes about a second and 0.3 GB."""

_AUTO_WORK, _EXACT_WORK = 90_000_000, 500_000_000


def choose_solver(name: str, task: ChainTask) -> OrderSolver:
    """The first solver of a name that takes as many units as the task has."""
    size = task.function.size
    for solver in SOLVER_TABLE[name]():
        if solver.most_units is None or size <= solver.most_units:
            return solver
    raise SolverUnavailableError(f"solver {name}: takes fewer than the {size} units of this problem; use auto")


def _gurobi() -> tuple[OrderSolver, ...]:
    raise SolverUnavailableError(
        "solver gurobi: is not part of this version, which solves the same problem with its own programme; "
        "use exact (proves optimality) or auto"
    )


SOLVER_TABLE: dict[str, Callable[[], tuple[OrderSolver, ...]]] = {
    "auto": lambda: (Lattice(_LATTICE_UP_TO), Levels(_AUTO_WORK)),
    "exact": lambda: (Lattice(_LATTICE_UP_TO), Levels(_EXACT_WORK)),
    "local": lambda: (Improvement(),),
    "greedy": lambda: (Greedy(),),
    "direct": lambda: (Direct(),),
    "gurobi": _gurobi,
}
"""Name → solvers in order of preference; the first that takes the size is used."""
