"""Files as users write them, models in a line, and the one pass over the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from coordpath_governance.alignment.layout import ModelPair, lay_out
from coordpath_governance.models import CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.reference.collect import CollectedRows, collect_moments
from coordpath_governance.reference.encode import ReadingPlan
from coordpath_governance.reference.sources import RowSource, TableSource, open_source


def _model(
    numeric: Sequence[str] = (),
    levels: dict[str, Sequence[str]] | None = None,
    *,
    missing: float | None = None,
    unknown: float | None = None,
    numeric_levels: bool = False,
    text_levels: bool = False,
) -> LinearModel:
    """1 + Σ x + Σ (position of the level)."""
    return LinearModel(
        1.0,
        tuple(NumericTerm(name, 1.0, missing) for name in numeric),
        tuple(
            CategoricalTerm(
                name, tuple(known), tuple(float(i) for i in range(len(known))), unknown, numeric_levels, text_levels
            )
            for name, known in (levels or {}).items()
        ),
    )


def _source(data: RowSource | Path | pd.DataFrame) -> RowSource:
    if isinstance(data, Path):
        return open_source(data)
    return TableSource(data) if isinstance(data, pd.DataFrame) else data


def _plan(model: LinearModel, candidate: LinearModel | None = None, **options: object) -> ReadingPlan:
    design = lay_out(ModelPair(model, candidate or model))
    return ReadingPlan(design, **{"target": "y", **options})


def _collect(data: RowSource | Path | pd.DataFrame, model: LinearModel, **options: object) -> CollectedRows:
    return collect_moments(_source(data), _plan(model, **options))


def _counts(data: RowSource | Path | pd.DataFrame, model: LinearModel, **options: object) -> dict[str, int]:
    """Rows of every level, and of missing values."""
    moments = _collect(data, model, **options).moments
    pairs = zip(moments.columns, moments.counts, strict=True)
    return {str(c.level if c.kind != "missing" else f"{c.column} is missing"): n for c, n in pairs if n}


@pytest.fixture(scope="session")
def model() -> Callable[..., LinearModel]:
    return _model


@pytest.fixture(scope="session")
def plan() -> Callable[..., ReadingPlan]:
    return _plan


@pytest.fixture(scope="session")
def collect() -> Callable[..., CollectedRows]:
    return _collect


@pytest.fixture(scope="session")
def counts() -> Callable[..., dict[str, int]]:
    return _counts


@pytest.fixture
def csv(tmp_path: Path) -> Callable[..., Path]:
    def write(content: str | bytes, name: str = "rows.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def parquet_file(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str = "rows.parquet", **columns: object) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(columns), path)
        return path

    return write
