"""The design that a formula makes of a data frame: its columns as functions of raw columns, with patsy's names.

Kinds of columns, levels and their order come from the frame in the file, as they do when the model is loaded. A served
model raises on missing values and on levels that the frame does not have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models.flows import (
    CombinedFlow,
    CurveFlow,
    Encoding,
    Flow,
    Frame,
    LevelFlow,
    NumericFlow,
    SimpleFlow,
)
from coordpath_governance.models.formula_terms import Coded, Term, coded_terms, terms_of
from coordpath_governance.models.formula_text import (
    RESERVED,
    Apply,
    Binary,
    Category,
    ColumnRef,
    Expression,
    Factor,
    Formula,
    Number,
)
from coordpath_governance.models.formula_tokens import refused
from coordpath_governance.models.maps import Affine, Elementary, Map, apply_all
from coordpath_governance.models.stored_frames import CATEGORY, NUMBER, OTHER, TEXT, TRUTH, StoredColumn, StoredFrame

__all__ = ["FormulaDesign", "build_design"]

_MOST_COLUMNS, _MOST_PRODUCTS, _MOST_PARTS, _MOST_EXPONENT = 20_000, 100_000, 500, 16
_ARITHMETIC_TYPES = ("float64", "int64")
_SERVED_TYPES = ("double", "float", "long")
_LARGEST_WHOLE, _LARGEST_RESULT = 1 << 31, (1 << 63) - 1
"""Whole numbers in a column are assumed to be at most the first; a result beyond the second could overflow an int64."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Polynomial:
    """Σ weight·Π columns + constant.

    ``bound`` is the largest size of its values if numpy computes in whole numbers; None if numpy computes in doubles.
    """

    parts: tuple[tuple[float, tuple[SimpleFlow, ...]], ...] = ()
    constant: float = 0.0
    bound: int | None = None


@dataclass(frozen=True)
class FormulaDesign:
    """The columns of a design, over the raw columns ``inputs``.

    ``target`` is the left-hand side as patsy writes it. If it is a function of one column, ``target_column`` is that column
    and ``target_maps`` are the maps on it (none if it is the column itself).
    """

    frame: Frame
    inputs: tuple[str, ...]
    names: tuple[str, ...]
    has_intercept: bool
    target: str
    target_column: str | None = None
    target_maps: tuple[Map, ...] = ()


def build_design(formula: Formula, frame: StoredFrame, types: Mapping[str, str] | None = None) -> FormulaDesign:
    """The design of the right-hand side. The left-hand side must be one number.

    ``types`` are the types of the columns in the model's signature, to which MLflow converts the columns it serves. Raises
    `UnsupportedModelError` for a formula that is not read.
    """
    for name in RESERVED:
        if name in frame.names:
            raise UnsupportedModelError(
                f"the model's data have a column called '{name}', which takes the place of {name} in its formula; rename "
                "the column and fit the model again."
            )
    builder = _Builder(frame, types or {})
    target = builder.target(terms_of(formula.left, predictors=False))
    terms = terms_of(formula.right, predictors=True)
    flows: list[Flow] = []
    names: list[str] = []
    work = 0
    for coded in coded_terms(terms, builder.is_category):
        for name, flow in builder.columns(coded):
            names.append(name)
            flows.append(flow)
            work += len(flow.parts) if isinstance(flow, CombinedFlow) else 1
            if len(flows) > _MOST_COLUMNS or work > _MOST_PRODUCTS:
                raise refused(f"makes more than {_MOST_COLUMNS} columns, or {_MOST_PRODUCTS} products of columns")
    encodings = tuple(builder.encodings.values())
    return FormulaDesign(
        Frame(tuple(flows), tuple(names), encodings=encodings),
        inputs=tuple(builder.sources),
        names=tuple(names),
        has_intercept=() in terms,
        target=target.text,
        **_function_of_one_column(_Builder(frame, types or {}), target),
    )


class _TargetFacts(TypedDict, total=False):
    target_column: str
    target_maps: tuple[Map, ...]


