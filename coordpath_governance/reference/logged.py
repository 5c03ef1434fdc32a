"""Moments that a training script logs, so that a later report needs no rows.

They are logged before it is known which models will use them: numeric columns with their missing indicators, text columns
as levels, whole-number columns with few values as both. No cell of fewer than `MIN_COUNT` rows is stored: rows with a rarer
level are left out and counted, and so are rows with a missing number if there are fewer than that. A column that would cost
too many rows is left out instead. Rows of weight zero carry no information and are left out too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError, model_validator

from coordpath_governance.canonical import canonical_bytes, read_json, sha256_hex
from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.models.linear_model import MISSING_LEVEL, level_label
from coordpath_governance.reference.collect import collect_moments
from coordpath_governance.reference.design import OTHER_LEVEL, CategoricalColumn, Design, DesignColumn, NumericColumn
from coordpath_governance.reference.encode import ReadingPlan, Tally
from coordpath_governance.reference.levels import level_reader
from coordpath_governance.reference.moments import MIN_COUNT, Moments
from coordpath_governance.reference.sources import TableSource

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LoggedMoments", "Role", "moments_for_design", "moments_to_log", "read_logged_moments"]

MAX_LEVELS = 200
MAX_WHOLE_NUMBER_LEVELS = 50
MAX_COLUMNS = 1000
MOST_ROWS_LOST = 0.05
"""A column whose rare levels or missing values would cost more than this share of the rows is not logged at all."""

Role = Literal["training", "holdout", "out-of-time", "not stated"]
Array = NDArray[np.float64]


class _Column(ClosedDocument):
    kind: Literal["numeric", "missing", "level"]
    column: str
    level: str | None = None
    rows: int | None = Field(default=None, ge=0)


class _Document(ClosedDocument, populate_by_name=True, serialize_by_alias=True):
    schema_: Literal["coordpath.reference/1"] = Field(default="coordpath.reference/1", alias="schema")
    target: str
    weight: str | None
    role: Role
    period: str | None
    rows: int = Field(ge=2)
    rows_dropped: int = Field(ge=0)
    weight_sum: float = Field(gt=0, allow_inf_nan=False)
    weight_square_sum: float = Field(gt=0, allow_inf_nan=False)
    left_out: tuple[str, ...]
    columns: tuple[_Column, ...]
    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]

    @model_validator(mode="after")
    def _shapes(self) -> _Document:
        size = len(self.columns) + 1
        if len(self.mean) != size or len(self.covariance) != size or any(len(row) != size for row in self.covariance):
            raise ValueError("mean and covariance do not have one entry per column and one for the target")
        if not all(np.isfinite(self.mean)) or not np.isfinite(np.array(self.covariance)).all():
            raise ValueError("mean or covariance is not finite")
        covariance = np.array(self.covariance)
        if not np.allclose(covariance, covariance.T, rtol=1e-9, atol=0.0) or (np.diag(covariance) < 0).any():
            raise ValueError("covariance is not symmetric or has a negative variance")
        if len({(c.kind, c.column, c.level) for c in self.columns}) != len(self.columns):
            raise ValueError("a column occurs twice")
        for column in self.columns:
            if (column.kind == "level") != (column.level is not None) or (column.kind == "numeric") != (column.rows is None):
                raise ValueError(f"the column '{column.column}' has no level or no number of rows where it needs one")
            if column.rows is not None and column.rows > self.rows:
                raise ValueError(f"the column '{column.column}' has more rows than there are")
        return self


@dataclass(frozen=True)
class LoggedMoments:
    """Logged moments as read back, with the SHA-256 of their bytes."""

    document: _Document
    sha256: str


def moments_to_log(
    frame: pd.DataFrame,
    target: str,
    *,
    weight: str | None,
    role: Role,
    period: str | None,
    missing: Literal["fail", "drop"],
) -> bytes:
    """The canonical bytes of the document ``coordpath.reference/1`` for the rows of a training script.

    ``frame`` holds the features and the column ``target``. Raises `ReferenceDataError` if the rows cannot be used.
    """
    frame = frame.set_axis([str(c) for c in frame.columns], axis="columns")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ReferenceDataError(f"the table has two columns of the name '{twice}'; rename one")
    usable = frame
    if weight is not None and weight in frame.columns:
        usable = usable[usable[weight] != 0]
    if missing == "drop":
        usable = usable.dropna(subset=[c for c in (target, weight) if c in frame.columns])
    rows, levels, left_out = _without_rare_levels(usable, [c for c in frame.columns if c not in (target, weight)])
    design = Design(
        numeric=tuple(NumericColumn(name, None) for name in levels if _is_numeric(frame[name])),
        categorical=tuple(
            CategoricalColumn(name, labels, False, MappingProxyType({})) for name, labels in levels.items() if labels
        ),
    )
    if len(design.columns) > MAX_COLUMNS:
        raise ReferenceDataError(
            f"{len(design.columns)} columns and levels are more than the {MAX_COLUMNS} that can be logged"
        )
    collected = collect_moments(TableSource(rows), ReadingPlan(design, target, weight, (), missing))
    moments, columns = _without_empty_columns(collected.moments)
    document = _Document(
        target=target,
        weight=weight,
        role=role,
        period=period,
        rows=moments.rows,
        rows_dropped=collected.rows_dropped + len(frame) - len(rows),
        weight_sum=moments.weight_sum,
        weight_square_sum=moments.weight_square_sum,
        left_out=tuple(left_out),
        columns=tuple(columns),
        mean=tuple(moments.mean.tolist()),
        covariance=tuple(tuple(row) for row in moments.covariance.tolist()),
    )
    return canonical_bytes(document.model_dump(mode="json"))


def _is_numeric(series: pd.Series[Any]) -> bool:
    return bool(series.dtype.kind in "biuf")


def _labels(series: pd.Series[Any]) -> pd.Series[Any]:
    """The level of every row; every kind of missing value has the same level."""
    return series.astype(object).map(level_label, na_action=None).mask(series.isna(), MISSING_LEVEL)


def _small_cells(series: pd.Series[Any]) -> tuple[pd.Series[Any], int, bool]:
    """The rows in cells that are too small, their number, and whether the column cannot be logged for another reason."""
    if _is_numeric(series):
        absent = series.isna()
        missing, present = int(absent.sum()), int((~absent).sum())
        few = 0 < missing < MIN_COUNT
        return absent & few, missing if few else 0, 0 < present < MIN_COUNT
    labels = _labels(series)
    counts = labels.value_counts()
    rare = counts[counts < MIN_COUNT]
    holds_name = bool((labels.eq(MISSING_LEVEL) & series.notna()).any())
    return labels.isin(rare.index), int(rare.sum()), holds_name or len(counts) - len(rare) > MAX_LEVELS


def _without_rare_levels(
    frame: pd.DataFrame, names: list[str]
) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]], list[str]]:
    """The rows without small cells, the levels to log for each column, and the columns that cannot be logged."""
    left_out: list[str] = []
    rows = frame
    while True:
        before = len(rows)
        for name in sorted(set(names).difference(left_out)):
            small, count, refused = _small_cells(rows[name])
            if refused or count > MOST_ROWS_LOST * len(frame):
                left_out.append(name)
            elif count:
                rows = rows[~small]
        if len(rows) == before:
            break
    levels: dict[str, tuple[str, ...]] = {}
    for name in names:
        if name in left_out:
            continue
        counts = _labels(rows[name]).value_counts()
        few_whole_numbers = (
            rows[name].dtype.kind in "biu" and len(counts) <= MAX_WHOLE_NUMBER_LEVELS and counts.min() >= MIN_COUNT
        )
        levels[name] = tuple(sorted(counts.index)) if not _is_numeric(rows[name]) or few_whole_numbers else ()
    return rows, levels, left_out


def _without_empty_columns(moments: Moments) -> tuple[Moments, list[_Column]]:
    """The moments without indicators that never occur, such as "missing" where nothing is missing."""
    occurring = [i for i, count in enumerate(moments.counts) if count != 0]
    columns = [moments.columns[i] for i in occurring]
    counts = [moments.counts[i] for i in occurring]
    described = [
        _Column(
            kind="numeric" if c.kind == "numeric" else ("missing" if c.kind == "missing" else "level"),
            column=c.column,
            level=c.level,
            rows=count,
        )
        for c, count in zip(columns, counts, strict=True)
    ]
    return moments.mapped(np.eye(len(moments.columns))[occurring], columns, counts), described


def read_logged_moments(content: bytes) -> LoggedMoments:
    """Read back what `moments_to_log` made. Raises `ReferenceDataError` if the bytes are not such a document."""
    raw = read_json(content, "the logged reference moments", ReferenceDataError)
    try:
        document = _Document.model_validate(raw)
    except ValidationError as error:
        raise ReferenceDataError(f"the logged reference moments cannot be read: {str(error)[:300]}") from error
    return LoggedMoments(document, sha256_hex(content))


def moments_for_design(logged: LoggedMoments, design: Design) -> Moments:
    """The moments of the design, as sums of logged columns.

    Raises `ReferenceDataError` if the log lacks a column that the models need, or has levels that a model cannot score.
    """
    document = logged.document
    at = {(c.kind, c.column, c.level): i for i, c in enumerate(document.columns)}
    with_levels = {c.column for c in document.columns if c.kind == "level"}
    lacking = [n.column for n in design.numeric if ("numeric", n.column, None) not in at]
    lacking += [c.column for c in design.categorical if c.column not in with_levels]
    if lacking:
        raise ReferenceDataError(
            f"the logged reference moments do not hold {', '.join(lacking)} as the models use it (not logged, or its "
            f"levels have fewer than {MIN_COUNT} rows); use --data with the rows"
        )
    tally = Tally(rows_read=document.rows)
    rows: list[Array] = []
    for numeric in design.numeric:
        rows.append(_pick(document, [at["numeric", numeric.column, None]]))
        missing = [i for i in [at.get(("missing", numeric.column, None))] if i is not None]
        if numeric.missing_refused_by is None:
            rows.append(_pick(document, missing))
        elif missing:
            tally.missing[numeric.column] += document.columns[missing[0]].rows or 0
    for categorical in design.categorical:
        rows.extend(_level_rows(document, categorical, tally))
    tally.raise_for_refusals()
    matrix = np.array(rows).reshape(len(rows), len(document.columns))
    source = Moments(
        columns=tuple(DesignColumn(c.kind, c.column, c.level) for c in document.columns),
        rows=document.rows,
        weight_sum=document.weight_sum,
        weight_square_sum=document.weight_square_sum,
        mean=np.array(document.mean),
        covariance=np.array(document.covariance),
        counts=tuple(c.rows for c in document.columns),
    )
    counted = np.array([c.rows or 0 for c in document.columns])
    counts = [int(row @ counted) if c.is_indicator else None for row, c in zip(matrix, design.columns, strict=True)]
    return source.mapped(matrix, design.columns, counts)


def _pick(document: _Document, positions: list[int]) -> Array:
    row = np.zeros(len(document.columns))
    row[positions] = 1.0
    return row


def _level_rows(document: _Document, categorical: CategoricalColumn, tally: Tally) -> list[Array]:
    """One row of weights per level and one for all other levels, over the logged levels of that column."""
    read = level_reader(categorical.levels, numeric_levels=categorical.numeric_levels, text_levels=categorical.text_levels)
    logged_levels = [(i, c) for i, c in enumerate(document.columns) if c.column == categorical.column and c.kind == "level"]
    cells = {i: read(c.level) for i, c in logged_levels}
    groups: list[tuple[str, list[int]]] = [
        (level, [i for i, logged in cells.items() if logged == level]) for level in categorical.levels
    ]
    groups.append((OTHER_LEVEL, [i for i, logged in cells.items() if logged not in categorical.levels]))
    for level, positions in groups:
        who = categorical.refused_by.get(level)
        for i in positions if who is not None else []:
            tally.refused_levels.setdefault((categorical.column, str(who)), Counter())[cells[i]] += (
                document.columns[i].rows or 0
            )
    return [_pick(document, positions) for _, positions in groups]
