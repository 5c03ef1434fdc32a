"""How long the steps of decision trees take to order: from zero, between two trees, and the best ten before the rest."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from coordpath_governance.alignment.tree_units import align_trees  # noqa: E402
from coordpath_governance.models.decision_tree import DecisionTree, rows_as_compared  # noqa: E402
from coordpath_governance.models.sklearn_reader import tree_from_estimator  # noqa: E402
from coordpath_governance.paths.splits.measured import measure_splits  # noqa: E402
from coordpath_governance.paths.splits.row_losses import SQUARED, RowLosses  # noqa: E402
from coordpath_governance.paths.splits.solve import SplitPath, solve_splits  # noqa: E402

_ROWS, _SPLITS = 20_000, 500
_FROM_ZERO, _TEN, _BETWEEN = 1.0, 5.0, 20.0


def columns() -> np.ndarray:
    """Twelve columns, of which four matter."""
    return np.random.default_rng(0).normal(size=(_ROWS, 12))


def target(rows: np.ndarray) -> np.ndarray:
    return np.sin(rows[:, 0] * 2) * rows[:, 1] + rows[:, 2] * rows[:, 3] + np.random.default_rng(1).normal(size=len(rows))


def tree(rows: np.ndarray, values: np.ndarray) -> DecisionTree:
    """A tree of 500 splits, as it is read."""
    from sklearn.tree import DecisionTreeRegressor

    grown = tree_from_estimator(DecisionTreeRegressor(max_leaf_nodes=_SPLITS + 1, random_state=0).fit(rows, values))
    assert grown is not None
    return grown


def ordered(old: DecisionTree | None, new: DecisionTree, rows: np.ndarray, most: int | None) -> SplitPath:
    """Align, measure on all rows, and solve."""
    values = target(rows)
    change = align_trees(old, new)
    compared = rows_as_compared(list(rows.T), change.columns, takes_missing=change.takes_missing)
    losses = RowLosses(SQUARED, values, np.full(len(values), 1 / len(values)))
    return solve_splits(measure_splits(change, compared, losses), max_steps=most)


def main() -> None:
    """A line each; 1 if one of them misses."""
    rows = columns()
    values = target(rows)
    half = _ROWS // 2
    first, second = tree(rows[:half], values[:half]), tree(rows[half:], values[half:])
    missed = False
    for what, old, most, seconds, status in (
        (f"a tree of {_SPLITS} splits from zero", None, None, _FROM_ZERO, "optimal"),
        ("the same, the best ten steps and then the rest", None, 10, _TEN, "optimal"),
        (f"from one tree of {_SPLITS} splits to another with moved thresholds", first, None, _BETWEEN, "bounded"),
    ):
        begin = time.perf_counter()
        certificate = ordered(old, second, rows, most).certificate
        taken = time.perf_counter() - begin
        reached = taken <= seconds and certificate.status in (status, "optimal")
        found = f"{taken:.2f} s on {_ROWS:,} rows, {certificate.status}, gap {certificate.gap:.1%}"
        told = f"{what}: {found}   must reach ≤ {seconds:g} s, {status}"
        print(f"{told}   {'reached' if reached else 'MISSED'}", flush=True)
        missed |= not reached
    sys.exit(missed)


if __name__ == "__main__":
    main()
