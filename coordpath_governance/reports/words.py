"""The report's sentences: what the figures say, and no more than they say."""

from __future__ import annotations

from typing import Literal

from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.models.formats import (
    DECLARED,
    DECLARED_FORMAT,
    as_read,
    format_of,
    is_plugin,
    recalled_from,
)
from coordpath_governance.numbers import cost_column, count, difference, is_within_noise, percent, significant
from coordpath_governance.reference.moments import MIN_COUNT
from coordpath_governance.reference.segments import SMALL_CELLS
from coordpath_governance.reports.class_words import (
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

__all__ = ["certificate_sentence", "limits", "summarise"]

_LEAST_RATIO, _MOST_RATIO = 0.8, 1.25
"""Expected over observed, within which nobody has to be asked."""

_CHANCE = 0.5
"""The area under the curve of predictions that know nothing."""

_PREDICTED = 60
"""Characters of the function of the target in a sentence."""

_DIGITS = 12
"""Of a SHA-256 in a sentence."""

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
    """Headline and sentences; ``versions`` are the labels of champion (None: from zero) and candidate.

    ``own`` are the versions' own thresholds, of the class that the ``settings`` name; ``weights`` the class weights that
    they were trained with; ``edition`` that of the report.
    """
    loss = _loss(data, glm)
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
        *_useless(versions[0] is not None or is_before(edition, 3), impact, glm, weights, edition),
    ]
    return Summary(
        direction=direction,
        headline=_headline(direction, versions, counts, path, impact, loss, own),
        sentences=tuple(s for s in sentences if s),
    )


def _loss(data: DataFacts, glm: GlmFacts | None) -> str:
    """What the cost is called, with the function of the target that it is an error of."""
    if glm is not None:
        return glm.loss
    return LOSS if data.predicted is None else f"{LOSS} of {shorten(data.predicted, _PREDICTED)}"


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
    """How many decisions flip, at which cut-off, and what to ask about it."""
    if impact.flips is None:
        return []
    words = decision_words(impact.flips, data.rows, data.weight, glm)
    meant = [words.was_it_meant()] if settings is not None and glm is not None and is_bare(settings, glm.classes) else []
    return [words.sentence(), *meant, *words.is_it_in_use()]


def _calibration(has_champion: bool, data: DataFacts, impact: Impact, glm: GlmFacts | None) -> list[str]:
    """A warning where all that rates or amounts are compared with is far off: often it is not what the models predict."""
    sides = (impact.champion, impact.candidate) if has_champion else (impact.candidate,)
    ratios = [s.expected / s.observed for s in sides if isinstance(s, GlmMetrics) and s.expected is not None and s.observed]
    if glm is None or glm.link != "log" or any(_LEAST_RATIO <= ratio <= _MOST_RATIO for ratio in ratios):
        return []
    told = " and ".join(f"{significant(ratio, 3)} times" for ratio in ratios)
    who = "Champion and candidate predict" if has_champion else "It predicts"
    asked = "check exposure and weight." if data.exposure or data.weight else "is an exposure missing, or a weight?"
    return [f"{who} {told} what was observed: {asked}"]


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
    """What is proved about the order, in words."""
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


def limits(
    models: ModelPair,
    data: DataFacts,
    counts: Counts,
    path: PathFacts,
    impact: Impact,
    merged: tuple[str, ...],
    has_rows: bool,
    glm: GlmFacts | None = None,
    weights: ClassWeights = UNWEIGHTED,
    edition: Edition | None = EDITION,
) -> tuple[str, ...]:
    """What this report of an ``edition`` cannot tell, for these data and models, trained with these class ``weights``."""
    out = [
        "These figures hold for the reference data named here. They say nothing of other populations or the future.",
        "A coefficient is not a cause: correlated features share their effect, and another model may share it differently.",
    ]
    if glm is not None and models.has_intercept:
        out.append(
            "Moving a slope leaves the average score where it is; the average prediction still moves, because "
            "predictions do not follow the score in a straight line."
        )
    if data.predicted is not None:
        out.append(
            f"The versions are models of {shorten(data.predicted, _PREDICTED)}, not of the target itself. Coefficients, "
            "scores, costs and errors are all on that scale; what they are in units of the target is not told here."
        )
    if data.role == "training":
        out.append("The reference data were used for training: accuracy on new data will be worse, for either version.")
    if data.role == "not stated":
        out.append("Nobody stated whether the reference data were used for training.")
    if not has_rows:
        out.append("Only moments were at hand, not rows: there are no standard errors, flips, segments or absolute errors.")
    if counts.not_exercised:
        are = "1 coefficient is" if counts.not_exercised == 1 else f"{count(counts.not_exercised)} coefficients are"
        out.append(f"{are} not exercised by this data: what a change there does is unknown.")
    if merged:
        out.append(
            f"Levels with fewer than {MIN_COUNT} rows are merged with the next smallest, so that no row can be recognised: "
            f"{', '.join(merged)}. Their effects are represented exactly, but not told one by one."
        )
    out += _segments_without_values(impact)
    out += _separated(path, glm)
    out += _useless(models.has_champion or is_before(edition, 3), impact, glm, weights, edition)
    if data.rows_dropped:
        why = "with a rare level or a missing value" if data.kind == "moments" else "with a missing value"
        out.append(f"{count(data.rows_dropped)} rows {why} were left out; the models were not judged on such rows.")
    out += _constant_target(data, glm)
    loss = _loss(data, glm)
    out += _training(models, loss)
    for who, model in (("champion", models.champion), ("candidate", models.candidate)):
        fitted_by = model.regularisation.get("loss")
        if fitted_by:
            out.append(f"The {who} was fitted by another loss ({fitted_by}) than the {loss} by which it is judged here.")
        out += _how_read(who, model.source)
        out += [f"The {who}: {remark}." for remark in model.remarks]
    return tuple(out)


