"""The best order of the steps between two trees, against all orders there are."""

import math
from itertools import permutations

import numpy as np
import pytest
from helpers.random_trees import changes, every_order, least_objective
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.splits import beginnings, pattern_bounds, rough_orders
from coordpath_governance.paths.splits.beginnings import best_beginning
from coordpath_governance.paths.splits.pattern_bounds import pattern_bound
from coordpath_governance.paths.splits.rough_orders import rough_order
from coordpath_governance.paths.splits.solve import evaluate_splits, least_on_the_way, solve_splits
from coordpath_governance.paths.splits.split_loss import SplitLoss, Term
from coordpath_governance.paths.splits.split_units import COLLAPSE, GROW, MOVE, REFIT, SplitUnits
from coordpath_governance.paths.splits.strings import best_order

GAMMAS = st.sampled_from([1.0, 1.0, 0.7, 1.3])


@st.composite
def losses(draw, most=7, coupled=None):
    """Steps as trees have them, with gains that no tree need have: large ones behind losses, equal ones, none."""
    count = draw(st.integers(1, most))
    kinds, after = [], []
    while len(kinds) < count:
        if draw(st.integers(0, 3)) == 0:
            kinds.append(draw(st.sampled_from([MOVE, REFIT])))
            after.append(())
            continue
        size = draw(st.integers(1, count - len(kinds)))
        falling, waiting = draw(st.integers(0, size)), []
        for _ in range(falling):
            taken = [
                waiting.pop(draw(st.integers(0, len(waiting) - 1)))
                for _ in range(min(len(waiting), draw(st.integers(0, 2))))
            ]
            kinds.append(COLLAPSE)
            after.append(tuple(sorted(taken)))
            waiting.append(len(kinds) - 1)
        first = len(kinds)
        for grown in range(size - falling):
            kinds.append(GROW)
            after.append((first + draw(st.integers(0, grown - 1)),) if grown else tuple(waiting[:1]))
    units = SplitUnits(tuple(kinds), tuple(after))
    gain = st.integers(-3, 3).map(float) | st.floats(-3, 3).map(lambda value: round(value, 3))
    terms = [Term((), 20.0, tuple((unit, draw(gain)) for unit in range(count)))]
    moves = [unit for unit in range(count) if kinds[unit] == MOVE]
    for move in moves if (draw(st.booleans()) if coupled is None else coupled) else ():
        others = draw(st.permutations([unit for unit in range(count) if unit != move]))
        half = len(others) // 2
        for done, part in ((False, others[:half]), (True, others[half:])):
            terms.append(Term(((move, done),), draw(gain), tuple((unit, draw(gain)) for unit in part)))
    loss = SplitLoss(units, tuple(terms))
    if coupled:
        assume(loss.additive is None)
    return loss


def check(loss, gamma, max_steps):
    """The path is the best there is, and says so."""
    path = solve_splits(loss, gamma, max_steps)
    count = len(loss.units)
    steps = count if max_steps is None or max_steps >= count - 1 else max_steps
    assert loss.units.allows(path.order)
    assert len(path.order) == steps
    assert sorted(path.order + path.rest) == list(range(count))
    least = least_objective(loss, gamma, steps)
    assert path.certificate.objective == pytest.approx(least, rel=1e-12, abs=1e-12)
    assert path.certificate.status == "optimal"
    assert path.costs[0] == pytest.approx(loss.value(()))
    assert path.costs[-1] == pytest.approx(loss.value(frozenset(range(count))))
    return path


@settings(deadline=None, max_examples=120)
@given(changes(3), GAMMAS)
def test_trees_against_all_linear_extensions(made, gamma):
    """Up to nine steps: every order there is."""
    loss = made[3]
    count = len(loss.units)
    assume(1 <= count <= 9)
    path = solve_splits(loss, gamma)
    value = {}
    least = math.inf
    for order in every_order(loss.units, count):
        total = 0.0
        for k in range(1, count + 1):
            done = frozenset(order[:k])
            if done not in value:
                value[done] = loss.value(done)
            total += gamma**k * value[done]
        least = min(least, total)
    assert path.certificate.objective == pytest.approx(least, rel=1e-12, abs=1e-12)
    assert path.certificate.status == "optimal"


