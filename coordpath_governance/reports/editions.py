"""Editions: which sentences, and which judgement of the rules, a report was made with.

A report is verified by composing it again. Its figures are the same in every edition, but its sentences are not. Nor is the
result of a rule that an earlier edition judged without knowing enough. So a document names its edition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from coordpath_governance.reports.document import ChangeReportDocument
    from coordpath_governance.reports.parts import Part

__all__ = ["EDITION", "Edition", "is_before", "later_fields"]

Edition = Literal[2, 3]

EDITION: Edition = 3
"""The edition of reports that are made now. Reports of the first edition, by early versions of 0.1, do not have the key.

Since 2 a cut-off names its class, `decision_flips` is not known where it does not, and flips are counted in rows.
Since 3 class weights are named as a cause only where they can be one, and a first version is not called both versions.
"""


def is_before(edition: Edition | None, later: Edition) -> bool:
    """Whether a report of ``edition`` was made before the edition ``later``; None is the first."""
    return edition is None or edition < later


_LATER = {
    "facts": ("monitoring", "rollback", "implementation_date", "notification_deadline", "tagged", "unusable_tags"),
    "subject.champion": ("registered_ms", "run_started_ms", "run_remark", "training"),
    "subject.candidate": ("registered_ms", "run_started_ms", "run_remark", "training"),
    "assessment": ("gate", "materiality_reason"),
    "settings": ("threshold_class",),
    "impact.flips": ("threshold_class", "rows_up", "rows_down", "champion_yes", "candidate_yes"),
    "rows.flips": ("threshold_class", "rows_up", "rows_down", "champion_yes", "candidate_yes"),
}
"""Fields that no report of the first edition has, by the part they are in: they betray a document that drops its edition."""


def later_fields(document: ChangeReportDocument) -> Iterator[str]:
    """The fields that ``document`` has and that no report of its edition can have, as "part.field"."""
    if document.edition is not None:
        return
    for place, names in _LATER.items():
        part: Part | None = document
        for name in place.split("."):
            part = getattr(part, name, None)
        for name in names:
            if getattr(part, name, None) not in (None, ()):
                yield f"{place}.{name}"
