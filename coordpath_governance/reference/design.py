"""The design: which columns of numbers the rows become, and what neither model may be asked to score.

A raw row becomes one number per `DesignColumn`. A numeric column gives x (0 where missing) and, if both models can score
a missing value, the indicator "x is missing". A function of one column or of several gives the champion's f and the change
g − f to the candidate's g, or the one that there is. A categorical column gives one indicator per level that either model
knows and one for any other level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from coordpath_governance.models.functions import Curve, Piece

__all__ = ["OTHER_LEVEL", "CategoricalColumn", "ColumnKind", "Design", "DesignColumn", "FunctionColumn", "NumericColumn"]

OTHER_LEVEL = "(any other)"
"""Label of all the levels that neither model knows."""

ColumnKind = Literal[
    "numeric", "missing", "function", "function-change", "level", "other", "rare", "rare-champion", "rare-candidate"
]


@dataclass(frozen=True)
class DesignColumn:
    """One column of numbers. ``merged`` names the levels that a ``rare…`` column stands for (see `rare_levels`).

    ``level`` of a function is the class whose score it is part of, where there are several.
    """

    kind: ColumnKind
    column: str
    level: str | None = None
    merged: tuple[str, ...] = ()

    @property
    def is_indicator(self) -> bool:
        """True where the column holds only zeros and ones."""
        return self.kind in ("missing", "level", "other", "rare")

    @property
    def is_effect(self) -> bool:
        """True where its coefficient is the effect of a level, taken minus its mean."""
        return self.kind not in ("numeric", "missing", "function", "function-change")

    @property
    def is_function(self) -> bool:
        """True where the column holds what a function makes of raw columns."""
        return self.kind in ("function", "function-change")


@dataclass(frozen=True)
class FunctionColumn:
    """Both models' function of the same raw columns, as pieces; none where a model has no such function."""

    name: str
    label: str | None
    old: tuple[Piece, ...]
    new: tuple[Piece, ...]

    @property
    def columns(self) -> tuple[DesignColumn, ...]:
        """F if there is one, and g − f if there is a g."""
        kinds: list[ColumnKind] = []
        kinds += ["function"] if self.old else []
        kinds += ["function-change"] if self.new else []
        return tuple(DesignColumn(kind, self.name, self.label) for kind in kinds)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The raw columns it reads as numbers."""
        shapes = (shape for piece in (*self.old, *self.new) for shape in piece.shapes)
        return tuple(dict.fromkeys(shape.column for shape in shapes if isinstance(shape, Curve)))


@dataclass(frozen=True)
class NumericColumn:
    """A raw column read as numbers; ``missing_refused_by`` names who cannot score a missing value, None if both can."""

    column: str
    missing_refused_by: str | None


@dataclass(frozen=True)
class CategoricalColumn:
    """A raw column read as levels; ``refused_by`` tells for which levels (or `OTHER_LEVEL`) which model would raise.

    ``encoders`` are the levels that each model knows, whether these are numbers, and whether they are text though they read
    True and False: a value that two encoders would take for different levels cannot be read for both.
    """

    column: str
    levels: tuple[str, ...]
    numeric_levels: bool
    refused_by: Mapping[str, str]
    text_levels: bool = False
    encoders: tuple[tuple[tuple[str, ...], bool, bool], ...] = ()


@dataclass(frozen=True)
class Design:
    """All raw columns that the two models look at, and the design columns they become, in one fixed order."""

    numeric: tuple[NumericColumn, ...]
    categorical: tuple[CategoricalColumn, ...]
    functions: tuple[FunctionColumn, ...] = ()

    @property
    def columns(self) -> tuple[DesignColumn, ...]:
        """The design columns, in the order in which `encode` fills them."""
        out: list[DesignColumn] = []
        for numeric in self.numeric:
            out.append(DesignColumn("numeric", numeric.column))
            if numeric.missing_refused_by is None:
                out.append(DesignColumn("missing", numeric.column))
        for function in self.functions:
            out.extend(function.columns)
        for categorical in self.categorical:
            out.extend(DesignColumn("level", categorical.column, level) for level in categorical.levels)
            out.append(DesignColumn("other", categorical.column, OTHER_LEVEL))
        return tuple(out)

    @property
    def raw_columns(self) -> tuple[str, ...]:
        """Every raw column to read, once."""
        return tuple(dict.fromkeys([*self.number_columns, *(c.column for c in self.categorical)]))

    @property
    def function_inputs(self) -> tuple[str, ...]:
        """Every raw column that functions read as numbers, once."""
        return tuple(dict.fromkeys(name for function in self.functions for name in function.numbers))

    @property
    def number_columns(self) -> tuple[str, ...]:
        """Every raw column that is read as numbers, once."""
        return tuple(dict.fromkeys([*(c.column for c in self.numeric), *self.function_inputs]))