@settings(deadline=None, max_examples=60)
@given(changes(6), GAMMAS)
def test_trees_with_every_number_of_single_steps(made, gamma):
    """Up to twelve steps and every m: every beginning that is allowed."""
    loss = made[3]
    assume(len(loss.units) <= 12)
    for max_steps in (None, *range(1, len(loss.units) + 1)):
        check(loss, gamma, max_steps)


@settings(deadline=None, max_examples=60)
@given(changes(12, from_zero=True))
def test_a_tree_from_zero(made):
    """Every gain is a split's own, and a parent comes before its children."""
    loss = made[3]
    assert loss.additive is not None
    for max_steps in (None, 1, 3, 6):
        path = check(loss, 1.0, max_steps)
        assert path.certificate.solver in ("strings", "beginnings")


@settings(deadline=None, max_examples=300)
@given(losses(), GAMMAS, st.none() | st.integers(1, 7))
def test_any_gains_against_all_beginnings(loss, gamma, max_steps):
    check(loss, gamma, max_steps)


@settings(deadline=None, max_examples=150)
@given(losses(coupled=True), GAMMAS, st.integers(1, 7))
def test_bounds_of_gains_that_depend_on_each_other(loss, gamma, steps):
    """What is said of more than twenty steps, of a few: no order is below the bound, and the one found is one."""
    count = len(loss.units)
    steps = min(steps, count)
    alphas = gamma ** np.arange(1, steps + 1)
    rest = gamma ** (steps + 1) * loss.value(frozenset(range(count))) if steps < count else 0.0
    least = least_objective(loss, gamma, steps) - rest
    rough = rough_order(loss, alphas, gamma, steps)
    assert rough.bound <= least + 1e-9
    assert least <= rough.value + 1e-9
    assert pattern_bound(loss, alphas) <= least + 1e-9
    assert loss.units.allows(rough.order)
    along = loss.along(rough.order)[1:]
    assert rough.value == pytest.approx(alphas @ along, abs=1e-9)
    for minorant in loss.minorants:
        for number in range(1 << count):
            done = [unit for unit in range(count) if number >> unit & 1]
            assert minorant.start - minorant.gains[done].sum() <= loss.value(done) + 1e-9


@settings(deadline=None, max_examples=40)
@given(losses(coupled=True))
def test_the_table_holds_the_loss_of_every_set(loss):
    table = loss.table()
    for number in range(len(table)):
        done = {unit for unit in range(len(loss.units)) if number >> unit & 1}
        assert table[number] == pytest.approx(loss.value(done), abs=1e-9)


def chain(moves, gains):
    """So many moves, on each of which the gain of one refit depends."""
    units = SplitUnits((MOVE, REFIT) * moves, ((), ()) * moves)
    terms = [Term((), 10.0 * moves)]
    for move in range(moves):
        refit = 2 * move + 1
        terms += [Term(((2 * move, done),), 1.0 - done, ((refit, gains[move] * (1 + done)),)) for done in (False, True)]
    return SplitLoss(units, tuple(terms))


def test_beyond_twenty_steps_a_bound_is_told():
    """Eleven pairs, of which eight are listed: the path is good, and not called the best."""
    path = solve_splits(chain(11, np.random.default_rng(2).normal(size=11).tolist()))
    assert path.certificate.solver == "rough"
    assert path.certificate.status == "bounded"
    assert 0 < path.certificate.gap < 0.5
    assert path.certificate.lower_bound < path.certificate.objective
    shorter = solve_splits(chain(11, [0.5] * 11), max_steps=4)
    assert (len(shorter.order), len(shorter.rest)) == (4, 18)


