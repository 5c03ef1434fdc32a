"""The tree that stands after some of the steps, as a tree of its own: what a row is predicted on the way."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.paths.splits.tree_change import TreeChange

__all__ = ["tree_on_the_way"]

_PLACE, _OLD, _NEW = "place", "old", "new"


def tree_on_the_way(change: TreeChange, done: Collection[int]) -> DecisionTree:
    """The tree after these units, which must be ones that may be done without the others."""
    grown = _Nodes(change, done)
    pending: list[tuple[str, int, tuple[int, str] | None]] = [(_PLACE, 0, None)]
    while pending:
        kind, number, parent = pending.pop()
        node, below = grown.at(kind, number)
        if parent is not None:
            above, side = parent
            (grown.left if side == "left" else grown.right)[above] = node
        pending += [(*child, (node, side)) for child, side in zip(below, ("left", "right"), strict=False)]
    return grown.tree()


_Child = tuple[str, int]


@dataclass
class _Nodes:
    """The nodes so far."""

    change: TreeChange
    done: Collection[int]
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    value: list[list[float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        places = self.change.places
        self.collapses = {node: unit for place in places for node, unit in place.collapse}
        self.grows = {node: unit for place in places for node, unit in place.grow}

    def at(self, kind: str, number: int) -> tuple[int, tuple[_Child, ...]]:
        """Add one node, and say what lies below it."""
        old, new = self.change.old, self.change.new
        if kind == _NEW:
            is_split = number in self.grows and self.grows[number] in self.done
            return self._add(new, number, _NEW if is_split else None)
        if kind == _OLD:
            return self._add(old, number, None if self._collapsed(number) else _OLD)
        place = self.change.places[number]
        is_done = place.unit is not None and place.unit in self.done
        if place.children is not None:
            source, node = (new, place.new) if is_done else (old, place.old)
            added, _ = self._add(source, node, _OLD)
            return added, tuple((_PLACE, child) for child in place.children)
        if place.grow and self.grows[place.new] in self.done:
            return self.at(_NEW, place.new)
        if is_done:
            return self._add(new, place.new, None)
        return self.at(_OLD, place.old)

    def _collapsed(self, node: int) -> bool:
        return self.change.old.is_leaf(node) or self.collapses[node] in self.done

    def _add(self, source: DecisionTree, node: int, below: str | None) -> tuple[int, tuple[_Child, ...]]:
        is_split = below is not None
        self.feature.append(int(source.feature[node]) if is_split else -1)
        self.threshold.append(float(source.threshold[node]) if is_split else 0.0)
        self.missing_left.append(bool(source.missing_left[node]) and is_split)
        self.left.append(-1)
        self.right.append(-1)
        self.value.append(source.value[node].tolist())
        children = () if below is None else ((below, int(source.left[node])), (below, int(source.right[node])))
        return len(self.feature) - 1, children

    def tree(self) -> DecisionTree:
        """All of them as a tree."""
        return replace(
            self.change.new,
            feature=np.array(self.feature, dtype=np.int64),
            threshold=np.array(self.threshold),
            left=np.array(self.left, dtype=np.int64),
            right=np.array(self.right, dtype=np.int64),
            missing_left=np.array(self.missing_left, dtype=np.bool_),
            value=np.array(self.value),
        )
