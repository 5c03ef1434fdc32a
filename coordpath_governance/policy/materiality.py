"""How material a change is: the first class, from the most severe on, that it reaches."""

from __future__ import annotations

from collections.abc import Sequence

from coordpath_governance.policy.document import MaterialityClass
from coordpath_governance.policy.observations import observe
from coordpath_governance.reports.document import ChangeReportDocument

__all__ = ["class_of", "reached"]


def reached(each: MaterialityClass, document: ChangeReportDocument) -> tuple[str, ...]:
    """The conditions of a class that a change reaches; one that is not known counts as reached."""
    values = {name: observe(document, name) for name in each.conditions}
    return tuple(name for name, least in each.conditions.items() if (value := values[name]) is None or value >= least)


def class_of(classes: Sequence[MaterialityClass], document: ChangeReportDocument) -> MaterialityClass:
    """The class of a change; the last one takes what no other does."""
    return next((each for each in classes[:-1] if reached(each, document)), classes[-1])
