"""The numbers of a `LinearModel`'s score, each under its own place.

They are linear in the coefficients of the estimator behind the score, whatever encoders and scalers are in between. This is
what lets `raw_numbers` go back from a model to the estimator's own coefficients.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from coordpath_governance.models.functions import TIMES, Curve, Piece, Shape
from coordpath_governance.models.linear_model import CategoricalTerm, LinearModel
from coordpath_governance.models.maps import Spline, Steps

__all__ = ["INTERCEPT", "ModelNumbers", "Place", "numbers_of"]


@dataclass(frozen=True)
class Place:
    """Where a number of a model stands: its kind, the columns it belongs to, and what tells it from others of this kind."""

    kind: str
    columns: tuple[str, ...] = ()
    part: Hashable = None

    @property
    def label(self) -> str:
        """The number in words."""
        name = f"'{TIMES.join(self.columns)}'"
        words = {
            "intercept": "the intercept",
            "numeric": f"the coefficient of {name}",
            "missing": f"the value of {name} where it is missing",
            "level": f"the effect of '{self.part}' in {name}",
            "unknown": f"the effect of an unknown level in {name}",
            "function": f"the function of {name}",
        }
        return words[self.kind]


INTERCEPT = Place("intercept")


@dataclass(frozen=True)
class ModelNumbers:
    """The numbers of one score by their place; None at a place where the model raises."""

    values: Mapping[Place, float | None]

    def at(self, place: Place) -> float | None:
        """The number at a place. A level without an effect of its own has the effect of an unknown level."""
        if place.kind == "level" and place not in self.values:
            return self.values.get(Place("unknown", place.columns), 0.0)
        return self.values.get(place, 0.0)


def numbers_of(score: LinearModel) -> ModelNumbers:
    """The numbers of a model with one linear score."""
    values: dict[Place, float | None] = {INTERCEPT: score.intercept}
    for numeric in score.numeric:
        values[Place("numeric", (numeric.column,))] = numeric.coefficient
        values[Place("missing", (numeric.column,))] = numeric.missing
    for term in score.categorical:
        values[Place("unknown", (term.column,))] = term.unknown
        for level, effect in zip(term.levels, term.effects, strict=True):
            values[Place("level", (term.column,), level)] = effect
    sums: dict[Place, float] = {}
    for function in score.functions:
        for piece in function.pieces:
            for place, value in _numbers_of_piece(function.columns, piece):
                sums[place] = sums.get(place, 0.0) + value
    return ModelNumbers({**values, **sums})


def _numbers_of_piece(columns: tuple[str, ...], piece: Piece) -> list[tuple[Place, float]]:
    """The weight times every product of a value of each shape, so that pieces that differ only in values add up."""
    bases, numbers = [], np.array([piece.weight])
    for shape in piece.shapes:
        basis, values = _split(shape)
        bases.append(basis)
        numbers = np.multiply.outer(numbers, np.array(values)).reshape(-1)
    key = tuple(bases)
    return [(Place("function", columns, (key, index)), value) for index, value in enumerate(numbers.tolist())]


def _split(shape: Shape) -> tuple[Hashable, tuple[float, ...]]:
    """A shape without its values, and the values; 1 for a shape that has none of its own."""
    if isinstance(shape, CategoricalTerm):
        raises = shape.unknown is None
        values = shape.effects if shape.unknown is None else (*shape.effects, shape.unknown)
        return replace(shape, effects=(), unknown=None if raises else 0.0), values
    last = shape.maps[-1] if shape.maps else None
    if not isinstance(last, Steps | Spline):
        return shape, (1.0,)
    values = last.values if isinstance(last, Steps) else last.coefficients
    zeros = (0.0,) * len(values)
    empty = replace(last, values=zeros) if isinstance(last, Steps) else replace(last, coefficients=zeros)
    basis = Curve(shape.column, (*shape.maps[:-1], empty), None if shape.missing is None else 0.0)
    return basis, values if shape.missing is None else (*values, shape.missing)
