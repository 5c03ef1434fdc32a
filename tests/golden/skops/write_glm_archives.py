"""Writes this folder's archives of classifiers and rates, with the scikit-learn and skops it runs under; see README.md."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import skops.io
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from write_archives import training_data

try:
    from sklearn.frozen import FrozenEstimator
except ImportError:  # before scikit-learn 1.6
    FrozenEstimator = None


def prepared(model: object) -> Pipeline:
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    levels = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    parts = ColumnTransformer([("n", numbers, ["age", "income"]), ("c", levels, ["city"])])
    return Pipeline([("prepare", parts), ("model", model)])


def models(frame: pd.DataFrame, score: np.ndarray) -> dict[str, tuple[object, np.ndarray]]:
    """Every model with its target."""
    binary = np.array(["bad", "good"])[(score > np.median(score)).astype(int)]
    three = np.digitize(score, np.quantile(score, [0.3, 0.7]))
    positive = np.exp((score - score.mean()) / 4)
    first = FixedThresholdClassifier(prepared(LogisticRegression()), threshold=0.4, pos_label="bad")
    tuned = TunedThresholdClassifierCV(prepared(LogisticRegression()), thresholds=10)
    frozen = {}
    if FrozenEstimator is not None:
        fitted = FrozenEstimator(prepared(LogisticRegression()).fit(frame, binary))
        frozen["frozen-threshold"] = (FixedThresholdClassifier(fitted, threshold=0.4, pos_label="bad"), binary)
    return {
        **frozen,
        "logistic": (prepared(LogisticRegression(penalty="l1", solver="liblinear", class_weight="balanced")), binary),
        "logistic-cv": (prepared(LogisticRegressionCV(Cs=3, cv=3)), three == 1),
        "softmax": (prepared(LogisticRegression(C=0.5)), three),
        "stochastic": (prepared(SGDClassifier(loss="log_loss", random_state=0)), binary),
        "fixed-threshold": (prepared(FixedThresholdClassifier(LogisticRegression(), threshold=0.3)), binary),
        "first-threshold": (first, binary),
        "tuned-threshold": (tuned, three // 2),
        "poisson": (prepared(PoissonRegressor(alpha=0.1)), np.floor(positive)),
        "gamma": (prepared(GammaRegressor(alpha=0.1)), positive),
        "tweedie": (prepared(TweedieRegressor(power=1.5, alpha=0.1)), np.floor(positive)),
    }


def main(label: str) -> None:
    frame, score = training_data()
    rows = frame[["age", "income", "city"]].head(8).copy()
    rows.loc[5, "city"] = "nowhere"
    for name, (model, target) in models(frame, score).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(frame, target)
            predicted = model.predict_proba(rows) if is_classifier(model) else model.predict(rows)[:, None]
            decided = [str(value) for value in model.predict(rows)] if is_classifier(model) else None
        skops.io.dump(model, f"{label}-glm-{name}.skops", compression=8)
        records = rows.astype(object).where(rows.notna(), None).to_dict("records")
        document = {"rows": records, "predictions": np.asarray(predicted).tolist(), "decisions": decided}
        Path(f"{label}-glm-{name}.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
