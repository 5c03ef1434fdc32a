"""The score of one class against all others, by which rows are put in order for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["log_odds"]

Array = NDArray[np.float64]

_LEAST = 1e-300


def log_odds(score: Array) -> Array:
    """log(p/(1 − p)) of every class, from scores η, rows × classes: η_c − log Σ e^η over the other classes.

    The sum over the others is taken without the highest score, or is larger than it: no digits are lost near p = 1.
    """
    rows, top = np.arange(len(score)), np.argmax(score, axis=1)
    below = score - score[rows, top, None]
    powers = np.exp(below)
    powers[rows, top] = 0.0
    others = powers.sum(axis=1)
    rest = others[:, None] + 1.0 - powers
    rest[rows, top] = others
    odds: Array = below - np.log(np.maximum(rest, _LEAST))
    return odds
