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
    refuse_other_keys,
    required,
    spelled,
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


def read_cost(document: Mapping[str, Any], features: tuple[str, ...]) -> Cost:
    """The cost of the coordinates ``features`` that a document gives; `ProblemError` names the key that is wrong."""
    kind = document.get("kind", _QUADRATIC)
    if isinstance(kind, str) and kind == _QUADRATIC:
        refuse_other_keys(document, _QUADRATIC_KEYS, "cost.")
        return read_quadratic(
            gram=required(document, "gram", "cost."),
            linear=required(document, "linear", "cost."),
            constant=document.get("constant", 0.0),
            scale=document.get("scale", "1/n"),
            size=len(features),
        )
    family = _read_kind(document)
    refuse_other_keys(document, ("kind", *(parameter.name for parameter in family_parameters()), "rows", "record"), "cost.")
    if ("rows" in document) == ("record" in document):
        raise ProblemError("cost: needs either 'rows' or 'record'; give one of them")
    if "record" in document:
        return _read_record(family, as_mapping(document["record"], "cost.record"), len(features))
    return _read_rows(family, as_mapping(document["rows"], "cost.rows"), features)


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


def _read_kind(document: Mapping[str, Any]) -> FamilyKind:
    kind = as_text(document["kind"], "cost.kind")
    if kind not in FAMILIES:
        raise ProblemError(f"cost.kind: {spelled(kind)} is not known; use {', '.join((_QUADRATIC, *FAMILIES))}")
    for parameter in family_parameters():
        owners = [name for name, family in FAMILIES.items() if parameter in family.parameters]
        if (document.get(parameter.name) is not None) != (kind in owners):
            named = " and ".join(f"'{name}'" for name in owners)
            raise ProblemError(
                f"cost.{parameter.name}: belongs to the kind {named}, and only to it; give {parameter.wanted}"
            )
    values = {
        parameter.name: (as_integer if parameter.whole else as_number)(document[parameter.name], f"cost.{parameter.name}")
        for parameter in FAMILIES[kind].parameters
    }
    return FamilyKind(kind, values)


def _read_rows(kind: FamilyKind, document: Mapping[str, Any], features: tuple[str, ...]) -> GlmCost:
    from coordpath_governance.costs import GlmCost, RowsInMemory

    refuse_other_keys(document, _ROW_KEYS, "cost.rows.")
    family = kind.family()
    size = len(features)
    if size % family.scores:
        raise ProblemError(f"features: {size} are not a whole number of columns for {family.scores} classes")
    target = as_vector(required(document, "target", "cost.rows."), "cost.rows.target", None)
    design = as_matrix(required(document, "design", "cost.rows."), "cost.rows.design", size // family.scores, "columns")
    if len(design) != len(target) or not len(design):
        raise ProblemError(
            f"cost.rows: {len(design)} rows of design and {len(target)} of target; give as many, at least one"
        )
    weight, offset = (
        None if document.get(key) is None else as_vector(document[key], f"cost.rows.{key}", len(target), "rows")
        for key in ("weight", "offset")
    )
    wrong = np.flatnonzero(family.outside(target) & (True if weight is None else weight != 0.0))
    if len(wrong):
        raise ProblemError(
            f"cost.rows.target[{wrong[0]}]: {target[wrong[0]]} is no target of the kind '{kind.kind}'; give {family.targets}"
        )
    names = features if family.scores == 1 else ()
    return GlmCost(family, RowsInMemory(design, target, weight, offset), names=names)


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
        "evaluations": [_evaluation_to_dict(evaluation) for evaluation in cost.evaluations],
    }


def _evaluation_to_dict(evaluation: Evaluation) -> dict[str, Any]:
    where: dict[str, Any] = (
        {"moved": np.flatnonzero(evaluation.at).tolist()} if is_set(evaluation) else {"at": evaluation.at.tolist()}
    )
    slopes = {} if evaluation.slopes is None else {"slopes": evaluation.slopes.tolist()}
    return {**where, "value": evaluation.value, **slopes}


def _read_record(kind: FamilyKind, document: Mapping[str, Any], size: int) -> RecordedCost:
    refuse_other_keys(document, _RECORD_KEYS, "cost.record.")
    lines = as_list(required(document, "curvature", "cost.record."), "cost.record.curvature")
    curvature = as_matrix(lines, "cost.record.curvature", len(lines), "units")
    listed = as_list(required(document, "evaluations", "cost.record."), "cost.record.evaluations")
    return RecordedCost(
        kind=kind,
        size=size,
        depth=as_integer(required(document, "depth", "cost.record."), "cost.record.depth"),
        least=as_number(required(document, "minimum", "cost.record."), "cost.record.minimum"),
        curvature=curvature,
        evaluations=tuple(
            _read_evaluation(evaluation, f"cost.record.evaluations[{i}]", len(lines)) for i, evaluation in enumerate(listed)
        ),
        aim=as_number(document["aim"], "cost.record.aim") if "aim" in document else -np.inf,
    )


def _read_evaluation(document: object, where: str, units: int) -> Evaluation:
    evaluation = as_mapping(document, where)
    refuse_other_keys(evaluation, _EVALUATION_KEYS, f"{where}.")
    if ("moved" in evaluation) == ("at" in evaluation):
        raise ProblemError(f"{where}: needs either 'moved' or 'at'; give one of them")
    if "at" in evaluation:
        at = as_vector(evaluation["at"], f"{where}.at", units, "units")
        if at.min(initial=0.0) < 0.0 or at.max(initial=0.0) > 1.0:
            raise ProblemError(f"{where}.at: has a share outside 0 … 1")
    else:
        at = np.zeros(units)
        for i, u in enumerate(as_list(evaluation["moved"], f"{where}.moved")):
            unit = as_integer(u, f"{where}.moved[{i}]")
            if not 0 <= unit < units or at[unit]:
                raise ProblemError(f"{where}.moved[{i}]: {unit} is no unit, or is there twice; units are 0 … {units - 1}")
            at[unit] = 1.0
    slopes = evaluation.get("slopes")
    return Evaluation(
        at,
        as_number(required(evaluation, "value", f"{where}."), f"{where}.value"),
        None if slopes is None else as_vector(slopes, f"{where}.slopes", units, "units"),
    )
