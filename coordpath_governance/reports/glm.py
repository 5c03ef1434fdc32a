"""Reports on generalised linear models: their cost on the rows, its facts, and the thresholds where versions decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.change import Change
from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.costs.families import Family, family_of
from coordpath_governance.costs.glm import GlmCost
from coordpath_governance.errors import UsageError
from coordpath_governance.numbers import complement
from coordpath_governance.paths import PathProblem, Solution
from coordpath_governance.reference.decisions import CutOff
from coordpath_governance.reference.measure_path import ModelScores, PathOnRows
from coordpath_governance.reference.row_passes import RowPasses
from coordpath_governance.reports.document import Settings
from coordpath_governance.reports.impact_parts import GlmFacts
from coordpath_governance.reports.steps import Labels
from coordpath_governance.text import shorten

__all__ = [
    "check_thresholds",
    "cost_on_rows",
    "decides_for_a_class",
    "family_of_models",
    "glm_facts",
    "glm_path_on_rows",
    "is_glm",
    "thresholds",
]

_KINDS = {"binomial": "logistic"}
"""Families whose cost has another name."""

_ANY = CutOff(0.5)
"""Where models decide for the most probable class, a cut-off is needed in form, and its value is not used."""

_TWO = 2
"""Classes, of which one is decided for by its probability."""

_NAME = 60
"""Characters of a class's name in an error."""


def is_glm(pair: ModelPair) -> bool:
    """Whether the cost is another one than the squared error."""
    return pair.candidate.family != "gaussian"


def family_of_models(pair: ModelPair) -> Family:
    """The family of both models; both versions of a Tweedie model are judged by the candidate's power."""
    model = pair.candidate
    return family_of(_KINDS.get(model.family, model.family), power=model.power, classes=len(model.classes))


def cost_on_rows(pair: ModelPair, change: Change, rows: RowPasses, target: str) -> GlmCost:
    """The mean loss over the rows as a function of the exercised coordinates."""
    family = family_of_models(pair)
    columns = change.exercised[:: family.scores]
    of_first_class = f" [{pair.candidate.classes[0]}]" if family.scores > 1 else ""
    names = [c.label.removesuffix(of_first_class) for c in columns]
    centres = [c.mean if change.centred and c.source is not None else 0.0 for c in columns]
    return GlmCost(family, rows, names=names, target_name=target, classes=pair.candidate.classes, centres=centres)


def glm_facts(pair: ModelPair, constant_cost: float, gram: Sequence[Sequence[float]]) -> GlmFacts:
    """The facts of the cost, from the models; ``constant_cost`` and ``gram`` are measured on the rows."""
    model = pair.candidate
    facts: dict[str, Any] = {
        "family": model.family,
        "link": model.link,
        "power": model.power,
        "classes": model.classes,
        "loss": family_of_models(pair).loss_name,
        "constant_cost": constant_cost,
        "gram": tuple(tuple(row) for row in gram),
    }
    return GlmFacts(**facts)


def check_thresholds(pair: ModelPair, settings: Settings) -> None:
    """Raises `UsageError` if the thresholds and the class in ``settings`` do not fit the models.

    A threshold of a classifier is a probability of one of its two classes. A model of several classes has none: it decides
    for the most probable class. If the champion has a threshold of its own, the candidate needs one too.
    """
    _check_class(pair, settings)
    requested = [t for t in (settings.threshold, settings.champion_threshold) if t is not None]
    if pair.candidate.family == "multinomial" and requested:
        raise UsageError("a model of several classes decides for the most probable one; leave the threshold out")
    for threshold in requested if pair.candidate.family == "binomial" else ():
        if not 0.0 < threshold < 1.0:
            raise UsageError(f"the threshold {threshold:g} is no probability between 0 and 1, which these models predict")
    if settings.champion_threshold is None:
        return
    if pair.candidate.family == "gaussian":
        raise UsageError(
            "the champion's own threshold has no place in a gaussian model; leave it out "
            "(it is for logistic, Poisson, gamma and Tweedie models)"
        )
    if thresholds(pair, settings)[1] is None:
        raise UsageError("the champion has a threshold, but the candidate has none of its own; give --threshold too")


