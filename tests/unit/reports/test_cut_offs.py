"""Cut-offs that name their class: decisions as scikit-learn makes them, counted in rows, and what a report asks of them."""

import numpy as np
import pandas as pd
import pytest
from helpers.glm_cases import HOLDOUT, INPUTS, fitted, rows
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier

from coordpath_governance import explain_change
from coordpath_governance.errors import ReportFormatError, UsageError
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.numbers import complement
from coordpath_governance.reference.decisions import CutOff
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import document_digest
from coordpath_governance.verification.verify import verify_report

CLASSES = ("bad", "good")


def score(intercept, slope, threshold=0.5, classes=CLASSES, also=0.0):
    """P(good) = 1/(1 + e^−(intercept + slope·a + also·b))."""
    facts = {"family": "binomial", "link": "logit", "classes": classes, "threshold": threshold}
    return LinearModel(intercept, (NumericTerm("a", slope), NumericTerm("b", also)), **facts)


def sample(n=400, **columns):
    rng = np.random.default_rng(11)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "y": rng.choice(CLASSES, n)} | columns)


def good(model, frame):
    slopes = [term.coefficient for term in model.numeric]
    return 1.0 / (1.0 + np.exp(-(model.intercept + frame[["a", "b"]].to_numpy() @ slopes)))


def explained(old, new, frame, **asked):
    return explain_change(old, new, data=frame, target="y", **asked)


OLD, NEW = score(2.4, 0.5), score(2.5, 0.4, also=0.5)


@pytest.mark.parametrize("named", CLASSES)
def test_decisions_are_made_for_the_class_that_is_named(named):
    frame = sample()
    report = explained(OLD, NEW, frame, threshold=0.2, threshold_class=named)
    before, after = (p if named == "good" else 1.0 - p for p in (good(OLD, frame), good(NEW, frame)))
    before, after = before >= 0.2, after >= 0.2
    flips = report.document.impact.flips
    assert (flips.threshold, flips.threshold_class, flips.champion_threshold) == (0.2, named, None)
    assert (flips.rows_up, flips.rows_down) == ((after & ~before).sum(), (before & ~after).sum())
    assert (flips.up, flips.down) == pytest.approx(((after & ~before).mean(), (before & ~after).mean()))
    assert (flips.champion_yes, flips.candidate_yes) == pytest.approx((before.mean(), after.mean()))
    assert report.document.settings.threshold_class == named
    assert verify_report(report).passed


def test_the_other_class_gives_another_answer():
    frame = sample()
    shares = [explained(OLD, NEW, frame, threshold=0.2, threshold_class=c).document.impact.flips for c in CLASSES]
    assert shares[0].rows_up + shares[0].rows_down > 10 * (shares[1].rows_up + shares[1].rows_down)


@pytest.mark.parametrize("named", ["no", "yes"])
@pytest.mark.parametrize("threshold", [0.2, 0.37])
def test_decisions_are_those_of_scikit_learn(named, threshold):
    frame, models = rows(HOLDOUT), [fitted("logistic", seed) for seed in (1, 2)]
    kept = [FrozenEstimator(model) for model in models]
    fixed = [FixedThresholdClassifier(each, threshold=threshold, pos_label=named) for each in kept]
    before, after = (each.fit(frame[INPUTS], frame["default"]).predict(frame[INPUTS]) == named for each in fixed)
    asked = {"threshold": threshold, "threshold_class": named}
    flips = explain_change(*models, data=frame, target="default", **asked).document.impact.flips
    assert (flips.rows_up, flips.rows_down) == ((after & ~before).sum(), (before & ~after).sum())


