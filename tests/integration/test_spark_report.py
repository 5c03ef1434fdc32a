"""`coordpath report` and `scan` on a registry whose versions are folders of Spark models; nothing here can start Spark."""

from __future__ import annotations

import json
import shutil
import sys
import uuid

import numpy as np
import pandas as pd
import pytest
from helpers.spark_models import ARCHIVES, predicted, unpack

from coordpath_governance.models import read_model

CITIES = ["Bern", "Chur", "Genf", "Zug"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    unpack(ARCHIVES[-1], folder)
    return folder


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rng = np.random.default_rng(8)
    count = 150
    frame = pd.DataFrame({"a": rng.uniform(0, 10, count), "b": rng.normal(2, 3, count), "c": rng.normal(-1, 0.5, count)})
    frame["city"] = rng.choice(CITIES, count)
    frame["tier"] = rng.choice([0.5, 1.0], count)
    frame["price"] = 0.3 * frame.a - 0.2 * frame.b + (frame.city == "Bern") + rng.normal(0, 0.5, count)
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    frame.to_csv(path, index=False)
    return path, pd.read_csv(path)


@pytest.fixture
def registered(store, models, tmp_path):
    """A registered model with three versions; the second and the third are one function, fitted by different classes."""
    name = f"spark {uuid.uuid4().hex[:8]}"
    store.client.create_registered_model(name)
    for model in ("linear", "gaussian", "nested"):
        source = shutil.copytree(models / model, tmp_path / model)
        store.client.create_model_version(name, source=source.as_uri())
    store.client.set_registered_model_alias(name, "champion", "1")
    return name


@pytest.fixture
def report(registered, rows, coordpath, tmp_path):
    """The folder of a report on two of the versions."""

    def make(champion, candidate):
        out = tmp_path / f"{champion}-{candidate}"
        versions = ("--champion", champion, "--candidate", candidate)
        outcome = coordpath(
            "report", registered, *versions, "--data", rows[0], "--target", "price", "--no-attach", "--out", out
        )
        assert outcome.code == 0, outcome.err
        return out

    return make


def test_report_of_two_versions(report, rows, models, coordpath):
    path, frame = rows
    out = report("1", "2")
    document = json.loads((out / "change_report.json").read_text(encoding="utf-8"))
    steps = document["path"]["steps"]
    for model, cost in (("linear", document["path"]["start_cost"]), ("gaussian", steps[-1]["cost"])):
        found = np.array(predicted(read_model(models / model), frame.to_dict("records")))
        assert cost == pytest.approx(np.mean((found - frame.price.to_numpy()) ** 2), rel=1e-9)
    text = (out / "change_report.md").read_text(encoding="utf-8")
    assert "GeneralizedLinearRegressionModel" in text
    assert "Spark 4.3" in text
    assert {step["feature"] for step in steps} <= {*frame.columns, "(baseline)"}
    assert coordpath("verify", out / "change_report.json", "--data", path).code == 0
    assert "pyspark" not in sys.modules


def test_one_function_in_two_classes_is_no_change(report):
    document = json.loads((report("2", "3") / "change_report.json").read_text(encoding="utf-8"))
    assert document["path"]["steps"] == []


def test_scan_names_it(registered, coordpath):
    line = next(line for line in coordpath("scan").out.splitlines() if registered in line)
    assert line.startswith("read ")
    assert "LinearRegressionModel" in line
