"""The scores of a multinomial model in the one form that its probabilities determine.

softmax does not change if the same is added to the scores of all classes. So the mean over the classes is subtracted from
every coefficient:

    β_jc − (1/C) Σ_k β_jk,

and in the same way from intercepts, from effects of levels and from the values for missing numbers. All scores get the same
columns and levels: a column that a class does not use has the coefficient 0 there. If one class cannot score a row, the
model cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coordpath_governance.models.functions import FunctionTerm, summed
from coordpath_governance.models.linear_model import CategoricalTerm, LinearModel, NumericTerm

__all__ = ["without_common_part"]


def without_common_part(scores: Sequence[LinearModel]) -> tuple[tuple[LinearModel, ...], LinearModel]:
    """The scores of the classes minus their mean over the classes, and that mean as a score."""
    numeric = [_numeric(scores, column) for column in dict.fromkeys(t.column for s in scores for t in s.numeric)]
    categorical = [_categorical(scores, column) for column in dict.fromkeys(t.column for s in scores for t in s.categorical)]
    functions = _functions(scores)
    intercepts = _centred([score.intercept for score in scores])
    has_intercept = any(score.has_intercept for score in scores)
    *centred, common = (
        LinearModel(
            intercept=intercept,
            numeric=tuple(terms[position] for terms in numeric),
            categorical=tuple(terms[position] for terms in categorical),
            functions=tuple(terms[position] for terms in functions),
            has_intercept=has_intercept,
        )
        for position, intercept in enumerate(intercepts)
    )
    return tuple(centred), common


def _centred(values: Sequence[float]) -> list[float]:
    """The values minus their mean, followed by the mean."""
    mean = sum(value / len(values) for value in values)
    return [*(value - mean for value in values), mean]


def _centred_if_all(values: Sequence[float | None]) -> Sequence[float | None]:
    """As `_centred`; all None if one of the values is None."""
    present = [value for value in values if value is not None]
    return _centred(present) if len(present) == len(values) else [None] * (len(values) + 1)


def _numeric(scores: Sequence[LinearModel], column: str) -> list[NumericTerm]:
    """One column's terms of all classes, followed by the term of their mean."""
    by_class = [next((t for t in score.numeric if t.column == column), NumericTerm(column, 0.0, 0.0)) for score in scores]
    slopes, missing = _centred([t.coefficient for t in by_class]), _centred_if_all([t.missing for t in by_class])
    return [NumericTerm(column, slope, value) for slope, value in zip(slopes, missing, strict=True)]


def _functions(scores: Sequence[LinearModel]) -> list[list[FunctionTerm]]:
    """By columns: the functions of all classes, followed by their mean."""
    out = []
    for columns in dict.fromkeys(term.columns for score in scores for term in score.functions):
        by_class = [[p for t in score.functions if t.columns == columns for p in t.pieces] for score in scores]
        mean = [replace(piece, weight=piece.weight / len(scores)) for pieces in by_class for piece in pieces]
        minus_mean = [replace(piece, weight=-piece.weight) for piece in mean]
        centred = ([*pieces, *minus_mean] for pieces in by_class)
        out.append([FunctionTerm(columns, summed(pieces)) for pieces in (*centred, mean)])
    return out


def _categorical(scores: Sequence[LinearModel], column: str) -> list[CategoricalTerm]:
    """One column's terms of all classes, followed by the term of their mean."""
    absent = CategoricalTerm(column, (), (), 0.0)
    by_class = [next((t for t in score.categorical if t.column == column), absent) for score in scores]
    effects = {
        level: _centred([effect for effect in of_level if effect is not None])
        for level in dict.fromkeys(level for term in by_class for level in term.levels)
        if None not in (of_level := [term.effect(level) for term in by_class])
    }
    unknown = _centred_if_all([term.unknown for term in by_class])
    numbers, texts = any(term.numeric_levels for term in by_class), any(term.text_levels for term in by_class)
    tables = [tuple(values[position] for values in effects.values()) for position in range(len(scores) + 1)]
    return [
        CategoricalTerm(column, tuple(effects), table, of_unknown, numeric_levels=numbers, text_levels=texts)
        for table, of_unknown in zip(tables, unknown, strict=True)
    ]
