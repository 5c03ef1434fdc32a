"""scikit-learn's encoders of categories: OneHotEncoder, OrdinalEncoder and TargetEncoder.

A OneHotEncoder makes one column per level; dropped, infrequent and unknown levels are covered. The other two give every
level a number: its position in the list of levels, or the mean of the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from coordpath_governance.models.fitted import Fitted, as_float, plain
from coordpath_governance.models.flows import (
    NO_FILL,
    NO_OUTPUT,
    Encoding,
    Flow,
    Frame,
    LevelFlow,
    NumericFlow,
    RawFlow,
    TableFlow,
    is_missing,
    none_told_from_nan,
)
from coordpath_governance.models.tree import Named, brief

__all__ = ["ENCODERS"]

_UNKNOWN_RULES = ("error", "ignore", "infrequent_if_exist", "warn")
_EXACT = {"float32": 1 << 24, "int64": 1 << 53, "int32": 1 << 31, "int16": 1 << 15, "int8": 1 << 7, "int": 1 << 53}
"""Output types, each with a bound: the type holds every whole number below the bound exactly."""


def fold_one_hot_encoder(fitted: Fitted, frame: Frame) -> Frame:
    """One dummy column per level of every column, without the dropped ones."""
    categories = fitted.required("categories_")
    if not isinstance(categories, list) or len(categories) != len(frame):
        raise fitted.error(f"'categories_' does not have one entry for each of {len(frame)} columns")
    flows: list[Flow] = []
    names: list[str] = []
    encodings: list[Encoding] = []
    for position, flow in enumerate(frame.flows):
        levels = _levels_of(fitted, categories[position])
        if isinstance(flow, NumericFlow) and flow.scale == 0.0:
            encoding, suffixes = _encode(fitted, RawFlow(flow.source, flow.label), position, levels)
            flows.extend(_of_indicator(fitted, flow, encoding, suffixes))
        else:
            encoding, suffixes = _encode(fitted, _raw_column(fitted, flow), position, levels)
            encodings.append(encoding)
            flows.extend(LevelFlow(encoding, f"{flow.label}_{suffix}", output) for output, suffix in enumerate(suffixes))
        names.extend(f"{frame.names[position]}_{suffix}" for suffix in suffixes if frame.names is not None)
    has_names = frame.names is not None and fitted.text("feature_name_combiner", "concat") == "concat"
    return Frame(
        tuple(flows),
        names=tuple(names) if has_names else None,
        sparse=fitted.flag("sparse_output" if fitted.has("sparse_output") else "sparse", True),
        encodings=(*frame.encodings, *encodings),
    )


def _of_indicator(fitted: Fitted, flow: NumericFlow, encoding: Encoding, suffixes: list[str]) -> list[Flow]:
    """The dummies of a missing indicator: it has one value where its column is present, another where it is missing."""
    present = encoding.outputs.get(flow.shift, encoding.unknown)
    if present is None:
        raise fitted.error(f"it raises for every row, since {flow.shift:g} is not among the levels of '{flow.label}'")
    absent = None if flow.missing is None else encoding.outputs.get(flow.missing, encoding.unknown)
    return [
        NumericFlow(
            flow.source,
            f"{flow.label}_{suffix}",
            scale=0.0,
            shift=float(present == output),
            missing=None if absent is None else float(absent == output),
        )
        for output, suffix in enumerate(suffixes)
    ]


def _raw_column(fitted: Fitted, flow: Flow) -> RawFlow:
    """The column itself; refused if an earlier step has made numbers of it."""
    if not isinstance(flow, RawFlow):
        raise fitted.refusal(
            f"is a {fitted.archived.class_name} of the column '{flow.label}' that an earlier step has scaled or encoded, "
            "which is not supported; encode the input column itself."
        )
    return flow


def _levels_of(fitted: Fitted, categories: object) -> list[object]:
    """The levels of one column as Python values. Numbers must be sorted, because scikit-learn searches for them in order."""
    if not isinstance(categories, np.ndarray) or categories.ndim != 1 or not categories.size:
        raise fitted.error("'categories_' has an entry that is not a list of levels")
    levels = [plain(level) for level in categories.tolist()]
    if not all(level is None or isinstance(level, (str, int, float)) for level in levels):
        raise fitted.refusal("encodes levels that are neither text nor numbers, which is not supported.")
    numbers = [level for level in levels if isinstance(level, (int, float)) and not is_missing(level)]
    if categories.dtype.kind in "biuf":
        in_order = all(low < high for low, high in pairwise(numbers))
        nan_last = not any(is_missing(level) for level in levels[:-1])
        if not in_order or not nan_last:
            raise fitted.error("'categories_' has numbers that are not in order")
    if any(math.isinf(number) for number in numbers):
        raise fitted.error("'categories_' has an infinite level")
    return levels


def _encode(fitted: Fitted, flow: RawFlow, position: int, levels: list[object]) -> tuple[Encoding, list[str]]:
    """The encoding of one column, and for each of its outputs the level that it is named after."""
    mapping = _infrequent_mapping(fitted, position, len(levels))
    before_drop = mapping if mapping is not None else list(range(len(levels)))
    count = max(before_drop) + 1
    infrequent = count - 1 if mapping is not None else None
    drop = _dropped(fitted, position, count)

    def output(index: int) -> int:
        return NO_OUTPUT if index == drop else index - (drop is not None and index > drop)

    outputs = {level: output(index) for level, index in zip(levels, before_drop, strict=True) if not is_missing(level)}
    if len(outputs) != sum(not is_missing(level) for level in levels):
        raise fitted.error(f"'categories_' has a level of the column '{flow.label}' twice")
    of_missing = {output(index) for level, index in zip(levels, before_drop, strict=True) if is_missing(level)}
    if len(of_missing) > 1:
        raise none_told_from_nan(fitted.where, flow.label, "they are two of its levels")
    if flow.keeps_none and any(level is None for level in levels):
        how = f"an imputer replaces NaN by {flow.fill!r}, but None is a level of its own"
        raise none_told_from_nan(fitted.where, flow.label, how)

    rule = fitted.text("handle_unknown", "error")
    if rule not in _UNKNOWN_RULES:
        raise fitted.refusal(f"has handle_unknown={rule!r}, which is not supported; use one of {_UNKNOWN_RULES}.")
    unknown: int | None = None if rule == "error" else NO_OUTPUT
    if rule in ("infrequent_if_exist", "warn") and infrequent is not None:
        unknown = output(infrequent)

    is_level = flow.fill is not NO_FILL or bool(of_missing)
    missing = of_missing.pop() if of_missing else unknown
    if flow.fill is not NO_FILL:
        missing = outputs.get(flow.fill, unknown)
    width = count - (drop is not None)
    _check_count(fitted, position, width)
    encoding = Encoding(flow.source, outputs, width, missing, unknown, missing_is_level=is_level)
    suffixes = {index: str(level) for level, index in zip(levels, before_drop, strict=True)}
    if infrequent is not None:
        suffixes[infrequent] = "infrequent_sklearn"
    return encoding, [suffixes[index] for index in range(count) if index != drop]


def _infrequent_mapping(fitted: Fitted, position: int, count: int) -> list[int] | None:
    """The output of every level before any is dropped; None if no levels share the infrequent bucket."""
    if not fitted.flag("_infrequent_enabled", False):
        return None
    mappings = fitted.required("_default_to_infrequent_mappings")
    rare = fitted.required("_infrequent_indices")
    if not isinstance(mappings, list) or not isinstance(rare, list) or not position < min(len(mappings), len(rare)):
        raise fitted.error("its infrequent levels do not match its columns")
    if mappings[position] is None and rare[position] is None:
        return None
    mapping = fitted.checked_positions(mappings[position], "_default_to_infrequent_mappings", count)
    infrequent = set(fitted.checked_positions(rare[position], "_infrequent_indices", count))
    bucket = count - len(infrequent)
    frequent = iter(range(bucket))
    expected = [bucket if index in infrequent else next(frequent) for index in range(count)]
    if not infrequent or mapping != expected:
        raise fitted.error("its infrequent levels contradict each other")
    return mapping


def _dropped(fitted: Fitted, position: int, count: int) -> int | None:
    """The output that is dropped; None if all are kept."""
    name = "_drop_idx_after_grouping" if fitted.has("_drop_idx_after_grouping") else "drop_idx_"
    dropped = fitted.required(name)
    if dropped is None:
        return None
    if not isinstance(dropped, np.ndarray) or dropped.ndim != 1 or position >= dropped.size:
        raise fitted.error(f"'{name}' does not have one entry per column")
    index = plain(dropped[position])
    if index is None:
        return None
    return fitted.checked_positions([index], name, count)[0]


def _check_count(fitted: Fitted, position: int, width: int) -> None:
    """Compare with the number of outputs that scikit-learn has recorded (since 1.1) and predicts with."""
    if not fitted.has("_n_features_outs"):
        return
    recorded = fitted.get("_n_features_outs")
    if not isinstance(recorded, list) or position >= len(recorded):
        raise fitted.error("'_n_features_outs' does not have one entry per column")
    if fitted.checked_positions([recorded[position]], "_n_features_outs", width + 1) != [width]:
        raise fitted.error("'_n_features_outs' contradicts the levels")


def fold_ordinal_encoder(fitted: Fitted, frame: Frame) -> Frame:
    """Each level becomes its position in the list of the column's levels."""
    rule = fitted.text("handle_unknown", "error")
    if rule not in ("error", "use_encoded_value"):
        raise fitted.error(f"'handle_unknown' is {brief(fitted.get('handle_unknown'))}")
    unknown = None if rule == "error" else _number(fitted, "unknown_value")
    of_missing = _number(fitted, "encoded_missing_value") if fitted.has("encoded_missing_value") else math.nan

    def codes(position: int, levels: Sequence[object]) -> list[float]:
        if fitted.flag("_infrequent_enabled", False) and any(map(is_missing, levels)):
            raise fitted.refusal("groups rare levels of a column with missing values; impute the column before.")
        grouped = _infrequent_mapping(fitted, position, len(levels))
        positions = [float(place) for place in (grouped if grouped is not None else range(len(levels)))]
        nan = [isinstance(level, float) and math.isnan(level) for level in levels]
        return [of_missing if absent else code for code, absent in zip(positions, nan, strict=True)]

    coded = _coded(fitted, frame, codes, unknown)
    _check_type(fitted, [code for flow in coded.flows if isinstance(flow, TableFlow) for code in flow.values])
    return coded


