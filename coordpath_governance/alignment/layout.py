"""Which design columns two models need, what each model's coefficient on a column is, and where a model would raise."""

from __future__ import annotations

import math
from collections import Counter
from types import MappingProxyType

from coordpath_governance.errors import AlignmentError
from coordpath_governance.models.kinds import fault_of_kind
from coordpath_governance.models.linear_model import MISSING_LEVEL, CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.reference.design import OTHER_LEVEL, CategoricalColumn, Design, DesignColumn, NumericColumn
from coordpath_governance.reference.levels import number_of, number_text

__all__ = ["ModelPair", "lay_out"]

_RARE = {"rare": (0.0, 0.0), "rare-champion": (1.0, 0.0), "rare-candidate": (0.0, 1.0)}


class ModelPair:
    """Champion and candidate; without a champion the change starts from the zero model, as in the paper."""

    def __init__(self, champion: LinearModel | None, candidate: LinearModel) -> None:
        self.has_champion = champion is not None
        self.champion = champion if champion is not None else _zero_model(candidate)
        self.candidate = candidate
        self._numeric = [{t.column: t for t in m.numeric} for m in (self.champion, candidate)]
        self._categorical = [{t.column: t for t in m.categorical} for m in (self.champion, candidate)]
        _check_terms(self.champion, "champion")
        _check_terms(candidate, "candidate")
        self._check_comparable()
        for side in (0, 1):
            self._read_numbers_as_levels(side)

    def _read_numbers_as_levels(self, side: int) -> None:
        """Write a slope as effects of levels where the other model encodes the same column and raises on anything else.

        On every value that both can score β·x is an effect of the level x, so a 0/1 column and its dummy are one coordinate.
        """
        other = 1 - side
        for column, term in list(self._numeric[side].items()):
            encoded = self._categorical[other].get(column)
            used_twice = column in self._categorical[side] or column in self._numeric[other]
            if encoded is None or encoded.unknown is not None or used_twice:
                continue
            effects = {level: _effect_of_number(term, level) for level in encoded.levels}
            known = {level: effect for level, effect in effects.items() if effect is not None}
            if set(effects) - set(known) <= {MISSING_LEVEL}:
                numbers = encoded.numeric_levels
                self._categorical[side][column] = CategoricalTerm(column, tuple(known), tuple(known.values()), None, numbers)
                del self._numeric[side][column]

    @property
    def columns_as_numbers(self) -> list[str]:
        """Raw columns with a numeric term: the candidate's, then what was dropped."""
        return list(dict.fromkeys([*self._numeric[1], *self._numeric[0]]))

    @property
    def columns_as_levels(self) -> list[str]:
        """Raw columns with a categorical term: the candidate's, then what was dropped."""
        return list(dict.fromkeys([*self._categorical[1], *self._categorical[0]]))

    def _check_comparable(self) -> None:
        for what in ("family", "link", "classes", "target"):
            old, new = getattr(self.champion, what), getattr(self.candidate, what)
            if old is not None and new is not None and old != new:
                raise AlignmentError(
                    f"the models differ in {what}: the champion has {_quoted(old)}, the candidate {_quoted(new)}. "
                    "A path explains a change of coefficients only; compare models of the same kind."
                )
        for who, model in (("champion", self.champion), ("candidate", self.candidate)):
            fault = fault_of_kind(model)
            if fault is not None:
                raise AlignmentError(f"the {who} is no model we explain: {fault}")

    @property
    def has_intercept(self) -> bool:
        """True if either model has an intercept, fitted or a constant all the same: then coordinates are centred."""
        return any(m.has_intercept or m.intercept != 0.0 for m in (self.champion, self.candidate))

    def numeric_terms(self, column: str) -> tuple[NumericTerm | None, NumericTerm | None]:
        """Both models' numeric terms on a raw column."""
        return self._numeric[0].get(column), self._numeric[1].get(column)

    def categorical_terms(self, column: str) -> tuple[CategoricalTerm | None, CategoricalTerm | None]:
        """Both models' categorical terms on a raw column."""
        return self._categorical[0].get(column), self._categorical[1].get(column)

    def coefficients(self, column: DesignColumn) -> tuple[float | None, float | None]:
        """Champion's and candidate's coefficient on a design column: 0 if absent, None where the model would raise."""
        if column.kind in _RARE:
            return _RARE[column.kind]
        if column.kind == "numeric":
            old, new = self.numeric_terms(column.column)
            return (old.coefficient if old else 0.0), (new.coefficient if new else 0.0)
        if column.kind == "missing":
            old, new = self.numeric_terms(column.column)
            return (old.missing if old else 0.0), (new.missing if new else 0.0)
        return self.level_effects(column.column, str(column.level))

    def level_effects(self, column: str, level: str) -> tuple[float | None, float | None]:
        """Both models' effect of a level, by their own encoders; `OTHER_LEVEL` asks for a level never seen."""
        first, second = (
            0.0 if term is None else (term.unknown if level == OTHER_LEVEL else term.effect(level))
            for term in self.categorical_terms(column)
        )
        return first, second


