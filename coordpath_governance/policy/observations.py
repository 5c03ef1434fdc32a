"""The numbers that rules and materiality classes compare, each read from a change report; None where it is not known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from coordpath_governance.policy.results import Unit, listed, value_text
from coordpath_governance.reports.document import ChangeReportDocument, CoordinateFacts, FunctionFacts
from coordpath_governance.reports.thresholds import hides_a_move, is_bare, own_thresholds

__all__ = [
    "NEEDS_CHAMPION",
    "OBSERVATIONS",
    "Observation",
    "mean_shift",
    "observe",
    "remedy",
    "reversed_functions",
    "standardised_move",
    "ways",
]

_NEEDS_ROWS = "Make the report from the pinned rows, not from logged moments."
_NEEDS_SEGMENTS = "Name segments in the policy's reference, and make the report from the pinned rows."
_NEEDS_THRESHOLD = "Give a threshold in the policy's reference, and make the report from the pinned rows."
NEEDS_CHAMPION = "There is no champion to compare with: a first version needs a person."
_NOT_EXERCISED = "A coefficient that changed is not exercised by the reference data: pin data that exercise it."
_NO_COST = "The champion's cost is zero, so nothing is relative to it: give an absolute limit."
_SEVERAL_SCORES = "A model with several classes has several scores: give a limit by_segment, or one for decision_flips."
_OWN_THRESHOLDS = (
    "The versions' own thresholds differ, and decisions were counted at another: leave the policy's threshold out."
)
_NO_CLASS = (
    "Nobody said of which class the threshold is a probability: name one of {} in the policy, as "
    "reference.threshold: {{value: …, class: …}}, and make the report again."
)
_NO_SPREAD = "The target is constant in the reference data: give an absolute limit."
_OTHER_UNIT = "The score of these models is not in the target's unit: give an absolute limit."


@dataclass(frozen=True)
class Observation:
    """One number of a report: its title and unit, how it is read, and what to do if it is not known."""

    title: str
    unit: Unit
    read: Callable[[ChangeReportDocument], float | None]
    remedy: str = ""
    compares: bool = False
    """Whether it is known only where there is a champion."""

    def text(self, value: float | None, limit: float | None = None) -> str:
        """The number in words, with enough digits to differ from ``limit``."""
        return f"{self.title}: {'not known' if value is None else value_text(value, self.unit, limit)}"


def observe(document: ChangeReportDocument, name: str) -> float | None:
    """The observation ``name`` of a report; NaN counts as not known."""
    observation = OBSERVATIONS[name]
    if observation.compares and document.subject.champion is None:
        return None
    value = observation.read(document)
    return None if value is None or math.isnan(value) else value


def remedy(document: ChangeReportDocument, name: str) -> str:
    """What to do, as a sentence, about the observation ``name`` that is not known in this report."""
    observation = OBSERVATIONS[name]
    if observation.compares and document.subject.champion is None:
        return NEEDS_CHAMPION
    if document.glm is not None and name == "standardised_change_relative":
        return _OTHER_UNIT
    if name in ("decision_flips", "segment_decision_flips"):
        if _names_no_class(document):
            return _NO_CLASS.format(listed(document.glm.classes if document.glm else ()))
        if not _as_decided(document):
            return _OWN_THRESHOLDS
    return observation.remedy


def _hidden_changes(document: ChangeReportDocument) -> float:
    """Coefficients that change without being exercised, apart from "(any other)", the levels that nobody has seen."""
    return float(sum(c.changed and not c.exercised and c.kind != "other" for c in document.coordinates))


def _ratio(value: float, unit: float) -> float | None:
    if unit > 0:
        return value / unit
    return 0.0 if value == 0 else None


def _errors(value: float, error: float | None) -> float | None:
    """``value`` in standard errors; infinite where it is not zero and its error is."""
    if error is None:
        return None
    if error > 0:
        return value / error
    return math.copysign(math.inf, value) if value else 0.0


def _worst_step(document: ChangeReportDocument) -> float:
    return max([0.0, *(step.delta for step in document.path.steps)])


def _rest_cost(document: ChangeReportDocument) -> float:
    return max([0.0, *(abs(step.delta) for step in document.path.steps if step.kind == "rest")])


def _standardised(document: ChangeReportDocument) -> float | None:
    """The largest change of the score for one standard deviation; None if a slope changes that is not exercised."""
    moves = [standardised_move(c) for c in document.coordinates if c.changed and c.kind != "baseline"]
    sizes = [abs(move) for move in moves if move is not None]
    return max(sizes, default=0.0) if len(sizes) == len(moves) else None


def standardised_move(c: CoordinateFacts) -> float | None:
    """How far the change of one coefficient moves the score, for one standard deviation of its column.

    For a level without rows it is the move of a row of that level, which is more. None for a slope without variance.
    """
    if not c.exercised:
        return None if c.kind == "numeric" or c.old is None or c.new is None else c.new - c.old
    if c.standardised_old is None or c.standardised_new is None:
        return None
    return c.standardised_new - c.standardised_old


def _relative_to_target(document: ChangeReportDocument) -> float | None:
    """`_standardised` as a share of the target's spread; None where score and target have different units."""
    if document.glm is not None:
        return None
    largest = _standardised(document)
    return None if largest is None else _ratio(largest, document.data.target_sd)


