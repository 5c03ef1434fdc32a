"""A policy's threshold names its class: compared, judged, refused when adopting, and never taken for the other one."""

import numpy as np
import pandas as pd
import pytest

from coordpath_governance import explain_change
from coordpath_governance.errors import PolicyError
from coordpath_governance.governance.circumstances import circumstances
from coordpath_governance.governance.pinned import pinned_settings
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.policy.admission import Circumstances, label_objection, remarks, threshold_objections
from coordpath_governance.policy.judge import GateFacts, assess, judge
from coordpath_governance.policy.load import policy_bytes, read_policy
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.verification.verify import verify_report

NOW = "2026-03-01T12:00:00.000000Z"
NAMED = "{value: 0.2, class: bad}"
TEXT = """\
schema: coordpath.policy/1
name: scores
models: [score]
reference: {{sha256: "{sha256}", role: holdout, target: y, threshold: {threshold}, uri: {uri}}}
rules:
  decision_flips: {{overall: 0.05, by_segment: 0.9}}
materiality:
  - class: major
    when: {{decision_flips: 0.04}}
    approvals: [{{role: risk}}]
  - class: minor
"""


def policy(threshold, sha256="0" * 64, uri="null"):
    return read_policy(TEXT.format(threshold=threshold, sha256=sha256, uri=uri), "policy")


def odds(intercept, slope, classes=("bad", "good")):
    facts = {"family": "binomial", "link": "logit", "classes": classes, "threshold": 0.5}
    return LinearModel(intercept, (NumericTerm("a", slope),), **facts)


def explained(**asked):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.normal(size=500), "y": rng.choice(["bad", "good"], 500)})
    return explain_change(odds(1.6, 0.4), odds(1.4, 0.3), data=frame, target="y", **asked).document


def of(judged, rule):
    return next(each for each in judged.results if each.rule == rule)


@pytest.mark.parametrize(
    ("text", "value", "named"),
    [
        ("0.2", 0.2, None),
        (NAMED, 0.2, "bad"),
        ("{class: bad, value: 0.2}", 0.2, "bad"),
        ("{value: 0.2, class: 1}", 0.2, "1"),
        ("{value: 0.2, class: true}", 0.2, "True"),
        ("null", None, None),
    ],
)
def test_a_threshold_is_a_number_or_a_value_with_its_class(text, value, named):
    reference = policy(text).reference
    assert (reference.threshold_value, reference.threshold_class) == (value, named)
    again = read_policy(policy_bytes(policy(text)), "again")
    assert again == policy(text)
    settings = pinned_settings(policy(text))
    assert (settings.threshold, settings.threshold_class) == (value, named)


@pytest.mark.parametrize(
    "text",
    [
        *("{value: 0.2}", "{class: bad}", "{value: 1.0, class: bad}", "{value: 0, class: bad}", "{value: 0.2, class: ''}"),
        *("{value: 0.2, class: bad, of: good}", "{value: 0.2, class: [bad]}", "bad", "{value: '0.2', class: bad}"),
    ],
)
def test_anything_else_is_an_error(text):
    with pytest.raises(PolicyError, match="threshold"):
        policy(text)


def test_a_bare_number_of_a_classifier_is_not_known():
    """P(good) ≥ 0.2 was taken where P(bad) was meant: hardly anything flips there, and the gate passed."""
    document = explained(threshold=0.2)
    assert document.impact.flips.up + document.impact.flips.down < 0.05
    for gate in (None, GateFacts(NOW, NOW)):
        judged = judge(policy("0.2"), document, gate)
        found = of(judged, "decision_flips")
        assert found.result == "unknown"
        assert "reference.threshold: {value: …, class: …}" in found.reason
        assert "bad, good" in found.reason
        assert of(judged, "reference settings").observed == "all as pinned"
        assert judged.verdict != "pass"
        assert judged.materiality == "major"


def test_with_its_class_it_is_judged_there():
    document = explained(threshold=0.2, threshold_class="bad")
    assert document.impact.flips.up + document.impact.flips.down > 0.05
    found = of(judge(policy(NAMED), document), "decision_flips")
    assert found.result == "fail"
    assert "Over its limit" in found.reason


@pytest.mark.parametrize(
    ("pinned", "asked", "says"),
    [
        (NAMED, {"threshold": 0.2}, "class of the threshold"),
        (NAMED, {"threshold": 0.2, "threshold_class": "good"}, "class of the threshold"),
        (NAMED, {"threshold": 0.8, "threshold_class": "good"}, "threshold, class of the threshold"),
        ("0.2", {"threshold": 0.2, "threshold_class": "good"}, "class of the threshold"),
        (NAMED, {}, "threshold, class of the threshold"),
    ],
)
def test_another_class_than_pinned_is_another_setting(pinned, asked, says):
    found = of(judge(policy(pinned), explained(**asked)), "reference settings")
    assert found.result == "fail"
    assert f"other than pinned: {says}" == found.observed


