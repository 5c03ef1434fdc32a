"""The scores of a multinomial model in the one form that its probabilities determine.

softmax does not see what is added to the scores of all classes alike, so every coefficient is taken minus its mean over
the classes:

    β_jc − (1/C) Σ_k β_jk,

and so are intercepts, effects of levels and what is added for a missing value. All scores get the same columns and levels: a
column that a class does not use has coefficient 0 there, and where one class cannot score a row the model cannot.
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
    intercepts = _apart([score.intercept for score in scores])
    has_intercept = any(score.has_intercept for score in scores)
    *own, common = (
        LinearModel(
            intercept=intercept,
            numeric=tuple(terms[place] for terms in numeric),
            categorical=tuple(terms[place] for terms in categorical),
            functions=tuple(terms[place] for terms in functions),
            has_intercept=has_intercept,
        )
        for place, intercept in enumerate(intercepts)
    )
    return tuple(own), common


def _apart(values: Sequence[float]) -> list[float]:
    """The values minus their mean, and then the mean."""
    mean = sum(value / len(values) for value in values)
    return [*(value - mean for value in values), mean]


def _apart_if_all(values: Sequence[float | None]) -> Sequence[float | None]:
    """As `_apart`; None for all where one of them is None."""
    known = [value for value in values if value is not None]
    return _apart(known) if len(known) == len(values) else [None] * (len(values) + 1)


def _numeric(scores: Sequence[LinearModel], column: str) -> list[NumericTerm]:
    """One column's terms of all classes, and then of their mean."""
    found = [next((t for t in score.numeric if t.column == column), NumericTerm(column, 0.0, 0.0)) for score in scores]
    slopes, missing = _apart([t.coefficient for t in found]), _apart_if_all([t.missing for t in found])
    return [NumericTerm(column, slope, value) for slope, value in zip(slopes, missing, strict=True)]


def _functions(scores: Sequence[LinearModel]) -> list[list[FunctionTerm]]:
    """By columns the functions of all classes, and then their mean."""
    out = []
    for columns in dict.fromkeys(term.columns for score in scores for term in score.functions):
        found = [[p for t in score.functions if t.columns == columns for p in t.pieces] for score in scores]
        mean = [replace(piece, weight=piece.weight / len(scores)) for pieces in found for piece in pieces]
        less = [replace(piece, weight=-piece.weight) for piece in mean]
        out.append([FunctionTerm(columns, summed(pieces)) for pieces in (*([*own, *less] for own in found), mean)])
    return out


def _categorical(scores: Sequence[LinearModel], column: str) -> list[CategoricalTerm]:
    """One column's terms of all classes, and then of their mean."""
    absent = CategoricalTerm(column, (), (), 0.0)
    found = [next((t for t in score.categorical if t.column == column), absent) for score in scores]
    effects = {
        level: _apart([effect for effect in by_class if effect is not None])
        for level in dict.fromkeys(level for term in found for level in term.levels)
        if None not in (by_class := [term.effect(level) for term in found])
    }
    unknown = _apart_if_all([term.unknown for term in found])
    numbers, texts = any(term.numeric_levels for term in found), any(term.text_levels for term in found)
    by_place = [tuple(values[place] for values in effects.values()) for place in range(len(scores) + 1)]
    return [
        CategoricalTerm(column, tuple(effects), own, rest, numbers, texts)
        for own, rest in zip(by_place, unknown, strict=True)
    ]
