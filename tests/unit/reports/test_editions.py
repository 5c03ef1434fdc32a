"""A report of the first edition verifies; its figures are rechecked, its words and verdict are those of its time."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coordpath_governance import LinearModel, NumericTerm, explain_change
from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.policy.judge import GateFacts, judge
from coordpath_governance.policy.load import read_policy
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import document_digest
from coordpath_governance.reports.editions import EDITION, later_fields
from coordpath_governance.verification.verify import verify_report

GOLDEN = Path(__file__).parents[2] / "golden" / "reports-0.1"
DATA = GOLDEN / "classifier.csv"
NOW = "2026-03-01T12:00:00.000000Z"


@pytest.fixture
def old():
    return ChangeReport.from_bytes((GOLDEN / "classifier.json").read_bytes())


def updated(report, **parts):
    document = report.document.model_copy(update=parts)
    return ChangeReport(document.model_copy(update={"digest": document_digest(document)}))


def findings(report, data=None):
    return [finding for check in verify_report(report, data).checks for finding in check.findings]


def test_it_is_read_and_written_byte_for_byte(old):
    assert old.document.edition is None
    assert old.to_bytes() == (GOLDEN / "classifier.json").read_bytes()


@pytest.mark.parametrize("data", [None, DATA])
def test_it_verifies_and_says_what_was_not_rechecked(old, data):
    result = verify_report(old, data)
    assert result.passed, [check for check in result.checks if not check.passed]
    assert result.conclusion.endswith("; the sentences are of an earlier edition and were not checked")
    assert any(each.startswith("the sentences of summary and limits") for each in result.not_rechecked)


def test_forged_words_of_the_first_edition_are_never_called_verified(old):
    summary = old.document.summary.model_copy(update={"headline": "All is well."})
    result = verify_report(updated(old, summary=summary), DATA)
    assert result.conclusion.startswith("the figures hold against the data; ")
    assert result.conclusion.endswith("; the sentences are of an earlier edition and were not checked")


def test_its_figures_are_rechecked_all_the_same(old):
    flips = old.document.impact.flips.model_copy(update={"up": 0.25})
    forged = updated(old, impact=old.document.impact.model_copy(update={"flips": flips}))
    assert any(each.startswith("impact.flips.up") for each in findings(forged))


def test_counts_of_a_later_edition_do_not_belong_there(old):
    flips = old.document.impact.flips.model_copy(update={"rows_up": 0, "rows_down": 1})
    parts = {name: getattr(old.document, name).model_copy(update={"flips": flips}) for name in ("impact", "rows")}
    assert "rows.flips: are not as reports of this edition count them" in findings(updated(old, **parts))


def test_an_edition_that_is_claimed_is_held_to_its_words(old):
    claimed = findings(updated(old, edition=EDITION))
    assert "summary: the sentences do not say what the figures say" in claimed


def test_its_verdict_stands_and_the_gate_judges_by_todays_rules(old):
    policy = read_policy(canonical_bytes(old.document.assessment.policy.document), "policy")
    recorded = {each.rule: each.result for each in old.document.assessment.rules}
    assert recorded["decision_flips"] == "pass"
    for gate in (None, GateFacts(NOW, NOW)):
        found = next(each for each in judge(policy, old.document, gate).results if each.rule == "decision_flips")
        assert found.result == "unknown"
        assert "name one of bad, good in the policy" in found.reason
    as_made = judge(policy, old.document, edition=None)
    assert {each.rule: each.result for each in as_made.results} == recorded


SECOND = Path(__file__).parents[2] / "golden" / "reports-edition-2"


@pytest.mark.parametrize("data", [None, SECOND / "weights.csv"])
def test_a_report_of_the_second_edition_is_verified_in_its_own_words(data):
    """It blames the candidate's class weights, which a calibration has undone, and does not ask about the target."""
    kept = (SECOND / "weights.json").read_bytes()
    report = ChangeReport.from_bytes(kept)
    assert (report.document.edition, report.to_bytes()) == (2, kept)
    assert "the likely cause: the candidate was trained with" in report.document.summary.sentences[-1]
    result = verify_report(report, data)
    assert result.passed, [check for check in result.checks if not check.passed]
    assert not any("the sentences of summary" in each for each in result.not_rechecked)
    summary = report.document.summary.model_copy(update={"headline": "All is well."})
    assert "summary: the sentences do not say what the figures say" in findings(updated(report, summary=summary))


def test_a_report_of_today_is_held_to_todays_words():
    report = ChangeReport.from_bytes((SECOND / "weights.json").read_bytes())
    assert "summary: the sentences do not say what the figures say" in findings(updated(report, edition=EDITION))


def later(**parts):
    """An honest report of today whose edition was dropped, with ``parts`` changed."""
    rows = pd.DataFrame({"a": np.arange(30.0), "y": np.arange(30.0) * 2})
    models = [LinearModel(1.0, numeric=(NumericTerm("a", slope),)) for slope in (1.0, 2.0)]
    made = explain_change(*models, data=rows, target="y")
    return updated(made, edition=None, **{name: change(getattr(made.document, name)) for name, change in parts.items()})


def side(**update):
    return lambda subject: subject.model_copy(update={"candidate": subject.candidate.model_copy(update=update)})


LATER = {
    "facts.rollback": {"facts": lambda facts: facts.model_copy(update={"rollback": "the old one"})},
    "facts.tagged": {"facts": lambda facts: facts.model_copy(update={"owner": "x", "tagged": ("owner",)})},
    "subject.candidate.registered_ms": {"subject": side(registered_ms=1_700_000_000_000)},
    "subject.candidate.run_remark": {"subject": side(run_remark="not there")},
    "assessment.materiality_reason": {"assessment": lambda said: said.model_copy(update={"materiality_reason": "x"})},
}


@pytest.mark.parametrize(("field", "parts"), LATER.items(), ids=LATER)
def test_a_report_that_drops_its_edition_keeps_what_only_later_ones_have(field, parts):
    result = verify_report(later(**parts))
    assert f"{field}: reports of the first edition do not have it" in [f for each in result.checks for f in each.findings]
    assert result.conclusion.startswith("NOT verified")


def test_the_class_of_a_threshold_and_counts_of_flips_are_later_too(old):
    settings = old.document.settings.model_copy(update={"threshold_class": "bad"})
    flips = old.document.impact.flips.model_copy(update={"rows_up": 0})
    impact = old.document.impact.model_copy(update={"flips": flips})
    changed = updated(old, settings=settings, impact=impact).document
    assert [*later_fields(changed)] == ["settings.threshold_class", "impact.flips.rows_up"]
    assert [*later_fields(old.document)] == []
    assert [*later_fields(changed.model_copy(update={"edition": EDITION}))] == []


def test_a_report_that_drops_its_edition_and_all_of_these_is_not_called_verified():
    summary = later().document.summary.model_copy(update={"headline": "Proved better.", "sentences": ("The board agreed.",)})
    result = verify_report(later(summary=lambda _: summary))
    assert result.passed
    assert result.conclusion.endswith("; the sentences are of an earlier edition and were not checked")
    assert "verified" not in result.conclusion
