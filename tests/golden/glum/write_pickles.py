"""Writes a zip of glum's regressions, pickled by the versions it runs under, with what they predict; see README.md."""

from __future__ import annotations

import json
import pickle
import sys
import zipfile

import glum
import numpy as np
import pandas as pd


def write(target: str) -> None:
    """Fit three models and store them."""
    rng = np.random.default_rng(0)
    count = 120
    frame = pd.DataFrame({"a": rng.normal(size=count), "b": rng.gamma(2.0, size=count)})
    frame["c"] = pd.Categorical(rng.choice(["x", "y", "z"], count), categories=["z", "x", "y"])
    frame["d"] = pd.Categorical(rng.choice([1, 2, 5], count))
    y = rng.poisson(np.exp(0.3 * frame.a + (frame.c == "x"))).astype(float)
    regression, searched = glum.GeneralizedLinearRegressor, glum.GeneralizedLinearRegressorCV
    models = {
        "levels": (regression(family="poisson", alpha=0.01, drop_first=True), frame),
        "numbers": (searched(family="poisson", n_alphas=3, cv=3), frame[["a", "b"]]),
        "array": (regression(family="tweedie", alpha=0.1), frame[["a", "b"]].to_numpy()),
    }
    document: dict[str, object] = {"glum": glum.__version__, "pandas": pd.__version__}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for name, (model, data) in models.items():
            model.fit(data, y)
            rows = pd.DataFrame(data[:8]).rename(columns=lambda each: each if isinstance(each, str) else f"x{each}")
            document[name] = {
                "rows": json.loads(rows.to_json(orient="records", double_precision=15)),
                "predictions": model.predict(data[:8]).tolist(),
            }
            out.writestr(f"{name}.pkl", pickle.dumps(model, protocol=4))
        out.writestr("models.json", json.dumps(document, indent=1))


if __name__ == "__main__":
    write(sys.argv[1])