def _how_read(who: str, source: str) -> list[str]:
    """A remark on coefficients that we did not read ourselves, or not now."""
    report = recalled_from(source)
    if report is not None:
        told = (
            f"The files of the {who} are gone. Its coefficients are those of report {report[:_DIGITS]} in the ledger, made"
        )
        return [f"{told} while the files were there; nobody can compare them now.", *_how_read(who, str(as_read(source)))]
    form = format_of(source)
    if source == DECLARED or (form is None and "declared" in source):
        return [f"The coefficients of the {who} are {source}; nobody checked that the model predicts with them."]
    if form == DECLARED_FORMAT:
        return [f"The coefficients of the {who} are {source}; they were not read from the model's files."]
    if form is not None and is_plugin(form):
        return [f"The {who} was {source}: whether that reads what is served, coordpath does not know."]
    return []


def _segments_without_values(impact: Impact) -> list[str]:
    """A remark on columns whose values are all rare, such as an amount: their one segment is all rows."""
    values: dict[str, set[str]] = {}
    for segment in impact.segments:
        values.setdefault(segment.segment, set()).add(segment.value)
    return [
        f"No value of the segment {name!r} has {MIN_COUNT} rows, so it tells nothing: name a column of bands instead."
        for name, found in values.items()
        if found == {SMALL_CELLS}
    ]


def _separated(path: PathFacts, glm: GlmFacts | None) -> list[str]:
    """A warning where some combination of the columns tells the classes apart: the least log loss is 0 then."""
    if glm is None or not glm.classes or path.minimum_cost > 0.0:
        return []
    told = "In these rows the columns tell the classes apart completely, so that no model is best: "
    told += f"the {glm.loss} comes down to 0 as coefficients grow. "
    return [told + "How far the versions are from the best possible model says little here."]


def _useless(
    has_champion: bool, impact: Impact, glm: GlmFacts | None, weights: ClassWeights, edition: Edition | None
) -> list[str]:
    """A warning where no version is better than a constant; ranked the wrong way round, classes may be swapped.

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


def _constant_target(data: DataFacts, glm: GlmFacts | None) -> list[str]:
    """A warning where there is nothing to explain."""
    if glm is None:
        if data.target_sd:
            return []
        return [
            "The target is constant in the reference data: no share of its variation can be explained, and R² is undefined."
        ]
    if glm.constant_cost:
        return []
    return ["A constant predicts these data without any error: no share of the deviance can be explained."]


def _training(models: ModelPair, loss: str) -> list[str]:
    """How the versions were trained, as far as the cost does not follow it."""
    out = []
    sides = (models.champion, models.candidate)
    penalty = any(m.regularisation.get("kind", "none") != "none" for m in sides)
    weights = any(m.regularisation.get("class_weight") is not None for m in sides)
    if penalty or weights:
        terms = {(True, False): "the penalty", (False, True): "the class weights"}.get(
            (penalty, weights), "penalty and class weights"
        )
        are = "are" if weights else "is"
        out.append(f"The cost is the plain {loss}: {terms} that a version was trained with {are} not part of it.")
    old, new = (m.power for m in sides)
    if old is not None and new is not None and old != new:
        out.append(
            f"The versions were trained for different Tweedie powers, the champion for {old:g}, the candidate for {new:g}: "
            "both are judged by the candidate's."
        )
    return out
