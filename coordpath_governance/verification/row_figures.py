"""Contradictions among figures that only rows can tell: they must fit each other and the rest of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from coordpath_governance.reference.decisions import MOST_CLASS_FLIPS, THRESHOLD_STEP
from coordpath_governance.reference.moments import MIN_COUNT
from coordpath_governance.reference.versions import MOST_CLASSES
from coordpath_governance.reports.document import ChangeReportDocument, DataFacts
from coordpath_governance.reports.impact_parts import (
    ClassBalance,
    Flips,
    GlmFacts,
    GlmRowMetrics,
    RowEvidence,
    SegmentImpact,
)

__all__ = ["class_contradictions", "contradictions"]


_TOLERANCE = 1e-9


def contradictions(document: ChangeReportDocument) -> Iterator[str]:
    """Contradictions in what the report says of decisions, and of rows of a generalised linear model."""
    glm, rows = document.glm, document.rows
    if rows is not None and rows.flips is not None:
        yield from _of_decisions(rows.flips, document)
    if glm is None or rows is None:
        return
    if glm.constant_cost < 0:
        yield "glm.constant_cost: is negative, and no loss is"
    sides = (("champion", rows.champion_metrics), ("candidate", rows.candidate_metrics))
    for who, side in sides:
        if side is not None:
            yield from (f"rows.{who}_metrics.{problem}" for problem in _of_version(side, glm, document.data.rows))
    yield from class_contradictions(document.data, glm, rows)
    yield from _of_both(rows)
    yield from _of_shift(rows)
    if rows.flips is not None:
        yield from _of_flips(rows.flips, [step.feature for step in document.path.steps], several=glm.link == "softmax")
    for i, segment in enumerate(rows.segments):
        yield from (f"rows.segments[{i}].{problem}" for problem in _of_segment(segment, document.data.rows))


def _of_version(side: GlmRowMetrics, glm: GlmFacts, rows: int) -> Iterator[str]:
    several, classifies = glm.link == "softmax", bool(glm.classes)
    if tuple(balance.label for balance in side.classes) != glm.classes:
        yield "classes: are not those of the models"
    for share in ("observed", "expected"):
        if classifies and not _equal(sum(getattr(balance, share) for balance in side.classes), 1.0):
            yield f"classes: the {share} shares do not add up to 1"
    if (side.auc is None) != (several or not classifies):
        yield "auc: is for two classes"
    if side.auc is not None and not _equal(side.gini, 2.0 * side.auc - 1.0):
        yield "gini: is not 2·auc − 1"
    if side.gini is not None and abs(side.gini) > 1.0 + _TOLERANCE:
        yield "gini: is beyond 1"
    if several:
        return
    if sum(tenth.rows for tenth in side.calibration) != (rows if rows >= MIN_COUNT else 0):
        yield "calibration: its rows are not those of the data"
    tenths = [value for tenth in side.calibration for value in (tenth.expected, tenth.observed)]
    means = [side.expected, side.observed, *tenths]
    if not all(value is not None and 0.0 <= value <= (1.0 + _TOLERANCE if classifies else value) for value in means):
        yield "calibration: has a mean that such models cannot have"
    order = [tenth.expected for tenth in side.calibration]
    if order != sorted(order):
        yield "calibration: is not in the order of the predictions"


def _of_both(rows: RowEvidence) -> Iterator[str]:
    """The target is the same for both versions."""
    champion, candidate = rows.champion_metrics, rows.candidate_metrics
    if champion is None or candidate is None:
        return
    shares = zip(champion.classes, candidate.classes, strict=False)
    if champion.observed != candidate.observed or not all(_equal(a.observed, b.observed) for a, b in shares):
        yield "rows.candidate_metrics.observed: is not what was observed of the champion"


def _of_shift(rows: RowEvidence) -> Iterator[str]:
    low, middle, high = rows.shift_p05, rows.shift_p50, rows.shift_p95
    if not low <= middle <= high:
        yield "rows.shift_p50: the quantiles are not in order"
    if max(-low, high, 0.0) > abs(rows.shift_largest) * (1.0 + _TOLERANCE) + _TOLERANCE:
        yield "rows.shift_largest: is smaller than a quantile"


def _of_flips(flips: Flips, steps: Sequence[str], *, several: bool) -> Iterator[str]:
    """There is one entry per step, and one more if the threshold moves; the steps' flips add up to the total."""
    moved = [] if flips.champion_threshold is None else [THRESHOLD_STEP]
    if [step.feature for step in flips.steps] != [*steps, *moved]:
        yield "rows.flips.steps: are not the steps of the path"
    along = sum(step.up - step.down for step in flips.steps)
    if several:
        if flips.down or any(step.down for step in flips.steps) or flips.up > along + _TOLERANCE:
            yield "rows.flips.up: more decisions change than do on the way"
    elif not _equal(flips.up - flips.down, along):
        yield "rows.flips: the steps do not add up to them"


