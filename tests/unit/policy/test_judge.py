"""The verdict: built-in checks, classes of change, who has to agree; and that a tighter limit never makes it better."""

import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.errors import RefusedError
from coordpath_governance.models.coefficients_json import DECLARED
from coordpath_governance.policy.built_in import BUILT_IN
from coordpath_governance.policy.document import MaterialityClass
from coordpath_governance.policy.judge import ApprovalNeed, GateFacts, class_of, judge, reached
from coordpath_governance.policy.load import read_policy
from coordpath_governance.policy.observations import OBSERVATIONS, observe
from coordpath_governance.policy.patterns import matching_policy

WORSE = {"pass": 0, "review": 1, "fail": 2}


def outcome(judgement, rule):
    return next(each for each in judgement.results if each.rule == rule)


def test_a_change_that_meets_everything_passes_without_anybody(policy_of, document):
    judged = judge(policy_of(), document)
    assert judged.verdict == "pass"
    assert judged.approvals == ()
    assert judged.materiality == "minor"
    assert not judged.full_validation
    assert judged.reason == "All 5 checks are met. Changes of class 'minor' need no approval."
    assert [each.rule for each in judged.results] == [*BUILT_IN[:4], "steps"]


@pytest.mark.parametrize("who", ["champion", "candidate"])
def test_declared_coefficients_are_not_known_until_a_person_has_looked(policy_of, document, who):
    models = {**document.models, who: {**document.models[who], "source": DECLARED}}
    judged = judge(policy_of(), document.model_copy(update={"models": models}), waived=BUILT_IN)
    assert judged.verdict == "review"
    found = next(each for each in judged.results if each.rule == "declared coefficients")
    assert (found.result, found.observed) == ("unknown", f"declared, of the {who}")
    assert "has to vouch that it predicts by them" in found.reason


@pytest.mark.parametrize(
    ("changes", "check", "result"),
    [
        ({"data.sha256": "0" * 64}, "reference data", "fail"),
        ({"data.role": "training"}, "reference data", "fail"),
        ({"data.role": "not stated"}, "reference data", "fail"),
        ({"data.role": "out-of-time"}, "reference data", "fail"),
        ({"data.kind": "moments"}, "reference data", "review"),
        ({"data.kind": "moments", "data.role": "training"}, "reference data", "fail"),
        ({"data.target": "z"}, "reference settings", "fail"),
        ({"data.weight": "w"}, "reference settings", "fail"),
        ({"data.missing": "drop"}, "reference settings", "fail"),
        ({"settings.threshold": 2.0}, "reference settings", "fail"),
        ({"settings.segments": []}, "reference settings", "fail"),
        ({"settings.max_steps": None}, "reference settings", "fail"),
        ({"settings.gamma": 0.5}, "reference settings", "fail"),
        ({"path.status": "bounded"}, "order of the steps", "review"),
        ({"subject.candidate.digest": None}, "model digests", "fail"),
        ({"subject.champion.digest": None}, "model digests", "fail"),
        ({"subject.champion.digest": "sha256:1"}, "model digests", "fail"),
    ],
)
def test_built_in_checks_cannot_be_waived(policy_of, document, alter, changes, check, result):
    judged = judge(policy_of(), alter(document, changes), waived=[*BUILT_IN, "steps"])
    assert outcome(judged, check).result == result
    assert outcome(judged, check).reason
    assert judged.verdict == result


def test_a_pinned_period_must_be_the_reports(policy_of, policy_text, document, alter):
    pinned = policy_text()["reference"] | {"period": "2025"}
    assert outcome(judge(policy_of(reference=pinned), document), "reference settings").result == "fail"
    same = alter(document, {"data.period": "2025"})
    assert outcome(judge(policy_of(reference=pinned), same), "reference settings").result == "pass"


def test_a_gap_rule_settles_a_bounded_order(policy_of, document, alter):
    policy = policy_of({"gap": {"most": 0.1}})
    bounded = judge(policy, alter(document, {"path.status": "bounded", "path.gap": 0.05}))
    assert bounded.verdict == "pass"
    assert "gap 5" in outcome(bounded, "order of the steps").observed
    assert judge(policy, alter(document, {"path.status": "bounded", "path.gap": 0.2})).verdict == "fail"


def test_what_rules_leave_open_goes_to_the_next_class_that_has_people(policy_of, document):
    judged = judge(policy_of({"steps": {"most": 1, "otherwise": "review"}}), document)
    assert judged.verdict == "review"
    assert judged.materiality == "minor"
    assert judged.approvals == (ApprovalNeed("validator", 2),)
    assert "1 of 5 checks needs a person: steps. Approval needed: 2 × validator." in judged.reason


def test_what_nobody_could_decide_fails(policy_of, document):
    judged = judge(policy_of({"steps": {"most": 1, "otherwise": "review"}}, materiality=[{"class": "any"}]), document)
    assert judged.verdict == "fail"
    assert "names nobody" in judged.reason


def test_a_class_with_approvals_is_never_a_bare_pass(policy_of, document, alter):
    added = alter(document, {"counts.columns_added": ["x"]})
    judged = judge(policy_of(), added)
    assert (judged.verdict, judged.materiality) == ("review", "major")
    assert judged.approvals == (ApprovalNeed("validator", 2),)
    assert "All 5 checks are met. Approval needed: 2 × validator." in judged.reason


def test_a_fail_is_a_fail_whoever_would_approve(policy_of, document):
    judged = judge(policy_of({"steps": {"most": 1}, "gap": {}}), document)
    assert judged.verdict == "fail"
    assert judged.reason.startswith("1 of 6 checks fails: steps.")
    assert "Approval" not in judged.reason


