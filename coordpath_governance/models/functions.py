"""FunctionTerm: a model's term of one raw column that is not a coefficient times x, or of several columns together.

    term(row) = Σ_k weight_k · Π_s shape_s(row)

A shape is a function of one column: a `Curve` (a chain of `maps` on a number) or the effects of levels. A term of several
columns is an interaction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.linear_model import CategoricalTerm
from coordpath_governance.models.maps import Map, Spline, Steps, apply_all, finite

__all__ = [
    "MOST_COLUMNS",
    "TIMES",
    "Curve",
    "FunctionTerm",
    "Piece",
    "Readings",
    "Shape",
    "function_terms",
    "summed",
    "table_of",
    "term_values",
]

MOST_COLUMNS = 6
"""The most columns of an interaction, which has a part for every subset of them."""

TIMES = "×"
"""Between the columns of an interaction."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """A chain of maps on a number; ``missing`` is the value where the number is missing (None if the model raises)."""

    column: str
    maps: tuple[Map, ...] = ()
    missing: float | None = None


Shape: TypeAlias = Curve | CategoricalTerm


@dataclass(frozen=True)
class Piece:
    """``weight`` times the product of shapes."""

    weight: float
    shapes: tuple[Shape, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it uses."""
        return frozenset(shape.column for shape in self.shapes)


@dataclass(frozen=True)
class FunctionTerm:
    """A sum of pieces that use no other columns than these; ``columns`` are sorted by name."""

    columns: tuple[str, ...]
    pieces: tuple[Piece, ...]

    @property
    def name(self) -> str:
        """The column, or the columns of an interaction."""
        return TIMES.join(self.columns)

    @property
    def is_finite(self) -> bool:
        """Whether every number in it is finite."""
        return all(math.isfinite(piece.weight) and all(map(_is_finite, piece.shapes)) for piece in self.pieces)


class Readings(Protocol):
    """The columns of some rows, in the form in which a model reads them."""

    def numbers(self, column: str) -> Array:
        """A column of numbers, NaN where one is missing."""
        ...

    def labels(self, column: str) -> tuple[Sequence[str], NDArray[np.intp]]:
        """The distinct labels of a column's levels, and for every row the position of its label among them."""
        ...


def term_values(
    pieces: Iterable[Piece], readings: Readings, rows: int, of_shape: Callable[[Array], Array] | None = None
) -> Array:
    """Σ weight·Π shapes of every row; NaN or infinite where the model cannot score the row.

    ``of_shape`` is applied to the values of every shape; with ``np.abs``, for example, the sum is the size of the pieces.
    """
    out = np.zeros(rows)
    values: dict[Shape, Array] = {}
    with np.errstate(all="ignore"):
        for piece in pieces:
            product = np.full(rows, piece.weight)
            for shape in piece.shapes:
                if shape not in values:
                    plain = _values(shape, readings)
                    values[shape] = plain if of_shape is None else of_shape(plain)
                product = product * values[shape]
            out += product
    return out


def _values(shape: Shape, readings: Readings) -> Array:
    if isinstance(shape, CategoricalTerm):
        labels, codes = readings.labels(shape.column)
        effects = (shape.effect(label) for label in labels)
        return np.array([math.nan if effect is None else effect for effect in effects], dtype=np.float64)[codes]
    x = readings.numbers(shape.column)
    absent = np.isnan(x)
    if not absent.any():
        return apply_all(shape.maps, x)
    missing = math.nan if shape.missing is None else shape.missing
    return np.where(absent, missing, apply_all(shape.maps, np.where(absent, 0.0, x)))


def function_terms(pieces: Iterable[Piece]) -> tuple[FunctionTerm, ...]:
    """One term for every set of columns, with the sum of its pieces."""
    by_columns: dict[tuple[str, ...], list[Piece]] = {}
    for piece in pieces:
        by_columns.setdefault(tuple(sorted(piece.columns)), []).append(piece)
    return tuple(FunctionTerm(columns, summed(group)) for columns, group in by_columns.items())