def _function_of_one_column(builder: _Builder, target: Factor) -> _TargetFacts:
    """The column of the left-hand side and the maps on it; empty if it has several columns or a product."""
    try:
        value = builder.number(target)
    except UnsupportedModelError:
        return {}
    if len(value.parts) != 1 or len(value.parts[0][1]) != 1:
        return {}
    weight, (flow,) = value.parts[0]
    if not isinstance(flow, NumericFlow | CurveFlow):
        return {}
    column = flow.scaled(Affine(weight, value.constant))
    before = column.maps if isinstance(column, CurveFlow) else ()
    return {"target_column": next(iter(builder.sources)), "target_maps": (*before, *column.operations)}


class _Builder:
    """Builds columns and encodings; each only once."""

    def __init__(self, frame: StoredFrame, types: Mapping[str, str]) -> None:
        self._frame = frame
        self._types = types
        self._columns: dict[str, StoredColumn] = {}
        self._numbers: dict[Factor, _Polynomial] = {}
        self.sources: dict[str, int] = {}
        self.encodings: dict[str, Encoding] = {}

    def target(self, terms: Sequence[Term]) -> Factor:
        """The only factor of the left-hand side."""
        if len(terms) != 1 or len(terms[0]) != 1:
            raise refused("has another left-hand side than one column")
        (factor,) = terms[0]
        if self.is_category(factor) or not self._is_numeric(factor.value):
            raise refused(
                f"has the left-hand side {factor.text!r}, which is not a number, so that statsmodels makes a column of "
                "every level of it and predicts the first; give the target as 0 and 1"
            )
        return factor

    def is_category(self, factor: Factor) -> bool:
        """Whether a factor is a category, which has a column per level."""
        if isinstance(factor.value, Category):
            return True
        if factor.bare and isinstance(factor.value, ColumnRef):
            return self._column(factor.value.name).kind != NUMBER
        return False

    def _is_numeric(self, value: Expression | Category) -> bool:
        """Whether every column of an expression is a number. Truth values stay truth values in I()."""
        if isinstance(value, ColumnRef):
            return self._column(value.name).kind == NUMBER
        if isinstance(value, Binary):
            return self._is_numeric(value.left) and self._is_numeric(value.right)
        return self._is_numeric(value.argument) if isinstance(value, Apply) else isinstance(value, Number)

    def _column(self, name: str) -> StoredColumn:
        if name not in self._columns:
            column = self._frame.column(name)
            if column is None:
                raise UnsupportedModelError(
                    f"the model's formula uses {name[:80]!r}, which is not a column of the data it was fitted on, so that "
                    "what it is depends on where the model is loaded; put it into the data and fit the model again."
                )
            if column.kind == OTHER:
                raise UnsupportedModelError(
                    f"the model's formula uses the column '{name[:80]}', which holds neither numbers, text, truth values "
                    "nor categories of pandas' or numpy's plain types; convert it and fit the model again."
                )
            self._columns[name] = column
        return self._columns[name]

    def _source(self, name: str) -> int:
        return self.sources.setdefault(name, len(self.sources))

    def columns(self, coded: Coded) -> Iterable[tuple[str, Flow]]:
        """The columns of one part of a term, in patsy's order: the levels of the last factor change slowest."""
        choices = [self._choices(factor, coded.full) for factor in coded.factors]
        if math.prod(map(len, choices)) > _MOST_COLUMNS:
            raise refused(f"makes more than {_MOST_COLUMNS} columns")
        for chosen in product(*reversed(choices)):
            parts = list(reversed(chosen))
            name = ":".join(label for label, _ in parts) or "Intercept"
            yield name, _as_flow(name, _product([value for _, value in parts]))

    def _choices(self, factor: Factor, full: Mapping[Factor, bool]) -> list[tuple[str, _Polynomial]]:
        """The columns of one factor: a number has one, a category has one for every level that is not left out."""
        if not self.is_category(factor):
            return [(factor.text, self.number(factor))]
        name = factor.value.name if isinstance(factor.value, Category | ColumnRef) else ""
        encoding = self._encoding(name)
        levels = list(encoding.outputs)
        dropped = None if full[factor] else _omitted_level(factor, levels)
        prefix = "" if full[factor] else "T."
        return [
            (f"{factor.text}[{prefix}{level}]", _Polynomial(((1.0, (LevelFlow(encoding, f"{name}[{level}]", output),)),)))
            for output, level in enumerate(levels)
            if output != dropped
        ]

    def _encoding(self, name: str) -> Encoding:
        if name not in self.encodings:
            levels = _levels(self._column(name))
            if len(levels) > _MOST_COLUMNS:
                raise refused(f"has the category '{name[:80]}' of more than {_MOST_COLUMNS} levels")
            outputs = {level: output for output, level in enumerate(levels)}
            if len(outputs) != len(levels) or not levels:
                raise UnsupportedModelError(
                    f"the category '{name[:80]}' of the model's formula has no levels, or two that are equal; fit it again."
                )
            self.encodings[name] = Encoding(self._source(name), outputs, len(levels), None, None, missing_is_level=False)
        return self.encodings[name]

    def number(self, factor: Factor) -> _Polynomial:
        """A factor that is a number, with its products multiplied out."""
        if factor not in self._numbers:
            value = factor.value
            if isinstance(value, ColumnRef) and factor.bare:
                self._numbers[factor] = self._itself(value.name)
            elif isinstance(value, Category):
                raise refused(f"has the category {factor.text[:80]!r} as a number")
            else:
                self._numbers[factor] = _in_doubles(self._evaluate(value))
        return self._numbers[factor]

    def _itself(self, name: str) -> _Polynomial:
        return _Polynomial(((1.0, (NumericFlow(self._source(name), name),)),))

    def _evaluate(self, value: Expression) -> _Polynomial:
        """Arithmetic on columns, with products multiplied out."""
        if isinstance(value, Number):
            bound = abs(value.value) if isinstance(value.value, int) else None
            return _checked(_Polynomial(constant=float(value.value), bound=bound))
        if isinstance(value, ColumnRef):
            return self._operand(value.name)
        if isinstance(value, Apply):
            return _applied(value.function, self._evaluate(value.argument))
        left, right = self._evaluate(value.left), self._evaluate(value.right)
        if value.sign == "**":
            return _power(left, right)
        if value.sign == "/":
            right = _reciprocal(right)
        if value.sign in ("*", "/"):
            return _product([left, right])
        minus = -1.0 if value.sign == "-" else 1.0
        return _sum(left, right, minus)

    def _operand(self, name: str) -> _Polynomial:
        """A column in an arithmetic expression. Its values are whole numbers if they are so in the frame or when served."""
        column = self._column(name)
        stored = str(column.values.dtype.newbyteorder("="))
        if column.kind != NUMBER or stored not in _ARITHMETIC_TYPES:
            raise UnsupportedModelError(
                f"the model's formula computes with the column '{name[:80]}', which does not hold numbers of the type "
                "float64 or int64, so that results may be rounded or wrap around; convert it and fit the model again."
            )
        served = self._types.get(name)
        if served is not None and served not in _SERVED_TYPES:
            raise UnsupportedModelError(
                f"the model's formula computes with the column '{name[:80]}', which its signature gives the type "
                f"{served[:40]!r}, so that results may wrap around when it is served; convert the column to float and log "
                "the model with a signature that says double."
            )
        is_whole = stored == "int64" or served == "long"
        return replace(self._itself(name), bound=_LARGEST_WHOLE if is_whole else None)


