"""scikit-learn's transformers of single columns that are not linear: each column becomes a curve or steps of itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.fitted import Fitted, as_float, plain, sklearn_class
from coordpath_governance.models.flows import (
    CombinedFlow,
    CurveFlow,
    Flow,
    Frame,
    LevelFlow,
    NumericFlow,
    RawFlow,
    TableFlow,
    raise_when_missing,
)
from coordpath_governance.models.maps import (
    ELEMENTARY,
    Affine,
    BoxCox,
    Clip,
    Elementary,
    Map,
    Quantile,
    Scaled,
    Spline,
    Steps,
    YeoJohnson,
    apply_all,
)
from coordpath_governance.models.names import NUMPY_FUNCTIONS, UFUNC_HOMES
from coordpath_governance.models.tree import ArchivedObject, Named, brief

__all__ = ["BSPLINE", "CURVES", "clipped", "mapped", "named_function"]

BSPLINE = "scipy.interpolate._bsplines.BSpline"
_MOST_OUTPUTS = 100_000
_AS_ARRAY = Named("scipy._lib.array_api_compat.numpy._aliases.asarray")


def mapped(fitted: Fitted, flow: Flow, through: Map) -> Flow:
    """A column after a map. A column of two values becomes one of two other values, a number becomes a curve."""
    column = flow.numeric(fitted.where) if isinstance(flow, RawFlow) else flow
    if isinstance(column, CombinedFlow):
        raise fitted.refusal(
            f"applies a {fitted.archived.class_name} to '{column.label}', which is a sum or a product of several columns; "
            "the result is not a sum of functions of single columns. Transform the columns before they are combined."
        )

    def value(number: float, *before: Map) -> float:
        return float(apply_all((*before, through), np.array([number]))[0])

    if isinstance(column, TableFlow):
        return replace(column, values=tuple(map(value, column.values)))
    if isinstance(column, LevelFlow):
        low, high = value(0.0, *column.operations), value(1.0, *column.operations)
        if math.isnan(low) or math.isnan(high):
            raise fitted.refusal(f"maps '{column.label}' to numbers that are not finite; fit it on other columns.")
        return replace(column, gain=high - low, shift=low, operations=(*column.operations, through))
    missing = column.missing if column.missing is None else value(column.missing)
    if isinstance(column, NumericFlow) and column.scale == 0.0:
        present = value(column.shift)
        if math.isnan(present):
            raise fitted.refusal(f"maps '{column.label}' to numbers that are not finite; fit it on other columns.")
        return replace(column, shift=present, missing=missing)
    before = column.maps if isinstance(column, CurveFlow) else ()
    return CurveFlow(column.source, column.label, (*before, *column.operations, through), missing=missing)


def named_function(value: object) -> str | None:
    """The name of the numpy function that a value is; None if it is not a function of numpy."""
    module, _, name = value.path.rpartition(".") if isinstance(value, Named) else ("", "", "")
    return {"abs": "absolute"}.get(name, name) if module in UFUNC_HOMES else None


def fold_function_transformer(fitted: Fitted, frame: Frame) -> Frame:
    """One of numpy's functions of every number; without a function the columns stay as they are."""
    function = fitted.get("func")
    if fitted.get("feature_names_out") is not None and fitted.text("feature_names_out", "") != "one-to-one":
        frame = frame.renamed(None)
    if fitted.flag("validate", False):
        frame = replace(frame, flows=tuple(raise_when_missing(flow, fitted.where) for flow in frame.flows))
    if function is None:
        return frame
    name = named_function(function)
    readable = [numpy_name for numpy_name in NUMPY_FUNCTIONS if numpy_name in (*ELEMENTARY, "negative")]
    if name is None or name not in readable or fitted.get("kw_args") not in (None, {}):
        called = function.path if isinstance(function, Named) else "a function of its own"
        raise fitted.refusal(
            f"is a FunctionTransformer with {called}, which we do not run; known are "
            f"{', '.join(f'np.{numpy_name}' for numpy_name in readable)}, without kw_args. "
            "Compute the column before the model."
        )
    through: Map = Affine(-1.0) if name == "negative" else Elementary(name)
    return replace(frame, flows=tuple(mapped(fitted, flow, through) for flow in frame.flows))


def clipped(fitted: Fitted, frame: Frame, low: float, high: float) -> Frame:
    """Every column limited to [``low``, ``high``]."""
    return replace(frame, flows=tuple(mapped(fitted, flow, Clip(low, high)) for flow in frame.flows))


