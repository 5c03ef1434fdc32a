"""Writes a zip of stored decision trees, with the scikit-learn it runs under; see README.md. Also used by the tests."""

from __future__ import annotations

import json
import pickle
import sys
import zipfile

import cloudpickle
import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from skops import io as skops_io

NUMBERS = ["age", "income", "km"]


def training_data() -> pd.DataFrame:
    """Eighty rows: numbers, one of them with gaps, and targets of every kind."""
    rng = np.random.default_rng(11)
    frame = pd.DataFrame(rng.normal([40, 3, 1], [12, 1, 0.4], (80, 3)), columns=NUMBERS)
    frame["gaps"] = frame.income.mask(rng.random(80) < 0.2)
    score = frame.age / 20 - frame.income / 2 + frame.km + rng.normal(0, 0.4, 80)
    frame["price"], frame["good"] = score, np.where(score > score.median(), "yes", "no")
    frame["kind"] = np.digitize(score, score.quantile([0.3, 0.7]))
    return frame


def models() -> dict[str, tuple[object, list[str], str]]:
    """Every tree, with the columns it sees and its target."""
    small = {"max_depth": 3, "random_state": 0}
    pipeline = Pipeline([("nothing", "passthrough"), ("tree", DecisionTreeRegressor(**small))])
    return {
        "regressor": (DecisionTreeRegressor(**small), NUMBERS, "price"),
        "absolute": (DecisionTreeRegressor(criterion="absolute_error", **small), NUMBERS, "price"),
        "deep": (DecisionTreeRegressor(random_state=0), NUMBERS, "price"),
        "best-first": (DecisionTreeRegressor(max_leaf_nodes=6, random_state=0), NUMBERS, "price"),
        "pruned": (DecisionTreeRegressor(ccp_alpha=0.02, random_state=0), NUMBERS, "price"),
        "random": (DecisionTreeRegressor(splitter="random", **small), NUMBERS, "price"),
        "gaps": (DecisionTreeRegressor(**small), ["age", "gaps"], "price"),
        "stump": (DecisionTreeRegressor(max_leaf_nodes=2, min_samples_leaf=41), NUMBERS, "price"),
        "pipeline": (pipeline, NUMBERS, "price"),
        "two-classes": (DecisionTreeClassifier(class_weight="balanced", **small), NUMBERS, "good"),
        "three-classes": (DecisionTreeClassifier(criterion="entropy", max_features="sqrt", **small), NUMBERS, "kind"),
    }


def fitted() -> dict[str, tuple[object, list[dict[str, object]], list[list[float]]]]:
    """Every model, fitted, with rows and what it predicts for them: means, or the probabilities of all classes."""
    frame = training_data()
    found = {}
    for name, (model, columns, target) in models().items():
        model.fit(frame[columns], frame[target])
        rows = frame[columns].head(12)
        told = np.asarray(model.predict_proba(rows) if is_classifier(model) else model.predict(rows)[:, None])
        found[name] = (model, rows.astype(object).where(rows.notna(), None).to_dict("records"), told.tolist())
    return found


def main(path: str) -> None:
    described = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (model, rows, told) in fitted().items():
            described[name] = {"rows": rows, "predictions": told}
            archive.writestr(f"{name}.cloudpickle.pkl", cloudpickle.dumps(model))
            archive.writestr(f"{name}.skops", skops_io.dumps(model))
            for protocol in range(6) if name in ("regressor", "three-classes") else ():
                archive.writestr(f"{name}.{protocol}.pkl", pickle.dumps(model, protocol))
        archive.writestr("models.json", json.dumps(described))


if __name__ == "__main__":
    main(*sys.argv[1:])
