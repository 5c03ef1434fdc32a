"""Wrote classifier.csv and classifier.json with version 0.1, before thresholds named their class; never to be run again."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from coordpath_governance.policy.assess import assess

from coordpath_governance import explain_change
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.policy.load import read_policy
from coordpath_governance.rendering.change_report import ChangeReport

HERE = Path(__file__).parent
CLASSES = ("bad", "good")
POLICY = """\
schema: coordpath.policy/1
name: scores
models: [score]
reference: {{sha256: {sha256}, role: holdout, target: y, threshold: 0.2}}
rules:
  decision_flips: {{overall: 0.02}}
  final_cost_increase: {{relative: 0.5}}
materiality:
  - class: minor
"""


def model(intercept, slope, also):
    terms = (NumericTerm("a", slope), NumericTerm("b", also))
    return LinearModel(intercept, terms, family="binomial", link="logit", classes=CLASSES, threshold=0.5)


def main():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=120).round(3), "b": rng.normal(size=120).round(3)})
    chance = 1 / (1 + np.exp(-(1.4 + frame["a"])))
    frame["y"] = np.where(rng.random(120) < chance, "good", "bad")
    path = HERE / "classifier.csv"
    frame.to_csv(path, index=False, lineterminator="\n")
    old, new = model(1.4, 0.9, 0.0), model(1.5, 1.0, 0.2)
    report = explain_change(old, new, data=path, target="y", role="holdout", threshold=0.2, name="score")
    policy = read_policy(POLICY.format(sha256=report.document.data.sha256), "policy")
    (HERE / "classifier.json").write_bytes(ChangeReport(assess(report.document, policy)).to_bytes())


if __name__ == "__main__":
    sys.exit(main())
