"""From the columns that reach a linear estimator to terms over raw columns.

With flows f_k of raw columns and coefficients w_k the score is w_0 + Σ w_k·f_k. Every shift goes into the intercept. The
rest is summed per raw column: numeric flows into one `NumericTerm`, encodings into one `CategoricalTerm`. Everything else is
multiplied out, so that polynomials of scaled columns become polynomials of raw ones, and goes into `FunctionTerm`s.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.flows import (
    NO_OUTPUT,
    CombinedFlow,
    CurveFlow,
    Encoding,
    Frame,
    LevelFlow,
    NumericFlow,
    RawFlow,
    SimpleFlow,
    TableFlow,
)
from coordpath_governance.models.functions import (
    MOST_COLUMNS,
    Curve,
    FunctionTerm,
    Piece,
    Shape,
    function_terms,
    table_of,
)
from coordpath_governance.models.linear_model import (
    MISSING_LEVEL,
    CategoricalTerm,
    NumericTerm,
    RawCoefficient,
    level_label,
)
from coordpath_governance.models.maps import Affine, Map, Power

__all__ = ["Terms", "assemble"]

_TEXTS_LIKE_TRUTH = frozenset(("True", "False", MISSING_LEVEL))
_MOST_PRODUCTS = 200_000


@dataclass(frozen=True)
class Terms:
    """The score over raw columns, and the estimator's own vector in raw units."""

    intercept: float
    numeric: tuple[NumericTerm, ...]
    categorical: tuple[CategoricalTerm, ...]
    functions: tuple[FunctionTerm, ...]
    raw: tuple[RawCoefficient, ...]


@dataclass
class _Encoded:
    """One encoding with the effect of each of its outputs; NaN for an output on which the estimator raises."""

    encoding: Encoding
    effects: list[float]

    def effect(self, output: int | None) -> float | None:
        """The effect of an output: zero for `NO_OUTPUT`, None if the model raises."""
        if output is None:
            return None
        effect = 0.0 if output == NO_OUTPUT else self.effects[output]
        return None if math.isnan(effect) else effect


@dataclass
class _Column:
    """The sum of the flows of one raw column; ``missing`` is None if the model raises on a missing value."""

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


@dataclass(frozen=True)
class _Itself:
    """A raw number; ``fill`` where it is missing (None if the model raises)."""

    source: int
    fill: float | None


@dataclass(frozen=True)
class _IsMissing:
    """1 where a raw number is missing, 0 elsewhere."""

    source: int


@dataclass(frozen=True)
class _Mapped:
    """A chain of maps on a raw number; ``missing`` where the number is missing (None if the model raises)."""

    source: int
    maps: tuple[Map, ...]
    missing: float | None


@dataclass(frozen=True)
class _Output:
    """1 where the level has this output of the encoding, 0 elsewhere."""

    encoding: Encoding
    output: int


@dataclass(frozen=True)
class _Table:
    """A value for every output of the encoding."""

    encoding: Encoding
    values: tuple[float, ...]


_Atom: TypeAlias = _Itself | _IsMissing | _Mapped | _Output | _Table


