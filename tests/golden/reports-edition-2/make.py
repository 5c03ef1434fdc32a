"""Wrote weights.csv and weights.json with edition 2, which blamed class weights too easily; never to be run again."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from coordpath_governance import explain_change
from coordpath_governance.models.linear_model import LinearModel, NumericTerm

HERE = Path(__file__).parent


def model(intercept, slope, **facts):
    terms = (NumericTerm("a", slope),)
    return LinearModel(intercept, terms, family="binomial", link="logit", classes=("bad", "good"), threshold=0.5, **facts)


def main():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=120).round(3)})
    frame["y"] = np.where(rng.random(120) < 1 / (1 + np.exp(2.5 - frame["a"])), "good", "bad")
    path = HERE / "weights.csv"
    frame.to_csv(path, index=False, lineterminator="\n")
    weighted = {"kind": "ridge", "C": 1.0, "class_weight": "balanced"}
    new = model(2.0, 0.3, estimator="CalibratedClassifierCV (LogisticRegression)", regularisation=weighted)
    report = explain_change(model(2.2, 0.5), new, data=path, target="y", role="holdout", name="score")
    (HERE / "weights.json").write_bytes(report.to_bytes())


if __name__ == "__main__":
    sys.exit(main())
