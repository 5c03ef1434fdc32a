"""scikit-learn's scalers and imputers as functions from columns to columns, and the table of all transformers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.fitted import Fitted, as_float, plain, sklearn_class, stored_name
from coordpath_governance.models.flows import (
    NO_FILL,
    CombinedFlow,
    Flow,
    Frame,
    LevelFlow,
    NumericFlow,
    RawFlow,
    TableFlow,
    none_told_from_nan,
    side_by_side,
)
from coordpath_governance.models.maps import Affine, Scaled
from coordpath_governance.models.sklearn_combinations import COMBINATIONS
from coordpath_governance.models.sklearn_curves import CURVES, clipped
from coordpath_governance.models.sklearn_encoders import ENCODERS
from coordpath_governance.models.sklearn_selectors import SELECTORS
from coordpath_governance.models.tree import ArchivedObject, Named, Opaque, brief

__all__ = ["TRANSFORMERS"]

_Marker: TypeAlias = Literal["None", "NaN", "both"]
"""What an imputer replaces: None, NaN, or both (pandas' NA)."""


def fold_standard_scaler(fitted: Fitted, frame: Frame) -> Frame:
    """(x − mean_) / scale_."""
    means = fitted.vector("mean_", len(frame)) if fitted.flag("with_mean", True) else None
    scales = fitted.vector("scale_", len(frame), nonzero=True) if fitted.flag("with_std", True) else None
    if scales is None and fitted.get("scale_") is not None:
        raise fitted.error("it does not divide ('with_std'), and has a 'scale_', by which it would divide a sparse matrix")
    return _centre_and_divide(fitted, frame, means, scales)


def fold_robust_scaler(fitted: Fitted, frame: Frame) -> Frame:
    """(x − center_) / scale_."""
    centres = fitted.vector("center_", len(frame)) if fitted.flag("with_centering", True) else None
    scales = fitted.vector("scale_", len(frame), nonzero=True) if fitted.flag("with_scaling", True) else None
    return _centre_and_divide(fitted, frame, centres, scales)


def fold_max_abs_scaler(fitted: Fitted, frame: Frame) -> Frame:
    """X / scale_; limited to [−1, 1] if it clips."""
    scaled = _centre_and_divide(fitted, frame, None, fitted.vector("scale_", len(frame), nonzero=True))
    return clipped(fitted, scaled, -1.0, 1.0) if fitted.flag("clip", False) else scaled


def fold_min_max_scaler(fitted: Fitted, frame: Frame) -> Frame:
    """X · scale_ + min_; limited to ``feature_range`` if it clips."""
    if frame.sparse:
        raise fitted.error("it receives a sparse matrix, which it cannot shift")
    scales, shifts = fitted.vector("scale_", len(frame)), fitted.vector("min_", len(frame))
    scaled = frame.scaled(list(map(Affine, scales, shifts)), fitted.where)
    if not fitted.flag("clip", False):
        return scaled
    ends = fitted.get("feature_range")
    low, high = map(as_float, ends) if isinstance(ends, (tuple, list)) and len(ends) == 2 else (None, None)
    if low is None or high is None or low >= high:
        raise fitted.error("'feature_range' is not a pair of numbers")
    return clipped(fitted, scaled, low, high)


def fold_simple_imputer(fitted: Fitted, frame: Frame) -> Frame:
    """x, or statistics_ where x is missing, followed by the missing indicators; columns without a statistic are dropped."""
    marker = _marker(fitted)
    statistics = fitted.required("statistics_")
    if not isinstance(statistics, np.ndarray) or statistics.shape != (len(frame),):
        raise fitted.error(f"'statistics_' does not have one entry for each of {len(frame)} columns")
    keep_empty = fitted.flag("keep_empty_features", False)
    values = _cast(fitted, statistics)
    empty = [isinstance(value, float) and math.isnan(value) for value in values]
    filled_positions = [position for position in range(len(frame)) if keep_empty or not empty[position]]
    indicated = _indicated(fitted, len(frame)) if fitted.flag("add_indicator", False) else []
    filled = [
        frame.flows[position] if empty[position] else _fill(fitted, frame.flows[position], values[position], marker)
        for position in filled_positions
    ]
    imputed = replace(frame.take(filled_positions), flows=tuple(filled))
    indicators = frame.take(indicated).renamed("missingindicator_")
    indicators = replace(indicators, flows=tuple(_indicator(flow) for flow in indicators.flows))
    return side_by_side(frame, (imputed, indicators), sparse=frame.sparse)


def _centre_and_divide(fitted: Fitted, frame: Frame, centres: list[float] | None, divisors: list[float] | None) -> Frame:
    if centres is not None and frame.sparse:
        raise fitted.error("it receives a sparse matrix, which it cannot centre")
    centres, divisors = centres or [0.0] * len(frame), divisors or [1.0] * len(frame)
    scalers = [Scaled(centre, divisor) for centre, divisor in zip(centres, divisors, strict=True)]
    return frame.scaled(scalers, fitted.where)


def _cast(fitted: Fitted, statistics: NDArray[Any]) -> list[object]:
    """The statistics as the imputer writes them into a column: in the type of the data it was fitted on."""
    dtype = fitted.get("_fill_dtype")
    values = [plain(value) for value in statistics.tolist()]
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        with np.errstate(all="ignore"):
            return [
                np.asarray(value).astype(dtype).item() if isinstance(value, (int, float)) and value == value else value
                for value in values
            ]
    return values


def _marker(fitted: Fitted) -> _Marker:
    """What the imputer replaces; any value but a missing one is refused."""
    value = plain(fitted.get("missing_values", math.nan))
    if value is None:
        return "None"
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    replaced = f"the value {brief(value)}"
    if isinstance(value, (Opaque, ArchivedObject, Named)):
        replaced = stored_name(value)
        if re.fullmatch(r"(an object of the type )?pandas\.([a-z_]+\.)*(NAType|NA)", replaced):
            return "both"
    raise fitted.refusal(
        f"replaces {replaced}, not missing values, which cannot be written as a linear function; "
        "turn that value into NaN before the model."
    )


def _fill(fitted: Fitted, flow: Flow, statistic: object, marker: _Marker) -> Flow:
    """A column with its missing values replaced; an encoded column has no missing values."""
    if isinstance(flow, RawFlow):
        return _fill_raw(fitted, flow, statistic, marker)
    if isinstance(flow, LevelFlow | CombinedFlow):
        return flow
    number = as_float(statistic)
    if number is None:
        raise fitted.error(f"'statistics_' has the entry {brief(statistic)} for a column of numbers")
    if isinstance(flow, TableFlow):
        return flow if marker == "None" else replace(flow, values=_without_nan(flow.values, number))
    if flow.missing is None or not math.isnan(flow.missing):
        return flow
    return replace(flow, missing=None if marker == "None" else number)


def _without_nan(values: Iterable[float], number: float) -> tuple[float, ...]:
    return tuple(number if math.isnan(value) else value for value in values)


def _fill_raw(fitted: Fitted, flow: RawFlow, statistic: object, marker: _Marker) -> RawFlow:
    """An input column with its missing values replaced; None is replaced only if ``marker`` says so."""
    if statistic is None and marker == "NaN":
        how = "its imputer replaces NaN only, and the value found most often is None"
        raise none_told_from_nan(fitted.where, flow.label, how)
    if not isinstance(statistic, (str, int, float)):
        raise fitted.error(f"'statistics_' has the entry {brief(statistic)}")
    if isinstance(statistic, float) and not math.isfinite(statistic):
        raise fitted.error("'statistics_' has entries that are not finite")
    if flow.fill is NO_FILL:
        return replace(flow, fill=statistic, keeps_none=marker == "NaN")
    if not flow.keeps_none or marker == "NaN":
        return flow
    if statistic != flow.fill or fitted.flag("add_indicator", False):
        how = f"an imputer before it replaces NaN by {flow.fill!r}, and what it does with None is something else"
        raise none_told_from_nan(fitted.where, flow.label, how)
    return replace(flow, keeps_none=False)


def _indicated(fitted: Fitted, width: int) -> list[int]:
    """The positions of the columns that get a missing indicator."""
    indicator = fitted.required("indicator_")
    if not isinstance(indicator, ArchivedObject) or sklearn_class(indicator) != "MissingIndicator":
        raise fitted.error("'indicator_' is not a MissingIndicator")
    inner = Fitted(indicator, f"{fitted.where}, its missing indicator")
    if inner.flag("error_on_new", False) or inner.count("_n_features") not in (None, width):
        raise inner.error("it is not the one a SimpleImputer makes")
    positions = inner.positions("features_", width)
    everything = inner.text("features", "missing-only") != "missing-only" or len(positions) == width
    return list(range(width)) if everything else positions


def fold_missing_indicator(fitted: Fitted, frame: Frame) -> Frame:
    """1 where a column is missing, else 0; for the columns that had missing values in training, or for all columns."""
    _marker(fitted)
    positions = fitted.positions("features_", len(frame))
    if fitted.count("_n_features") not in (None, len(frame)):
        raise fitted.error("'_n_features' is not the number of columns that reach it")
    if len(positions) == len(frame):
        positions = list(range(len(frame)))
    elif fitted.text("features", "missing-only") != "missing-only":
        raise fitted.error("'features_' does not have every column, as 'features' says")
    else:
        unindicated = [frame.flows[position] for position in set(range(len(frame))) - set(positions)]
        if fitted.flag("error_on_new", True) and any(map(_can_be_missing, unindicated)):
            raise fitted.refusal(
                "raises where a column is missing that had no gap when it was fitted, and has no output for it; use "
                "MissingIndicator(error_on_new=False), or features='all'."
            )
    indicators = frame.take(positions).renamed("missingindicator_")
    sparse = fitted.get("sparse", "auto")
    return replace(
        indicators,
        flows=tuple(_indicator(flow) for flow in indicators.flows),
        sparse=frame.sparse if isinstance(sparse, str) else fitted.flag("sparse", False),
    )


def _can_be_missing(flow: Flow) -> bool:
    if isinstance(flow, RawFlow):
        return flow.fill is NO_FILL
    if isinstance(flow, TableFlow):
        return any(map(math.isnan, flow.values))
    return not isinstance(flow, LevelFlow | CombinedFlow) and flow.missing is not None and math.isnan(flow.missing)


def _indicator(flow: Flow) -> Flow:
    """1 where the column is missing as it reaches the imputer, else 0."""
    label = f"missingindicator_{flow.label}"
    if isinstance(flow, TableFlow):
        return TableFlow(flow.encoding, label, tuple(float(math.isnan(value)) for value in flow.values))
    if isinstance(flow, LevelFlow | CombinedFlow):
        return CombinedFlow(label, ())
    if isinstance(flow, RawFlow):
        missing: float | None = 1.0 if flow.fill is NO_FILL else 0.0
    else:
        missing = None if flow.missing is None else float(math.isnan(flow.missing))
    return NumericFlow(flow.source, label, scale=0.0, shift=0.0, missing=missing)


TRANSFORMERS: Mapping[str, Callable[[Fitted, Frame], Frame]] = {
    "StandardScaler": fold_standard_scaler,
    "MinMaxScaler": fold_min_max_scaler,
    "MaxAbsScaler": fold_max_abs_scaler,
    "RobustScaler": fold_robust_scaler,
    "SimpleImputer": fold_simple_imputer,
    "MissingIndicator": fold_missing_indicator,
    **CURVES,
    **ENCODERS,
    **SELECTORS,
    **COMBINATIONS,
}
"""By class name: what folds a transformer."""
