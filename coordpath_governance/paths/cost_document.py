"""The ``cost`` of a problem's document, read and written: a quadratic's moments, or a family's rows, or a record of them.

No other module knows these keys. Matrices are taken as lists or as arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coordpath_governance.costs.families import FAMILIES, FamilyKind, family_parameters, kind_of
from coordpath_governance.costs.quadratic import QuadraticCost
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.reading import (
    as_integer,
    as_list,
    as_mapping,
    as_matrix,
    as_number,
    as_text,
    as_vector,
    needed,
    only,
    shown,
)
from coordpath_governance.paths.row_orders.evaluated_sets import Evaluation, is_set
from coordpath_governance.paths.row_orders.recorded_cost import RecordedCost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from coordpath_governance.costs import GlmCost

    Cost = QuadraticCost | GlmCost | RecordedCost

__all__ = ["cost_to_dict", "quadratic_to_dict", "read_cost", "read_quadratic"]

_QUADRATIC = "quadratic"
_QUADRATIC_KEYS = ("kind", "gram", "linear", "constant", "scale")
_ROW_KEYS = ("design", "target", "weight", "offset")
_RECORD_KEYS = ("minimum", "depth", "aim", "curvature", "evaluations")
_EVALUATION_KEYS = ("moved", "at", "value", "slopes")


def cost_to_dict(cost: Cost) -> dict[str, Any]:
    """The ``cost`` entry of a problem's document; reading it back gives the same cost."""
    if isinstance(cost, QuadraticCost):
        return quadratic_to_dict(cost.gram, cost.linear, cost.constant, cost.scale)
    if isinstance(cost, RecordedCost):
        return cost.kind.to_dict() | {"record": _record_to_dict(cost)}
    return kind_of(cost.family).to_dict() | {"rows": _rows_to_dict(cost)}


def quadratic_to_dict(
    gram: NDArray[np.float64], linear: NDArray[np.float64], constant: float, scale: str = "1/n"
) -> dict[str, Any]:
    """The same of the moments of a quadratic cost, which need not be one yet."""
    return {
        "kind": _QUADRATIC,
        "gram": gram.tolist(),
        "linear": linear.tolist(),
        "constant": constant,
        "scale": scale,
    }


def read_cost(given: Mapping[str, Any], features: tuple[str, ...]) -> Cost:
    """The cost of the coordinates ``features`` that a document gives; `ProblemError` names the key that is wrong."""
    kind = given.get("kind", _QUADRATIC)
    if isinstance(kind, str) and kind == _QUADRATIC:
        only(given, _QUADRATIC_KEYS, "cost.")
        return read_quadratic(
            gram=needed(given, "gram", "cost."),
            linear=needed(given, "linear", "cost."),
            constant=given.get("constant", 0.0),
            scale=given.get("scale", "1/n"),
            size=len(features),
        )
    family = _read_kind(given)
    only(given, ("kind", *(each.name for each in family_parameters()), "rows", "record"), "cost.")
    if ("rows" in given) == ("record" in given):
        raise ProblemError("cost: needs either 'rows' or 'record'; give one of them")
    if "record" in given:
        return _read_record(family, as_mapping(given["record"], "cost.record"), len(features))
    return _read_rows(family, as_mapping(given["rows"], "cost.rows"), features)


def read_quadratic(*, gram: object, linear: object, constant: object, scale: object = "1/n", size: int) -> QuadraticCost:
    """A quadratic cost of ``size`` coordinates from its moments, checked as those of a document are."""
    rows = gram if isinstance(gram, np.ndarray) and gram.ndim == 2 else as_list(gram, "cost.gram")
    if len(rows) != size:
        raise ProblemError(f"cost.gram: has {len(rows)} rows, but there are {size} features; give {size}×{size}")
    return QuadraticCost(
        as_matrix(rows, "cost.gram", size).reshape(size, size),
        as_vector(linear, "cost.linear", size),
        as_number(constant, "cost.constant"),
        as_text(scale, "cost.scale"),
    )


def _read_kind(given: Mapping[str, Any]) -> FamilyKind:
    kind = as_text(given["kind"], "cost.kind")
    if kind not in FAMILIES:
        raise ProblemError(f"cost.kind: {shown(kind)} is not known; use {', '.join((_QUADRATIC, *FAMILIES))}")
    for each in family_parameters():
        owners = [name for name, entry in FAMILIES.items() if each in entry.parameters]
        if (given.get(each.name) is not None) != (kind in owners):
            named = " and ".join(f"'{name}'" for name in owners)
            raise ProblemError(f"cost.{each.name}: belongs to the kind {named}, and only to it; give {each.wanted}")
    values = {
        each.name: (as_integer if each.whole else as_number)(given[each.name], f"cost.{each.name}")
        for each in FAMILIES[kind].parameters
    }
    return FamilyKind(kind, values)


