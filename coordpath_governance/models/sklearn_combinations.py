"""scikit-learn's transformers that combine columns: principal components, truncated singular vectors, polynomials.

The first two make weighted sums of columns, `PolynomialFeatures` makes products of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models.fitted import Fitted, plain
from coordpath_governance.models.flows import CombinedFlow, Flow, Frame, SimpleFlow, raise_when_missing
from coordpath_governance.models.tree import brief

__all__ = ["COMBINATIONS"]

_LEAST_SCALE = float(np.finfo(np.float64).eps)
_MOST_PRODUCTS = 100_000

_Parts = tuple[tuple[float, tuple[SimpleFlow, ...]], ...]
"""Weights and the columns that they multiply."""


def fold_pca(fitted: Fitted, frame: Frame) -> Frame:
    """(x − mean_)·components_, divided by √explained_variance_ if the components are whitened."""
    components = _components(fitted, len(frame))
    shifts = -(components @ np.array(fitted.vector("mean_", len(frame))))
    if fitted.flag("whiten", False):
        spread = np.sqrt(np.array(fitted.vector("explained_variance_", len(components))))
        if not (spread > _LEAST_SCALE).all():
            raise fitted.refusal("divides by the spread of a component that has none; fit it with fewer components.")
        components, shifts = components / spread[:, None], shifts / spread
    return _mapped(fitted, frame, components, shifts, "pca")


def fold_truncated_svd(fitted: Fitted, frame: Frame) -> Frame:
    """x·components_."""
    components = _components(fitted, len(frame))
    return _mapped(fitted, frame, components, np.zeros(len(components)), "truncatedsvd")


def _components(fitted: Fitted, width: int) -> NDArray[np.float64]:
    value = fitted.required("components_")
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.ndim != 2 or value.shape[1] != width:
        raise fitted.error(f"'components_' does not have one number for each of {width} columns")
    components = value.astype(np.float64)
    if not np.isfinite(components).all() or not len(components):
        raise fitted.error("'components_' has entries that are not finite, or none")
    return components


def _mapped(fitted: Fitted, frame: Frame, components: NDArray[np.float64], shifts: NDArray[np.float64], name: str) -> Frame:
    """Weighted sums of all columns. None may be missing: linear maps raise on missing values."""
    columns = [raise_when_missing(flow, fitted.where) for flow in frame.flows]
    flows = []
    for position, (row, shift) in enumerate(zip(components.tolist(), shifts.tolist(), strict=True)):
        parts: list[tuple[float, tuple[SimpleFlow, ...]]] = []
        for weight, column in zip(row, columns, strict=True):
            if isinstance(column, CombinedFlow):
                parts.extend((weight * part, factors) for part, factors in column.parts)
                shift += weight * column.shift  # noqa: PLW2901 - the shift of the sum
            else:
                parts.append((weight, (column,)))
        flows.append(CombinedFlow(f"{name}{position}", tuple(parts), shift))
    names = tuple(flow.label for flow in flows)
    return Frame(tuple(flows), names, sparse=False, encodings=frame.encodings)


def fold_polynomial_features(fitted: Fitted, frame: Frame) -> Frame:
    """Every product of columns up to the degree, in the order of scikit-learn's outputs."""
    low, high = _degrees(fitted)
    bias = fitted.flag("include_bias", True)
    columns = [raise_when_missing(flow, fitted.where) for flow in frame.flows]
    names = frame.names or ("",) * len(columns)
    flows: list[Flow] = []
    labels: list[str] = []
    work = 0
    once = fitted.flag("interaction_only", False)
    for chosen in _combinations(len(columns), low, high, once=once, bias=bias):
        label = _label([names[i] for i in chosen])
        flow = _product(fitted, [columns[i] for i in chosen], _label([columns[i].label for i in chosen]))
        work += 1 + (len(flow.parts) if isinstance(flow, CombinedFlow) else 0)
        if work > _MOST_PRODUCTS:
            raise _too_many(fitted)
        flows.append(flow)
        labels.append(label)
    recorded = fitted.count("n_output_features_")
    if recorded is not None and recorded != len(flows):
        raise fitted.error(f"'n_output_features_' is {recorded}, but its degree makes {len(flows)} columns")
    return Frame(tuple(flows), tuple(labels) if frame.names is not None else None, frame.sparse, frame.encodings)


def _degrees(fitted: Fitted) -> tuple[int, int]:
    """The least and the highest degree."""
    value = plain(fitted.get("degree", 2))
    pair = tuple(map(plain, value)) if isinstance(value, (tuple, list)) else (0, value)
    if len(pair) != 2 or not all(type(degree) is int and 0 <= degree <= 64 for degree in pair):
        raise fitted.error(f"'degree' is {brief(value)}")
    low, high = pair
    for name, degree in (("_min_degree", low), ("_max_degree", high)):
        if fitted.count(name) not in (None, degree):
            raise fitted.error(f"'{name}' contradicts 'degree'")
    return int(str(low)), int(str(high))


def _combinations(width: int, low: int, high: int, *, once: bool, bias: bool) -> Iterator[tuple[int, ...]]:
    choose = combinations if once else combinations_with_replacement
    products = chain.from_iterable(choose(range(width), degree) for degree in range(max(1, low), high + 1))
    return chain([()], products) if bias else products


def _label(names: Sequence[str]) -> str:
    """The name that scikit-learn gives to a product, such as a^2 b."""
    powers = {name: names.count(name) for name in dict.fromkeys(names)}
    return " ".join(name if power == 1 else f"{name}^{power}" for name, power in powers.items()) or "1"


def _too_many(fitted: Fitted) -> UnsupportedModelError:
    return fitted.refusal(f"makes more than {_MOST_PRODUCTS} products of columns, which is more than we read.")


def _product(fitted: Fitted, columns: Sequence[SimpleFlow | CombinedFlow], label: str) -> SimpleFlow | CombinedFlow:
    """The product of columns; sums are multiplied out."""
    if len(columns) == 1:
        return columns[0]
    parts: _Parts = ((1.0, ()),)
    for column in columns:
        if isinstance(column, CombinedFlow):
            summands: _Parts = (*column.parts, *(((column.shift, ()),) if column.shift else ()))
        else:
            summands = ((1.0, (column,)),)
        if len(parts) * len(summands) > _MOST_PRODUCTS:
            raise _too_many(fitted)
        parts = tuple((weight * other, (*factors, *others)) for weight, factors in parts for other, others in summands)
    shift = sum(weight for weight, factors in parts if not factors)
    return CombinedFlow(label, tuple((weight, factors) for weight, factors in parts if factors), shift)


COMBINATIONS: Mapping[str, Callable[[Fitted, Frame], Frame]] = {
    "PCA": fold_pca,
    "TruncatedSVD": fold_truncated_svd,
    "PolynomialFeatures": fold_polynomial_features,
}
"""By class name: what folds a transformer that combines columns."""
