"""The coefficients section: both models on common coordinates and in raw terms, what came and went, and their functions.

Every function of a column, and every interaction, is a table of old and new values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.change import Change, Coordinate
from coordpath_governance.alignment.function_pairs import FunctionPair
from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.models.functions import Curve, Piece, term_values
from coordpath_governance.models.linear_model import CategoricalTerm, LinearModel
from coordpath_governance.models.maps import Steps, preimages
from coordpath_governance.reports.document import (
    CoordinateFacts,
    Counts,
    FunctionFacts,
    FunctionPoint,
    InputFacts,
    RawChange,
)

__all__ = ["coordinate_facts", "count_changes", "function_facts", "merged_levels", "raw_changes"]

RAW_TOLERANCE = 1e-9
INTERCEPT = "(intercept)"

_POINTS = 9
_MOST_POINTS = 36
_MOST_LEVELS = 12


def coordinate_facts(change: Change) -> tuple[CoordinateFacts, ...]:
    """The facts of each coordinate, in the order of ``change``."""
    return tuple(_facts(c) for c in change.coordinates)


def _facts(c: Coordinate) -> CoordinateFacts:
    source = c.source
    return CoordinateFacts(
        label=c.label,
        unit=c.unit,
        kind="baseline" if source is None else source.kind,
        column=None if source is None else source.column,
        level=None if source is None else source.level,
        merged=() if source is None else source.merged,
        old=c.old,
        new=c.new,
        standardised_old=None if c.old is None or source is None else c.old * c.sd,
        standardised_new=None if c.new is None or source is None else c.new * c.sd,
        mean=c.mean,
        sd=c.sd,
        rows=c.rows,
        changed=c.changed,
        exercised=c.exercised,
        flips=c.flips,
    )


def merged_levels(change: Change) -> tuple[str, ...]:
    """The levels that are merged because one of them has too few rows, as "column (level, level)"."""
    sources = [c.source for c in change.coordinates if c.source is not None and c.source.kind == "rare"]
    return tuple(dict.fromkeys(f"{source.column} ({', '.join(source.merged)})" for source in sources))


def raw_changes(pair: ModelPair) -> tuple[RawChange, ...]:
    """Every number of the models' own vectors, the intercept first."""
    old, new = _raw(pair.champion, pair.has_champion), _raw(pair.candidate, present=True)
    return tuple(_raw_change(name, old.get(name), new.get(name)) for name in dict.fromkeys([*new, *old]))


def _raw(model: LinearModel, present: bool) -> dict[str, float]:
    if not present:
        return {}
    if model.class_scores:
        scores = zip(model.classes, model.class_scores, strict=True)
        return {f"{name} [{label}]": value for label, score in scores for name, value in _raw(score, present=True).items()}
    values = {INTERCEPT: model.intercept} if model.has_intercept else {}
    if model.raw:
        return values | {raw.name: raw.value for raw in model.raw}
    values |= {term.column: term.coefficient for term in model.numeric}
    levels = (
        (f"{term.column}_{level}", effect)
        for term in model.categorical
        for level, effect in zip(term.levels, term.effects, strict=True)
    )
    return values | dict(levels)


def _raw_change(name: str, old: float | None, new: float | None) -> RawChange:
    before, after = old or 0.0, new or 0.0
    differs = abs(after - before) > RAW_TOLERANCE * max(abs(before), abs(after))
    return RawChange(name=name, old=old, new=new, differs=differs)


def count_changes(pair: ModelPair, change: Change, raw: tuple[RawChange, ...]) -> Counts:
    """How many coefficients differ; columns and levels count as added or dropped only if there is a champion."""
    old, new = pair.champion, pair.candidate
    added = [c for c in new.columns if c not in old.columns] if pair.has_champion else []
    dropped = [c for c in old.columns if c not in new.columns]
    levels = {side: _levels(model) for side, model in (("old", old), ("new", new))}
    shared = {column for column, _ in levels["old"]} & {column for column, _ in levels["new"]}
    return Counts(
        coefficients=len(change.coordinates),
        changed=sum(c.changed for c in change.coordinates),
        raw_coefficients=len(raw),
        raw_changed=sum(r.differs for r in raw),
        sign_flips=sum(c.flips for c in change.coordinates),
        columns_added=tuple(added),
        columns_dropped=tuple(dropped),
        levels_added=tuple(
            f"{c} = {level}" for c, level in levels["new"] if c in shared and (c, level) not in levels["old"]
        ),
        levels_dropped=tuple(
            f"{c} = {level}" for c, level in levels["old"] if c in shared and (c, level) not in levels["new"]
        ),
        not_exercised=sum(not c.exercised for c in change.coordinates),
    )


