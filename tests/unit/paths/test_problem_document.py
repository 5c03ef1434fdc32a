from __future__ import annotations

import json

import numpy as np
import pytest

from coordpath_governance.canonical import read_json
from coordpath_governance.errors import ProblemError, ReferenceDataError
from coordpath_governance.paths import StepRange, parse_json, parse_problem, problem_to_dict, solve
from coordpath_governance.paths.weights import FinalWeights, GeometricWeights

INF, NAN = float("inf"), float("nan")


def put(document, path, value):
    """A copy of the document with one entry replaced."""
    copy = json.loads(json.dumps(document))
    *way, last = path
    place = copy
    for key in way:
        place = place[key]
    place[last] = value
    return copy


def test_optional_keys_may_be_left_out(toy):
    problem = parse_problem({"features": ["a"], "cost": {"gram": [[1]], "linear": [2]}, "steps": 1})
    assert problem.start.tolist() == [0.0]
    assert problem.target is None
    assert (problem.solver, problem.seed, problem.time_limit, problem.groups) == ("auto", 0, None, ())
    assert problem.weights == GeometricWeights(1.0)
    assert (problem.cost.constant, problem.cost.scale) == (0.0, "1/n")
    nulls = {"start": None, "groups": None, "weights": None, "max_steps": None, "steps": None, "time_limit": None}
    assert parse_problem({**toy, **nulls}).start.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"steps": 3},
        {"steps": {"min": 2, "max": 4}, "weights": {"alpha": [1, 2, 3, 4]}},
        {"max_steps": 1, "weights": {"p": [0.5, 0.5]}, "time_limit": 60, "seed": 7},
        {"target": None, "steps": 2, "weights": {"final": 1, "lambda": 0.5, "gamma": 0.9}, "solver": "local"},
        {"groups": [["b", "a"]], "cost": {"gram": [[1, 0], [0, 1]], "linear": [1, 1], "scale": "1/2n"}},
    ],
)
def test_documents_read_back(toy, more):
    document = problem_to_dict(parse_problem({**toy, **more}))
    assert problem_to_dict(parse_problem(json.loads(json.dumps(document)))) == document
    assert solve(document).to_dict() == solve({**toy, **more}).to_dict()


def test_numpy_values_are_numbers(toy):
    document = {**toy, "start": np.zeros(2), "seed": np.int64(3), "time_limit": np.float64(5)}
    document["cost"] = {**toy["cost"], "gram": np.array(toy["cost"]["gram"])}
    assert problem_to_dict(parse_problem(document))["seed"] == 3
    with pytest.raises(ProblemError, match=r"^start\[1\]: is NaN; give a finite number"):
        parse_problem({**document, "start": np.array([0.0, NAN])})
    with pytest.raises(ProblemError, match=r"^cost.gram\[0\]\[1\]: is Infinity"):
        parse_problem({**document, "cost": {**document["cost"], "gram": np.array([[1.0, INF], [INF, 1.0]])}})
    with pytest.raises(ProblemError, match=r"^cost.gram: has 1 rows"):
        parse_problem({**document, "cost": {**document["cost"], "gram": np.ones((1, 2))}})


def test_final_weights_have_a_gamma_of_one_by_default(toy):
    assert parse_problem({**toy, "weights": {"final": 1, "lambda": 2}}).weights == FinalWeights(1.0, 2.0, 1.0)


