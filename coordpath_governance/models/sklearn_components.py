"""scikit-learn's linear maps of columns: principal components and truncated singular vectors, as sums of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.fitted import Fitted
from coordpath_governance.models.flows import CombinedFlow, CurveFlow, Flow, Frame, NumericFlow, RawFlow, SimpleFlow

__all__ = ["COMPONENTS", "raise_when_missing"]

_LEAST_SCALE = float(np.finfo(np.float64).eps)


def fold_pca(fitted: Fitted, frame: Frame) -> Frame:
    """(x − mean_)·components_, divided by √explained_variance_ where they are whitened."""
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
    """Sums of the columns that arrive, each of which must be there: linear maps raise on missing values."""
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


def raise_when_missing(flow: Flow, where: str) -> SimpleFlow | CombinedFlow:
    """Return the column, as a number, as it leaves a step that raises on NaN; a table's NaN raises at the latest then."""
    column = flow.numeric(where) if isinstance(flow, RawFlow) else flow
    if isinstance(column, NumericFlow | CurveFlow) and column.missing is not None and np.isnan(column.missing):
        return replace(column, missing=None)
    return column


COMPONENTS: Mapping[str, Callable[[Fitted, Frame], Frame]] = {"PCA": fold_pca, "TruncatedSVD": fold_truncated_svd}
"""Every linear map, by class name."""
