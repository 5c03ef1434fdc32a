"""Two versions of a price model, explained in Python: what a training script looks like that leaves a report behind."""

import logging
import tempfile
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import coordpath_governance as cg

logging.getLogger("mlflow").setLevel(logging.ERROR)


def sales(n: int, seed: int, area_price: float) -> pd.DataFrame:
    """Made-up flats: the price of a square metre differs from year to year."""
    rng = np.random.default_rng(seed)
    flats = pd.DataFrame(
        {
            "area": rng.gamma(9, 9, n).round(1),
            "age": rng.integers(0, 80, n).astype(float),
            "district": rng.choice(["centre", "harbour", "hills"], n, p=[0.3, 0.5, 0.2]),
        }
    )
    district = flats["district"].map({"centre": 60.0, "harbour": 20.0, "hills": 0.0})
    return flats.assign(price=area_price * flats["area"] - 0.6 * flats["age"] + district + rng.normal(0, 25, n))


def train(rows: pd.DataFrame, reason: str) -> None:
    """Fit, log with reference moments, register with the reason and a report."""
    X, y = rows.drop(columns="price"), rows["price"]
    encode = make_column_transformer((StandardScaler(), ["area", "age"]), (OneHotEncoder(drop="first"), ["district"]))
    with mlflow.start_run():
        cg.log_reference(X, y)
        model = mlflow.sklearn.log_model(make_pipeline(encode, Ridge()).fit(X, y), name="model")
    made = cg.register_with_report(model.model_uri, "flats", reason=reason)
    print(f"flats v{made.version}: {made.report.document.summary.headline if made.report else made.why_no_report}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        mlflow.create_experiment("flats", artifact_location=Path(folder, "artifacts").as_uri())
        mlflow.set_experiment("flats")
        train(sales(500, seed=1, area_price=3.0), "first version")
        train(sales(500, seed=2, area_price=3.4), "prices went up")
        report = cg.explain_change(
            "models:/flats/1", "models:/flats/2", data=sales(400, 3, 3.4), target="price", role="out-of-time"
        )
        print(report.document.summary.headline)
        print(report.to_frame()[["k", "feature", "from", "to", "cost", "delta", "delta_se"]].to_string(index=False))
