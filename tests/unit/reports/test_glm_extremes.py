"""Reports on models that are hardly models, and on few, odd or very many figures: told as they are, or refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.glm_cases import (
    HOLDOUT,
    fitted,
    logit,
    rows,
)
from pydantic import ValidationError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mean_tweedie_deviance

from coordpath_governance import explain_change
from coordpath_governance.errors import AlignmentError, ProblemError
from coordpath_governance.models import from_estimator
from coordpath_governance.models.linear_model import CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.reports import make
from coordpath_governance.reports.document import Tool
from coordpath_governance.reports.steps import _brackets
from coordpath_governance.verification.verify import verify_report


def test_a_model_worse_than_a_constant_is_told_so():
    old, new = logit(0.5, age=-4.0, debt=4.0), logit(0.5, age=-5.0, debt=4.0)
    report = explain_change(old, new, data=rows(HOLDOUT), target="default")
    assert report.document.impact.candidate.explained < 0
    assert any("worse than the best constant" in text for text in report.document.limits)
    assert verify_report(report).passed


def test_labels_that_are_swapped_are_asked_about():
    frame = rows(HOLDOUT)
    fit = LogisticRegression().fit(frame[["age", "debt"]], frame["default"])
    old, new = (logit(0.0, age=size * fit.coef_[0, 0], debt=size * fit.coef_[0, 1]) for size in (2.0, 3.0))
    asked = "check that the target column is right and its labels are not swapped."
    right = explain_change(old, new, data=frame, target="default").document.summary
    assert not any(asked in sentence for sentence in right.sentences)
    swapped = frame.assign(default=frame["default"].map({"yes": "no", "no": "yes"}))
    report = explain_change(old, new, data=swapped, target="default")
    assert any(asked in sentence for sentence in report.document.summary.sentences)
    assert verify_report(report).passed


def test_a_segment_of_amounts_is_no_segment():
    report = explain_change(
        logit(0.1, age=0.2), logit(0.2, age=0.3), data=rows(HOLDOUT), target="default", segments=["debt"]
    )
    remark = "No value of the segment 'debt' has 10 rows, so it tells nothing: name a column of bands instead."
    assert remark in report.document.limits
    assert verify_report(report).passed
    by_region = explain_change(logit(0.1), logit(0.2), data=rows(HOLDOUT), target="default", segments=["region"])
    assert not any("bands" in text for text in by_region.document.limits)


def test_a_first_version_is_not_compared_with_what_it_was_explained_from():
    arguments = {"data": rows(HOLDOUT), "target": "claims", "exposure": "years"}
    assert not any(
        "observed" in text for text in explain_change(None, fitted("poisson", 1), **arguments).document.summary.sentences
    )
    off = explain_change(None, replace(from_estimator(fitted("poisson", 1)), intercept=3.0), **arguments)
    (sentence,) = [text for text in off.document.summary.sentences if "observed" in text]
    assert sentence.startswith("It predicts ")
    assert sentence.endswith("times what was observed: check exposure and weight.")


def test_classes_of_which_one_weighs_next_to_nothing(tmp_path):
    frame = rows(HOLDOUT).assign(weight=lambda each: np.where(each["default"] == "no", 1e-9, 1.0))
    frame.to_parquet(tmp_path / "rows.parquet")
    old, new = logit(3.0, age=0.1), logit(3.0, age=0.5)
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="default", weight="weight")
    assert verify_report(report, tmp_path / "rows.parquet").conclusion.startswith("verified against the data; ")


@pytest.mark.parametrize("size", [150.0, 500.0, 5e4, 1e100])
def test_scores_far_from_zero_are_measured(size):
    """A logistic loss is at most linear in the score, so nothing overflows."""
    frame = rows(HOLDOUT)
    old, new = logit(1.0, age=size), logit(2.0, age=-size)
    report = explain_change(old, new, data=frame, target="default")
    yes = np.where(frame["default"] == "yes", 1.0, -1.0)
    for cost, intercept, slope in (
        (report.document.path.start_cost, 1.0, size),
        (report.document.impact.candidate.cost, 2.0, -size),
    ):
        mean = frame["age"].mean()
        margin = yes * (intercept + slope * mean + slope * (frame["age"] - mean))
        assert cost == pytest.approx(np.logaddexp(0.0, -margin).mean(), rel=1e-9)
    assert verify_report(report).passed


@pytest.mark.parametrize(("size", "error"), [(1e153, ProblemError), (1e300, AlignmentError)])
def test_scores_that_overflow_are_an_error_and_never_no_change(size, error):
    with pytest.raises(error, match="overflow double precision"):
        explain_change(logit(1.0, age=size), logit(1.0, age=-size), data=rows(HOLDOUT), target="default")


def test_a_fault_of_our_own_is_not_called_an_overflow(monkeypatch):
    """A part that is no valid document for another reason than a number that is not finite."""

    def faulty(*_, **__):
        return Tool(version=1)

    monkeypatch.setattr(make, "compose", faulty)
    with pytest.raises(ValidationError):
        explain_change(logit(age=0.1), logit(age=0.2), data=rows(HOLDOUT), target="default")


def rates(name, size):
    """A rate that hardly depends on age, and one that does by far too much."""
    power = {"power": 1.5} if name == "tweedie" else {}
    return (LinearModel(0.0, (NumericTerm("age", s),), family=name, link="log", **power) for s in (0.1, size))


@pytest.mark.parametrize(("name", "target"), [("poisson", "claims"), ("gamma", "cost"), ("tweedie", "loss")])
def test_rates_far_from_one_are_measured_and_those_that_overflow_are_counted(name, target):
    frame = rows(HOLDOUT)
    report = explain_change(*rates(name, 100.0), data=frame, target=target)
    assert report.document.impact.candidate.cost > 1e20
    assert verify_report(report).passed
    with pytest.raises(ProblemError, match=r"overflows double precision for \d+ rows"):
        explain_change(*rates(name, 1e4), data=frame, target=target)


@pytest.mark.parametrize("size", [1e12, 1e15])
def test_changes_that_drown_in_the_scores_of_a_version_that_diverged(size):
    """Beside such scores a change of 0.1 counts as rounding, but not where they are gone."""
    with pytest.raises(
        AlignmentError, match=r"change of 'debt' is lost in the rounding of the champion's scores, which reach \d"
    ):
        explain_change(logit(0.1, age=size, debt=0.2), logit(0.1, age=0.3, debt=0.1), data=rows(HOLDOUT), target="default")
    report = explain_change(
        logit(0.1, age=1e6, debt=0.2), logit(0.1, age=0.3, debt=0.1), data=rows(HOLDOUT), target="default"
    )
    assert "debt" in [step.feature for step in report.document.path.steps]


def test_one_coefficient_of_a_few():
    old, new = logit(0.1, age=0.4, debt=-0.5), logit(0.1, age=0.4, debt=-0.7)
    report = explain_change(old, new, data=rows(HOLDOUT), target="default")
    assert {step.feature for step in report.document.path.steps} <= {"debt", "(baseline)"}
    assert verify_report(report).passed
    centred = rows(HOLDOUT).assign(debt=rows(HOLDOUT)["debt"] - rows(HOLDOUT)["debt"].mean())
    document = explain_change(old, new, data=centred, target="default").document
    assert document.counts.changed >= 1


def test_twenty_rows_and_a_level_that_only_one_class_has():
    frame = rows(HOLDOUT)[["age", "town"]].iloc[:20].copy()
    frame["town"] = ["Ayr"] * 10 + ["Bath"] * 10
    frame["default"] = ["yes"] * 10 + ["no", "yes"] * 5
    effects = CategoricalTerm("town", ("Ayr", "Bath"), (2.0, 0.0), unknown=0.0)
    old = logit(0.1, age=0.2)
    new = LinearModel(0.1, (NumericTerm("age", 0.3),), (effects,), family="binomial", link="logit", classes=("no", "yes"))
    report = explain_change(old, new, data=frame, target="default")
    assert report.document.path.minimum_cost < report.document.impact.candidate.cost
    assert report.document.path.status == "optimal"
    assert verify_report(report).passed


def test_weights_count_rows_and_zeros_leave_them_out():
    """Whole weights are the same as repeated rows; a row with weight zero may even be one the models cannot score."""
    frame = rows(HOLDOUT)
    repeated = frame.loc[frame.index.repeat(frame["weight"].astype(int))]
    old, new = fitted("logistic", 1), fitted("logistic", 2)
    weighed = explain_change(old, new, data=frame, target="default", weight="weight").document
    plain = explain_change(old, new, data=repeated, target="default").document
    assert weighed.path.objective == pytest.approx(plain.path.objective, rel=1e-9)
    assert [step.feature for step in weighed.path.steps] == [step.feature for step in plain.path.steps]
    assert weighed.impact.candidate.auc == pytest.approx(plain.impact.candidate.auc, abs=1e-9)
    assert weighed.data.weight_sum == len(repeated)


def test_versions_of_different_powers_are_judged_by_the_candidates():
    frame = rows(HOLDOUT)
    old, new = (
        LinearModel(0.0, (NumericTerm("age", 0.1 * power),), family="tweedie", link="log", power=power)
        for power in (1.2, 1.7)
    )
    report = explain_change(old, new, data=frame, target="loss")
    for cost, slope in ((report.document.path.start_cost, 0.12), (report.document.impact.candidate.cost, 0.17)):
        expected = mean_tweedie_deviance(frame["loss"], np.exp(slope * frame["age"]), power=1.7)
        assert cost == pytest.approx(expected, abs=1e-9)
    assert any("different Tweedie powers" in text for text in report.document.limits)
    assert verify_report(report).passed


def test_a_constant_target_leaves_nothing_to_explain():
    old, new = (LinearModel(0.0, (NumericTerm("age", s),), family="gamma", link="log") for s in (0.1, 0.2))
    arguments = {"data": rows(HOLDOUT).assign(cost=1.0), "target": "cost"}
    assert verify_report(explain_change(LinearModel(0.0, family="gamma", link="log"), old, **arguments)).passed
    report = explain_change(old, new, **arguments)
    assert report.document.impact.candidate.explained is None
    assert report.document.impact.candidate.gini is None
    assert any("without any error" in text for text in report.document.limits)
    assert verify_report(report).passed


@pytest.mark.parametrize("part", [1e-3, 1e-6, 1e-8])
def test_the_smallest_changes_are_verified_too(part, tmp_path):
    """What a step contributes to a gain of 1e-9 is known to a few digits only, and the rows are added up anew."""
    rows(HOLDOUT).to_parquet(tmp_path / "rows.parquet")
    slopes = {"age": 0.4, "debt": -0.3}
    old = logit(0.1, **slopes)
    new = logit(0.1 - part, **{name: slope * (1 + (i + 1) * part) for i, (name, slope) in enumerate(slopes.items())})
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="default")
    assert len(report.document.path.steps) == 3
    assert abs(report.document.impact.delta) < part
    assert verify_report(report, tmp_path / "rows.parquet").conclusion.startswith("verified against the data; ")


@pytest.mark.parametrize("part", [1e-2, 1e-6, 1e-7, 1e-9])
def test_the_smallest_changes_of_many_coefficients_are_verified_too(part, tmp_path):
    """The curvature that was recorded is close to the one for any cut, and still another."""
    rng = np.random.default_rng(8)
    names = [f"x{i}" for i in range(24)]
    frame = pd.DataFrame(rng.normal(size=(300, 24)), columns=names).assign(default=rng.choice(["no", "yes"], 300))
    frame.to_parquet(tmp_path / "rows.parquet")
    slopes, moves = 0.3 * rng.normal(size=24), part * rng.normal(size=24)
    old, new = (logit(0.1, **dict(zip(names, each, strict=True))) for each in (slopes, slopes + moves))
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="default")
    assert len(report.document.path.steps) == 11
    assert verify_report(report, tmp_path / "rows.parquet").conclusion.startswith("verified against the data; ")


def test_columns_far_from_zero_that_nothing_centres(tmp_path):
    """Beside a mean of 100 a spread of a thousandth is lost in the squares."""
    frame = rows(HOLDOUT).assign(age=100.0 + 1e-3 * rows(HOLDOUT)["age"])
    frame.to_parquet(tmp_path / "rows.parquet")
    old, new = (
        LinearModel(0.0, (NumericTerm("age", a), NumericTerm("debt", d)), has_intercept=False, family="poisson", link="log")
        for a, d in ((0.001, 0.3), (0.002, 0.1))
    )
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="claims")
    assert verify_report(report, tmp_path / "rows.parquet").conclusion.startswith("verified against the data; ")


def test_a_handful_of_rows_that_count(tmp_path):
    """Too few for a tenth of them to be told, and weights whose sums depend on the order of adding."""
    frame = rows(HOLDOUT)[["age", "debt"]].iloc[:6]
    frame = pd.concat([frame.assign(default="yes"), frame.assign(default="no")])
    frame["weight"] = [0.0, 0.0, 0.1, 0.2, 0.3, 0.7] * 2
    frame.to_parquet(tmp_path / "rows.parquet")
    old, new = logit(0.1, threshold=0.5, age=0.2), logit(0.2, threshold=0.5, debt=-0.3)
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="default", weight="weight")
    assert report.document.data.rows == 8
    assert report.document.rows.candidate_metrics.calibration == ()
    assert verify_report(report, tmp_path / "rows.parquet").conclusion.startswith("verified against the data; ")


@pytest.mark.parametrize(
    ("costs", "expected"),
    [([5, 5 + 1e-13, 4], [None, None]), ([5, 6, 5 + 1e-13], [1, 1]), ([5, 5 + 1e-11, 4], [1, 1])],
)
def test_what_rounding_does_to_a_cost_is_neither_a_change_for_the_worse_nor_one_to_make_up_for(costs, expected):
    assert _brackets(costs, 1e-12) == expected


def test_an_unchanged_model_that_overflows_is_an_error_too():
    model = LinearModel(0.0, (NumericTerm("age", 1e4),), family="tweedie", link="log", power=1.5)
    with pytest.raises(ProblemError, match="overflows double precision for"):
        explain_change(model, model, data=rows(HOLDOUT), target="loss")


def test_many_coefficients_end_in_all_the_rest(tmp_path):
    rng = np.random.default_rng(4)
    names = [f"x{i}" for i in range(40)]
    frame = pd.DataFrame(rng.normal(size=(400, 40)), columns=names)
    truth = rng.normal(0, 0.3, 40)
    frame["default"] = np.where(rng.random(400) < 1 / (1 + np.exp(-frame[names].to_numpy() @ truth)), "yes", "no")
    old, new = (logit(0.1 * i, **dict(zip(names, truth + rng.normal(0, 0.1, 40), strict=True))) for i in range(2))
    frame.to_parquet(tmp_path / "rows.parquet")
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="default", max_steps=10)
    path = report.document.path
    assert [step.kind for step in path.steps].count("rest") == 1
    assert len(path.steps) == 11
    assert path.status == "optimal" or 1e-6 < path.gap < 0.05
    assert path.lower_bound <= path.objective
    assert verify_report(report, tmp_path / "rows.parquet").conclusion.startswith("verified against the data; ")
    assert len(report.to_html()) < 400_000