class _Sum:
    """Adds up columns and products of columns, each in the term it belongs to."""

    def __init__(self, intercept: float, frame: Frame, inputs: Sequence[str], where: str) -> None:
        self.intercept = intercept
        self.where = where
        self.columns = [_Column(name) for name in inputs]
        self._encoded = {encoding: _Encoded(encoding, [0.0] * encoding.count) for encoding in frame.encodings}
        for encoded in self._encoded.values():
            self.columns[encoded.encoding.source].encoded.append(encoded)
        self.tables: dict[str, list[CategoricalTerm]] = {}
        self._products: dict[frozenset[tuple[_Atom, int]], tuple[tuple[_Atom, ...], float]] = {}

    def add(self, weight: float, flow: SimpleFlow) -> None:
        """Add weight·flow."""
        if isinstance(flow, NumericFlow):
            self.columns[flow.source].add(weight, flow)
            self.intercept += weight * flow.shift
        elif isinstance(flow, LevelFlow):
            self._encoded[flow.encoding].effects[flow.output] += weight * flow.gain
            self.intercept += weight * flow.shift
        elif isinstance(flow, TableFlow):
            effects = self._encoded[flow.encoding].effects
            for output, value in enumerate(flow.values):
                effects[output] += weight * value
        else:
            self.add_product(weight, (flow,))

    def add_product(self, weight: float, factors: Sequence[SimpleFlow]) -> None:
        """Add weight·Π factors, multiplied out.

        A scaled number that occurs more than once is not multiplied out. In raw powers of a year, say, the product would be
        a difference of numbers so large that rounding would leave nothing of it.
        """
        often = Counter(flow.source for flow in factors if _is_scaled(flow))
        repeated = [flow for flow in factors if _is_scaled(flow) and often[flow.source] > 1]
        mapped = tuple(_Mapped(flow.source, flow.operations, _or_none(flow.missing)) for flow in repeated)
        products: list[tuple[float, tuple[_Atom, ...]]] = [(weight, mapped)]
        for flow in (flow for flow in factors if flow not in repeated):
            gain, atom, shift = _split(flow)
            shifted = [(w * shift, atoms) for w, atoms in products] if shift else []
            products = [(w * gain, (*atoms, atom)) for w, atoms in products] + shifted
        for total, atoms in products:
            self._add_atoms(total, atoms)

    def _add_atoms(self, weight: float, atoms: Sequence[_Atom]) -> None:
        if not atoms:
            self.intercept += weight
            return
        outputs: dict[Encoding, int] = {}
        for atom in atoms:
            if isinstance(atom, _Output) and outputs.setdefault(atom.encoding, atom.output) != atom.output:
                return  # a level has only one output of an encoding
        indicators = [*dict.fromkeys(a for a in atoms if isinstance(a, _Output | _IsMissing))]
        factors = [*indicators, *(a for a in atoms if not isinstance(a, _Output | _IsMissing))]
        if len(factors) == 1 and not isinstance(factors[0], _Mapped):
            self._add_alone(weight, factors[0])
            return
        key = frozenset(Counter(factors).items())
        first, before = self._products.get(key, (tuple(factors), 0.0))
        self._products[key] = (first, before + weight)
        if len(self._products) > _MOST_PRODUCTS:
            raise UnsupportedModelError(f"{self.where} multiplies more columns with each other than we read.")

    def _add_alone(self, weight: float, atom: _Itself | _IsMissing | _Output | _Table) -> None:
        if isinstance(atom, _Itself):
            fill = math.nan if atom.fill is None else atom.fill
            self.columns[atom.source].add(weight, NumericFlow(atom.source, "", missing=fill))
        elif isinstance(atom, _IsMissing):
            self.columns[atom.source].add(weight, NumericFlow(atom.source, "", scale=0.0, missing=1.0))
        elif isinstance(atom, _Output):
            self._encoded[atom.encoding].effects[atom.output] += weight
        else:
            self.add(weight, TableFlow(atom.encoding, "", atom.values))

    def functions(self) -> tuple[FunctionTerm, ...]:
        """The products that are not terms of one column. Products of effects of one column become effects of its levels."""
        pieces = []
        for piece in self._pieces():
            tables = [shape for shape in piece.shapes if isinstance(shape, CategoricalTerm)]
            if len(piece.columns) > MOST_COLUMNS:
                raise UnsupportedModelError(
                    f"{self.where} multiplies {len(piece.columns)} columns with each other, and we read products of up to "
                    f"{MOST_COLUMNS}; fit it with a lower degree."
                )
            if len(tables) == len(piece.shapes) and len(piece.columns) == 1:
                constant = CategoricalTerm(tables[0].column, (), (), piece.weight)
                self.tables.setdefault(tables[0].column, []).append(table_of([constant, *tables], math.prod))
            else:
                pieces.append(piece)
        return function_terms(pieces)

    def categorical(self, column: _Column) -> CategoricalTerm:
        """The effects of a column's levels."""
        term = _categorical_term(column, self.where)
        more = self.tables.get(column.name, [])
        return table_of([term, *more], math.fsum) if more else term

    def _pieces(self) -> Iterator[Piece]:
        """The products as pieces. Products that differ only in the output of an encoding form one table of effects."""
        tables: dict[tuple[Encoding, tuple[_Atom, ...]], list[float]] = {}
        for atoms, weight in self._products.values():
            output = next((atom for atom in atoms if isinstance(atom, _Output)), None)
            if output is None:
                yield Piece(weight, self._shapes(atoms))
                continue
            rest = tuple(atom for atom in atoms if atom is not output)
            effects = tables.setdefault((output.encoding, rest), [0.0] * output.encoding.count)
            effects[output.output] += weight
        for (encoding, rest), effects in tables.items():
            yield Piece(1.0, self._shapes((_Table(encoding, tuple(effects)), *rest)))

    def _shapes(self, atoms: Sequence[_Atom]) -> tuple[Shape, ...]:
        shapes: list[Shape] = []
        for atom, count in Counter(atoms).items():
            if isinstance(atom, _Itself):
                powers = (Power(count),) if count > 1 else ()
                shapes.append(Curve(self._name(atom.source), powers, None if atom.fill is None else atom.fill**count))
            elif isinstance(atom, _IsMissing):
                shapes.append(Curve(self._name(atom.source), (Affine(0.0),), 1.0))
            elif isinstance(atom, _Mapped):
                maps = (*atom.maps, Power(count)) if count > 1 else atom.maps
                shapes.append(Curve(self._name(atom.source), maps, None if atom.missing is None else atom.missing**count))
            else:
                table = atom if isinstance(atom, _Table) else _one_hot(atom)
                column = _Column(self._name(atom.encoding.source))
                column.encoded.append(_Encoded(table.encoding, list(table.values)))
                shapes.extend([_categorical_term(column, self.where)] * count)
        return tuple(sorted(shapes, key=lambda shape: shape.column))

    def _name(self, source: int) -> str:
        return self.columns[source].name