def test_a_range_is_raised_to_the_number_of_changed_units(toy):
    for steps in ({"min": 1, "max": 3}, {"max": 3}):
        assert parse_problem({**toy, "steps": steps}).steps == StepRange(1, 3)
    problem = parse_problem({**toy, "steps": {"min": 1, "max": 3}})
    assert (problem.least_terms, problem.most_terms) == (2, 3)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schema",), "coordpath.problem/2", "^schema: "),
        (("schema",), "coordpath.change_report/1", "^schema: .* give what it has under 'problem'"),
        (("schema",), None, "^schema: "),
        (("step_type",), "group", "^step_type: "),
        (("features",), [], "^features: is empty"),
        (("features",), ["a", "a"], r"^features\[1\]: 'a' is there twice"),
        (("features",), ["a", 1], r"^features\[1\]: is 1; give a text"),
        (("features",), "ab", "^features: is 'ab'; give a list"),
        (("features",), ["a", "b", "c"], "^cost.gram: has 2 rows"),
        (("cost",), [1], r"^cost: is \[1\]; give an object"),
        (("cost", "kind"), "hinge", "^cost.kind: .hinge. is not known; use quadratic, logistic"),
        (("cost", "gram", 1), [1], r"^cost.gram\[1\]: has 1 entries"),
        (("cost", "gram", 1, 0), "0.9", r"^cost.gram\[1\]\[0\]: is '0.9'; give a number"),
        (("cost", "gram", 1, 0), True, r"^cost.gram\[1\]\[0\]: is true; give a number"),
        (("cost", "gram", 1, 0), None, r"^cost.gram\[1\]\[0\]: is null; give a number"),
        (("cost", "gram", 1, 0), 10**400, r"^cost.gram\[1\]\[0\]: is a very large integer, not a finite"),
        (("cost", "gram", 1, 0), NAN, r"^cost.gram\[1\]\[0\]: is NaN; give a finite number$"),
        (("cost", "gram", 1, 0), -0.9, "symmetric"),
        (("cost", "gram"), [[1, 2], [2, 1]], "positive semi-definite"),
        (("cost", "gram"), [[1, 0], [0, 0]], "^cost.linear: lies outside the range"),
        (("cost", "linear"), [1], "^cost.linear: has 1 entries"),
        (("cost", "linear", 0), INF, r"^cost.linear\[0\]: is Infinity, not a finite number .* rescale it"),
        (("cost", "linear", 0), NAN, r"^cost.linear\[0\]: is NaN; give a finite number$"),
        (("cost", "constant"), "1", "^cost.constant: "),
        (("cost", "scale"), "1/3n", "^cost.scale: "),
        (("cost", "scale"), 1, "^cost.scale: "),
        (("cost", "more"), 1, "^cost.more: is not a known key"),
        (("more",), 1, "^more: is not a known key"),
        (("start",), [0], "^start: has 1 entries"),
        (("start", 0), NAN, r"^start\[0\]: is NaN; give a finite number$"),
        (("target",), 3, "^target: is 3; give a list"),
        (("target",), [1, 2, 3], "^target: has 3 entries"),
        (("target",), None, "^steps: a free end"),
        (("steps",), 1, "^steps: 1 are too few"),
        (("steps",), 0, "^steps: 0 is too small"),
        (("steps",), 2.0, "^steps: is 2.0; give an integer"),
        (("steps",), True, "^steps: is true"),
        (("steps",), 100_000, "^steps: 100000 is more than"),
        (("steps",), {"min": 3, "max": 2}, "^steps: the range 3 to 2"),
        (("steps",), {"min": 0, "max": 2}, "^steps: the range 0 to 2"),
        (("steps",), {"min": 1, "max": 1}, "^steps: 1 are too few"),
        (("steps",), {"min": 2}, "^steps.max: is missing"),
        (("steps",), {"min": 1, "max": 4, "most": 5}, "^steps.most: is not a known key"),
        (("max_steps",), 0, "^max_steps: 0 is too small"),
        (("max_steps",), "10", "^max_steps: is '10'"),
        (("groups",), [[]], r"^groups\[0\]: is empty"),
        (("groups",), [["a", "z"]], r"^groups\[0\]\[1\]: 'z' is not one of the features"),
        (("groups",), [["a"], ["a"]], r"^groups\[1\]\[0\]: 'a' is already in a group"),
        (("groups",), ["a"], r"^groups\[0\]: is 'a'; give a list"),
        (("weights",), [1, 2], "^weights: is "),
        (("weights",), {}, "^weights: is empty; give gamma, or .*, or leave it out"),
        (("weights",), {"gama": 1}, "^weights: gama: not known"),
        (("weights",), {"gamma": 1, "alpha": [1, 1]}, "^weights: alpha, gamma: not known, or not together; give gamma, or"),
        (("weights",), {"lambda": 1, "gamma": 1}, "^weights: gamma, lambda: not known, or not together"),
        (("weights",), {"gamma": -1}, "^weights.gamma: -1.0 is negative"),
        (("weights",), {"gamma": NAN}, "^weights.gamma: is NaN; give a finite number"),
        (("weights",), {"gamma": 0}, "^weights: all are zero"),
        (("weights",), {"alpha": [0, 0]}, "^weights: all are zero"),
        (("weights",), {"alpha": [1]}, "^weights.alpha: has 1 entries, but the path has 2"),
        (("weights",), {"p": [1, -1]}, r"^weights.p\[1\]: -1.0 is negative"),
        (("weights",), {"alpha": [1, "1"]}, r"^weights.alpha\[1\]: "),
        (("weights",), {"gamma": 1e300}, "^weights: overflow"),
        (("weights",), {"final": 0, "lambda": 0}, "^weights: all are zero"),
        (("solver",), "cplex", "^solver: 'cplex' is not known"),
        (("solver",), 1, "^solver: is 1"),
        (("time_limit",), -1, "^time_limit: -1.0"),
        (("time_limit",), INF, "^time_limit: is Infinity"),
        (("time_limit",), "60", "^time_limit: is '60'"),
        (("seed",), -1, "^seed: -1"),
        (("seed",), 1.5, "^seed: is 1.5"),
        (("seed",), 2**64, "^seed: "),
        (("seed",), None, "^seed: is null"),
    ],
)
def test_every_bad_input_is_named(toy, path, value, message):
    with pytest.raises(ProblemError, match=message):
        parse_problem(put(toy, path, value))


