"""Two linear scores over raw columns: the coefficient of each on a design column, and where it would raise."""

from __future__ import annotations

from dataclasses import replace

from coordpath_governance.alignment.function_pairs import function_pairs
from coordpath_governance.errors import AlignmentError
from coordpath_governance.models.linear_model import MISSING_LEVEL, CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.reference.design import OTHER_LEVEL, DesignColumn
from coordpath_governance.reference.levels import number_of

__all__ = ["ScorePair"]

_RARE = {"rare-champion": (1.0, 0.0), "rare-candidate": (0.0, 1.0)}


class ScorePair:
    """The scores of champion and candidate; for a multinomial model, their scores of one class.

    ``label`` is that class, None for models with one score.
    """

    def __init__(self, champion: LinearModel, candidate: LinearModel, label: str | None = None) -> None:
        self.label = label
        self.intercepts = (champion.intercept, candidate.intercept)
        self._numeric = [{t.column: t for t in m.numeric} for m in (champion, candidate)]
        self._categorical = [{t.column: t for t in m.categorical} for m in (champion, candidate)]
        self.functions = function_pairs(champion, candidate)
        for numeric in self._numeric:
            for name in self.functions:
                numeric.pop(name, None)
        for side in (0, 1):
            self._read_numbers_as_levels(side)

    def _read_numbers_as_levels(self, side: int) -> None:
        """Write a slope as effects of levels if the other model encodes the same column and raises on other levels.

        On every value that both can score, β·x is the effect of the level x. So a 0/1 column and its dummy are one
        coordinate.
        """
        other = 1 - side
        for column, term in list(self._numeric[side].items()):
            encoded = self._categorical[other].get(column)
            used_twice = column in self._categorical[side] or column in self._numeric[other]
            used_twice |= column in self.function_tables
            if encoded is None or encoded.unknown is not None or used_twice:
                continue
            by_level = {level: _effect_of_number(term, level) for level in encoded.levels}
            effects = {level: effect for level, effect in by_level.items() if effect is not None}
            if set(by_level) - set(effects) <= {MISSING_LEVEL}:
                levels = replace(encoded, levels=tuple(effects), effects=tuple(effects.values()))
                self._categorical[side][column] = levels
                del self._numeric[side][column]

    @property
    def columns_as_numbers(self) -> list[str]:
        """Raw columns with a numeric term: those of the candidate, then those only the champion has."""
        return list(dict.fromkeys([*self._numeric[1], *self._numeric[0]]))

    @property
    def columns_as_levels(self) -> list[str]:
        """Raw columns with effects of levels: the candidate's, then the champion's, then those only in interactions."""
        return list(dict.fromkeys([*self._categorical[1], *self._categorical[0], *self.function_tables]))

    @property
    def function_tables(self) -> dict[str, list[CategoricalTerm]]:
        """By column: the tables of effects of levels within functions."""
        tables: dict[str, list[CategoricalTerm]] = {}
        for pair in self.functions.values():
            for shape in pair.shapes:
                if isinstance(shape, CategoricalTerm):
                    tables.setdefault(shape.column, []).append(shape)
        return tables

    def numeric_terms(self, column: str) -> tuple[NumericTerm | None, NumericTerm | None]:
        """Both models' numeric terms on a raw column."""
        return self._numeric[0].get(column), self._numeric[1].get(column)

    def categorical_terms(self, column: str) -> tuple[CategoricalTerm | None, CategoricalTerm | None]:
        """Both models' categorical terms on a raw column."""
        return self._categorical[0].get(column), self._categorical[1].get(column)

    def coefficients(self, column: DesignColumn) -> tuple[float | None, float | None]:
        """Champion's and candidate's coefficient on a design column: 0 if absent, None if the model raises."""
        if column.kind.startswith("rare"):
            return _RARE.get(column.kind, (0.0, 0.0)) if column.level == self.label else (0.0, 0.0)
        if column.is_function:
            return self._of_function(column)
        if column.kind == "numeric":
            old, new = self.numeric_terms(column.column)
            return (old.coefficient if old else 0.0), (new.coefficient if new else 0.0)
        if column.kind == "missing":
            old, new = self.numeric_terms(column.column)
            return (old.missing if old else 0.0), (new.missing if new else 0.0)
        return self.level_effects(column.column, str(column.level))

    def _of_function(self, column: DesignColumn) -> tuple[float, float]:
        """If the candidate has a function too, the champion's keeps coefficient 1: the change is a separate column."""
        if column.level != self.label:
            return 0.0, 0.0
        if column.column not in self.functions:
            raise AlignmentError(f"neither model has a function of '{column.column}'")
        if column.kind == "function-change":
            return 0.0, 1.0
        return 1.0, float(bool(self.functions[column.column].sides[1]))

    def level_effects(self, column: str, level: str) -> tuple[float | None, float | None]:
        """Both models' effect of a level by their own encoders; `OTHER_LEVEL` stands for a level that neither knows."""
        first, second = (
            0.0 if term is None else (term.unknown if level == OTHER_LEVEL else term.effect(level))
            for term in self.categorical_terms(column)
        )
        return first, second


def _effect_of_number(term: NumericTerm, level: str) -> float | None:
    """The value of the term for a level that is a number or missing; None if the level is text, or if the model raises."""
    if level == MISSING_LEVEL:
        return term.missing
    number = number_of(level)
    return None if number is None else term.coefficient * number