def _is_scaled(flow: SimpleFlow) -> TypeGuard[NumericFlow]:
    return isinstance(flow, NumericFlow) and bool(flow.operations) and flow.scale != 0.0


def _or_none(missing: float | None) -> float | None:
    """The value of a column where a number is missing; None if the model raises."""
    return None if missing is None or math.isnan(missing) else missing


def _one_hot(atom: _Output) -> _Table:
    return _Table(atom.encoding, tuple(float(i == atom.output) for i in range(atom.encoding.count)))


def _split(flow: SimpleFlow) -> tuple[float, _Atom, float]:
    """The gain, atom and shift of a column, which is gain·atom + shift."""
    if isinstance(flow, LevelFlow):
        return flow.gain, _Output(flow.encoding, flow.output), flow.shift
    if isinstance(flow, TableFlow):
        return 1.0, _Table(flow.encoding, flow.values), 0.0
    raises = flow.missing is None or math.isnan(flow.missing)
    gain = 0.0 if raises or flow.missing is None else flow.missing - flow.shift
    fill = None if raises else gain / flow.scale if flow.scale else 0.0
    if isinstance(flow, CurveFlow):
        return flow.scale, _Mapped(flow.source, flow.maps, fill), flow.shift
    if flow.scale == 0.0 and not raises:
        return gain, _IsMissing(flow.source), flow.shift
    return flow.scale, _Itself(flow.source, fill), flow.shift


def assemble(
    weights: Sequence[float],
    intercept: float,
    frame: Frame,
    inputs: Sequence[str],
    where: str,
) -> Terms:
    """The terms of the score intercept + Σ weights·columns, over raw columns.

    ``weights`` are one for each column of ``frame``, which was made from the raw columns ``inputs``; ``where`` names the
    model in errors. Raises `ModelReadError` if a coefficient overflows, `UnsupportedModelError` for products that are not
    read.
    """
    total = _Sum(intercept, frame, inputs, where)
    raw: list[RawCoefficient] = []
    for weight, flow in _expanded(weights, frame, total):
        numeric = flow.numeric(where) if isinstance(flow, RawFlow) else flow
        total.add(weight, numeric)
        raw.append(RawCoefficient(numeric.label, weight * _raw_gain(numeric)))
    raw.extend(RawCoefficient(f.label, w) for w, f in zip(weights, frame.flows, strict=True) if _is_product(f))
    functions = total.functions()
    terms = Terms(
        intercept=total.intercept,
        numeric=tuple(
            NumericTerm(column.name, column.coefficient, column.missing)
            for column in total.columns
            if column.is_numeric and not (column.only_indicators and column.encoded)
        ),
        categorical=tuple(total.categorical(column) for column in total.columns if column.encoded),
        functions=functions,
        raw=tuple(raw),
    )
    _check_finite(terms, where)
    return terms


