"""Numbers as text: with enough digits to show differences, with a real minus sign, and never "nan"."""

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
"""Numbers from 10^LARGE on and up to 10^SMALL are written with a power of ten; LOWEST is the lowest power divided out."""
MAX_DIGITS = 17
MOST_DIGITS = 6
"""The most significant digits of the larger of two numbers with the same decimals."""
WIDEST = 9
"""The most significant digits of a cost."""
FEW = 4
TWO_ERRORS = 2.0
WRITABLE = 300 * math.log(10.0)
"""ln 10³⁰⁰: the largest exponent of e whose power is written as a number."""


def magnitude(value: float) -> int:
    """The power of ten of the leading digit: 3 for 1234, −2 for 0.05; 0 for 0."""
    return int(f"{value:.16e}".partition("e")[2])


def common_exponent(top: int) -> int:
    """The power of ten (a multiple of three) to divide out of numbers whose leading digit has the power ``top``."""
    return max(3 * (top // 3), LOWEST) if top >= LARGE or top <= SMALL else 0


def power_of_ten(exponent: int) -> str:
    """The text of a power of ten as a factor, such as ×10⁶."""
    return f"×10{str(exponent).translate(SUPERSCRIPTS)}"


def complement(probability: float) -> float:
    """1 − p for the decimal number p: 0.3 for 0.7, not the 0.30000000000000004 of floating point.

    So "0.7 for the first class" and "0.3 for the second class" are the same cut-off, and a report shows no move.
    """
    return float(1 - Fraction(repr(float(probability))))


def fixed(value: float, decimals: int) -> str:
    """``value`` with ``decimals`` decimals, separated thousands, and no minus before zero."""
    if not math.isfinite(value):
        return NOT_KNOWN
    text = f"{abs(value):,.{max(decimals, 0)}f}"
    return MINUS + text if value < 0 and text.strip("0.,") else text


def significant(value: float, digits: int = 4) -> str:
    """``value`` with ``digits`` significant digits; with a power of ten if it is very large or very small."""
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
    """The text of a number, with a plus sign if it is above zero."""
    return text if text.startswith(MINUS) or not text.strip("0.,") or text == NOT_KNOWN else "+" + text


def pair(old: float, new: float, digits: int = 4) -> tuple[str, str]:
    """Two numbers with as few digits (at least ``digits``) as make their texts differ."""
    for more in range(digits, MAX_DIGITS):
        texts = significant(old, more), significant(new, more)
        if texts[0] != texts[1] or old == new:
            return texts
    return significant(old, MAX_DIGITS), significant(new, MAX_DIGITS)


def exponentials(old: float, new: float, digits: int = 4) -> tuple[str, str]:
    """E to the power of both numbers, with digits as in `pair`; a bound if a result is too large or too small to write."""
    if max(abs(old), abs(new)) <= WRITABLE:
        return pair(math.exp(old), math.exp(new), digits)
    bounds = {True: f">{power_of_ten(300)[1:]}", False: f"<{power_of_ten(-300)[1:]}"}
    first, second = (
        bounds[value > 0] if abs(value) > WRITABLE else significant(math.exp(value), digits) for value in (old, new)
    )
    return first, second


def with_error(value: float, error: float | None, digits: int = 3) -> str:
    """A signed difference with its standard error, with decimals that suit the larger of the two and show the error."""
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
    """A difference as in `with_error`; a difference within noise has no more digits than its error.

    For example +0.0001 ± 0.0003 instead of (+54 ± 320)×10⁻⁶.
    """
    if not error or not is_within_noise(delta, error) or not 0 <= -magnitude(error) <= MOST_DIGITS:
        return with_error(delta, error)
    return CostColumn(0, -magnitude(error)).delta_with_error(delta, error)


def count(value: int) -> str:
    """A whole number with separated thousands."""
    return fixed(float(value), 0)


def percent(fraction: float, decimals: int = 1) -> str:
    """A fraction as per cent. A fraction that is not zero never reads as zero."""
    least = 10.0**-decimals
    if 0 < abs(fraction * 100) < least / 2:
        return (
            f"{'>' if fraction < 0 else '<'}{NUMBER_SPACE}{fixed(math.copysign(least, fraction), decimals)}{NUMBER_SPACE}%"
        )
    return f"{fixed(fraction * 100, decimals)}{NUMBER_SPACE}%"


@dataclass(frozen=True)
class CostColumn:
    """One format for the costs and differences of a table: the same decimals and the same power of ten."""

    exponent: int
    decimals: int

    @property
    def suffix(self) -> str:
        """The common power of ten, for a heading or after a number; "" if there is none."""
        return power_of_ten(self.exponent) if self.exponent else ""

    def cost(self, value: float) -> str:
        """A cost, without the common power of ten."""
        return fixed(self.scaled(value), self.decimals)

    def delta(self, value: float) -> str:
        """A difference of costs, with its sign."""
        return signed(self.cost(value))

    def error(self, value: float) -> str:
        """A standard error. If it is below the last decimal it reads "<0.0001", for example, not zero."""
        text = self.cost(value)
        if value > 0 and not text.strip("0.,"):
            return f"<{fixed(10.0**-self.decimals, self.decimals)}"
        return text

    def delta_with_error(self, delta: float, error: float | None) -> str:
        """A difference, with its standard error if there is one."""
        return self.delta(delta) if error is None else f"{self.delta(delta)}{PLUS_MINUS}{self.error(error)}"

    def scaled(self, value: float) -> float:
        """``value`` divided by the common power of ten."""
        return value / 10.0**self.exponent


def cost_column(costs: Iterable[float], deltas: Iterable[float], digits: int = 2) -> CostColumn:
    """The format in which the smallest difference has ``digits`` digits, but the largest has at most five.

    With four differences or more the largest is ignored, so that a very large first step does not hide the others.
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