def fold_power_transformer(fitted: Fitted, frame: Frame) -> Frame:
    """Yeo-Johnson or Box-Cox with a λ for every column, then a StandardScaler if ``standardize`` is set."""
    method = fitted.text("method", "yeo-johnson")
    kinds: Mapping[str, Callable[[float], Map]] = {"yeo-johnson": YeoJohnson, "box-cox": BoxCox}
    if method not in kinds:
        raise fitted.error(f"'method' is {brief(fitted.get('method'))}")
    powers = fitted.vector("lambdas_", len(frame))
    flows = [mapped(fitted, flow, kinds[method](power)) for flow, power in zip(frame.flows, powers, strict=True)]
    frame = replace(frame, flows=tuple(flows))
    if not fitted.flag("standardize", True):
        return frame
    scaler = fitted.required("_scaler")
    if not isinstance(scaler, ArchivedObject) or sklearn_class(scaler) != "StandardScaler":
        raise fitted.error("'_scaler' is not a StandardScaler")
    inner = Fitted(scaler, f"{fitted.where}, its scaler")
    if not inner.flag("with_mean", True) or not inner.flag("with_std", True):
        raise inner.error("it is not the one a PowerTransformer makes")
    divisors = inner.vector("scale_", len(frame), nonzero=True)
    means = inner.vector("mean_", len(frame))
    scalers = [Scaled(mean, divisor) for mean, divisor in zip(means, divisors, strict=True)]
    return frame.scaled(scalers, fitted.where)


def fold_quantile_transformer(fitted: Fitted, frame: Frame) -> Frame:
    """The interpolated distribution function of every column, or the normal quantile of its value."""
    if frame.sparse:
        raise fitted.refusal("receives a sparse matrix, whose zeros it treats apart; give it a dense one.")
    output = fitted.text("output_distribution", "uniform")
    if output not in ("uniform", "normal"):
        raise fitted.error(f"'output_distribution' is {brief(fitted.get('output_distribution'))}")
    quantiles = _table(fitted, "quantiles_", len(frame))
    references = tuple(fitted.vector("references_", len(quantiles)))
    shape: Literal["uniform", "normal"] = "normal" if output == "normal" else "uniform"
    flows = []
    for flow, column in zip(frame.flows, quantiles.T.tolist(), strict=True):
        flows.append(mapped(fitted, flow, _checked(fitted, Quantile, tuple(column), references, shape)))
    return replace(frame, flows=tuple(flows))


def fold_binarizer(fitted: Fitted, frame: Frame) -> Frame:
    """1 above the threshold, else 0."""
    threshold = as_float(fitted.get("threshold", 0.0))
    if threshold is None:
        raise fitted.error("'threshold' is not one finite number")
    if frame.sparse and threshold < 0:
        raise fitted.error("it receives a sparse matrix, for which its threshold is too low")
    steps = Steps((threshold,), (0.0, 1.0), "before")
    flows = [mapped(fitted, raise_when_missing(flow, fitted.where), steps) for flow in frame.flows]
    return replace(frame, flows=tuple(flows))


def fold_discretizer(fitted: Fitted, frame: Frame) -> Frame:
    """The number of the bin, or one column per bin."""
    encode = fitted.text("encode", "onehot")
    edges = fitted.required("bin_edges_")
    bins = fitted.required("n_bins_")
    if encode not in ("onehot", "onehot-dense", "ordinal") or not isinstance(bins, np.ndarray):
        raise fitted.error("'encode' or 'n_bins_' is not what a KBinsDiscretizer has")
    counts = fitted.checked_positions(bins.tolist(), "n_bins_", _MOST_OUTPUTS)
    if not isinstance(edges, np.ndarray) or not len(edges) == len(counts) == len(frame):
        raise fitted.error(f"'bin_edges_' does not have one entry for each of {len(frame)} columns")
    if encode != "ordinal":
        _check_bin_encoder(fitted, counts)
    kind = fitted.get("dtype")
    if kind is not None and kind not in (Named("numpy.float64"), Named("builtins.float"), np.dtype(np.float64)):
        raise fitted.refusal(
            "rounds its columns to another type (dtype) before it bins them; leave out dtype and fit again."
        )
    flows: list[Flow] = []
    names: list[str] = []
    for position, (flow, column_edges, count) in enumerate(zip(frame.flows, edges, counts, strict=True)):
        inner = _edges(fitted, column_edges, count)
        column = raise_when_missing(flow, fitted.where)
        name = frame.names[position] if frame.names is not None else ""
        if encode == "ordinal":
            steps = Steps(inner, tuple(float(i) for i in range(count)))
            flows.append(mapped(fitted, column, steps))
            names.append(name)
            continue
        for i in range(count):
            indicator = _checked(fitted, Steps, inner, tuple(float(i == k) for k in range(count)))
            flows.append(_relabelled(mapped(fitted, column, indicator), f"{flow.label}_{i}.0"))
            names.append(f"{name}_{i}.0")
    return Frame(tuple(flows), tuple(names) if frame.names is not None else None, encode == "onehot", frame.encodings)