def _check_type(fitted: Fitted, codes: Sequence[float]) -> None:
    """Refuse an output type (dtype) that cannot hold all codes exactly."""
    stored = fitted.get("dtype", Named("numpy.float64"))
    path = (
        stored.path if isinstance(stored, Named) else f"numpy.{stored}" if isinstance(stored, np.dtype) else "another type"
    )
    name = path.rpartition(".")[2]
    if name in ("float64", "float"):
        return
    if not all(math.isnan(code) or (code.is_integer() and abs(code) < _EXACT.get(name, 0)) for code in codes):
        raise fitted.refusal(f"writes its codes as {name}, which cannot hold all of them; leave out dtype and fit it again.")


def fold_target_encoder(fitted: Fitted, frame: Frame) -> Frame:
    """Each level becomes the mean of the target over its rows; an unknown level, the mean over all rows."""
    if fitted.text("target_type_", "") not in ("continuous", "binary"):
        raise fitted.refusal("encodes by the shares of three or more classes, which is not supported; use a OneHotEncoder.")
    encodings = fitted.required("encodings_")
    if not isinstance(encodings, list) or len(encodings) != len(frame):
        raise fitted.error(f"'encodings_' does not have one entry for each of {len(frame)} columns")
    if fitted.flag("_infrequent_enabled", False):
        raise fitted.error("a TargetEncoder groups no rare levels")

    def codes(position: int, levels: Sequence[object]) -> list[float]:
        values = encodings[position]
        if not isinstance(values, np.ndarray) or values.shape != (len(levels),) or values.dtype.kind != "f":
            raise fitted.error("'encodings_' does not have one number for every level")
        numbers = [float(value) for value in values.tolist()]
        if not all(map(math.isfinite, numbers)):
            raise fitted.error("'encodings_' has entries that are not finite")
        return numbers

    mean = as_float(fitted.required("target_mean_"))
    if mean is None:
        raise fitted.error("'target_mean_' is not one finite number")
    return _coded(fitted, frame, codes, mean)