@pytest.mark.parametrize("key", ["features", "cost"])
def test_needed_keys(toy, key):
    with pytest.raises(ProblemError, match=f"^{key}: is missing"):
        parse_problem({k: v for k, v in toy.items() if k != key})


@pytest.mark.parametrize("key", ["gram", "linear"])
def test_needed_keys_of_the_cost(toy, key):
    with pytest.raises(ProblemError, match=f"^cost.{key}: is missing"):
        parse_problem({**toy, "cost": {k: v for k, v in toy["cost"].items() if k != key}})


def test_contradictions(toy):
    with pytest.raises(ProblemError, match="contradicts steps"):
        parse_problem({**toy, "steps": 3, "max_steps": 2})
    with pytest.raises(ProblemError, match="needs a target"):
        parse_problem({**toy, "target": None, "max_steps": 2})
    with pytest.raises(ProblemError, match="the problem: is 3; give an object"):
        parse_problem(3)
    with pytest.raises(ProblemError, match=r"schema: 'xxx.*\.\.\. is not known"):
        parse_problem({**toy, "schema": "x" * 500})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff{}", "not UTF-8"),
        ("{", "not JSON: line 1"),
        ("[1]", "give an object"),
        ('{"a": 1, "a": 2}', "the key 'a' is there twice"),
        ('{"a": NaN}', "^the problem: a: is NaN; give a finite number or null"),
        ("NaN", "^the problem: is NaN"),
        (
            '{"n": [1, {}], "a": {"b": [[], [1, -Infinity, NaN]]}}',
            r"^the problem: a.b\[1\]\[1\]: is -Infinity; give a finite",
        ),
        ('{"' + "k" * 1000 + '": NaN}', "^the problem: k{200}: is NaN"),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
        ('{"a": ' + "1" * 5000 + "}", "cannot be read"),
    ],
)
def test_untrusted_json(content, message):
    with pytest.raises(ProblemError, match=message):
        parse_json(content)