@pytest.mark.parametrize("value", [0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
def test_a_row_at_the_cut_off_is_decided_as_numpy_does(value):
    """1 − t for the other class would lose rows at the cut-off, or let rows in."""
    near = np.array([np.nextafter(value, 0), value, np.nextafter(value, 1), complement(value), 1.0 - value, 0.0, 1.0])
    assert (~CutOff(value, of_first=True).decided(near) == (1.0 - near >= value)).all()
    assert (CutOff(value).decided(near) == (near >= value)).all()


def test_rows_exactly_at_one_half_are_decided_for_the_class_that_is_named():
    frame = pd.DataFrame({"a": [0.0] * 60 + [1.0] * 60, "b": 0.0, "y": [*CLASSES] * 60})
    old, new = score(0.0, 0.0), score(0.5, 1.0)
    for named, changed in (("bad", (0, 120)), ("good", (0, 0))):
        flips = explained(old, new, frame, threshold=0.5, threshold_class=named).document.impact.flips
        assert (flips.rows_up, flips.rows_down) == changed
        assert flips.champion_yes == 1.0


def test_flips_are_told_by_direction_in_counts():
    frame = sample()
    told = explained(OLD, NEW, frame, threshold=0.2, threshold_class="bad").document
    up, down = told.impact.flips.rows_up, told.impact.flips.rows_down
    assert min(up, down) > 0
    first, second = (f"{up} of 400 change from good to bad", f"{down} from bad to good")
    if down > up:
        first, second = (f"{down} of 400 change from bad to good", f"{up} from good to bad")
    assert f"At the cut-off P(bad) ≥ 0.2, {first}, {second}." in told.summary.sentences


def test_one_direction_alone_and_no_change_at_all():
    frame = sample()
    asked = {"threshold": 0.7, "threshold_class": "good"}
    told = explained(OLD, score(1.8, 0.5), frame, **asked).document
    said = (
        f"At the cut-off P(good) ≥ 0.7, {told.impact.flips.rows_down} of 400 change from good to bad, none from bad to good."
    )
    assert said in told.summary.sentences
    told = explained(OLD, score(2.4, 0.5001), frame, **asked).document
    assert "At the cut-off P(good) ≥ 0.7, none of 400 decisions changes." in told.summary.sentences


def test_with_weights_rows_are_counted_and_shares_stay():
    frame = sample(w=np.linspace(0.5, 3.0, 400))
    also = "by weight) from"
    report = explained(OLD, NEW, frame, threshold=0.2, threshold_class="bad", weight="w")
    flips = report.document.impact.flips
    before, after = (1.0 - good(model, frame) >= 0.2 for model in (OLD, NEW))
    assert flips.rows_down == (before & ~after).sum()
    assert flips.down == pytest.approx(frame["w"][before & ~after].sum() / frame["w"].sum())
    said = next(each for each in report.document.summary.sentences if "cut-off" in each).replace("\u00a0", " ")
    for count, share in ((flips.rows_up, flips.up), (flips.rows_down, flips.down)):
        assert (
            f"{count} of 400 ({100 * share:.2f} % by weight) change" in said
            or f"{count} ({100 * share:.2f} % {also}" in said
        )
    assert verify_report(report).passed


def test_nearly_all_on_one_side_is_asked_about():
    frame = sample()
    asked_for = {"threshold": 0.2, "threshold_class": "good"}
    told = explained(score(4.0, 0.2), score(4.2, 0.2), frame, **asked_for).document.summary.sentences
    asked = [each for each in told if each.endswith("is P(good) ≥ 0.2 the cut-off in use?")]
    assert asked == ["Both versions decide for good in all rows: is P(good) ≥ 0.2 the cut-off in use?"]
    told = explained(score(-4.0, 0.2), score(-4.2, 0.2), frame, **asked_for).document.summary.sentences
    assert any("decide for bad in all rows" in each for each in told)
    told = explained(score(2.4, 1.5), score(2.5, 1.5), frame, **asked_for).document
    shares = [1 - told.impact.flips.champion_yes, 1 - told.impact.flips.candidate_yes]
    assert 0 < max(shares) <= 0.01
    (said,) = [each for each in told.summary.sentences if "in use?" in each]
    assert said.startswith(f"Both versions decide for good in all but {100 * shares[0]:.2f}\u00a0%")
    told = explained(OLD, NEW, frame, threshold=0.9, threshold_class="good").document.summary.sentences
    assert not any("in use?" in each for each in told)


def test_one_version_alone_on_one_side_is_not_asked_about():
    frame = sample()
    told = explained(score(4.0, 0.2), OLD, frame, threshold=0.9, threshold_class="good").document.summary.sentences
    assert not any("in use?" in each for each in told)


def test_a_threshold_without_a_class_is_asked_about():
    told = explained(OLD, NEW, sample(), threshold=0.2).document.summary.sentences
    assert any(each.startswith("At the cut-off P(good) ≥ 0.2, ") for each in told)
    assert "Nobody said of which class the cut-off is a probability; P(good) was taken: was P(bad) meant?" in told
    own = explained(OLD, NEW, sample()).document.summary.sentences
    assert any(each.startswith("At the cut-off P(good) ≥ 0.5, ") for each in own)
    assert not any("Nobody said" in each for each in own)


@pytest.mark.parametrize(
    ("asked", "thresholds"),
    [
        ({"champion_threshold": 0.3}, (0.3, 0.6)),
        ({"champion_threshold": 0.3, "threshold": 0.2}, (0.3, 0.2)),
        ({"champion_threshold": 0.6}, (None, 0.6)),
    ],
)
def test_a_champions_own_threshold_is_of_the_same_class(asked, thresholds):
    """The candidate's own 0.4 of good is 0.6 of bad."""
    frame = sample()
    old, new = score(1.0, 0.9, 0.5), score(0.8, 1.4, 0.4)
    report = explained(old, new, frame, threshold_class="bad", **asked)
    flips = report.document.impact.flips
    assert (flips.champion_threshold, flips.threshold) == thresholds
    before = 1.0 - good(old, frame) >= asked["champion_threshold"]
    after = 1.0 - good(new, frame) >= asked["threshold"] if "threshold" in asked else good(new, frame) < 0.4
    assert (flips.rows_up, flips.rows_down) == ((after & ~before).sum(), (before & ~after).sum())
    assert verify_report(report).passed


def test_own_thresholds_are_compared_on_the_scale_of_the_class():
    """0.8 of good is 0.2 of bad: nothing is hidden there."""
    old, new = score(1.0, 0.9, 0.8), score(0.8, 1.4, 0.8)
    told = explained(old, new, sample(), threshold=0.2, threshold_class="bad").document.summary.sentences
    assert not any("own threshold" in each for each in told)
    told = explained(old, new, sample(), threshold=0.2, threshold_class="good").document.summary.sentences
    assert "The versions' own threshold is 0.8; decisions were counted at 0.2, as asked." in told


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"threshold": 0.2, "threshold_class": "ugly"}, "of the class 'ugly', but the models' classes are 'bad' and 'good'"),
        ({"threshold_class": "bad"}, "there is none; give --threshold too"),
        ({"threshold": 0.2, "threshold_class": " "}, "is not the name of a class"),
        ({"threshold": 0.2, "threshold_class": 1}, "is not the name of a class"),
    ],
)
def test_a_class_that_cannot_be_meant_is_refused(asked, says):
    with pytest.raises(UsageError, match=says):
        explained(OLD, NEW, sample(), **asked)


