"""The loss of rows at a value of a tree: squared error, or of classes the Brier score or the log loss.

Of two classes the Brier score is (p − y)², with p the probability of the second class and y 1 for it; of more it is
Σ_c (p_c − y_c)².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ProblemError, ReferenceDataError
from coordpath_governance.models.decision_tree import DecisionTree, leaf_of_rows
from coordpath_governance.paths.splits.tree_change import where_in_tree

__all__ = ["BRIER", "LOG_LOSS", "SQUARED", "RowLosses", "check_log_loss"]

SQUARED, BRIER, LOG_LOSS = "squared error", "Brier score", "log loss"

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowLosses:
    """``target``: a number for each row, or the position of its class; ``weight`` adds up to 1, so that losses are means."""

    kind: str
    target: NDArray[np.generic]
    weight: Floats

    def __post_init__(self) -> None:
        if self.kind not in (SQUARED, BRIER, LOG_LOSS):
            raise ProblemError(f"splits: the loss {self.kind!r} is none of {SQUARED}, {BRIER}, {LOG_LOSS}")

    def total(self, members: Integers, value: Floats) -> float:
        """Σ weight·loss over some of the rows if the tree says ``value`` of them."""
        weight = self.weight[members]
        if self.kind == SQUARED:
            return float(weight @ (self.target[members].astype(np.float64) - value[0]) ** 2)
        return float(weight @ self._of_classes(value)[self.target[members].astype(np.int64)])

    def of_rows(self, values: Floats) -> Floats:
        """The loss of each row at a value of its own, without its weight."""
        if self.kind == SQUARED:
            errors: Floats = (self.target.astype(np.float64) - values[:, 0]) ** 2
            return errors
        own = self.target.astype(np.int64)
        return np.array([self._of_classes(value)[label] for value, label in zip(values, own, strict=True)])

    def _of_classes(self, value: Floats) -> Floats:
        """The loss of a row of each class."""
        if self.kind == LOG_LOSS:
            with np.errstate(divide="ignore"):
                losses: Floats = -np.log(value)
            return losses
        if len(value) == 2:
            return np.array([value[1] ** 2, (1 - value[1]) ** 2])
        return np.array([float(((value - hit) ** 2).sum()) for hit in np.eye(len(value))])


def check_log_loss(tree: DecisionTree, rows: NDArray[np.float32], losses: RowLosses, which: str) -> None:
    """Raise `ReferenceDataError` if a leaf gives probability 0 to the class of a row; ``which`` names the tree."""
    own = losses.target.astype(np.int64)
    ends = leaf_of_rows(tree, rows, len(own))
    none = tree.value[ends, own] <= 0
    if none.any():
        leaves, counts = np.unique(ends[none], return_counts=True)
        leaf, count = int(leaves[counts.argmax()]), int(counts.max())
        raise ReferenceDataError(
            f"the log loss is infinite: the leaf '{where_in_tree(tree, leaf)}' of {which} gives probability 0 to the class "
            f"of {count} reference rows (in all leaves: {int(none.sum())}). Use the Brier score, or fit the tree with "
            "larger leaves."
        )
