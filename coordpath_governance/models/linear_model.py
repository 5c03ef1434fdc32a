"""LinearModel: what every reader returns, as a function of the raw input columns.

The linear score of a row is

    intercept + Σ numeric coefficient·x  (or the term's ``missing`` value where x is missing)
              + Σ categorical effect(level)  (or the term's ``unknown`` value for a level that the model does not know)
              + Σ functions of one column, and of several together (see `functions`)

Readers fold scalers, encoders and imputers away, so nothing here depends on how a model was coded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

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
    "TrainingFacts",
    "classifier",
    "level_label",
    "rescaled",
]

MISSING_LEVEL = "(missing)"
"""Label of the level that stands for a missing value."""

TrainingFacts: TypeAlias = dict[str, float | str | bool | None]
"""How a model was trained: its penalty, its loss, weights. A report states these facts; nothing is computed from them."""


@dataclass(frozen=True)
class NumericTerm:
    """``coefficient``·x, or ``missing`` where x is missing. ``missing`` is None if the model raises there."""

    column: str
    coefficient: float
    missing: float | None = None


@dataclass(frozen=True)
class CategoricalTerm:
    """An effect for every known level, by its `level_label`.

    ``unknown`` is the effect of a level that is not among them; None means that the model raises there.
    ``numeric_levels``: the levels are numbers, so "1", "1.0" and 1 in the data are the same level.
    ``text_levels``: levels that read True and False are text, so "true" and "1" are other levels. Otherwise they are truth
    values, in whatever form the data write them.
    """

    column: str
    levels: tuple[str, ...]
    effects: tuple[float, ...]
    unknown: float | None = None
    numeric_levels: bool = False
    text_levels: bool = False

    def effect(self, level: str) -> float | None:
        """The effect of one level according to the model's own encoder; None if it raises."""
        return self._by_level.get(level, self.unknown)

    @cached_property
    def _by_level(self) -> Mapping[str, float]:
        return dict(zip(self.levels, self.effects, strict=True))


@dataclass(frozen=True)
class RawCoefficient:
    """One entry of the model's own coefficient vector, in units of the raw column and under the name of its encoder."""

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
    """A linear model over raw columns, with the facts that a report states about it.

    ``family`` is gaussian, binomial, multinomial, poisson, gamma or tweedie (then with its ``power``), ``link`` identity,
    logit, softmax or log. ``classes`` are the labels of a classifier's target in its own order; of two classes, the model
    predicts the probability of the second. A multinomial model has one linear score per class in ``class_scores``, and no
    terms of its own. ``threshold``: the version decides "yes" where its prediction is at least this; None if it decides
    nothing. ``target_map``: the score predicts this function of the target (see `target_maps`), so a prediction of the
    target is its inverse. ``remarks`` are facts that a report and a scan state; each is a sentence without its capital
    letter and full stop.
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
        """Every raw input column that the model uses, in the order of its terms."""
        columns = [t.column for t in self.numeric] + [t.column for t in self.categorical]
        columns += [column for t in self.functions for column in t.columns]
        return tuple(dict.fromkeys([*columns, *(column for score in self.class_scores for column in score.columns)]))


def classifier(scores: Sequence[LinearModel], classes: tuple[str, ...], threshold: float) -> LinearModel:
    """A classifier: of two classes from one score (a log-odds), of three or more from one score per class (softmax)."""
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
    """The label of a level, however it is stored: 1, 1.0 and np.float64(1) are "1"; None and NaN are `MISSING_LEVEL`."""
    item = value.item() if hasattr(value, "item") else value
    if item is None or (isinstance(item, float) and math.isnan(item)):
        return MISSING_LEVEL
    if isinstance(item, bool):
        return str(item)
    if isinstance(item, float) and item.is_integer():
        return str(int(item))
    return str(item)


def rescaled(model: LinearModel, scale: float, shift: float) -> LinearModel:
    """The model whose score is scale·score + shift. Raises `OverflowError` if a number is no longer finite."""

    def times(number: float | None) -> float | None:
        return None if number is None else _finite(scale * number)

    intercept = _finite(scale * model.intercept + shift)
    return replace(
        model,
        intercept=intercept,
        has_intercept=model.has_intercept or intercept != 0.0,
        numeric=tuple(
            replace(term, coefficient=_finite(scale * term.coefficient), missing=times(term.missing))
            for term in model.numeric
        ),
        categorical=tuple(
            replace(term, effects=tuple(_finite(scale * effect) for effect in term.effects), unknown=times(term.unknown))
            for term in model.categorical
        ),
        functions=tuple(
            replace(term, pieces=tuple(replace(piece, weight=_finite(scale * piece.weight)) for piece in term.pieces))
            for term in model.functions
        ),
        raw=tuple(replace(coefficient, value=_finite(scale * coefficient.value)) for coefficient in model.raw),
    )


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise OverflowError("a coefficient overflows double precision")
    return number + 0.0
