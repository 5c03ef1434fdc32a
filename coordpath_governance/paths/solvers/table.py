"""The contract's solver names and what stands behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from coordpath_governance.errors import SolverUnavailableError
from coordpath_governance.paths.solvers.first_walk import FirstWalk
from coordpath_governance.paths.solvers.free_end import FreeEnd
from coordpath_governance.paths.solvers.gurobi import GurobiChain, GurobiWalks
from coordpath_governance.paths.solvers.halves import MOST_UNITS
from coordpath_governance.paths.solvers.improvement import Improvement
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.levels import Levels
from coordpath_governance.paths.solvers.listed import Direct, Greedy
from coordpath_governance.paths.solvers.local_improvement import LocalImprovement
from coordpath_governance.paths.solvers.revisits import Revisits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.solvers.protocol import ChainTask, Solver, WalkTask

__all__ = ["CHAIN_SOLVERS", "WALK_SOLVERS", "choose_chain_solver", "choose_walk_solver"]

_LATTICE_UP_TO = 20
"""Up to here the whole table is filled in a moment; beyond, the pruned programme mostly needs a small part of it."""

_AUTO_WORK, _EXACT_WORK = 110_000_000, 1_000_000_000

_AUTO_MOVES, _EXACT_MOVES = 4_000_000_000, 30_000_000_000
"""Work of a search over values in between: about four and thirty seconds."""

_AUTO_ENDS, _EXACT_ENDS = 1_500_000_000, 15_000_000_000
"""Work of a search over free ends: about five and fifty seconds."""

CHAIN_SOLVERS: dict[str, tuple[Solver[ChainTask], ...]] = {
    "auto": (Lattice(_LATTICE_UP_TO), Levels(_AUTO_WORK, most_units=MOST_UNITS)),
    "exact": (Lattice(_LATTICE_UP_TO), Levels(_EXACT_WORK, most_units=MOST_UNITS)),
    "local": (Improvement(),),
    "greedy": (Greedy(),),
    "direct": (Direct(),),
    "gurobi": (GurobiChain(),),
}
"""Name → solvers of chains in order of preference; the first that takes the task is used."""

WALK_SOLVERS: dict[str, tuple[Solver[WalkTask], ...]] = {
    "auto": (Revisits(_AUTO_MOVES), FreeEnd(_AUTO_ENDS)),
    "exact": (Revisits(_EXACT_MOVES), FreeEnd(_EXACT_ENDS)),
    "local": (LocalImprovement(restarts=0, polish=True),),
    "greedy": (FirstWalk("greedy"),),
    "direct": (FirstWalk("direct"),),
    "gurobi": (GurobiWalks(),),
}
"""Name → solvers of walks in order of preference."""

_UNTIL_LATE: tuple[Solver[WalkTask], ...] = (Revisits(100 * _EXACT_MOVES), FreeEnd(100 * _EXACT_ENDS))
"""What `auto` is under a time limit, which ends it."""

_Task = TypeVar("_Task")


def choose_chain_solver(name: str, task: ChainTask) -> Solver[ChainTask]:
    """The first solver of a name that takes the task."""
    return _choose(name, CHAIN_SOLVERS[_by_time(name, task)], task)


def choose_walk_solver(name: str, task: WalkTask) -> Solver[WalkTask]:
    """The first solver of a name that takes the task."""
    return _choose(name, _UNTIL_LATE if name == "auto" and task.patience.timed else WALK_SOLVERS[name], task)


def _by_time(name: str, task: ChainTask) -> str:
    """Under a time limit it is the clock that ends `auto`, not an amount of work chosen for people who wait."""
    return "exact" if name == "auto" and task.patience.timed else name


def _choose(name: str, solvers: Sequence[Solver[_Task]], task: _Task) -> Solver[_Task]:
    lacking = ""
    for solver in solvers:
        lacks = solver.lacks(task)
        if lacks is None:
            return solver
        lacking = lacks
    raise SolverUnavailableError(f"solver {name}: {lacking}; use auto")
