"""Which columns a ColumnTransformer passes to each of its transformers, in whatever way the author has selected them."""

from __future__ import annotations

import numpy as np

from coordpath_governance.models.fitted import Fitted, plain, sklearn_class
from coordpath_governance.models.tree import ArchivedObject, Named, Opaque, brief

__all__ = ["column_positions"]


def column_positions(fitted: Fitted, name: str, columns: object, width: int) -> list[int]:
    """The positions of the columns that the transformer ``name`` receives.

    scikit-learn selects by ``_transformer_to_input_indices`` when it predicts from a data frame, and by the author's own
    selection when it predicts from an array. In a genuine model both select the same columns.
    """
    recorded = _recorded(fitted, name, width)
    selected = _selected(fitted, columns, width)
    if recorded is None and selected is None:
        raise fitted.refusal(
            f"selects the columns of '{name}' by a function and has not recorded its result; name the columns instead."
        )
    if recorded is not None and selected is not None and recorded != selected:
        raise fitted.error(f"it says in two places which columns '{name}' receives, and they differ")
    return recorded if recorded is not None else (selected or [])


def _recorded(fitted: Fitted, name: str, width: int) -> list[int] | None:
    table = fitted.get("_transformer_to_input_indices")
    if table is None:
        return None
    if not isinstance(table, dict) or name not in table:
        raise fitted.error(f"'_transformer_to_input_indices' does not tell the columns of '{name}'")
    return fitted.checked_positions(table[name], "_transformer_to_input_indices", width)


def _selected(fitted: Fitted, columns: object, width: int) -> list[int] | None:
    """The positions that names, positions, a slice of either, or a mask select; None if a function chose the columns."""
    if isinstance(columns, ArchivedObject) and sklearn_class(columns) == "_RemainderColsList":
        columns = columns.attributes.get("data")
    if columns is None or isinstance(columns, (Opaque, ArchivedObject, Named)):
        return None
    if isinstance(columns, slice):
        return _sliced(fitted, columns, width)
    items = columns.tolist() if isinstance(columns, np.ndarray) and columns.ndim == 1 else columns
    keys = [plain(item) for item in items] if isinstance(items, (list, tuple)) else [plain(items)]
    if keys and all(isinstance(key, bool) for key in keys):
        if len(keys) != width:
            raise fitted.error(f"a column mask has {len(keys)} entries for {width} columns")
        return [position for position, chosen in enumerate(keys) if chosen]
    by_name = _by_name(fitted)
    return [_position(fitted, key, by_name, width) for key in keys]


def _by_name(fitted: Fitted) -> dict[str, int]:
    return {name: position for position, name in enumerate(fitted.feature_names() or ())}


def _position(fitted: Fitted, key: object, by_name: dict[str, int], width: int) -> int:
    if isinstance(key, str):
        if by_name.get(key, width) >= width:
            raise fitted.error(f"it selects the column {brief(key)}, which is not among its input columns")
        return by_name[key]
    if type(key) is int and -width <= key < width:
        return key % width
    raise fitted.error(f"it selects the column {brief(key)}, which it does not have")


def _sliced(fitted: Fitted, columns: slice, width: int) -> list[int]:
    """The positions that a slice selects. A slice of names includes the last name."""
    start, stop, step = columns.start, columns.stop, columns.step
    if isinstance(start, str) or isinstance(stop, str):
        by_name = _by_name(fitted)
        first = None if start is None else _position(fitted, start, by_name, width)
        last = None if stop is None else _position(fitted, stop, by_name, width) + 1
        return list(range(width)[first:last])
    if not all(part is None or type(part) is int for part in (start, stop, step)) or step == 0:
        raise fitted.error(f"it selects the columns {brief(columns)}")
    return list(range(width)[columns])
