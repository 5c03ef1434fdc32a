"""Every walk by whole steps of a small problem, and whether a path keeps to what was asked."""

from __future__ import annotations

import itertools

import numpy as np

FAR = 99


def costs_of(problem, models):
    """C of some models."""
    if hasattr(problem.cost, "measure"):
        return np.array(problem.cost.measure(models).costs)
    return problem.cost.values(models)


def best_whole_walk(problem, reach, terms):
    """The least objective of all walks within ±reach spacings, by a table of all states; infinite if there is none."""
    names, start, steps = list(problem.features), problem.start, problem.step_type
    size, constraints = len(names), problem.constraints
    goal = None if problem.target is None else tuple(np.rint((problem.target - start) / steps.spacing).astype(int).tolist())
    states = list(itertools.product(range(-reach, reach + 1), repeat=size))
    cost = dict(zip(states, costs_of(problem, start + steps.spacing * np.array(states)).tolist(), strict=True))
    still = {names[j] for j in range(size) if goal is not None and goal[j] == 0}
    waits = [
        {names.index(each.first) for each in constraints.orders if each.then == name and each.first not in still}
        for name in names
    ]
    up, down = (FAR if most is None else most for most in (steps.up, steps.down))
    origin = (0,) * size
    ceiling = cost[origin] * (1 + 1e-12) if constraints.monotone else np.inf

    def holds(j, spacings):
        low, high = constraints.interval(names[j])
        return low - 1e-9 <= start[j] + steps.spacing * spacings <= high + 1e-9 and names[j] not in constraints.frozen

    least = {(origin, frozenset()): 0.0}
    for alpha in problem.alphas(terms).tolist():
        following = {}
        for (state, moved), so_far in least.items():
            reached = [(state, moved)]
            for j in range(size):
                if waits[j] <= moved:
                    reached += [
                        ((*state[:j], to, *state[j + 1 :]), moved | {j})
                        for to in range(-reach, reach + 1)
                        if to != state[j] and -down <= to - state[j] <= up and holds(j, to)
                    ]
            for each in reached:
                if cost[each[0]] <= ceiling:
                    following[each] = min(following.get(each, np.inf), so_far + alpha * cost[each[0]])
        least = following
    return min((value for (state, _), value in least.items() if goal in (None, state)), default=np.inf)


def keeps_to(problem, path):
    """Whether a path's steps are of the type and keep to the constraints."""
    names, constraints = list(problem.features), problem.constraints
    at = dict(zip(names, problem.start.tolist(), strict=True))
    moved, moves_before = set(), []
    still = set() if problem.target is None else {n for j, n in enumerate(names) if problem.target[j] == problem.start[j]}
    for step in path.steps:
        (move,) = step.moves
        low, high = constraints.interval(move.feature)
        assert at[move.feature] == move.before
        assert problem.step_type.allows(move.before, move.after)
        assert low <= move.after <= high
        assert move.feature not in constraints.frozen
        missing = {each.first for each in constraints.orders if each.then == move.feature} - moved - still
        rests = step.k - 1 - len(moves_before)  # where values are free, a step may be as small as none
        assert len(missing) <= (rests if problem.step_type.name == "coordinate" else 0)
        moves_before.append(step.k)
        at[move.feature] = move.after
        moved.add(move.feature)
        assert not constraints.monotone or step.cost <= path.start_cost * (1 + 1e-12)
    return problem.target is None or list(at.values()) == problem.target.tolist()