def _of_decisions(flips: Flips, document: ChangeReportDocument) -> Iterator[str]:
    """The counts of rows, and the shares that each version decides for, which every edition but the first has."""
    counts, shares = (flips.rows_up, flips.rows_down), (flips.champion_yes, flips.candidate_yes)
    is_counted = document.edition is not None
    has_shares = is_counted and flips.threshold is not None
    if {n is not None for n in counts} != {is_counted} or {share is not None for share in shares} != {has_shares}:
        yield "rows.flips: are not as reports of this edition count them"
        return
    if flips.rows_up is None or flips.rows_down is None:
        return
    rows, weighted = document.data.rows, document.data.weight is not None
    for side, count, share in (("up", flips.rows_up, flips.up), ("down", flips.rows_down, flips.down)):
        if (not weighted and not _equal(count / rows, share)) or bool(share) > bool(count):
            yield f"rows.flips.rows_{side}: is not the share of the rows"
    if flips.rows_up + flips.rows_down > rows:
        yield "rows.flips.rows_up: are more than the rows of the data"
    before, after = flips.champion_yes, flips.candidate_yes
    if before is not None and after is not None and not _equal(after - before, flips.up - flips.down):
        yield "rows.flips.candidate_yes: is not what the flips make of champion_yes"


def _of_segment(segment: SegmentImpact, rows: int) -> Iterator[str]:
    if not _equal(segment.delta, segment.candidate_cost - segment.champion_cost):
        yield "delta: is not the difference of the costs"
    if min(segment.champion_cost, segment.candidate_cost) < 0:
        yield "candidate_cost: a cost is negative, and no loss is"
    if segment.rows > rows:
        yield "rows: are more than those of the data"


def _equal(value: float | None, expected: float) -> bool:
    return value is not None and abs(value - expected) <= _TOLERANCE * max(1.0, abs(expected))


def class_contradictions(data: DataFacts, glm: GlmFacts, rows: RowEvidence) -> Iterator[str]:
    """Contradictions in figures of several classes, which reports on other models may not have."""
    several = glm.link == "softmax"
    sides = (
        ("champion", rows.champion_metrics, rows.champion_mae),
        ("candidate", rows.candidate_metrics, rows.candidate_mae),
    )
    for who, side, mae in sides:
        if side is not None:
            problems = _of_several(side, mae, data) if several else _of_others(side)
            yield from (f"rows.{who}_metrics.{problem}" for problem in problems)
    if rows.flips is not None:
        problems = _of_class_flips(rows.flips, glm.classes if several else ())
        yield from (f"rows.flips.classes{problem}" for problem in problems)
        yield from _of_accuracy(rows, rows.flips)


def _of_others(side: GlmRowMetrics) -> Iterator[str]:
    if side.accuracy is not None:
        yield "accuracy: is for several classes"
    if any(balance.auc is not None or balance.calibration for balance in side.classes):
        yield "classes: only of several has each its own AUC and calibration"


