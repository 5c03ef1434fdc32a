"""The columns in a preprocessing pipeline: each is a function of one raw input column, or a sum of products of such.

- `RawFlow`: the input column itself, possibly with a fill value for missing entries;
- `NumericFlow`: scale·x + shift, and a separate value where x is missing;
- `CurveFlow`: scale·m(x) + shift with a chain of maps m, and a separate value where x is missing;
- `LevelFlow`: gain·[the level belongs to this output of the encoder] + shift;
- `TableFlow`: a value for every output of the encoder, as ordinal and target encoders make it;
- `CombinedFlow`: a sum of products of such columns, as linear maps and polynomials make them.

All of them are closed under scaling and shifting, so scalers, encoders and imputers fold in any order.
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
    """Input column ``source``, unchanged except that ``fill`` replaces a missing value.

    ``keeps_none``: ``fill`` replaces NaN only, and None stays None.
    """

    source: int
    label: str
    fill: object = NO_FILL
    keeps_none: bool = False

    def numeric(self, where: str) -> NumericFlow:
        """This column as a number. Raises `UnsupportedModelError` if missing values are filled with text."""
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
    """scale·x + shift; ``missing`` where x is missing (NaN if it stays missing, None if the model raises).

    ``operations`` do the same as scale and shift, step by step in the order of the model. They matter before a jump, where
    the last digit decides.
    """

    source: int
    label: str
    scale: float = 1.0
    shift: float = 0.0
    missing: float | None = math.nan
    operations: tuple[Map, ...] = ()

    def scaled(self, by: Linear) -> NumericFlow:
        """This column after a scaler."""
        return _scaled(self, by)


@dataclass(frozen=True)
class CurveFlow:
    """scale·m(x) + shift, where m is a chain of maps; missing values as in a `NumericFlow`."""

    source: int
    label: str
    maps: tuple[Map, ...]
    scale: float = 1.0
    shift: float = 0.0
    missing: float | None = math.nan
    operations: tuple[Map, ...] = ()

    def scaled(self, by: Linear) -> CurveFlow:
        """This column after a scaler."""
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
    """One raw column encoded: the output (or `NO_OUTPUT`) of every level; None where the model raises.

    ``missing_is_level``: a missing value is a level of its own, and not treated as an unknown level.
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
        """This column after a scaler."""
        operations = _and_then(self.operations, by)
        return replace(self, gain=self.gain * by.scale, shift=self.shift * by.scale + by.shift, operations=operations)


@dataclass(frozen=True)
class TableFlow:
    """A value for every output of an encoding; NaN is a value that stays missing."""

    encoding: Encoding
    label: str
    values: tuple[float, ...]

    def scaled(self, by: Linear) -> TableFlow:
        """This column after a scaler."""
        return replace(self, values=tuple(map(by.of, self.values)))


SimpleFlow: TypeAlias = NumericFlow | CurveFlow | LevelFlow | TableFlow
"""A function of one raw column, as a number."""


@dataclass(frozen=True)
class CombinedFlow:
    """Σ weight·Π flows + shift, over columns that are not combinations themselves."""

    label: str
    parts: tuple[tuple[float, tuple[SimpleFlow, ...]], ...]
    shift: float = 0.0

    def scaled(self, by: Linear) -> CombinedFlow:
        """This column after a scaler."""
        parts = tuple((weight * by.scale, flow) for weight, flow in self.parts)
        return replace(self, parts=parts, shift=self.shift * by.scale + by.shift)


Flow: TypeAlias = RawFlow | SimpleFlow | CombinedFlow


@dataclass(frozen=True)
class Frame:
    """The columns between two steps of a pipeline.

    ``names`` are the names that scikit-learn would give them in a data frame (None if a function or a format string makes
    the names). ``sparse``: the columns are a sparse matrix, which some scalers treat differently. ``encodings`` are all that
    a row has passed through, including those of which no column is left.
    """

    flows: tuple[Flow, ...]
    names: tuple[str, ...] | None
    sparse: bool = False
    encodings: tuple[Encoding, ...] = ()

    def __len__(self) -> int:
        return len(self.flows)

    def take(self, positions: Sequence[int]) -> Frame:
        """The columns at these positions, in the order of ``positions``."""
        names = None if self.names is None else tuple(self.names[position] for position in positions)
        return replace(self, flows=tuple(self.flows[position] for position in positions), names=names)

    def scaled(self, scalers: Sequence[Linear], where: str) -> Frame:
        """Every column after its own scaler."""
        flows = [
            (flow.numeric(where) if isinstance(flow, RawFlow) else flow).scaled(by)
            for flow, by in zip(self.flows, scalers, strict=True)
        ]
        return replace(self, flows=tuple(flows))

    def renamed(self, prefix: str | None) -> Frame:
        """The same columns with ``prefix`` before every name; None removes the names."""
        names = None if prefix is None or self.names is None else tuple(f"{prefix}{name}" for name in self.names)
        return replace(self, names=names)


def side_by_side(before: Frame, parts: Sequence[Frame], *, sparse: bool) -> Frame:
    """The columns of all parts in one frame. All parts were made from ``before``."""
    by_part = [part.names for part in parts if part.names is not None]
    names = tuple(name for names in by_part for name in names) if len(by_part) == len(parts) else None
    encodings = dict.fromkeys([*before.encodings, *(encoding for part in parts for encoding in part.encodings)])
    return Frame(tuple(flow for part in parts for flow in part.flows), names, sparse, tuple(encodings))


def raise_when_missing(flow: Flow, where: str) -> SimpleFlow | CombinedFlow:
    """The column, as a number, after a step that raises on NaN. NaN in a table stays NaN: the estimator raises on it."""
    column = flow.numeric(where) if isinstance(flow, RawFlow) else flow
    if isinstance(column, NumericFlow | CurveFlow) and column.missing is not None and math.isnan(column.missing):
        return replace(column, missing=None)
    return column


def is_missing(value: object) -> bool:
    """Whether a value is None or NaN: both are a missing value here. A model that distinguishes them is refused."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def none_told_from_nan(where: str, label: str, how: str) -> UnsupportedModelError:
    """The error for a model that distinguishes None and NaN: files do not say which of them a missing cell is."""
    return UnsupportedModelError(
        f"{where} tells None from NaN in the column '{label}', which is not supported: {how}, and files do not say which of "
        f"the two a missing cell is. Turn None into NaN before the model (in pandas: df['{label}'].fillna(np.nan)) and fit "
        "it again."
    )
