"""Constraints in documents: read, written, refused, and conflicts that are told by name."""

from __future__ import annotations

import pytest

from coordpath_governance.errors import ProblemError, SolverUnavailableError
from coordpath_governance.paths import model_loss, pareto_front, parse_problem, problem_to_dict, solve
from coordpath_governance.paths.constraints import Constraints

ALL = {
    "box": {"a": [-1, 3], "b": [None, 2.5]},
    "sign": {"a": "positive", "b": "negative"},
    "frozen": ["c"],
    "order": [["a", "b"]],
    "monotone": True,
}


def three(**more):
    """Three features that hardly interact; the target is the best model."""
    gram = [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]
    return {"features": ["a", "b", "c"], "cost": {"gram": gram, "linear": [1.5, -1.5, 0], "constant": 9}, **more}


def test_constraints_are_written_as_they_were_read():
    problem = parse_problem(three(target=[3, -3, 0], constraints=ALL))
    written = problem_to_dict(problem)
    assert written["constraints"] == ALL
    assert problem_to_dict(parse_problem(written)) == written
    assert "constraints" not in problem_to_dict(parse_problem(three(target=[3, -3, 0], constraints={})))
    assert parse_problem(three(target=[3, -3, 0], constraints=None)).constraints == Constraints()


@pytest.mark.parametrize(
    ("constraints", "says"),
    [
        ([], r"constraints: is \[\]; give an object"),
        ({"boxes": {}}, r"constraints\.boxes: is not a known key; use box, sign, frozen, order, place, monotone"),
        ({"box": {"z": [0, 1]}}, r"constraints\.box: 'z' is not one of the features"),
        ({"box": {"a": [0]}}, r"constraints\.box\.a: has 1 entries; give \[lo, hi\]"),
        ({"box": {"a": [2, 1]}}, r"constraints\.box\.a: \[2, 1\] holds no value; give lo ≤ hi"),
        ({"box": {"a": ["0", 1]}}, r"constraints\.box\.a\[0\]: is '0'; give a number"),
        ({"sign": {"a": "plus"}}, r"constraints\.sign\.a: is 'plus'; give 'positive'"),
        ({"sign": {"a": ["positive"]}}, r"constraints\.sign\.a: is \[\"positive\"\]; give 'positive'"),
        ({"frozen": ["z"]}, r"constraints\.frozen\[0\]: 'z' is not one of the features"),
        ({"order": [["a"]]}, r"constraints\.order\[0\]: is \[\"a\"\]; give two features"),
        ({"order": [["a", "a"]]}, r"constraints\.order\[0\]: is \[\"a\", \"a\"\]; give two features"),
        ({"order": [["a", "z"]]}, r"constraints\.order\[0\]: 'z' is not one of the features"),
        ({"monotone": 1}, r"constraints\.monotone: is 1; give true or false"),
    ],
    ids=str,
)
def test_what_is_no_constraint_is_refused_by_its_key(constraints, says):
    with pytest.raises(ProblemError, match=says):
        parse_problem(three(target=[3, -3, 0], constraints=constraints))


@pytest.mark.parametrize(
    ("constraints", "more", "says"),
    [
        ({"box": {"a": [1, 2]}, "sign": {"a": "negative"}}, {}, r"box a \[1, 2\] and sign a negative leave no value"),
        ({"box": {"a": [0, 1]}}, {}, r"box a \[0, 1\], but target is 3"),
        ({"box": {"a": [None, 2]}}, {}, r"box a \[null, 2\], but target is 3"),
        ({"box": {"b": [0, None]}}, {}, r"box b \[0, null\], but target is -3"),
        ({"sign": {"b": "positive"}}, {}, r"sign b positive, but target is -3"),
        ({"frozen": ["a"]}, {}, r"frozen a, but target moves it"),
        ({"order": [["a", "b"], ["b", "a"]]}, {}, r"order a → b → a"),
        ({"order": [["a", "c"], ["c", "b"], ["b", "a"]]}, {"target": [3, -3, 1]}, r"order a → c → b → a"),
        (
            {"order": [["a", "c"], ["c", "b"]]},
            {"target": [3, -3, 1], "groups": [["a", "b"]]},
            r"order a → c and order c → b, where the features of a group move as one",
        ),
        ({"monotone": True}, {"target": [-3, 3, 0]}, r"monotone, but the target costs more than the start"),
        ({"monotone": True}, {"target": [-3, 3, 0], "steps": 4}, r"monotone, but the target costs more than the start"),
        (
            {"monotone": True},
            {"target": [-3, 3, 0], "step_type": "unit"},
            r"monotone, but the target costs more than the st",
        ),
    ],
    ids=str,
)
def test_constraints_that_cannot_be_met_are_named(constraints, more, says):
    with pytest.raises(ProblemError, match="^constraints: " + says):
        solve({**three(target=[3, -3, 0]), "constraints": constraints, **more})


def test_what_need_not_move_is_not_bound_and_holds_up_nobody():
    meets = {"box": {"c": [5, 6]}, "frozen": ["c"], "order": [["c", "a"], ["c", "b"]]}
    found = solve(three(target=[3, -3, 0], constraints=meets))
    assert (found.status, len(found.path.steps)) == ("optimal", 2)
    grouped = {"order": [["a", "b"]]}
    assert len(solve(three(target=[3, -3, 1], groups=[["a", "b"]], constraints=grouped)).path.steps) == 2


def test_only_the_constraints_that_conflict_are_named():
    compensating = {
        "features": ["a", "b", "c"],
        "cost": {"gram": [[1, 0.99, 0], [0.99, 1, 0], [0, 0, 1]], "linear": [1e-3, -1e-3, 1], "constant": 9},
        "target": [0.09, -0.09, 1],
    }
    with pytest.raises(ProblemError, match=r"^constraints: order a → c and monotone cannot be met together"):
        solve({**compensating, "constraints": {"monotone": True, "order": [["a", "c"], ["c", "b"]]}})
    assert solve({**compensating, "constraints": {"monotone": True}}).status == "optimal"
    with pytest.raises(ProblemError, match=r"^constraints: monotone, but every path costs more than the start on the way"):
        solve({**compensating, "target": [0.09, -0.09, 0], "constraints": {"monotone": True, "order": [["a", "b"]]}})


def test_losses_and_fronts_are_over_all_paths():
    with pytest.raises(ProblemError, match=r"^constraints: the loss of a model is over all paths"):
        model_loss(three(target=[3, -3, 0], constraints={"monotone": True}))
    with pytest.raises(ProblemError, match=r"^constraints: a front is over all coordinate paths"):
        pareto_front(three(steps=2, constraints={"monotone": True}))
    with pytest.raises(ProblemError, match=r"^step_type: a front is over all coordinate paths"):
        pareto_front(three(steps=2, step_type="unit"))
    assert model_loss(three(target=[2, -1, 0], step_type="unit")).lengths[0] == 3


@pytest.mark.parametrize("more", [{}, {"steps": 4}, {"steps": 4, "target": None}], ids=str)
def test_solvers_that_keep_to_no_constraints_say_so(more):
    with pytest.raises(SolverUnavailableError, match=r"^solver gurobi: keeps to no constraints here; use auto"):
        solve({**three(target=[3, -3, 0]), "constraints": {"order": [["a", "b"]]}, "solver": "gurobi", **more})
