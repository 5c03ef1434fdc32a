"""The document `coordpath.problem/1`: the only module that reads it, and the only one that writes it.

By hand and without pydantic, so that `solve` starts fast. Every refusal names the key path and what to do. What stands
under ``cost`` is in `cost_document`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.canonical import read_json
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.constraints import Constraints, parse_constraints
from coordpath_governance.paths.cost_document import cost_to_dict, read_cost
from coordpath_governance.paths.problem import PathProblem, StepRange, check_features
from coordpath_governance.paths.reading import (
    as_integer,
    as_list,
    as_mapping,
    as_number,
    as_text,
    as_texts,
    as_vector,
    optional,
    refuse_other_keys,
    required,
    spelled,
)
from coordpath_governance.paths.step_types import COORDINATE, StepType, step_type_of
from coordpath_governance.paths.weights import ExplicitWeights, FinalWeights, GeometricWeights, Weights

__all__ = ["PROBLEM_SCHEMA", "parse_json", "parse_problem", "parse_weights", "problem_to_dict", "write_problem"]

PROBLEM_SCHEMA = "coordpath.problem/1"


_KEYS = (
    "schema",
    "features",
    "cost",
    "start",
    "target",
    "steps",
    "max_steps",
    "groups",
    "weights",
    "step_type",
    "constraints",
    "solver",
    "time_limit",
    "seed",
)
_WEIGHTS = "gamma, or alpha, or p, or final, lambda and gamma"


def parse_json(content: bytes | str) -> dict[str, Any]:
    """The problem document in untrusted text: strict JSON, and an object."""
    return dict(as_mapping(read_json(content, "the problem", ProblemError), "the problem"))


def parse_problem(document: Mapping[str, Any]) -> PathProblem:
    """The problem a document asks; `ProblemError` names the key that is wrong."""
    fields = as_mapping(document, "the problem")
    schema = fields.get("schema", PROBLEM_SCHEMA)
    if isinstance(schema, str) and schema.startswith("coordpath.change_report/"):
        raise ProblemError("schema: this is a change report; give what it has under 'problem'")
    if not isinstance(schema, str) or schema != PROBLEM_SCHEMA:
        raise ProblemError(f"schema: {spelled(schema)} is not known; this version reads {PROBLEM_SCHEMA!r}")
    refuse_other_keys(fields, _KEYS, "")
    step_type = step_type_of(fields.get("step_type", COORDINATE.name))
    features = as_texts(required(fields, "features", ""), "features")
    check_features(features)
    cost = read_cost(as_mapping(required(fields, "cost", ""), "cost"), features)
    start = fields.get("start")
    target = fields.get("target")
    return PathProblem(
        features=features,
        cost=cost,
        start=np.zeros(len(features)) if start is None else as_vector(start, "start", len(features)),
        target=None if target is None else as_vector(target, "target", len(features)),
        steps=_steps(fields.get("steps")),
        max_steps=optional(fields.get("max_steps"), "max_steps", as_integer),
        groups=_groups(fields.get("groups")),
        weights=parse_weights(fields.get("weights")),
        step_type=step_type,
        constraints=parse_constraints(fields.get("constraints"), features),
        solver=as_text(fields.get("solver", "auto"), "solver"),
        time_limit=optional(fields.get("time_limit"), "time_limit", as_number),
        seed=as_integer(fields.get("seed", 0), "seed"),
    )


def problem_to_dict(problem: PathProblem) -> dict[str, Any]:
    """The document of a problem; reading it back gives the same problem."""
    return write_problem(
        features=problem.features,
        cost=cost_to_dict(problem.cost),
        start=problem.start,
        target=problem.target,
        steps=problem.steps,
        max_steps=problem.max_steps,
        groups=problem.groups,
        weights=problem.weights,
        step_type=problem.step_type,
        constraints=problem.constraints,
        solver=problem.solver,
        time_limit=problem.time_limit,
        seed=problem.seed,
    )


def write_problem(
    *,
    features: Sequence[str],
    cost: dict[str, Any],
    start: Sequence[float | None] | NDArray[np.float64],
    target: Sequence[float | None] | NDArray[np.float64] | None,
    steps: int | StepRange | None = None,
    max_steps: int | None = None,
    groups: Sequence[Sequence[str]] = (),
    weights: Weights,
    step_type: StepType = COORDINATE,
    constraints: Constraints = Constraints(),  # noqa: B008 - frozen
    solver: str = "auto",
    time_limit: float | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """The document of a problem that need not exist; ``cost`` is an entry that `cost_document` wrote.

    ``constraints`` are written only if there are any, so that documents without them keep their bytes.
    """
    return {
        "schema": PROBLEM_SCHEMA,
        "features": list(features),
        "cost": cost,
        "start": _listed(start),
        "target": None if target is None else _listed(target),
        "steps": {"min": steps.least, "max": steps.most} if isinstance(steps, StepRange) else steps,
        "max_steps": max_steps,
        "groups": [list(group) for group in groups],
        "weights": weights.to_dict(),
        "step_type": step_type.name,
        **({"constraints": constraints.to_dict()} if constraints else {}),
        "solver": solver,
        "time_limit": time_limit,
        "seed": seed,
    }


def _listed(numbers: Sequence[float | None] | NDArray[np.float64]) -> list[Any]:
    return numbers.tolist() if isinstance(numbers, np.ndarray) else list(numbers)


def _steps(value: object) -> int | StepRange | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        refuse_other_keys(value, ("min", "max"), "steps.")
        least = as_integer(value.get("min", 1), "steps.min")
        return StepRange(least, as_integer(required(value, "max", "steps."), "steps.max"))
    return as_integer(value, "steps")


def _groups(value: object) -> tuple[tuple[str, ...], ...]:
    if value is None:
        return ()
    return tuple(as_texts(group, f"groups[{g}]") for g, group in enumerate(as_list(value, "groups")))


def parse_weights(value: object) -> Weights:
    """The weights a document asks for; null is γ = 1."""
    if value is None:
        return GeometricWeights()
    weights = as_mapping(value, "weights")
    keys = set(weights)
    if not keys:
        raise ProblemError(f"weights: is empty; give {_WEIGHTS}, or leave it out")
    for key in ("alpha", "p"):
        if keys == {key}:
            values = as_list(weights[key], f"weights.{key}")
            return ExplicitWeights(tuple(as_number(v, f"weights.{key}[{k}]") for k, v in enumerate(values)), key)
    if keys == {"gamma"}:
        return GeometricWeights(as_number(weights["gamma"], "weights.gamma"))
    if {"final", "lambda"} <= keys <= {"final", "lambda", "gamma"}:
        final, lam = (as_number(weights[key], f"weights.{key}") for key in ("final", "lambda"))
        return FinalWeights(final, lam, as_number(weights.get("gamma", 1.0), "weights.gamma"))
    raise ProblemError(f"weights: {', '.join(sorted(map(str, keys)))}: not known, or not together; give {_WEIGHTS}")
