"""Products and sums to twice the working precision, with nothing but numpy.

A number is a pair (high, low) of doubles whose exact sum it is. Matrix products follow Ozaki, Ogita, Oishi and Rump (2012):
both factors are cut into slices of so few bits that the product of two slices is exact in double precision, in whatever
order a BLAS adds it up. So the result is the same on every machine.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["Twofold", "difference", "exact_products", "exactly", "multiply"]

_BITS = 106
"""Bits below the largest entry of a row (or column) that a product keeps."""

_SMALL = 8192
"""Up to so many products they are made one by one, which takes fewer calls."""

_FEW = 600
"""Up to so many numbers are added up one by one."""

_SPLITTER = 134217729.0
"""2²⁷ + 1, which cuts a double into two halves of 26 bits."""


class Twofold(NamedTuple):
    """high + low, exactly; |low| is at most half a unit in the last place of high."""

    high: FloatArray
    low: FloatArray

    def plus(self, other: Twofold) -> Twofold:
        """The sum, to twice the working precision."""
        high, low = _two_sum(self.high, other.high)
        return Twofold(*_two_sum(high, low + self.low + other.low))

    def times(self, factor: float) -> Twofold:
        """The product with a power of two, exactly."""
        return Twofold(self.high * factor, self.low * factor)

    def scaled(self, factors: FloatArray | float) -> Twofold:
        """The product with plain numbers entry by entry, to twice the working precision."""
        product = exact_products(self.high, factors)
        return Twofold(*_two_sum(product.high, product.low + self.low * factors))

    def total(self) -> Twofold:
        """The sum along the first axis."""
        if self.high.size <= _FEW:
            return self._few_total()
        left = self
        while len(left.high) > 1:
            half = len(left.high) // 2
            paired = left.part(slice(0, half)).plus(left.part(slice(half, 2 * half)))
            rest = left.part(slice(2 * half, None))
            left = Twofold(np.concatenate([paired.high, rest.high]), np.concatenate([paired.low, rest.low]))
        return left.part(0) if len(left.high) else Twofold(np.zeros(left.high.shape[1:]), np.zeros(left.high.shape[1:]))

    def _few_total(self) -> Twofold:
        """The same by Python's own exact sums, which take fewer calls."""
        shape = self.high.shape[1:]
        columns = np.concatenate([self.high, self.low]).reshape(2 * len(self.high), math.prod(shape)).T.tolist()
        high = list(map(math.fsum, columns))
        for column, sum_ in zip(columns, high, strict=True):
            column.append(-sum_)
        low = list(map(math.fsum, columns))
        return Twofold(np.array(high).reshape(shape), np.array(low).reshape(shape))

    def part(self, index: int | slice | NDArray[np.intp]) -> Twofold:
        """Entries along the first axis."""
        return Twofold(self.high[index], self.low[index])


def exactly(values: FloatArray) -> Twofold:
    """Plain numbers as pairs, whose low parts are zero."""
    return Twofold(values, np.zeros_like(values))


def difference(left: FloatArray, right: FloatArray) -> Twofold:
    """Left − right, exactly."""
    return Twofold(*_two_sum(left, -right))


def multiply(left: FloatArray | Twofold, right: FloatArray | Twofold) -> Twofold:
    """Left @ right, off by about 2⁻¹⁰⁴ of (largest of the row)·(largest of the column)·(number of products).

    Entries must be of moderate size, so that their products neither overflow nor underflow.
    """
    if isinstance(left, Twofold):
        if not isinstance(right, Twofold) and 2 * left.high.size * right.shape[1] <= _SMALL:
            return multiply(np.concatenate(left, axis=1), np.concatenate([right, right]))
        return multiply(left.high, right).plus(multiply(left.low, right))
    if isinstance(right, Twofold):
        if 2 * left.size * right.high.shape[1] <= _SMALL:
            return multiply(np.concatenate([left, left], axis=1), np.concatenate(right))
        return multiply(left, right.high).plus(multiply(left, right.low))
    if left.size * right.shape[1] <= _SMALL:
        return exact_products(left.T[:, :, None], right[:, None, :]).total()
    bits = (53 - max(1, left.shape[1]).bit_length()) // 2
    most = -(-_BITS // bits)
    rows, columns = _slices(left, 1, bits, most), _slices(right, 0, bits, most)
    sum_ = Twofold(np.zeros((left.shape[0], right.shape[1])), np.zeros((left.shape[0], right.shape[1])))
    pairs = [(i, j) for i in range(len(rows)) for j in range(len(columns)) if i + j < most]
    for i, j in sorted(pairs, key=sum, reverse=True):
        product = rows[i] @ columns[j]
        sum_ = sum_.plus(exactly(product))
    return sum_


def exact_products(left: FloatArray, right: FloatArray | float) -> Twofold:
    """left·right entry by entry, exactly unless it underflows (Dekker)."""
    product: FloatArray = left * right
    left_high, right_high = _upper_half(left), _upper_half(right)
    left_low, right_low = left - left_high, right - right_high
    error = ((left_high * right_high - product) + left_high * right_low + left_low * right_high) + left_low * right_low
    return Twofold(product, error)


def _slices(matrix: FloatArray, axis: int, bits: int, most: int) -> list[FloatArray]:
    """A sum of matrices that is the matrix: each row (axis 1) or column (axis 0) is integers of ``bits`` bits, scaled."""
    slices: list[FloatArray] = []
    rest = matrix
    while len(slices) < most and rest.any():
        exponents = np.frexp(np.max(np.abs(rest), axis=axis, keepdims=True))[1]
        part = np.ldexp(np.rint(np.ldexp(rest, bits - exponents)), exponents - bits)
        slices.append(part)
        rest = rest - part
    return slices


def _two_sum(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """fl(left + right) and what it misses (Knuth)."""
    high = left + right
    part = high - left
    return high, (left - (high - part)) + (right - part)


def _upper_half(values: FloatArray | float) -> FloatArray:
    scaled = _SPLITTER * np.asarray(values)
    upper: FloatArray = scaled - (scaled - values)
    return upper
