"""One pass over the rows: the moments of the design, or an error that says why these rows cannot be used."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.reference.encode import EncodedRows, ReadingPlan, Tally, encode_rows
from coordpath_governance.reference.moments import Moments, MomentsAccumulator
from coordpath_governance.reference.rank_figures import quantiles
from coordpath_governance.reference.ranked import ALL_DIGITS, RankedSums
from coordpath_governance.reference.sources import RowSource

__all__ = ["CollectedRows", "InputRange", "collect_moments"]

Progress = Callable[[int], None]
MAX_DESIGN_COLUMNS = 4000
KEPT_CELLS = 20_000_000
"""If the rows have at most so many numbers (160 MB), they are kept for the second pass and not read again."""
KEPT_FOR_PASSES = 100_000_000
"""The same limit (800 MB) for a cost that passes over the rows many times."""

_FEWEST_EFFECTIVE_ROWS = 1.5


@dataclass(frozen=True)
class InputRange:
    """The 5th, 50th and 95th percentile of a raw column that is an input of functions."""

    column: str
    p05: float
    p50: float
    p95: float


@dataclass(frozen=True)
class CollectedRows:
    """The moments, the number of rows left out because a value was missing, and the rows themselves if they are few."""

    moments: Moments
    rows_dropped: int
    kept: list[EncodedRows] | None
    inputs: tuple[InputRange, ...] = ()


def collect_moments(source: RowSource, plan: ReadingPlan, progress: Progress | None = None) -> CollectedRows:
    """Read all rows once. ``progress`` is called with the number of rows read so far.

    Raises `ReferenceDataError`, which names everything that keeps the rows from being used.
    """
    columns = plan.design.columns
    if len(columns) > MAX_DESIGN_COLUMNS:
        raise ReferenceDataError(
            f"the models' columns and levels need {len(columns)} coordinates; at most {MAX_DESIGN_COLUMNS} are supported. "
            "Group rare levels in the encoder (min_frequency, max_categories)."
        )
    if plan.target in plan.design.raw_columns:
        raise ReferenceDataError(f"the target '{plan.target}' is also an input of the models; name the right target column")
    tally = Tally()
    accumulator = MomentsAccumulator(columns)
    kept: list[EncodedRows] | None = []
    inputs = {name: RankedSums(1, ALL_DIGITS, share=8) for name in plan.design.function_inputs}
    most = KEPT_CELLS if plan.family == "gaussian" else KEPT_FOR_PASSES
    for chunk in encode_rows(source, plan, tally):
        accumulator.add(chunk.design, chunk.target, chunk.weight)
        for ranked, numbers in zip(inputs.values(), chunk.inputs.T, strict=True):
            present = ~np.isnan(numbers) & (chunk.weight > 0.0)
            ranked.add(numbers[present], chunk.weight[present])
        if kept is not None:
            kept.append(chunk)
            if accumulator.rows * (len(columns) + 2) > most:
                kept = None
        if progress is not None:
            progress(tally.rows_read)
    tally.raise_for_refusals(plan)
    moments = accumulator.result()
    _check_enough(moments, source.name, tally, plan.weight)
    ranges = [InputRange(name, *_percentiles(ranked)) for name, ranked in inputs.items()]
    return CollectedRows(moments, tally.rows_dropped, kept, tuple(ranges))


def _percentiles(ranked: RankedSums) -> tuple[float, float, float]:
    """The 5th, 50th and 95th percentile; zeros for a column that is always missing."""
    values, weights = ranked.cells()
    return quantiles(values, weights[:, 0]) if len(values) else (0.0, 0.0, 0.0)


def _check_enough(moments: Moments, name: str, tally: Tally, weight: str | None) -> None:
    if tally.rows_read == 0:
        raise ReferenceDataError(f"'{name}' has no rows; give reference data with at least two")
    if moments.rows == 0 and tally.rows_dropped == tally.rows_read:
        raise ReferenceDataError(f"all {tally.rows_read} rows of '{name}' have a missing value; none is left after dropping")
    if moments.rows == 0:
        rows = tally.rows_read - tally.rows_dropped
        raise ReferenceDataError(
            f"all weights in the column '{weight}' of '{name}' are zero ({rows} rows); at least two rows must count"
        )
    if moments.rows == 1:
        raise ReferenceDataError(f"'{name}' has one usable row; a cost and its standard error need at least two")
    figures = (moments.weight_sum, moments.weight_square_sum, moments.target_variance)
    if not (all(math.isfinite(figure) for figure in figures) and math.isfinite(moments.target_mean)):
        raise ReferenceDataError(f"target or weights in '{name}' are too large for double precision; rescale the column")
    if not moments.weight_square_sum > 0.0:
        raise ReferenceDataError(f"the weights in '{name}' are too small for double precision; rescale the column")
    effective = (moments.weight_sum / math.sqrt(moments.weight_square_sum)) ** 2
    if effective < _FEWEST_EFFECTIVE_ROWS:
        raise ReferenceDataError(
            f"the weights in '{name}' leave effectively {effective:.3g} rows ((Σw)²/Σw²); a standard error needs more"
        )
