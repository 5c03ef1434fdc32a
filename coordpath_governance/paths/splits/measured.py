"""What every step between two trees does on the reference rows: the terms of `SplitLoss`, from one walk through both trees.

A row that goes the same way at the old and the new threshold belongs to one place. One that lies between them is followed
both ways: under the condition that the threshold has not moved yet, and under the condition that it has.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.models.decision_tree import DecisionTree, goes_left
from coordpath_governance.paths.splits.row_losses import LOG_LOSS, RowLosses, check_log_loss
from coordpath_governance.paths.splits.split_loss import Condition, SplitLoss, Term
from coordpath_governance.paths.splits.tree_change import Place, TreeChange

__all__ = ["measure_splits"]

Integers = NDArray[np.int64]


def measure_splits(change: TreeChange, rows: NDArray[np.float32], losses: RowLosses) -> SplitLoss:
    """The loss of every tree on the way; ``rows`` as `rows_as_compared` makes them, for the change's columns.

    Raises `ReferenceDataError` where the log loss of a tree on the way is infinite.
    """
    if losses.kind == LOG_LOSS:
        check_log_loss(change.old, rows, losses, "the old tree")
        check_log_loss(change.new, rows, losses, "the new tree")
    walk = _Walk(change, rows, losses)
    pending: list[tuple[int, Integers, Condition]] = [(0, np.arange(len(losses.weight)), ())]
    while pending:
        number, members, condition = pending.pop()
        if not len(members):
            continue
        place = change.places[number]
        if place.children is not None:
            pending += walk.below(place, place.children, members, condition)
        elif place.collapse or place.grow:
            walk.replaced(place, members, condition)
        else:
            walk.leaf(place, members, condition)
    return SplitLoss(change.units, walk.terms())


class _Walk:
    """Sums by condition."""

    def __init__(self, change: TreeChange, rows: NDArray[np.float32], losses: RowLosses) -> None:
        self._change, self._rows, self._losses = change, rows, losses
        self._bases: dict[Condition, list[float]] = {(): []}
        self._gains: dict[Condition, dict[int, float]] = {}

    def terms(self) -> tuple[Term, ...]:
        """One for each condition."""
        return tuple(
            Term(condition, math.fsum(bases), tuple(sorted(self._gains.get(condition, {}).items())))
            for condition, bases in sorted(self._bases.items())
        )

    def below(
        self, place: Place, children: tuple[int, int], members: Integers, condition: Condition
    ) -> list[tuple[int, Integers, Condition]]:
        """The rows on both sides, those between two thresholds on both of them."""
        old, new = self._change.old, self._change.new
        left, right = children
        before = self._left(old, place.old, members)
        if place.unit is None:
            return [(left, members[before], condition), (right, members[~before], condition)]
        afterwards = self._left(new, place.new, members)
        parted: list[tuple[int, Integers, Condition]] = [
            (left, members[before & afterwards], condition),
            (right, members[~before & ~afterwards], condition),
        ]
        for chosen, (first, second) in ((before & ~afterwards, (left, right)), (~before & afterwards, (right, left))):
            parted.append((first, members[chosen], (*condition, (place.unit, False))))
            parted.append((second, members[chosen], (*condition, (place.unit, True))))
        return parted

    def leaf(self, place: Place, members: Integers, condition: Condition) -> None:
        """A leaf in both trees."""
        before = self._loss(self._change.old, place.old, members)
        self._bases.setdefault(condition, []).append(before)
        if place.unit is not None:
            self._gain(condition, place.unit, before - self._loss(self._change.new, place.new, members))

    def replaced(self, place: Place, members: Integers, condition: Condition) -> None:
        """The old subtree loses its splits from below, and the new one gets them from above."""
        old, new = self._change.old, self._change.new
        inside = self._members(old, place.old, members)
        before = {node: self._loss(old, node, part) for node, part in inside.items()}
        leaves = [before[node] for node in inside if old.is_leaf(node)]
        self._bases.setdefault(condition, []).append(math.fsum(leaves))
        for node, unit in place.collapse:
            apart = before[int(old.left[node])] + before[int(old.right[node])]
            self._gain(condition, unit, apart - before[node])
        stands = before[place.old]
        if place.unit is not None:
            self._gain(condition, place.unit, stands - self._loss(new, place.new, members))
            return
        inside = self._members(new, place.new, members)
        afterwards = {node: self._loss(new, node, part) for node, part in inside.items()}
        for node, unit in place.grow:
            apart = afterwards[int(new.left[node])] + afterwards[int(new.right[node])]
            self._gain(condition, unit, (stands if node == place.new else afterwards[node]) - apart)

    def _gain(self, condition: Condition, unit: int, gain: float) -> None:
        gains = self._gains.setdefault(condition, {})
        gains[unit] = gains.get(unit, 0.0) + gain

    def _left(self, tree: DecisionTree, node: int, members: Integers) -> NDArray[np.bool_]:
        return goes_left(tree, node, self._rows[tree.feature[node], members])

    def _members(self, tree: DecisionTree, root: int, members: Integers) -> dict[int, Integers]:
        """The rows at each node of a subtree."""
        inside = {root: members}
        pending = [root]
        while pending:
            node = pending.pop()
            if not tree.is_leaf(node):
                left = self._left(tree, node, inside[node])
                for child, part in ((int(tree.left[node]), left), (int(tree.right[node]), ~left)):
                    inside[child] = inside[node][part]
                    pending.append(child)
        return inside

    def _loss(self, tree: DecisionTree, node: int, members: Integers) -> float:
        loss = self._losses.total(members, tree.value[node])
        if not math.isfinite(loss):
            raise ReferenceDataError(
                f"the {self._losses.kind} of a tree on the way is infinite: node {node} gives probability 0 to the class of "
                "some of its reference rows. Use the Brier score."
            )
        return loss
