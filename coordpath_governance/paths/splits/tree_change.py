"""Two trees place by place, and the step at each: what `alignment.tree_units` makes and `measured` measures."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.paths.splits.split_units import SplitUnits

__all__ = ["Place", "TreeChange", "TreeUnit", "where_in_tree"]


@dataclass(frozen=True)
class TreeUnit:
    """One step: ``kind`` as in `split_units`, and where: the turns from the root, each "left" or "right".

    ``column`` is what the split compares, None for a leaf; ``threshold`` and ``missing_left`` are the old and the new one,
    None on the side where there is no such split; ``value`` are the old and the new value of a leaf that is refitted.
    """

    kind: str
    turns: tuple[str, ...]
    column: str | None = None
    threshold: tuple[float | None, float | None] = (None, None)
    missing_left: tuple[bool | None, bool | None] = (None, None)
    value: tuple[tuple[float, ...], tuple[float, ...]] | None = None


@dataclass(frozen=True)
class Place:
    """A node of the old tree and one of the new tree at the same place.

    With ``children`` (numbers of places) both compare the same column, and ``unit`` moves the threshold; without, either
    both are leaves and ``unit`` refits the value, or ``collapse`` and ``grow`` give the unit of each inner node, in an order
    in which they may be done; there, ``unit`` refits the leaf that the old subtree has left. A unit is None where nothing
    changes.
    """

    old: int
    new: int
    children: tuple[int, int] | None = None
    unit: int | None = None
    collapse: tuple[tuple[int, int], ...] = ()
    grow: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class TreeChange:
    """Both trees on the same columns, the places in which they were walked, and the steps between them."""

    old: DecisionTree
    new: DecisionTree
    places: tuple[Place, ...]
    steps: tuple[TreeUnit, ...]
    units: SplitUnits

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that both trees number in the same way."""
        return self.old.names

    @property
    def takes_missing(self) -> bool:
        """Whether both trees take missing values."""
        return self.old.takes_missing and self.new.takes_missing


def where_in_tree(tree: DecisionTree, node: int) -> str:
    """The conditions that lead to a node, such as "age ≤ 41.5, income > 3"; "the root" for the first one."""
    conditions: list[str] = []
    while node:
        parents = (tree.left == node) | (tree.right == node)
        parent = int(parents.argmax())
        sign = "≤" if tree.left[parent] == node else ">"
        conditions.append(f"{tree.names[tree.feature[parent]]} {sign} {tree.threshold[parent]:.6g}")
        node = parent
    return ", ".join(reversed(conditions)) or "the root"
