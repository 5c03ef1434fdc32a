"""What a report accepts as a fact that a person states."""

import pytest

from coordpath_governance.reports.document import ChangeFacts
from coordpath_governance.reports.stated_facts import ASKED_FACTS, LONGEST_FACT, TAGGABLE_FACTS, is_date, objection_to_fact


def test_every_fact_that_is_asked_for_is_one_of_the_document():
    assert set(ASKED_FACTS) == set(ChangeFacts.model_fields) - {"tagged", "unusable_tags"}
    assert set(TAGGABLE_FACTS) < set(ASKED_FACTS)


@pytest.mark.parametrize("text", ["2026-12-31", "2024-02-29"])
def test_days_of_the_calendar_are_dates(text):
    assert is_date(text)


@pytest.mark.parametrize(
    "text", ["", "2026-02-30", "31.12.2026", "20261231", "2026-W01-1", "2026-12-31T00:00", "next week", "٢٠٢٦-١٢-٣١"]
)
def test_anything_else_is_no_date(text):
    assert not is_date(text)
    assert objection_to_fact("implementation_date", text) == "is not a date such as 2026-12-31"


def test_a_fact_is_a_text_of_bounded_length_that_a_report_can_hold():
    assert objection_to_fact("reason", "x" * LONGEST_FACT) is None
    assert objection_to_fact("reason", "x" * (LONGEST_FACT + 1)) == "has 2001 characters; up to 2000 are accepted"
    assert objection_to_fact("reason", "\ud800") == "is not valid Unicode"
    assert objection_to_fact("notification_deadline", " 2026-12-31 ") is None


def test_what_nobody_stated_later_is_left_out_of_the_document():
    assert set(ChangeFacts().model_dump()) == {
        *("owner", "purpose", "tier", "developer", "validator", "reason", "change_type", "planned")
    }