def _check_class(pair: ModelPair, settings: Settings) -> None:
    named, classes = settings.threshold_class, pair.candidate.classes
    if named is None:
        return
    shown = shorten(named, _NAME)
    if settings.threshold is None and settings.champion_threshold is None:
        raise UsageError(f"the class '{shown}' is of a threshold, but there is none; give --threshold too")
    if pair.candidate.family == "multinomial":
        raise UsageError("a model of several classes decides for the most probable one; leave threshold and class out")
    if len(classes) != _TWO:
        raise UsageError(
            f"these models predict no class's probability, so the threshold cannot be one of '{shown}'; leave the class out"
        )
    if named not in classes:
        names = " and ".join(f"'{shorten(label, _NAME)}'" for label in classes)
        raise UsageError(f"the threshold is of the class '{shown}', but the models' classes are {names}; name one of them")


def thresholds(pair: ModelPair, settings: Settings) -> tuple[float | None, float | None]:
    """The thresholds of champion and candidate: those of the ``settings``, else each version's own; None if there is none.

    Both are compared with the probability of the class that the settings name, or of the last class.
    """
    requested = settings.threshold
    champion = requested if settings.champion_threshold is None else settings.champion_threshold
    own = [model.threshold for model in (pair.champion, pair.candidate)]
    if _is_about_first(pair, settings):
        own = [None if threshold is None else complement(threshold) for threshold in own]
    candidate = own[1] if requested is None else requested
    if not pair.has_champion:
        return None, candidate
    return own[0] if champion is None else champion, candidate


def _is_about_first(pair: ModelPair, settings: Settings) -> bool:
    """Whether the cut-off is one of the probability of the first of two classes."""
    return settings.threshold_class is not None and settings.threshold_class == pair.candidate.classes[0]


def _cut_offs(pair: ModelPair, settings: Settings) -> tuple[CutOff | None, CutOff | None]:
    """The cut-offs of both: requested ones are of the class that the settings name, the versions' own of the last class."""
    of_first = _is_about_first(pair, settings)
    for_champion = settings.threshold if settings.champion_threshold is None else settings.champion_threshold
    sides = ((for_champion, pair.champion.threshold), (settings.threshold, pair.candidate.threshold))
    champion, candidate = (_cut_off(requested, own, of_first=of_first) for requested, own in sides)
    if not pair.has_champion:
        return None, candidate
    before, after = thresholds(pair, settings)
    return champion, champion if before == after else candidate


def _cut_off(requested: float | None, own: float | None, *, of_first: bool) -> CutOff | None:
    if requested is not None:
        return CutOff(requested, of_first)
    return None if own is None else CutOff(own)


def decides_for_a_class(pair: ModelPair) -> bool:
    """Whether both versions decide for the most probable of several classes."""
    return pair.has_champion and pair.candidate.family == "multinomial"


def glm_path_on_rows(
    pair: ModelPair, problem: PathProblem, solution: Solution, labels: Labels, settings: Settings
) -> PathOnRows:
    """The models on the path, in the form that the rows are measured along."""
    position = {name: i for i, name in enumerate(problem.features)}
    betas: list[NDArray[np.float64]] = [problem.start]
    for step in solution.path.steps:
        beta = betas[-1].copy()
        for move in step.moves:
            beta[position[move.feature]] = move.after
        betas.append(beta)
    champion, candidate = (_ANY, _ANY) if decides_for_a_class(pair) else _cut_offs(pair, settings)
    costs = (solution.path.start_cost, *(step.cost for step in solution.path.steps))
    return PathOnRows(
        scores=ModelScores(np.stack(betas), family_of_models(pair).scores),
        costs=costs,
        deltas=tuple(np.diff(costs).tolist()),
        size=max(costs),
        steps=tuple(labels.title(step) for step in solution.path.steps),
        classes=pair.candidate.classes,
        champion_cut=champion,
        candidate_cut=candidate,
        about_first=_is_about_first(pair, settings),
    )
