"""Values and limits as text."""

import math

import pytest

from coordpath_governance.policy.results import limit_text, value_text


@pytest.mark.parametrize(
    ("value", "unit", "limit", "text"),
    [
        (0.123456, "number", None, "0.1235"),
        (0.123456, "number", 0.1235, "0.12346"),
        (0.5, "number", 0.5, "0.5"),
        (math.nextafter(0.1, 1), "number", 0.1, "0.10000000000000002"),
        (-2.0, "number", None, "−2"),
        (1200.0, "number", None, "1,200"),
        (0.05, "share", None, "5\u00a0%"),
        (3.0, "count", 2.0, "3"),
        (1.25, "standard errors", None, "1.25 standard errors"),
        (30.01, "days", 30.0, "at most 31 days"),
        (math.inf, "number", 1.0, "without bound"),
    ],
)
def test_a_value_has_as_many_digits_as_it_needs(value, unit, limit, text):
    assert value_text(value, unit, limit) == text


@pytest.mark.parametrize(
    ("limit", "unit", "text"),
    [
        (0.123456789, "number", "0.123456789"),
        (-0.5, "number", "−0.5"),
        (0.07, "share", "7\u00a0%"),
        (1000.0, "count", "1,000"),
        (2.0, "standard errors", "2 standard errors"),
        (30.0, "days", "30 days"),
    ],
)
def test_a_limit_is_told_as_it_was_set(limit, unit, text):
    assert limit_text(limit, unit) == text
