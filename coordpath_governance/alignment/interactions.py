"""Products of columns, split so that two models that are the same function have the same parts.

P_c φ is the value of a function φ of column c at one place. For a number the place is 0 if every curve on it is finite
there, else the next of a fixed list; for a category it is the mean over its levels in the reference population. A product
splits into

    Π_c φ_c  =  Σ_{T ⊆ columns}  Π_{c ∉ T} P_c φ_c · Π_{c ∈ T} (φ_c − P_c φ_c),

and the part of T belongs to T alone: to the intercept, to one column, or to the interaction of several. Monomials are zero
at 0, so their products stay as they are; a slope for each level of a category becomes the mean slope and a difference from
it for each level. Before that, codes of one category that are multiplied with each other become effects of its levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

import numpy as np

from coordpath_governance.errors import AlignmentError
from coordpath_governance.models.functions import Curve, FunctionTerm, Piece, Shape, summed, table_of
from coordpath_governance.models.linear_model import CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.models.maps import apply_all
from coordpath_governance.reference.moments import Moments

__all__ = ["LevelWeights", "has_products_with_levels", "level_weights", "split_products"]

LevelWeights = Mapping[str, Mapping[str, float]]
"""By categorical column: the shares of its levels, which add up to one."""

_MOST_PARTS = 50_000
_PLACES = (0.0, 1.0, -1.0, 0.5, 2.0, 10.0, 100.0, 1000.0)


def has_products_with_levels(models: Iterable[LinearModel]) -> bool:
    """Whether any interaction has a category, because its parts then depend on the shares of the levels."""
    scores = (score for model in models for score in (model, *model.class_scores))
    return any(
        isinstance(shape, CategoricalTerm) and len(term.columns) > 1
        for score in scores
        for term in score.functions
        for piece in term.pieces
        for shape in piece.shapes
    )


def level_weights(moments: Moments) -> LevelWeights:
    """The shares of the levels that have a column of their own; those of a column add up to one."""
    shares: dict[str, dict[str, float]] = {}
    for column, share in zip(moments.columns, moments.mean[:-1].tolist(), strict=True):
        if column.kind == "level":
            shares.setdefault(column.column, {})[str(column.level)] = share
    totals = {name: math.fsum(by_level.values()) for name, by_level in shares.items()}
    return {
        name: {level: share / totals[name] for level, share in by_level.items()}
        for name, by_level in shares.items()
        if totals[name] > 0.0
    }


def split_products(models: Sequence[LinearModel], weights: LevelWeights | None) -> list[LinearModel]:
    """The same models with their products split. Levels without ``weights`` count equally."""
    scores = [score for model in models for score in (model, *model.class_scores)]
    products = [piece for score in scores for term in score.functions if len(term.columns) > 1 for piece in term.pieces]
    tables = [shape for score in scores for term in score.functions for piece in term.pieces for shape in piece.shapes[1:]]
    if not products and not any(isinstance(shape, CategoricalTerm) for shape in tables):
        return list(models)
    products = [_with_one_table(piece) for piece in products]
    places = _Places([shape for piece in products for shape in piece.shapes], weights or {})
    return [
        replace(_split(model, places), class_scores=tuple(_split(score, places) for score in model.class_scores))
        for model in models
    ]


class _Places:
    """The places at which the functions of every column are evaluated (P_c)."""

    def __init__(self, shapes: Sequence[Shape], weights: LevelWeights) -> None:
        curves: dict[str, dict[Curve, None]] = {}
        levels: dict[str, dict[str, None]] = {}
        for shape in shapes:
            if isinstance(shape, CategoricalTerm):
                levels.setdefault(shape.column, {}).update(dict.fromkeys(shape.levels))
            else:
                curves.setdefault(shape.column, {})[shape] = None
        self._numbers = {column: _place(list(on_column)) for column, on_column in curves.items()}
        self._weights = {
            column: weights.get(column) or dict.fromkeys(by_column, 1.0 / len(by_column))
            for column, by_column in levels.items()
        }

    def value(self, shapes: Sequence[Shape]) -> float:
        """P_c of a product of functions of one column; 0 (no split) if the column is both a number and a category."""
        tables = [shape for shape in shapes if isinstance(shape, CategoricalTerm)]
        curves = [shape for shape in shapes if isinstance(shape, Curve)]
        if tables and curves:
            return 0.0
        column = shapes[0].column
        if tables:
            product = table_of(tables, math.prod)
            return math.fsum(share * (product.effect(level) or 0.0) for level, share in self._weights[column].items())
        place = self._numbers[column]
        return 0.0 if place is None else math.prod(_at(curve, place) for curve in curves)


def _place(curves: Sequence[Curve]) -> float | None:
    return next((place for place in _PLACES if all(math.isfinite(_at(curve, place)) for curve in curves)), None)


def _at(curve: Curve, place: float) -> float:
    return float(apply_all(curve.maps, np.array([place]))[0])


def _split(model: LinearModel, places: _Places) -> LinearModel:
    intercept = [model.intercept]
    count = 0
    numeric: dict[str, list[NumericTerm]] = {term.column: [term] for term in model.numeric}
    categorical: dict[str, list[CategoricalTerm]] = {term.column: [term] for term in model.categorical}
    functions: dict[tuple[str, ...], list[Piece]] = {}
    for term in model.functions:
        for piece in map(_with_one_table, term.pieces):
            for columns, part in _parts(piece, places):
                count += 1
                if count > _MOST_PARTS:
                    raise AlignmentError(
                        f"the products of columns in a model have more than {_MOST_PARTS} parts, which is more than we "
                        "compare; fit it with a lower degree"
                    )
                (shape, *more) = part.shapes or (None,)
                if shape is None and len(columns) < 2:
                    intercept.append(part.weight)
                elif len(columns) != 1 or more:
                    functions.setdefault(columns, []).append(part)
                elif isinstance(shape, CategoricalTerm):
                    categorical.setdefault(shape.column, []).append(_scaled(shape, part.weight))
                elif shape is not None and not shape.maps:
                    missing = None if shape.missing is None else part.weight * shape.missing
                    numeric.setdefault(shape.column, []).append(NumericTerm(shape.column, part.weight, missing))
                else:
                    functions.setdefault(columns, []).append(part)
    return replace(
        model,
        intercept=math.fsum(intercept),
        numeric=tuple(map(_added, numeric.values())),
        categorical=tuple(table_of(terms, math.fsum) if len(terms) > 1 else terms[0] for terms in categorical.values()),
        functions=tuple(FunctionTerm(columns, summed(pieces)) for columns, pieces in functions.items()),
    )


def _with_one_table(piece: Piece) -> Piece:
    """The same product with at most one table of effects per column."""
    tables: dict[str, list[CategoricalTerm]] = {}
    for shape in piece.shapes:
        if isinstance(shape, CategoricalTerm):
            tables.setdefault(shape.column, []).append(shape)
    if all(len(group) == 1 for group in tables.values()):
        return piece
    curves = (shape for shape in piece.shapes if isinstance(shape, Curve))
    products = (table_of(group, math.prod) if len(group) > 1 else group[0] for group in tables.values())
    return Piece(piece.weight, (*curves, *products))


def _scaled(term: CategoricalTerm, weight: float) -> CategoricalTerm:
    unknown = None if term.unknown is None else weight * term.unknown
    return replace(term, effects=tuple(weight * effect for effect in term.effects), unknown=unknown)


def _added(terms: Sequence[NumericTerm]) -> NumericTerm:
    if len(terms) == 1:
        return terms[0]
    values = [term.missing for term in terms if term.missing is not None]
    missing = math.fsum(values) if len(values) == len(terms) else None
    return NumericTerm(terms[0].column, math.fsum(term.coefficient for term in terms), missing)


def _parts(piece: Piece, places: _Places) -> Iterator[tuple[tuple[str, ...], Piece]]:
    """The parts of a product, each with the columns it belongs to; each is a product over some of those columns."""
    by_column: dict[str, list[Shape]] = {}
    for shape in piece.shapes:
        by_column.setdefault(shape.column, []).append(shape)
    columns = tuple(sorted(by_column))
    if len(columns) < 2:
        yield columns, piece
        return
    at = {column: places.value(shapes) for column, shapes in by_column.items()}
    for chosen in _subsets(columns):
        outside = math.prod(at[column] for column in columns if column not in chosen)
        if outside == 0.0:
            continue
        for factors in _subsets(chosen):
            constant = math.prod(-at[column] for column in chosen if column not in factors)
            if constant != 0.0:
                shapes = tuple(shape for column in factors for shape in by_column[column])
                yield chosen, Piece(piece.weight * outside * constant, shapes)


def _subsets(columns: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    return chain.from_iterable(combinations(columns, size) for size in range(len(columns) + 1))
