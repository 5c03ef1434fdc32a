"""Rules about models with several classes, or whose score is not in the target's unit: what has no meaning is not known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coordpath_governance import explain_change
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.policy.judge import GateFacts, judge
from coordpath_governance.policy.load import read_policy
from coordpath_governance.policy.starting_policy import KINDS, starting_policy
from coordpath_governance.verification.verify import verify_report

NOW = "2026-03-01T12:00:00.000000Z"
VALIDATED = "2026-02-01T00:00:00.000000Z"
ABOVE_ALL = 1e9
HALF = {"threshold": 0.5, "threshold_class": "B"}


def scores(*slopes):
    plain = tuple(LinearModel(0.1 * i, (NumericTerm("a", slope),)) for i, slope in enumerate(slopes))
    facts = {"family": "multinomial", "link": "softmax", "classes": ("A", "B", "C"), "class_scores": plain}
    return LinearModel(0.0, has_intercept=False, **facts)


def odds(slope):
    return LinearModel(0.0, (NumericTerm("a", slope),), family="binomial", link="logit", classes=("A", "B"), threshold=0.5)


@pytest.fixture(scope="module")
def documents():
    """The same little change of a model with three classes and of one with two."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=90), "region": ["north", "south", "west"] * 30})
    made = {
        "several": (scores(0.1, 0.2, -0.3), scores(0.4, 0.1, -0.5), rng.permutation(["A", "B", "C"] * 30)),
        "two": (odds(0.3), odds(0.5), rng.permutation(["A", "B"] * 45)),
    }
    return {
        name: explain_change(old, new, data=frame.assign(y=target), target="y", segments=["region"]).document
        for name, (old, new, target) in made.items()
    }


@pytest.mark.parametrize(
    ("kind", "rule", "limit", "expected", "says"),
    [
        ("several", "mean_score_shift", "overall", "unknown", "give a limit by_segment"),
        ("several", "mean_score_shift", "by_segment", "pass", ""),
        ("several", "decision_flips", "overall", "pass", ""),
        ("several", "standardised_change", "absolute", "pass", ""),
        ("several", "standardised_change", "relative", "unknown", "not in the target's unit"),
        ("two", "mean_score_shift", "overall", "pass", ""),
        ("two", "decision_flips", "overall", "pass", ""),
        ("two", "standardised_change", "absolute", "pass", ""),
        ("two", "standardised_change", "relative", "unknown", "not in the target's unit"),
        ("two", "final_cost_increase", "relative", "pass", ""),
    ],
)
def test_what_has_no_meaning_is_not_known(policy_of, documents, kind, rule, limit, expected, says):
    share = rule == "decision_flips"
    judged = judge(policy_of({rule: {limit: 1.0 if share else ABOVE_ALL}}), documents[kind])
    found = next(each for each in judged.results if each.rule == rule)
    assert found.result == expected
    assert says in found.reason


@pytest.mark.parametrize(("kind", "expected"), [("several", "unknown"), ("two", "pass")])
def test_nor_does_it_add_up(policy_of, documents, kind, expected):
    policy = policy_of({"change_since_validation": {"mean_score_shift": ABOVE_ALL}})
    gate = GateFacts(NOW, NOW, (documents[kind],), VALIDATED)
    judged = judge(policy, documents[kind], gate)
    assert next(each for each in judged.results if each.rule == "change_since_validation").result == expected


def test_a_pinned_threshold_does_not_hide_that_the_models_own_moves(policy_of):
    """Nothing flips at 0.5, and nearly half of all decisions do where the versions make them."""
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"a": rng.normal(size=200), "region": ["north", "south"] * 100, "y": ["A", "B"] * 100})
    old, new = (replace(odds(2.0), threshold=threshold) for threshold in (0.9, 0.6))
    arguments = {"data": frame, "target": "y", "segments": ["region"]}
    own, pinned = explain_change(old, new, **arguments), explain_change(old, new, **arguments, **HALF)
    assert own.document.impact.flips.up > 0.2
    assert pinned.document.impact.flips.up == 0
    policy = policy_of({"decision_flips": {"overall": 0.1, "by_segment": 0.1}})
    results = {
        name: [each for each in judge(policy, report.document).results if each.rule == "decision_flips"]
        for name, report in (("own", own), ("pinned", pinned))
    }
    assert {each.result for each in results["own"]} == {"fail"}
    assert {each.result for each in results["pinned"]} == {"unknown"}
    assert "leave the policy's threshold out" in results["pinned"][0].reason
    summary = pinned.document.summary
    assert (
        summary.headline
        == "The champion and the candidate are the same function, but the versions' own threshold moves from 0.9 to 0.6."
    )
    assert (
        "The versions' own threshold moves from 0.9 to 0.6: decisions counted at 0.5 do not show that." in summary.sentences
    )
    assert verify_report(pinned).passed
    same = explain_change(old, replace(odds(2.1), threshold=0.9), **arguments, **HALF).document
    assert judge(policy, same).results[-1].result != "unknown"
    assert "The versions' own threshold is 0.9; decisions were counted at 0.5, as asked." in same.summary.sentences


@pytest.mark.parametrize(
    ("old", "new", "known"),
    [(0.1, 0.3, False), (None, 0.1, False), (0.1, None, False), (None, 0.5, True), (0.5, None, True), (0.2, 0.2, True)],
)
@pytest.mark.parametrize("family", ["binomial", "gaussian"])
def test_decisions_are_known_where_no_threshold_hides_another(policy_of, family, old, new, known):
    """One that a version has of its own and the other has not, or that a linear model has, counts too."""
    rng = np.random.default_rng(8)
    target = rng.permutation(["A", "B"] * 45) if family == "binomial" else rng.normal(size=90)
    frame = pd.DataFrame({"a": rng.normal(size=90), "y": target})
    plain = LinearModel(0.0, (NumericTerm("a", 0.5),))
    models = [replace(odds(0.5) if family == "binomial" else plain, threshold=threshold) for threshold in (old, new)]
    half = HALF if family == "binomial" else {"threshold": 0.5}
    report = explain_change(*models, data=frame, target="y", **half)
    judged = judge(policy_of({"decision_flips": {"overall": 0.1}}), report.document)
    (found,) = [each for each in judged.results if each.rule == "decision_flips"]
    assert found.result == ("pass" if known else "unknown")
    told = " ".join(report.document.summary.sentences)
    assert ("do not show that" in told) == (not known)
    assert ("only the" in report.document.summary.headline) == (None in (old, new))
    assert verify_report(report).passed


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_to_start_from_knows_what_it_asks_of_its_kind_of_models(kind):
    """With one for linear models, every change of a classifier would be 'moderate', because something is not known."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"a": rng.normal(size=90), "y": rng.permutation(["A", "B"] * 45)})
    document = explain_change(odds(0.30), odds(0.31), data=frame, target="y").document
    judged = judge(read_policy(starting_policy("model", kind=kind), kind), document)
    unknown = {each.rule for each in judged.results if each.result == "unknown"}
    assert ("standardised_change" in unknown) == (kind == "linear")
    assert judged.materiality == ("moderate" if kind == "linear" else "minor")
    assert any(each.rule == "decision_flips" for each in judged.results) == (kind == "classifier")
