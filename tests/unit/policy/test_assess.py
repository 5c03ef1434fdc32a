"""A report with a verdict in it: the same bytes again, and any change of it is found, also with a digest that fits."""

import json

import pytest
from helpers.forging import changed, forge, leaves

from coordpath_governance.policy.judge import assess
from coordpath_governance.policy.load import policy_bytes, policy_sha256
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.rendering.render import render_html, render_markdown, render_summary_markdown
from coordpath_governance.verification.verify import verify_report

RULES = {
    "final_cost_increase": {"relative": 0.2, "standard_errors": 20},
    "steps": {"most": 2, "otherwise": "review"},
    "decision_flips": {"overall": 0.9},
    "required_facts": {"facts": ["owner", "reason"]},
    "report_age": {"days": 30},
}
FACTS = {"owner": "Anna", "tier": "2"}


@pytest.fixture(scope="module")
def assessed(document, policy_of):
    return ChangeReport(assess(document, policy_of(RULES, facts=FACTS)))


def findings(report):
    return [finding for check in verify_report(report).checks for finding in check.findings]


def test_an_assessment_holds_the_policy_and_every_rule(assessed, policy_of, document):
    policy = policy_of(RULES, facts=FACTS)
    told = assessed.document.assessment
    assert told.verdict == "review"
    assert told.materiality == "minor"
    assert told.policy.name == "rents"
    assert told.policy.sha256 == policy_sha256(policy)
    assert told.policy.document == json.loads(policy_bytes(policy))
    assert [rule.rule for rule in told.rules][4:] == ["final_cost_increase", "steps", "decision_flips", "required_facts"]
    assert {rule.result for rule in told.rules} == {"pass", "review"}
    assert assessed.document.facts.owner == "Anna"
    assert assessed.document.facts.reason == document.facts.reason
    assert assessed.document.digest != document.digest


def test_the_policy_wins_over_what_an_author_says(explain, champion, candidate, policy_of):
    said = explain(champion, candidate, owner="Mallory").document
    assert assess(said, policy_of(RULES, facts=FACTS)).facts.owner == "Anna"
    assert assess(said, policy_of(RULES)).facts.owner == "Mallory"


def test_the_same_report_and_policy_give_the_same_bytes(assessed, document, policy_of):
    again = ChangeReport(assess(document, policy_of(RULES, facts=FACTS)))
    assert again.to_bytes() == assessed.to_bytes()
    twice = ChangeReport(assess(assessed.document, policy_of(RULES, facts=FACTS)))
    assert twice.to_bytes() == assessed.to_bytes()
    assert ChangeReport.from_bytes(assessed.to_bytes()).to_bytes() == assessed.to_bytes()


def test_an_assessed_report_verifies_down_to_the_data(assessed, data_file):
    result = verify_report(assessed, data_file)
    assert result.passed, [check for check in result.checks if not check.passed]
    assert result.conclusion.startswith("verified against the data; ")
    assert any("the policy" in text and "adopted" in text for text in result.not_rechecked)


def test_a_report_without_policy_says_nothing_of_one(report):
    content = json.loads(report.to_bytes())
    assert set(content["assessment"]) == {"verdict", "reason", "materiality"}
    assert not any("the policy" in text for text in verify_report(report).not_rechecked)


def test_every_changed_leaf_of_an_assessment_is_found_also_with_a_fitting_digest(assessed):
    content = json.loads(assessed.to_bytes())
    seen = 0
    for where, value in leaves(content["assessment"]):
        if where[:2] == ("policy", "document"):
            continue
        others = {"pass", "fail"} - {value} if where[-1] in ("verdict", "result") else {f"{value}."}
        for other in others:
            seen += 1
            assert findings(forge(changed(content, ("assessment", *where), other))), where
    assert seen > 40


def test_every_changed_limit_in_the_policy_is_found(assessed):
    content = json.loads(assessed.to_bytes())
    for where, value in leaves(content["assessment"]["policy"]["document"]):
        other = value + 1 if isinstance(value, int | float) else f"{value}x"
        assert findings(forge(changed(content, ("assessment", "policy", "document", *where), other))), where


def test_rules_left_out_added_or_swapped_are_found(assessed):
    content = json.loads(assessed.to_bytes())
    rules = content["assessment"]["rules"]
    for other in (rules[:-1], [*rules, rules[0]], rules[::-1], []):
        assert any(
            "assessment.rules" in finding for finding in findings(forge(changed(content, ("assessment", "rules"), other)))
        )
    assert findings(forge(changed(content, ("assessment", "policy"), None)))
    assert findings(forge(changed(content, ("facts", "owner"), "Mallory")))


def test_a_verdict_without_a_policy_is_found(report, assessed):
    content = json.loads(report.to_bytes())
    rules = json.loads(assessed.to_bytes())["assessment"]["rules"]
    assert findings(forge(changed(content, ("assessment", "rules"), rules)))
    assert findings(forge(changed(content, ("assessment", "verdict"), "pass")))


def test_a_verdict_on_a_forged_figure_is_found(assessed):
    content = json.loads(assessed.to_bytes())
    assert findings(forge(changed(content, ("impact", "flips", "up"), 0.95)))


def test_pages_show_the_verdict_and_every_rule_with_a_word(assessed):
    page, text = render_html(assessed.document), render_markdown(assessed.document)
    told = assessed.document.assessment
    for shown in (page, text):
        assert told.policy.sha256 in shown
        assert "needs review" in shown
        assert "The policy itself" in shown
        assert "Observed" in shown
    for rule in told.rules:
        assert rule.rule.replace("_", "\\_") in text
    assert page.index("◆</span> needs review") < page.index("✔</span> met")
    assert told.policy.sha256[:12] in page[page.index('id="verdict"') : page.index('id="summary"')]
    assert "Needs review" in render_summary_markdown(assessed.document)
    assert len(page.encode()) < 400_000


def test_a_hostile_policy_and_hostile_names_are_harmless_on_the_page(document, policy_of, alter):
    evil = '<script>alert("1")</script>'
    rules = {"features_added": {"allowed": [evil]}, "frozen_features": {"features": [evil]}}
    kinds = [{"class": evil, "approvals": [{"role": evil}]}]
    on = alter(document, {"counts.columns_added": [evil + "2", "|x|\n# y"]})
    told = assess(on, policy_of(rules, name=evil, facts={"owner": evil}, materiality=kinds))
    for shown in (render_html(told), render_markdown(told), render_summary_markdown(told)):
        assert "<script" not in shown.split("```")[0]
    assert evil in json.dumps(told.assessment.policy.document).replace('\\"', '"')
