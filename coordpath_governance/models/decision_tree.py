"""DecisionTree: a fitted decision tree as its nodes, and where a row ends in it.

A row goes left at a node where ``float32(x) ≤ threshold``, as scikit-learn compares, and a missing value goes where the
node says. What the tree predicts of it is the value of the leaf where it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.models.linear_model import Provenance

__all__ = ["DecisionTree", "goes_left", "leaf_of_rows", "rows_as_compared", "single_leaf"]

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DecisionTree:
    """The nodes of a tree by their number; node 0 is the root, and a parent has a smaller number than its children.

    ``names`` are those of all the columns it was fitted on. ``feature`` is the position of the column that a node compares,
    −1 at a leaf; ``left`` and ``right`` are the children, −1 at a leaf; ``value`` has one row per node: a mean, or one
    probability for each of ``classes``. ``takes_missing``: scikit-learn sends a missing value where ``missing_left`` says,
    otherwise it raises. The other fields are those of `LinearModel`.
    """

    names: tuple[str, ...]
    feature: Integers
    threshold: Floats
    left: Integers
    right: Integers
    missing_left: Booleans
    value: Floats
    classes: tuple[str, ...] = ()
    takes_missing: bool = False
    target: str | None = None
    estimator: str = ""
    source: str = "read from the model's files"
    settings: Mapping[str, float | str | bool | None] | None = None
    library: str = ""
    remarks: tuple[str, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)

    def __post_init__(self) -> None:
        """Nobody may change an array afterwards."""
        for array in (self.feature, self.threshold, self.left, self.right, self.missing_left, self.value):
            array.flags.writeable = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that some node compares, in their order."""
        return tuple(self.names[position] for position in sorted(set(self.feature.tolist()) - {-1}))

    @property
    def count(self) -> int:
        """The number of nodes."""
        return len(self.feature)

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return int((self.left < 0).sum())

    def is_leaf(self, node: int) -> bool:
        """Whether a node has no children."""
        return bool(self.left[node] < 0)


def single_leaf(tree: DecisionTree) -> DecisionTree:
    """The tree before its first split: one leaf with the value of the root, which is the mean of what it was fitted on."""
    none = np.full(1, -1, dtype=np.int64)
    return DecisionTree(
        names=tree.names,
        feature=none,
        threshold=np.zeros(1),
        left=none.copy(),
        right=none.copy(),
        missing_left=np.zeros(1, dtype=np.bool_),
        value=tree.value[:1].copy(),
        classes=tree.classes,
        takes_missing=tree.takes_missing,
        target=tree.target,
        estimator="a single leaf",
        source="the root of the tree",
    )


def rows_as_compared(columns: Sequence[Floats], names: Sequence[str], *, takes_missing: bool) -> NDArray[np.float32]:
    """Columns of numbers as scikit-learn compares them: in single precision, one row of the answer per column.

    Raises `ReferenceDataError` where scikit-learn would refuse the rows: a number too large for single precision, and a
    missing value in a tree that takes none.
    """
    with np.errstate(over="ignore"):
        single = [np.asarray(column, dtype=np.float32) for column in columns]
    for name, column in zip(names, single, strict=True):
        too_large, missing = int(np.isinf(column).sum()), int(np.isnan(column).sum())
        if too_large:
            raise ReferenceDataError(
                f"column '{name}': {too_large} rows hold infinity or a number too large for single precision, in which "
                "trees compare; scikit-learn would refuse them. Correct them or leave them out."
            )
        if missing and not takes_missing:
            raise ReferenceDataError(
                f"column '{name}': {missing} rows have no value, and the tree takes none there; leave them out "
                "(--missing drop) or fit the tree with splitter='best' and a criterion that knows missing values."
            )
    rows = len(single[0]) if single else 0
    return np.array(single, dtype=np.float32).reshape(len(single), rows)


def goes_left(tree: DecisionTree, node: int, column: NDArray[np.float32]) -> Booleans:
    """Which values of the column that the node compares go to its left child."""
    left: Booleans = column.astype(np.float64) <= tree.threshold[node]
    missing = np.isnan(column)
    if tree.missing_left[node] and missing.any():
        left = left | missing
    return left


def leaf_of_rows(tree: DecisionTree, rows: NDArray[np.float32], count: int) -> Integers:
    """The leaf in which each of ``count`` rows ends; ``rows`` as `rows_as_compared` makes them, for all of ``names``."""
    ends: Integers = np.zeros(count, dtype=np.int64)
    pending: list[tuple[int, Integers]] = [(0, np.arange(count))]
    while pending:
        node, members = pending.pop()
        if tree.is_leaf(node):
            ends[members] = node
        elif len(members):
            left = goes_left(tree, node, rows[tree.feature[node], members])
            pending += [(int(tree.left[node]), members[left]), (int(tree.right[node]), members[~left])]
    return ends
