"""A scorer that takes a LinearModel at its word, row by row, and ways to get models in and out of archives."""

from __future__ import annotations

import io
import json
import math
import shutil
import zipfile
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import pytest
from helpers.bent_models import Frame, taken_back
from helpers.spark_models import ARCHIVES, unpack

from coordpath_governance.models import LinearModel, fold_stored, level_label
from coordpath_governance.models.archive import read_archive_bytes
from coordpath_governance.models.functions import term_values


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _score(model: LinearModel, row: Mapping[str, object]) -> float | None:
    total = model.intercept
    for term in model.numeric:
        value = row[term.column]
        part = term.missing if _is_missing(value) else term.coefficient * float(value)
        if part is None:
            return None
        total += part
    for term in model.categorical:
        part = term.effect(level_label(row[term.column]))
        if part is None:
            return None
        total += part
    if model.functions:
        values = term_values([p for term in model.functions for p in term.pieces], Frame(pd.DataFrame([row])), 1)
        return total + float(values[0]) if np.isfinite(values[0]) else None
    return total


@pytest.fixture(scope="session")
def score() -> Callable[[LinearModel, Mapping[str, object]], float | None]:
    return _score


def _predict(model: LinearModel, row: Mapping[str, object]) -> list[float] | None:
    """What a model predicts by its link: a mean, or the probability of every class."""
    scores = [_score(each, row) for each in model.class_scores or (model,)]
    if None in scores:
        return None
    if model.link == "softmax":
        parts = [math.exp(score - max(scores)) for score in scores]
        return [part / sum(parts) for part in parts]
    if model.link == "logit":
        return [1 / (1 + math.exp(scores[0])), 1 / (1 + math.exp(-scores[0]))]
    if model.target_map:
        return [float(taken_back(model, np.array(scores))[0])]
    return [math.exp(scores[0]) if model.link == "log" else scores[0]]


@pytest.fixture(scope="session")
def predict() -> Callable[[LinearModel, Mapping[str, object]], list[float] | None]:
    return _predict


@pytest.fixture(scope="session")
def dumps() -> Callable[[object], bytes]:
    from skops import io as skops_io

    return skops_io.dumps


@pytest.fixture(scope="session")
def fold_bytes() -> Callable[..., LinearModel]:
    def fold(data: bytes, names: list[str] | None = None) -> LinearModel:
        return fold_stored(read_archive_bytes(data), names)

    return fold


@pytest.fixture(scope="session")
def unzip() -> Callable[[bytes], dict[str, bytes]]:
    def members(data: bytes) -> dict[str, bytes]:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    return members


@pytest.fixture(scope="session")
def rezip() -> Callable[..., bytes]:
    def archive(members: Mapping[str, bytes | object], compression: int = zipfile.ZIP_STORED) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compression) as target:
            for name, content in members.items():
                target.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
        return buffer.getvalue()

    return archive


@pytest.fixture(scope="session")
def spark_models(tmp_path_factory):
    """The folders of models that Spark 3.5 has written, and models.json; not to be changed."""
    folder = tmp_path_factory.mktemp("spark")
    unpack(ARCHIVES[0], folder)
    return folder


@pytest.fixture
def spark_copy(spark_models, tmp_path):
    """A copy of one of them that may be changed."""

    def of(name):
        return shutil.copytree(spark_models / name, tmp_path / name)

    return of
