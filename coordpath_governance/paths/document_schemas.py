"""JSON Schemas of `coordpath.problem/1` and `coordpath.path/1`, for those who write or read these documents without us.

They say what the shape of a document is. What numbers must fulfil together (a gram matrix, a target in its box) only the
reader knows.
"""

from __future__ import annotations

from typing import Any

from coordpath_governance.costs.families import FAMILIES
from coordpath_governance.costs.quadratic import SCALES
from coordpath_governance.paths.problem import SOLVERS

__all__ = ["path_schema", "problem_schema"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER = {"type": "number"}
_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 1}


def _listed(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _or_null(of: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [of, {"type": "null"}]}


def _object(entries: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object of these keys, those of ``required`` always there, and no others."""
    return {"type": "object", "properties": entries, "required": list(required), "additionalProperties": False}


def _by_feature(entry: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": entry}


_VECTOR = _listed(_NUMBER)
_RANGE = _object({"min": _COUNT, "max": _COUNT}, ("max",))
_END = _or_null(_NUMBER)
_WEIGHT = {"type": "number", "minimum": 0}

_WEIGHTS = {
    "anyOf": [
        _object({"gamma": _WEIGHT}, ("gamma",)),
        _object({"alpha": _listed(_WEIGHT)}, ("alpha",)),
        _object({"p": _listed(_WEIGHT)}, ("p",)),
        _object({"final": _WEIGHT, "lambda": _WEIGHT, "gamma": _WEIGHT}, ("final", "lambda")),
    ]
}

_CONSTRAINTS = _object(
    {
        "box": _by_feature({"type": "array", "items": _END, "minItems": 2, "maxItems": 2}),
        "sign": _by_feature({"enum": ["positive", "negative"]}),
        "frozen": _listed(_TEXT),
        "order": _listed({"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2}),
        "monotone": {"type": "boolean"},
    }
)


def _costs() -> dict[str, Any]:
    quadratic = {
        "kind": {"const": "quadratic"},
        "gram": _listed(_VECTOR),
        "linear": _VECTOR,
        "constant": _NUMBER,
        "scale": {"enum": list(SCALES)},
    }
    own = {
        each.name: {"type": "integer" if each.whole else "number"}
        for family in FAMILIES.values()
        for each in family.parameters
    }
    rows = {"design": _listed(_VECTOR), "target": _VECTOR, "weight": _VECTOR, "offset": _VECTOR}
    on_rows = {
        "kind": {"enum": list(FAMILIES)},
        **own,
        "rows": _object(rows, ("design", "target")),
        "record": {"type": "object"},
    }
    return {"anyOf": [_object(quadratic, ("gram", "linear")), _object(on_rows, ("kind",))]}


def problem_schema() -> dict[str, Any]:
    """What `cg.solve` and `coordpath solve` take."""
    entries = {
        "schema": {"const": "coordpath.problem/1"},
        "features": {"type": "array", "items": _TEXT, "minItems": 1, "uniqueItems": True},
        "cost": _costs(),
        "start": _or_null(_VECTOR),
        "target": _or_null(_VECTOR),
        "steps": _or_null({"anyOf": [_COUNT, _RANGE]}),
        "max_steps": _or_null(_COUNT),
        "groups": _or_null(_listed(_listed(_TEXT))),
        "weights": _or_null(_WEIGHTS),
        "step_type": {"type": "string", "examples": ["coordinate", "integer", "unit"]},
        "constraints": _or_null(_CONSTRAINTS),
        "solver": {"enum": list(SOLVERS)},
        "time_limit": _or_null(_WEIGHT),
        "seed": {"type": "integer", "minimum": 0},
    }
    return {"$schema": _DIALECT, "title": "coordpath.problem/1", **_object(entries, ("features", "cost"))}


def path_schema() -> dict[str, Any]:
    """What they give back."""
    move = {"feature": _TEXT, "from": _NUMBER, "to": _NUMBER}
    kinds = ["coordinate", "group", "function", "interaction", "baseline", "rest"]
    step = {
        "k": _COUNT,
        "kind": {"enum": kinds},
        **move,
        "moves": _listed(_object(move, tuple(move))),
        "cost": _NUMBER,
        "delta": _NUMBER,
    }
    entries = {
        "schema": {"const": "coordpath.path/1"},
        "objective": _NUMBER,
        "lower_bound": _NUMBER,
        "gap": {"type": "number", "minimum": 0, "maximum": 1},
        "gap_per_step": _WEIGHT,
        "status": {"enum": ["optimal", "bounded"]},
        "solver": _TEXT,
        "terms": {"type": "integer", "minimum": 0},
        "start_cost": _NUMBER,
        "steps": _listed(_object(step, ("k", "kind", "feature", "moves", "cost", "delta"))),
    }
    return {"$schema": _DIALECT, "title": "coordpath.path/1", **_object(entries, tuple(entries))}
