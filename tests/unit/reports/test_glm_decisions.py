"""Decisions in reports on classifiers and rates: each version's own threshold, or one that is asked for."""

import pytest
from helpers.glm_cases import (
    HOLDOUT,
    INPUTS,
    fitted,
    rows,
)
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from coordpath_governance import explain_change
from coordpath_governance.errors import UsageError
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.verification.verify import verify_report


def decisions(model, frame):
    return model.predict(frame[INPUTS]) == "yes"


def fixed(model, threshold):
    return FixedThresholdClassifier(model, threshold=threshold).fit(rows(1)[INPUTS], rows(1)["default"])


def tuned(model):
    """Its threshold chosen on rows that the model was not fitted to."""
    wrapped = TunedThresholdClassifierCV(model, cv="prefit", refit=False, scoring="balanced_accuracy")
    return wrapped.fit(rows(1)[INPUTS], rows(1)["default"])


def test_each_version_decides_at_its_own_threshold():
    frame = rows(HOLDOUT)
    old, new = fixed(fitted("logistic", 1), 0.35), tuned(fitted("logistic", 2))
    document = explain_change(old, new, data=frame, target="default").document
    flips = document.impact.flips
    before, after = decisions(old, frame), decisions(new, frame)
    assert (flips.champion_threshold, flips.threshold) == (0.35, pytest.approx(new.best_threshold_))
    assert (flips.up, flips.down) == (pytest.approx((after & ~before).mean()), pytest.approx((before & ~after).mean()))
    assert [step.feature for step in flips.steps] == [*(step.feature for step in document.path.steps), "(threshold)"]
    early = new.predict_proba(frame[INPUTS])[:, 1] >= 0.35
    last = flips.steps[-1]
    assert (last.up, last.down) == (pytest.approx((after & ~early).mean()), pytest.approx((early & ~after).mean()))
    net = sum(step.up - step.down for step in flips.steps)
    assert net == pytest.approx(flips.up - flips.down)
    assert document.settings.threshold is None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, (None, 0.5)),
        ({"threshold": 0.4}, (None, 0.4)),
        ({"champion_threshold": 0.3}, (0.3, 0.5)),
        ({"threshold": 0.4, "champion_threshold": 0.3}, (0.3, 0.4)),
        ({"threshold": 0.4, "champion_threshold": 0.4}, (None, 0.4)),
    ],
)
def test_thresholds_that_are_asked_for_go_before_the_models_own(asked, expected):
    frame = rows(HOLDOUT)
    old, new = fitted("logistic", 1), fitted("logistic", 2)
    report = explain_change(old, new, data=frame, target="default", **asked)
    flips = report.document.impact.flips
    assert (flips.champion_threshold, flips.threshold) == expected
    before = old.predict_proba(frame[INPUTS])[:, 1] >= (expected[0] or expected[1])
    after = new.predict_proba(frame[INPUTS])[:, 1] >= expected[1]
    assert flips.up + flips.down == pytest.approx((before != after).mean())
    assert (flips.steps[-1].feature == "(threshold)") == (expected[0] is not None)
    assert verify_report(report).passed


def test_a_threshold_that_moves_alone_is_a_change_of_decisions():
    model = fitted("logistic", 1)
    report = explain_change(model, fixed(model, 0.3), data=rows(HOLDOUT), target="default")
    flips = report.document.impact.flips
    assert report.document.path.steps == ()
    assert [step.feature for step in flips.steps] == ["(threshold)"]
    assert flips.up > 0
    assert flips.down == 0
    assert verify_report(report).passed


def test_rates_have_a_threshold_only_if_one_is_given():
    arguments = {"data": rows(HOLDOUT), "target": "claims", "exposure": "years"}
    old, new = fitted("poisson", 1), fitted("poisson", 2)
    assert explain_change(old, new, **arguments).document.impact.flips is None
    flips = explain_change(old, new, **arguments, threshold=0.8).document.impact.flips
    frame = rows(HOLDOUT)
    before, after = (model.predict(frame[INPUTS]) >= 0.8 for model in (old, new))
    assert flips.up + flips.down == pytest.approx((before != after).mean())


@pytest.mark.parametrize(
    ("models", "asked", "says"),
    [
        ("linear", {"target": "age", "threshold": 0.1, "champion_threshold": 0.2}, "no place in a gaussian model"),
        ("multinomial", {"target": "grade", "champion_threshold": 0.2}, "decides for the most probable one"),
        ("poisson", {"target": "claims", "champion_threshold": 0.2}, "give --threshold too"),
    ],
)
def test_a_threshold_of_the_champion_without_any_use_is_refused(models, asked, says):
    made = {"linear": (LinearModel(0.0, (NumericTerm("debt", 1.0),)), LinearModel(0.0, (NumericTerm("debt", 2.0),)))}
    old, new = made.get(models) or (fitted(models, 1), fitted(models, 2))
    with pytest.raises(UsageError, match=says):
        explain_change(old, new, data=rows(HOLDOUT), **asked)
