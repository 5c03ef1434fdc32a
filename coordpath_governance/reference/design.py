"""The design: which columns of numbers the rows become, and which values a model cannot score.

A raw row becomes one number per `DesignColumn`. A numeric column gives x (0 where missing) and, if both models can score
a missing value, the indicator "x is missing". A function of one or several columns gives the champion's f and the change
g − f to the candidate's g; if only one model has such a function, it gives that one. A categorical column gives one
indicator per level that either model knows, and one for any other level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from coordpath_governance.models.functions import Curve, Piece

__all__ = ["OTHER_LEVEL", "CategoricalColumn", "ColumnKind", "Design", "DesignColumn", "FunctionColumn", "NumericColumn"]

OTHER_LEVEL = "(any other)"
"""Label of all levels that neither model knows."""

ColumnKind = Literal[
    "numeric", "missing", "function", "function-change", "level", "other", "rare", "rare-champion", "rare-candidate"
]


@dataclass(frozen=True)
class DesignColumn:
    """One column of numbers. ``merged`` are the levels that a ``rare…`` column stands for (see `rare_levels`).

    ``level`` of a function is the class to whose score it belongs, if the model has several scores.
    """

    kind: ColumnKind
    column: str
    level: str | None = None
    merged: tuple[str, ...] = ()

    @property
    def is_indicator(self) -> bool:
        """Whether the column holds only zeros and ones."""
        return self.kind in ("missing", "level", "other", "rare")

    @property
    def is_effect(self) -> bool:
        """Whether its coefficient is the effect of a level, minus the mean effect."""
        return self.kind not in ("numeric", "missing", "function", "function-change")

    @property
    def is_function(self) -> bool:
        """Whether the column holds values of a function of raw columns."""
        return self.kind in ("function", "function-change")


@dataclass(frozen=True)
class FunctionColumn:
    """Both models' function of the same raw columns, as pieces; empty if a model has no such function."""

    name: str
    label: str | None
    old: tuple[Piece, ...]
    new: tuple[Piece, ...]

    @property
    def columns(self) -> tuple[DesignColumn, ...]:
        """The columns f and g − f, as far as the models have an f and a g."""
        kinds: list[ColumnKind] = []
        kinds += ["function"] if self.old else []
        kinds += ["function-change"] if self.new else []
        return tuple(DesignColumn(kind, self.name, self.label) for kind in kinds)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The raw columns that the functions read as numbers."""
        shapes = (shape for piece in (*self.old, *self.new) for shape in piece.shapes)
        return tuple(dict.fromkeys(shape.column for shape in shapes if isinstance(shape, Curve)))


@dataclass(frozen=True)
class NumericColumn:
    """A raw column read as numbers; ``missing_refused_by`` is the model that cannot score a missing value, if any."""

    column: str
    missing_refused_by: str | None


@dataclass(frozen=True)
class CategoricalColumn:
    """A raw column read as levels; ``refused_by`` maps a level (or `OTHER_LEVEL`) to the model that raises on it.

    ``encoders`` has for each model's encoder its levels, and its ``numeric_levels`` and ``text_levels`` as in
    `CategoricalTerm`. A value that two encoders take for different levels cannot be read.
    """

    column: str
    levels: tuple[str, ...]
    numeric_levels: bool
    refused_by: Mapping[str, str]
    text_levels: bool = False
    encoders: tuple[tuple[tuple[str, ...], bool, bool], ...] = ()


@dataclass(frozen=True)
class Design:
    """All raw columns that the two models use, and the design columns they become, in one fixed order."""

    numeric: tuple[NumericColumn, ...]
    categorical: tuple[CategoricalColumn, ...]
    functions: tuple[FunctionColumn, ...] = ()

    @property
    def columns(self) -> tuple[DesignColumn, ...]:
        """The design columns, in the order in which `encode_rows` fills them."""
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