def _quoted(value: str | tuple[str, ...]) -> str:
    return ", ".join(f"'{text}'" for text in ((value,) if isinstance(value, str) else value)) or "none"


def _check_terms(model: LinearModel, who: str) -> None:
    """One finite term a column: NaN stands for "would raise" in a change, and a second term would be overlooked."""
    for kind, terms in (("numeric", model.numeric), ("categorical", model.categorical)):
        for name, count in Counter(term.column for term in terms).items():
            if count > 1:
                raise AlignmentError(f"the {who} has {count} {kind} terms on the column '{name}'; add them up")
    for column, numbers in (
        ("intercept", [model.intercept]),
        *((t.column, [t.coefficient, t.missing or 0.0]) for t in model.numeric),
        *((t.column, [*t.effects, t.unknown or 0.0]) for t in model.categorical),
    ):
        if not all(math.isfinite(number) for number in numbers):
            raise AlignmentError(f"the {who} has a coefficient on '{column}' that is not a finite number")


def _zero_model(candidate: LinearModel) -> LinearModel:
    return LinearModel(
        intercept=0.0,
        has_intercept=False,
        family=candidate.family,
        link=candidate.link,
        power=candidate.power,
        classes=candidate.classes,
        target=candidate.target,
        estimator="the zero model",
    )


def _effect_of_number(term: NumericTerm, level: str) -> float | None:
    """What a slope adds for a level that is a number (or missing); None for a level that is none, or where it raises."""
    if level == MISSING_LEVEL:
        return term.missing
    number = number_of(level)
    return None if number is None else term.coefficient * number


def lay_out(pair: ModelPair) -> Design:
    """The design of the union of both models' columns: the candidate's order first, then what was dropped."""
    return Design(
        numeric=tuple(NumericColumn(name, _missing_refused_by(pair, name)) for name in pair.columns_as_numbers),
        categorical=tuple(_categorical_column(pair, name) for name in pair.columns_as_levels),
    )


def _missing_refused_by(pair: ModelPair, column: str) -> str | None:
    for who, term in zip(("champion", "candidate"), pair.numeric_terms(column), strict=True):
        if term is not None and term.missing is None:
            return who
    return None


def _categorical_column(pair: ModelPair, column: str) -> CategoricalColumn:
    old, new = pair.categorical_terms(column)
    terms = [term for term in (new, old) if term is not None]
    levels = tuple(dict.fromkeys(level for term in terms for level in term.levels))
    numeric_levels = any(term.numeric_levels for term in terms)
    _check_levels(column, levels, numeric_levels)
    refused = {}
    for level in (*levels, OTHER_LEVEL):
        for who, effect in zip(("champion", "candidate"), pair.level_effects(column, level), strict=True):
            if effect is None:
                refused[level] = who
    return CategoricalColumn(
        column=column,
        levels=levels,
        numeric_levels=numeric_levels,
        refused_by=MappingProxyType(refused),
        encoders=tuple((term.levels, term.numeric_levels) for term in terms),
    )


def _check_levels(column: str, levels: tuple[str, ...], numeric_levels: bool) -> None:
    """Refuse levels that rows could never be told to have."""
    if OTHER_LEVEL in levels:
        raise AlignmentError(f"the column '{column}' has a level called '{OTHER_LEVEL}', a name that is taken; rename it")
    for level in levels if numeric_levels else ():
        if number_text(level) != level:
            raise AlignmentError(
                f"one model reads the column '{column}' as numbers, the other as text: '{level}' and "
                f"'{number_text(level)}' would be one level to the first and two to the second; train both on one type"
            )