def test_what_json_cannot_spell_is_named_by_its_type(toy):
    for value, shown in (({1, 2}, "a set"), ([None, {"a": True}], r"\[null, {\"a\": true}\]")):
        with pytest.raises(ProblemError, match=f"^cost: is {shown}; give an object"):
            parse_problem({**toy, "cost": value})


def test_json_that_is_fine_or_too_large(toy, monkeypatch):
    assert parse_json(json.dumps(toy).encode()) == toy
    assert parse_json(json.dumps(toy).encode("utf-8-sig")) == parse_json("\ufeff" + json.dumps(toy)) == toy
    monkeypatch.setitem(read_json.__kwdefaults__, "max_bytes", 10)
    with pytest.raises(ProblemError, match="at most 10"):
        parse_json(json.dumps(toy))


ON_ROWS = {
    "features": ["a", "b"],
    "cost": {"kind": "poisson", "rows": {"design": [[1, 0.5], [1, -1], [1, 2]], "target": [0, 1, 3]}},
    "start": [0, 0],
    "target": [0.5, 0.25],
}
CLASSES = {
    "features": ["a0", "a1", "a2"],
    "cost": {"kind": "multinomial", "classes": 3, "rows": {"design": [[1], [2], [3], [4]], "target": [0, 1, 2, 0]}},
    "groups": [["a0", "a1", "a2"]],
    "target": [0.5, 0.25, -0.75],
}


@pytest.mark.parametrize(
    "document",
    [
        ON_ROWS,
        put(ON_ROWS, ("cost", "rows", "weight"), [1, 2, 0]),
        put(ON_ROWS, ("cost", "rows", "offset"), [0.1, -0.2, 0.3]),
        put(put(ON_ROWS, ("cost", "kind"), "tweedie"), ("cost", "power"), 1.5),
        put(put(ON_ROWS, ("cost", "kind"), "gamma"), ("cost", "rows", "target"), [1, 2, 3]),
        put(put(ON_ROWS, ("cost", "kind"), "logistic"), ("cost", "rows", "target"), [0, 1, 1]),
        CLASSES,
    ],
)
def test_costs_on_rows_read_back(document):
    again = problem_to_dict(parse_problem(document))
    assert problem_to_dict(parse_problem(json.loads(json.dumps(again)))) == again
    assert solve(again).to_dict() == solve(document).to_dict()
    assert solve(document).status == "optimal"


