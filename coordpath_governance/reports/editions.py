"""Which wording of its sentences and which judgement of its rules a report was made with.

A report is verified by composing it again. Its figures are the same in every edition; its sentences are not, and neither is
what a rule says where an earlier edition took more for granted than it knew. So a document names its edition.
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
"""Of the reports that are made now. The first edition is the absence of the key: reports of 0.1 from before there were two.

Since 2: a cut-off names its class, and `decision_flips` is not known where it does not; flips are counted in rows.
Since 3: class weights are named as a cause only where they can be one, and a first version is not called both versions.
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
"""Fields by the part they are in that no report of the first edition has: whoever drops the edition leaves them behind."""


def later_fields(document: ChangeReportDocument) -> Iterator[str]:
    """The fields that a document has though no report of the edition it names, or does not name, could have them."""
    if document.edition is not None:
        return
    for place, names in _LATER.items():
        part: Part | None = document
        for name in place.split("."):
            part = getattr(part, name, None)
        for name in names:
            if getattr(part, name, None) not in (None, ()):
                yield f"{place}.{name}"
