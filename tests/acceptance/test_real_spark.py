"""Models that a real Spark fits here and now are read without it, and score as it serves them."""

from __future__ import annotations

import importlib.util
import math

import mlflow
import numpy as np
import pandas as pd
import pytest
from helpers.spark_models import GOLDEN, MODELS, check_scores, predicted, unpack
from pyspark.sql import SparkSession

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models import read_model

pytestmark = pytest.mark.spark


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    spec = importlib.util.spec_from_file_location("write_models", GOLDEN / "write_models.py")
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    writer.write(folder / "models.tar.xz")
    return folder, unpack(folder / "models.tar.xz", folder)


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_spark(fitted, name):
    check_scores(*fitted, name)


@pytest.mark.parametrize("name", ["tree", "squares", "query", "inverse", "power", "answer"])
def test_what_is_not_read_is_refused_by_name(fitted, name):
    folder, document = fitted
    assert name in document["refused"]
    with pytest.raises(UnsupportedModelError, match=r"stage '\w+'"):
        read_model(folder / name)


@pytest.mark.parametrize("name", ["poisson", "several", "gaussian"])
def test_mlflow_serves_what_is_explained(fitted, name):
    folder, document = fitted
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    rows = [row for row in document[name]["rows"][:6] if not any(_is_missing(value) for value in row.values())]
    served = mlflow.pyfunc.load_model(str(folder / name)).predict(pd.DataFrame(rows))
    assert np.asarray(served) == pytest.approx(np.array(predicted(read_model(folder / name), rows)), rel=1e-9)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
