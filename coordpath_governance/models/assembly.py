"""From the columns that reach a linear estimator to terms over raw columns.

With flows f_k of raw columns and coefficients w_k the score is w_0 + Σ w_k·f_k. Every shift goes into the intercept; what
is left is summed per raw column: numeric flows into one `NumericTerm`, encodings into one `CategoricalTerm`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.flows import NO_OUTPUT, CombinedFlow, Encoding, Frame, LevelFlow, NumericFlow, RawFlow
from coordpath_governance.models.linear_model import (
    MISSING_LEVEL,
    CategoricalTerm,
    NumericTerm,
    RawCoefficient,
    level_label,
)

__all__ = ["Terms", "assemble"]

_TEXTS_LIKE_TRUTH = frozenset(("True", "False", MISSING_LEVEL))


@dataclass(frozen=True)
class Terms:
    """The linear score over raw columns, and the estimator's own vector in raw units."""

    intercept: float
    numeric: tuple[NumericTerm, ...]
    categorical: tuple[CategoricalTerm, ...]
    raw: tuple[RawCoefficient, ...]


@dataclass
class _Encoded:
    """One encoding with the effect of each of its outputs."""

    encoding: Encoding
    effects: list[float]

    def effect(self, output: int | None) -> float | None:
        """Return the effect of an output: zero for `NO_OUTPUT`, None where the encoder raises."""
        if output is None:
            return None
        return 0.0 if output == NO_OUTPUT else self.effects[output]


@dataclass
class _Column:
    """What the flows of one raw column add up to; ``missing`` None if the model raises there."""

    name: str
    coefficient: float = 0.0
    missing: float | None = 0.0
    is_numeric: bool = False
    only_indicators: bool = True
    encoded: list[_Encoded] = field(default_factory=list)

    def add(self, weight: float, flow: NumericFlow) -> None:
        self.is_numeric = True
        self.only_indicators &= flow.scale == 0.0
        self.coefficient += weight * flow.scale
        gain = _gain_when_missing(flow)
        self.missing = None if self.missing is None or gain is None else self.missing + weight * gain


def assemble(
    weights: Sequence[float],
    intercept: float,
    frame: Frame,
    inputs: Sequence[str],
    where: str,
) -> Terms:
    """Add up ``weights`` over the columns of ``frame``, which were made from the raw columns ``inputs``."""
    columns = [_Column(name) for name in inputs]
    encoded = {encoding: _Encoded(encoding, [0.0] * encoding.count) for encoding in frame.encodings}
    for each in encoded.values():
        columns[each.encoding.source].encoded.append(each)
    raw: list[RawCoefficient] = []
    intercept += sum(w * flow.shift for w, flow in zip(weights, frame.flows, strict=True) if isinstance(flow, CombinedFlow))
    for weight, flow in _expanded(weights, frame):
        if isinstance(flow, LevelFlow):
            encoded[flow.encoding].effects[flow.output] += weight * flow.gain
            intercept += weight * flow.shift
            raw.append(RawCoefficient(flow.label, weight * flow.gain))
        else:
            numeric = flow.numeric(where) if isinstance(flow, RawFlow) else flow
            columns[numeric.source].add(weight, numeric)
            intercept += weight * numeric.shift
            raw.append(RawCoefficient(numeric.label, weight * (numeric.scale or _gain_when_missing(numeric) or 0.0)))
    terms = Terms(
        intercept=intercept,
        numeric=tuple(
            NumericTerm(column.name, column.coefficient, column.missing)
            for column in columns
            if column.is_numeric and not (column.only_indicators and column.encoded)
        ),
        categorical=tuple(_categorical_term(column, where) for column in columns if column.encoded),
        raw=tuple(raw),
    )
    _check_finite(terms, where)
    return terms


def _expanded(weights: Sequence[float], frame: Frame) -> Iterable[tuple[float, RawFlow | NumericFlow | LevelFlow]]:
    """Every column with its weight, and once each those that combinations are made of, with all of their weights."""
    within: dict[NumericFlow | LevelFlow, float] = {}
    for weight, flow in zip(weights, frame.flows, strict=True):
        if isinstance(flow, CombinedFlow):
            for part, column in flow.parts:
                within[column] = within.get(column, 0.0) + weight * part
        else:
            yield weight, flow
    yield from ((weight, column) for column, weight in within.items())


