"""Two decision trees as the steps between them.

Both are walked from their roots. Nodes at the same place that compare the same column are one node: its threshold moves
and its children stay. Where the columns differ, or only one of the two is a leaf, the old subtree collapses from below, each
node to the value that the old tree stores in it, and then the new one grows from above. A leaf in both gets its new value.
Thresholds between the same two numbers of single precision are the same, for scikit-learn compares in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from coordpath_governance.errors import AlignmentError
from coordpath_governance.models.decision_tree import DecisionTree, single_leaf
from coordpath_governance.paths.splits.split_units import COLLAPSE, GROW, MOVE, REFIT, SplitUnits
from coordpath_governance.paths.splits.tree_change import Place, TreeChange, TreeUnit

__all__ = ["align_trees"]


def align_trees(old: DecisionTree | None, new: DecisionTree) -> TreeChange:
    """The steps from ``old`` to ``new``; None is the tree before its first split, one leaf with the value of the new root.

    Raises `AlignmentError` if one predicts numbers and the other classes, or other classes.
    """
    old = single_leaf(new) if old is None else old
    if old.classes != new.classes:
        raise AlignmentError(
            f"the old tree predicts {_predicts(old)} and the new one {_predicts(new)}, so that no step leads from one to "
            "the other; fit both on the same kind of target, with the same classes."
        )
    names = tuple(dict.fromkeys((*old.names, *new.names)))
    return _Walk(_on(old, names), _on(new, names)).change()


def _predicts(tree: DecisionTree) -> str:
    return f"the classes {', '.join(tree.classes[:5])}" if tree.classes else "numbers"


def _on(tree: DecisionTree, names: tuple[str, ...]) -> DecisionTree:
    """The same tree with the columns numbered as in ``names``."""
    if tree.names == names:
        return tree
    places = np.array([*(names.index(name) for name in tree.names), -1], dtype=np.int64)
    return replace(tree, names=names, feature=places[tree.feature])


@dataclass
class _Walk:
    """Places and steps as they are met."""

    old: DecisionTree
    new: DecisionTree
    places: list[Place] = field(default_factory=list)
    steps: list[TreeUnit] = field(default_factory=list)
    after: list[tuple[int, ...]] = field(default_factory=list)

    def change(self) -> TreeChange:
        pending: list[tuple[int, int, tuple[str, ...]]] = [(0, 0, ())]
        numbers: list[tuple[int, int, tuple[str, ...]]] = []
        while pending:  # all places first, so that a place can name those of its children
            old, new, turns = pending.pop()
            numbers.append((old, new, turns))
            if self._same_column(old, new):
                pending.append((int(self.old.right[old]), int(self.new.right[new]), (*turns, "right")))
                pending.append((int(self.old.left[old]), int(self.new.left[new]), (*turns, "left")))
        by_turns = {turns: number for number, (_, _, turns) in enumerate(numbers)}
        for old, new, turns in numbers:
            if self._same_column(old, new):
                children = (by_turns[(*turns, "left")], by_turns[(*turns, "right")])
                self.places.append(Place(old, new, children, self._moved(old, new, turns)))
            elif self.old.is_leaf(old) and self.new.is_leaf(new):
                self.places.append(Place(old, new, unit=self._refitted(old, new, turns, ())))
            else:
                self.places.append(self._replaced(old, new, turns))
        kinds = tuple(step.kind for step in self.steps)
        units = SplitUnits(kinds, tuple(self.after))
        return TreeChange(self.old, self.new, tuple(self.places), tuple(self.steps), units)

    def _same_column(self, old: int, new: int) -> bool:
        return not self.old.is_leaf(old) and bool(self.old.feature[old] == self.new.feature[new])

    def _add(self, step: TreeUnit, after: tuple[int, ...] = ()) -> int:
        self.steps.append(step)
        self.after.append(after)
        return len(self.steps) - 1

    def _moved(self, old: int, new: int, turns: tuple[str, ...]) -> int | None:
        before, afterwards = float(self.old.threshold[old]), float(self.new.threshold[new])
        missing = bool(self.old.missing_left[old]), bool(self.new.missing_left[new])
        takes_missing = self.old.takes_missing and self.new.takes_missing
        if _single(before) == _single(afterwards) and not (takes_missing and missing[0] != missing[1]):
            return None
        return self._add(TreeUnit(MOVE, turns, self.old.names[self.old.feature[old]], (before, afterwards), missing))

    def _refitted(self, old: int, new: int, turns: tuple[str, ...], after: tuple[int, ...]) -> int | None:
        """``old`` may be an inner node, of which its subtree has left a leaf with its own value."""
        before, afterwards = self.old.value[old], self.new.value[new]
        if np.array_equal(before, afterwards):
            return None
        value = tuple(before.tolist()), tuple(afterwards.tolist())
        return self._add(TreeUnit(REFIT, turns, value=value), after)

    def _replaced(self, old: int, new: int, turns: tuple[str, ...]) -> Place:
        unit_of: dict[int, int] = {}
        collapse: list[tuple[int, int]] = []
        for node, inner in reversed(_inner_nodes(self.old, old, turns)):
            before = (unit_of[int(child)] for child in (self.old.left[node], self.old.right[node]) if int(child) in unit_of)
            unit_of[node] = self._add(self._split(COLLAPSE, self.old, node, inner), tuple(sorted(before)))
            collapse.append((node, unit_of[node]))
        gone = (unit_of[old],) if old in unit_of else ()
        if self.new.is_leaf(new):
            return Place(old, new, None, self._refitted(old, new, turns, gone), tuple(collapse))
        grow: list[tuple[int, int]] = []
        before_child = {new: gone}
        for node, inner in _inner_nodes(self.new, new, turns):
            unit = self._add(self._split(GROW, self.new, node, inner), before_child[node])
            grow.append((node, unit))
            before_child |= {int(self.new.left[node]): (unit,), int(self.new.right[node]): (unit,)}
        return Place(old, new, None, None, tuple(collapse), tuple(grow))

    def _split(self, kind: str, tree: DecisionTree, node: int, turns: tuple[str, ...]) -> TreeUnit:
        threshold, missing = float(tree.threshold[node]), bool(tree.missing_left[node])
        is_new = kind == GROW
        return TreeUnit(
            kind,
            turns,
            tree.names[tree.feature[node]],
            (None, threshold) if is_new else (threshold, None),
            (None, missing) if is_new else (missing, None),
        )


def _inner_nodes(tree: DecisionTree, root: int, turns: tuple[str, ...]) -> list[tuple[int, tuple[str, ...]]]:
    """The inner nodes of a subtree, each with its turns from the root of the tree, a parent before its children."""
    found: list[tuple[int, tuple[str, ...]]] = []
    pending = [(root, turns)]
    while pending:
        node, way = pending.pop()
        if not tree.is_leaf(node):
            found.append((node, way))
            pending.append((int(tree.right[node]), (*way, "right")))
            pending.append((int(tree.left[node]), (*way, "left")))
    return found


def _single(threshold: float) -> float:
    """The largest number of single precision that is at most the threshold: a row goes left if it is at most this."""
    single = np.float32(threshold)
    return float(np.nextafter(single, np.float32(-np.inf)) if float(single) > threshold else single)