def _number(fitted: Fitted, name: str) -> float:
    """An attribute that is a number or NaN."""
    value = plain(fitted.get(name))
    if isinstance(value, float) and math.isnan(value):
        return math.nan
    number = as_float(value)
    if number is None:
        raise fitted.error(f"'{name}' is {brief(value)}, not a number")
    return number


def _coded(
    fitted: Fitted, frame: Frame, codes: Callable[[int, Sequence[object]], list[float]], unknown: float | None
) -> Frame:
    """Every column as the codes of its levels. ``unknown`` is the code of an unknown level; None if the encoder raises."""
    categories = fitted.required("categories_")
    if not isinstance(categories, list) or len(categories) != len(frame):
        raise fitted.error(f"'categories_' does not have one entry for each of {len(frame)} columns")
    flows = []
    for position, column in enumerate(frame.flows):
        flow = _raw_column(fitted, column)
        levels = _levels_of(fitted, categories[position])
        values = codes(position, levels)
        flows.append(_table(fitted, flow, levels, values, unknown))
    encodings = (*frame.encodings, *(flow.encoding for flow in flows))
    return Frame(tuple(flows), frame.names, sparse=False, encodings=encodings)


def _table(fitted: Fitted, flow: RawFlow, levels: Sequence[object], values: list[float], unknown: float | None) -> TableFlow:
    absent = [value for level, value in zip(levels, values, strict=True) if is_missing(level)]
    if len(absent) > 1:
        raise none_told_from_nan(fitted.where, flow.label, "they are two of its levels")
    if flow.keeps_none and any(level is None for level in levels):
        how = f"an imputer replaces NaN by {flow.fill!r}, but None is a level of its own"
        raise none_told_from_nan(fitted.where, flow.label, how)
    outputs = {level: i for i, level in enumerate(levels) if not is_missing(level)}
    if len(outputs) + len(absent) != len(levels):
        raise fitted.error(f"'categories_' has a level of the column '{flow.label}' twice")
    count = len(levels)
    by_output = [*values, math.nan if unknown is None else unknown, math.nan]
    of_unknown = None if unknown is None else count
    of_missing: int | None = of_unknown
    if absent:
        by_output[-1], of_missing = absent[0], count + 1
    if flow.fill is not NO_FILL:
        of_missing = outputs.get(flow.fill, of_unknown)
    is_level = bool(absent) or flow.fill is not NO_FILL
    encoding = Encoding(flow.source, outputs, count + 2, of_missing, of_unknown, missing_is_level=is_level)
    return TableFlow(encoding, flow.label, tuple(by_output))


ENCODERS: Mapping[str, Callable[[Fitted, Frame], Frame]] = {
    "OneHotEncoder": fold_one_hot_encoder,
    "OrdinalEncoder": fold_ordinal_encoder,
    "TargetEncoder": fold_target_encoder,
}
"""By class name: what folds an encoder."""
