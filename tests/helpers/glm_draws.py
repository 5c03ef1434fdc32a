"""Targets as the families of generalised linear models draw them."""

import numpy as np

KINDS = ("logistic", "multinomial", "poisson", "gamma", "tweedie")


def drawn_target(kind, score, rng):
    """A target for every score; of three classes, the third whatever the score."""
    rows = len(score)
    target = {
        "logistic": lambda: rng.random(rows) < 1.0 / (1.0 + np.exp(-score)),
        "multinomial": lambda: np.where(rng.random(rows) < 0.3, 2, score > 0.0),
        "poisson": lambda: rng.poisson(np.exp(score)),
        "gamma": lambda: rng.gamma(2.0, np.exp(score) / 2.0),
        "tweedie": lambda: rng.poisson(np.exp(score)) * rng.gamma(2.0, 1.0, rows),
    }[kind]()
    return np.asarray(target, dtype=float)
