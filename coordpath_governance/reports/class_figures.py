"""Figures of several classes, one by one and from one to another: what of them cannot all be true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from coordpath_governance.reference.decisions import MOST_CLASS_FLIPS
from coordpath_governance.reference.moments import MIN_COUNT
from coordpath_governance.reference.versions import MOST_CLASSES
from coordpath_governance.reports.document import DataFacts
from coordpath_governance.reports.impact_parts import ClassBalance, Flips, GlmFacts, GlmRowMetrics, RowEvidence

__all__ = ["class_contradictions"]

_TOLERANCE = 1e-9


def class_contradictions(data: DataFacts, glm: GlmFacts, rows: RowEvidence) -> Iterator[str]:
    """What is said of several classes; of other models nothing of the kind may be said."""
    several = glm.link == "softmax"
    sides = (
        ("champion", rows.champion_metrics, rows.champion_mae),
        ("candidate", rows.candidate_metrics, rows.candidate_mae),
    )
    for who, side, mae in sides:
        if side is not None:
            found = _of_several(side, mae, data) if several else _of_others(side)
            yield from (f"rows.{who}_metrics.{what}" for what in found)
    if rows.flips is not None:
        found = _of_flips(rows.flips, glm.classes if several else ())
        yield from (f"rows.flips.classes{what}" for what in found)
        yield from _of_accuracy(rows, rows.flips)


def _of_others(side: GlmRowMetrics) -> Iterator[str]:
    if side.accuracy is not None:
        yield "accuracy: is for several classes"
    if any(each.auc is not None or each.calibration for each in side.classes):
        yield "classes: only of several has each its own AUC and calibration"


def _of_several(side: GlmRowMetrics, mae: float, data: DataFacts) -> Iterator[str]:
    """A row is decided right if its class has more than half of the probability, and wrong if it has less than its part."""
    count = len(side.classes)
    if side.accuracy is None:
        yield "accuracy: is missing"
    elif not 1.0 - 2.0 * mae - _TOLERANCE <= side.accuracy <= count * (1.0 - mae) + _TOLERANCE:
        yield "accuracy: cannot be, with that absolute error"
    for i, each in enumerate(side.classes):
        if count > MOST_CLASSES:
            if each.auc is not None or each.calibration:
                yield f"classes[{i}]: more than {MOST_CLASSES} are not measured one by one"
        else:
            yield from (f"classes[{i}].{what}" for what in _of_class(each, data))


def _of_class(each: ClassBalance, data: DataFacts) -> Iterator[str]:
    if (each.auc is not None) != (0.0 < each.observed < 1.0):
        yield "auc: is for classes that some rows have, and others do not"
    bins, rows = each.calibration, data.rows if data.rows >= MIN_COUNT else 0
    if sum(one.rows for one in bins) != rows or any(one.rows < MIN_COUNT for one in bins):
        yield "calibration: its rows are not those of the data"
        return
    for what in ("expected", "observed"):
        means = [getattr(one, what) for one in bins]
        if any(not -_TOLERANCE <= mean <= 1.0 + _TOLERANCE for mean in means):
            yield f"calibration: has a share {what} that no class can have"
        if bins and not _is_mean(getattr(each, what), means, [one.rows for one in bins], weighted=data.weight is not None):
            yield f"calibration: does not add up to what was {what} in all"
    order = [one.expected for one in bins]
    if any(one > other + _TOLERANCE for one, other in pairwise(order)):
        yield "calibration: is not in the order of the predictions"


def _is_mean(whole: float, means: Sequence[float], rows: Sequence[int], *, weighted: bool) -> bool:
    """Whether parts of these sizes make up the whole; with weights it is somewhere between them."""
    if weighted:
        return min(means) - _TOLERANCE <= whole <= max(means) + _TOLERANCE
    return abs(sum(mean * n for mean, n in zip(means, rows, strict=True)) / sum(rows) - whole) <= _TOLERANCE


def _of_flips(flips: Flips, classes: Sequence[str]) -> Iterator[str]:
    """Each of them once, in the order of the classes; together they are all that flip."""
    position = {label: i for i, label in enumerate(classes)}
    if any(label not in position for each in flips.classes for label in (each.before, each.after)):
        yield ": are not those of the models" if classes else ": are for several classes"
        return
    places = [(position[each.before], position[each.after]) for each in flips.classes]
    if places != sorted(set(places)) or any(before == after for before, after in places):
        yield ": are not changes from one class to another, each once and in order"
    told, most = sum(each.flips for each in flips.classes), len(places) == MOST_CLASS_FLIPS
    if classes and (told > flips.up + _TOLERANCE or (not most and told < flips.up - _TOLERANCE)):
        yield ": do not add up to the decisions that flip"


def _of_accuracy(rows: RowEvidence, flips: Flips) -> Iterator[str]:
    sides = [side.accuracy for side in (rows.champion_metrics, rows.candidate_metrics) if side is not None]
    old, new = sides if len(sides) == 2 else (None, None)
    if old is not None and new is not None and abs(new - old) > flips.up + _TOLERANCE:
        yield "rows.candidate_metrics.accuracy: changes by more than decisions do"
