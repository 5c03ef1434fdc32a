"""Reports on models that predict a function of the target: what it is called, and where a threshold on the target lies."""

from __future__ import annotations

import math

import numpy as np

from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.errors import UsageError
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.maps import Elementary, apply_all
from coordpath_governance.models.target_maps import target_text
from coordpath_governance.reports.document import Settings

__all__ = ["predicted_function", "score_threshold"]


def predicted_function(model: LinearModel, target: str) -> str | None:
    """The function of the target that a model predicts, such as log1p(price); None where it is the target itself."""
    return target_text(model.target_map, target) if model.target_map else None


def score_threshold(pair: ModelPair, settings: Settings) -> float | None:
    """The threshold on the score: functions of the target increase, so it is that function of a threshold on the target.

    Raises `UsageError` if the function has no finite value there, or is a root: of a negative score the square is served.
    """
    threshold, maps = settings.threshold, pair.candidate.target_map
    if threshold is None or not maps:
        return threshold
    if Elementary("sqrt") in maps:
        raise UsageError(
            f"the models predict {target_text(maps, 'the target')} and serve its square, also where it is negative, so that "
            "a threshold on the target is none on the score; leave out the threshold"
        )
    score = float(apply_all(maps, np.array([threshold]))[0])
    if not math.isfinite(score):
        raise UsageError(
            f"the models predict {target_text(maps, 'the target')}, which has no value at the threshold {threshold:g}; give "
            "one that a target can have"
        )
    return score
