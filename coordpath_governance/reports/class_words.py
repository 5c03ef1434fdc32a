"""Sentences on probabilities of classes: whether as many were expected as observed, and what class weights do to that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coordpath_governance.models.sklearn_wrappers import CALIBRATED
from coordpath_governance.numbers import percent
from coordpath_governance.reports.document import DataFacts
from coordpath_governance.reports.editions import EDITION, Edition, is_before
from coordpath_governance.reports.impact_parts import GlmFacts, GlmMetrics, Impact
from coordpath_governance.text import shorten

__all__ = [
    "LEAST_RATIO",
    "MOST_RATIO",
    "UNWEIGHTED",
    "ClassWeights",
    "class_calibration",
    "class_weights",
    "trained_with",
]

ClassWeights = tuple[str | None, str | None]
"""The champion's and the candidate's class weights in words; None where a version was trained without any."""

UNWEIGHTED: ClassWeights = (None, None)

LEAST_RATIO, MOST_RATIO = 0.8, 1.25
"""Expected ÷ observed: within this range there is nothing to ask."""
_ERRORS = 2.0
_TWO = 2
_HALF = 0.5
_LABEL = 40
_SIDES = ("champion", "candidate")
_BALANCED = "class_weight='balanced'"


def class_weights(models: Mapping[Any, Mapping[str, Any] | None], edition: Edition | None = EDITION) -> ClassWeights:
    """Of the models of a report of this ``edition``, as far as they shift probabilities.

    A calibration fits its sigmoid on rows that all count alike, which undoes the weights of the classifier within.
    """
    champion, candidate = (models.get(who) or {} for who in _SIDES)
    return _shifting_weight(champion, edition), _shifting_weight(candidate, edition)


def _shifting_weight(model: Mapping[str, Any], edition: Edition | None) -> str | None:
    if not is_before(edition, 3) and CALIBRATED in (model.get("estimator") or ""):
        return None
    return _weight_text(model.get("regularisation") or {})


def _weight_text(regularisation: Mapping[str, Any]) -> str | None:
    """Such as class_weight='balanced'; None where there are no weights."""
    weight = regularisation.get("class_weight")
    if weight is None:
        return None
    return _BALANCED if weight == "balanced" else f"class weights {shorten(str(weight), _LABEL)}"


def trained_with(weights: ClassWeights, names: tuple[str | None, str | None] = _SIDES) -> str:
    """Which version was trained with class weights, and what they do; at least one was."""
    old, new = weights
    champion, candidate = (f"the {name}" if name in _SIDES else str(name) for name in names)
    if old is not None and old == new:
        return f"both were trained with {old}, which shifts their probabilities"
    parts = [f"{who} was trained with {text}" for who, text in ((champion, old), (candidate, new)) if text is not None]
    return f"{' and '.join(parts)}, which shifts {'its' if len(parts) == 1 else 'their'} probabilities"


def class_calibration(
    versions: tuple[str | None, str],
    data: DataFacts,
    impact: Impact,
    glm: GlmFacts | None,
    weights: ClassWeights,
    edition: Edition | None = EDITION,
) -> list[str]:
    """How much each version of two classes expected of the rarer one, where that is far from what was observed.

    Far is a ratio beyond 0.8 to 1.25, and more than two standard errors of the observed share. Balanced weights draw what
    is expected towards one half, so they are not named as the cause of a share that is farther from it than the observed.
    """
    if glm is None or len(glm.classes) != _TWO:
        return []
    sides = zip(versions, (impact.champion, impact.candidate), weights, strict=True)
    sentences, blamed = [], list(UNWEIGHTED)
    for place, (version, side, weight) in enumerate(sides):
        if version is None or not isinstance(side, GlmMetrics) or not side.classes:
            continue
        rare = min(side.classes, key=lambda each: each.observed)
        if not _is_far(rare.expected, rare.observed, data):
            continue
        who = f"The {version}" if version in _SIDES else version
        expected, observed = percent(rare.expected), percent(rare.observed)
        sentences.append(f"{who} expected {expected}, observed {observed} ({shorten(rare.label, _LABEL)}).")
        if is_before(edition, 3) or weight != _BALANCED or abs(rare.expected - _HALF) < abs(rare.observed - _HALF):
            blamed[place] = weight
    if not any(blamed):
        return sentences
    cause = trained_with((blamed[0], blamed[1]), versions)
    return [*sentences, f"The likely cause: {cause}."]


def _is_far(expected: float, observed: float, data: DataFacts) -> bool:
    if not observed or LEAST_RATIO <= expected / observed <= MOST_RATIO:
        return False
    rows = data.weight_sum**2 / data.weight_square_sum if data.weight_square_sum else 0.0
    error = (observed * (1.0 - observed) / rows) ** 0.5 if rows else 0.0
    return abs(expected - observed) > _ERRORS * error
