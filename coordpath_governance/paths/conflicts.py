"""Constraints that cannot be met: which of them conflict, told by name.

Some conflicts can be read off the problem (`check_constraints`). Others only a search shows: then constraints are left out
one at a time for as long as there is still no path, and those that remain conflict (`conflict_of`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.constraints import Constraints, Frozen, Monotone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordpath_governance.paths.constraints import Constraint, Order, Place
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["check_constraints", "conflict_of", "dearer_target", "unit_orders", "unit_places"]


def check_constraints(problem: PathProblem) -> None:
    """Raises `ProblemError` for constraints that the problem itself shows to conflict.

    These are boxes and signs without a common value, a target out of bounds, a circle of orders, or two units in one place.
    """
    constraints = problem.constraints
    for i, feature in enumerate(problem.features):
        low, high = constraints.interval(feature)
        if low > high:
            raise _conflict(" and ".join(map(str, constraints.limits(feature))) + " leave no value")
        if problem.target is None or problem.target[i] == problem.start[i]:
            continue
        aim = float(problem.target[i])
        if feature in constraints.frozen:
            raise _conflict(f"{Frozen(feature)}, but target moves it")
        for limit in constraints.limits(feature):
            if (limit.low is not None and aim < limit.low) or (limit.high is not None and aim > limit.high):
                raise _conflict(f"{limit}, but target is {aim:g}")
    _check_circles(problem)
    _check_places(problem)


def unit_places(problem: PathProblem) -> tuple[tuple[int, Place], ...]:
    """(u, why): changed unit u (an index into ``problem.changed``) has a place."""
    unit_of = {problem.features[i]: u for u, unit in enumerate(problem.changed) for i in unit.members}
    return tuple((unit_of[each.feature], each) for each in problem.constraints.places if each.feature in unit_of)


def _check_places(problem: PathProblem) -> None:
    if not problem.constraints.places:
        return
    if not problem.moves_once:
        raise ProblemError("constraints.place: is for units that move once each; leave steps null, and give a target")
    places = unit_places(problem)
    still = next((each for each in problem.constraints.places if each not in {why for _, why in places}), None)
    if still is not None:
        raise _conflict(f"{still}, but target does not move it")
    singles, resting = problem.singles, len(problem.changed) - problem.singles
    unit_at: dict[int, tuple[int, Place]] = {}
    place_of: dict[int, Place] = {}
    for u, place in places:
        if place_of.setdefault(u, place).step != place.step:
            raise _conflict(f"{place_of[u]} and {place}, which move as one")
        if place.step is None:
            continue
        if place.step > singles:
            raise _conflict(f"{place}, but there are {singles} single steps")
        other, why = unit_at.setdefault(place.step, (u, place))
        if other != u:
            raise _conflict(f"{why} and {place}")
    rest = [place for place in place_of.values() if place.step is None]
    if len(rest) > resting:
        raise _conflict(f"{' and '.join(map(str, rest))}, but max_steps leaves {resting} for the rest")


def unit_orders(problem: PathProblem) -> tuple[tuple[int, int, Order], ...]:
    """(a, b, why): unit b (an index into ``problem.units``) waits for unit a.

    With a target a unit that need not move holds up nobody; what moves in one step does not wait for itself.
    """
    unit_of = {problem.features[i]: u for u, unit in enumerate(problem.units) for i in unit.members}
    still = set()
    if problem.target is not None:
        still = {name for i, name in enumerate(problem.features) if problem.target[i] == problem.start[i]}
    pairs = (
        (unit_of[each.first], unit_of[each.then], each) for each in problem.constraints.orders if each.first not in still
    )
    return tuple((a, b, each) for a, b, each in pairs if a != b)


def _check_circles(problem: PathProblem) -> None:
    left = list(unit_orders(problem))
    while True:
        waiting = {b for _, b, _ in left}
        free = [each for each in left if each[0] in waiting]
        if len(free) == len(left):
            break
        left = free
    if not left:
        return
    into = {b: (a, why) for a, b, why in left}
    at = left[0][1]
    seen: list[int] = []
    while at not in seen:
        seen.append(at)
        at = into[at][0]
    circle = [into[u][1] for u in seen[seen.index(at) :]][::-1]
    first = min(range(len(circle)), key=lambda k: problem.constraints.items.index(circle[k]))
    circle = circle[first:] + circle[:first]
    if all(one.then == other.first for one, other in zip(circle, circle[1:] + circle[:1], strict=True)):
        raise _conflict("order " + " → ".join([circle[0].first, *(each.then for each in circle)]))
    raise _conflict(" and ".join(map(str, circle)) + ", where the features of a group move as one")


def dearer_target(start: float, target: float) -> ProblemError:
    """No path is monotone to a target that costs more."""
    return _conflict(f"monotone, but the target costs more than the start ({target:.6g}, not {start:.6g})")


def conflict_of(problem: PathProblem, feasible: Callable[[Constraints], bool | None]) -> ProblemError:
    """The error that names constraints which cannot be met together, and without any one of which they could.

    ``feasible``: whether there is a path under some constraints, None if that is not found out: then a constraint is kept.
    Without constraints there is one.
    """
    kept: Sequence[Constraint] = problem.constraints.items
    for item in problem.constraints.items:
        fewer = tuple(each for each in kept if each != item)
        if feasible(Constraints(fewer)) is False:
            kept = fewer
    if list(kept) == [Monotone()]:
        return _conflict("monotone, but every path costs more than the start on the way")
    return _conflict(" and ".join(map(str, kept)) + (" cannot be met together" if len(kept) > 1 else " cannot be met"))


def _conflict(what: str) -> ProblemError:
    return ProblemError(f"constraints: {what}; change or leave out one of them")
