"""Which promotions are past the years for which their policy asked to keep them."""

from dataclasses import replace

import pytest

from coordpath_governance.ledger.records import past_retention
from coordpath_governance.policy.terms import Retention

SEVEN = Retention(**{"class": "model change", "years": 7})
ONE = Retention(**{"class": "short", "years": 1})


@pytest.fixture
def keep(book):
    """Record a promotion with a retention, at a time."""

    def add(retention, at, model="fraud"):
        intent = book.intend(retention=retention)
        promoted = book.promote(intent, model=model, retention=retention)
        book.entries[-1] = replace(promoted, at=at)

    return add


def told(book, now):
    return [str(each) for each in past_retention(book.entries, now)]


def test_what_is_past_its_retention(book, keep):
    keep(SEVEN, "2019-03-02T00:00:00.000000Z")
    keep(SEVEN, "2019-03-01T00:00:00.000000Z")
    keep(SEVEN, "2020-01-01T00:00:00.000000Z")
    keep(ONE, "2024-01-01T00:00:00.000000Z", model="churn")
    first, second = told(book, "2026-03-15T00:00:00.000000Z")
    assert first == (
        "1 promotion of 'churn' is past its retention of 1 year (class 'short'), the oldest of 2024-01-01; "
        "nothing is deleted by us"
    )
    assert second == (
        "2 promotions of 'fraud' are past their retention of 7 years (class 'model change'), the oldest of 2019-03-01; "
        "nothing is deleted by us"
    )


@pytest.mark.parametrize(
    ("at", "last", "over"),
    [
        ("2019-03-01T12:00:00.000001Z", "2026-03-01T12:00:00.000000Z", "2026-03-01T12:00:00.000001Z"),
        ("2016-02-29T12:00:00.000000Z", "2023-02-28T23:59:59.999999Z", "2023-03-01T00:00:00.000000Z"),
    ],
)
def test_to_the_microsecond_and_over_a_leap_day(book, keep, at, last, over):
    keep(SEVEN, at)
    assert told(book, last) == []
    assert len(told(book, over)) == 1


def test_promotions_without_a_retention_and_other_entries_are_never_past_one(story):
    assert told(story, "2126-01-01T00:00:00.000000Z") == []