def _edges(fitted: Fitted, value: object, count: int) -> tuple[float, ...]:
    """The edges between the bins of one column; the outermost edges play no part in a prediction."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "iuf" or len(value) != count + 1:
        raise fitted.error("'bin_edges_' has an entry that does not fit the number of bins")
    inner = tuple(float(edge) for edge in value.tolist()[1:-1])
    if not all(map(math.isfinite, inner)) or any(low > high for low, high in pairwise(inner)):
        raise fitted.error("'bin_edges_' has edges that are not in order")
    return inner


def _check_bin_encoder(fitted: Fitted, counts: Sequence[int]) -> None:
    """Refuse an encoder of the bins' numbers that does not make exactly one column per bin."""
    encoder = fitted.required("_encoder")
    if not isinstance(encoder, ArchivedObject) or sklearn_class(encoder) != "OneHotEncoder":
        raise fitted.error("'_encoder' is not a OneHotEncoder")
    inner = Fitted(encoder, f"{fitted.where}, its encoder")
    categories = inner.required("categories_")
    bins = list(categories) if isinstance(categories, list) else []
    same = len(bins) == len(counts) and all(
        isinstance(numbers, np.ndarray) and np.array_equal(numbers, np.arange(count))
        for numbers, count in zip(bins, counts, strict=True)
    )
    drops_nothing = inner.get("drop_idx_") is None and not inner.flag("_infrequent_enabled", False)
    if not same or not drops_nothing or inner.get("_drop_idx_after_grouping") is not None:
        raise inner.error("it is not the one a KBinsDiscretizer makes")


def fold_spline_transformer(fitted: Fitted, frame: Frame) -> Frame:
    """One column for every B-spline of every column; without ``include_bias`` the last spline of each is left out."""
    splines = fitted.required("bsplines_")
    degree = fitted.count("degree")
    way = fitted.text("extrapolation", "constant")
    if not isinstance(splines, list) or len(splines) != len(frame) or degree is None:
        raise fitted.error(f"'bsplines_' does not have one entry for each of {len(frame)} columns")
    if way not in ("constant", "linear", "continue", "periodic", "error"):
        raise fitted.error(f"'extrapolation' is {brief(fitted.get('extrapolation'))}")
    if degree < 1:
        raise fitted.refusal("has splines of degree 0, which are steps; use a KBinsDiscretizer.")
    if way == "linear" and degree == 1 and len(frame) > 1:
        raise fitted.refusal(
            "goes on linearly with splines of degree 1 in several columns, which scikit-learn computes otherwise for all "
            "but the first; use one SplineTransformer for each column, or another degree."
        )
    zeros = fitted.text("handle_missing", "error") == "zeros"
    sparse = fitted.flag("sparse_output", False)
    if zeros and sparse and way in ("periodic", "continue") and len(frame) > 1:
        raise fitted.refusal(
            "writes missing values of several columns into a sparse matrix, where scikit-learn does not set them to zero; "
            "fit it with sparse_output=False."
        )
    flows: list[Flow] = []
    names: list[str] = []
    for position, (flow, stored) in enumerate(zip(frame.flows, splines, strict=True)):
        knots, coefficients = _bspline(fitted, stored, degree, way)
        column = flow.numeric(fitted.where) if isinstance(flow, RawFlow) else flow
        column = column if zeros else raise_when_missing(column, fitted.where)
        used = coefficients.shape[1] - (not fitted.flag("include_bias", True))
        if len(flows) + used > _MOST_OUTPUTS:
            raise fitted.refusal(f"makes more than {_MOST_OUTPUTS} columns, which is more than we read.")
        for j in range(used):
            spline = _checked(fitted, Spline, knots, degree, tuple(coefficients[:, j].tolist()), way)
            label = f"{flow.label}_sp_{j}"
            out = _relabelled(mapped(fitted, column, spline), label)
            if zeros and isinstance(out, NumericFlow | CurveFlow) and out.missing is not None and math.isnan(out.missing):
                out = replace(out, missing=0.0)
            flows.append(out)
            names.append(f"{frame.names[position]}_sp_{j}" if frame.names is not None else "")
    recorded = fitted.count("n_features_out_")
    if recorded is not None and recorded != len(flows):
        raise fitted.error(f"'n_features_out_' is {recorded}, but its splines make {len(flows)} columns")
    return Frame(tuple(flows), tuple(names) if frame.names is not None else None, sparse, frame.encodings)


