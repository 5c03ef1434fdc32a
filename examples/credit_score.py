"""Two versions of a credit score, explained in Python: a classifier whose decision threshold moves with it."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import coordpath_governance as cg


def loans(n: int, seed: int, rate_effect: float) -> pd.DataFrame:
    """Made-up loans: how much the interest rate matters differs from year to year."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "income": rng.lognormal(3.3, 0.5, n).round(1),
            "rate": rng.normal(6.0, 1.5, n).round(2),
            "housing": rng.choice(["owns", "rents", "other"], n, p=[0.5, 0.4, 0.1]),
        }
    )
    housing = rows["housing"].map({"owns": -0.4, "rents": 0.2, "other": 0.3})
    score = -1.5 - 0.03 * (rows["income"] - 30) + rate_effect * (rows["rate"] - 6) + housing
    return rows.assign(default=np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no"))


def train(rows: pd.DataFrame, threshold: float) -> FixedThresholdClassifier:
    """A pipeline that refuses loans from this probability of default on."""
    encode = make_column_transformer((StandardScaler(), ["income", "rate"]), (OneHotEncoder(drop="first"), ["housing"]))
    model = FixedThresholdClassifier(make_pipeline(encode, LogisticRegression()), threshold=threshold, pos_label="yes")
    return model.fit(rows.drop(columns="default"), rows["default"])


if __name__ == "__main__":
    report = cg.explain_change(
        train(loans(3000, seed=1, rate_effect=0.2), threshold=0.3),
        train(loans(3000, seed=2, rate_effect=0.5), threshold=0.25),
        data=loans(4000, seed=3, rate_effect=0.5),
        target="default",
        role="out-of-time",
        segments=["housing"],
    )
    print(report.document.summary.headline)
    print(report.to_frame()[["k", "feature", "from", "to", "cost", "delta", "delta_se"]].to_string(index=False))
    for step in report.document.impact.flips.steps:
        print(f"{step.feature}: {step.up:.1%} of the loans are refused now, {step.down:.1%} no longer")
