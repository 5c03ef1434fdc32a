"""Spark's transformers as functions from columns to columns, as scikit-learn's are folded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType

from coordpath_governance.models.flows import (
    NO_FILL,
    NO_OUTPUT,
    CurveFlow,
    Encoding,
    Flow,
    LevelFlow,
    NumericFlow,
    RawFlow,
    TableFlow,
    raise_when_missing,
)
from coordpath_governance.models.maps import Affine, Steps, Within
from coordpath_governance.models.sklearn_curves import mapped
from coordpath_governance.models.spark_columns import Column, Columns, in_and_out
from coordpath_governance.models.spark_files import SparkStage
from coordpath_governance.models.spark_values import double, levels_of_labels, number, texts, vector, whole
from coordpath_governance.models.tree import brief

__all__ = ["STAGES", "levels_of"]

_MAX_BUCKETS = 1_000


def fold_assembler(stage: SparkStage, columns: Columns) -> None:
    """Numbers and vectors side by side. A row with a missing value is not scored, whatever ``handleInvalid`` is."""
    _rule(stage, "error", "skip", "keep")
    name = texts(stage, "outputCol", [stage.fitted.get("outputCol")])[0]
    parts = [columns.either(stage, source) for source in texts(stage, "inputCols", stage.fitted.get("inputCols"))]
    encodings = dict.fromkeys(encoding for part in parts for encoding in part.encodings)
    columns.add(stage, name, Column(tuple(flow for part in parts for flow in part.flows), True, tuple(encodings)))


def fold_standard_scaler(stage: SparkStage, columns: Columns) -> None:
    """(x − mean) / std, each part only if its setting is on; a column without spread becomes 0."""
    means, spreads = vector(stage, "mean"), vector(stage, "std")
    if len(means) != len(spreads):
        raise stage.fitted.error("'mean' and 'std' have not the same length")
    if not stage.fitted.flag("withStd", True):
        spreads = [1.0] * len(spreads)
    if not stage.fitted.flag("withMean", False):
        means = [0.0] * len(means)
    scales = [1.0 / spread if spread else 0.0 for spread in spreads]
    _scale(stage, columns, scales, [-mean * scale for mean, scale in zip(means, scales, strict=True)])


def fold_min_max_scaler(stage: SparkStage, columns: Columns) -> None:
    """Map the range of the training data to [min, max]; a column without spread becomes the middle of that range."""
    low, high = (number(stage, name, stage.fitted.get(name, d)) for name, d in (("min", 0.0), ("max", 1.0)))
    starts, ends = vector(stage, "originalMin"), vector(stage, "originalMax")
    if len(starts) != len(ends):
        raise stage.fitted.error("'originalMin' and 'originalMax' have not the same length")
    scales = [(high - low) / (end - start) if end != start else 0.0 for start, end in zip(starts, ends, strict=True)]
    shifts = [low - start * scale if scale else (low + high) / 2.0 for start, scale in zip(starts, scales, strict=True)]
    if high == low:
        shifts = [low] * len(shifts)
    _scale(stage, columns, scales, shifts)


def _scale(stage: SparkStage, columns: Columns, scales: Sequence[float], shifts: Sequence[float]) -> None:
    ((source, target),) = in_and_out(stage)
    column = columns.vector(stage, source, len(scales))
    scaled = column.frame.scaled(list(map(Affine, scales, shifts)), stage.fitted.where)
    columns.add(stage, target, replace(column, flows=scaled.flows))


def fold_imputer(stage: SparkStage, columns: Columns) -> None:
    """x, or a number of its own where x is missing."""
    marker = stage.fitted.get("missingValue", "NaN")
    if marker != "NaN":
        raise stage.fitted.refusal(
            f"replaces {brief(marker)}, not missing values; turn that value into NaN before the model."
        )
    pairs = in_and_out(stage)
    if set(stage.row) != {source for source, _ in pairs}:
        raise stage.fitted.error("its numbers are not those of its columns")
    for source, target in pairs:
        (flow,) = columns.scalar(stage, source).flows
        if not isinstance(flow, RawFlow):
            raise stage.fitted.refusal(f"fills the column '{source}', which an earlier stage has made; fill the raw column.")
        fill = number(stage, source, stage.row[source])
        columns.add(stage, target, Column((replace(flow, fill=fill if flow.fill is NO_FILL else flow.fill),), False))


def fold_bucketizer(stage: SparkStage, columns: Columns) -> None:
    """The number of the bucket. Raises beyond the outer splits. A missing x raises, or has a bucket of its own."""
    keep = _rule(stage, "error", "skip", "keep") == "keep"
    pairs = in_and_out(stage)
    several = stage.fitted.has("inputCols")
    splits = stage.fitted.get("splitsArray") if several else [stage.fitted.get("splits")]
    if not isinstance(splits, list) or len(splits) != len(pairs) or stage.fitted.has("splits" if several else "splitsArray"):
        raise stage.fitted.error("it has not one list of splits for each of its columns")
    for (source, target), own_splits in zip(pairs, splits, strict=True):
        column = columns.scalar(stage, source)
        columns.add(stage, target, replace(column, flows=(_bucket(stage, column.flows[0], own_splits, keep=keep),)))


def _bucket(stage: SparkStage, flow: Flow, splits: object, *, keep: bool) -> Flow:
    edges = [double(stage, "splits", split) for split in splits] if isinstance(splits, list) else []
    if len(edges) < 3 or any(low >= high for low, high in pairwise(edges)) or not all(map(math.isfinite, edges[1:-1])):
        raise stage.fitted.error("'splits' are not three or more numbers in order")
    if len(edges) > _MAX_BUCKETS:
        raise stage.fitted.refusal(f"has more than {_MAX_BUCKETS} buckets, which is more than we read.")
    count = len(edges) - 1
    low, high = (end if math.isfinite(end) else None for end in (edges[0], edges[-1]))
    column = flow.numeric(stage.fitted.where) if isinstance(flow, RawFlow) else flow
    keeps_missing = keep and isinstance(column, NumericFlow) and column.missing is not None and math.isnan(column.missing)
    out: Flow = column
    if low is not None or high is not None:
        out = mapped(stage.fitted, out, Within(low, high))
    out = mapped(stage.fitted, out, Steps(tuple(edges[1:-1]), tuple(float(i) for i in range(count))))
    if keeps_missing and isinstance(out, CurveFlow):
        return replace(out, missing=float(count))
    return raise_when_missing(out, stage.fitted.where)


def fold_string_indexer(stage: SparkStage, columns: Columns) -> None:
    """The number of the level. An unknown or missing level has the next number or raises; a skipped row is not scored."""
    keep = _rule(stage, "error", "skip", "keep") == "keep"
    pairs = in_and_out(stage)
    for (source, target), levels in zip(pairs, levels_of(stage, pairs, columns), strict=True):
        (flow,) = columns.scalar(stage, source).flows
        if not isinstance(flow, RawFlow) or flow.fill is not NO_FILL:
            raise stage.fitted.refusal(
                f"indexes the column '{source}', which an earlier stage has made; index the raw column."
            )
        count = len(levels) + keep
        rest = len(levels) if keep else None
        outputs = {level: i for i, level in enumerate(levels)}
        encoding = Encoding(flow.source, outputs, count, rest, rest, missing_is_level=False)
        index = TableFlow(encoding, source, tuple(float(i) for i in range(count)))
        columns.add(stage, target, Column((index,), False, (encoding,)))


def levels_of(stage: SparkStage, pairs: Sequence[tuple[str, str]], columns: Columns) -> list[list[object]]:
    """The levels of every input column, as `levels_of_labels` reads them."""
    lists = stage.row.get("labelsArray")
    if not isinstance(lists, list) or len(lists) != len(pairs):
        raise stage.fitted.error(f"'labelsArray' does not have one list for each of {len(pairs)} columns")
    out: list[list[object]] = []
    for (source, _), stored in zip(pairs, lists, strict=True):
        labels = texts(stage, "labelsArray", stored)
        if len(set(labels)) != len(labels):
            raise stage.fitted.error("'labelsArray' has a level twice")
        out.append(levels_of_labels(stage, source, labels, columns.types.get(source.casefold())))
    return out


@dataclass(frozen=True)
class _Dummies:
    """Which entry of its vector a OneHotEncoder sets for the number of a category."""

    categories: int
    keep: bool
    drop_last: bool

    @property
    def size(self) -> int:
        """The length of the vector."""
        return self.categories + self.keep - self.drop_last

    def entry(self, index: float | None) -> int | None:
        """The entry for the number ``index``; `NO_OUTPUT` if all entries are zero, None if the encoder raises."""
        if index is None or math.isnan(index):
            return None
        in_range = 0 <= index < self.categories
        if not in_range and not self.keep:
            return None
        place = int(index) if in_range else self.categories
        return place if place < self.size else NO_OUTPUT


def fold_one_hot_encoder(stage: SparkStage, columns: Columns) -> None:
    """A vector with one entry per category, without the last one if it is dropped."""
    keep = _rule(stage, "error", "keep") == "keep"
    drop_last = stage.fitted.flag("dropLast", True)
    pairs = in_and_out(stage)
    sizes = stage.row.get("categorySizes")
    if not isinstance(sizes, list) or len(sizes) != len(pairs):
        raise stage.fitted.error(f"'categorySizes' does not have one number for each of {len(pairs)} columns")
    for (source, target), size in zip(pairs, sizes, strict=True):
        dummies = _Dummies(whole(stage, "categorySizes", size), keep, drop_last)
        if dummies.size < 0:
            raise stage.fitted.error("'categorySizes' has no category to drop")
        columns.add(stage, target, _encode(stage, columns.scalar(stage, source), source, dummies))


def _encode(stage: SparkStage, column: Column, source: str, dummies: _Dummies) -> Column:
    (flow,) = column.flows
    if isinstance(flow, TableFlow):
        return _encode_levels(stage, flow, dummies)
    if isinstance(flow, RawFlow):
        return _encode_codes(stage, flow, dummies)
    if isinstance(flow, CurveFlow) and isinstance(flow.maps[-1], Steps) and (flow.scale, flow.shift) == (1.0, 0.0):
        return Column(_encode_buckets(stage, flow, flow.maps[-1], dummies), True, column.encodings)
    raise stage.fitted.refusal(
        f"encodes the column '{source}', which is not an index of categories; encode an index or a raw column."
    )


def _encode_levels(stage: SparkStage, flow: TableFlow, dummies: _Dummies) -> Column:
    """One entry per level of a column that an earlier stage has indexed."""
    before = flow.encoding

    def entry(output: int | None) -> int | None:
        return None if output is None else dummies.entry(flow.values[output])

    unknown = entry(before.unknown)
    outputs: dict[object, int] = {}
    names: dict[int, str] = {dummies.categories: "other"}
    for level, output in before.outputs.items():
        place = entry(output)
        if place is None and unknown is not None:
            raise stage.fitted.error(f"it raises on the level {brief(level)} that it was fitted on")
        if place is not None:
            outputs[level] = place
            names[place] = str(level)
    encoding = Encoding(before.source, outputs, dummies.size, entry(before.missing), unknown, before.missing_is_level)
    flows = [LevelFlow(encoding, f"{flow.label}_{names.get(i, i)}", i) for i in range(dummies.size)]
    return Column(tuple(flows), True, (encoding,))


def _encode_codes(stage: SparkStage, flow: RawFlow, dummies: _Dummies) -> Column:
    """One entry per whole number of a raw column.

    If other numbers are kept, an entry stands for all numbers from one whole number up to the next.
    """
    fill = None if flow.fill is NO_FILL else number(stage, flow.label, flow.fill)
    if dummies.keep:
        bounded = dummies.categories + 1
        if bounded > _MAX_BUCKETS:
            raise stage.fitted.refusal(f"has more than {_MAX_BUCKETS} categories of numbers, which is more than we read.")
        steps = Steps(tuple(float(i) for i in range(bounded)), (-1.0, *(float(i) for i in range(bounded))))
        index = mapped(stage.fitted, flow, steps)
        if isinstance(index, CurveFlow):
            missing = float(dummies.categories) if fill is None else index.missing
            return Column(_encode_buckets(stage, replace(index, missing=missing), steps, dummies), True)
    outputs: dict[object, int] = {}
    for i in range(dummies.categories):
        place = dummies.entry(float(i))
        outputs[i] = NO_OUTPUT if place is None else place
    encoding = Encoding(flow.source, outputs, dummies.size, dummies.entry(fill), None, missing_is_level=fill is not None)
    flows = [LevelFlow(encoding, f"{flow.label}_{i}", i) for i in range(dummies.size)]
    return Column(tuple(flows), True, (encoding,))


def _encode_buckets(stage: SparkStage, flow: CurveFlow, steps: Steps, dummies: _Dummies) -> tuple[Flow, ...]:
    """One entry per interval between the edges of a column."""
    entries = [dummies.entry(value) for value in steps.values]
    if None in entries:
        raise stage.fitted.refusal(
            f"has no category for a bucket of '{flow.label}' and raises there; fit it on all buckets."
        )
    missing = dummies.entry(flow.missing)
    flows = []
    for i in range(dummies.size):
        indicator = replace(steps, values=tuple(float(entry == i) for entry in entries))
        flows.append(
            replace(
                flow,
                label=f"{flow.label}_{i}",
                maps=(*flow.maps[:-1], indicator),
                missing=None if missing is None else float(missing == i),
            )
        )
    return tuple(flows)


def _rule(stage: SparkStage, *rules: str) -> str:
    """The setting ``handleInvalid``, which must be one of ``rules``."""
    rule = stage.fitted.text("handleInvalid", "error")
    if rule not in rules:
        raise stage.fitted.error(f"'handleInvalid' is {brief(stage.fitted.get('handleInvalid'))}")
    return rule


STAGES: Mapping[str, Callable[[SparkStage, Columns], None]] = MappingProxyType(
    {
        "VectorAssembler": fold_assembler,
        "StandardScalerModel": fold_standard_scaler,
        "MinMaxScalerModel": fold_min_max_scaler,
        "ImputerModel": fold_imputer,
        "StringIndexerModel": fold_string_indexer,
        "OneHotEncoderModel": fold_one_hot_encoder,
        "Bucketizer": fold_bucketizer,
    }
)
"""By class name: what adds the columns of a transformer."""