def _levels(column: StoredColumn) -> list[object]:
    """The levels in patsy's order: categories in their own order, False before True, anything else sorted."""
    if column.kind == CATEGORY:
        return list(column.levels)
    if column.kind == TRUTH:
        return [False, True]
    values = column.values.tolist()
    if column.kind == TEXT:
        return sorted({value for value in values if value is not None})
    numbers = {value for value in values if value == value}
    return sorted(numbers)


def _omitted_level(factor: Factor, levels: Sequence[object]) -> int:
    """The position of the level that a treatment coding leaves out: the first, or the level or position that it names."""
    wanted = factor.value.omitted_level if isinstance(factor.value, Category) else None
    if wanted is None:
        return 0
    if wanted in levels:
        return levels.index(wanted)
    if isinstance(wanted, int) and -len(levels) <= wanted < len(levels):
        return wanted % len(levels)
    raise refused(f"has {factor.text[:80]!r}, whose reference is not a level of the data")


def _sum(left: _Polynomial, right: _Polynomial, sign: float) -> _Polynomial:
    parts = (*left.parts, *((sign * weight, flows) for weight, flows in right.parts))
    bound = None if left.bound is None or right.bound is None else left.bound + right.bound
    return _checked(_Polynomial(parts, left.constant + sign * right.constant, bound))


