"""The columns of a data frame on their way through Spark's stages: raw columns, and those that stages have made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coordpath_governance.models.flows import Encoding, Flow, Frame, RawFlow
from coordpath_governance.models.spark_files import SparkStage
from coordpath_governance.models.spark_values import texts
from coordpath_governance.models.tree import brief

__all__ = ["Column", "Columns", "in_and_out"]

_MAX_COLUMNS = 100_000


@dataclass(frozen=True)
class Column:
    """A number (one flow) or a vector. ``encodings`` are those that a row passes through to get here."""

    flows: tuple[Flow, ...]
    is_vector: bool
    encodings: tuple[Encoding, ...] = ()

    @property
    def frame(self) -> Frame:
        """The same as the columns of a frame without names."""
        return Frame(self.flows, None, encodings=self.encodings)


@dataclass
class Columns:
    """Columns by name. Spark ignores case, so two names may not differ in case alone.

    ``types`` are the types of raw columns in the signature, by the name in lower case.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    _raw: dict[str, Column] = field(default_factory=dict)
    _made: dict[str, Column] = field(default_factory=dict)
    _spelled: dict[str, str] = field(default_factory=dict)
    _named: set[str] = field(default_factory=set)
    _width: int = 0

    def scalar(self, stage: SparkStage, name: str) -> Column:
        """A column of numbers or of text. A column that no stage has made is a raw column."""
        column = self._find(stage, name)
        if column is None:
            column = self._add_raw(stage, name, [name], is_vector=False)
        if column.is_vector:
            raise stage.fitted.refusal(f"takes the column '{name}' for single values, and it holds vectors; unpack them.")
        return column

    def vector(self, stage: SparkStage, name: str, size: int) -> Column:
        """A column of vectors of length ``size``. The entries of a raw one are named name[0], name[1], …."""
        column = self._find(stage, name)
        if column is None and size <= _MAX_COLUMNS:
            column = self._add_raw(stage, name, [f"{name}[{i}]" for i in range(size)], is_vector=True)
        if column is None:
            raise stage.fitted.error("it takes vectors of more columns than we read")
        if not column.is_vector:
            raise stage.fitted.error(f"it takes the column '{name}' for vectors, and it holds single values")
        if len(column.flows) != size:
            raise stage.fitted.error(
                f"it has numbers for {size} columns, and the vectors of '{name}' have {len(column.flows)} (a raw column of "
                "vectors in a VectorAssembler is not supported)"
            )
        return column

    def either(self, stage: SparkStage, name: str) -> Column:
        """A column of numbers or of vectors; a raw column holds numbers."""
        return self._find(stage, name) or self.scalar(stage, name)

    def add(self, stage: SparkStage, name: str, column: Column) -> None:
        """Add a column that a stage makes."""
        self.claim(stage, name)
        self._made[name] = column
        self._count(stage, column)

    def claim(self, stage: SparkStage, name: str) -> None:
        """Reserve a name for the output of a stage. Raises if there is such a column."""
        if self._find(stage, name) is not None or name.casefold() in self._spelled:
            raise stage.fitted.refusal(f"writes the column '{name}', which is there before it; rename its output.")
        self._spell(stage, name)

    def _find(self, stage: SparkStage, name: str) -> Column | None:
        if not name or any(character in name for character in ".`"):
            raise stage.fitted.refusal(f"uses the column {brief(name)}, which Spark takes for a part of another; rename it.")
        spelled = self._spelled.get(name.casefold(), name)
        if spelled != name:
            raise stage.fitted.refusal(
                f"uses the columns '{spelled}' and '{name}', which Spark does not tell apart; rename one of them."
            )
        return self._made.get(name) or self._raw.get(name)

    def _add_raw(self, stage: SparkStage, name: str, names: list[str], *, is_vector: bool) -> Column:
        for entry in names:
            self._spell(stage, entry)
        self._spell(stage, name)
        self._named.update(names)
        first = len(self.inputs)
        self.inputs.extend(names)
        column = Column(tuple(RawFlow(first + i, entry) for i, entry in enumerate(names)), is_vector)
        self._raw[name] = column
        self._count(stage, column)
        return column

    def _spell(self, stage: SparkStage, name: str) -> None:
        if self._spelled.setdefault(name.casefold(), name) != name or name in self._named:
            raise stage.fitted.refusal(f"uses the column '{name}' under two names; rename one of them.")

    def _count(self, stage: SparkStage, column: Column) -> None:
        """Count columns against the limit, because stages that double their columns could make any number."""
        self._width += 1 + len(column.flows)
        if self._width > _MAX_COLUMNS:
            raise stage.fitted.error("it makes more columns than we read")


def in_and_out(stage: SparkStage) -> list[tuple[str, str]]:
    """The input and output columns of a stage that takes one (``inputCol``) or several (``inputCols``)."""
    fitted = stage.fitted
    if fitted.has("inputCols"):
        if "inputCol" in stage.set_by_author or "outputCol" in stage.set_by_author:
            raise fitted.error("it has both one column and several")
        sources, targets = (texts(stage, name, fitted.get(name)) for name in ("inputCols", "outputCols"))
    else:
        sources, targets = (texts(stage, name, [fitted.get(name)]) for name in ("inputCol", "outputCol"))
    if not sources or len(sources) != len(targets):
        raise fitted.error(f"it has {len(sources)} input columns and {len(targets)} output columns")
    return list(zip(sources, targets, strict=True))
