"""Targets and exposures: faults that a pass over the rows finds in them, by family and predicted function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.linear_model import MISSING_LEVEL
from coordpath_governance.reference.plan import ReadingPlan
from coordpath_governance.reference.read_columns import Levels

__all__ = ["NO_CLASS", "Fault", "ResponseTally", "class_positions"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

NO_CLASS = -1.0
"""Stands for a label that is not a class, until all rows are counted and the error is raised."""

_RANGES = {"poisson": ("a Poisson target", True), "tweedie": ("a Tweedie target", True), "gamma": ("a gamma target", False)}
"""By family with a limited range of targets: the name of the target in messages, and whether it may be zero."""

_NAMED = 5
_CLASSES_NAMED = 20
_LONGEST = 60


@dataclass(frozen=True)
class Fault:
    """A problem with the rows, and what to do about it."""

    problem: str
    remedy: str


def class_positions(levels: Levels, classes: Sequence[str]) -> Array:
    """The position of every row's class as a number; NaN where the label is missing, `NO_CLASS` where it is not a class."""
    position = {label: float(i) for i, label in enumerate(classes)} | {MISSING_LEVEL: np.nan}
    by_code = np.array([position.get(label, NO_CLASS) for label in levels.labels])
    out: Array = by_code[levels.codes]
    return out


@dataclass
class ResponseTally:
    """Counts over all rows that are not left out and whose weight is not zero."""

    rows: int = 0
    strangers: Counter[str] = field(default_factory=Counter)
    classes: Counter[int] = field(default_factory=Counter)
    outside: int = 0
    lowest: float = np.inf
    positive: int = 0
    not_exposed: int = 0
    untransformed: int = 0

    def add(self, plan: ReadingPlan, target: Array, levels: Levels | None, offset: Array | None, counted: Mask) -> None:
        """Add one chunk: targets, a classifier's labels, offsets or exposures, and which rows count."""
        present = counted & ~np.isnan(target)
        values = target[present]
        self.rows += len(values)
        if offset is not None and plan.exposure is not None:
            self.not_exposed += int((offset[counted] <= 0).sum())
        if levels is not None:
            self._add_classes(values, levels, present & (target == NO_CLASS))
        elif plan.family in _RANGES and len(values):
            positive = int((values > 0).sum())
            self.positive += positive
            self.outside += int((values < 0).sum()) if _RANGES[plan.family][1] else len(values) - positive
            self.lowest = min(self.lowest, float(values.min()))

    def add_untransformed(self, values: Array) -> None:
        """Count ``values`` of the target for which the function that the models predict is not finite."""
        if len(values):
            self.untransformed += len(values)
            self.lowest = min(self.lowest, float(values.min()))

    def _add_classes(self, values: Array, levels: Levels, strange: Mask) -> None:
        positions, counts = np.unique(values[values != NO_CLASS], return_counts=True)
        self.classes.update({int(k): int(n) for k, n in zip(positions, counts, strict=True)})
        counts = np.bincount(levels.codes[strange], minlength=len(levels.labels))
        for code in np.flatnonzero(counts):
            self.strangers[levels.labels[code]] += int(counts[code])

    def faults(self, plan: ReadingPlan, rows_read: int) -> list[Fault]:
        """Everything that keeps these rows from being used."""
        faults = []
        if self.strangers:
            faults.append(self._strange_labels(plan))
        elif len(self.classes) == 1:
            label = plan.classes[next(iter(self.classes))][:_LONGEST]
            faults.append(
                Fault(
                    f"all {self.rows} rows of '{plan.target}' are '{label}'",
                    "give reference data in which more than one class occurs",
                )
            )
        if self.outside:
            who, zero = _RANGES[plan.family]
            faults.append(
                Fault(
                    f"column '{plan.target}' is out of range ({self.lowest:.6g} at its lowest) in {self.outside} of "
                    f"{rows_read} rows; {who} is {'at least' if zero else 'above'} 0",
                    f"mend or remove those rows, or name another target column than '{plan.target}'",
                )
            )
        elif plan.family in _RANGES and self.rows and not self.positive:
            faults.append(
                Fault(
                    f"all {self.rows} rows of '{plan.target}' are 0, so that every lower rate fits better",
                    "give reference data in which something was observed",
                )
            )
        if self.untransformed:
            faults.append(
                Fault(
                    f"column '{plan.target}' has no finite {plan.predicted}, which the models predict, in "
                    f"{self.untransformed} of {rows_read} rows ({self.lowest:.6g} at its lowest)",
                    f"mend or remove those rows, or name another target column than '{plan.target}'",
                )
            )
        if self.not_exposed:
            faults.append(
                Fault(
                    f"the exposure '{plan.exposure}' is zero or negative in {self.not_exposed} of {rows_read} rows",
                    "mend or remove the rows without exposure",
                )
            )
        return faults

    def _strange_labels(self, plan: ReadingPlan) -> Fault:
        often = sorted(self.strangers.items(), key=lambda item: (-item[1], item[0]))
        listed = ", ".join(f"'{label[:_LONGEST]}' ({count} rows)" for label, count in often[:_NAMED])
        more = f" and {len(often) - _NAMED} more labels" if len(often) > _NAMED else ""
        classes = ", ".join(f"'{label[:_LONGEST]}'" for label in plan.classes[:_CLASSES_NAMED])
        rest = f" and {len(plan.classes) - _CLASSES_NAMED} more" if len(plan.classes) > _CLASSES_NAMED else ""
        return Fault(
            f"column '{plan.target}' has labels that are not a class: {listed}{more}; the classes that the models know are "
            f"{classes}{rest}",
            f"write the labels as the models know them (in pandas: df['{plan.target}'].map({{…}})), or name another target "
            f"column than '{plan.target}'",
        )
