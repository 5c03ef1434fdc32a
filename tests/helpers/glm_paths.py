"""A path over rows of generalised linear models, and its figures by their definitions; conftest.py loads it by path."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coordpath_governance.costs import Family, GlmCost, family_of
from coordpath_governance.reference.collect import collect_moments
from coordpath_governance.reference.decisions import CutOff
from coordpath_governance.reference.design import Design, NumericColumn
from coordpath_governance.reference.measure_path import ModelScores, PathOnRows
from coordpath_governance.reference.plan import ReadingPlan
from coordpath_governance.reference.row_passes import RowPasses
from coordpath_governance.reference.sources import TableSource

FAMILY = {"logistic": "binomial"}
CLASSES = {"logistic": ("no", "yes"), "multinomial": ("red", "green", "blue")}
INPUTS = ("a", "b", "c")


class PlainColumns:
    """A constant, and the inputs as they are."""

    width = 1 + len(INPUTS)

    def columns(self, design: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(design)), design])


def reading(kind: str, **options: object) -> ReadingPlan:
    design = Design(tuple(NumericColumn(name, "candidate") for name in INPUTS), ())
    return ReadingPlan(design, "y", family=FAMILY.get(kind, kind), classes=CLASSES.get(kind, ()), **options)


def family(kind: str) -> Family:
    return family_of(kind, power=1.5 if kind == "tweedie" else None, classes=len(CLASSES.get(kind, ())))


def rows(kind: str, seed: int = 0, n: int = 200) -> pd.DataFrame:
    """Inputs with ties, a target of the family, weights, exposures and regions of which one is small."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice([-1.0, 0.0, 2.0], n), "c": rng.choice([0.0, 1.0], n)})
    frame["e"] = rng.choice([0.5, 1.0, 1.5], n)
    mean = np.exp(0.4 * frame["a"] - 0.3 * frame["b"])
    if kind in CLASSES:
        frame["y"] = rng.choice(CLASSES[kind], n)
        frame.loc[: len(CLASSES[kind]) - 1, "y"] = CLASSES[kind]
    else:
        frame["y"] = rng.poisson(mean) if kind == "poisson" else rng.gamma(2.0, mean / 2)
    if kind == "tweedie":
        frame["y"] = frame["y"].mask(rng.random(n) < 0.5, 0.0)
    frame["w"] = rng.choice([0.5, 1.0, 3.0], n)
    frame["region"] = rng.choice(["north", "south", "tiny"], n, p=[0.6, 0.37, 0.03])
    return frame


@dataclass
class OnRows:
    """A path of three steps over a frame, and everything about it by definition."""

    kind: str
    frame: pd.DataFrame
    weight: str | None = None
    exposure: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.family = family(self.kind)
        self.classes = CLASSES.get(self.kind, ())
        scores = self.family.scores
        old, new = rng.normal(scale=0.5, size=(2, PlainColumns.width, scores))
        models = [old]
        for j in (1, 3, 2):
            step = models[-1].copy()
            step[j] = new[j]
            models.append(step)
        self.betas = np.array([m.ravel() for m in models])
        self.w = np.ones(len(self.frame)) if self.weight is None else self.frame[self.weight].to_numpy()
        z = np.column_stack([np.ones(len(self.frame)), self.frame[[*INPUTS]].to_numpy()])
        self.scores = np.stack([z @ m for m in models], axis=2)
        if self.exposure is not None:
            self.scores += np.log(self.frame[self.exposure].to_numpy())[:, None, None]
        self.predictions = self.family.mean(self.scores)
        exposed = self.exposure is not None and not self.classes
        self.decided = self.predictions / self.frame[[self.exposure]].to_numpy()[:, :, None] if exposed else self.predictions
        """What a threshold is one of: predictions, per unit of exposure."""
        labels = self.frame["y"]
        self.y = labels.map({c: float(i) for i, c in enumerate(self.classes)} if self.classes else float).to_numpy()
        self.losses = self.family.loss(self.y, self.scores)
        if scores > 1:
            self.linear = (self.scores - self.scores.mean(axis=1, keepdims=True))[np.arange(len(z)), self.y.astype(int)]
        else:
            self.linear = self.scores[:, 0]
        self.shift = self.linear[:, -1] - self.linear[:, 0]

    def plan(self, **options: object) -> ReadingPlan:
        return reading(self.kind, weight=self.weight, exposure=self.exposure, **options)

    def rows(self, **options: object) -> RowPasses:
        source, plan = TableSource(self.frame), self.plan(**options)
        return RowPasses(source, plan, PlainColumns(), collect_moments(source, plan).kept)

    def path(self, champion: float | None = None, candidate: float | None = None) -> PathOnRows:
        costs = GlmCost(self.family, self.rows()).values(self.betas)
        cuts = (None if each is None else CutOff(each) for each in (champion, candidate))
        return self.path_of(self.betas, ("a", "c", "b"), tuple(costs.tolist()), *cuts)

    def path_of(self, betas, steps, costs, champion_cut=None, candidate_cut=None) -> PathOnRows:
        return PathOnRows(
            scores=ModelScores(betas, self.family.scores),
            costs=costs,
            deltas=tuple(np.diff(costs).tolist()),
            size=max(costs),
            steps=steps,
            classes=self.classes,
            champion_cut=champion_cut,
            candidate_cut=candidate_cut,
        )

    def mean(self, values: np.ndarray) -> float:
        return float(self.w @ values / self.w.sum())

    def error(self, values: np.ndarray, w: np.ndarray | None = None) -> float:
        w = self.w if w is None else w
        n, mean = len(values), w @ values / w.sum()
        return math.sqrt(n / (n - 1) * np.sum(w**2 * (values - mean) ** 2)) / w.sum()
