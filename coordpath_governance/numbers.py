"""Numbers as text: as many digits as show the differences, a real minus sign, never "nan"."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

__all__ = [
    "MINUS",
    "NOT_KNOWN",
    "NUMBER_SPACE",
    "CostColumn",
    "complement",
    "cost_column",
    "count",
    "difference",
    "exponentials",
    "fixed",
    "is_within_noise",
    "pair",
    "percent",
    "signed",
    "significant",
    "with_error",
]

MINUS = "\u2212"
NUMBER_SPACE = "\u00a0"
NOT_KNOWN = "not known"
PLUS_MINUS = f"{NUMBER_SPACE}±{NUMBER_SPACE}"
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
LARGE, SMALL, LOWEST = 6, -4, -300
"""Powers of ten from which on, and below which, a number is written with one; and the lowest that is divided out."""
MAX_DIGITS = 17
MOST_DIGITS = 6
"""Significant digits of the larger of two numbers that share their decimals."""
WIDEST = 9
"""Significant digits that a cost may have at most."""
FEW = 4
TWO_ERRORS = 2.0
WRITABLE = 300 * math.log(10.0)
"""The exponent of e at 10³⁰⁰."""


def magnitude(value: float) -> int:
    """The power of ten of the leading digit: 3 for 1234, −2 for 0.05; 0 for 0."""
    return int(f"{value:.16e}".partition("e")[2])


def common_exponent(top: int) -> int:
    """The power of ten, a multiple of three, taken out of numbers whose leading digit is too high or too low to read."""
    return max(3 * (top // 3), LOWEST) if top >= LARGE or top <= SMALL else 0


def power_of_ten(exponent: int) -> str:
    """×10⁶ and the like."""
    return f"×10{str(exponent).translate(SUPERSCRIPTS)}"


def complement(probability: float) -> float:
    """1 − p, for p as it is written: 0.3 for 0.7, where the difference of the doubles is 0.30000000000000004.

    So "0.7 for the first class" and "0.3 for the second" are one cut-off, and a report that compares them tells of no move.
    """
    return float(1 - Fraction(repr(float(probability))))


def fixed(value: float, decimals: int) -> str:
    """``value`` with so many decimals, thousands apart, and no minus before a zero."""
    if not math.isfinite(value):
        return NOT_KNOWN
    text = f"{abs(value):,.{max(decimals, 0)}f}"
    return MINUS + text if value < 0 and text.strip("0.,") else text


def significant(value: float, digits: int = 4) -> str:
    """``value`` with so many significant digits; powers of ten where plain figures would be all zeros."""
    if not math.isfinite(value):
        return NOT_KNOWN
    if not value:
        return "0"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if SMALL <= exponent < LARGE:
        return fixed(float(f"{mantissa}e{power}"), digits - 1 - exponent)
    return fixed(float(mantissa), digits - 1) + power_of_ten(exponent)


def signed(text: str) -> str:
    """The text of a number with a plus before anything above zero."""
    return text if text.startswith(MINUS) or not text.strip("0.,") or text == NOT_KNOWN else "+" + text


def pair(old: float, new: float, digits: int = 4) -> tuple[str, str]:
    """Two numbers with as few digits (at least ``digits``) as still tell them apart."""
    for more in range(digits, MAX_DIGITS):
        texts = significant(old, more), significant(new, more)
        if texts[0] != texts[1] or old == new:
            return texts
    return significant(old, MAX_DIGITS), significant(new, MAX_DIGITS)


def exponentials(old: float, new: float, digits: int = 4) -> tuple[str, str]:
    """The powers of e, with digits as of `pair`; a bound where that is too large or too small to write."""
    if max(abs(old), abs(new)) <= WRITABLE:
        return pair(math.exp(old), math.exp(new), digits)
    bounds = {True: f">{power_of_ten(300)[1:]}", False: f"<{power_of_ten(-300)[1:]}"}
    first, second = (
        bounds[value > 0] if abs(value) > WRITABLE else significant(math.exp(value), digits) for value in (old, new)
    )
    return first, second


def with_error(value: float, error: float | None, digits: int = 3) -> str:
    """A signed difference with its standard error, both to the decimals that suit the larger and show the error."""
    if error is None or not error > 0:
        return signed(significant(value, digits))
    top = magnitude(max(abs(value), error))
    exponent = common_exponent(top)
    decimals = max(digits - 1 - top, min(1 - magnitude(error), MOST_DIGITS - 1 - top)) + exponent
    text = CostColumn(exponent, max(decimals, 0)).delta_with_error(value, error)
    return f"({text}){power_of_ten(exponent)}" if exponent else text


def is_within_noise(delta: float, error: float | None) -> bool:
    """Whether a difference is no larger than two of its standard errors."""
    return error is not None and abs(delta) <= TWO_ERRORS * error


def difference(delta: float, error: float | None) -> str:
    """A difference as of `with_error`; one that is within noise has no more digits than its error has.

    That is +0.0001 ± 0.0003 for (+54 ± 320)×10⁻⁶.
    """
    if not error or not is_within_noise(delta, error) or not 0 <= -magnitude(error) <= MOST_DIGITS:
        return with_error(delta, error)
    return CostColumn(0, -magnitude(error)).delta_with_error(delta, error)


def count(value: int) -> str:
    """A whole number, thousands apart."""
    return fixed(float(value), 0)


def percent(fraction: float, decimals: int = 1) -> str:
    """A fraction as per cent; something that is not zero never reads as zero."""
    least = 10.0**-decimals
    if 0 < abs(fraction * 100) < least / 2:
        return (
            f"{'>' if fraction < 0 else '<'}{NUMBER_SPACE}{fixed(math.copysign(least, fraction), decimals)}{NUMBER_SPACE}%"
        )
    return f"{fixed(fraction * 100, decimals)}{NUMBER_SPACE}%"


@dataclass(frozen=True)
class CostColumn:
    """One format for all costs and differences that stand together: same decimals, same power of ten."""

    exponent: int
    decimals: int

    @property
    def suffix(self) -> str:
        """The common power of ten, to put behind one number or into a heading; empty when there is none."""
        return power_of_ten(self.exponent) if self.exponent else ""

    def cost(self, value: float) -> str:
        """A cost, without the common power of ten."""
        return fixed(self.scaled(value), self.decimals)

    def delta(self, value: float) -> str:
        """A difference of costs, with its sign."""
        return signed(self.cost(value))

    def error(self, value: float) -> str:
        """A standard error; below the last decimal it reads as "<0.0001", not as zero."""
        text = self.cost(value)
        if value > 0 and not text.strip("0.,"):
            return f"<{fixed(10.0**-self.decimals, self.decimals)}"
        return text

    def delta_with_error(self, delta: float, error: float | None) -> str:
        """A difference with its standard error where there is one."""
        return self.delta(delta) if error is None else f"{self.delta(delta)}{PLUS_MINUS}{self.error(error)}"

    def scaled(self, value: float) -> float:
        """``value`` divided by the common power of ten."""
        return value / 10.0**self.exponent


def cost_column(costs: Iterable[float], deltas: Iterable[float], digits: int = 2) -> CostColumn:
    """The format in which the smallest difference keeps ``digits`` digits, within five of the largest one.

    Among four differences or more the largest does not count: a giant first step must not hide the others.
    """
    differences = sorted(abs(delta) for delta in deltas if delta and math.isfinite(delta))
    values = [abs(value) for value in costs if value and math.isfinite(value)] + differences
    if not values:
        return CostColumn(0, digits)
    top = magnitude(max(values))
    exponent = common_exponent(top)
    if differences:
        largest = differences[-1 if len(differences) < FEW else -2]
        decimals = min(digits - 1 - magnitude(differences[0]), MOST_DIGITS - 2 - magnitude(largest))
    else:
        decimals = 3 - top
    return CostColumn(exponent, max(min(decimals, WIDEST - 1 - top) + exponent, 0))
