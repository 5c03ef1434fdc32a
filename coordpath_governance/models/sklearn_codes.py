"""scikit-learn's encoders that give every level a number: its place in a list, or the mean of the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from coordpath_governance.models.fitted import Fitted, as_float, plain
from coordpath_governance.models.flows import NO_FILL, Encoding, Frame, RawFlow, TableFlow, is_missing, none_told_from_nan
from coordpath_governance.models.sklearn_encoder import infrequent_mapping, levels_of, raw_column
from coordpath_governance.models.tree import Named, brief

__all__ = ["CODES"]


def fold_ordinal_encoder(fitted: Fitted, frame: Frame) -> Frame:
    """The place of every level in the list of the column's levels."""
    rule = fitted.text("handle_unknown", "error")
    if rule not in ("error", "use_encoded_value"):
        raise fitted.error(f"'handle_unknown' is {brief(fitted.get('handle_unknown'))}")
    unknown = None if rule == "error" else _number(fitted, "unknown_value")
    of_missing = _number(fitted, "encoded_missing_value") if fitted.has("encoded_missing_value") else math.nan

    def codes(position: int, levels: Sequence[object]) -> list[float]:
        if fitted.flag("_infrequent_enabled", False) and any(map(is_missing, levels)):
            raise fitted.refusal("groups rare levels of a column with missing values; impute the column before.")
        grouped = infrequent_mapping(fitted, position, len(levels))
        own = [float(place) for place in grouped] if grouped is not None else [float(i) for i in range(len(levels))]
        nan = [isinstance(level, float) and math.isnan(level) for level in levels]
        return [of_missing if absent else code for code, absent in zip(own, nan, strict=True)]

    coded = _coded(fitted, frame, codes, unknown)
    _check_type(fitted, [code for flow in coded.flows if isinstance(flow, TableFlow) for code in flow.values])
    return coded


def _check_type(fitted: Fitted, codes: Sequence[float]) -> None:
    """Refuse a type of the output that would turn codes into others."""
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
    """The mean of the target that was found for every level, that of all rows for a level never seen."""
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


_EXACT = {"float32": 1 << 24, "int64": 1 << 53, "int32": 1 << 31, "int16": 1 << 15, "int8": 1 << 7, "int": 1 << 53}
"""Types that hold the whole numbers below these as they are."""


def _number(fitted: Fitted, name: str) -> float:
    """A number that stands for a kind of level, or NaN."""
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
    """Every column as the codes of its levels; ``unknown`` None: a level never seen raises."""
    categories = fitted.required("categories_")
    if not isinstance(categories, list) or len(categories) != len(frame):
        raise fitted.error(f"'categories_' does not have one entry for each of {len(frame)} columns")
    flows = []
    for position, each in enumerate(frame.flows):
        flow = raw_column(fitted, each)
        levels = levels_of(fitted, categories[position])
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


CODES: Mapping[str, Callable[[Fitted, Frame], Frame]] = {
    "OrdinalEncoder": fold_ordinal_encoder,
    "TargetEncoder": fold_target_encoder,
}
"""Every encoder to numbers, by class name."""