def _read_rows(kind: FamilyKind, given: Mapping[str, Any], features: tuple[str, ...]) -> GlmCost:
    from coordpath_governance.costs import GlmCost, RowsInMemory

    only(given, _ROW_KEYS, "cost.rows.")
    family = kind.family()
    size = len(features)
    if size % family.scores:
        raise ProblemError(f"features: {size} are not a whole number of columns for {family.scores} classes")
    target = as_vector(needed(given, "target", "cost.rows."), "cost.rows.target", None)
    design = as_matrix(needed(given, "design", "cost.rows."), "cost.rows.design", size // family.scores, "columns")
    if len(design) != len(target) or not len(design):
        raise ProblemError(
            f"cost.rows: {len(design)} rows of design and {len(target)} of target; give as many, at least one"
        )
    weight, offset = (
        None if given.get(key) is None else as_vector(given[key], f"cost.rows.{key}", len(target), "rows")
        for key in ("weight", "offset")
    )
    wrong = np.flatnonzero(family.outside(target) & (True if weight is None else weight != 0.0))
    if len(wrong):
        raise ProblemError(
            f"cost.rows.target[{wrong[0]}]: {target[wrong[0]]} is no target of the kind '{kind.kind}'; give {family.targets}"
        )
    names = features if family.scores == 1 else ()
    return GlmCost(family, RowsInMemory(design, target, weight, offset), names)


def _rows_to_dict(cost: GlmCost) -> dict[str, Any]:
    chunks = list(cost.rows)
    return {
        "design": np.concatenate([chunk.columns for chunk in chunks]).tolist(),
        "target": np.concatenate([chunk.target for chunk in chunks]).tolist(),
        "weight": np.concatenate([chunk.weight for chunk in chunks]).tolist(),
        "offset": np.concatenate([chunk.offset for chunk in chunks]).tolist(),
    }


def _record_to_dict(cost: RecordedCost) -> dict[str, Any]:
    return {
        "minimum": cost.least,
        "depth": cost.depth,
        **({"aim": cost.aim} if np.isfinite(cost.aim) else {}),
        "curvature": cost.curvature.tolist(),
        "evaluations": [_evaluation_to_dict(each) for each in cost.evaluations],
    }


def _evaluation_to_dict(each: Evaluation) -> dict[str, Any]:
    where: dict[str, Any] = {"moved": np.flatnonzero(each.at).tolist()} if is_set(each) else {"at": each.at.tolist()}
    slopes = {} if each.slopes is None else {"slopes": each.slopes.tolist()}
    return {**where, "value": each.value, **slopes}


def _read_record(kind: FamilyKind, given: Mapping[str, Any], size: int) -> RecordedCost:
    only(given, _RECORD_KEYS, "cost.record.")
    lines = as_list(needed(given, "curvature", "cost.record."), "cost.record.curvature")
    curvature = as_matrix(lines, "cost.record.curvature", len(lines), "units")
    listed = as_list(needed(given, "evaluations", "cost.record."), "cost.record.evaluations")
    return RecordedCost(
        kind=kind,
        size=size,
        depth=as_integer(needed(given, "depth", "cost.record."), "cost.record.depth"),
        least=as_number(needed(given, "minimum", "cost.record."), "cost.record.minimum"),
        curvature=curvature,
        evaluations=tuple(
            _read_evaluation(each, f"cost.record.evaluations[{i}]", len(lines)) for i, each in enumerate(listed)
        ),
        aim=as_number(given["aim"], "cost.record.aim") if "aim" in given else -np.inf,
    )


def _read_evaluation(given: object, where: str, units: int) -> Evaluation:
    each = as_mapping(given, where)
    only(each, _EVALUATION_KEYS, f"{where}.")
    if ("moved" in each) == ("at" in each):
        raise ProblemError(f"{where}: needs either 'moved' or 'at'; give one of them")
    if "at" in each:
        at = as_vector(each["at"], f"{where}.at", units, "units")
        if at.min(initial=0.0) < 0.0 or at.max(initial=0.0) > 1.0:
            raise ProblemError(f"{where}.at: has a share outside 0 … 1")
    else:
        at = np.zeros(units)
        for i, u in enumerate(as_list(each["moved"], f"{where}.moved")):
            unit = as_integer(u, f"{where}.moved[{i}]")
            if not 0 <= unit < units or at[unit]:
                raise ProblemError(f"{where}.moved[{i}]: {unit} is no unit, or is there twice; units are 0 … {units - 1}")
            at[unit] = 1.0
    slopes = each.get("slopes")
    return Evaluation(
        at,
        as_number(needed(each, "value", f"{where}."), f"{where}.value"),
        None if slopes is None else as_vector(slopes, f"{where}.slopes", units, "units"),
    )
