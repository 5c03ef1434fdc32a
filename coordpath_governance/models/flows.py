"""What flows through a preprocessing pipeline: every column as a function of one raw input column, or a sum of products.

- `RawFlow`: the input column itself, possibly with a fill value for missing entries;
- `NumericFlow`: scale·x + shift, and a value of its own where x is missing;
- `CurveFlow`: scale·m(x) + shift with a chain of maps m, and a value of its own where x is missing;
- `LevelFlow`: gain·[the level belongs to this output of the encoder] + shift;
- `TableFlow`: a value for every output of the encoder, as ordinal and target encoders give it;
- `CombinedFlow`: a sum of products of such columns, as linear maps and polynomials make them.

All of them are closed under scaling and shifting, which is why scalers, encoders and imputers fold in any order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models.maps import Affine, Map, Scaled

__all__ = [
    "NO_FILL",
    "NO_OUTPUT",
    "CombinedFlow",
    "CurveFlow",
    "Encoding",
    "Flow",
    "Frame",
    "LevelFlow",
    "Linear",
    "NumericFlow",
    "RawFlow",
    "SimpleFlow",
    "TableFlow",
    "is_missing",
    "none_told_from_nan",
    "raise_when_missing",
    "side_by_side",
]

NO_OUTPUT = -1
"""The output index of a level whose dummies are all zero."""


class _NoFill:
    """Stands for "missing stays missing"."""


NO_FILL = _NoFill()


@dataclass(frozen=True)
class RawFlow:
    """Input column ``source``, untouched but for ``fill``, the value that replaces a missing one.

    ``keeps_none``: ``fill`` replaces NaN only, and None goes through as it is.
    """

    source: int
    label: str
    fill: object = NO_FILL
    keeps_none: bool = False

    def numeric(self, where: str) -> NumericFlow:
        """Return this column as a number; text cannot be one."""
        if self.fill is NO_FILL:
            return NumericFlow(self.source, self.label, missing=math.nan)
        if isinstance(self.fill, (int, float)):
            return NumericFlow(self.source, self.label, missing=float(self.fill))
        raise UnsupportedModelError(
            f"{where} uses the column '{self.label}' as a number, but an imputer fills it with {self.fill!r}; "
            "encode the column before it gets here."
        )


Linear: TypeAlias = Affine | Scaled
"""What scalers do to a column."""


def _and_then(operations: tuple[Map, ...], by: Linear) -> tuple[Map, ...]:
    return operations if by.changes_nothing else (*operations, by)


@dataclass(frozen=True)
class NumericFlow:
    """scale·x + shift; where x is missing: ``missing``, or NaN that flows on, or None if the model raises.

    ``operations`` are the same as scale and shift, one after the other as the model does them: where a jump follows, the
    last digit decides.
    """

    source: int
    label: str
    scale: float = 1.0
    shift: float = 0.0
    missing: float | None = math.nan
    operations: tuple[Map, ...] = ()

    def scaled(self, by: Linear) -> NumericFlow:
        """Return this column through a scaler."""
        return _scaled(self, by)


@dataclass(frozen=True)
class CurveFlow:
    """scale·m(x) + shift with m one map after the other; where x is missing as in a `NumericFlow`."""

    source: int
    label: str
    maps: tuple[Map, ...]
    scale: float = 1.0
    shift: float = 0.0
    missing: float | None = math.nan
    operations: tuple[Map, ...] = ()

    def scaled(self, by: Linear) -> CurveFlow:
        """Return this column through a scaler."""
        return _scaled(self, by)


_Scalable = TypeVar("_Scalable", NumericFlow, CurveFlow)


def _scaled(flow: _Scalable, by: Linear) -> _Scalable:
    return replace(
        flow,
        scale=flow.scale * by.scale,
        shift=flow.shift * by.scale + by.shift,
        missing=None if flow.missing is None else by.of(flow.missing),
        operations=_and_then(flow.operations, by),
    )


@dataclass(frozen=True, eq=False)
class Encoding:
    """One raw column encoded: the output (or `NO_OUTPUT`) of every level, None where the model raises.

    ``missing_is_level`` tells that a missing value is treated as a level of its own, not by the rule for unknown ones.
    """

    source: int
    outputs: Mapping[object, int]
    count: int
    missing: int | None
    unknown: int | None
    missing_is_level: bool


@dataclass(frozen=True)
class LevelFlow:
    """One dummy column of an encoding: ``gain`` where the level has this ``output``, 0 elsewhere, plus ``shift``."""

    encoding: Encoding
    label: str
    output: int
    gain: float = 1.0
    shift: float = 0.0
    operations: tuple[Map, ...] = ()

    def scaled(self, by: Linear) -> LevelFlow:
        """Return this column through a scaler."""
        operations = _and_then(self.operations, by)
        return replace(self, gain=self.gain * by.scale, shift=self.shift * by.scale + by.shift, operations=operations)


@dataclass(frozen=True)
class TableFlow:
    """A value for every output of an encoding; NaN is one that flows on as missing."""

    encoding: Encoding
    label: str
    values: tuple[float, ...]

    def scaled(self, by: Linear) -> TableFlow:
        """Return this column through a scaler."""
        return replace(self, values=tuple(map(by.of, self.values)))


SimpleFlow: TypeAlias = NumericFlow | CurveFlow | LevelFlow | TableFlow
"""A function of one raw column, as a number."""


@dataclass(frozen=True)
class CombinedFlow:
    """Σ weight·Π flows + shift over columns none of which is a combination itself."""

    label: str
    parts: tuple[tuple[float, tuple[SimpleFlow, ...]], ...]
    shift: float = 0.0

    def scaled(self, by: Linear) -> CombinedFlow:
        """Return this column through a scaler."""
        parts = tuple((weight * by.scale, flow) for weight, flow in self.parts)
        return replace(self, parts=parts, shift=self.shift * by.scale + by.shift)


Flow: TypeAlias = RawFlow | SimpleFlow | CombinedFlow


@dataclass(frozen=True)
class Frame:
    """The columns between two steps.

    ``names`` are the names scikit-learn would give them in a data frame (None if a function or a format string makes them
    up); ``sparse`` matters because some scalers treat sparse matrices differently; ``encodings`` are all that a row has
    passed through, also those that have no column left.
    """

    flows: tuple[Flow, ...]
    names: tuple[str, ...] | None
    sparse: bool = False
    encodings: tuple[Encoding, ...] = ()

    def __len__(self) -> int:
        return len(self.flows)

    def take(self, positions: Sequence[int]) -> Frame:
        """Return the columns at these positions, in their order."""
        names = None if self.names is None else tuple(self.names[position] for position in positions)
        return replace(self, flows=tuple(self.flows[position] for position in positions), names=names)

    def scaled(self, scalers: Sequence[Linear], where: str) -> Frame:
        """Every column through a scaler of its own."""
        flows = [
            (flow.numeric(where) if isinstance(flow, RawFlow) else flow).scaled(by)
            for flow, by in zip(self.flows, scalers, strict=True)
        ]
        return replace(self, flows=tuple(flows))

    def renamed(self, prefix: str | None) -> Frame:
        """Put ``prefix`` before every name; None forgets the names."""
        names = None if prefix is None or self.names is None else tuple(f"{prefix}{name}" for name in self.names)
        return replace(self, names=names)


def side_by_side(before: Frame, parts: Sequence[Frame], *, sparse: bool) -> Frame:
    """Return the columns of all parts, which were all made from ``before``."""
    known = [part.names for part in parts if part.names is not None]
    names = tuple(name for part in known for name in part) if len(known) == len(parts) else None
    encodings = dict.fromkeys([*before.encodings, *(encoding for part in parts for encoding in part.encodings)])
    return Frame(tuple(flow for part in parts for flow in part.flows), names, sparse, tuple(encodings))


def raise_when_missing(flow: Flow, where: str) -> SimpleFlow | CombinedFlow:
    """Return the column, as a number, as it leaves a step that raises on NaN; a table's NaN raises at the latest then."""
    column = flow.numeric(where) if isinstance(flow, RawFlow) else flow
    if isinstance(column, NumericFlow | CurveFlow) and column.missing is not None and math.isnan(column.missing):
        return replace(column, missing=None)
    return column


def is_missing(value: object) -> bool:
    """None and NaN are one and the same here: a missing value. A model that knows both apart is refused."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def none_told_from_nan(where: str, label: str, how: str) -> UnsupportedModelError:
    """The refusal of a model to which None and NaN are two things: files do not say which of them a missing cell is."""
    return UnsupportedModelError(
        f"{where} tells None from NaN in the column '{label}', which is not supported: {how}, and files do not say which of "
        f"the two a missing cell is. Turn None into NaN before the model (in pandas: df['{label}'].fillna(np.nan)) and fit "
        "it again."
    )