def test_the_work_is_limited(monkeypatch):
    """With less work the order is worse or the same, and never below its bound."""
    loss = chain(11, np.random.default_rng(2).normal(size=11).tolist())
    full = rough_order(loss, np.ones(22), 1.0, 22)
    monkeypatch.setattr(rough_orders, "MOST_WORK", 10 * loss.size)
    monkeypatch.setattr(pattern_bounds, "MOST_WORK", 4 * loss.size)
    short = rough_order(loss, np.ones(22), 1.0, 22)
    assert short.bound <= full.bound <= full.value <= short.value


def test_the_bound_lies_below_the_best_order_that_is_known():
    """Ten pairs are twenty steps, which the programme over all sets solves, and the bound stays below that."""
    loss = chain(10, np.linspace(0.1, 1.0, 10).tolist())
    best = solve_splits(loss)
    assert (best.certificate.solver, best.certificate.status) == ("ideals", "optimal")
    rough = rough_order(loss, np.ones(20), 1.0, 20)
    assert rough.bound <= best.certificate.objective <= rough.value + 1e-9
    assert rough.value == pytest.approx(best.certificate.objective, rel=0.01)


def test_what_cannot_be_followed_is_bounded(monkeypatch):
    """Where more sets are there than are followed, the bound of what was left out is told."""
    rng = np.random.default_rng(2)
    count = 40
    after = ((), *((int(rng.integers(0, unit)),) for unit in range(1, count)))
    units = SplitUnits((GROW,) * count, after)
    loss = SplitLoss(units, (Term((), 100.0, tuple(enumerate(rng.normal(0.2, 1, count).tolist()))),))
    proved = solve_splits(loss, max_steps=8)
    assert proved.certificate.status == "optimal"
    monkeypatch.setattr(beginnings, "MOST_SETS", 1)
    cut = solve_splits(loss, max_steps=8)
    assert cut.certificate.status == "bounded"
    assert cut.certificate.lower_bound <= proved.certificate.objective <= cut.certificate.objective + 1e-12


def test_a_beginning_of_the_best_order_is_not_the_best_beginning():
    """One split gains 2 at once; the other pair gains nothing first and then 5: the full order begins with the pair."""
    units = SplitUnits((GROW, GROW, GROW), ((), (0,), ()))
    loss = SplitLoss(units, (Term((), 10.0, ((0, 0.0), (1, 5.0), (2, 2.0))),))
    assert solve_splits(loss).order == (0, 1, 2)
    assert solve_splits(loss, max_steps=1).order == (2,)
    assert best_beginning(units, loss.additive, np.ones(1), 1).order == (2,)


def test_adding_a_constant_or_scaling_changes_neither_order_nor_status():
    rng = np.random.default_rng(0)
    units = SplitUnits((MOVE, REFIT) * 11, ((), ()) * 11)
    gains = rng.random(11).tolist()
    plain = solve_splits(chain(11, gains))
    shifted = SplitLoss(units, (*chain(11, gains).terms, Term((), 64.0)))
    other = solve_splits(shifted)
    assert other.order == plain.order
    assert other.certificate.gap == pytest.approx(plain.certificate.gap, rel=1e-6)


