"""A path measured on the rows of generalised linear models: every figure against sklearn or its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.glm_paths import OnRows, PlainColumns, rows
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, log_loss, mean_gamma_deviance, mean_poisson_deviance, roc_auc_score

from coordpath_governance.costs import GlmCost
from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.reference import encode, measure_path, ranked
from coordpath_governance.reference.decisions import MOST_CLASS_FLIPS, THRESHOLD_STEP, CutOff, DecisionSums
from coordpath_governance.reference.row_passes import RowPasses
from coordpath_governance.reference.segments import SMALL_CELLS
from coordpath_governance.reference.sources import TableSource, open_source
from coordpath_governance.reference.versions import MOST_CLASSES, ClassSums, log_odds

ONE_SCORE = ["logistic", "poisson", "gamma", "tweedie"]
ALL = [*ONE_SCORE, "multinomial"]


def measured(on: OnRows, champion: float | None = None, candidate: float | None = None, **options: object):
    return measure_path.measure_path(on.rows(**options), on.family, on.path(champion, candidate))


def sample(kind: str, seed: int, weight: str | None) -> OnRows:
    exposure = None if kind == "multinomial" or seed % 2 else "e"
    return OnRows(kind, rows(kind, seed), weight=weight, exposure=exposure, seed=seed)


@settings(max_examples=25)
@given(kind=st.sampled_from(ALL), seed=st.integers(0, 2**20), weight=st.sampled_from([None, "w"]))
def test_errors_shifts_and_segments_by_their_definitions(kind, seed, weight):
    on = sample(kind, seed, weight)
    found = measured(on, 0.4, 0.4, segments=("region",))
    np.testing.assert_allclose(found.step_se, [on.error(d) for d in np.diff(on.losses, axis=1).T], rtol=1e-9)
    assert found.total_se == pytest.approx(on.error(on.losses[:, -1] - on.losses[:, 0]), rel=1e-9)
    for mae, version in ((found.champion_mae, 0), (found.candidate_mae, -1)):
        prediction = on.predictions[:, :, version]
        if kind == "multinomial":
            off = 1 - prediction[np.arange(len(on.y)), on.y.astype(int)]
        else:
            off = np.abs(on.y - prediction[:, 0])
        assert mae == pytest.approx(on.mean(off), rel=1e-12)
    assert found.shift_largest == pytest.approx(on.shift[np.argmax(np.abs(on.shift))], rel=1e-9)
    order = np.argsort(on.shift)
    reached = np.cumsum(on.w[order]) / on.w.sum()
    for q, got in ((0.05, found.shift_p05), (0.5, found.shift_p50), (0.95, found.shift_p95)):
        below, above = (on.shift[order][np.searchsorted(reached, q + by).clip(0, 199)] for by in (-1e-9, 1e-9))
        assert below - 1e-12 <= got <= above + 1e-12
    flipped = np.argmax(on.predictions, axis=1) if kind == "multinomial" else on.decided[:, 0] >= 0.4
    for cell in found.segments:
        if cell.value == SMALL_CELLS:
            continue
        inside = (on.frame["region"] == cell.value).to_numpy()
        w = on.w[inside]
        assert cell.rows == inside.sum() >= 10
        assert cell.champion_cost == pytest.approx(w @ on.losses[inside, 0] / w.sum(), rel=1e-9)
        assert cell.candidate_cost == pytest.approx(w @ on.losses[inside, -1] / w.sum(), rel=1e-9)
        assert cell.delta == pytest.approx(cell.candidate_cost - cell.champion_cost, rel=1e-6, abs=1e-12)
        assert cell.delta_se == pytest.approx(on.error((on.losses[:, -1] - on.losses[:, 0])[inside], w), rel=1e-6)
        assert cell.mean_shift == pytest.approx(w @ on.shift[inside] / w.sum(), rel=1e-9)
        assert cell.flips == pytest.approx(w @ (flipped[:, 0] != flipped[:, -1])[inside] / w.sum(), rel=1e-12)
    assert {cell.value for cell in found.segments} >= {"north", "south"}


@settings(max_examples=15)
@given(seed=st.integers(0, 2**20), weight=st.sampled_from([None, "w"]))
def test_two_classes_by_sklearn(seed, weight):
    on = sample("logistic", seed, weight)
    path = on.path()
    found = measure_path.measure_path(on.rows(), on.family, path)
    for metrics, version in ((found.champion_metrics, 0), (found.candidate_metrics, -1)):
        probability = on.predictions[:, 0, version]
        assert path.costs[version] == pytest.approx(log_loss(on.y, probability, sample_weight=on.w), rel=1e-9)
        auc = roc_auc_score(on.y, on.scores[:, 0, version].round(9), sample_weight=on.w)
        assert metrics.auc == pytest.approx(auc, abs=1e-9)
        assert metrics.gini == pytest.approx(2 * auc - 1, abs=1e-9)
        assert (metrics.expected, metrics.observed) == pytest.approx((on.mean(probability), on.mean(on.y)))
        assert [c.label for c in metrics.classes] == ["no", "yes"]
        assert [c.observed for c in metrics.classes] == pytest.approx([on.mean(1 - on.y), on.mean(on.y)])
        assert [c.expected for c in metrics.classes] == pytest.approx([on.mean(1 - probability), on.mean(probability)])


@settings(max_examples=15)
@given(kind=st.sampled_from(["poisson", "gamma", "tweedie"]), seed=st.integers(0, 2**20))
def test_rates_by_their_definitions(kind, seed):
    on = sample(kind, seed, "w")
    path = on.path()
    found = measure_path.measure_path(on.rows(), on.family, path)
    deviance = {"poisson": mean_poisson_deviance, "gamma": mean_gamma_deviance}.get(kind)
    exposure = np.ones(len(on.y)) if on.exposure is None else on.frame[on.exposure].to_numpy()
    rate, insured = on.y / exposure, on.w * exposure
    for metrics, version in ((found.champion_metrics, 0), (found.candidate_metrics, -1)):
        prediction = on.predictions[:, 0, version]
        if deviance is not None:
            assert path.costs[version] == pytest.approx(deviance(on.y, prediction, sample_weight=on.w), rel=1e-9)
        assert (metrics.auc, metrics.classes) == (None, ())
        assert metrics.expected == pytest.approx(np.average(prediction / exposure, weights=insured))
        assert metrics.observed == pytest.approx(np.average(rate, weights=insured))
        scores = (on.scores[:, 0, version] - np.log(exposure)).round(9)
        best = gini_by_pairs(rate.round(9), rate, insured)
        assert metrics.gini == pytest.approx(gini_by_pairs(scores, rate, insured) / best, abs=1e-9)


def gini_by_pairs(key: np.ndarray, target: np.ndarray, weight: np.ndarray) -> float:
    """Σ w_i w_j sign(key_i − key_j)(y_i − y_j) over 2·W²·ȳ: the area between curve and diagonal, twice, by pairs of rows."""
    pairs = weight[:, None] * weight * np.sign(key[:, None] - key) * (target[:, None] - target)
    return float(pairs.sum() / (2 * weight.sum() * (weight @ target)))


@pytest.mark.parametrize("kind", ONE_SCORE)
def test_calibration_is_in_the_order_of_the_versions_own_prediction(kind):
    on = OnRows(kind, rows(kind, 3, n=400), weight="w")
    found = measured(on)
    for metrics, version in ((found.champion_metrics, 0), (found.candidate_metrics, -1)):
        prediction, scores = on.predictions[:, 0, version], on.scores[:, 0, version].round(9)
        before = np.array([on.w[scores < s].sum() for s in scores]) / on.w.sum()
        tenths = [np.flatnonzero((10 * before + 1e-9).astype(int) == k) for k in range(10)]
        assert [b.rows for b in metrics.calibration] == [len(inside) for inside in tenths]
        for b, inside in zip(metrics.calibration, tenths, strict=True):
            assert b.expected == pytest.approx(np.average(prediction[inside], weights=on.w[inside]))
            assert b.observed == pytest.approx(np.average(on.y[inside], weights=on.w[inside]))
        assert [b.expected for b in metrics.calibration] == sorted(b.expected for b in metrics.calibration)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**20), weight=st.sampled_from([None, "w"]))
def test_several_classes_by_sklearn_each_against_the_rest(seed, weight):
    on = sample("multinomial", seed, weight)
    found = measured(on)
    for metrics, version in ((found.champion_metrics, 0), (found.candidate_metrics, -1)):
        probability = on.predictions[:, :, version]
        assert (metrics.expected, metrics.observed, metrics.auc, metrics.gini, metrics.calibration) == (None,) * 4 + ((),)
        right = accuracy_score(on.y, np.argmax(probability, axis=1), sample_weight=on.w)
        assert metrics.accuracy == pytest.approx(right, abs=1e-12)
        assert [c.label for c in metrics.classes] == ["red", "green", "blue"]
        for i, c in enumerate(metrics.classes):
            assert c.observed == pytest.approx(on.mean(on.y == i))
            assert c.expected == pytest.approx(on.mean(probability[:, i]))
            odds = np.log(probability[:, i] / (1 - probability[:, i])).round(9)
            assert c.auc == pytest.approx(roc_auc_score(on.y == i, odds, sample_weight=on.w), abs=1e-9)


def test_calibration_of_a_class_is_in_the_order_of_its_probability():
    on = OnRows("multinomial", rows("multinomial", 3, n=400), weight="w")
    found = measured(on)
    for metrics, version in ((found.champion_metrics, 0), (found.candidate_metrics, -1)):
        for i, c in enumerate(metrics.classes):
            probability, observed = on.predictions[:, i, version], on.y == i
            odds = np.log(probability / (1 - probability)).round(9)
            before = np.array([on.w[odds < o].sum() for o in odds]) / on.w.sum()
            tenths = [np.flatnonzero((10 * before + 1e-9).astype(int) == k) for k in range(10)]
            assert [b.rows for b in c.calibration] == [len(inside) for inside in tenths]
            for b, inside in zip(c.calibration, tenths, strict=True):
                assert b.expected == pytest.approx(np.average(probability[inside], weights=on.w[inside]))
                assert b.observed == pytest.approx(np.average(observed[inside], weights=on.w[inside]))


@pytest.mark.parametrize(("count", "measured_each"), [(MOST_CLASSES, True), (MOST_CLASSES + 1, False)])
def test_a_crowd_of_classes_has_its_balance_and_accuracy_only(count, measured_each):
    rng = np.random.default_rng(1)
    score = rng.normal(size=(300, count))
    prediction = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    target, weight = rng.integers(0, count, 300), rng.uniform(0.5, 2.0, 300)
    sums = ClassSums(count)
    sums.add(score, prediction, target.astype(float), weight)
    found = sums.result([str(c) for c in range(count)], None)
    right = accuracy_score(target, np.argmax(prediction, axis=1), sample_weight=weight)
    assert found.accuracy == pytest.approx(right, abs=1e-12)
    assert sum(c.observed for c in found.classes) == pytest.approx(1.0)
    assert {(c.auc is not None, bool(c.calibration)) for c in found.classes} == {(measured_each, measured_each)}


def test_a_class_that_no_row_has_has_no_auc():
    score = np.random.default_rng(2).normal(size=(50, 3))
    prediction = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    sums = ClassSums(3)
    sums.add(score, prediction, np.arange(50) % 2.0, np.ones(50))
    *seen, never = sums.result(("a", "b", "c"), None).classes
    assert never.auc is None
    assert (never.observed, {b.observed for b in never.calibration}) == (0.0, {0.0})
    assert all(0.0 < c.auc < 1.0 for c in seen)


@settings(max_examples=50)
@given(st.lists(st.lists(st.floats(-300, 300), min_size=4, max_size=4), min_size=1, max_size=5))
def test_log_odds_keep_their_digits(scores):
    score = np.array(scores)
    for row, found in zip(score, log_odds(score), strict=True):
        for c in range(4):
            assert found[c] == pytest.approx(row[c] - np.logaddexp.reduce(np.delete(row, c)), rel=1e-12, abs=1e-9)


def test_log_odds_end_somewhere():
    assert np.isfinite(log_odds(np.array([[1000.0, -1000.0, 0.0]]))).all()


@settings(max_examples=15)
@given(
    kind=st.sampled_from(ONE_SCORE),
    seed=st.integers(0, 2**20),
    thresholds=st.sampled_from([(0.5, 0.5), (0.4, 0.6), (0.9, 0.5)]),
)
def test_flips_by_enumeration(kind, seed, thresholds):
    champion, candidate = thresholds
    on = sample(kind, seed, "w")
    found = measured(on, champion, candidate)
    decided = [[p >= champion for p in row] for row in on.decided[:, 0].tolist()]
    for row, p in zip(decided, on.decided[:, 0, -1].tolist(), strict=True):
        row.append(p >= candidate)
    names = ["a", "c", "b", THRESHOLD_STEP] if champion != candidate else ["a", "c", "b"]
    assert [step.feature for step in found.flips.steps] == names
    for k, step in enumerate(found.flips.steps):
        up = sum(w for w, row in zip(on.w, decided, strict=True) if row[k + 1] and not row[k])
        down = sum(w for w, row in zip(on.w, decided, strict=True) if row[k] and not row[k + 1])
        assert (step.up, step.down) == pytest.approx((up / on.w.sum(), down / on.w.sum()))
    up = sum(w for w, row in zip(on.w, decided, strict=True) if row[-1] and not row[0])
    down = sum(w for w, row in zip(on.w, decided, strict=True) if row[0] and not row[-1])
    assert (found.flips.up, found.flips.down) == pytest.approx((up / on.w.sum(), down / on.w.sum()))
    net = sum(step.up - step.down for step in found.flips.steps)
    assert net == pytest.approx(found.flips.up - found.flips.down, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_quantiles_of_very_many_shifts_stay_between_the_rows(seed, monkeypatch):
    """Most rows move by one and the same largest amount, which is on no grid."""
    on = OnRows("poisson", rows("poisson", seed))
    monkeypatch.setattr(ranked, "MOST_CELLS", 20)
    on.frame["a"] = np.minimum(on.frame["a"], 0.0)
    on = OnRows("poisson", on.frame)
    on.betas = np.vstack([np.zeros(4), [0.0, 0.7123 + seed / 7, 0.0, 0.0], [0.35 / 3, 0.7123 + seed / 7, 0.0, 0.0]])
    path = on.path_of(on.betas, ("a", "b"), tuple(GlmCost(on.family, on.rows()).values(on.betas)))
    found = measure_path.measure_path(on.rows(), on.family, path)
    shift = 0.35 / 3 + (0.7123 + seed / 7) * on.frame["a"]
    assert shift.min() <= found.shift_p05 <= found.shift_p50 <= found.shift_p95 <= shift.max()


def test_a_prediction_at_the_threshold_decides_yes():
    on = OnRows("logistic", rows("logistic"))
    on.betas = np.vstack([np.zeros(4), [-1.0, 0.0, 0.0, 0.0]])
    costs = (np.log(2.0), on.mean(np.logaddexp(0.0, -1.0) + on.y))
    path = on.path_of(on.betas, ("down",), costs, CutOff(0.5), CutOff(0.5))
    found = measure_path.measure_path(on.rows(), on.family, path)
    assert (found.flips.up, found.flips.down) == (0.0, 1.0)


def test_of_several_classes_a_changed_class_is_a_flip_up():
    on = OnRows("multinomial", rows("multinomial", 7), weight="w")
    found = measured(on, 0.5, 0.9, segments=("region",))
    top = np.argmax(on.predictions, axis=1)
    assert [step.feature for step in found.flips.steps] == ["a", "c", "b"]
    for step, (one, other) in zip(found.flips.steps, itertools.pairwise(top.T), strict=True):
        assert (step.up, step.down) == (pytest.approx(on.mean(one != other)), 0.0)
    assert (found.flips.up, found.flips.down) == (pytest.approx(on.mean(top[:, 0] != top[:, -1])), 0.0)
    pairs = [
        (a, b) for a, b in itertools.product(range(3), repeat=2) if a != b and ((top[:, 0] == a) & (top[:, -1] == b)).any()
    ]
    assert [(each.before, each.after) for each in found.flips.classes] == pairs
    for each in found.flips.classes:
        assert each.flips == pytest.approx(on.mean((top[:, 0] == each.before) & (top[:, -1] == each.after)))
    assert sum(each.flips for each in found.flips.classes) == pytest.approx(found.flips.up)


def test_of_many_changes_of_class_the_most_frequent_are_told():
    count = 30
    before, after = (pair.ravel() for pair in np.meshgrid(np.arange(count), np.arange(count), indexing="ij"))
    prediction = np.zeros((count * count, count, 2))
    prediction[np.arange(count * count), before, 0] = prediction[np.arange(count * count), after, 1] = 1.0
    weight = 1.0 + np.arange(count * count)
    sums = DecisionSums(("a",), CutOff(0.5), CutOff(0.5), count)
    sums.add(prediction, weight)
    told = sums.result(weight.sum()).classes
    assert len(told) == MOST_CLASS_FLIPS
    assert [(each.before, each.after) for each in told] == sorted((each.before, each.after) for each in told)
    flipping = np.sort(weight[before != after])[::-1]
    assert sorted((each.flips for each in told), reverse=True) == pytest.approx(flipping[:MOST_CLASS_FLIPS] / weight.sum())


@pytest.mark.parametrize("thresholds", [(None, None), (0.5, None), (None, 0.5)])
@pytest.mark.parametrize("kind", ["logistic", "multinomial"])
def test_without_two_thresholds_nothing_flips(kind, thresholds):
    found = measured(OnRows(kind, rows(kind)), *thresholds, segments=("region",))
    assert found.flips is None
    assert {cell.flips for cell in found.segments} == {None}


def test_a_target_that_is_the_same_in_all_rows_has_no_gini():
    on = OnRows("gamma", rows("gamma").assign(y=2.0))
    assert measured(on).candidate_metrics.gini is None


def test_a_path_without_steps():
    on = OnRows("poisson", rows("poisson"))
    path = on.path_of(on.betas[:1], (), on.path().costs[:1], CutOff(1.0), CutOff(2.0))
    found = measure_path.measure_path(on.rows(), on.family, path)
    assert (found.step_se, found.total_se, found.shift_largest, found.shift_p50) == ((), 0.0, 0.0, 0.0)
    assert [step.feature for step in found.flips.steps] == [THRESHOLD_STEP]
    assert found.champion_metrics == found.candidate_metrics


@pytest.mark.parametrize("kind", ["poisson", "multinomial"])
def test_chunks_and_parts_change_no_figure(kind, monkeypatch):
    on = OnRows(kind, rows(kind), weight="w")
    whole = measured(on, 0.5, 0.5, segments=("region",))
    told: list[int] = []
    monkeypatch.setattr(encode, "_CELLS_PER_CHUNK", 500)
    monkeypatch.setattr(measure_path, "_ROWS_AT_ONCE", 17)
    parts = measure_path.measure_path(on.rows(segments=("region",)), on.family, on.path(0.5, 0.5), told.append)
    assert told == [100, 200]
    assert parts.step_se == pytest.approx(whole.step_se, rel=1e-9)
    assert (parts.flips.up, parts.shift_p05) == pytest.approx((whole.flips.up, whole.shift_p05), rel=1e-9)
    assert [b.rows for b in parts.candidate_metrics.calibration] == [b.rows for b in whole.candidate_metrics.calibration]
    assert [c.rows for c in parts.segments] == [c.rows for c in whole.segments]
    assert [c.delta for c in parts.segments] == pytest.approx([c.delta for c in whole.segments], rel=1e-9)


@pytest.mark.parametrize("step", [0, 2, 3])
def test_rows_that_disagree_with_the_costs_of_the_path_are_found_out(step):
    on = OnRows("logistic", rows("logistic"))
    path = on.path()
    costs = list(path.costs)
    costs[step] *= 1 + 1e-5
    with pytest.raises(ReferenceDataError, match="the rows and the path disagree on the cost of the steps"):
        measure_path.measure_path(on.rows(), on.family, on.path_of(on.betas, path.steps, tuple(costs)))


def test_a_file_that_changed_since_it_was_read_is_found_out(tmp_path):
    on = OnRows("logistic", rows("logistic"))
    on.frame.to_csv(tmp_path / "rows.csv", index=False)
    source = open_source(tmp_path / "rows.csv")
    passes = RowPasses(source, on.plan(), PlainColumns())
    assert measure_path.measure_path(passes, on.family, on.path()).champion_mae > 0
    on.frame.assign(region="elsewhere").to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ReferenceDataError, match=r"'rows\.csv' changed while it was being read"):
        measure_path.measure_path(passes, on.family, on.path())


def test_rows_of_weight_zero_say_nothing():
    frame = rows("logistic")
    frame["w"] = frame["w"].where(frame.index >= 50, 0.0)
    on = OnRows("logistic", frame, weight="w")
    counted = OnRows("logistic", frame.iloc[50:].reset_index(drop=True), weight="w")
    one, other = (measured(x, 0.5, 0.6, segments=("region",)) for x in (on, counted))
    assert one == other


def test_missing_values_that_are_dropped_are_dropped_in_every_pass():
    frame = rows("poisson")
    frame["e"] = frame["e"].mask(frame.index % 9 == 0)
    whole = OnRows("poisson", frame.dropna().reset_index(drop=True), exposure="e")
    passes = RowPasses(TableSource(frame), whole.plan(missing="drop"), PlainColumns())
    assert measure_path.measure_path(passes, whole.family, whole.path()) == measured(whole)
