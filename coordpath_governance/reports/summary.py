"""The summary: a headline and sentences on what the figures say, and no more than they say.

Changed sentences need another edition: see `editions`.
"""

from __future__ import annotations

from typing import Literal

from coordpath_governance.numbers import cost_column, count, difference, is_within_noise, percent, significant
from coordpath_governance.reports.class_words import (
    LEAST_RATIO,
    MOST_RATIO,
    UNWEIGHTED,
    ClassWeights,
    class_calibration,
    trained_with,
)
from coordpath_governance.reports.document import Counts, DataFacts, PathFacts, Settings, Summary
from coordpath_governance.reports.editions import EDITION, Edition, is_before
from coordpath_governance.reports.impact_parts import GlmFacts, GlmMetrics, Impact
from coordpath_governance.reports.thresholds import (
    NOWHERE,
    OwnThresholds,
    counted_elsewhere,
    decision_words,
    is_bare,
    moved_threshold,
)
from coordpath_governance.text import shorten

__all__ = [
    "PREDICTED_LENGTH",
    "certificate_sentence",
    "loss_name",
    "summarise",
    "worse_than_constant",
]

_CHANCE = 0.5
"""The area under the curve of predictions that know nothing."""

PREDICTED_LENGTH = 60
"""Characters of the function of the target in a sentence."""

LOSS = "mean squared error"
Direction = Literal["better", "worse", "no difference", "not known", "no change"]

_ROLE = {
    "training": "training data, so accuracy on them flatters the version trained on them",
    "holdout": "holdout data, said not to be used to train either version",
    "out-of-time": "out-of-time data, said not to be used to train either version",
    "not stated": "role not stated, so they may have been used for training",
}


def summarise(
    versions: tuple[str | None, str],
    *,
    data: DataFacts,
    counts: Counts,
    path: PathFacts,
    impact: Impact,
    glm: GlmFacts | None = None,
    own: OwnThresholds = NOWHERE,
    settings: Settings | None = None,
    weights: ClassWeights = UNWEIGHTED,
    edition: Edition | None = EDITION,
) -> Summary:
    """The headline and the sentences of a report.

    ``versions`` are the labels of champion (None if the candidate is explained from zero) and candidate. ``own`` are the
    versions' own thresholds, as probabilities of the class that the ``settings`` name, and ``weights`` the class weights
    that the versions were trained with. ``edition`` is that of the report.
    """
    loss = loss_name(data, glm)
    direction = _direction(path, impact)
    column = cost_column([path.start_cost, *(s.cost for s in path.steps)], [s.delta for s in path.steps])
    before, after = (column.cost(cost) + column.suffix for cost in (impact.champion.cost, impact.candidate.cost))
    period = f", {data.period}" if data.period else ""
    change = difference(impact.delta, impact.delta_se)
    says = {
        "better": "better",
        "worse": "worse",
        "no difference": "no difference that these data can show",
        "not known": "whether that is more than chance cannot be told without rows",
        "no change": "no change",
    }[direction]
    rows = f"On {count(data.rows)} rows ({_ROLE[data.role]}{period})"
    sentences = [
        f"{rows} {loss} goes from {before} to {after}, by {change}: {says}.",
        _count_sentence(counts, path),
        certificate_sentence(path),
        *_decisions(data, impact, glm, settings),
        *counted_elsewhere(impact.flips, own),
        *_calibration(versions[0] is not None, data, impact, glm),
        *class_calibration(versions, data, impact, glm, weights, edition),
        *worse_than_constant(
            impact, glm, weights, has_champion=versions[0] is not None or is_before(edition, 3), edition=edition
        ),
    ]
    return Summary(
        direction=direction,
        headline=_headline(direction, versions, counts, path, impact, loss, own),
        sentences=tuple(s for s in sentences if s),
    )


def loss_name(data: DataFacts, glm: GlmFacts | None) -> str:
    """The name of the cost, with the function of the target whose error it is."""
    if glm is not None:
        return glm.loss
    return LOSS if data.predicted is None else f"{LOSS} of {shorten(data.predicted, PREDICTED_LENGTH)}"


def _direction(path: PathFacts, impact: Impact) -> Direction:
    if not path.steps:
        return "no change"
    if impact.delta_se is None:
        return "not known"
    if abs(impact.delta) <= 2 * impact.delta_se:
        return "no difference"
    return "better" if impact.delta < 0 else "worse"