def _gain_when_missing(flow: NumericFlow) -> float | None:
    """Return by how much a missing value raises the flow above its shift, None if it reaches the estimator as NaN."""
    if flow.missing is None or math.isnan(flow.missing):
        return None
    return flow.missing - flow.shift


def _categorical_term(column: _Column, where: str) -> CategoricalTerm:
    """Add up the encodings of one column, and its missing indicator if it is not used as a number otherwise.

    A level that one of the encodings does not know and raises on is left out, as ``unknown`` is None then.
    """
    tables = [_outputs_by_label(each.encoding, column.name, where) for each in column.encoded]
    effects: dict[str, float] = {}
    for label in dict.fromkeys(label for table in tables for label in table):
        total = _total(
            each.effect(table.get(label, each.encoding.unknown)) for each, table in zip(column.encoded, tables, strict=True)
        )
        if total is not None:
            effects[label] = total
    unknown = _total(each.effect(each.encoding.unknown) for each in column.encoded)
    indicated = column.is_numeric and column.only_indicators
    missing = _total(
        [*(each.effect(each.encoding.missing) for each in column.encoded), column.missing if indicated else 0.0]
    )
    explicit = indicated or any(each.encoding.missing_is_level for each in column.encoded)
    _place_missing(column.name, effects, missing, unknown, explicit=explicit, where=where)
    levels = [level for each in column.encoded for level in each.encoding.outputs]
    return CategoricalTerm(
        column.name,
        levels=tuple(effects),
        effects=tuple(effects.values()),
        unknown=unknown,
        numeric_levels=bool(levels) and all(_is_number(level) for level in levels),
        text_levels=bool(levels) and set(levels) <= _TEXTS_LIKE_TRUTH,
    )


def _place_missing(
    name: str, effects: dict[str, float], missing: float | None, unknown: float | None, *, explicit: bool, where: str
) -> None:
    """Enter the effect of a missing value among the levels, unless the rule for unknown levels says the same."""
    if missing is None and unknown is not None:
        raise UnsupportedModelError(
            f"{where}: the column '{name}' raises on missing values but not on unknown levels, which is not supported; "
            "impute it before encoding."
        )
    if MISSING_LEVEL in effects and effects[MISSING_LEVEL] != missing:
        raise UnsupportedModelError(
            f"{where}: the column '{name}' has a level called '{MISSING_LEVEL}' that is not treated like a missing "
            "value; rename the level."
        )
    if missing is not None and (explicit or missing != unknown):
        effects[MISSING_LEVEL] = missing


def _outputs_by_label(encoding: Encoding, name: str, where: str) -> Mapping[str, int]:
    """Return the encoding's outputs by the label of the level; 1 and "1" in one column cannot be told apart."""
    outputs: dict[str, int] = {}
    for level, output in encoding.outputs.items():
        if outputs.setdefault(level_label(level), output) != output:
            raise UnsupportedModelError(
                f"{where}: the column '{name}' has two levels that both read '{level_label(level)}'; rename one."
            )
    return outputs


def _total(effects: Iterable[float | None]) -> float | None:
    """Return the sum, None if any of them raises."""
    total = 0.0
    for effect in effects:
        if effect is None:
            return None
        total += effect
    return total


def _is_number(level: object) -> bool:
    return isinstance(level, (int, float)) and not isinstance(level, bool)


def _check_finite(terms: Terms, where: str) -> None:
    """Refuse numbers that overflowed when they were multiplied out."""
    numbers: list[float | None] = [terms.intercept, *(coefficient.value for coefficient in terms.raw)]
    for numeric in terms.numeric:
        numbers.extend((numeric.coefficient, numeric.missing))
    for categorical in terms.categorical:
        numbers.extend((*categorical.effects, categorical.unknown))
    if not all(number is None or math.isfinite(number) for number in numbers):
        raise ModelReadError(
            f"{where}: the coefficients in raw units are not finite; the model is damaged or its scalers are degenerate."
        )
