"""Numbers as text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordpath_governance.numbers import (
    CostColumn,
    cost_column,
    count,
    exponentials,
    fixed,
    pair,
    percent,
    signed,
    significant,
    with_error,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1.000"),
        (-0.0123456, "−0.01235"),
        (1234.5, "1,234"),
        (999.96, "1,000"),
        (1234567.0, "1.235×10⁶"),
        (-0.00001234, "−1.234×10⁻⁵"),
        (math.nan, "not known"),
        (math.inf, "not known"),
    ],
)
def test_significant(value, text):
    assert significant(value) == text


def test_minus_is_a_minus_and_zero_has_none():
    assert fixed(-0.0004, 3) == "0.000"
    assert fixed(-1.5, 1) == "−1.5"
    assert "-" not in significant(-1e-12)


@pytest.mark.parametrize(("text", "with_sign"), [("0.00", "0.00"), ("0.01", "+0.01"), ("−0.01", "−0.01")])
def test_signed(text, with_sign):
    assert signed(text) == with_sign


def test_pair_tells_two_numbers_apart():
    assert pair(0.1, 0.1000001) == ("0.1000000", "0.1000001")
    assert pair(2.0, 2.0) == ("2.000", "2.000")


@given(finite, finite)
def test_pair_never_shows_two_numbers_as_one(old, new):
    texts = pair(old, new)
    assert (texts[0] == texts[1]) == (old == new)


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        (0.0, math.log(2.0), ("1.000", "2.000")),
        (1e-7, 2e-7, ("1.0000001", "1.0000002")),
        (-800.0, 0.0, ("<10⁻³⁰⁰", "1.000")),
        (0.5, 800.0, ("1.649", ">10³⁰⁰")),
    ],
)
def test_exponentials(old, new, texts):
    assert exponentials(old, new) == texts


@given(finite, st.none() | st.floats(min_value=0, allow_nan=False, allow_infinity=False))
def test_no_text_is_ever_nan(value, error):
    for text in (significant(value), with_error(value, error), percent(value / 1e200)):
        assert "nan" not in text
        assert "inf" not in text
        assert "-" not in text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (-0.7029, 0.0466, "−0.703 ± 0.047"),
        (-211.41, 0.79, "−211.41 ± 0.79"),
        (1e-9, 0.5, "0.000 ± 0.500"),
        (-1e-9, 4e-10, "(−1.00 ± 0.40)×10⁻⁹"),
        (-0.03, None, "−0.0300"),
    ],
)
def test_with_error(value, error, text):
    assert with_error(value, error).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.5, "50.0 %"), (-0.032, "−3.2 %"), (0.00001, "< 0.1 %"), (-0.00001, "> −0.1 %"), (0.0, "0.0 %")]
)
def test_percent(fraction, text):
    assert percent(fraction).replace("\u00a0", " ") == text


def test_count():
    assert count(1234567) == "1,234,567"


def test_one_format_shows_the_smallest_step():
    column = cost_column([9.8395, 9.1366], [-0.3513, -0.0036])
    assert column == CostColumn(0, 4)
    assert column.delta_with_error(-0.0036, 0.0032).replace("\u00a0", " ") == "−0.0036 ± 0.0032"
    assert column.delta(0.0228) == "+0.0228"


def test_a_tiny_step_does_not_drag_the_others_along():
    assert cost_column([1.0], [-0.5, -1e-14]).decimals == 5


def test_one_giant_step_does_not_hide_the_small_ones():
    assert cost_column([224.42, 9.14], [-211.4, -1.29, -0.65, -0.04]).delta(-0.04) == "−0.040"


def test_large_costs_share_a_power_of_ten():
    column = cost_column([4.5123e9, 4.4e9], [-1.1e8, 2e6])
    assert column.suffix == "×10⁹"
    assert column.cost(4.5123e9) == "4.5123"
    assert column.delta(2e6) == "+0.0020"


def test_an_error_below_the_last_decimal_is_not_zero():
    assert CostColumn(0, 2).error(0.0001) == "<0.01"
    assert CostColumn(0, 2).error(0.0) == "0.00"


@given(st.lists(finite), st.lists(finite))
def test_every_column_can_be_written(costs, deltas):
    column = cost_column(costs, deltas)
    assert all("nan" not in column.cost(value) for value in (*costs, *deltas))


def test_no_values_at_all():
    assert cost_column([], []).cost(0.0) == "0.00"
    assert cost_column([9.1366], []).cost(9.1366) == "9.137"
