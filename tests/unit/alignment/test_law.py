"""The law: two models that are the same function on every input they can score give an empty path; and its converse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coordpath_governance.models import MISSING_LEVEL, CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.paths.problem import BASELINE

LEVELS = {"c": ("u", "v", "w", "x"), "d": ("0", "1", "2")}
SIZES = {"a": 1.0, "b": 1e3, "m": 1e-3}


def rows(seed: int, n: int = 120, *, rare: bool = False, unknown: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    shares = [0.6, 0.32, 0.05, 0.03] if rare else [0.25] * 4
    frame = pd.DataFrame({name: size * rng.normal(3.0, 1.0, n) for name, size in SIZES.items()})
    frame["m"] = frame["m"].mask(rng.random(n) < 0.2)
    frame["c"] = rng.choice(LEVELS["c"], n, p=shares)
    frame["d"] = rng.choice(LEVELS["d"], n)
    frame.loc[:3, "c"], frame.loc[:2, "d"] = LEVELS["c"], LEVELS["d"]
    if unknown:
        frame["c"] = frame["c"].mask(rng.random(n) < 0.1, "never seen")
        frame["d"] = frame["d"].mask(rng.random(n) < 0.1)
    return frame.assign(y=rng.normal(2.0, 5.0, n), w=rng.integers(0, 4, n))


def random_model(seed: int, *, has_intercept: bool, unknown: bool = False) -> LinearModel:
    """All kinds of terms, each worth about as much in the score as the others."""
    rng = np.random.default_rng(seed)
    sign = rng.choice([-1.0, 1.0], 10)
    part = sign * rng.uniform(0.5, 2.0, 10)
    slopes = [part[i] / size for i, size in enumerate(SIZES.values())]
    missing = {"m": part[4]}
    terms = tuple(NumericTerm(n, s, missing.get(n)) for n, s in zip(SIZES, slopes, strict=True))
    categorical = []
    for name, levels in LEVELS.items():
        effects = rng.uniform(-2.0, 2.0, len(levels)) + 0.1
        known = (*levels, MISSING_LEVEL) if name == "d" and unknown else levels
        effects = np.append(effects, 0.7)[: len(known)]
        other = float(rng.uniform(-1, 1)) if unknown else None
        categorical.append(CategoricalTerm(name, known, tuple(map(float, effects)), other))
    return LinearModel(float(part[5]) if has_intercept else 0.0, terms, tuple(categorical), has_intercept=has_intercept)


def shifted(term: CategoricalTerm, by: float) -> CategoricalTerm:
    """The same contrasts on another level of zero: what another dropped level does."""
    unknown = None if term.unknown is None else term.unknown + by
    return replace(term, effects=tuple(e + by for e in term.effects), unknown=unknown)


@st.composite
def same_functions(draw) -> tuple[LinearModel, LinearModel]:
    """A model and another way to write it down."""
    unknown = draw(st.booleans())
    has_intercept = draw(st.booleans())
    model = random_model(draw(st.integers(0, 2**20)), has_intercept=has_intercept, unknown=unknown)
    shifts = st.floats(-1e3, 1e3)
    by_c = draw(shifts)
    by_d = draw(shifts) if has_intercept else -by_c
    c, d = (shifted(term, by) for term, by in zip(model.categorical, (by_c, by_d), strict=True))
    intercept = model.intercept - (by_c + by_d) if has_intercept else 0.0
    order = draw(st.permutations(range(len(c.levels))))
    c = replace(c, levels=tuple(c.levels[i] for i in order), effects=tuple(c.effects[i] for i in order))
    if unknown and draw(st.booleans()):
        c = replace(c, levels=(*c.levels, "never met"), effects=(*c.effects, c.unknown))
    numeric = [*draw(st.permutations(model.numeric)), *([NumericTerm("z", 0.0, 0.0)] if draw(st.booleans()) else [])]
    if draw(st.booleans()):
        d, intercept, has_intercept = shifted(d, intercept), 0.0, False
    other = replace(
        model,
        intercept=intercept,
        has_intercept=has_intercept,
        numeric=tuple(numeric),
        categorical=tuple(draw(st.permutations((c, d)))),
    )
    return (model, other) if draw(st.booleans()) else (other, model)


@settings(max_examples=100)
@given(pair=same_functions(), seed=st.integers(0, 2**20), rare=st.booleans(), weight=st.sampled_from([None, "w"]))
def test_the_same_function_gives_an_empty_path(pair, seed, rare, weight, aligned, oracle):
    frame = rows(seed, rare=rare, unknown=pair[0].categorical[0].unknown is not None)
    frame["z"] = np.arange(len(frame)) % 7.0
    result = aligned(*pair, frame, weight=weight)
    assert result.moving == set()
    assert result.solution.path.steps == ()
    assert not any(c.changed for c in result.change.coordinates)
    both = [(c.old, c.new) for c in result.change.coordinates if c.old is not None and c.new is not None]
    np.testing.assert_allclose(*np.array(both).T, rtol=1e-9, atol=1e-9)
    truth = oracle(*pair, frame, weight).whole(0)
    assert result.cost([]) == pytest.approx(truth, rel=1e-9)


def replaced(model: LinearModel, what: str, factor: float) -> LinearModel:
    """The model with one number changed by a relative amount."""
    numeric = list(model.numeric)
    categorical = list(model.categorical)
    if what == "missing":
        numeric[2] = replace(numeric[2], missing=numeric[2].missing * factor)
    elif what in SIZES:
        i = list(SIZES).index(what)
        numeric[i] = replace(numeric[i], coefficient=numeric[i].coefficient * factor)
    elif what in LEVELS:
        i = list(LEVELS).index(what)
        effects = categorical[i].effects
        largest = max(range(len(LEVELS[what])), key=lambda k: abs(effects[k]))
        effects = tuple(e * factor if k == largest else e for k, e in enumerate(effects))
        categorical[i] = replace(categorical[i], effects=effects)
    else:
        return replace(model, intercept=model.intercept * factor)
    return replace(model, numeric=tuple(numeric), categorical=tuple(categorical))


UNIT = {"missing": "m", "intercept": BASELINE}


@settings(max_examples=80)
@given(
    what=st.sampled_from([*SIZES, *LEVELS, "missing"]),
    exponent=st.floats(-6, 0),
    sign=st.sampled_from([-1, 1]),
    has_intercept=st.booleans(),
    seed=st.integers(0, 2**20),
    rare=st.booleans(),
)
@example(what="c", exponent=-6, sign=1, has_intercept=True, seed=0, rare=True)
def test_a_changed_number_moves_its_unit_and_the_baseline(what, exponent, sign, has_intercept, seed, rare, aligned):
    model = random_model(seed, has_intercept=has_intercept)
    other = replaced(model, what, 1 + sign * 10**exponent)
    expected = {UNIT.get(what, what)}
    if has_intercept or what in LEVELS:
        expected.add(BASELINE)
    assert aligned(model, other, rows(seed, rare=rare)).moving == expected


@settings(max_examples=80)
@given(
    what=st.sampled_from([*SIZES, *LEVELS, "missing"]),
    exponent=st.floats(-6, 0),
    seed=st.integers(0, 2**20),
    rare=st.booleans(),
)
def test_an_unmoved_average_leaves_the_baseline_alone(what, exponent, seed, rare, aligned, oracle):
    frame = rows(seed, rare=rare)
    model = random_model(seed, has_intercept=True)
    other = replaced(model, what, 1 + 10**exponent)
    truth = oracle(model, other, frame)
    everything = [*truth.parts[0], BASELINE]
    names = [unit if unit == BASELINE else truth.name(unit) for unit in everything]
    drift = float(np.mean(truth.score(names) - truth.score([])))
    other = replace(other, intercept=other.intercept - drift)
    assert aligned(model, other, frame).moving == {UNIT.get(what, what)}


@settings(max_examples=40)
@given(exponent=st.floats(-6, 0), seed=st.integers(0, 2**20))
def test_a_changed_intercept_moves_the_baseline_alone(exponent, seed, aligned):
    model = random_model(seed, has_intercept=True)
    model = replace(model, intercept=20.0 + model.intercept)
    other = replaced(model, "intercept", 1 + 10**exponent)
    assert aligned(model, other, rows(seed)).moving == {BASELINE}


@given(seed=st.integers(0, 2**20), what=st.sampled_from([*SIZES, *LEVELS]))
@settings(max_examples=30)
def test_rounding_is_not_a_change(seed, what, aligned):
    model = random_model(seed, has_intercept=True)
    assert aligned(model, replaced(model, what, 1 + 1e-13), rows(seed)).moving == set()


@pytest.mark.parametrize("where", ["slope", "missing", "level", "baseline"])
def test_a_number_that_is_zero_but_for_rounding_is_zero(where, aligned):
    """What is left of a coefficient that cancels has no digit in common with zero; the score is the yardstick."""
    frame = rows(9)
    frame["y"] -= frame["y"].mean()
    model = random_model(9, has_intercept=True)
    model = replace(
        model, numeric=(model.numeric[0], replace(model.numeric[1], coefficient=0.0), NumericTerm("m", 1.0, 0.0))
    )
    c = replace(model.categorical[0], effects=(0.0, 1.0, 2.0, 3.0))
    model = replace(model, categorical=(c, model.categorical[1]))
    numeric, effects, intercept = list(model.numeric), c.effects, model.intercept
    if where == "slope":
        numeric[1] = replace(numeric[1], coefficient=3e-19)
    elif where == "missing":
        numeric[2] = replace(numeric[2], missing=-2e-16)
    elif where == "level":
        effects = (2e-16, *effects[1:])
    else:
        total = aligned(model, model, frame).change.coordinates[0].old
        model, intercept = replace(model, intercept=intercept - total), intercept - total * (1 + 1e-15)
    other = replace(
        model, intercept=intercept, numeric=tuple(numeric), categorical=(replace(c, effects=effects), model.categorical[1])
    )
    assert model != other
    assert aligned(model, other, frame).moving == set()


def test_a_numeric_column_that_a_model_lacks_has_coefficient_zero(linear, aligned):
    frame = rows(1)
    with_b = linear(1.0, {"a": 2.0, "b": 0.0})
    assert aligned(linear(1.0, {"a": 2.0}), with_b, frame).moving == set()
    moved = aligned(linear(1.0, {"a": 2.0}), linear(1.0, {"a": 2.0, "b": 3.0}), frame)
    assert {c.label: (c.old, c.new) for c in moved.change.coordinates}["b"] == (0.0, 3.0)


def test_an_intercept_on_one_side_only(linear, aligned):
    """All levels without an intercept, and one level dropped with one."""
    frame = rows(2)
    whole = linear(0.0, {"a": 1.5}, {"c": {"u": 7.0, "v": 8.0, "w": 9.0, "x": 5.0}}, has_intercept=False)
    dropped = linear(7.0, {"a": 1.5}, {"c": {"u": 0.0, "v": 1.0, "w": 2.0, "x": -2.0}})
    for pair in ((whole, dropped), (dropped, whole)):
        assert aligned(*pair, frame).moving == set()


def test_two_categories_without_any_intercept(linear, aligned, oracle):
    frame = rows(3)
    first = linear(
        0.0, {"a": 1.0}, {"c": dict.fromkeys("uvwx", 5.0), "d": {"0": 1.0, "1": 2.0, "2": 3.0}}, has_intercept=False
    )
    second = linear(
        0.0, {"a": 1.0}, {"c": dict.fromkeys("uvwx", 0.0), "d": {"0": 6.0, "1": 7.0, "2": 8.0}}, has_intercept=False
    )
    same = aligned(first, second, frame)
    assert same.moving == set()
    assert not same.change.centred
    higher = replace(second, categorical=(second.categorical[0], shifted(second.categorical[1], 1.0)))
    moved = aligned(first, higher, frame)
    assert moved.moving == {BASELINE}
    assert moved.cost([BASELINE]) == pytest.approx(oracle(first, higher, frame).whole(1), rel=1e-12)


def test_without_any_intercept_or_category_there_is_no_baseline(linear, aligned):
    frame = rows(4)
    result = aligned(linear(0.0, {"a": 1.0}, has_intercept=False), linear(0.0, {"a": 2.0}, has_intercept=False), frame)
    assert [c.label for c in result.change.coordinates] == ["a"]
    assert result.moving == {"a"}


def test_a_constant_that_no_one_calls_an_intercept_is_one(linear, aligned, oracle):
    """A folded scaler leaves a constant behind whether or not an intercept was fitted."""
    frame = rows(5)
    pair = (linear(4.0, {"a": 1.0}, has_intercept=False), linear(1.0, {"a": 1.0}, has_intercept=False))
    result = aligned(*pair, frame)
    assert result.moving == {BASELINE}
    assert result.cost([]) == pytest.approx(oracle(*pair, frame).whole(0), rel=1e-12)


def test_an_unknown_level_is_treated_as_each_encoder_treats_it(linear, aligned, oracle):
    frame = rows(6, unknown=True)
    zero = linear(1.0, {}, {"c": {"u": 1.0, "v": 2.0, "w": 3.0, "x": 4.0}}, unknown=0.0)
    bucket = linear(1.0, {}, {"c": {"u": 1.0, "v": 2.0, "w": 3.0, "x": 4.0}}, unknown=4.0)
    assert aligned(zero, zero, frame).moving == set()
    result = aligned(zero, bucket, frame)
    assert result.moving == {"c", BASELINE}
    truth = oracle(zero, bucket, frame)
    assert (result.cost([]), result.cost(["c", BASELINE])) == pytest.approx((truth.whole(0), truth.whole(1)), rel=1e-12)


def test_a_level_one_model_has_never_seen_is_its_unknown_level(linear, aligned):
    """Knowing a level with the effect of an unknown one is the same function as not knowing it."""
    frame = rows(7)
    knows = linear(0.5, {}, {"c": {"u": 1.0, "v": 2.0, "w": 0.0, "x": 0.0}}, unknown=0.0)
    does_not = linear(0.5, {}, {"c": {"u": 1.0, "v": 2.0}}, unknown=0.0)
    assert aligned(knows, does_not, frame).moving == set()


def test_without_a_champion_everything_starts_at_zero(linear, aligned, oracle):
    frame = rows(8)
    candidate = linear(3.0, {"a": 1.0, "b": 0.0}, {"c": {"u": 0.0, "v": 1.0, "w": 1.0, "x": 0.0}})
    result = aligned(None, candidate, frame)
    assert not result.pair.has_champion
    assert result.moving == {"a", "c", BASELINE}
    assert result.cost([]) == pytest.approx(float(np.mean(frame["y"] ** 2)), rel=1e-12)
    zero = linear(0.0, {}, {}, has_intercept=False)
    assert result.cost(["a", "c", BASELINE]) == pytest.approx(oracle(zero, candidate, frame).whole(1), rel=1e-12)
