"""How material a change is: the first class, from the most severe on, that it reaches."""

from __future__ import annotations

from collections.abc import Sequence

from coordpath_governance.policy.amounts import limit_text, value_text
from coordpath_governance.policy.document import MaterialityClass
from coordpath_governance.policy.observations import OBSERVATIONS, observe
from coordpath_governance.reports.document import ChangeReportDocument

__all__ = ["class_of", "reached", "why_in_class"]


def reached(each: MaterialityClass, document: ChangeReportDocument) -> tuple[str, ...]:
    """The conditions of a class that a change reaches; one that is not known counts as reached."""
    values = {name: observe(document, name) for name in each.conditions}
    return tuple(name for name, least in each.conditions.items() if (value := values[name]) is None or value >= least)


def class_of(classes: Sequence[MaterialityClass], document: ChangeReportDocument) -> MaterialityClass:
    """The class of a change; the last one takes what no other does."""
    return next((each for each in classes[:-1] if reached(each, document)), classes[-1])


def why_in_class(kind: MaterialityClass, document: ChangeReportDocument) -> str:
    """Which conditions put a change into its class, each with the value and where the class begins."""
    conditions = [_condition(name, kind.conditions[name], document) for name in sorted(reached(kind, document))]
    if not conditions:
        return f"Class '{kind.class_}' because no condition of another class is reached."
    return f"Class '{kind.class_}' because {' and '.join(conditions)}."


def _condition(name: str, least: float, document: ChangeReportDocument) -> str:
    value, unit = observe(document, name), OBSERVATIONS[name].unit
    begins = f"from {limit_text(least, unit)} on"
    if value is None:
        return f"{name} is not known, which counts as reached ({begins})"
    return f"{name} is {value_text(value, unit, least)} ({begins})"