def ways(function: FunctionFacts, *, new: bool) -> frozenset[int]:
    """The directions of a version's function between neighbouring places that the report shows: up (1), down (−1).

    ``new`` is for the candidate's function. Empty if the function is constant or missing, or is not one of a single number.
    """
    values = [point.new if new else point.old for point in function.points]
    places = [place for point in function.points for place in point.at]
    if len(function.columns) != 1 or any(isinstance(place, str) for place in places):
        return frozenset()
    finite = [value for value in values if value is not None]
    return frozenset((after > before) - (after < before) for before, after in pairwise(finite)) - {0}


def reversed_functions(document: ChangeReportDocument) -> list[str]:
    """The units of functions that rise in one version and fall in the other, at every place that the report shows."""
    opposite = ({(1,), (-1,)},)
    both = ((function.unit, [tuple(ways(function, new=new)) for new in (False, True)]) for function in document.functions)
    return [unit for unit, sides in both if set(sides) in opposite]


def _sign_flips(document: ChangeReportDocument) -> float:
    return float(document.counts.sign_flips + len(reversed_functions(document)))


def _decision_flips(document: ChangeReportDocument) -> float | None:
    flips = document.impact.flips
    return None if flips is None or not _as_decided(document) else flips.up + flips.down


def _as_decided(document: ChangeReportDocument) -> bool:
    """Whether flips were counted at a cut-off whose class is named, and hide no move of the versions' own thresholds."""
    own = own_thresholds(document.models, document.settings.threshold_class)
    return not _names_no_class(document) and not hides_a_move(document.impact.flips, own)


def _names_no_class(document: ChangeReportDocument) -> bool:
    """Whether nobody named the class of a classifier's threshold; the first edition counted flips all the same."""
    if document.edition is None or document.glm is None:
        return False
    return is_bare(document.settings, document.glm.classes)


def _segment_flips(document: ChangeReportDocument) -> float | None:
    if not _as_decided(document):
        return None
    shares = [segment.flips for segment in document.impact.segments]
    return max((share for share in shares if share is not None), default=None) if None not in shares else None


def mean_shift(document: ChangeReportDocument) -> float | None:
    """The move of the mean score, up or down; None for several classes, which have several scores."""
    several = document.glm is not None and document.glm.link == "softmax"
    return None if several else document.impact.shift.mean


def _size_of_mean_shift(document: ChangeReportDocument) -> float | None:
    moved = mean_shift(document)
    return None if moved is None else abs(moved)


def _segment_shift(document: ChangeReportDocument) -> float | None:
    return max((abs(segment.mean_shift) for segment in document.impact.segments), default=None)


OBSERVATIONS: dict[str, Observation] = {
    "final_cost_increase": Observation("cost increase", "number", lambda d: d.impact.delta, compares=True),
    "final_cost_increase_relative": Observation(
        "relative cost increase", "share", lambda d: _ratio(d.impact.delta, d.impact.champion.cost), _NO_COST, compares=True
    ),
    "final_cost_increase_errors": Observation(
        "cost increase", "standard errors", lambda d: _errors(d.impact.delta, d.impact.delta_se), _NEEDS_ROWS, compares=True
    ),
    "step_cost_increase": Observation("largest increase at a step", "number", _worst_step),
    "step_cost_increase_relative": Observation(
        "largest relative increase at a step", "share", lambda d: _ratio(_worst_step(d), d.path.start_cost), _NO_COST
    ),
    "steps": Observation("steps", "count", lambda d: float(len(d.path.steps))),
    "rest_coefficients": Observation(
        "coefficients in the rest", "count", lambda d: float(sum(len(s.moves) for s in d.path.steps if s.kind == "rest"))
    ),
    "rest_cost_change": Observation("cost change by the rest", "number", _rest_cost),
    "gap": Observation("gap", "share", lambda d: d.path.gap),
    "coefficients_changed": Observation("coefficients that differ", "count", lambda d: float(d.counts.changed)),
    "sign_flips": Observation("sign flips", "count", _sign_flips, compares=True),
    "features_added": Observation("features added", "count", lambda d: float(len(d.counts.columns_added)), compares=True),
    "features_dropped": Observation(
        "features dropped", "count", lambda d: float(len(d.counts.columns_dropped)), compares=True
    ),
    "levels_added": Observation("levels added", "count", lambda d: float(len(d.counts.levels_added)), compares=True),
    "levels_dropped": Observation("levels dropped", "count", lambda d: float(len(d.counts.levels_dropped)), compares=True),
    "standardised_change": Observation(
        "largest standardised change", "number", _standardised, _NOT_EXERCISED, compares=True
    ),
    "standardised_change_relative": Observation(
        "largest standardised change, of the target's standard deviation",
        "share",
        _relative_to_target,
        f"{_NOT_EXERCISED} {_NO_SPREAD}",
        compares=True,
    ),
    "unexercised_changes": Observation("changes not exercised", "count", _hidden_changes),
    "unexercised": Observation("coefficients not exercised", "count", lambda d: float(d.counts.not_exercised)),
    "decision_flips": Observation("decisions that flip", "share", _decision_flips, _NEEDS_THRESHOLD, compares=True),
    "segment_decision_flips": Observation(
        "decisions that flip in a segment", "share", _segment_flips, f"{_NEEDS_THRESHOLD} {_NEEDS_SEGMENTS}", compares=True
    ),
    "mean_score_shift": Observation("mean score shift", "number", _size_of_mean_shift, _SEVERAL_SCORES, compares=True),
    "segment_mean_score_shift": Observation(
        "mean score shift in a segment", "number", _segment_shift, _NEEDS_SEGMENTS, compares=True
    ),
    "first_version": Observation("first version", "count", lambda d: float(d.subject.champion is None)),
}
"""Every observation, by the name that the ``when`` of a materiality class uses."""
