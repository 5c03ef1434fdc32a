"""LinearModel: what every reader returns, as a function of the raw input columns.

The linear score of a row is

    intercept + Σ numeric coefficient·x  (or the term's ``missing`` value where x is missing)
              + Σ categorical effect(level)  (or the term's ``unknown`` value for a level never seen)
              + Σ functions of one column, and of several together (see `functions`)

Scalers, encoders and imputers have been folded away by the reader, so nothing here depends on how a model was coded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordpath_governance.models.functions import FunctionTerm
    from coordpath_governance.models.maps import Map

__all__ = [
    "MISSING_LEVEL",
    "CategoricalTerm",
    "LinearModel",
    "NumericTerm",
    "Provenance",
    "RawCoefficient",
    "classifier",
    "level_label",
]

MISSING_LEVEL = "(missing)"
"""Label of the level that stands for a missing category."""


@dataclass(frozen=True)
class NumericTerm:
    """``coefficient``·x, or ``missing`` where x is missing; ``missing`` None means the model raises there."""

    column: str
    coefficient: float
    missing: float | None = None


@dataclass(frozen=True)
class CategoricalTerm:
    """An effect for every known level (labels as of `level_label`); ``unknown`` None means the model raises there.

    ``numeric_levels`` tells that the levels are numbers, so that "1", "1.0" and 1 in the data are the same level.
    ``text_levels`` tells that levels that read True and False are text, so that "true" and "1" are not among them; without
    it they are truth values, however the data write these.
    """

    column: str
    levels: tuple[str, ...]
    effects: tuple[float, ...]
    unknown: float | None = None
    numeric_levels: bool = False
    text_levels: bool = False

    def effect(self, level: str) -> float | None:
        """The effect of one level by the model's own encoder, None if it would raise."""
        return self._by_level.get(level, self.unknown)

    @cached_property
    def _by_level(self) -> Mapping[str, float]:
        return dict(zip(self.levels, self.effects, strict=True))


@dataclass(frozen=True)
class RawCoefficient:
    """One number of the model's own coefficient vector after unscaling, under the name its encoder gives it."""

    name: str
    value: float


@dataclass(frozen=True)
class Provenance:
    """Where a model came from. ``digest`` is the model digest of the design; None for a live object."""

    uri: str | None = None
    name: str | None = None
    version: str | None = None
    digest: str | None = None
    run_id: str | None = None


@dataclass(frozen=True)
class LinearModel:
    """A linear model over raw columns, with the facts that a report tells beside it.

    ``family`` is gaussian, binomial, multinomial, poisson, gamma or tweedie (then with its ``power``), ``link`` identity,
    logit, softmax or log. ``classes`` are the labels of a classifier's target in its own order, the second of two being the
    one whose probability is predicted. A multinomial model has one linear score a class in ``class_scores``, and no terms of
    its own. ``threshold``: the version decides "yes" where its prediction is at least this; None if it decides nothing.
    ``target_map``: the score is one of this function of the target (see `target_maps`), and a prediction its inverse.
    ``remarks`` are facts about it that a report and a scan tell, each a sentence without its beginning and its full stop.
    """

    intercept: float
    numeric: tuple[NumericTerm, ...] = ()
    categorical: tuple[CategoricalTerm, ...] = ()
    functions: tuple[FunctionTerm, ...] = ()
    has_intercept: bool = True
    family: str = "gaussian"
    link: str = "identity"
    power: float | None = None
    classes: tuple[str, ...] = ()
    class_scores: tuple[LinearModel, ...] = ()
    threshold: float | None = None
    target: str | None = None
    target_map: tuple[Map, ...] = ()
    estimator: str = ""
    source: str = "read from the model's files"
    regularisation: Mapping[str, float | str | bool | None] = field(default_factory=lambda: MappingProxyType({}))
    raw: tuple[RawCoefficient, ...] = ()
    library: str = ""
    remarks: tuple[str, ...] = ()
    provenance: Provenance = Provenance()

    @property
    def columns(self) -> tuple[str, ...]:
        """Every raw input column the model looks at, in the order of its terms."""
        own = [t.column for t in self.numeric] + [t.column for t in self.categorical]
        own += [column for t in self.functions for column in t.columns]
        return tuple(dict.fromkeys([*own, *(column for score in self.class_scores for column in score.columns)]))


def classifier(scores: Sequence[LinearModel], classes: tuple[str, ...], threshold: float) -> LinearModel:
    """The model of two classes from one score, a log-odds, or of three or more from one score a class, by softmax."""
    if len(scores) == 1:
        return replace(scores[0], family="binomial", link="logit", classes=classes, threshold=threshold)
    return LinearModel(
        intercept=0.0,
        has_intercept=any(score.has_intercept for score in scores),
        family="multinomial",
        link="softmax",
        classes=classes,
        class_scores=tuple(scores),
    )


def level_label(value: object) -> str:
    """One text for a level however it is stored: 1, 1.0 and np.float64(1) are "1"; None and NaN are `MISSING_LEVEL`."""
    item = value.item() if hasattr(value, "item") else value
    if item is None or (isinstance(item, float) and math.isnan(item)):
        return MISSING_LEVEL
    if isinstance(item, bool):
        return str(item)
    if isinstance(item, float) and item.is_integer():
        return str(int(item))
    return str(item)
