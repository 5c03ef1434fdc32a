"""Champion's and candidate's functions of the same columns: what a step replaces, and whether the two differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.functions import Curve, FunctionTerm, Piece, Shape, term_values
from coordpath_governance.models.linear_model import MISSING_LEVEL, CategoricalTerm, LinearModel
from coordpath_governance.models.maps import Affine, preimages
from coordpath_governance.reference.design import OTHER_LEVEL

__all__ = ["FunctionPair", "function_pairs"]

Array = NDArray[np.float64]

_ALWAYS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, 10.0, -10.0, 100.0, 1000.0)
_NEAR = 1e-7
_SAME = 1e-9
_MOST_ROWS = 200_000
"""The most combinations of points at which functions are compared; of more, as many as this are drawn."""


@dataclass(frozen=True)
class FunctionPair:
    """Both models' function of the same columns (None if a model has none); ``columns`` are sorted by name."""

    columns: tuple[str, ...]
    old: FunctionTerm | None
    new: FunctionTerm | None

    @property
    def name(self) -> str:
        """The name of the unit."""
        term = self.old or self.new
        return "" if term is None else term.name

    @property
    def sides(self) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """The pieces of both functions."""
        return (self.old.pieces if self.old else ()), (self.new.pieces if self.new else ())

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Every function of a single column in either function."""
        return tuple(dict.fromkeys(shape for side in self.sides for piece in side for shape in piece.shapes))

    def differs(self, up_to_a_constant: bool) -> bool:
        """Whether the two differ (``up_to_a_constant``: by more than a constant) where both can be computed.

        They are compared where one of them bends, between such points, beyond them, and at some fixed points.
        """
        points = _Points(self)
        before, after = (term_values(side, points, points.rows) for side in self.sides)
        finite = np.isfinite(before) & np.isfinite(after)
        before, after = before[finite], after[finite]
        if not len(before):
            return self.sides[0] != self.sides[1]
        apart = after - before
        size = term_values(_sizes(self.sides), points, points.rows, np.abs)[finite]
        smallest = int(np.argmin(size))
        constant = apart[smallest] if up_to_a_constant else 0.0
        return bool((np.abs(apart - constant) > _SAME * (size + size[smallest])).any())


def _sizes(sides: Iterable[Sequence[Piece]]) -> list[Piece]:
    return [Piece(abs(piece.weight), piece.shapes) for pieces in sides for piece in pieces]


class _Points:
    """Rows at which two functions are compared."""

    def __init__(self, pair: FunctionPair) -> None:
        numbers: dict[str, list[float]] = {}
        levels: dict[str, list[str]] = {}
        for column in pair.columns:
            shapes = [shape for shape in pair.shapes if shape.column == column]
            curves = [shape for shape in shapes if isinstance(shape, Curve)]
            tables = [shape for shape in shapes if isinstance(shape, CategoricalTerm)]
            if curves or not tables:
                numbers[column] = _numbers(curves)
            if tables:
                by_tables = dict.fromkeys(level for table in tables for level in table.levels)
                levels[column] = [*by_tables, MISSING_LEVEL, OTHER_LEVEL]
        sizes = [*map(len, numbers.values()), *map(len, levels.values())]
        self.rows = math.prod(sizes)
        if len(sizes) == 1 or self.rows <= _MOST_ROWS:
            draws: list[NDArray[np.intp]] = [positions.ravel() for positions in np.indices(sizes)]
        else:
            self.rows = _MOST_ROWS
            generator = np.random.default_rng(0)
            draws = [generator.integers(size, size=_MOST_ROWS) for size in sizes]
        self._numbers: dict[str, Array] = {
            name: np.array(values)[draws[i]] for i, (name, values) in enumerate(numbers.items())
        }
        self._levels = {name: (labels, draws[len(numbers) + i]) for i, (name, labels) in enumerate(levels.items())}

    def numbers(self, column: str) -> Array:
        return self._numbers[column]

    def labels(self, column: str) -> tuple[Sequence[str], NDArray[np.intp]]:
        labels, codes = self._levels[column]
        return labels, codes


def _numbers(curves: Sequence[Curve]) -> list[float]:
    """The points of a column: where curves bend, close to these on both sides, between and beyond them; and NaN."""
    bends = np.unique(np.concatenate([np.array(_ALWAYS), *(preimages(curve.maps) for curve in curves)]))
    near = _NEAR * (np.abs(bends) + _NEAR)
    width = bends[-1] - bends[0]
    between = (bends[1:] + bends[:-1]) / 2.0
    thirds = bends[:-1] + np.diff(bends) / 3.0
    beyond = np.array([bends[0] - width, bends[0] - 0.1 * width, bends[-1] + 0.1 * width, bends[-1] + width])
    return [*np.concatenate([bends, bends - near, bends + near, between, thirds, beyond]).tolist(), float("nan")]


def function_pairs(champion: LinearModel, candidate: LinearModel) -> dict[str, FunctionPair]:
    """The pairs by name, the candidate's first. A slope on a column of which either model has a function joins the pair."""
    sides = [{term.columns: term for term in model.functions} for model in (champion, candidate)]
    pairs = {}
    for columns in dict.fromkeys([*sides[1], *sides[0]]):
        old, new = (
            _with_slope(terms.get(columns), columns, model)
            for terms, model in zip(sides, (champion, candidate), strict=True)
        )
        pair = FunctionPair(columns, old, new)
        pairs[pair.name] = pair
    return pairs


def _with_slope(term: FunctionTerm | None, columns: tuple[str, ...], model: LinearModel) -> FunctionTerm | None:
    """The function of these columns with the model's slope on them, if there is one, as another piece."""
    slopes = [slope for slope in model.numeric if (slope.column,) == columns]
    if not slopes:
        return term
    pieces = tuple(Piece(1.0, (Curve(slope.column, (Affine(slope.coefficient),), slope.missing),)) for slope in slopes)
    return FunctionTerm(columns, (*(term.pieces if term else ()), *pieces))
