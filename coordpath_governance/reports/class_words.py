"""Sentences on probabilities of classes: whether as many were expected as observed, and what class weights do to that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coordpath_governance.numbers import percent
from coordpath_governance.reports.document import DataFacts
from coordpath_governance.reports.impact_parts import GlmFacts, GlmMetrics, Impact
from coordpath_governance.text import shorten

__all__ = ["UNWEIGHTED", "ClassWeights", "class_calibration", "class_weights", "trained_with", "weight_text"]

ClassWeights = tuple[str | None, str | None]
"""The champion's and the candidate's class weights in words; None where a version was trained without any."""

UNWEIGHTED: ClassWeights = (None, None)

_LEAST_RATIO, _MOST_RATIO = 0.8, 1.25
"""Expected over observed, within which nobody has to be asked."""
_ERRORS = 2.0
_TWO = 2
_LABEL = 40


def class_weights(models: Mapping[Any, Mapping[str, Any] | None]) -> ClassWeights:
    """Of the models of a report."""
    champion, candidate = (weight_text((models.get(who) or {}).get("regularisation") or {}) for who in _SIDES)
    return champion, candidate


_SIDES = ("champion", "candidate")


def weight_text(regularisation: Mapping[str, Any]) -> str | None:
    """Such as class_weight='balanced'; None where there are no weights."""
    weight = regularisation.get("class_weight")
    if weight is None:
        return None
    return "class_weight='balanced'" if weight == "balanced" else f"class weights {shorten(str(weight), _LABEL)}"


def trained_with(weights: ClassWeights, names: tuple[str | None, str | None] = _SIDES) -> str:
    """Which version was trained with class weights, and what they do; at least one was."""
    old, new = weights
    champion, candidate = (f"the {name}" if name in _SIDES else str(name) for name in names)
    if old is not None and old == new:
        return f"both were trained with {old}, which shifts their probabilities"
    parts = [f"{who} was trained with {text}" for who, text in ((champion, old), (candidate, new)) if text is not None]
    return f"{' and '.join(parts)}, which shifts {'its' if len(parts) == 1 else 'their'} probabilities"


def class_calibration(
    versions: tuple[str | None, str], data: DataFacts, impact: Impact, glm: GlmFacts | None, weights: ClassWeights
) -> list[str]:
    """How much each version of two classes expected of the rarer one, where that is far from what was observed.

    Far is a ratio beyond 0.8 to 1.25, and more than two standard errors of the observed share.
    """
    if glm is None or len(glm.classes) != _TWO:
        return []
    sides = zip(versions, (impact.champion, impact.candidate), weights, strict=True)
    told, blamed = [], list(UNWEIGHTED)
    for place, (version, side, weight) in enumerate(sides):
        if version is None or not isinstance(side, GlmMetrics) or not side.classes:
            continue
        rare = min(side.classes, key=lambda each: each.observed)
        if not _is_far(rare.expected, rare.observed, data):
            continue
        who = f"The {version}" if version in _SIDES else version
        expected, observed = percent(rare.expected), percent(rare.observed)
        told.append(f"{who} expected {expected}, observed {observed} ({shorten(rare.label, _LABEL)}).")
        blamed[place] = weight
    if not any(blamed):
        return told
    cause = trained_with((blamed[0], blamed[1]), versions)
    return [*told, f"The likely cause: {cause}."]


def _is_far(expected: float, observed: float, data: DataFacts) -> bool:
    if not observed or _LEAST_RATIO <= expected / observed <= _MOST_RATIO:
        return False
    rows = data.weight_sum**2 / data.weight_square_sum if data.weight_square_sum else 0.0
    error = (observed * (1.0 - observed) / rows) ** 0.5 if rows else 0.0
    return abs(expected - observed) > _ERRORS * error