def _levels(model: LinearModel) -> dict[tuple[str, str], None]:
    scores = model.class_scores or (model,)
    return {(term.column, level): None for score in scores for term in score.categorical for level in term.levels}


def function_facts(pair: ModelPair, change: Change, inputs: Sequence[InputFacts]) -> tuple[FunctionFacts, ...]:
    """One entry per function, and per class where there are several."""
    ranges = {column.column: column for column in inputs}
    facts = []
    for scores in pair.scores:
        for name, functions in scores.functions.items():
            own = [c for c in change.coordinates if c.source and c.source.is_function and c.source.column == name]
            own = [c for c in own if c.source and c.source.level == scores.label]
            means = {c.source.kind: c.mean for c in own if c.source}
            old_mean = means.get("function", 0.0) if change.centred else 0.0
            new_mean = old_mean + means.get("function-change", 0.0) if change.centred else 0.0
            facts.append(
                FunctionFacts(
                    unit=name,
                    label=scores.label,
                    kind="function" if len(functions.columns) == 1 else "interaction",
                    columns=functions.columns,
                    in_champion=bool(functions.sides[0]),
                    in_candidate=bool(functions.sides[1]),
                    changed=any(c.changed for c in own),
                    points=tuple(_points(functions, ranges, (old_mean, new_mean))),
                )
            )
    return tuple(facts)


def _points(functions: FunctionPair, ranges: dict[str, InputFacts], means: tuple[float, float]) -> Iterator[FunctionPoint]:
    places = list(islice(product(*(_places(functions, column, ranges) for column in functions.columns)), _MOST_POINTS))
    rows = _Rows(functions.columns, places)
    sides = [_values(pieces, rows, mean) for pieces, mean in zip(functions.sides, means, strict=True)]
    for at, old, new in zip(places, *sides, strict=True):
        yield FunctionPoint(at=at, old=old, new=new)


def _values(pieces: Sequence[Piece], rows: _Rows, mean: float) -> list[float | None]:
    if not pieces:
        return [None] * len(rows.places)
    values = term_values(pieces, rows, len(rows.places)) - mean
    return [float(value) + 0.0 if np.isfinite(value) else None for value in values]


def _places(functions: FunctionPair, column: str, ranges: dict[str, InputFacts]) -> Sequence[float | str]:
    """Where the function is shown: at a category's levels; evenly over a number's range; once between two steps."""
    own = [shape for shape in functions.shapes if shape.column == column]
    tables = [shape for shape in own if isinstance(shape, CategoricalTerm)]
    if tables:
        return [*dict.fromkeys(level for table in tables for level in table.levels)][:_MOST_LEVELS]
    at = ranges.get(column)
    low, middle, high = (at.p05, at.p50, at.p95) if at is not None else (0.0, 0.0, 0.0)
    if len(functions.columns) > 1:
        return list(dict.fromkeys([low, middle, high]))
    curves = [shape for shape in own if isinstance(shape, Curve)]
    if all(_is_steps(curve) for curve in curves):
        return _between(curves, low, high)
    return list(dict.fromkeys(np.linspace(low, high, _POINTS).tolist()))


def _is_steps(curve: Curve) -> bool:
    return any(isinstance(step_map, Steps) for step_map in curve.maps)


def _between(curves: Iterable[Curve], low: float, high: float) -> Sequence[float]:
    edges = np.unique(np.concatenate([preimages(curve.maps) for curve in curves]))
    ends = np.unique([low, *edges[(edges > low) & (edges < high)].tolist(), high])
    middles = (ends[1:] + ends[:-1]) / 2.0 if len(ends) > 1 else ends
    return list(middles[:_MOST_POINTS].tolist())


class _Rows:
    """Places as the rows that functions are computed on."""

    def __init__(self, columns: Sequence[str], places: Sequence[tuple[float | str, ...]]) -> None:
        self.places = places
        self._at = {column: i for i, column in enumerate(columns)}

    def numbers(self, column: str) -> NDArray[np.float64]:
        return np.array([_number(place[self._at[column]]) for place in self.places], dtype=np.float64)

    def labels(self, column: str) -> tuple[Sequence[str], NDArray[np.intp]]:
        labels = [str(place[self._at[column]]) for place in self.places]
        return labels, np.arange(len(labels), dtype=np.intp)


def _number(value: float | str) -> float:
    return value if isinstance(value, float) else float("nan")
