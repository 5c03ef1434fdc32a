"""Which columns to read of every row; combinations of columns that make no sense are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coordpath_governance.errors import UsageError
from coordpath_governance.models.maps import Map
from coordpath_governance.models.target_maps import target_text
from coordpath_governance.reference.design import Design

__all__ = ["CLASSIFIERS", "ReadingPlan"]

CLASSIFIERS = ("binomial", "multinomial")
"""Families whose target is a class."""

MissingPolicy = Literal["fail", "drop"]
_WITHOUT_OFFSET = ("gaussian", "multinomial")


@dataclass(frozen=True)
class ReadingPlan:
    """What to read: the design's columns, the target, and optionally a weight and segment columns.

    The target of a classifier holds labels of ``classes``; the target of other families holds numbers. ``offset`` is a
    column that is added to the score; of ``exposure`` the logarithm is added. ``target_map`` is the function of the target
    that the models predict, if it is not the target itself. Raises `UsageError` for columns that contradict each other.
    """

    design: Design
    target: str
    weight: str | None = None
    segments: tuple[str, ...] = ()
    missing: MissingPolicy = "fail"
    classes: tuple[str, ...] = ()
    family: str = "gaussian"
    offset: str | None = None
    exposure: str | None = None
    target_map: tuple[Map, ...] = ()

    def __post_init__(self) -> None:
        if (self.family in CLASSIFIERS) != (len(self.classes) > 1):
            raise UsageError(
                f"a {self.family} target has {'two classes or more' if self.family in CLASSIFIERS else 'no classes'}, "
                f"but the models name {len(self.classes)}"
            )
        if self.offset is not None and self.exposure is not None:
            raise UsageError(
                f"'{self.offset}' is named as the offset and '{self.exposure}' as the exposure; give one of them: "
                "an offset is added to the score, of an exposure the logarithm is"
            )
        if self.offset_column is None:
            return
        term = "offset" if self.offset is not None else "exposure"
        if self.family in _WITHOUT_OFFSET:
            raise UsageError(
                f"the {term} '{self.offset_column}' has no place in a {self.family} model; leave it out "
                "(it is for logistic, Poisson, gamma and Tweedie models)"
            )
        if self.offset_column == self.target:
            raise UsageError(f"'{self.target}' is named as the target and as the {term}; name the right columns")

    @property
    def offset_column(self) -> str | None:
        """The column of the offset or of the exposure, if there is one."""
        return self.offset if self.offset is not None else self.exposure

    @property
    def predicted(self) -> str:
        """What the models predict, as people write it: the target or a function of it."""
        return target_text(self.target_map, self.target)

    @property
    def columns(self) -> list[str]:
        """Every raw column that is read, once."""
        more = [name for name in (self.weight, self.offset_column) if name is not None]
        return list(dict.fromkeys([*self.design.raw_columns, self.target, *more, *self.segments]))

    @property
    def number_columns(self) -> set[str]:
        """The raw columns that are read only as numbers."""
        as_text = {c.column for c in self.design.categorical} | set(self.segments)
        if self.classes:
            as_text.add(self.target)
        more = [name for name in (self.weight, self.offset_column) if name is not None]
        return (set(self.design.number_columns) | {self.target, *more}) - as_text
