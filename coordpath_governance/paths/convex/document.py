"""Convex costs in a problem's document: given by rows, or by the record of what rows said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.convex.record import CostKind, RecordedCost, record_document
from coordpath_governance.paths.convex.set_costs import Evaluation
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordpath_governance.costs import Family, GlmCost
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["convex_cost", "convex_cost_document", "kind_of", "recorded"]

_KEYS = ("kind", "power", "classes", "rows", "record")
_TARGETS = {
    "logistic": "0 or 1",
    "multinomial": "the number of a class, from 0 on",
    "poisson": "numbers from 0 on",
    "gamma": "numbers above 0",
    "tweedie": "numbers from 0 on",
}


def convex_cost(given: Mapping[str, Any], features: tuple[str, ...]) -> GlmCost | RecordedCost:
    """The cost of the coordinates ``features`` that a document gives."""
    kind = _kind(given)
    only(given, _KEYS, "cost.")
    if ("rows" in given) == ("record" in given):
        raise ProblemError("cost: needs either 'rows' or 'record'; give one of them")
    if "record" in given:
        return _recorded(kind, as_mapping(given["record"], "cost.record"), len(features))
    return _on_rows(kind, as_mapping(given["rows"], "cost.rows"), features)


def convex_cost_document(cost: GlmCost | RecordedCost) -> dict[str, Any]:
    """The ``cost`` of a problem's document: the record of a recorded cost, the rows of any other."""
    if isinstance(cost, RecordedCost):
        return record_document(cost)
    chunks = list(cost.rows)
    rows = {
        "design": np.concatenate([chunk.columns for chunk in chunks]).tolist(),
        "target": np.concatenate([chunk.target for chunk in chunks]).tolist(),
        "weight": np.concatenate([chunk.weight for chunk in chunks]).tolist(),
        "offset": np.concatenate([chunk.offset for chunk in chunks]).tolist(),
    }
    return kind_of(cost.family).to_dict() | {"rows": rows}


def kind_of(family: Family) -> CostKind:
    """The kind of a cost with this loss."""
    return CostKind(family.kind, getattr(family, "power", None), family.scores if family.scores > 1 else None)


def recorded(problem: PathProblem, cost: GlmCost) -> RecordedCost:
    """What was asked of a cost on rows, in place of it: the same path is found and proved from that alone."""
    known = problem.sets
    return RecordedCost(kind_of(cost.family), cost.size, known.depth, cost.minimum(), *known.proof(), known.aim)


def _kind(given: Mapping[str, Any]) -> CostKind:
    from coordpath_governance.costs.families import KINDS

    kind = as_text(given["kind"], "cost.kind")
    if kind not in KINDS:
        raise ProblemError(f"cost.kind: {shown(kind)} is not known; use quadratic, {', '.join(KINDS)}")
    power = given.get("power")
    classes = given.get("classes")
    if (power is not None) != (kind == "tweedie"):
        raise ProblemError("cost.power: belongs to the kind 'tweedie', and only to it; give a number between 1 and 2")
    if (classes is not None) != (kind == "multinomial"):
        raise ProblemError("cost.classes: belongs to the kind 'multinomial', and only to it; give the number of classes")
    return CostKind(
        kind,
        None if power is None else as_number(power, "cost.power"),
        None if classes is None else as_integer(classes, "cost.classes"),
    )


def _on_rows(kind: CostKind, given: Mapping[str, Any], features: tuple[str, ...]) -> GlmCost:
    from coordpath_governance.costs import GlmCost, RowsInMemory, family_of

    only(given, ("design", "target", "weight", "offset"), "cost.rows.")
    family = family_of(kind.kind, power=kind.power, classes=kind.classes or 0)
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
            f"cost.rows.target[{wrong[0]}]: {target[wrong[0]]} is no target of the kind '{kind.kind}'; give "
            f"{_TARGETS[kind.kind]}"
        )
    names = features if family.scores == 1 else ()
    return GlmCost(family, RowsInMemory(design, target, weight, offset), names)


def _recorded(kind: CostKind, given: Mapping[str, Any], size: int) -> RecordedCost:
    only(given, ("minimum", "depth", "aim", "curvature", "evaluations"), "cost.record.")
    lines = as_list(needed(given, "curvature", "cost.record."), "cost.record.curvature")
    curvature = as_matrix(lines, "cost.record.curvature", len(lines), "units")
    listed = as_list(needed(given, "evaluations", "cost.record."), "cost.record.evaluations")
    return RecordedCost(
        kind,
        size,
        as_integer(needed(given, "depth", "cost.record."), "cost.record.depth"),
        as_number(needed(given, "minimum", "cost.record."), "cost.record.minimum"),
        curvature,
        tuple(_evaluation(each, f"cost.record.evaluations[{i}]", len(lines)) for i, each in enumerate(listed)),
        as_number(given["aim"], "cost.record.aim") if "aim" in given else -np.inf,
    )


def _evaluation(given: object, where: str, units: int) -> Evaluation:
    each = as_mapping(given, where)
    only(each, ("moved", "at", "value", "slopes"), f"{where}.")
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
