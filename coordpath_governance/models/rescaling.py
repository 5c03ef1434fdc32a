"""A linear score times a number plus another: how a calibration, or a scaler of the target, folds into the coefficients."""

from __future__ import annotations

import math
from dataclasses import replace

from coordpath_governance.models.functions import FunctionTerm, Piece
from coordpath_governance.models.linear_model import LinearModel, RawCoefficient

__all__ = ["rescaled"]


def rescaled(model: LinearModel, scale: float, shift: float) -> LinearModel:
    """Return the model whose score is scale·score + shift. Raises `OverflowError` if a number is not finite any more."""

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
            FunctionTerm(term.columns, tuple(Piece(_finite(scale * piece.weight), piece.shapes) for piece in term.pieces))
            for term in model.functions
        ),
        raw=tuple(RawCoefficient(each.name, _finite(scale * each.value)) for each in model.raw),
    )


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise OverflowError("a coefficient overflows double precision")
    return number + 0.0
