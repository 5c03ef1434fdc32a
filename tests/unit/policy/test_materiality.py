"""Which condition set the class of a change, in words, and that verify finds another one."""

import json

import pytest
from helpers.forging import changed, forge

from coordpath_governance.policy.judge import assess, judge
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import ChangeFacts, document_digest
from coordpath_governance.verification.verify import verify_report


def classes(**when):
    return [{"class": "major", "when": when, "approvals": [{"role": "validator"}]}, {"class": "minor"}]


def test_the_condition_with_its_value_and_where_the_class_begins(policy_of, flipped_document):
    judgement = judge(policy_of(materiality=classes(sign_flips=1)), flipped_document)
    assert judgement.materiality_reason == "Class 'major' because sign_flips is 2 (from 1 on)."


def test_every_condition_that_is_reached_is_named_and_no_other(policy_of, flipped_document):
    judgement = judge(policy_of(materiality=classes(sign_flips=1, features_added=1, decision_flips=0.05)), flipped_document)
    expected = "Class 'major' because decision_flips is 30.5 % (from 5 % on) and sign_flips is 2 (from 1 on)."
    assert judgement.materiality_reason.replace("\u00a0", " ") == expected


def test_an_unknown_observation_that_sets_the_class_is_named_as_such(policy_of, first_document):
    judgement = judge(policy_of(materiality=classes(sign_flips=1)), first_document)
    expected = "Class 'major' because sign_flips is not known, which counts as reached (from 1 on)."
    assert judgement.materiality_reason == expected


def test_the_class_that_takes_the_rest(policy_of, document):
    judgement = judge(policy_of(materiality=classes(features_added=1)), document)
    assert judgement.materiality_reason == "Class 'minor' because no condition of another class is reached."


def test_another_reason_in_a_report_is_found(policy_of, document):
    assessed = ChangeReport(assess(document, policy_of(materiality=classes(features_added=1))))
    assert verify_report(assessed).passed
    forged = forge(
        changed(json.loads(assessed.to_json()), ("assessment", "materiality_reason"), "Class 'minor' because I say so.")
    )
    findings = [finding for check in verify_report(forged).checks for finding in check.findings]
    assert any("assessment.materiality_reason" in finding for finding in findings)


def test_a_report_from_before_it_had_reasons_verifies(policy_of, document):
    assessed = assess(document, policy_of(materiality=classes(features_added=1)))
    older = assessed.model_copy(update={"assessment": assessed.assessment.model_copy(update={"materiality_reason": None})})
    older = ChangeReport(older.model_copy(update={"digest": document_digest(older)}))
    assert "materiality_reason" not in older.to_json()
    assert verify_report(older).passed


def test_the_policy_gives_plans_and_takes_the_authors_name_off_them(policy_of):
    policy = policy_of(facts={"monitoring": "monthly", "rollback": "promote the previous version"})
    said = ChangeFacts(monitoring="never", reason="newer rows", tagged=("monitoring", "reason"), unusable_tags=("rollback",))
    merged = policy.merged_facts(said)
    assert (merged.monitoring, merged.rollback) == ("monthly", "promote the previous version")
    assert (merged.tagged, merged.unusable_tags) == (("reason",), ())


@pytest.mark.parametrize("fact", ["monitoring", "rollback", "implementation_date", "notification_deadline"])
def test_plans_and_dates_can_be_required(policy_of, document, fact):
    policy = policy_of({"required_facts": {"facts": [fact]}})
    assert judge(policy, document).results[-1].result == "fail"
    filled = document.model_copy(update={"facts": document.facts.model_copy(update={fact: "2026-12-31"})})
    assert judge(policy, filled).results[-1].result == "pass"