def _headline(
    direction: Direction,
    versions: tuple[str | None, str],
    counts: Counts,
    path: PathFacts,
    impact: Impact,
    loss: str,
    own: OwnThresholds,
) -> str:
    champion, candidate = (f"the {label}" if label in ("champion", "candidate") else label for label in versions)
    lower = "lower" if impact.delta < 0 else "higher"
    text = {
        "better": f"{candidate} is more accurate than {champion} on these data.",
        "worse": f"{candidate} is less accurate than {champion} on these data.",
        "no difference": f"These data show no difference in accuracy between {champion} and {candidate}.",
        "not known": f"{candidate} has a {lower} {loss} than {champion}; whether by more than chance is not known.",
        "no change": f"{champion} and {candidate} are the same function{moved_threshold(impact.flips, own)}.",
    }[direction]
    if champion is None:
        text = f"{candidate}, explained from zero in {len(path.steps)} steps."
    if direction == "no change" and counts.changed:
        text = f"Nothing that these data exercise changed from {champion or 'zero'} to {candidate}."
    return f"T{text[1:]}" if text.startswith("the ") else text


def _decisions(data: DataFacts, impact: Impact, glm: GlmFacts | None, settings: Settings | None) -> list[str]:
    """How many decisions flip at which cut-off, and what a reviewer should ask about it."""
    if impact.flips is None:
        return []
    words = decision_words(impact.flips, data.rows, data.weight, glm)
    meant = [words.was_it_meant()] if settings is not None and glm is not None and is_bare(settings, glm.classes) else []
    return [words.sentence(), *meant, *words.is_it_in_use()]


def _calibration(has_champion: bool, data: DataFacts, impact: Impact, glm: GlmFacts | None) -> list[str]:
    """A warning where both versions predict far more or less than was observed: the target is often another one."""
    sides = (impact.champion, impact.candidate) if has_champion else (impact.candidate,)
    ratios = [s.expected / s.observed for s in sides if isinstance(s, GlmMetrics) and s.expected is not None and s.observed]
    if glm is None or glm.link != "log" or any(LEAST_RATIO <= ratio <= MOST_RATIO for ratio in ratios):
        return []
    factors = " and ".join(f"{significant(ratio, 3)} times" for ratio in ratios)
    who = "Champion and candidate predict" if has_champion else "It predicts"
    question = "check exposure and weight." if data.exposure or data.weight else "is an exposure missing, or a weight?"
    return [f"{who} {factors} what was observed: {question}"]


def _count_sentence(counts: Counts, path: PathFacts) -> str:
    differ = f"{count(counts.changed)} of {count(counts.coefficients)} coefficients differ"
    if not path.steps:
        return f"{differ}." if not counts.changed else f"{differ}, none of which these data exercise."
    if path.steps[-1].kind != "rest" or len(path.steps[-1].moves) == 1:
        steps = "the one step reaches" if len(path.steps) == 1 else f"{len(path.steps)} steps reach"
        return f"{differ}; {steps} {significant(path.steps[-1].cost)}."
    rest = path.steps[-1]
    singles = len(path.steps) - 1
    reached = significant(path.steps[-2].cost) if singles else significant(path.start_cost)
    together = difference(rest.delta, rest.delta_se)
    noise = ", which is within noise" if is_within_noise(rest.delta, rest.delta_se) else ""
    others = f"the other {len(rest.moves)} together change it by {together}{noise}"
    return f"{differ}; the first {singles} steps reach {reached}, {others}."


def certificate_sentence(path: PathFacts) -> str:
    """What is proved about the order, as a sentence; "" for an empty path."""
    if not path.steps:
        return ""
    if path.status == "optimal":
        return (
            "No other order of these steps keeps the in-between models more accurate on these rows (proved); it says "
            "nothing about causes."
        )
    return (
        f"No order can be better by more than {significant(path.gap_per_step, 2)} per step on average "
        f"({percent(path.gap)} of what an order could still change)."
    )


def worse_than_constant(
    impact: Impact, glm: GlmFacts | None, weights: ClassWeights, *, has_champion: bool, edition: Edition | None
) -> list[str]:
    """A warning if no version is better than a constant; if all rank rows wrongly, the classes may be swapped.

    Class weights are named as the cause only if every version that there is was trained with some.
    """
    sides = (impact.champion, impact.candidate) if has_champion else (impact.candidate,)
    explained = [side.explained if isinstance(side, GlmMetrics) else side.r2 for side in sides]
    if any(share is None or share >= 0 for share in explained):
        return []
    who = "Both versions predict" if has_champion else "The candidate predicts"
    worse = f"{who} these data worse than {'their mean' if glm is None else 'the best constant'} would"
    areas = [side.auc for side in sides if isinstance(side, GlmMetrics) and side.auc is not None]
    ranked_wrongly = bool(areas) and max(areas) < _CHANCE
    weighted = any(weights) if is_before(edition, 3) else all(weights[-len(sides) :])
    if weighted and not ranked_wrongly:
        return [f"{worse}; the likely cause: {trained_with(weights)}."]
    swapped = " and its labels are not swapped" if ranked_wrongly else ""
    return [f"{worse}: check that the target column is right{swapped}."]
