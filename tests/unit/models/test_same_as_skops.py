"""Forged archives that both skops and we accept must predict the same: no model may be read one way and served another."""

from __future__ import annotations

import contextlib
import json
import warnings

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, TweedieRegressor
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PowerTransformer, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC

from coordpath_governance.errors import ModelReadError
from coordpath_governance.models import level_label

ROWS = pd.DataFrame({"a": [1.0, 2.0, np.nan, 5.0], "b": [3.0, 1.0, 2.0, 7.0], "k": [1, 2, 2, 3]})
WORDS = [
    None,
    True,
    False,
    0,
    1,
    2,
    -1,
    2.5,
    "a",
    "b",
    "first",
    "ignore",
    "error",
    "passthrough",
    "drop",
    "constant",
    "remainder",
]


def nodes(part):
    if isinstance(part, dict):
        if "__loader__" in part:
            yield part
        for value in part.values():
            yield from nodes(value)
    elif isinstance(part, list):
        for value in part:
            yield from nodes(value)


@pytest.fixture(scope="module")
def genuine(dumps, unzip):
    first = ColumnTransformer(
        [("n", SimpleImputer(add_indicator=True), ["b", "a"])], remainder="passthrough", verbose_feature_names_out=False
    )
    second = ColumnTransformer(
        [
            ("s", make_pipeline(StandardScaler(), RobustScaler()), ["a", "b"]),
            ("k", OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2, drop="first"), ["k"]),
        ],
        transformer_weights={"s": 2.0},
    )
    model = make_pipeline(first.set_output(transform="pandas"), second, Ridge()).fit(ROWS, [1.0, 2.0, 4.0, 3.0])
    return unzip(dumps(model))


def predictions(archive: bytes) -> list[float] | None:
    """What the loaded model predicts, None if skops or scikit-learn cannot use it at all."""
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        model = skops.io.loads(archive, trusted=skops.io.get_untrusted_types(data=archive))
        return [float(number) for number in np.ravel(model.predict(ROWS))]
    return None


@pytest.mark.no_cover
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), keep_ids=st.booleans())
def test_forged_archives(data, keep_ids, genuine, rezip, fold_bytes, score):
    schema = json.loads(genuine["schema.json"])
    for node in nodes(schema):
        if not keep_ids:
            node.pop("__id__", None)
    texts = [node for node in nodes(schema) if node["__loader__"] == "JsonNode"]
    lists = [node for node in nodes(schema) if isinstance(node.get("content"), list) and len(node["content"]) > 1]
    if data.draw(st.booleans()):
        data.draw(st.sampled_from(texts))["content"] = json.dumps(data.draw(st.sampled_from(WORDS)))
    else:
        data.draw(st.sampled_from(lists))["content"].reverse()
    archive = rezip({**genuine, "schema.json": schema})
    try:
        folded = fold_bytes(archive)
    except ModelReadError:
        return
    served = predictions(archive)
    if served is not None:
        found = [score(folded, row) for row in ROWS.to_dict("records")]
        assert found == [pytest.approx(number, rel=1e-9, abs=1e-12) for number in served]


KINDS = {
    "softmax": (LogisticRegression(), np.digitize(ROWS["b"], [1.5, 2.5])),
    "threshold": (FixedThresholdClassifier(LogisticRegression(), threshold=0.4, pos_label=2), [1, 1, 2, 2]),
    "first": (FixedThresholdClassifier(LogisticRegression(), threshold=0.4, pos_label=1), [1, 1, 2, 2]),
    "frozen": (
        FixedThresholdClassifier(FrozenEstimator(LogisticRegression().fit(ROWS[["b", "k"]].to_numpy(), [1, 1, 2, 2]))),
        [1, 1, 2, 2],
    ),
    "tuned": (TunedThresholdClassifierCV(LogisticRegression(), thresholds=3, cv=2, scoring="f1"), [0, 1, 1, 0]),
    "rate": (TweedieRegressor(power=1.5), [1.0, 2.0, 0.0, 3.0]),
    "calibrated": (CalibratedClassifierCV(RidgeClassifier(), ensemble=False, cv=2), [1, 1, 2, 2]),
    "calibrated margin": (
        FixedThresholdClassifier(CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=2), threshold=0.4, pos_label=1),
        [1, 2, 1, 2],
    ),
    "logarithm": (TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1), [1.0, 2.0, 0.5, 3.0]),
    "power": (TransformedTargetRegressor(Ridge(), transformer=PowerTransformer()), [1.0, 2.0, 0.5, 3.0]),
    "scaled": (TransformedTargetRegressor(Ridge(), transformer=MinMaxScaler()), [1.0, 2.0, 0.5, 3.0]),
}
KIND_WORDS = [
    *WORDS,
    "sigmoid",
    "isotonic",
    "box-cox",
    "yeo-johnson",
    "auto",
    "ovr",
    "multinomial",
    "liblinear",
    "decision_function",
    "predict_proba",
    "log",
    "identity",
]


@pytest.fixture(scope="module")
def genuine_kinds(dumps, unzip):
    models = {name: make_pipeline(StandardScaler(), model) for name, (model, _) in KINDS.items()}
    return {name: unzip(dumps(model.fit(ROWS[["b", "k"]], KINDS[name][1]))) for name, model in models.items()}


def served(archive: bytes) -> tuple[list[list[float]], list[str]] | None:
    """Probabilities (or means) and decisions of the loaded model, None if skops or scikit-learn cannot use it at all."""
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        model = skops.io.loads(archive, trusted=skops.io.get_untrusted_types(data=archive))
        decisions = model.predict(ROWS[["b", "k"]].copy())
        if not hasattr(model, "predict_proba"):
            return np.reshape(decisions, (len(ROWS), -1)).tolist(), []
        return model.predict_proba(ROWS[["b", "k"]].copy()).tolist(), [level_label(label) for label in decisions]
    return None


@pytest.mark.no_cover
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), kind=st.sampled_from(list(KINDS)))
def test_forged_classifiers_and_rates(data, kind, genuine_kinds, rezip, fold_bytes, predict):
    members = genuine_kinds[kind]
    schema = json.loads(members["schema.json"])
    for node in nodes(schema):
        node.pop("__id__", None)
    texts = [node for node in nodes(schema) if node["__loader__"] == "JsonNode"]
    data.draw(st.sampled_from(texts))["content"] = json.dumps(data.draw(st.sampled_from(KIND_WORDS)))
    archive = rezip({**members, "schema.json": schema})
    try:
        folded = fold_bytes(archive)
    except ModelReadError:
        return
    expected = served(archive)
    if expected is not None:
        found = [predict(folded, row) for row in ROWS.to_dict("records")]
        np.testing.assert_allclose(found, expected[0], rtol=1e-9)
        if folded.threshold is not None:
            assert [folded.classes[row[1] >= folded.threshold] for row in found] == expected[1]
