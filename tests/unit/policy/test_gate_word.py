"""What only the gate knew when a report was made: it decides the report's verdict, and says nothing else."""

import json

import pytest
from helpers.forging import changed, forge

from coordpath_governance.errors import ReportFormatError
from coordpath_governance.policy.judge import assess, judge_with
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.rendering.render import render_html, render_markdown
from coordpath_governance.reports.document import GateRule, GateWord
from coordpath_governance.verification.verify import verify_report

RULES = {"final_cost_increase": {"absolute": 1000}, "report_age": {"days": 30}, "change_since_validation": {"changes": 3}}
NOBODY_ASKED = [
    {"class": "large", "when": {"coefficients_changed": 1000}, "approvals": [{"role": "validator", "count": 1}]},
    {"class": "minor"},
]


def word(author_known=True, **outcomes):
    told = {"report_age": "pass", "change_since_validation": "pass", **outcomes}
    return GateWord(author_known=author_known, rules=tuple(GateRule(rule=rule, result=said) for rule, said in told.items()))


@pytest.fixture
def policy(policy_of):
    return policy_of(RULES, materiality=NOBODY_ASKED)


def findings(report):
    return [finding for check in verify_report(report).checks for finding in check.findings]


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (word(), "pass"),
        (word(author_known=False), "review"),
        (word(report_age="fail"), "fail"),
        (word(change_since_validation="review"), "review"),
        (word(change_since_validation="unknown"), "review"),
    ],
)
def test_the_report_says_what_the_gate_said_before_any_decision(policy, document, said, verdict):
    made = assess(document, policy, said)
    assert made.assessment.verdict == verdict
    assert made.assessment.gate == said
    assert ("need no approval" in made.assessment.reason) == (verdict == "pass")
    assert not findings(ChangeReport(made))
    assert ChangeReport.from_bytes(ChangeReport(made).to_bytes()).document == made


def test_counts_say_what_was_checked_where(policy, document):
    made = assess(document, policy, word(author_known=False))
    here = len(made.assessment.rules)
    count = f"{here} of {here + 2} checks are met here; 2 are checked at the gate"
    assert made.assessment.reason.startswith(f"{count}, met when the report was made: report_age, change_since_validation.")
    assert made.assessment.reason.endswith("1 × validator, since nobody vouches for who registered the version.")
    for page in (render_html(made), render_markdown(made)):
        assert "Needs review" in page
        assert "2 are checked at the gate" in page
        assert "Every check is met" not in page
    assert "when the report was made it said: report_age (met), change_since_validation (met)" in render_html(made).replace(
        "<wbr>", ""
    )


def test_one_rule_is_one(policy_of, document):
    made = assess(document, policy_of({"report_age": {"days": 3}}), GateWord(author_known=True, rules=word().rules[:1]))
    assert "; 1 is checked at the gate, met when" in made.assessment.reason
    assert "1 is checked at the gate" in render_markdown(made)


def test_without_rules_for_the_gate_nothing_is_said_of_it(policy_of, document):
    made = assess(document, policy_of({"final_cost_increase": {"absolute": 1000}}), GateWord(author_known=True, rules=()))
    assert made.assessment.reason.startswith("All ")
    assert "Every check is met" in render_html(made)
    assert "checked at the gate" not in render_html(made)


@pytest.mark.parametrize(
    "rules",
    [
        word().rules[:1],
        (*word().rules, GateRule(rule="model digests", result="pass")),
        (*word().rules, GateRule(rule="final_cost_increase", result="pass")),
        (*word().rules, word().rules[0]),
        (),
    ],
)
def test_a_word_on_what_a_report_tells_itself_or_with_something_left_out_is_refused(policy, document, rules):
    with pytest.raises(ReportFormatError, match="only a gate can check"):
        judge_with(policy, document, GateWord(author_known=True, rules=rules))
    content = json.loads(ChangeReport(assess(document, policy, word())).to_bytes())
    forged = [{"rule": each.rule, "result": each.result} for each in rules]
    assert findings(forge(changed(content, ("assessment", "gate", "rules"), forged)))


def test_a_forged_part_does_not_go_with_its_verdict(policy, document):
    content = json.loads(ChangeReport(assess(document, policy, word(author_known=False))).to_bytes())
    assert findings(forge(changed(content, ("assessment", "gate", "author_known"), True)))
    assert findings(forge(changed(content, ("assessment", "gate", "rules", 0, "result"), "fail")))
    assert findings(forge(changed(content, ("assessment", "gate"), None)))
    assert findings(forge(changed(content, ("assessment", "verdict"), "pass")))


def test_the_pages_say_that_the_verdict_is_from_before_any_decision_where_the_gate_gave_it(policy, document):
    said = "This is what the gate said when the report was made, before any decision."
    judged, alone = assess(document, policy, word(report_age="fail")), assess(document, policy)
    for render in (render_html, render_markdown):
        assert said in " ".join(render(judged).split())
        assert "decision.html" in render(judged)
        assert said not in " ".join(render(alone).split())