@settings(deadline=None, max_examples=60)
@given(losses(5))
def test_what_a_unit_does_on_average_over_all_orders(loss):
    """The closed form is the mean over all orders, whatever has to come first."""
    count = len(loss.units)
    totals = np.zeros(count)
    for order in permutations(range(count)):
        along = [loss.value(frozenset(order[:k])) for k in range(count + 1)]
        for k, unit in enumerate(order):
            totals[unit] += along[k + 1] - along[k]
    assert loss.order_free() == pytest.approx(totals / math.factorial(count), abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(losses(), GAMMAS, st.none() | st.integers(1, 5))
def test_a_given_order_is_evaluated_with_the_bound_that_is_stated(loss, gamma, max_steps):
    path = solve_splits(loss, gamma, max_steps)
    again = evaluate_splits(loss, path.order, gamma, path.certificate)
    assert again.costs == path.costs
    assert again.rest == path.rest
    assert again.certificate.gap == pytest.approx(path.certificate.gap, abs=1e-9)
    assert again.least == pytest.approx(path.least)
    assert path.weight == pytest.approx(sum(gamma ** (k + 1) for k in range(len(path.costs) - 1)))
    given_order = evaluate_splits(loss, range(len(loss.units)), gamma)
    assert (given_order.certificate.status, given_order.certificate.solver) == ("bounded", "given")
    assert given_order.certificate.objective >= path.certificate.objective - 1e-9 or max_steps is not None


def test_the_least_of_many_coupled_steps_is_not_known():
    assert least_on_the_way(chain(11, [0.5] * 11)) == math.inf


def test_which_orders_are_allowed():
    units = SplitUnits((GROW, GROW), ((), (0,)))
    assert units.allows([0, 1])
    assert units.allows([])
    assert not units.allows([1, 0])
    assert not units.allows([0, 0])


def test_no_steps_is_an_empty_path():
    path = solve_splits(SplitLoss(SplitUnits((), ()), (Term((), 3.0),)))
    assert (path.order, path.rest, path.costs) == ((), (), (3.0,))
    assert path.certificate.status == "optimal"


@pytest.mark.parametrize(
    ("gamma", "max_steps", "words"), [(1.0, 0, "less than one"), (-1.0, None, "negative"), (0.0, None, "zero")]
)
def test_problems_that_make_no_sense(gamma, max_steps, words):
    loss = SplitLoss(SplitUnits((REFIT, REFIT), ((), ())), (Term((), 3.0, ((0, 1.0), (1, 2.0))),))
    with pytest.raises(ProblemError, match=words):
        solve_splits(loss, gamma, max_steps)


@pytest.mark.parametrize(
    ("kinds", "after"),
    [
        ((GROW,), ()),
        (("split",), ((),)),
        ((GROW, GROW), ((1,), ())),
        ((GROW, GROW), ((), (0, 0))),
        ((GROW, GROW), ((), (-1,))),
        ((MOVE, MOVE), ((), (0,))),
        ((REFIT, REFIT), ((), (0,))),
        ((GROW, COLLAPSE), ((), (0,))),
        ((GROW, REFIT), ((), (0,))),
        ((COLLAPSE, COLLAPSE, COLLAPSE), ((), (0,), (0,))),
        ((COLLAPSE, GROW, GROW), ((), (0,), (0,))),
        ((COLLAPSE,) * 4, ((), (), (), (0, 1, 2))),
        ((GROW, GROW, GROW), ((), (), (0, 1))),
    ],
)
def test_precedence_that_no_two_trees_have(kinds, after):
    with pytest.raises(ProblemError, match="splits:"):
        SplitUnits(kinds, after)


@pytest.mark.parametrize(
    "term",
    [
        Term((), math.inf),
        Term((), 0.0, ((0, math.nan),)),
        Term((), 0.0, ((2, 1.0),)),
        Term((), 0.0, ((0, 1.0), (0, 1.0))),
        Term(((0, True),), 0.0, ((0, 1.0),)),
        Term(((1, True),), 0.0),
    ],
)
def test_terms_that_no_two_trees_have(term):
    with pytest.raises(ProblemError, match="splits:"):
        SplitLoss(SplitUnits((MOVE, REFIT), ((), ())), (term,))


def test_five_hundred_splits_in_one_chain():
    """The deepest tree there is: as many strings are joined as can be."""
    count = 500
    units = SplitUnits((GROW,) * count, ((), *((unit - 1,) for unit in range(1, count))))
    assert best_order(units.modules, list(range(count))) == list(range(count))
    gains = tuple((unit, float(unit)) for unit in range(count))
    assert solve_splits(SplitLoss(units, (Term((), 9.0, gains),)), max_steps=3).order == (0, 1, 2)