def _of_several(side: GlmRowMetrics, mae: float, data: DataFacts) -> Iterator[str]:
    """Contradictions in the figures of ``side``, whose mean absolute error is ``mae``.

    A row is decided rightly if its class has more than half of the probability, and wrongly if it has less than 1/k of k
    classes. So the accuracy lies between 1 − 2·mae and k·(1 − mae).
    """
    count = len(side.classes)
    if side.accuracy is None:
        yield "accuracy: is missing"
    elif not 1.0 - 2.0 * mae - _TOLERANCE <= side.accuracy <= count * (1.0 - mae) + _TOLERANCE:
        yield "accuracy: cannot be, with that absolute error"
    for i, balance in enumerate(side.classes):
        if count > MOST_CLASSES:
            if balance.auc is not None or balance.calibration:
                yield f"classes[{i}]: more than {MOST_CLASSES} are not measured one by one"
        else:
            yield from (f"classes[{i}].{problem}" for problem in _of_class(balance, data))


def _of_class(balance: ClassBalance, data: DataFacts) -> Iterator[str]:
    if (balance.auc is not None) != (0.0 < balance.observed < 1.0):
        yield "auc: is for classes that some rows have, and others do not"
    bins, rows = balance.calibration, data.rows if data.rows >= MIN_COUNT else 0
    if sum(tenth.rows for tenth in bins) != rows or any(tenth.rows < MIN_COUNT for tenth in bins):
        yield "calibration: its rows are not those of the data"
        return
    for mean_of in ("expected", "observed"):
        means = [getattr(tenth, mean_of) for tenth in bins]
        if any(not -_TOLERANCE <= mean <= 1.0 + _TOLERANCE for mean in means):
            yield f"calibration: has a share {mean_of} that no class can have"
        if bins and not _is_mean(
            getattr(balance, mean_of), means, [tenth.rows for tenth in bins], weighted=data.weight is not None
        ):
            yield f"calibration: does not add up to what was {mean_of} in all"
    order = [tenth.expected for tenth in bins]
    if any(lower > higher + _TOLERANCE for lower, higher in pairwise(order)):
        yield "calibration: is not in the order of the predictions"


def _is_mean(whole: float, means: Sequence[float], rows: Sequence[int], *, weighted: bool) -> bool:
    """Whether ``whole`` is the mean of ``means`` over so many ``rows`` each; with weights, whether it lies between them."""
    if weighted:
        return min(means) - _TOLERANCE <= whole <= max(means) + _TOLERANCE
    return abs(sum(mean * n for mean, n in zip(means, rows, strict=True)) / sum(rows) - whole) <= _TOLERANCE


def _of_class_flips(flips: Flips, classes: Sequence[str]) -> Iterator[str]:
    """Each change of class is listed once, in the order of the classes; together they are all decisions that flip."""
    position = {label: i for i, label in enumerate(classes)}
    if any(label not in position for flip in flips.classes for label in (flip.before, flip.after)):
        yield ": are not those of the models" if classes else ": are for several classes"
        return
    places = [(position[flip.before], position[flip.after]) for flip in flips.classes]
    if places != sorted(set(places)) or any(before == after for before, after in places):
        yield ": are not changes from one class to another, each once and in order"
    total, is_cut = sum(flip.flips for flip in flips.classes), len(places) == MOST_CLASS_FLIPS
    if classes and (total > flips.up + _TOLERANCE or (not is_cut and total < flips.up - _TOLERANCE)):
        yield ": do not add up to the decisions that flip"


def _of_accuracy(rows: RowEvidence, flips: Flips) -> Iterator[str]:
    sides = [side.accuracy for side in (rows.champion_metrics, rows.candidate_metrics) if side is not None]
    old, new = sides if len(sides) == 2 else (None, None)
    if old is not None and new is not None and abs(new - old) > flips.up + _TOLERANCE:
        yield "rows.candidate_metrics.accuracy: changes by more than decisions do"
