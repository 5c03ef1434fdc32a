"""A point score in the manner of SLIM: read a tumour's measurements, add up whole points, compare with a threshold.

From zero, and from an old score to a new one, step by step; every step changes the points of one finding. The reports and
path documents are written to a folder: `python examples/point_score.py [FOLDER]`.
"""

import json
import sys
import tempfile
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_breast_cancer

import coordpath_governance as cg

FINDINGS = {
    "large radius": ("worst radius", 16.8),
    "rough texture": ("worst texture", 25.4),
    "many concave points": ("worst concave points", 0.14),
    "uneven areas": ("area error", 35.0),
    "uneven smoothness": ("worst smoothness", 0.136),
    "asymmetric": ("worst symmetry", 0.29),
}
"""Finding → the measurement, and from which value on it counts."""

POINTS = 10.0
"""A score of 10 points stands for one label: malignant 1, benign 0, both less their mean."""


def findings() -> pd.DataFrame:
    """Of every tumour which findings it has (0 or 1), and whether it is malignant."""
    cancers = load_breast_cancer(as_frame=True)
    columns = {name: (cancers.data[column] >= limit).astype(float) for name, (column, limit) in FINDINGS.items()}
    return pd.DataFrame(columns).assign(malignant=1.0 - cancers.target)


def problem(rows: pd.DataFrame, **more: object) -> dict[str, object]:
    """The squared error of a score in points, as a path problem of whole steps with at most five points for a finding."""
    columns = rows[list(FINDINGS)] - rows[list(FINDINGS)].mean()
    design, label = columns.to_numpy() / POINTS, (rows["malignant"] - rows["malignant"].mean()).to_numpy()
    cost = {
        "gram": (design.T @ design / len(rows)).tolist(),
        "linear": (design.T @ label / len(rows)).tolist(),
        "constant": float(label @ label / len(rows)),
    }
    constraints = {"box": {name: [0, 5] for name in FINDINGS}}
    question = {"features": list(FINDINGS), "cost": cost, "step_type": "integer", "constraints": constraints}
    return {**question, **more}


def model(points: dict[str, float], rows: pd.DataFrame) -> cg.LinearModel:
    """A point score as a model: its average is that of the rows."""
    weights = {name: value / POINTS for name, value in points.items()}
    average = rows["malignant"].mean() - sum(weight * rows[name].mean() for name, weight in weights.items())
    return cg.LinearModel(float(average), tuple(cg.NumericTerm(name, weight) for name, weight in weights.items()))


def tell(title: str, question: dict[str, object], folder: Path) -> dict[str, float]:
    """Solve a problem, print its path and write it down; the points at its end."""
    solution = cg.solve(question)
    print(f"{title} ({solution.status}):")
    points = dict(zip(FINDINGS, solution.problem.start.tolist(), strict=True))
    for step in solution.path.steps:
        before, points[step.label] = points[step.label], step.moves[0].after
        print(f"  {step.k}. {step.label}: {before:+.0f} to {points[step.label]:+.0f} points, error {step.cost:.4f}")
    text = json.dumps({"problem": question, "path": solution.to_dict()}, indent=1, ensure_ascii=False)
    (folder / f"{title.replace(' ', '-')}.json").write_text(text + "\n", encoding="utf-8")
    return points


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="point-score-"))
    folder.mkdir(parents=True, exist_ok=True)
    rows = findings()
    earlier, later = rows.iloc[:300], rows.iloc[300:]

    old = tell("from zero", problem(earlier, steps=4), folder)
    new = tell("best for later patients", problem(later, steps=6), folder)
    ends = {"start": list(old.values()), "target": list(new.values())}
    tell("from old to new", problem(later, **ends), folder)
    tell("point by point", problem(later, **ends, step_type="unit"), folder)

    report = cg.explain_change(
        model(old, earlier), model(new, later), data=later, target="malignant", role="training", name="tumour points"
    )
    (folder / "report.html").write_text(report.to_html(), encoding="utf-8")
    print(report.document.summary.headline)
    print(f"Written to {folder}.")