def summed(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """The same sum with fewer pieces: equal products, splines on equal knots and steps on equal edges are added up."""
    weights: dict[tuple[Shape, ...], float] = {}
    for piece in pieces:
        weights[piece.shapes] = weights.get(piece.shapes, 0.0) + piece.weight
    alike: dict[object, list[Piece]] = {}
    for shapes, weight in weights.items():
        alike.setdefault(_but_for_values(shapes), []).append(Piece(weight, shapes))
    return tuple(piece for group in alike.values() for piece in _as_one(group))


def _but_for_values(shapes: tuple[Shape, ...]) -> object:
    """A key that is equal for products that differ only in the values of their first spline, steps or table of effects."""
    at = _first_with_values(shapes)
    if at is None:
        return shapes
    shape, rest = shapes[at], (shapes[:at], shapes[at + 1 :])
    if isinstance(shape, CategoricalTerm):
        return (rest, replace(shape, effects=(), unknown=None if shape.unknown is None else 0.0))
    last = shape.maps[-1]
    grid: object = (last.edges, last.edge_belongs) if isinstance(last, Steps) else ()
    if isinstance(last, Spline):
        grid = (last.knots, last.degree, last.extrapolation)
    return (rest, shape.column, shape.maps[:-1], shape.missing is None, last.kind, grid)


def _first_with_values(shapes: Sequence[Shape]) -> int | None:
    for at, shape in enumerate(shapes):
        if isinstance(shape, CategoricalTerm) or (shape.maps and isinstance(shape.maps[-1], Steps | Spline)):
            return at
    return None


def _as_one(group: Sequence[Piece]) -> Sequence[Piece]:
    """Pieces with the same `_but_for_values`, as one piece of weight 1 with their weighted sum."""
    at = _first_with_values(group[0].shapes)
    if len(group) == 1 or at is None:
        return group
    weights = [piece.weight for piece in group]
    shapes = [piece.shapes[at] for piece in group]
    total = _weighted(weights, shapes)
    return (Piece(1.0, (*group[0].shapes[:at], total, *group[0].shapes[at + 1 :])),)


@np.errstate(all="ignore")
def _weighted(weights: Sequence[float], shapes: Sequence[Shape]) -> Shape:
    """The weighted sum of shapes that differ only in their values."""
    first = shapes[0]
    if isinstance(first, CategoricalTerm):
        tables = [shape for shape in shapes if isinstance(shape, CategoricalTerm)]
        effects = np.asarray(weights) @ np.array([table.effects for table in tables])
        unknown = [table.unknown for table in tables if table.unknown is not None]
        return replace(
            first,
            effects=tuple(np.atleast_1d(effects).tolist()) if first.levels else (),
            unknown=None if first.unknown is None else float(np.asarray(weights) @ np.array(unknown)),
        )
    curves = [shape for shape in shapes if isinstance(shape, Curve)]
    values = [curve.maps[-1] for curve in curves]
    total: Map
    if isinstance(values[0], Steps):
        steps = [value for value in values if isinstance(value, Steps)]
        total = replace(steps[0], values=_sums(weights, [step.values for step in steps]))
    else:
        splines = [value for value in values if isinstance(value, Spline)]
        total = replace(splines[0], coefficients=_sums(weights, [spline.coefficients for spline in splines]))
    missing = [curve.missing for curve in curves if curve.missing is not None]
    return replace(
        first,
        maps=(*first.maps[:-1], total),
        missing=None if first.missing is None else float(np.asarray(weights) @ np.array(missing)),
    )


@np.errstate(all="ignore")
def _sums(weights: Sequence[float], values: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The weighted sum at every position. An overflow gives a number that is not finite, which is refused later."""
    return tuple((np.asarray(weights) @ np.array(values)).tolist())


def table_of(tables: Sequence[CategoricalTerm], combine: Callable[[Sequence[float]], float]) -> CategoricalTerm:
    """Combine the effects of several terms on one column. A level on which any of them raises is left out."""

    def at(effects: Sequence[float | None]) -> float | None:
        present = [effect for effect in effects if effect is not None]
        return combine(present) if len(present) == len(effects) else None

    levels = dict.fromkeys(level for table in tables for level in table.levels)
    combined = {level: at([table.effect(level) for table in tables]) for level in levels}
    effects = {level: effect for level, effect in combined.items() if effect is not None}
    return CategoricalTerm(
        tables[0].column,
        tuple(effects),
        tuple(effects.values()),
        at([table.unknown for table in tables]),
        numeric_levels=any(table.numeric_levels for table in tables),
        text_levels=any(table.text_levels for table in tables),
    )


def _is_finite(shape: Shape) -> bool:
    if isinstance(shape, CategoricalTerm):
        return all(math.isfinite(number) for number in (*shape.effects, shape.unknown or 0.0))
    return math.isfinite(shape.missing or 0.0) and all(map(finite, shape.maps))