def test_a_feature_that_separates_the_classes_is_named():
    rows = {"design": [[1, 20], [1, 30], [1, 40], [1, 50]], "target": [0, 0, 1, 1]}
    document = {"features": ["one", "age"], "cost": {"kind": "logistic", "rows": rows}, "target": None, "steps": 2}
    with pytest.raises(ReferenceDataError, match="all 2 rows with the class '1' have 'age' ≥ 40"):
        solve(document)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("cost", "kind"), "probit", "cost.kind: 'probit' is not known; use quadratic, logistic"),
        (("cost", "kind"), 3, "cost.kind: is 3; give a text"),
        (("cost", "kind"), "tweedie", "cost.power: belongs to the kind 'tweedie'"),
        (("cost", "power"), 1.5, "cost.power: belongs to the kind 'tweedie'"),
        (("cost", "classes"), 3, "cost.classes: belongs to the kind 'multinomial'"),
        (("cost", "kind"), "multinomial", "cost.classes: belongs to the kind 'multinomial'"),
        (("cost", "gram"), [[1]], "cost.gram: is not a known key"),
        (("cost", "rows"), [1], "cost.rows: is [1]; give an object"),
        (("cost", "record"), {}, "cost: needs either 'rows' or 'record'"),
        (("cost", "rows", "columns"), [1], "cost.rows.columns: is not a known key"),
        (("cost", "rows", "design"), [[1, 2], [1]], "cost.rows.design[1]: has 1 entries, but there are 2 columns"),
        (("cost", "rows", "design"), [[1, 2]], "cost.rows: 1 rows of design and 3 of target"),
        (("cost", "rows", "design"), [[1, 2], [1, "x"], [1, 2]], "cost.rows.design[1][1]: is 'x'; give a number"),
        (("cost", "rows", "design"), None, "cost.rows.design: is null; give a list"),
        (
            ("cost", "rows", "target"),
            [0, -1, 2],
            "target[1]: -1.0 is no target of the kind 'poisson'; give numbers from 0 on",
        ),
        (("cost", "rows", "target"), [0, 1, INF], "cost.rows.target[2]"),
        (("cost", "rows", "weight"), [1, 1], "cost.rows.weight: has 2 entries, but there are 3 rows"),
        (("cost", "rows", "weight"), [1, -1, 1], "weights are negative"),
        (("cost", "rows", "weight"), [0, 0, 0], "weights of 3 rows add up to 0"),
        (("cost", "rows", "offset"), [1, None, 1], "cost.rows.offset[1]: is null; give a number"),
    ],
)
def test_every_bad_cost_on_rows_is_named(path, value, message):
    with pytest.raises(ProblemError) as caught:
        parse_problem(put(ON_ROWS, path, value))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("cost", "classes"), 2, "features: 3 are not a whole number of columns for 2 classes"),
        (("cost", "classes"), 1, "cost.classes: 1 classes make no multinomial cost"),
        (("cost", "classes"), "3", "cost.classes: is '3'; give an integer"),
        (("cost", "rows", "target"), [0, 1, 2, 3], "target[3]: 3.0 is no target of the kind 'multinomial'; give the"),
    ],
)
def test_every_bad_cost_of_classes_is_named(path, value, message):
    with pytest.raises(ProblemError) as caught:
        parse_problem(put(CLASSES, path, value))
    assert message in str(caught.value)


def test_needed_keys_of_rows():
    for key in ("design", "target"):
        document = json.loads(json.dumps(ON_ROWS))
        del document["cost"]["rows"][key]
        with pytest.raises(ProblemError, match=f"cost.rows.{key}: is missing"):
            parse_problem(document)
    document = put(ON_ROWS, ("cost",), {"kind": "poisson"})
    with pytest.raises(ProblemError, match="needs either 'rows' or 'record'"):
        parse_problem(document)
    with pytest.raises(ProblemError, match=r"cost\.power: 2\.5 is not between 1 and 2"):
        parse_problem(put(put(ON_ROWS, ("cost", "kind"), "tweedie"), ("cost", "power"), 2.5))


def test_rows_as_an_array_are_what_the_same_rows_as_lists_are():
    design, target = np.arange(12).reshape(6, 2) % 5, [0, 1, 0, 1, 1, 0]
    asked = {"features": ["a", "b"], "target": [1, 2], "cost": {"kind": "logistic", "rows": {"target": target}}}
    answers = []
    for given in (design, design.astype(np.float32), design.tolist()):
        asked["cost"]["rows"]["design"] = given
        answers.append(solve(asked).to_dict())
    assert answers[0] == answers[1] == answers[2]
    for wrong, said in ((design[:, :1], "has 1 entries"), (design + INF, "not a finite number"), (design > 1, "false")):
        asked["cost"]["rows"]["design"] = wrong
        with pytest.raises(ProblemError, match=said):
            solve(asked)


def test_numbers_too_large_for_a_double_are_named():
    with pytest.raises(ProblemError, match=r"target\[1\]: is a very large integer, not a finite number"):
        solve({"features": ["a", "b"], "target": [1, 10**400], "cost": {"gram": [[1, 0], [0, 1]], "linear": [0, 0]}})


def test_progress_is_a_function():
    problem = {"features": ["a"], "target": [1], "cost": {"gram": [[1]], "linear": [0]}}
    with pytest.raises(ProblemError, match="progress: is 3; give a function"):
        solve(problem, progress=3)