def test_waivers_are_told(policy_of, document):
    judged = judge(policy_of({"steps": {"most": 1}, "gap": {}}), document, waived={"steps", "something else"})
    assert judged.verdict == "pass"
    assert "All 5 other checks are met. Waived: steps." in judged.reason


def test_the_first_class_that_is_reached_counts_and_unknown_counts_as_reached(document, alter):
    classes = [
        MaterialityClass.model_validate({"class": "a", "when": {"decision_flips": 1.0, "steps": 1000}}),
        MaterialityClass.model_validate({"class": "b", "when": {"steps": len(document.path.steps)}}),
        MaterialityClass.model_validate({"class": "c"}),
    ]
    assert class_of(classes, document).class_ == "b"
    hidden = alter(document, {"impact.flips": None})
    assert class_of(classes, hidden).class_ == "a"
    assert reached(classes[0], hidden) == ("decision_flips",)
    assert class_of(classes, alter(document, {"path.steps": []})).class_ == "c"


def test_a_first_version_is_told_from_a_change(document, first_document):
    assert observe(document, "first_version") == 0
    assert observe(first_document, "first_version") == 1
    assert observe(first_document, "sign_flips") is None


@pytest.mark.parametrize("name", sorted(OBSERVATIONS))
def test_every_observation_of_a_real_report_is_known(document, name):
    value = observe(document, name)
    assert value is not None
    assert OBSERVATIONS[name].text(value).startswith(OBSERVATIONS[name].title)


def test_exactly_one_policy_matches(policy_of):
    rents, all_, upper = policy_of(), policy_of(name="all", models=["*"]), policy_of(name="upper", models=["RENT", "[!r]*"])
    assert matching_policy([rents, upper], "rent-berlin") is rents
    assert matching_policy([rents, upper], "RENT") is upper
    with pytest.raises(RefusedError, match=r"no policy matches the model 'Rent'.*policy adopt"):
        matching_policy([rents], "Rent")
    with pytest.raises(RefusedError, match="no policy matches"):
        matching_policy([], "rent")
    with pytest.raises(RefusedError, match="2 policies match the model 'rent': rents, all") as caught:
        matching_policy([rents, all_, upper], "rent")
    assert caught.value.exit_code == 1


SCALES = {
    ("final_cost_increase", "absolute"): st.floats(-0.2, 0.2),
    ("final_cost_increase", "relative"): st.floats(-0.2, 0.2),
    ("final_cost_increase", "standard_errors"): st.floats(-5, 5),
    ("step_cost_increase", "absolute"): st.floats(0, 0.1),
    ("steps", "most"): st.integers(0, 6),
    ("sign_flips", "most"): st.integers(0, 3),
    ("features_added", "most"): st.integers(0, 3),
    ("standardised_change", "absolute"): st.floats(0, 0.5),
    ("unexercised", "changed"): st.integers(0, 3),
    ("decision_flips", "overall"): st.floats(0, 0.2),
    ("decision_flips", "by_segment"): st.floats(0, 0.2),
    ("mean_score_shift", "overall"): st.floats(0, 0.3),
    ("gap", "most"): st.floats(0, 0.2),
    ("report_age", "days"): st.floats(0, 20),
    ("change_since_validation", "changes"): st.integers(0, 3),
}
GATE = ("2026-03-01T00:00:00Z", "2026-02-20T00:00:00Z")


@settings(deadline=None)
@given(data=st.data())
def test_a_judgement_never_gets_better_when_a_limit_gets_tighter(data, policy_text, document, flipped_document, alter):
    @cache
    def seen(which):
        unknown = {"impact.flips": None, "impact.delta_se": None, "path.status": "bounded", "path.gap": 0.1}
        return [document, flipped_document, alter(document, unknown)][which]

    chosen = data.draw(st.lists(st.sampled_from(sorted(SCALES)), min_size=1, max_size=5, unique=True))
    otherwise = data.draw(st.sampled_from(["fail", "review"]))
    rules = {}
    for rule, parameter in chosen:
        rules.setdefault(rule, {"otherwise": otherwise})[parameter] = data.draw(SCALES[rule, parameter])
    when = {"standardised_change": data.draw(st.floats(0, 0.5)), "steps": data.draw(st.integers(0, 6))}
    tighter = json.loads(json.dumps(rules))
    for rule, parameter in chosen:
        tighter[rule][parameter] = min(rules[rule][parameter], data.draw(SCALES[rule, parameter]))
    sooner = {name: min(value, data.draw(st.floats(0, 6))) for name, value in when.items()}
    waived = data.draw(st.sets(st.sampled_from([rule for rule, _ in chosen])))
    on = seen(data.draw(st.integers(0, 2)))
    gate = data.draw(st.sampled_from([None, GateFacts(*GATE, (document,), GATE[1])]))

    def judged(rules, when):
        people = [{"role": "validator", "count": 2}]
        classes = [{"class": "major", "when": when, "approvals": people}, {"class": "minor"}]
        policy = read_policy(json.dumps(policy_text(rules, materiality=classes)), "p")
        return judge(policy, on, gate, waived)

    loose, tight = judged(rules, when), judged(tighter, sooner)
    assert WORSE[tight.verdict] >= WORSE[loose.verdict]
    assert sum(need.count for need in tight.approvals) >= sum(need.count for need in loose.approvals)
    if loose.verdict == "review":
        assert loose.approvals
    if loose.verdict == "pass":
        assert not loose.approvals
        assert {each.result for each in loose.results} <= {"pass", "waived"}
