"""Documents and nouns: reads `coordpath.problem/1` strictly, and writes it.

By hand and without pydantic, so that `solve` starts fast. Every refusal names the key path and what to do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coordpath_governance.canonical import read_json
from coordpath_governance.costs import QuadraticCost
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.problem import PathProblem, StepRange, check_features
from coordpath_governance.paths.weights import ExplicitWeights, FinalWeights, GeometricWeights, Weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["PROBLEM_SCHEMA", "as_number", "parse_json", "parse_problem", "parse_weights", "problem_to_dict"]

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
    return dict(_mapping(read_json(content, "the problem", ProblemError), "the problem"))


def parse_problem(document: Mapping[str, Any]) -> PathProblem:
    """The problem a document asks; `ProblemError` names the key that is wrong."""
    given = _mapping(document, "the problem")
    _only(given, _KEYS, "")
    schema = given.get("schema", PROBLEM_SCHEMA)
    if schema != PROBLEM_SCHEMA:
        raise ProblemError(f"schema: {_shown(schema)} is not known; this version reads {PROBLEM_SCHEMA!r}")
    step_type = given.get("step_type", "coordinate")
    if step_type != "coordinate":
        raise ProblemError(f"step_type: {_shown(step_type)} is not known; use 'coordinate'")
    features = _texts(_needed(given, "features", ""), "features")
    check_features(features)
    cost = _cost(_mapping(_needed(given, "cost", ""), "cost"), len(features))
    start = given.get("start")
    target = given.get("target")
    return PathProblem(
        features=features,
        cost=cost,
        start=np.zeros(len(features)) if start is None else _vector(start, "start", len(features)),
        target=None if target is None else _vector(target, "target", len(features)),
        steps=_steps(given.get("steps")),
        max_steps=_optional(given.get("max_steps"), "max_steps", _integer),
        groups=_groups(given.get("groups")),
        weights=parse_weights(given.get("weights")),
        solver=_text(given.get("solver", "auto"), "solver"),
        time_limit=_optional(given.get("time_limit"), "time_limit", as_number),
        seed=_integer(given.get("seed", 0), "seed"),
    )


def problem_to_dict(problem: PathProblem) -> dict[str, Any]:
    """The document of a problem; reading it back gives the same problem."""
    steps: object = problem.steps
    if isinstance(problem.steps, StepRange):
        steps = {"min": problem.steps.least, "max": problem.steps.most}
    return {
        "schema": PROBLEM_SCHEMA,
        "features": list(problem.features),
        "cost": {
            "kind": "quadratic",
            "gram": problem.cost.gram.tolist(),
            "linear": problem.cost.linear.tolist(),
            "constant": problem.cost.constant,
            "scale": problem.cost.scale,
        },
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


def _cost(given: Mapping[str, Any], size: int) -> QuadraticCost:
    _only(given, _COST_KEYS, "cost.")
    kind = given.get("kind", "quadratic")
    if kind != "quadratic":
        raise ProblemError(f"cost.kind: {_shown(kind)} is not known; use 'quadratic'")
    rows = _list(_needed(given, "gram", "cost."), "cost.gram")
    if len(rows) != size:
        raise ProblemError(f"cost.gram: has {len(rows)} rows, but there are {size} features; give {size}×{size}")
    gram = [_vector(row, f"cost.gram[{i}]", size) for i, row in enumerate(rows)]
    return QuadraticCost(
        np.array(gram).reshape(size, size),
        _vector(_needed(given, "linear", "cost."), "cost.linear", size),
        as_number(given.get("constant", 0.0), "cost.constant"),
        _text(given.get("scale", "1/n"), "cost.scale"),
    )


def _steps(given: object) -> int | StepRange | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        _only(given, ("min", "max"), "steps.")
        least = _integer(_needed(given, "min", "steps."), "steps.min")
        return StepRange(least, _integer(_needed(given, "max", "steps."), "steps.max"))
    return _integer(given, "steps")


def _groups(given: object) -> tuple[tuple[str, ...], ...]:
    if given is None:
        return ()
    return tuple(_texts(group, f"groups[{g}]") for g, group in enumerate(_list(given, "groups")))


def parse_weights(given: object) -> Weights:
    """The weights a document asks for; null is γ = 1."""
    if given is None:
        return GeometricWeights()
    weights = _mapping(given, "weights")
    keys = set(weights)
    if not keys:
        raise ProblemError(f"weights: is empty; give {_WEIGHTS}, or leave it out")
    for key in ("alpha", "p"):
        if keys == {key}:
            values = _list(weights[key], f"weights.{key}")
            return ExplicitWeights(tuple(as_number(v, f"weights.{key}[{k}]") for k, v in enumerate(values)), key)
    if keys == {"gamma"}:
        return GeometricWeights(as_number(weights["gamma"], "weights.gamma"))
    if {"final", "lambda"} <= keys <= {"final", "lambda", "gamma"}:
        final, lam = (as_number(weights[key], f"weights.{key}") for key in ("final", "lambda"))
        return FinalWeights(final, lam, as_number(weights.get("gamma", 1.0), "weights.gamma"))
    raise ProblemError(f"weights: {', '.join(sorted(map(str, keys)))}: not known, or not together; give {_WEIGHTS}")


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ProblemError(f"{where}: is {_shown(value)}; give an object")
    return value


def _only(given: Mapping[str, Any], known: tuple[str, ...], prefix: str) -> None:
    for key in given:
        if key not in known:
            raise ProblemError(f"{prefix}{key}: is not a known key; use {', '.join(known)}")


def _needed(given: Mapping[str, Any], key: str, prefix: str) -> Any:  # noqa: ANN401 - any JSON value
    if key not in given:
        raise ProblemError(f"{prefix}{key}: is missing; it has no default")
    return given[key]


def _list(value: object, where: str) -> list[Any]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise ProblemError(f"{where}: is {_shown(value)}; give a list")
    return list(value)


def _vector(value: object, where: str, size: int) -> NDArray[np.float64]:
    values = _list(value, where)
    if len(values) != size:
        raise ProblemError(f"{where}: has {len(values)} entries, but there are {size} features; give one for each")
    return np.array([as_number(entry, f"{where}[{i}]") for i, entry in enumerate(values)], dtype=np.float64)


def _texts(value: object, where: str) -> tuple[str, ...]:
    return tuple(_text(entry, f"{where}[{i}]") for i, entry in enumerate(_list(value, where)))


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ProblemError(f"{where}: is {_shown(value)}; give a text")
    return str(value)


def as_number(value: object, where: str) -> float:
    """A finite number; whatever else it is, is an error that begins with ``where``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ProblemError(f"{where}: is {_shown(value)}; give a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise ProblemError(f"{where}: is NaN; give a finite number")
    if math.isinf(number):
        raise ProblemError(f"{where}: is {_shown(value)}, not a finite number in double precision; rescale it")
    return number


def _integer(value: object, where: str) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ProblemError(f"{where}: is {_shown(value)}; give an integer")
    return int(value)


def _optional(value: object, where: str, read: Callable[[object, str], Any]) -> Any:  # noqa: ANN401 - what read returns
    return None if value is None else read(value, where)


def _shown(value: object) -> str:
    """A value as JSON spells it (but texts as in all messages), short enough for one."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**20:
        return "a very large integer"
    try:
        text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
