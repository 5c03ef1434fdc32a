"""Subset programme from both ends: all sets up to the middle level, all from there on, and the best place where they meet.

With F(S) = αₖ e(S) + min_{u∈S} F(S∖u) for k = |S| ≤ m, and B the same for the complements without the weight of level m,

    min over chains Σ αₖ e(Sₖ) = min_{|S|=m} F(S) + B(S).

Only two neighbouring groups of sets and level m are kept, as whole numbers of a quantum q = U/(2³⁰ − 1), where U is the sum
of a known chain: terms are rounded down, terms and sums are cut off at U. A chain below U is never cut off, and loses less
than q for each of its terms, so that the least sum of all chains is at most n·q above what is found. Whole numbers take half
the memory of floating-point numbers of that precision, and their sums are exact.

A set is (high word, low word). Groups have the same number of high bits; low words are ordered by their number of bits, so
that those which stay at or below the middle level are the first. Minima over high bits run along rows, minima over low bits
along the columns of a transposed chunk, and the terms of a chunk are one matrix product.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.masks import units_of
from coordpath_governance.paths.solvers.improvement import first_polish
from coordpath_governance.paths.solvers.lattice import Lattice, bit_rows
from coordpath_governance.paths.solvers.protocol import SET_FUNCTION, Answer, ChainTask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coordpath_governance.paths.orders.set_function import SetFunction

    Sums = NDArray[np.int32]

__all__ = ["MOST_UNITS", "Halves", "meet_in_the_middle"]

MOST_UNITS = 30
"""Most units: 2³⁰ sets take half a minute and 1.9 GB, and each unit more doubles both."""

_CAP = (1 << 30) - 1
"""The known chain's sum in quanta: twice that is still a whole number of 32 bits."""

_CHUNK = 1 << 22
"""Numbers of a chunk."""

_FAINT = 2.0**-900
"""A sum below this, where the largest number is near 1, is nothing but rounding, and its quantum would overflow weights."""

_TRIAL = 0.04
"""Part of all sets after which the pace is known, and a deadline that would come too early ends the attempt."""


class Halves:
    """Exact for chains of up to `MOST_UNITS` units."""

    name = "halves"
    needs = SET_FUNCTION

    def __init__(self, most_units: int = MOST_UNITS) -> None:
        self.most_units = most_units

    def lacks(self, task: ChainTask) -> str | None:
        """Two neighbouring groups of 2^D sets have to fit into memory."""
        if task.function.lifts is not None:
            return "takes quadratic costs only"
        return None if task.function.size <= self.most_units else f"takes up to {self.most_units} units"

    def solve(self, task: ChainTask) -> Answer:
        """The best order from a polished one, with its bound; that one without a bound if the deadline comes first."""
        order, value = first_polish(task)
        return meet_in_the_middle(task, order, value) or Answer(order, 0.0, self.name)