def test_a_report_under_a_named_class_verifies_with_its_verdict():
    assessed = ChangeReport(assess(explained(threshold=0.2, threshold_class="bad"), policy(NAMED)))
    assert verify_report(assessed).passed
    bare = ChangeReport(assess(explained(threshold=0.2), policy("0.2")))
    assert verify_report(bare).passed


def test_a_bare_number_stays_right_where_no_class_is_predicted():
    frame = pd.DataFrame({"a": np.linspace(-2, 2, 200), "y": np.linspace(0, 4, 200)})
    old, new = (LinearModel(2.0, (NumericTerm("a", slope),)) for slope in (1.0, 1.01))
    document = explain_change(old, new, data=frame, target="y", threshold=2.5).document
    assert of(judge(policy("2.5"), document), "decision_flips").result == "unknown"  # for want of segments alone
    assert "Name segments" in of(judge(policy("2.5"), document), "decision_flips").reason
    assert "class" not in of(judge(policy("2.5"), document), "decision_flips").reason


SEVERAL = LinearModel(0.0, family="multinomial", link="softmax", classes=("A", "B", "C"))
RATE = LinearModel(0.0, family="poisson", link="log")


@pytest.mark.parametrize(
    ("threshold", "model", "says"),
    [
        (
            "0.2",
            odds(0, 1),
            "is a classifier of bad, good: say whose probability the 0.2 is, threshold: {value: 0.2,",
        ),
        ("0.2", odds(0, 1, ("0", "1")), 'threshold: {value: 0.2, class: "0"} or threshold: {value: 0.2, class: "1"}'),
        ("{value: 0.2, class: ugly}", odds(0, 1), "there is no class 'ugly'"),
        (NAMED, RATE, "predicts no probability of a class: write the number alone, threshold: 0.2"),
        (NAMED, LinearModel(0.0), "predicts no probability of a class"),
        ("0.2", SEVERAL, "decides for the most probable of several classes"),
        (NAMED, SEVERAL, "decides for the most probable of several classes"),
        (NAMED, odds(0, 1), None),
        ("0.2", RATE, None),
        ("0.2", odds(0, 1, ()), None),
        ("null", odds(0, 1), None),
    ],
)
def test_what_speaks_against_a_threshold_of_a_model(threshold, model, says):
    found = list(threshold_objections(policy(threshold).reference, {"score": model}))
    assert len(found) == (says is not None)
    if says is not None:
        assert says in found[0]
        assert found[0].startswith("reference.threshold: the registered model score")


@pytest.mark.parametrize(
    ("threshold", "labels", "objects"),
    [
        ("0.2", ("bad", "good"), True),
        ("{value: 0.2, class: ugly}", ("bad", "good"), True),
        (NAMED, ("bad", "good"), False),
        ("{value: 0.2, class: ugly}", ("a", "b", "c"), False),
        ("0.2", (), False),
        ("null", ("bad", "good"), False),
    ],
)
def test_what_the_targets_column_says(threshold, labels, objects):
    assert len(list(label_objection(policy(threshold).reference, labels))) == objects


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (["good", "bad", None, "good"], ("bad", "good")),
        ([1, 0, 1, 1], ()),
        ([0.5, 1.5, 2, 3], ()),
        (list("abcdefgh"), tuple("abcde")),
    ],
)
@pytest.mark.parametrize("form", ["rows.csv", "rows.parquet"])
def test_labels_of_the_target_are_texts(tmp_path, column, labels, form):
    path, frame = tmp_path / form, pd.DataFrame({"y": column})
    frame.to_csv(path, index=False) if form.endswith("csv") else frame.to_parquet(path)
    for uri in (str(path), path.as_uri()):
        assert circumstances(policy("0.2", uri=uri), None, None).labels == labels
    for other in ("null", str(tmp_path / "not there.csv"), "s3://bucket/rows.csv"):
        assert circumstances(policy("0.2", uri=other), None, None).labels == ()
    assert circumstances(policy("null", uri=str(path)), None, None).labels == ()


def said(policy, **known):
    return [(each.certain, each.text) for each in remarks(Circumstances(policy, **known)) if "threshold" in each.text]


def test_where_nothing_is_known_a_bare_number_is_a_note():
    ((certain, note),) = said(policy("0.2"))
    assert not certain
    assert "without a class" in note
    assert said(policy(NAMED)) == []
    assert said(policy("0.2"), models={"score": RATE}) == []


def test_labels_in_the_data_speak_only_where_no_model_does():
    ((certain, text),) = said(policy("0.2"), labels=("bad", "good"))
    assert certain
    assert "the column 'y' of the reference data holds the classes bad, good" in text
    assert said(policy(NAMED), labels=("bad", "good")) == []
    assert said(policy("0.2"), labels=("bad", "good"), models={"score": RATE}) == []
    ((certain, text),) = said(policy("0.2"), labels=("bad", "good"), models={"score": odds(0, 1)})
    assert certain
    assert "the registered model score is a classifier" in text
