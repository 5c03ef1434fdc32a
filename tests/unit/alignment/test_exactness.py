"""Costs from moments equal costs from rows: champion, candidate, everything in between, and every unit's own shift."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.alignment.row_columns import RowColumns, UnitColumns
from coordpath_governance.costs.squared_error import SquaredError
from coordpath_governance.errors import AlignmentError, ReferenceDataError
from coordpath_governance.models import MISSING_LEVEL, CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.paths.problem import BASELINE
from coordpath_governance.reference.encode import Tally, encode_rows
from coordpath_governance.reference.measure_path import PathOnRows, UnitScores, measure_path
from coordpath_governance.reference.moments import MIN_COUNT
from coordpath_governance.reference.row_passes import RowPasses

LEVELS = ("p", "q", "r", "s", "t")


@st.composite
def cases(draw) -> tuple[LinearModel, LinearModel, pd.DataFrame, str | None]:
    """Two models that differ in any way, and rows that both can score."""
    seed = draw(st.integers(0, 2**24))
    rng = np.random.default_rng(seed)
    n = draw(st.integers(2, 90))
    frame = pd.DataFrame(
        {
            "a": rng.normal(1, 2, n),
            "b": rng.normal(-4, 1, n) * 10.0 ** draw(st.integers(-3, 3)),
            "k": rng.integers(0, 3, n).astype(float),
            "c": rng.choice([*LEVELS, "unheard of"], n, p=[0.5, 0.3, 0.1, 0.04, 0.03, 0.03]),
            "d": rng.choice(np.array([*"mno", None], dtype=object), n),
        }
    )
    frame["m"] = pd.Series(rng.normal(0, 1, n)).mask(rng.random(n) < 0.3)
    frame["y"] = frame["a"] + rng.normal(3, 1, n)
    frame["w"] = rng.choice([0.0, 0.5, 1.0, 4.0], n)
    frame.loc[:1, "w"] = 4.0
    centred = draw(st.booleans())

    def model() -> LinearModel:
        has = draw(st.lists(st.booleans(), min_size=5, max_size=5))
        numeric = [NumericTerm(name, float(rng.normal()) / (frame[name].abs().max() or 1.0)) for name in ("a", "b")]
        numeric.append(NumericTerm("m", float(rng.normal()), float(rng.normal())))
        numeric.append(NumericTerm("k", float(rng.normal())))
        known = LEVELS[: draw(st.integers(1, 5))]
        effects = tuple(map(float, rng.normal(size=len(known))))
        bucket = effects[-1] if draw(st.booleans()) else 0.0
        of_k = tuple(map(float, rng.normal(size=3)))
        of_d = tuple(map(float, rng.normal(size=4)))
        categorical = [
            CategoricalTerm("c", known, effects, bucket),
            CategoricalTerm("d", ("m", "n", "o", MISSING_LEVEL), of_d, None),
            CategoricalTerm("k", ("0", "1", "2"), of_k, None, numeric_levels=True),
        ]
        return LinearModel(
            float(rng.normal()) if centred else 0.0,
            tuple(t for t, keep in zip(numeric, has, strict=False) if keep),
            tuple(t for t, keep in zip(categorical, [*has[4:], True, has[0]], strict=True) if keep),
            has_intercept=centred,
        )

    return model(), model(), frame, draw(st.sampled_from([None, "w"]))


@settings(max_examples=80)
@given(case=cases(), data=st.data())
def test_costs_from_moments_equal_costs_from_rows(case, data, aligned, oracle):
    champion, candidate, frame, weight = case
    result, truth = aligned(champion, candidate, frame, weight=weight), oracle(champion, candidate, frame, weight)
    scale = float(np.mean(frame["y"] ** 2)) + truth.whole(0) + truth.whole(1)
    names = [truth.name(unit) for unit in truth.units]
    assert result.cost([]) == pytest.approx(truth.whole(0), abs=1e-10 * scale)
    assert result.cost([*names, BASELINE]) == pytest.approx(truth.whole(1), abs=1e-10 * scale)
    order = data.draw(st.permutations([*names, BASELINE]))
    for k in range(len(order)):
        assert result.cost(order[:k]) == pytest.approx(truth.cost(order[:k]), abs=1e-9 * scale)


@settings(max_examples=50)
@given(case=cases())
def test_every_step_of_the_path_is_a_difference_of_rows(case, aligned, oracle):
    champion, candidate, frame, weight = case
    result, truth = aligned(champion, candidate, frame, weight=weight), oracle(champion, candidate, frame, weight)
    assert set(result.order) == result.moving
    scale = float(np.mean(frame["y"] ** 2)) + truth.whole(0) + truth.whole(1)
    assert result.solution.path.start_cost == pytest.approx(truth.whole(0), abs=1e-10 * scale)
    for k, step in enumerate(result.solution.path.steps):
        before, after = truth.cost(result.order[:k]), truth.cost(result.order[: k + 1])
        assert step.cost == pytest.approx(after, abs=1e-9 * scale)
        assert step.delta == pytest.approx(after - before, abs=1e-9 * scale)


@settings(max_examples=60)
@given(case=cases())
def test_unit_scores_are_the_rows_own_scores(case, aligned, oracle):
    champion, candidate, frame, weight = case
    result, truth = aligned(champion, candidate, frame, weight=weight), oracle(champion, candidate, frame, weight)
    units = UnitColumns.of(result.pair, result.moments, result.change)
    design = np.vstack([chunk.design for chunk in encode_rows(result.source, result.plan, Tally())])
    close = {"rtol": 1e-10, "atol": 1e-10}
    counted = truth.w > 0
    columns = units.columns(design)
    assert columns.shape == (len(design), units.width)
    np.testing.assert_allclose(columns[:, 0], truth.score([])[counted], **close)
    shifts = columns[:, 1:]
    for unit, shift in zip(units.units, shifts.T, strict=True):
        np.testing.assert_allclose(shift, (truth.score([unit]) - truth.score([]))[counted], **close)
    everything = [truth.name(unit) for unit in truth.units] + [BASELINE]
    np.testing.assert_allclose(shifts.sum(axis=1), (truth.score(everything) - truth.score([]))[counted], **close)


KINDS = (
    {},
    {"family": "binomial", "link": "logit", "classes": ("no", "yes")},
    {"family": "poisson", "link": "log"},
    {"family": "tweedie", "link": "log", "power": 1.5},
)


@settings(max_examples=60)
@given(case=cases(), kind=st.sampled_from(KINDS), min_count=st.integers(0, 40), data=st.data())
def test_columns_times_coefficients_are_the_rows_own_scores(case, kind, min_count, data, aligned, oracle):
    *models, frame, weight = case
    result = aligned(*(replace(model, **kind) for model in models), frame, weight=weight, min_count=min_count)
    columns = RowColumns.of(result.pair, result.moments, result.change)
    design = np.vstack([chunk.design for chunk in encode_rows(result.source, result.plan, Tally())])
    assert columns.columns(design).shape == (len(design), columns.width) == (len(design), len(result.change.exercised))
    truth = oracle(*models, frame, weight)
    order = data.draw(st.permutations([truth.name(unit) for unit in truth.units] + [BASELINE]))
    for k in (0, len(order) // 2, len(order)):
        score = columns.columns(design) @ result.beta(order[:k])
        np.testing.assert_allclose(score, truth.score(order[:k])[truth.w > 0], rtol=1e-10, atol=1e-10)


@settings(max_examples=60)
@given(case=cases(), data=st.data(), min_count=st.integers(2, 40))
def test_merging_rare_levels_changes_no_cost(case, data, min_count, aligned):
    champion, candidate, frame, weight = case
    merged = aligned(champion, candidate, frame, weight=weight, min_count=min_count)
    whole = aligned(champion, candidate, frame, weight=weight, min_count=0)
    assert merged.moving == whole.moving
    order = data.draw(st.permutations(sorted(whole.moving)))
    for k in range(len(order) + 1):
        expected = whole.cost(order[:k])
        assert merged.cost(order[:k]) == pytest.approx(expected, rel=1e-9, abs=1e-9 * float(np.mean(frame["y"] ** 2)))


@settings(max_examples=60)
@given(case=cases())
def test_no_merged_change_holds_a_small_cell(case, aligned):
    champion, candidate, frame, _ = case
    result = aligned(champion, candidate, frame)
    for coordinate in result.change.coordinates:
        is_cell = coordinate.source is not None and coordinate.source.kind in ("level", "other", "rare")
        if is_cell and coordinate.rows:
            assert coordinate.rows >= min(MIN_COUNT, len(frame))


def test_levels_are_merged_until_the_merged_cell_is_large_enough(linear, aligned):
    frame = pd.DataFrame({"c": [*"a" * 4, *"b" * 12, *"d" * 30], "y": np.arange(46.0)})
    effects = {"c": {"a": 1.0, "b": 2.0, "d": 3.0, "e": 4.0}}
    result = aligned(linear(0.0, {}, effects), linear(0.0, {}, {"c": {**effects["c"], "a": 9.0}}), frame)
    cells = {c.label: c.rows for c in result.change.coordinates if c.source is not None}
    assert cells == {
        "c = d": 30,
        "c = e": 0,
        "c = (2 merged levels)": 16,
        "c = (2 merged levels), as in the champion": None,
        "c = (2 merged levels), as in the candidate": None,
    }


def test_a_level_only_in_rows_of_weight_zero_is_not_exercised(linear, aligned):
    frame = pd.DataFrame({"c": [*"uv" * 20, *"w" * 12, *"x" * 3], "y": np.arange(55.0) % 7, "w": [1.0] * 40 + [0.0] * 15})
    pair = [linear(0.0, {}, {"c": {"u": 1.0, "v": 2.0, "w": s, "x": s}}) for s in (1.0, 5.0)]
    result = aligned(*pair, frame, weight="w")
    assert result.moving == set()
    found = {c.label: (c.rows, c.exercised, c.changed) for c in result.change.coordinates}
    assert found["c = w"] == found["c = x"] == (0, False, True)


@pytest.mark.parametrize("shares", [(3, 100), (4, 5, 6), (7,), (1, 1, 300)])
@pytest.mark.parametrize("has_intercept", [True, False])
def test_a_column_all_of_whose_levels_are_merged(shares, has_intercept, linear, aligned, oracle):
    """Their common indicator is one in every row: no coordinate, and no rounding error that looks like one."""
    rng = np.random.default_rng(0)
    levels = [f"level {i}" for i in range(len(shares))]
    frame = pd.DataFrame({"c": np.repeat(levels, shares)})
    frame = frame.assign(a=rng.normal(size=len(frame)), y=rng.normal(1, 1, len(frame)), w=rng.random(len(frame)))
    constant = 1.0 if has_intercept else 0.0
    pair = [
        linear(constant, {"a": s}, {"c": {name: s * i + 0.3 for i, name in enumerate(levels)}}, has_intercept=has_intercept)
        for s in (1.0, -0.7)
    ]
    result, truth = aligned(*pair, frame, weight="w"), oracle(*pair, frame, "w")
    assert ("c" in result.moving) == (len(shares) > 1)
    for moved in ([], ["c"], ["a", "c", BASELINE]):
        assert result.cost(moved) == pytest.approx(truth.cost(moved), rel=1e-9)
    rare = [c for c in result.change.coordinates if c.source is not None and c.source.kind == "rare"]
    assert [(c.sd, c.rows) for c in rare] == [(0.0, len(frame))]


@settings(max_examples=25)
@given(case=cases(), seed=st.integers(0, 2**20))
def test_whole_weights_are_rows_repeated(case, seed, aligned):
    champion, candidate, frame, _ = case
    weights = np.random.default_rng(seed).integers(0, 4, len(frame))
    weights[:2] = 2
    weighted = aligned(champion, candidate, frame.assign(w=weights), weight="w", min_count=0)
    repeated = aligned(champion, candidate, frame.loc[np.repeat(frame.index, weights)], min_count=0)
    assert weighted.moments.weight_sum == repeated.moments.rows
    np.testing.assert_allclose(weighted.moments.mean, repeated.moments.mean, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(weighted.moments.covariance, repeated.moments.covariance, rtol=1e-8, atol=1e-9)
    assert weighted.moving == repeated.moving
    scale = float(np.mean(frame["y"] ** 2))
    for moved in ([], sorted(weighted.moving)):
        assert weighted.cost(moved) == pytest.approx(repeated.cost(moved), rel=1e-9, abs=1e-9 * scale)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**20), exponent=st.integers(0, 8))
def test_features_far_from_zero_keep_their_digits(seed, exponent, linear, aligned, oracle):
    """x has mean 10^k and spread 1: the oracle works on x − 10^k, which a double holds exactly enough."""
    rng = np.random.default_rng(seed)
    far = 10.0**exponent
    x = np.round(rng.normal(size=400), 6)
    near = pd.DataFrame({"x": (x + far) - far, "y": x + rng.normal(size=400)})
    shifted = near.assign(x=x + far)
    pair = [linear(b - a * far, {"x": a}) for b, a in ((0.25, 0.5), (0.5, 1.25))]
    truth = oracle(linear(0.25, {"x": 0.5}), linear(0.5, {"x": 1.25}), near)
    result = aligned(*pair, shifted)
    for moved in ([], ["x"], ["x", BASELINE]):
        assert result.cost(moved) == pytest.approx(truth.cost(moved), rel=1e-6)


def far_target(far: float) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    x = rng.normal(size=300)
    return pd.DataFrame({"x": x, "y": far + x + rng.normal(size=300)})


def test_a_target_far_from_zero_keeps_six_digits_or_is_refused(linear, aligned, oracle):
    """E[y²] has 16 digits; where the cost is below the seventeenth, moments know nothing of it."""
    answered = []
    for exponent in range(9):
        far = 10.0**exponent
        frame, pair = far_target(far), (linear(far, {"x": 0.5}), linear(far, {"x": 1.0}))
        try:
            result = aligned(*pair, frame)
        except AlignmentError as error:
            assert "far from zero" in str(error)  # noqa: PT017 - which of the powers is refused is not the point
            continue
        answered.append(exponent)
        assert result.cost([]) == pytest.approx(oracle(*pair, frame).whole(0), rel=1e-6)
    assert answered == [0, 1, 2, 3, 4]


def test_models_without_any_error_are_not_refused(linear, aligned):
    frame = far_target(1000.0)
    frame["y"] = 1000.0 + 2.0 * frame["x"]
    perfect = linear(1000.0, {"x": 2.0})
    result = aligned(perfect, perfect, frame)
    assert result.moving == set()
    assert result.cost([]) == pytest.approx(0.0, abs=1e-8)


def test_columns_that_are_not_centred_and_too_far_away_are_found_out_by_the_rows(linear, aligned):
    """Without an intercept nothing is centred, and the moments of far columns cancel; the second pass sees it."""
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 300)) + 1e6
    frame = pd.DataFrame({"x": x, "z": z, "y": x - z + rng.normal(size=300)})
    pair = [linear(0.0, {"x": s, "z": -s}, has_intercept=False) for s in (0.5, 1.0)]
    result = aligned(*pair, frame)
    path = result.solution.path
    columns = UnitColumns.of(result.pair, result.moments, result.change)
    on_rows = PathOnRows(
        scores=UnitScores.of(columns.units, [(unit,) for unit in result.order]),
        costs=(path.start_cost, *(step.cost for step in path.steps)),
        deltas=tuple(step.delta for step in path.steps),
        size=result.problem.quadratic.constant,
        steps=tuple(result.order),
        shift_grid=(0.0, 1.0),
        by_version=False,
    )
    with pytest.raises(ReferenceDataError, match="double precision"):
        measure_path(RowPasses(result.source, result.plan, columns, once=True), SquaredError(), on_rows)


def test_a_constant_feature_is_listed_and_no_step(linear, aligned, oracle):
    frame = pd.DataFrame({"x": np.arange(40.0), "still": 3.0, "y": np.arange(40.0) % 7})
    pair = (linear(0.0, {"x": 1.0, "still": 1.0}), linear(-3.0, {"x": 2.0, "still": 2.0}))
    result = aligned(*pair, frame)
    still = next(c for c in result.change.coordinates if c.label == "still")
    assert (still.exercised, still.changed, still.sd) == (False, True, 0.0)
    assert result.moving == {"x", BASELINE}
    truth = oracle(*pair, frame)
    assert result.cost(["x", BASELINE]) == pytest.approx(truth.whole(1), rel=1e-12)


def test_a_constant_feature_counts_where_nothing_is_centred(linear, aligned, oracle):
    frame = pd.DataFrame({"x": np.arange(40.0), "still": 3.0, "y": np.arange(40.0) % 7})
    pair = [linear(0.0, {"x": 1.0, "still": s}, has_intercept=False) for s in (1.0, 2.0)]
    result = aligned(*pair, frame)
    assert result.moving == {"still"}
    assert result.cost(["still"]) == pytest.approx(oracle(*pair, frame).whole(1), rel=1e-12)


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, -1e-7])
def test_rounding_of_a_constant_is_not_variance(value, linear, aligned):
    frame = pd.DataFrame({"x": np.arange(1000.0), "still": value, "y": np.arange(1000.0) % 7, "w": np.arange(1000) % 3 / 7})
    result = aligned(linear(0.0, {"x": 1.0, "still": 1.0}), linear(0.0, {"x": 2.0, "still": 2.0}), frame, weight="w")
    assert "still" not in result.moving


def test_a_constant_target_is_scored_all_the_same(linear, aligned):
    frame = pd.DataFrame({"x": np.arange(10.0), "y": 5.0})
    result = aligned(linear(0.0, {"x": 1.0}), linear(5.0, {"x": 0.0}), frame)
    assert result.cost([]) == pytest.approx(float(np.mean((5.0 - np.arange(10.0)) ** 2)), rel=1e-12)
    assert result.cost(["x", BASELINE]) == pytest.approx(0.0, abs=1e-12)
    assert result.moments.target_variance == 0.0


def test_dependent_columns_are_normal(linear, aligned, oracle):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=80)})
    frame["twice"] = 2 * frame["a"]
    frame["y"] = frame["a"] + rng.normal(size=80)
    pair = (linear(0.0, {"a": 1.0, "twice": 0.0}), linear(0.0, {"a": -3.0, "twice": 2.0}))
    result, truth = aligned(*pair, frame), oracle(*pair, frame)
    assert {"a", "twice"} <= result.moving
    for k in range(3):
        assert result.cost(["a", "twice"][:k]) == pytest.approx(truth.cost(["a", "twice"][:k]), rel=1e-9)


def test_sign_flips_are_told_of_slopes_only(linear, aligned):
    frame = pd.DataFrame({"a": np.arange(30.0), "c": [*"uvw"] * 10, "y": np.arange(30.0) % 4})
    pair = [linear(0.0, {"a": s}, {"c": {"u": s, "v": 0.0, "w": -s}}) for s in (1.0, -1.0)]
    flips = {c.label for c in aligned(*pair, frame).change.coordinates if c.flips}
    assert flips == {"a"}
