"""Writes this folder's archives with the scikit-learn and skops it runs under; see README.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import skops.io
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV, LinearRegression, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler


def training_data() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(7)
    n = 60
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(1),
            "income": np.where(np.arange(n) % 7 == 3, np.nan, rng.normal(3, 1, n).round(2)),
            "city": np.array(["bern", "genf", "basel", "chur"], dtype=object)[rng.integers(0, 4, n)],
            "rooms": rng.integers(1, 4, n),
            "owner": rng.random(n) < 0.5,
        }
    )
    frame.loc[0, "city"] = "uri"
    target = 2 + 0.1 * frame.age + frame.income.fillna(1) + (frame.city == "bern") * 3 - frame.rooms + rng.normal(0, 1, n)
    return frame, target.to_numpy()


def models() -> dict[str, object]:
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    dropped = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    frequent = OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist")
    return {
        "remainder-passthrough": Pipeline(
            [
                (
                    "prepare",
                    ColumnTransformer(
                        [("n", numbers, ["age", "income"]), ("c", dropped, ["city"])], remainder="passthrough"
                    ),
                ),
                ("model", Ridge(alpha=0.5)),
            ]
        ),
        "selectors": Pipeline(
            [
                (
                    "prepare",
                    ColumnTransformer(
                        [
                            (
                                "n",
                                make_pipeline(SimpleImputer(), RobustScaler()),
                                make_column_selector(dtype_include=np.floating),
                            ),
                            ("c", frequent, [2, -2]),
                        ],
                        remainder=MinMaxScaler(),
                    ),
                ),
                ("model", LinearRegression()),
            ]
        ),
        "union": Pipeline(
            [
                (
                    "prepare",
                    FeatureUnion(
                        [
                            ("numbers", ColumnTransformer([("n", numbers, slice("age", "income"))])),
                            (
                                "levels",
                                ColumnTransformer(
                                    [("c", OneHotEncoder(), ["city", "owner"])], transformer_weights={"c": 0.5}
                                ),
                            ),
                        ]
                    ),
                ),
                ("model", LassoCV(cv=3, random_state=0)),
            ]
        ),
    }


def prediction(model: Pipeline, row: pd.DataFrame) -> float | None:
    try:
        return float(model.predict(row)[0])
    except ValueError:
        return None


def main(label: str) -> None:
    frame, target = training_data()
    rows = frame.head(8).copy()
    extra = frame.head(3).copy()
    extra.loc[0, "city"] = "zug"
    extra.loc[1, "income"] = np.nan
    extra.loc[2, "age"] = np.nan
    rows = pd.concat([rows, extra], ignore_index=True)
    for name, model in models().items():
        model.fit(frame, target)
        skops.io.dump(model, f"{label}-{name}.skops", compression=8)
        predictions = [prediction(model, rows.iloc[[position]]) for position in range(len(rows))]
        records = [
            {
                key: None if pd.isna(value) else getattr(value, "item", lambda value=value: value)()
                for key, value in row.items()
            }
            for row in rows.to_dict("records")
        ]
        document = {"rows": records, "predictions": predictions}
        Path(f"{label}-{name}.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
