"""Sentences that officers stumbled over: class weights, calibration, noise, causes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier

from coordpath_governance import explain_change
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.numbers import difference
from coordpath_governance.reports.summary import trained_with
from coordpath_governance.verification.verify import verify_report

BALANCED = "class_weight='balanced'"


def loans(seed, n=1500, intercept=-2.2):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    chance = 1 / (1 + np.exp(-(intercept + 0.3 * frame["a"])))
    return frame.assign(y=np.where(rng.random(n) < chance, "bad", "good"))


def fitted(seed, **options):
    rows = loans(seed)
    return LogisticRegression(**options).fit(rows[["a", "b"]], rows["y"])


def odds(intercept, slope=0.3):
    facts = {"family": "binomial", "link": "logit", "classes": ("bad", "good"), "threshold": 0.5}
    return LinearModel(intercept, (NumericTerm("a", slope), NumericTerm("b", 0.1)), **facts)


def explained(old, new, frame=None, **options):
    frame = loans(3) if frame is None else frame
    report = explain_change(old, new, data=frame, target="y", **options)
    assert verify_report(report).passed
    return report.document


def said(document):
    return " ".join(document.summary.sentences).replace("\u00a0", " ")


def test_class_weights_are_named_as_the_cause_of_probabilities_that_are_off():
    document = explained(fitted(1), fitted(2, class_weight="balanced"))
    candidate = document.impact.candidate.classes[0]
    told = f"The candidate expected {100 * candidate.expected:.1f} %, observed {100 * candidate.observed:.1f} % (bad)."
    assert told in said(document)
    cause = f"The likely cause: the candidate was trained with {BALANCED}, which shifts its probabilities."
    assert cause in document.summary.sentences
    assert "The champion expected" not in said(document)


def test_where_both_are_worse_than_a_constant_the_target_is_not_blamed():
    document = explained(fitted(1, class_weight="balanced"), fitted(2, class_weight="balanced"))
    worse = (
        "Both versions predict these data worse than the best constant would; the likely cause: both were trained with "
        f"{BALANCED}, which shifts their probabilities."
    )
    assert worse in document.summary.sentences
    assert worse in document.limits
    assert "check that the target column is right" not in said(document) + " ".join(document.limits)


def test_without_class_weights_the_target_is_asked_about():
    document = explained(odds(-2.0), odds(-2.5))
    assert "check that the target column is right" in said(document)
    assert "cause" not in said(document).replace("nothing about causes", "")


def test_labels_that_are_swapped_are_asked_about_whatever_the_weights():
    frame = loans(3, intercept=0.0)
    swapped = frame.assign(y=np.where(frame["y"] == "bad", "good", "bad"))
    models = (fitted(1, class_weight="balanced"), fitted(2, class_weight="balanced"))
    document = explained(*models, swapped)
    assert max(document.impact.champion.auc, document.impact.candidate.auc) < 0.5
    assert "its labels are not swapped" in said(document)


def mostly_bad(seed=0, n=1500):
    """Another column than the models predict: nearly always the class that is rare in training."""
    frame = loans(3, n)
    return frame.assign(y=np.where(np.random.default_rng(seed).random(n) < 0.97, "bad", "good"))


def test_class_weights_of_one_version_are_no_reason_why_both_are_off():
    """The champion has none, so the target may be the wrong one, whatever the candidate was trained with."""
    document = explained(fitted(1), fitted(2, class_weight="balanced"), mostly_bad())
    worse = "Both versions predict these data worse than the best constant would: check that the target column is right"
    for told in (document.summary.sentences, document.limits):
        (sentence,) = [each for each in told if each.startswith("Both versions predict")]
        assert sentence.startswith(worse)


def test_balanced_weights_do_not_explain_a_share_that_is_farther_from_one_half():
    """They draw what is expected towards one half: 49 % of 3 % is theirs, 10 % of 27 % is not."""
    balanced = {"regularisation": {"kind": "ridge", "class_weight": "balanced"}}
    away = explained(odds(2.2), replace(odds(2.1), **balanced), loans(3, intercept=-1.0))
    assert "The candidate expected 11" in said(away)
    assert "class_weight" not in said(away)
    towards = explained(odds(2.2), replace(odds(0.1), **balanced), loans(3))
    assert "The likely cause: the candidate was trained with class_weight='balanced'" in said(towards)


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_a_calibration_undoes_class_weights(threshold):
    """The sigmoid is fitted on rows that all count alike, so weights within shift no probability."""

    def calibrated(seed, **options):
        rows = loans(seed)
        model = CalibratedClassifierCV(LogisticRegression(**options), ensemble=False, cv=3)
        if threshold is not None:
            model = FixedThresholdClassifier(model, threshold=threshold)
        return model.fit(rows[["a", "b"]], rows["y"])

    document = explained(calibrated(1), calibrated(2, class_weight="balanced"), mostly_bad())
    assert "The candidate expected" in said(document)
    assert "class_weight" not in said(document) + " ".join(document.limits)
    assert "check that the target column is right" in said(document)


def test_a_first_version_is_one_version():
    document = explained(None, fitted(2, class_weight="balanced"))
    cause = "the candidate was trained with class_weight='balanced', which shifts its probabilities."
    worse = f"The candidate predicts these data worse than the best constant would; the likely cause: {cause}"
    assert worse in document.summary.sentences
    assert worse in document.limits
    document = explained(None, fitted(2), mostly_bad())
    assert "The candidate predicts these data worse than the best constant would: check that the" in said(document)
    assert "Both versions predict" not in said(document) + " ".join(document.limits)


def test_a_first_linear_version_is_one_version_too():
    frame = loans(3).assign(y=np.linspace(10.0, 12.0, 1500))
    document = explained(None, LinearModel(90.0, (NumericTerm("a", 1.0),)), frame)
    assert "The candidate predicts these data worse than their mean would: check that the target column is" in said(document)


@pytest.mark.parametrize(("intercept", "is_told"), [(2.2, False), (2.0, False), (1.4, True), (3.0, True)])
def test_the_rarer_class_is_compared_where_it_is_far_off(intercept, is_told):
    """Of 90 % of "good" 85 % are near, and of 10 % of "bad" 15 % are not."""
    document = explained(odds(2.2), odds(intercept))
    assert ("The candidate expected " in said(document)) == is_told


def test_a_few_rows_are_no_evidence():
    frame = loans(3, n=30)
    document = explained(odds(2.2), odds(3.0), frame)
    assert "expected" not in said(document)


def test_versions_are_called_by_their_names():
    weights = ("class_weight='balanced'", None)
    assert (
        trained_with(weights, ("v1", "v2")) == "v1 was trained with class_weight='balanced', which shifts its probabilities"
    )
    both = ("class_weight='balanced'", "class weights given for each class")
    assert trained_with(both).startswith("the champion was trained with class_weight='balanced' and the candidate was ")


@pytest.mark.parametrize(
    ("delta", "error", "text"),
    [
        (5.4e-5, 3.2e-4, "+0.0001 ± 0.0003"),
        (-0.012, 0.031, "−0.01 ± 0.03"),
        (1.2e-5, 3.2e-4, "0.0000 ± 0.0003"),
        (3.0, 8.0, "+3 ± 8"),
        (30.0, 80.0, "+30.0 ± 80.0"),
        (0.5, 0.1, "+0.500 ± 0.100"),
        (0.5, None, "+0.500"),
        (0.0, 0.0, "0"),
        (1e-9, 1e-9, "(+1.00 ± 1.00)×10⁻⁹"),
    ],
)
def test_a_difference_within_noise_has_no_more_digits_than_its_error(delta, error, text):
    assert difference(delta, error).replace("\u00a0", " ") == text


def test_what_is_left_over_says_that_it_is_noise():
    rng = np.random.default_rng(4)
    names = [f"x{i}" for i in range(6)]
    frame = pd.DataFrame(rng.normal(size=(300, 6)), columns=names)
    frame["y"] = frame["x0"] + rng.normal(size=300)
    old = LinearModel(0.0, tuple(NumericTerm(name, 0.01) for name in names))
    new = LinearModel(0.0, tuple(NumericTerm(name, 1.0 if name == "x0" else 0.0101) for name in names))
    document = explained(old, new, frame, max_steps=1)
    assert "together change it by" in said(document)
    assert "which is within noise" in said(document)


def test_the_order_is_proved_on_these_rows_and_not_a_cause():
    document = explained(odds(2.2), odds(2.0, 0.5))
    proved = [each for each in document.summary.sentences if "(proved)" in each]
    assert len(proved) == 1
    assert proved[0].endswith("more accurate on these rows (proved); it says nothing about causes.")
    assert "models' own coding" not in said(document)