@pytest.mark.parametrize(
    ("kind", "target", "says"),
    [
        ("poisson", "claims", "predict no class's probability"),
        ("multinomial", "grade", "leave threshold and class out"),
    ],
)
def test_a_class_where_none_is_predicted_is_refused(kind, target, says):
    old, new = fitted(kind, 1), fitted(kind, 2)
    with pytest.raises(UsageError, match=says):
        explain_change(old, new, data=rows(HOLDOUT), target=target, threshold=0.2, threshold_class="a")


def test_a_class_of_a_linear_model_is_refused():
    old, new = (LinearModel(0.0, (NumericTerm("a", slope),)) for slope in (1.0, 2.0))
    frame = sample().assign(y=np.arange(400.0))
    with pytest.raises(UsageError, match="predict no class's probability"):
        explained(old, new, frame, threshold=0.2, threshold_class="bad")


def test_a_linear_models_threshold_needs_no_class():
    old, new = (LinearModel(0.0, (NumericTerm("a", slope),)) for slope in (1.0, 2.0))
    report = explained(old, new, sample().assign(y=np.arange(400.0)), threshold=1.0)
    flips = report.document.impact.flips
    assert flips.rows_up > 0
    said = " ".join(report.document.summary.sentences)
    assert f"At the threshold 1, {flips.rows_up} of 400 change from below it to at or above it, none from at or" in said
    assert verify_report(report).passed


def changed(report, **flips):
    """The same report with other flips, in the impact and in what the rows say, under a digest that fits."""
    document = report.document
    other = document.impact.flips.model_copy(update=flips)
    document = document.model_copy(
        update={
            "impact": document.impact.model_copy(update={"flips": other}),
            "rows": document.rows.model_copy(update={"flips": other}),
        }
    )
    return ChangeReport(document.model_copy(update={"digest": document_digest(document)}))


@pytest.mark.parametrize(
    ("forged", "says"),
    [
        ({"rows_up": 0}, "rows_up: is not the share of the rows"),
        ({"rows_up": 399, "rows_down": 399}, "are more than the rows of the data"),
        ({"champion_yes": 0.5}, "candidate_yes: is not what the flips make of champion_yes"),
        ({"rows_up": None}, "are not as reports of this edition count them"),
        ({"candidate_yes": None}, "are not as reports of this edition count them"),
        ({"threshold_class": "good"}, "not for the thresholds"),
        ({"threshold_class": None}, "not for the thresholds"),
    ],
)
def test_forged_counts_are_found(forged, says):
    report = explained(OLD, NEW, sample(), threshold=0.2, threshold_class="bad")
    try:
        findings = [finding for check in verify_report(changed(report, **forged)).checks for finding in check.findings]
    except ReportFormatError as error:
        findings = [str(error)]
    assert any(says in finding for finding in findings), findings


def test_what_follows_from_rows_is_rechecked_on_the_rows(tmp_path):
    frame = sample()
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    report = explain_change(OLD, NEW, data=path, target="y", threshold=0.2, threshold_class="bad")
    assert verify_report(report, path).passed
    yes = report.document.impact.flips.champion_yes, report.document.impact.flips.candidate_yes
    forged = changed(report, champion_yes=yes[0] - 0.01, candidate_yes=yes[1] - 0.01)
    assert verify_report(forged).checks[3].passed
    assert not verify_report(forged, path).passed
