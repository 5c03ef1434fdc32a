"""Champion and candidate side by side: whether they are comparable, and which design columns the two need."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from types import MappingProxyType

from coordpath_governance.alignment.class_scores import without_common_part
from coordpath_governance.alignment.interactions import (
    LevelWeights,
    has_products_with_levels,
    level_weights,
    split_products,
)
from coordpath_governance.alignment.score_pair import ScorePair
from coordpath_governance.errors import AlignmentError
from coordpath_governance.models.functions import TIMES
from coordpath_governance.models.kinds import fault_of_kind
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.target_maps import target_text
from coordpath_governance.reference.design import OTHER_LEVEL, CategoricalColumn, Design, FunctionColumn, NumericColumn
from coordpath_governance.reference.levels import number_text
from coordpath_governance.reference.moments import Moments

__all__ = ["ModelPair", "lay_out"]


class ModelPair:
    """Champion and candidate; without a champion the change starts from the zero model, as in the paper.

    Raises `AlignmentError` if the two models are not comparable. For a multinomial model, ``scores`` has one pair of scores
    per class, and ``common`` is the part that was subtracted from all of them. For any other model ``scores`` has one pair,
    and ``common`` is None. All pairs of scores have the same columns and levels.
    """

    def __init__(self, champion: LinearModel | None, candidate: LinearModel, weights: LevelWeights | None = None) -> None:
        self.has_champion = champion is not None
        self.champion = champion if champion is not None else _zero_model(candidate)
        self.candidate = candidate
        for who, model in (("champion", self.champion), ("candidate", candidate)):
            _check_terms(model, who)
            for label, score in zip(model.classes, model.class_scores, strict=False):
                _check_terms(score, f"{who}'s class '{label}'")
        self._check_comparable()
        first, last = split_products((self.champion, candidate), weights)
        _check_names((first, last))
        self.scores: tuple[ScorePair, ...] = (ScorePair(first, last),)
        self.common: ScorePair | None = None
        if candidate.class_scores:
            (old, old_common), (new, new_common) = map(without_common_part, (first.class_scores, last.class_scores))
            self.scores = tuple(map(ScorePair, old, new, candidate.classes))
            self.common = ScorePair(old_common, new_common)

    def weighted(self, moments: Moments) -> ModelPair:
        """The same pair, with products split by the shares of levels in the reference population where that matters."""
        if not has_products_with_levels((self.champion, self.candidate)):
            return self
        return ModelPair(self.champion if self.has_champion else None, self.candidate, level_weights(moments))

    def _check_comparable(self) -> None:
        for field in ("family", "link", "classes", "target"):
            old, new = getattr(self.champion, field), getattr(self.candidate, field)
            if old is not None and new is not None and old != new:
                raise AlignmentError(
                    f"the models differ in {field}: the champion has {_quoted(old)}, the candidate {_quoted(new)}. "
                    "A path explains a change of coefficients only: compare models of the same kind, or explain the "
                    "candidate from zero (--champion none) under a name of its own."
                )
        if self.champion.target_map != self.candidate.target_map:
            old, new = (target_text(m.target_map, m.target or "target") for m in (self.champion, self.candidate))
            raise AlignmentError(
                f"the models predict different functions of the target: the champion {old}, the candidate {new}. Their "
                "costs are not comparable: fit both with the same transformation of the target, or explain the candidate "
                "from zero (--champion none) under a name of its own."
            )
        for who, model in (("champion", self.champion), ("candidate", self.candidate)):
            fault = fault_of_kind(model)
            if fault is not None:
                raise AlignmentError(f"the {who} is not a model that we explain: {fault}")

    @property
    def has_intercept(self) -> bool:
        """Whether either model has an intercept, fitted or not. If so, coordinates are centred."""
        models = [score for model in (self.champion, self.candidate) for score in (model, *model.class_scores)]
        split = any(intercept != 0.0 for scores in self.scores for intercept in scores.intercepts)
        return split or any(model.has_intercept or model.intercept != 0.0 for model in models)


def _quoted(value: str | tuple[str, ...]) -> str:
    return ", ".join(f"'{text}'" for text in ((value,) if isinstance(value, str) else value)) or "none"


def _check_terms(model: LinearModel, who: str) -> None:
    """Refuse two terms of one column, one of which would be overlooked, and NaN, which means "raises" in a change."""
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
    for columns, count in Counter(term.columns for term in model.functions).items():
        if count > 1:
            raise AlignmentError(f"the {who} has {count} functions of '{', '.join(columns)}'; add them up")
    if not all(term.is_finite for term in model.functions):
        raise AlignmentError(f"the {who} has a function with a number that is not finite")


def _check_names(models: Sequence[LinearModel]) -> None:
    """Refuse a column with the same name as an interaction of others, because units are identified by their names."""
    owners: dict[str, tuple[str, ...]] = {}
    for score in (score for model in models for score in (model, *model.class_scores)):
        for columns in (*((column,) for column in score.columns), *(term.columns for term in score.functions)):
            name = TIMES.join(columns)
            if owners.setdefault(name, columns) != columns:
                named = {" with ".join(f"'{column}'" for column in owner) for owner in (owners[name], columns)}
                both = " and ".join(sorted(named))
                raise AlignmentError(f"'{name}' is the name of two things, of {both}; rename the column in the models")


def _zero_model(candidate: LinearModel) -> LinearModel:
    return LinearModel(
        intercept=0.0,
        has_intercept=False,
        family=candidate.family,
        link=candidate.link,
        power=candidate.power,
        classes=candidate.classes,
        class_scores=tuple(LinearModel(0.0, has_intercept=False) for _ in candidate.class_scores),
        target=candidate.target,
        target_map=candidate.target_map,
        estimator="the zero model",
    )


def lay_out(pair: ModelPair) -> Design:
    """The design for the columns of both models: those of the candidate in its order, then those only the champion has."""
    scores = pair.scores[0]
    return Design(
        numeric=tuple(NumericColumn(name, _missing_refused_by(scores, name)) for name in scores.columns_as_numbers),
        categorical=tuple(_categorical_column(scores, name) for name in scores.columns_as_levels),
        functions=tuple(
            FunctionColumn(name, of_class.label, *of_class.functions[name].sides)
            for name in scores.functions
            for of_class in pair.scores
        ),
    )


def _missing_refused_by(pair: ScorePair, column: str) -> str | None:
    for who, term in zip(("champion", "candidate"), pair.numeric_terms(column), strict=True):
        if term is not None and term.missing is None:
            return who
    return None


def _categorical_column(pair: ScorePair, column: str) -> CategoricalColumn:
    old, new = pair.categorical_terms(column)
    terms = [*(term for term in (new, old) if term is not None), *pair.function_tables.get(column, ())]
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
        text_levels=any(term.text_levels for term in terms),
        encoders=tuple(dict.fromkeys((term.levels, term.numeric_levels, term.text_levels) for term in terms)),
    )


def _check_levels(column: str, levels: tuple[str, ...], numeric_levels: bool) -> None:
    """Refuse levels that no row could be recognised to have."""
    if OTHER_LEVEL in levels:
        raise AlignmentError(f"the column '{column}' has a level called '{OTHER_LEVEL}', a name that is taken; rename it")
    for level in levels if numeric_levels else ():
        if number_text(level) != level:
            raise AlignmentError(
                f"one model reads the column '{column}' as numbers, the other as text: '{level}' and "
                f"'{number_text(level)}' would be one level to the first and two to the second; train both on one type"
            )