def _product(factors: Sequence[_Polynomial]) -> _Polynomial:
    total = _Polynomial(constant=1.0, bound=1)
    for factor in factors:
        if (len(total.parts) + 1) * (len(factor.parts) + 1) > _MOST_PARTS:
            raise refused("multiplies sums that are too long")
        parts = [(weight * other, (*left, *right)) for weight, left in total.parts for other, right in factor.parts]
        parts += [(weight * factor.constant, flows) for weight, flows in total.parts if factor.constant]
        parts += [(weight * total.constant, flows) for weight, flows in factor.parts if total.constant]
        bound = None if total.bound is None or factor.bound is None else total.bound * factor.bound
        total = _checked(_Polynomial(tuple(parts), total.constant * factor.constant, bound))
    return total


def _in_doubles(value: _Polynomial) -> _Polynomial:
    return replace(value, bound=None)


def _checked(value: _Polynomial) -> _Polynomial:
    if len(value.parts) > _MOST_PARTS:
        raise refused("multiplies sums that are too long")
    if not all(math.isfinite(number) for number in (value.constant, *(weight for weight, _ in value.parts))):
        raise refused("computes with numbers that are not finite")
    if value.bound is not None and value.bound > _LARGEST_RESULT:
        names = sorted({flow.label for _, flows in value.parts for flow in flows})
        raise UnsupportedModelError(
            f"the model's formula computes with whole numbers ({', '.join(names)[:80] or 'constants'}), and its results may "
            "become so large that they wrap around; convert the column to float and fit the model again."
        )
    return value


def _power(base: _Polynomial, exponent: _Polynomial) -> _Polynomial:
    if exponent.parts or not (exponent.constant.is_integer() and 0 <= exponent.constant <= _MOST_EXPONENT):
        if not exponent.parts and exponent.constant == 0.5:
            return _applied("sqrt", base)
        raise refused(f"has a power that is not a whole number up to {_MOST_EXPONENT}")
    if exponent.bound is None:
        base = _in_doubles(base)
    return _product([base] * int(exponent.constant))


def _reciprocal(value: _Polynomial) -> _Polynomial:
    if value.parts:
        return _applied("reciprocal", value)
    if not value.constant:
        raise refused("divides by 0")
    return _Polynomial(constant=1.0 / value.constant)


def _applied(function: str, value: _Polynomial) -> _Polynomial:
    """A function of a constant, or of a chain of functions of one column; a square is written as a product."""
    if function == "square":
        return _product([value, value])
    bound = value.bound if function == "abs" else None
    through = Elementary({"abs": "absolute"}.get(function, function))
    if not value.parts:
        constant = float(apply_all((through,), np.array([value.constant]))[0])
        return _checked(_Polynomial(constant=constant, bound=bound))
    (weight, flows), *more = value.parts
    flow = flows[0]
    if more or len(flows) != 1 or not isinstance(flow, NumericFlow | CurveFlow):
        called = "divides by" if function == "reciprocal" else f"takes np.{function} of"
        raise refused(f"{called} a sum or product of several columns, which is not a function of single columns,")
    column = flow.scaled(Affine(weight, value.constant))
    before = column.maps if isinstance(column, CurveFlow) else ()
    maps = (*before, *column.operations, through)
    return _Polynomial(((1.0, (CurveFlow(column.source, column.label, maps),)),), bound=bound)


def _as_flow(name: str, value: _Polynomial) -> Flow:
    if len(value.parts) == 1 and len(value.parts[0][1]) == 1:
        weight, (flow,) = value.parts[0]
        return replace(flow.scaled(Affine(weight, value.constant)), label=name)
    return CombinedFlow(name, value.parts, value.constant)
