"""scikit-learn's OneHotEncoder as an `Encoding` of every column: dropped levels, infrequent and unknown ones included."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from coordpath_governance.models.fitted import Fitted, plain
from coordpath_governance.models.flows import (
    NO_FILL,
    NO_OUTPUT,
    Encoding,
    Flow,
    Frame,
    LevelFlow,
    NumericFlow,
    RawFlow,
    is_missing,
    none_told_from_nan,
)

__all__ = ["fold_one_hot_encoder", "infrequent_mapping", "levels_of", "raw_column"]

_UNKNOWN_RULES = ("error", "ignore", "infrequent_if_exist", "warn")


def fold_one_hot_encoder(fitted: Fitted, frame: Frame) -> Frame:
    """One dummy column per level of every column, without the dropped ones."""
    categories = fitted.required("categories_")
    if not isinstance(categories, list) or len(categories) != len(frame):
        raise fitted.error(f"'categories_' does not have one entry for each of {len(frame)} columns")
    flows: list[Flow] = []
    names: list[str] = []
    encodings: list[Encoding] = []
    for position, flow in enumerate(frame.flows):
        levels = levels_of(fitted, categories[position])
        if isinstance(flow, NumericFlow) and flow.scale == 0.0:
            encoding, suffixes = _encode(fitted, RawFlow(flow.source, flow.label), position, levels)
            flows.extend(_of_indicator(fitted, flow, encoding, suffixes))
        else:
            encoding, suffixes = _encode(fitted, raw_column(fitted, flow), position, levels)
            encodings.append(encoding)
            flows.extend(LevelFlow(encoding, f"{flow.label}_{suffix}", output) for output, suffix in enumerate(suffixes))
        names.extend(f"{frame.names[position]}_{suffix}" for suffix in suffixes if frame.names is not None)
    named = frame.names is not None and fitted.text("feature_name_combiner", "concat") == "concat"
    return Frame(
        tuple(flows),
        names=tuple(names) if named else None,
        sparse=fitted.flag("sparse_output" if fitted.has("sparse_output") else "sparse", True),
        encodings=(*frame.encodings, *encodings),
    )


def _of_indicator(fitted: Fitted, flow: NumericFlow, encoding: Encoding, suffixes: list[str]) -> list[Flow]:
    """The dummies of a missing indicator, which has one value where its column is there and another where it is missing."""
    there = encoding.outputs.get(flow.shift, encoding.unknown)
    if there is None:
        raise fitted.error(f"it raises for every row, since {flow.shift:g} is not among the levels of '{flow.label}'")
    absent = None if flow.missing is None else encoding.outputs.get(flow.missing, encoding.unknown)
    return [
        NumericFlow(
            flow.source,
            f"{flow.label}_{suffix}",
            scale=0.0,
            shift=float(there == output),
            missing=None if absent is None else float(absent == output),
        )
        for output, suffix in enumerate(suffixes)
    ]


def raw_column(fitted: Fitted, flow: Flow) -> RawFlow:
    """The column, if no step before has made numbers of it."""
    if not isinstance(flow, RawFlow):
        raise fitted.refusal(
            f"is a {fitted.archived.class_name} of the column '{flow.label}' that an earlier step has scaled or encoded, "
            "which is not supported; encode the input column itself."
        )
    return flow


def levels_of(fitted: Fitted, categories: object) -> list[object]:
    """Return the levels of one column as Python values; numbers must be sorted, as scikit-learn looks them up so."""
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
    """Return the encoding of one column, and the level that names each of its outputs."""
    mapping = infrequent_mapping(fitted, position, len(levels))
    before_drop = mapping if mapping is not None else list(range(len(levels)))
    count = max(before_drop) + 1
    infrequent = count - 1 if mapping is not None else None
    drop = _dropped(fitted, position, count)

    def output(index: int) -> int:
        return NO_OUTPUT if index == drop else index - (drop is not None and index > drop)

    known = [level for level in levels if not is_missing(level)]
    outputs = {level: output(index) for level, index in zip(levels, before_drop, strict=True) if not is_missing(level)}
    if len(outputs) != len(known):
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
    kept = count - (drop is not None)
    _check_count(fitted, position, kept)
    encoding = Encoding(flow.source, outputs, kept, missing, unknown, missing_is_level=is_level)
    suffixes = {index: str(level) for level, index in zip(levels, before_drop, strict=True)}
    if infrequent is not None:
        suffixes[infrequent] = "infrequent_sklearn"
    return encoding, [suffixes[index] for index in range(count) if index != drop]


def infrequent_mapping(fitted: Fitted, position: int, count: int) -> list[int] | None:
    """Return the output of every level before one is dropped, None if no levels share the infrequent bucket."""
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
    """Return the output that is dropped, None if none is."""
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


def _check_count(fitted: Fitted, position: int, kept: int) -> None:
    """Compare with the number of outputs scikit-learn has recorded (since 1.1), which is the one it uses."""
    if not fitted.has("_n_features_outs"):
        return
    recorded = fitted.get("_n_features_outs")
    if not isinstance(recorded, list) or position >= len(recorded):
        raise fitted.error("'_n_features_outs' does not have one entry per column")
    if fitted.checked_positions([recorded[position]], "_n_features_outs", kept + 1) != [kept]:
        raise fitted.error("'_n_features_outs' contradicts the levels")