def _is_product(flow: RawFlow | SimpleFlow | CombinedFlow) -> bool:
    return isinstance(flow, CombinedFlow) and any(len(factors) != 1 for _, factors in flow.parts)


def _raw_gain(flow: SimpleFlow) -> float:
    """The factor that turns the estimator's own coefficient into one per unit of the raw column."""
    if isinstance(flow, LevelFlow):
        return flow.gain
    if isinstance(flow, NumericFlow):
        return flow.scale or _gain_when_missing(flow) or 0.0
    return flow.scale if isinstance(flow, CurveFlow) else 1.0


def _expanded(weights: Sequence[float], frame: Frame, total: _Sum) -> Iterable[tuple[float, RawFlow | SimpleFlow]]:
    """Every column with its weight; a column that occurs in combinations comes once, with the sum of its weights.

    Shifts of combinations, and products of columns, are added to ``total`` here.
    """
    within: dict[SimpleFlow, float] = {}
    for weight, flow in zip(weights, frame.flows, strict=True):
        if not isinstance(flow, CombinedFlow):
            yield weight, flow
            continue
        total.intercept += weight * flow.shift
        for part, factors in flow.parts:
            if len(factors) == 1:
                within[factors[0]] = within.get(factors[0], 0.0) + weight * part
            else:
                total.add_product(weight * part, factors)
    yield from ((weight, column) for column, weight in within.items())


def _gain_when_missing(flow: NumericFlow) -> float | None:
    """By how much a missing value raises the flow above its shift; None if it reaches the estimator as NaN."""
    if flow.missing is None or math.isnan(flow.missing):
        return None
    return flow.missing - flow.shift


def _categorical_term(column: _Column, where: str) -> CategoricalTerm:
    """Add up the encodings of one column, and its missing indicator if the column is not used as a number otherwise.

    A level on which one of the encodings raises is left out; ``unknown`` is None then.
    """
    tables = [_outputs_by_label(encoded.encoding, column.name, where) for encoded in column.encoded]
    effects: dict[str, float] = {}
    for label in dict.fromkeys(label for table in tables for label in table):
        total = _total(
            encoded.effect(table.get(label, encoded.encoding.unknown))
            for encoded, table in zip(column.encoded, tables, strict=True)
        )
        if total is not None:
            effects[label] = total
    unknown = _total(encoded.effect(encoded.encoding.unknown) for encoded in column.encoded)
    indicated = column.is_numeric and column.only_indicators
    missing = _total(
        [
            *(encoded.effect(encoded.encoding.missing) for encoded in column.encoded),
            column.missing if indicated else 0.0,
        ]
    )
    explicit = indicated or any(encoded.encoding.missing_is_level for encoded in column.encoded)
    _place_missing(column.name, effects, missing, unknown, explicit=explicit, where=where)
    levels = [level for encoded in column.encoded for level in encoded.encoding.outputs]
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
    """Add the effect of a missing value to ``effects``, unless an unknown level has the same effect."""
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
    """The encoding's outputs by the label of the level. Raises if two levels have one label, such as 1 and "1"."""
    outputs: dict[str, int] = {}
    for level, output in encoding.outputs.items():
        if outputs.setdefault(level_label(level), output) != output:
            raise UnsupportedModelError(
                f"{where}: the column '{name}' has two levels that both read '{level_label(level)}'; rename one."
            )
    return outputs


def _total(effects: Iterable[float | None]) -> float | None:
    """The sum; None if any of the effects is None."""
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
    finite = all(number is None or math.isfinite(number) for number in numbers)
    if not finite or not all(term.is_finite for term in terms.functions):
        raise ModelReadError(
            f"{where}: the coefficients in raw units are not finite; the model is damaged or its scalers are degenerate."
        )
