"""The JSON Schemas of problems and paths: as they are kept in docs/, and true of what is read and written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths import parse_problem, problem_to_dict, solve
from coordpath_governance.paths.document_schemas import path_schema, problem_schema
from coordpath_governance.paths.problem_document import _KEYS

jsonschema = pytest.importorskip("jsonschema")
KEPT = Path(__file__).parents[3] / "docs" / "schemas"

QUESTIONS = (
    {},
    {"max_steps": 1},
    {"target": None, "steps": 2, "weights": {"final": 1, "lambda": 0.5}},
    {
        "target": None,
        "steps": {"max": 2},
        "step_type": "integer",
        "constraints": {"box": {"a": [0, None]}, "monotone": True},
    },
    {"constraints": {"sign": {"a": "positive"}, "frozen": [], "order": [["a", "b"]]}, "time_limit": 5, "groups": None},
)


@pytest.mark.parametrize(("name", "schema"), [("problem", problem_schema()), ("path", path_schema())])
def test_the_schemas_in_docs_are_these(name, schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    kept = json.loads((KEPT / f"{name}.schema.json").read_text(encoding="utf-8"))
    assert kept == schema, "run python docs/schemas/write.py"


@pytest.mark.parametrize("more", QUESTIONS, ids=str)
def test_what_is_read_and_written_fits_them(toy, more):
    question = {**toy, **more}
    jsonschema.validate(question, problem_schema())
    jsonschema.validate(json.loads(json.dumps(problem_to_dict(parse_problem(question)))), problem_schema())
    jsonschema.validate(solve(question).to_dict(), path_schema())


def test_costs_on_rows_fit_them(convex, from_record):
    for kind in ("logistic", "tweedie", "multinomial"):
        problem = convex(kind, 2)
        solve(problem)
        for each in (problem, from_record(problem)):
            jsonschema.validate(json.loads(json.dumps(problem_to_dict(each))), problem_schema())
    assert set(problem_schema()["properties"]) == set(_KEYS)


@pytest.mark.parametrize(
    "more", [{"constraint": {}}, {"steps": 0}, {"constraints": {"box": {"a": [0]}}}, {"solver": "best"}], ids=str
)
def test_what_is_refused_does_not_fit_them(toy, more):
    with pytest.raises(ProblemError):
        parse_problem({**toy, **more})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**toy, **more}, problem_schema())
