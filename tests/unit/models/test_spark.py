"""Spark ML models, read from the files that Spark 3.5 and 4 have written, score as Spark did."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from helpers.spark_models import ARCHIVES, MODELS, change_row, check_scores, expected_of, predicted, unpack

import coordpath_governance as cg
from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models import from_document, read_model, to_document
from coordpath_governance.models.linear_model import MISSING_LEVEL
from coordpath_governance.reference.levels import level_reader


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def fitted(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    return folder, unpack(request.param, folder)


def test_both_generations_and_every_model_are_there(tmp_path):
    documents = [unpack(archive, tmp_path / archive.name) for archive in ARCHIVES]
    assert [document["spark"].split(".")[0] for document in documents] == ["3", "4"]
    for document in documents:
        assert set(document) == {*MODELS, "spark", "refused"}


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_spark(fitted, name):
    check_scores(*fitted, name)


@pytest.mark.parametrize("name", ["logistic", "weighed", "pair", "sparse", "softmax"])
def test_decisions_are_those_of_spark(fitted, name):
    folder, document = fitted
    model = read_model(folder / name)
    rows = document[name]["rows"]
    said = [row and row["prediction"] for row in document[name]["predictions"]]
    for found, decision in zip(predicted(model, rows), said, strict=True):
        if found is not None:
            index = found.index(max(found)) if model.threshold is None else int(found[1] >= model.threshold)
            assert index == decision


def test_facts_beside_the_scores(fitted):
    folder, _ = fitted
    models = {name: read_model(folder / name) for name in MODELS}
    assert models["logistic"].threshold == 0.3
    assert models["weighed"].threshold == pytest.approx(0.7, rel=1e-12)
    assert models["softmax"].classes == ("high", "low", "mid")
    assert (models["softmax"].target, models["logistic"].target) == ("kind", "yes")
    assert models["binomial"].threshold is None
    assert (models["tweedie"].power, models["several"].family) == (1.5, "poisson")
    assert models["alone"].columns == ("features[0]", "features[1]")
    assert models["poisson"].regularisation["offset"] == "exposure"
    assert {term.column: term.coefficient for term in models["poisson"].numeric}["exposure"] == 1.0
    assert dict(models["linear"].regularisation) == {
        "kind": "elastic net",
        "regParam": 0.1,
        "elasticNetParam": 0.5,
        "weights": "weight",
    }
    assert dict(models["huber"].regularisation) == {"kind": "ridge", "regParam": 0.2, "loss": "huber"}
    assert models["huber"].has_intercept is False
    assert {name: model.estimator for name, model in models.items() if name in ("linear", "softmax", "gamma")} == {
        "linear": "LinearRegressionModel",
        "softmax": "LogisticRegressionModel",
        "gamma": "GeneralizedLinearRegressionModel",
    }


def test_levels_that_spark_wrote_as_text_are_numbers(fitted):
    model = read_model(fitted[0] / "gaussian")
    levels = {term.column: (term.levels, term.numeric_levels) for term in model.categorical}
    assert sorted(levels["tier"][0]) == ["0.5", "1"]
    assert levels["tier"][1]
    assert not levels["city"][1]


def indexed(folder, labels, served=None):
    """The gaussian model with other labels of 'tier', under a signature that gives it a type."""
    change_row(folder, "StringIndexer", labelsArray=lambda old: [old[0], labels])
    if served is not None:
        with (folder / "MLmodel").open("a") as stream:
            inputs = json.dumps([{"name": "Tier", "type": served, "required": True}])
            stream.write(f"\nsignature:\n  inputs: '{inputs}'\n")
    return {term.column: term for term in read_model(folder).categorical}["tier"]


@pytest.mark.parametrize(
    ("labels", "served", "levels", "numbers"),
    [
        (["1", "-2"], None, {"1", "-2"}, True),
        (["1", "0"], "long", {"1", "0"}, True),
        (["0.0", "0.001"], None, {"0", "0.001"}, True),
        (["1.5", "-2.0"], "double", {"1.5", "-2"}, True),
        (["1.50", "2.50"], None, {"1.50", "2.50"}, False),
        (["007", "-0"], None, {"007", "-0"}, False),
        ([" 1", "1_0"], None, {" 1", "1_0"}, False),
        (["1", "x"], None, {"1", "x"}, False),
        (["1", "1.0"], "string", {"1", "1.0"}, False),
    ],
)
def test_labels_are_numbers_only_as_java_writes_them(spark_copy, labels, served, levels, numbers):
    term = indexed(spark_copy("gaussian"), labels, served)
    assert set(term.levels) - {MISSING_LEVEL} == levels
    assert term.numeric_levels is numbers


def test_numbers_in_the_data_are_none_of_the_texts_that_only_look_like_them(spark_copy):
    term = indexed(spark_copy("gaussian"), ["1.50", "-0"])
    read = level_reader(term.levels, numeric_levels=term.numeric_levels, text_levels=term.text_levels)
    assert [read(value) in term.levels for value in (1.5, 0, -0.0, "1.5", "0", "1.50", "-0")] == [False] * 5 + [True] * 2


@pytest.mark.parametrize(
    ("labels", "served", "said"),
    [
        (
            ["1", "2"],
            "double",
            r"like '1' of 'tier', and the signature gives that column the type 'double'.*cast the column to",
        ),
        (["1", "2"], "float", "the type 'float'.* cast the column to integer"),
        (["1.0", "0.5"], "long", "the type 'long'.* cast the column to double"),
    ],
)
def test_labels_of_another_type_than_is_served_are_refused(spark_copy, labels, served, said):
    with pytest.raises(UnsupportedModelError, match=said):
        indexed(spark_copy("gaussian"), labels, served)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "tree",
            r"'DecisionTreeRegressor_\w+' is a org.apache.spark.ml.regression.DecisionTreeRegressionModel, which",
        ),
        ("squares", r"'PolynomialExpansion_\w+' is a org.apache.spark.ml.feature.PolynomialExpansion, which is not read"),
        (
            "query",
            r"'SQLTransformer_\w+' is a org.apache.spark.ml.feature.SQLTransformer, which is .*to_coefficients",
        ),
        ("inverse", "the family gamma with the link inverse"),
        ("power", r"the family tweedie with the link power -0\.5"),
        ("answer", "writes its prediction into 'answer', and MLflow serves the column 'prediction'"),
    ],
)
def test_sound_models_that_are_not_read(fitted, name, said):
    with pytest.raises(UnsupportedModelError, match=said):
        read_model(fitted[0] / name)


@pytest.mark.parametrize("name", ["gamma", "several", "logistic"])
def test_written_out_and_read_again(fitted, name):
    folder, document = fitted
    model = read_model(folder / name)
    again = from_document(json.loads(json.dumps(to_document(model))))
    rows, _ = expected_of(document, name)
    assert predicted(again, rows) == predicted(model, rows)


def test_the_end_of_a_change_costs_what_its_predictions_cost(fitted):
    """Champion and candidate by Spark's own predictions on rows that both can score."""
    folder, document = fitted
    rows, expected = expected_of(document, "several")
    kept = [(row, number) for row, number in zip(rows, expected, strict=True) if number is not None]
    frame = pd.DataFrame([row for row, _ in kept] * 4).fillna({"a": 4.0, "b": 1.0, "city": "Bern", "exposure": 0.0})
    frame["count"] = np.arange(len(frame)) % 5
    candidate = read_model(folder / "several")
    report = cg.explain_change(champion=read_model(folder / "poisson"), candidate=candidate, data=frame, target="count")
    mu = np.array(predicted(candidate, frame.to_dict("records")))
    y = frame["count"].to_numpy(dtype=float)
    deviance = 2 * np.mean(np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / mu), 0.0) - y + mu)
    steps = json.loads(report.to_json())["path"]["steps"]
    assert steps[-1]["cost"] == pytest.approx(deviance, rel=1e-9)