def _bspline(fitted: Fitted, stored: object, degree: int, way: str) -> tuple[tuple[float, ...], NDArray[np.float64]]:
    """Knots and coefficients of scipy's B-splines of one column."""
    if not isinstance(stored, ArchivedObject) or stored.class_path != BSPLINE or not stored.is_plain:
        raise fitted.error("'bsplines_' has an entry that is not a BSpline of scipy")
    attributes = {name.removeprefix("_"): value for name, value in stored.attributes.items()}
    if len(attributes) != len(stored.attributes):
        raise fitted.error("'bsplines_' has an entry with an attribute twice")
    knots, coefficients = attributes.pop("t", None), attributes.pop("c", None)
    extrapolate = plain(attributes.pop("extrapolate", None))
    if plain(attributes.pop("k", None)) != degree or plain(attributes.pop("axis", 0)) != 0:
        raise fitted.error("'bsplines_' has an entry of another degree")
    if extrapolate is not (way in ("periodic", "continue")):
        raise fitted.error("'bsplines_' has an entry that goes on in another way than 'extrapolation' says")
    asarray = attributes.pop("asarray", None)
    if asarray not in (None, _AS_ARRAY):
        raise fitted.error("'bsplines_' has an entry with a function of its own")
    if attributes:
        raise fitted.error(f"'bsplines_' has an entry with an attribute '{next(iter(attributes))}' of its own")
    arrays = (knots, coefficients)
    if not all(isinstance(array, np.ndarray) and array.dtype.kind == "f" and np.isfinite(array).all() for array in arrays):
        raise fitted.error("'bsplines_' has an entry whose knots or coefficients are not finite numbers")
    points, table = np.asarray(knots, dtype=np.float64), np.asarray(coefficients, dtype=np.float64)
    if points.ndim != 1 or table.ndim != 2 or not 0 < table.shape[1] <= table.shape[0] <= _MOST_OUTPUTS:
        raise fitted.error("'bsplines_' has an entry of another shape")
    ones = np.eye(table.shape[1])
    if not np.array_equal(table, np.concatenate([ones, ones[:degree]]) if way == "periodic" else ones):
        raise fitted.error("'bsplines_' has an entry whose columns are not one spline each")
    return tuple(points.tolist()), table


def _relabelled(flow: Flow, label: str) -> Flow:
    return replace(flow, label=label)


def _table(fitted: Fitted, name: str, width: int) -> NDArray[np.float64]:
    value = fitted.required(name)
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.ndim != 2 or value.shape[1] != width:
        raise fitted.error(f"'{name}' does not have one column for each of {width} columns")
    table = value.astype(np.float64)
    if not np.isfinite(table).all():
        raise fitted.error(f"'{name}' has entries that are not finite")
    return table


def _checked(fitted: Fitted, make: Callable[..., Map], *numbers: object) -> Map:
    """The map with these numbers. Raises `ModelReadError` if no such map exists."""
    try:
        return make(*numbers)
    except ValueError as error:
        raise fitted.error(str(error)) from error


def refuse_normalizer(fitted: Fitted, _: Frame) -> Frame:
    """Refuse a Normalizer, which divides a row by the length of the whole row."""
    raise fitted.refusal(
        "is a Normalizer, which divides every column by the length of the whole row, so that no column has an effect of its "
        "own; scale the columns one by one (StandardScaler) and fit it again."
    )


CURVES: Mapping[str, Callable[[Fitted, Frame], Frame]] = {
    "FunctionTransformer": fold_function_transformer,
    "PowerTransformer": fold_power_transformer,
    "QuantileTransformer": fold_quantile_transformer,
    "Binarizer": fold_binarizer,
    "KBinsDiscretizer": fold_discretizer,
    "SplineTransformer": fold_spline_transformer,
    "Normalizer": refuse_normalizer,
}
"""By class name: what folds a transformer of single columns."""