def meet_in_the_middle(task: ChainTask, order: tuple[int, ...], value: float) -> Answer | None:
    """A chain that no other beats by more than a few hundred-millionths of its sum, from one with the sum ``value``.

    The given order is kept unless another is better by more than that, so that rounding does not choose between equals.
    None if the deadline came, or certainly would have come, before the end.
    """
    if task.depth == 0:
        return Answer(order, 0.0, Halves.name)
    function = task.function.normalised()
    exponent = function.exponent - task.function.exponent
    task, value = replace(task, function=function), math.ldexp(value, -exponent)
    before, bound = np.inf, 0.0
    while _FAINT < value < before / 2.0:  # a far better chain allows for a finer quantum
        before, quantum = value, value / _CAP
        try:
            least, first = _Middle(task, (task.depth + 1) // 2, quantum).search()
        except _LateError:
            return None
        slack = (task.depth + 1) * quantum
        if least * quantum < value - slack:
            candidate = _order_through(task, first)
            reached = task.evaluate(candidate)
            order, value = (candidate, reached) if reached < value - slack else (order, value)
        bound = max(bound, min(value - slack, least * quantum))
    bound = math.ldexp(bound, exponent)
    task.report("all sets", math.ldexp(value, exponent), bound)
    return Answer(order, bound, Halves.name)


def _order_through(task: ChainTask, first: list[int]) -> tuple[int, ...]:
    """The best order that moves the units of ``first`` before all others."""
    size, count = task.function.size, len(first)
    others = [u for u in range(size) if u not in set(first)]
    halves = (
        (first, ChainTask(task.function.restrict((), first), task.alphas[: count - 1])),
        (others, ChainTask(task.function.restrict(first, others), task.alphas[count:])),
    )
    return tuple(units[u] for units, half in halves for u in Lattice().solve(half).order)


class _Middle:
    """Both halves of one problem, and what they share."""

    def __init__(self, task: ChainTask, middle: int, quantum: float) -> None:
        self.task, self.middle = task, middle
        size = task.function.size
        self.low = max(1, size // 2 - 3)
        self.high = size - self.low
        self.alphas = np.zeros(size + 1)
        self.alphas[1 : task.depth + 1] = task.alphas / quantum
        self.began = task.patience.left()
        self.done = 0

    def search(self) -> tuple[int, list[int]]:
        """F + B in quanta at the best set of the middle level, and its units."""
        size, function = self.task.function.size, self.task.function
        forward = dict(self._half(function, self.alphas, self.middle))
        alphas = self.alphas[::-1].copy()
        alphas[size - self.middle] = 0.0
        least, best = 2 * _CAP, 0
        words = np.arange(1 << self.high)
        high_count, low_words = np.bitwise_count(words), _by_count(self.low)
        for group, block in self._half(function.complement(), alphas, size - self.middle):
            sums = forward.pop(self.high - group)[::-1, ::-1]
            sums += block
            lowest = sums.min(axis=1, initial=2 * _CAP)
            row = int(np.argmin(lowest))
            if int(lowest[row]) < least:
                least = int(lowest[row])
                counted = low_words[np.bitwise_count(low_words) == size - self.middle - group]
                others = int(words[high_count == group][row]) << self.low | int(counted[np.argmin(sums[row])])
                best = ~others & ((1 << size) - 1)
            del sums, block
        return least, units_of(best)

    def _half(self, function: SetFunction, alphas: NDArray[np.float64], last: int) -> Iterator[tuple[int, Sums]]:
        """The values of all sets of ``last`` units, by their number of high bits; None for them if the deadline came.

        Rows are high words, columns the low words with as many bits as are missing, both in ascending order.
        """
        low, high = self.low, self.high
        words = _by_count(low)
        count = np.bitwise_count(words).astype(np.int64)
        begins = np.searchsorted(count, np.arange(low + 2)).tolist()
        place = np.argsort(words)
        before = [place[[w ^ (1 << i) for i in range(low) if w >> i & 1]].tolist() for w in words.tolist()]
        terms = _Terms(function, words, high)
        high_count = np.bitwise_count(np.arange(1 << high))
        row_of = np.empty(1 << high, dtype=np.int64)
        previous: Sums = np.empty((0, 0), dtype=np.int32)
        for group in range(min(high, last) + 1):
            rows = np.flatnonzero(high_count == group)
            inner_width, width = (begins[min(max(last - group, 0) + more, low + 1)] for more in (0, 1))
            current = np.empty((len(rows), inner_width), dtype=np.int32)
            block = np.empty((len(rows), width - inner_width), dtype=np.int32)
            weights = alphas[group + count[:width]]
            at_once = max(1, _CHUNK // width)
            for begin in range(0, len(rows), at_once):
                chunk, span = rows[begin : begin + at_once], slice(begin, begin + at_once)
                self._go_on(len(chunk) * width)
                least = _least_over_highbit_rows(previous, row_of, chunk.tolist(), width)
                sums = _add_lowbit_rows(np.ascontiguousarray(least.T), terms.of(chunk, width, weights), before)
                current[span], block[span] = sums[:inner_width].T, sums[inner_width:].T
            row_of[rows] = np.arange(len(rows))
            previous = current
            if last - group <= low:
                yield group, np.minimum(block, _CAP, out=block)

    def _go_on(self, sets: int) -> None:
        """Raise `_LateError` if the time left is not enough, judged by the pace so far."""
        part = self.done / (1 << self.task.function.size)
        self.done += sets
        slow = self.task.patience.timed and self.began - self.task.patience.left() > part * self.began
        if self.task.expired() or (part >= _TRIAL and slow):
            raise _LateError


class _LateError(Exception):
    """The deadline has come, or would come before the end."""


class _Terms:
    """αₖ e(S) in quanta, for all low words, combined with some high words."""

    def __init__(self, function: SetFunction, low_words: NDArray[np.int64], high: int) -> None:
        low = function.size - high
        linear, quadratic = function.linear, function.quadratic
        bits = bit_rows(low_words, low)
        own = bits @ linear[:low] + np.sum((bits @ quadratic[:low, :low]) * bits, axis=1)
        self.left = np.column_stack([bits, np.ones(len(bits)), own])
        bits = bit_rows(np.arange(1 << high), high)
        own = function.e0 + bits @ linear[low:] + np.sum((bits @ quadratic[low:, low:]) * bits, axis=1)
        self.right = np.column_stack([2.0 * (bits @ quadratic[low:, :low]), own, np.ones(len(bits))])

    def of(self, high_words: NDArray[np.int64], width: int, weights: NDArray[np.float64]) -> Sums:
        """Rounded down, one row for each of the first ``width`` low words."""
        terms = (weights[:, None] * self.left[:width]) @ self.right[high_words].T
        np.minimum(terms, float(_CAP), out=terms)
        np.maximum(terms, 0.0, out=terms)
        rounded: Sums = terms.astype(np.int32)
        return rounded


def _least_over_highbit_rows(previous: Sums, row_of: NDArray[np.int64], words: list[int], width: int) -> Sums:
    """Least over the set bits j of each high word of the values of the word without j; F(∅) starts from 0."""
    least: Sums = np.full((len(words), width), _CAP, dtype=np.int32)
    if words[0] == 0:
        least[0, 0] = 0
    for row, word in zip(least, words, strict=True):
        rest = word
        while rest:
            bit = rest & -rest
            rest ^= bit
            np.minimum(row, previous[row_of[word ^ bit]], out=row)
    return least


def _add_lowbit_rows(least: Sums, terms: Sums, before: list[list[int]]) -> Sums:
    """The programme over the low words: rows are low words, columns the high words of a chunk; in place.

    What comes in is cut off at U, so that no sum overflows.
    """
    least[0] += terms[0]
    for row, term, predecessors in zip(least[1:], terms[1:], before[1 : len(least)], strict=True):
        for predecessor in predecessors:
            np.minimum(row, least[predecessor], out=row)
        np.add(row, term, out=row)
    return least


def _by_count(bits: int) -> NDArray[np.int64]:
    """All words of so many bits, those with fewer ones first."""
    words = np.arange(1 << bits)
    return words[np.argsort(np.bitwise_count(words), kind="stable")]
