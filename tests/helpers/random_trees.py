"""Decision trees that hypothesis makes, and the plainest ways to find the best order of the steps between two of them."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from hypothesis import strategies as st

from coordpath_governance.alignment.tree_units import align_trees
from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.paths.splits.measured import measure_splits
from coordpath_governance.paths.splits.row_losses import BRIER, SQUARED, RowLosses

COLUMNS = ("a", "b")


def tree_of(nested, columns=COLUMNS, classes=(), *, takes_missing=False):
    """A tree written down: a leaf is its value, a split (column, threshold, value, left, right[, missing goes left])."""
    nodes = []

    def add(part):
        number = len(nodes)
        nodes.append(None)
        if not isinstance(part, tuple):
            nodes[number] = (-1, 0.0, -1, -1, False, part)
            return number
        column, threshold, value, left, right, *missing = part
        first = add(left)
        nodes[number] = (columns.index(column), threshold, first, add(right), bool(missing and missing[0]), value)
        return number

    add(nested)
    feature, threshold, left, right, missing, value = zip(*nodes, strict=True)
    return DecisionTree(
        names=tuple(columns),
        feature=np.array(feature),
        threshold=np.array(threshold, dtype=float),
        left=np.array(left),
        right=np.array(right),
        missing_left=np.array(missing),
        value=np.array(value, dtype=float).reshape(len(nodes), -1),
        classes=tuple(classes),
        takes_missing=takes_missing,
    )


def _value(draw, classes):
    if not classes:
        return float(draw(st.integers(-4, 4)))
    parts = [draw(st.integers(1, 5)) for _ in classes]
    return [part / sum(parts) for part in parts]


@st.composite
def trees(draw, most=4, classes=()):
    """A tree of at most so many splits on two columns of small whole numbers."""
    left_over = draw(st.integers(0, most))

    def part(splits):
        value = _value(draw, classes)
        if not splits:
            return value
        first = draw(st.integers(0, splits - 1))
        column, threshold = draw(st.sampled_from(COLUMNS)), draw(st.integers(0, 3)) + 0.5
        return (column, threshold, value, part(first), part(splits - 1 - first))

    return tree_of(part(left_over), classes=classes)


@st.composite
def changes(draw, most=4, from_zero=None):
    """Two trees (or one from zero), aligned, with the loss of their steps on some rows."""
    classes = draw(st.sampled_from([(), (), ("no", "yes"), ("x", "y", "z")]))
    new = draw(trees(most, classes))
    is_first = draw(st.booleans()) if from_zero is None else from_zero
    change = align_trees(None if is_first else draw(trees(most, classes)), new)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    count = draw(st.integers(1, 40))
    rows = rng.integers(0, 5, (2, count)).astype(np.float32)
    target = rng.integers(0, len(classes), count) if classes else rng.normal(0, 3, count).round(1)
    weight = rng.integers(1, 4, count).astype(float)
    losses = RowLosses(BRIER if classes else SQUARED, target, weight / weight.sum())
    return change, rows, losses, measure_splits(change, rows, losses)


def every_order(units, steps):
    """All orders of so many steps that keep what comes first."""

    def longer(order):
        if len(order) == steps:
            yield tuple(order)
            return
        for unit in range(len(units)):
            if unit not in order and set(units.after[unit]) <= set(order):
                yield from longer([*order, unit])

    return longer([])


def least_objective(loss, gamma, steps):
    """min Σ γᵏ·F(S_k) over so many single steps, by all ways to begin, and then the rest at once."""
    count = len(loss.units)
    value = cache(loss.value)

    @cache
    def begun(done):
        if not done:
            return 0.0
        last = (done - {unit} for unit in done)
        ways = [begun(before) for before in last if all(set(loss.units.after[unit]) <= before for unit in before)]
        return min(ways, default=math.inf) + gamma ** len(done) * value(done)

    ends = {frozenset()}
    for _ in range(steps):
        ends = {
            done | {unit}
            for done in ends
            for unit in range(count)
            if unit not in done and set(loss.units.after[unit]) <= done
        }
    rest = gamma ** (steps + 1) * value(frozenset(range(count))) if steps < count else 0.0
    return min(begun(done) for done in ends) + rest
