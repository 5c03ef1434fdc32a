"""The table of solvers: the contract's names, and what stands behind each of them for every kind of task.

A new solver is a file with its class and a line here. Which of a name's solvers is used is for the task to say: the first
that needs what the task offers, lacks nothing else, and can make the steps that the problem allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from coordpath_governance.errors import SolverUnavailableError
from coordpath_governance.paths.solvers.cut_search import CutSearch, Effort
from coordpath_governance.paths.solvers.free_end import FreeEnd
from coordpath_governance.paths.solvers.greedy_direct import Direct, FirstOrder, FirstRowWalk, FirstWalk, Greedy
from coordpath_governance.paths.solvers.gurobi import GurobiChain, GurobiWalks
from coordpath_governance.paths.solvers.halves import MOST_UNITS
from coordpath_governance.paths.solvers.improvement import Improvement
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.levels import Levels
from coordpath_governance.paths.solvers.local_improvement import LocalImprovement
from coordpath_governance.paths.solvers.quick_levels import QuickLevels
from coordpath_governance.paths.solvers.revisits import Revisits
from coordpath_governance.paths.solvers.row_walk_search import RowWalkSearch
from coordpath_governance.paths.solvers.ruled_orders import (
    RuledCuts,
    RuledFirst,
    RuledLattice,
    RuledLevels,
    RuledRowFirst,
    RuledSetProgramme,
)
from coordpath_governance.paths.solvers.ruled_walks import GreedyRuledWalk, RuledWalks
from coordpath_governance.paths.solvers.set_programme import SetProgramme
from coordpath_governance.paths.solvers.whole_steps import GreedyWholeSteps, WholeSteps
from coordpath_governance.paths.step_types import COORDINATE, StepType

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import Offer, Solver, Task

__all__ = ["ORDER_SOLVERS", "WALK_SOLVERS", "choose_order_solver", "choose_walk_solver", "expect_walk_solver"]

_LATTICE_UP_TO = 20
"""Up to here the whole table is filled in a moment; beyond, the pruned programme mostly needs a small part of it."""

_AUTO_WORK, _EXACT_WORK = 110_000_000, 1_000_000_000

_AUTO_MOVES, _EXACT_MOVES = 4_000_000_000, 30_000_000_000
"""Work of a search over values in between: about four and thirty seconds."""

_AUTO_ENDS, _EXACT_ENDS = 1_500_000_000, 15_000_000_000
"""Work of a search over free ends: about five and fifty seconds."""

_AUTO_STATES, _EXACT_STATES = 5e9, 5e10
"""Nanoseconds of a search over whole steps, about."""

_AUTO_BEGINNINGS, _EXACT_BEGINNINGS = 8_000, 80_000
"""Beginnings of walks under constraints that are valued: about ten seconds, and a hundred."""

_AUTO_ROWS, _EXACT_ROWS = 3e8, 3e9
"""Rows times sets: about ten seconds, and a hundred."""

_QUICK_UP_TO = 17
"""Units whose table is filled in a tenth of a second, under constraints too."""

_QUICK_WORK, _QUICK_ROWS, _QUICK_EFFORT = 8_000_000, 3e6, Effort(250_000, 250_000, 4e5)
"""Work of an order for somebody who waits: up to half a second for 30 units."""

_QUICK_MOVES, _QUICK_ENDS, _QUICK_STATES, _QUICK_BEGINNINGS = 200_000_000, 100_000_000, 1e8, 200
"""The same of a walk: about a twentieth of the work of `auto`."""

_NO_EFFORT = Effort(0, 0, 0.0)
_AUTO_EFFORT = Effort(2_000_000, 8_000_000, 6e7)
_EXACT_EFFORT = Effort(8_000_000, 128_000_000, 1e9)

Solvers = tuple["Solver[Any]", ...]

ORDER_SOLVERS: dict[str, Solvers] = {
    "auto": (
        Lattice(_LATTICE_UP_TO),
        Levels(_AUTO_WORK, most_units=MOST_UNITS),
        SetProgramme(_AUTO_ROWS),
        CutSearch(_AUTO_ROWS, _AUTO_EFFORT),
        RuledLattice(_LATTICE_UP_TO),
        RuledLevels(_AUTO_WORK),
        RuledSetProgramme(_AUTO_ROWS),
        RuledCuts(CutSearch(_AUTO_ROWS, _AUTO_EFFORT)),
    ),
    "exact": (
        Lattice(_LATTICE_UP_TO),
        Levels(_EXACT_WORK, most_units=MOST_UNITS),
        SetProgramme(_EXACT_ROWS),
        CutSearch(_EXACT_ROWS, _EXACT_EFFORT),
        RuledLattice(_LATTICE_UP_TO),
        RuledLevels(_EXACT_WORK),
        RuledSetProgramme(_EXACT_ROWS),
        RuledCuts(CutSearch(_EXACT_ROWS, _EXACT_EFFORT)),
    ),
    "quick": (
        Lattice(_QUICK_UP_TO),
        QuickLevels(_QUICK_WORK),
        SetProgramme(_QUICK_ROWS),
        CutSearch(_QUICK_ROWS, _QUICK_EFFORT),
        RuledLattice(_QUICK_UP_TO),
        RuledLevels(_QUICK_WORK),
        RuledSetProgramme(_QUICK_ROWS),
        RuledCuts(CutSearch(_QUICK_ROWS, _QUICK_EFFORT)),
    ),
    "local": (
        Improvement(),
        CutSearch(_AUTO_ROWS, _NO_EFFORT),
        RuledLevels(0),
        RuledCuts(CutSearch(_AUTO_ROWS, _NO_EFFORT)),
    ),
    "greedy": (Greedy(), FirstOrder("greedy"), RuledFirst("greedy"), RuledRowFirst("greedy")),
    "direct": (Direct(), FirstOrder("direct"), RuledFirst("direct"), RuledRowFirst("direct")),
    "gurobi": (GurobiChain(),),
}
"""Name → solvers of orders, in which every unit moves once, by preference."""

WALK_SOLVERS: dict[str, Solvers] = {
    "auto": (
        Revisits(_AUTO_MOVES),
        FreeEnd(_AUTO_ENDS),
        RowWalkSearch(proves=True),
        WholeSteps(_AUTO_STATES),
        RuledWalks(_AUTO_BEGINNINGS),
    ),
    "exact": (
        Revisits(_EXACT_MOVES),
        FreeEnd(_EXACT_ENDS),
        RowWalkSearch(proves=True),
        WholeSteps(_EXACT_STATES),
        RuledWalks(_EXACT_BEGINNINGS),
    ),
    "quick": (
        Revisits(_QUICK_MOVES),
        FreeEnd(_QUICK_ENDS),
        RowWalkSearch(proves=False),
        WholeSteps(_QUICK_STATES),
        RuledWalks(_QUICK_BEGINNINGS),
    ),
    "local": (LocalImprovement(restarts=0, polish=True), RowWalkSearch(proves=False), WholeSteps(0.0), GreedyRuledWalk()),
    "greedy": (FirstWalk("greedy"), FirstRowWalk("greedy"), GreedyWholeSteps(), GreedyRuledWalk()),
    "direct": (FirstWalk("direct"), FirstRowWalk("direct")),
    "gurobi": (GurobiWalks(),),
}
"""Name → solvers of walks, with revisits or a free end, by preference."""

_UNTIL_LATE: Solvers = (
    Revisits(100 * _EXACT_MOVES),
    FreeEnd(100 * _EXACT_ENDS),
    RowWalkSearch(proves=True),
    WholeSteps(100 * _EXACT_STATES),
    RuledWalks(100 * _EXACT_BEGINNINGS),
)
"""What `auto` is under a time limit, which ends it."""

_TaskT = TypeVar("_TaskT", bound="Task")


def choose_order_solver(name: str, task: _TaskT, step_type: StepType = COORDINATE) -> Solver[_TaskT]:
    """The first solver of a name that takes the task; raises `SolverUnavailableError` if none does.

    Under a time limit it is the clock that ends `auto`, not an amount of work chosen for people who wait.
    """
    by_time = "exact" if name == "auto" and task.patience.timed else name
    return _choose(name, ORDER_SOLVERS[by_time], task, step_type)


def choose_walk_solver(name: str, task: _TaskT, step_type: StepType = COORDINATE) -> Solver[_TaskT]:
    """The same for walks."""
    solvers = _UNTIL_LATE if name == "auto" and task.patience.timed else WALK_SOLVERS[name]
    return _choose(name, solvers, task, step_type)


def expect_walk_solver(name: str, offer: Offer) -> None:
    """Raises `SolverUnavailableError` if no walk solver of a name needs what a task will offer, before it is prepared."""
    _suited(name, WALK_SOLVERS[name], offer)


def _choose(name: str, solvers: Solvers, task: _TaskT, step_type: StepType) -> Solver[_TaskT]:
    lacking = ""
    for solver in _suited(name, solvers, task.offers):
        lacks = step_type.lacks(solver) or solver.lacks(task)
        if lacks is None:
            return solver
        lacking = lacks
    raise _refused(name, lacking)


def _suited(name: str, solvers: Solvers, offer: Offer) -> Solvers:
    suited = tuple(solver for solver in solvers if solver.needs == offer)
    if not suited:
        raise _refused(name, offer.special or solvers[-1].needs.refusal)
    return suited


def _refused(name: str, lacking: str) -> SolverUnavailableError:
    return SolverUnavailableError(f"solver {name}: {lacking}; use auto")
