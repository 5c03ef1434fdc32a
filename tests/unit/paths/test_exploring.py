"""Choices on a path: what is left is the best there is given them, and their price is what they cost."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths import parse_problem, solve
from coordpath_governance.paths.exploring import Exploration
from coordpath_governance.paths.row_orders.recorded_cost import recorded
from coordpath_governance.paths.solvers import table
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.quick_levels import QuickLevels
from coordpath_governance.paths.solvers.ruled_orders import RuledLattice, RuledLevels


def labels(exploration):
    return [step.label for step in exploration.solution.path.steps]


def brute_force(problem, oracle, choices):
    """The least sum over all paths that keep to the choices, in exact arithmetic; None if there is none.

    A path is an order of single steps and what moves at once after them; over the terms of the problem it rests at its end.
    """
    names = [unit.label for unit in problem.changed]
    singles = min(problem.singles, len(names) - len(choices.forbidden)) if choices.forbidden else problem.singles
    if choices.ending != "target":
        singles = len(choices.done)
    least = None
    for order in itertools.permutations(names):
        step = {name: min(k, singles + 1) for k, name in enumerate(order, start=1)}
        kept = (
            list(order[: len(choices.done)]) == list(choices.done)
            and all(step[name] == k for name, k in choices.pinned)
            and all(step[name] == singles + 1 for name in choices.forbidden)
            and all(
                step[a] < step[b] or step[a] == step[b] == singles + 1 for a, b in choices.orders if choices.ending != "here"
            )
        )
        if not kept:
            continue
        units = [names.index(name) for name in order]
        sets = [units[:k] for k in range(1, singles + 1)]
        if choices.ending != "here" and singles < len(names):
            sets.append(units)
        sets += [sets[-1] if sets else []] * (problem.most_terms - len(sets))
        total = sum(a * oracle.cost(moved) for a, moved in zip(oracle.alphas, sets, strict=True))
        least = total if least is None else min(least, total)
    return least


@st.composite
def walks(draw):
    """Commands that a person could type, with numbers for the units and the steps."""
    kinds = ["accept", "accept", "pin", "pin next", "forbid", "order", "undo", "reset", "rest", "stop"]
    number = st.integers(0, 4)
    return draw(st.lists(st.tuples(st.sampled_from(kinds), number, number), min_size=1, max_size=7))


def walked(exploration, kind, a, b):
    names = [unit.label for unit in exploration.problem.changed]
    one, other = names[a % len(names)], names[b % len(names)]
    if kind in ("accept", "stop", "rest", "undo", "reset"):
        return getattr(exploration, kind)(*([1 + b % 2] if kind == "accept" else []))
    if kind == "order":
        return exploration.order(one, other)
    if kind == "pin":
        return exploration.pin(one, b)
    return exploration.pin(one) if kind == "pin next" else exploration.forbid(one)


@pytest.mark.thorough
@given(walks(), st.integers(0, 10**6), st.integers(2, 5), st.integers(0, 3), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_what_is_left_is_the_best_there_is(document, oracle, walk, seed, size, fewer, levels, weighted):
    weights = {"alpha": [1, 2, 0, 1, 3]} if weighted else None
    problem = parse_problem(document(seed, size, max_steps=max(1, size - fewer) if fewer else None, weights=weights))
    exact = oracle(problem)
    with pytest.MonkeyPatch.context() as patch:
        if levels:
            few = Lattice(2), QuickLevels(10**6), RuledLattice(2), RuledLevels(10**6)
            patch.setitem(table.ORDER_SOLVERS, "quick", few)
        exploration = Exploration.begin(problem)
        for kind, a, b in walk:
            try:
                exploration = walked(exploration, kind, a, b)
            except ProblemError as error:
                assert str(error)  # noqa: PT017 - what was chosen before stands
            best = brute_force(problem, exact, exploration.choices)
            assert best is not None
            near = 1e-8 * (1 + float(exact.spread()))
            assert exploration.objective == pytest.approx(float(best), abs=near)
            assert exploration.lower_bound <= float(best) + near
            assert labels(exploration)[: len(exploration.choices.done)] == list(exploration.choices.done)
            free = float(brute_force(problem, exact, Exploration.begin(problem).choices))
            assert exploration.price.least == pytest.approx(float(best) - free, abs=near)
            assert exploration.price.most >= float(best) - free - near
        saved = solve(exploration.document())
    assert saved.objective == pytest.approx(exploration.solution.objective, abs=near)


@pytest.fixture
def five(document):
    return Exploration.begin(parse_problem(document(11, 5)))


def test_a_walk_in_words(five):
    first = five.next_step
    assert first is not None
    assert first.k == 1
    assert (five.price.least, five.price.most) == (0.0, pytest.approx(0.0, abs=1e-9))
    two = five.accept(2)
    assert two.choices.done == tuple(labels(five)[:2])
    assert labels(two) == labels(five)
    assert two.undo().choices == five.choices
    last = labels(five)[-1]
    pinned = two.pin(last)
    assert labels(pinned)[2] == last
    assert pinned.price.least > 0
    taken = pinned.accept()
    assert taken.choices.done[-1] == last
    assert taken.choices.pinned == ()
    assert taken.reset().choices == five.choices
    assert taken.reset().undo().choices == taken.choices
    ended = taken.accept(9)
    assert ended.next_step is None
    assert len(ended.choices.done) == 5


def test_forbidden_units_go_with_the_rest_or_not_at_all(five):
    first, second, *_ = labels(five)
    forbidden = five.forbid(first)
    assert (labels(forbidden)[-1], forbidden.solution.path.steps[-1].kind) == ("all the rest", "rest")
    assert [move.feature for move in forbidden.solution.path.steps[-1].moves] == [first]
    more = forbidden.forbid(second)
    assert {move.feature for move in more.solution.path.steps[-1].moves} == {first, second}
    assert first not in labels(more)
    assert more.asked.max_steps == 3
    stopped = more.accept(2).stop()
    assert stopped.next_step is None
    moved = np.flatnonzero(stopped.asked.target != stopped.asked.start)
    assert [stopped.problem.features[i] for i in moved] == sorted(stopped.choices.done)
    assert stopped.document()["constraints"]["frozen"] == [first, second]
    assert solve(stopped.document()).path == stopped.solution.path
    assert more.pin(first).choices.forbidden == (second,)
    assert five.pin(first, 3).forbid(first).choices.pinned == ()


def test_the_rest_at_once(five):
    rest = five.accept(2).rest()
    assert rest.next_step is None
    assert [step.kind for step in rest.solution.path.steps] == ["coordinate", "coordinate", "rest"]
    through = five.forbid(labels(five)[0]).accept(4)
    assert through.next_step is not None
    assert through.accept().next_step is None
    at_once = five.forbid(labels(five)[0]).accept(9)
    assert at_once.next_step is None
    assert at_once.undo().choices.done == ()


def test_stopping_before_the_first_step_is_the_start(five):
    stopped = five.stop()
    assert labels(stopped) == []
    assert stopped.objective == pytest.approx(5 * five.solution.path.start_cost)
    assert solve(stopped.document()).path.terms == 0


@pytest.mark.parametrize(
    ("choose", "says"),
    [
        (lambda e: e.undo(), "nothing to undo"),
        (lambda e: e.rest(), "accept one first"),
        (lambda e: e.pin("nothing"), "'nothing' is not one of the features; name one of the steps"),
        (lambda e: e.accept().pin(labels(e)[1], 1), "step 1 is done; pin 'x[0-4]' at step 2 or later"),
        (lambda e: e.accept().forbid(labels(e)[0]), "has moved"),
        (lambda e: e.accept(5).pin("x0"), "no step is left"),
        (lambda e: e.stop().accept(), "no step is left"),
        (lambda e: e.order("x0", "x0"), "move together"),
        (lambda e: e.pin("x0", 2).pin("x1", 2), "place x0 2 and place x1 2"),
        (lambda e: e.pin("x0", 6), "place x0 6, but there are 5 single steps"),
        (lambda e: e.order("x0", "x1").order("x1", "x0"), "order x0 → x1 → x0"),
        (lambda e: e.pin("x1", 1).order("x0", "x1"), "place x1 1 and order x0 → x1 cannot be met together"),
        (lambda e: reduce(Exploration.forbid, e.problem.features, e), "no unit is left for a single step"),
    ],
)
def test_choices_that_cannot_be(document, choose, says):
    begun = Exploration.begin(parse_problem(document(4, 5)))
    with pytest.raises(ProblemError, match=says):
        choose(begun)


def test_units_that_do_not_change_and_groups(document):
    plain = document(3, 4, unchanged=1)
    still = next(name for name, a, b in zip(plain["features"], plain["start"], plain["target"], strict=True) if a == b)
    others = [name for name in plain["features"] if name != still]
    begun = Exploration.begin(parse_problem({**plain, "groups": [others[:2]]}))
    with pytest.raises(ProblemError, match="does not change"):
        begun.pin(still)
    assert labels(begun.pin(others[1], 2))[1] == " + ".join(others[:2])
    with pytest.raises(ProblemError, match="move together"):
        begun.order(*others[:2])


def test_what_cannot_be_explored(document, convex):
    with pytest.raises(ProblemError, match="every changed unit moves once"):
        Exploration.begin(parse_problem({**document(0, 3), "target": None, "steps": 2}))
    problem = convex("logistic", 3)
    Exploration.begin(problem)
    with pytest.raises(ProblemError, match=r"cost\.record: tells one path only"):
        Exploration.begin(replace(problem, cost=recorded(problem, problem.cost)))


def test_a_cost_on_rows(convex, enumeration):
    problem = convex("logistic", 4, seed=2)
    begun = Exploration.begin(problem)
    pinned = begun.pin(labels(begun)[-1], 2)
    truth = enumeration(problem)
    last = [unit.label for unit in problem.changed].index(labels(begun)[-1])
    best = min(truth.objective(order) for order in itertools.permutations(range(4)) if order[1] == last)
    assert pinned.objective == pytest.approx(best, rel=1e-9)
    assert pinned.price.least == pytest.approx(best - truth.optimum(), rel=1e-6)


def test_a_path_that_is_better_than_the_one_without_choices_is_the_one_without_choices(document, monkeypatch):
    """Where nothing is proved, a choice may lead to a better path; the price is told against that."""
    problem = parse_problem({**document(5, 6), "solver": "direct"})
    best = solve({**document(5, 6)})
    monkeypatch.setattr("coordpath_governance.paths.exploring.QUICK", "direct")
    begun = Exploration.begin(problem)
    assert begun.solution.status == "bounded"
    assert begun.price.most > 0
    first = best.path.steps[0].label
    assert begun.accept().choices.done == (labels(begun)[0],)
    monkeypatch.setattr("coordpath_governance.paths.exploring.QUICK", "quick")
    better = begun.pin(first)
    assert better.objective == pytest.approx(best.objective)
    assert better.price.least == 0.0
    assert better.undo().price.least > 0
    assert math.isclose(better.undo().free, best.objective)


def test_a_saved_walk_goes_on_where_it_was(five):
    walked_on = five.accept(2).forbid(labels(five)[-1])
    again = Exploration.begin(parse_problem(walked_on.document()))
    assert again.solution.path == walked_on.solution.path
    assert again.accept(3).solution.path == walked_on.solution.path
    stopped = again.accept(2).stop()
    assert labels(stopped) == labels(five)[:2]
    assert again.accept(2).rest().asked.max_steps == 2


def test_the_document(five):
    document = five.accept().forbid(labels(five)[-1]).to_dict()
    assert document["schema"] == "coordpath.exploration/1"
    assert document["choices"] == {
        "done": labels(five)[:1],
        "pinned": {},
        "forbidden": labels(five)[-1:],
        "order": [],
        "ending": "target",
    }
    assert document["constraints"] == {"place": {labels(five)[0]: 1, labels(five)[-1]: "rest"}}
    assert document["max_steps"] == 4
    assert document["path"]["schema"] == "coordpath.path/1"


def test_a_cost_on_rows_is_saved_without_its_rows(convex):
    begun = Exploration.begin(convex("logistic", 5, seed=4))
    pinned = begun.pin(labels(begun)[-1], 2).accept()
    written = pinned.document(rows=False)
    assert set(written["cost"]) & {"rows", "record"} == {"record"}
    assert [step.label for step in solve(written).path.steps] == labels(pinned)
    assert solve(written).status == "optimal"
    assert "rows" in pinned.document()["cost"]
