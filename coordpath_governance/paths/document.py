"""Documents and nouns: reads `coordpath.problem/1` strictly, and writes it.

By hand and without pydantic, so that `solve` starts fast. Every refusal names the key path and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coordpath_governance.canonical import read_json
from coordpath_governance.costs import QuadraticCost
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.convex.document import convex_cost, convex_cost_document
from coordpath_governance.paths.convex.record import RecordedCost
from coordpath_governance.paths.problem import PathProblem, StepRange, check_features
from coordpath_governance.paths.reading import (
    as_integer,
    as_list,
    as_mapping,
    as_matrix,
    as_number,
    as_text,
    as_texts,
    as_vector,
    needed,
    only,
    optional,
    shown,
)
from coordpath_governance.paths.weights import ExplicitWeights, FinalWeights, GeometricWeights, Weights

if TYPE_CHECKING:
    from coordpath_governance.costs import GlmCost

__all__ = ["PROBLEM_SCHEMA", "parse_json", "parse_problem", "parse_weights", "problem_to_dict"]

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
    "solver",
    "time_limit",
    "seed",
)
_WEIGHTS = "gamma, or alpha, or p, or final, lambda and gamma"
_COST_KEYS = ("kind", "gram", "linear", "constant", "scale")


def parse_json(content: bytes | str) -> dict[str, Any]:
    """The problem document in untrusted text: strict JSON, and an object."""
    return dict(as_mapping(read_json(content, "the problem", ProblemError), "the problem"))


def parse_problem(document: Mapping[str, Any]) -> PathProblem:
    """The problem a document asks; `ProblemError` names the key that is wrong."""
    given = as_mapping(document, "the problem")
    schema = given.get("schema", PROBLEM_SCHEMA)
    if isinstance(schema, str) and schema.startswith("coordpath.change_report/"):
        raise ProblemError("schema: this is a change report; give what it has under 'problem'")
    if not isinstance(schema, str) or schema != PROBLEM_SCHEMA:
        raise ProblemError(f"schema: {shown(schema)} is not known; this version reads {PROBLEM_SCHEMA!r}")
    only(given, _KEYS, "")
    step_type = given.get("step_type", "coordinate")
    if not isinstance(step_type, str) or step_type != "coordinate":
        raise ProblemError(f"step_type: {shown(step_type)} is not known; use 'coordinate'")
    features = as_texts(needed(given, "features", ""), "features")
    check_features(features)
    cost = _cost(as_mapping(needed(given, "cost", ""), "cost"), features)
    start = given.get("start")
    target = given.get("target")
    return PathProblem(
        features=features,
        cost=cost,
        start=np.zeros(len(features)) if start is None else as_vector(start, "start", len(features)),
        target=None if target is None else as_vector(target, "target", len(features)),
        steps=_steps(given.get("steps")),
        max_steps=optional(given.get("max_steps"), "max_steps", as_integer),
        groups=_groups(given.get("groups")),
        weights=parse_weights(given.get("weights")),
        solver=as_text(given.get("solver", "auto"), "solver"),
        time_limit=optional(given.get("time_limit"), "time_limit", as_number),
        seed=as_integer(given.get("seed", 0), "seed"),
    )


def problem_to_dict(problem: PathProblem) -> dict[str, Any]:
    """The document of a problem; reading it back gives the same problem."""
    steps: object = problem.steps
    if isinstance(problem.steps, StepRange):
        steps = {"min": problem.steps.least, "max": problem.steps.most}
    return {
        "schema": PROBLEM_SCHEMA,
        "features": list(problem.features),
        "cost": _cost_document(problem),
        "start": problem.start.tolist(),
        "target": None if problem.target is None else problem.target.tolist(),
        "steps": steps,
        "max_steps": problem.max_steps,
        "groups": [list(group) for group in problem.groups],
        "weights": problem.weights.to_dict(),
        "step_type": "coordinate",
        "solver": problem.solver,
        "time_limit": problem.time_limit,
        "seed": problem.seed,
    }


def _cost_document(problem: PathProblem) -> dict[str, Any]:
    cost = problem.cost
    if not isinstance(cost, QuadraticCost):
        return convex_cost_document(cost)
    return {
        "kind": "quadratic",
        "gram": cost.gram.tolist(),
        "linear": cost.linear.tolist(),
        "constant": cost.constant,
        "scale": cost.scale,
    }


def _cost(given: Mapping[str, Any], features: tuple[str, ...]) -> QuadraticCost | GlmCost | RecordedCost:
    kind = given.get("kind", "quadratic")
    if not isinstance(kind, str) or kind != "quadratic":
        return convex_cost(given, features)
    size = len(features)
    only(given, _COST_KEYS, "cost.")
    rows = as_list(needed(given, "gram", "cost."), "cost.gram")
    if len(rows) != size:
        raise ProblemError(f"cost.gram: has {len(rows)} rows, but there are {size} features; give {size}×{size}")
    gram = as_matrix(rows, "cost.gram", size)
    return QuadraticCost(
        np.array(gram).reshape(size, size),
        as_vector(needed(given, "linear", "cost."), "cost.linear", size),
        as_number(given.get("constant", 0.0), "cost.constant"),
        as_text(given.get("scale", "1/n"), "cost.scale"),
    )


def _steps(given: object) -> int | StepRange | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        only(given, ("min", "max"), "steps.")
        least = as_integer(given.get("min", 1), "steps.min")
        return StepRange(least, as_integer(needed(given, "max", "steps."), "steps.max"))
    return as_integer(given, "steps")


def _groups(given: object) -> tuple[tuple[str, ...], ...]:
    if given is None:
        return ()
    return tuple(as_texts(group, f"groups[{g}]") for g, group in enumerate(as_list(given, "groups")))


def parse_weights(given: object) -> Weights:
    """The weights a document asks for; null is γ = 1."""
    if given is None:
        return GeometricWeights()
    weights = as_mapping(given, "weights")
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
