"""Records of convex costs: what they hold is proved again, and what no convex cost can have is refused."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.glm_draws import KINDS

from coordpath_governance.costs import kind_of
from coordpath_governance.errors import ProblemError, UnknownSetError
from coordpath_governance.paths import (
    evaluate_order,
    greedy_order,
    model_loss,
    parse_problem,
    problem_to_dict,
    shapley,
    solve_problem,
)
from coordpath_governance.paths.row_orders.evaluated_sets import corners
from coordpath_governance.paths.row_orders.recorded_cost import RecordedCost, recorded
from coordpath_governance.paths.solvers import set_programme


@pytest.fixture(scope="module")
def written(convex):
    """A solved problem of five units, and the document of its record."""
    problem = convex("gamma", 5, size=0.8, max_steps=3)
    found = solve_problem(problem)
    shapley(problem)
    return found, json.dumps(problem_to_dict(replace(problem, cost=recorded(problem, problem.cost))))


def changed(written, change):
    document = json.loads(written[1])
    change(document["cost"]["record"])
    return document


@pytest.mark.parametrize("kind", KINDS)
def test_everything_a_report_asks_is_in_the_record(convex, from_record, kind):
    problem = convex(kind, 6, offset=kind == "poisson")
    found, order, shares = solve_problem(problem), greedy_order(problem), shapley(problem)
    given = evaluate_order(problem, order)
    again = from_record(problem)
    assert solve_problem(again).to_dict() == found.to_dict()
    assert greedy_order(again) == order
    assert shapley(again) == shares
    assert evaluate_order(again, order).to_dict() == given.to_dict()
    assert again.cost.minimum() == problem.cost.minimum()
    assert again.cost.kind == kind_of(problem.cost.family)
    document = problem_to_dict(again)
    assert problem_to_dict(parse_problem(json.loads(json.dumps(document)))) == document


def test_what_was_never_asked_is_missed_by_name(convex, from_record):
    problem = convex("poisson", 4)
    solve_problem(problem)
    again = from_record(problem)
    with pytest.raises(UnknownSetError, match="lacks the values of 4 sets"):
        again.sets.ask(corners(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), ()]), slopes=False)
    with pytest.raises(UnknownSetError, match="lacks the slopes of 1 sets"):
        again.sets.look(np.full((1, 4), 0.123))
    with pytest.raises(UnknownSetError, match="lacks second derivatives"):
        again.sets.hessian(np.zeros(4))
    fewer = replace(convex("poisson", 4), max_steps=2)
    solve_problem(fewer)
    record = recorded(fewer, fewer.cost)
    with pytest.raises(UnknownSetError, match="depth: is 2, but sets of up to 4 units are needed"):
        solve_problem(replace(problem, cost=record))


def test_a_record_without_the_best_sets_proves_less(written):
    found, _ = written
    for gone in range(12, 20):
        document = changed(written, lambda record, gone=gone: record["evaluations"].pop(gone))
        try:
            again = solve_problem(parse_problem(document))
        except UnknownSetError:
            continue
        assert again.lower_bound <= found.objective + 1e-12
        assert again.objective >= found.objective - 1e-12


def test_sets_alone_are_no_record_of_an_optimum(written):
    """Without slopes nothing is known of other sets."""

    def forget(record):
        record["evaluations"] = [{k: v for k, v in each.items() if k != "slopes"} for each in record["evaluations"]]

    with pytest.raises(UnknownSetError, match="lacks the slopes"):
        solve_problem(parse_problem(changed(written, forget)))


def lower(record):
    record["evaluations"][0]["value"] -= 0.05


def turn(record):
    record["evaluations"][3]["slopes"] = [-slope for slope in record["evaluations"][3]["slopes"]]


def steepen(record):
    record["evaluations"][3]["slopes"][2] += 20.0


def lower_the_target(record):
    """Of the target only the tangents tell anything: it has more units than the curvature holds for."""
    ends = [each for each in record["evaluations"] if each.get("moved") == [0, 1, 2, 3, 4]]
    ends[0]["value"] *= 0.3


FORGED = {
    "minimum too high": (lambda record: record.update(minimum=9.0), "contradicts the minimum"),
    "value too low": (lower, "contradicts the minimum or the slopes"),
    "end too low": (lower_the_target, "contradicts the minimum or the slopes"),
    "slopes turned": (turn, "contradicts the minimum or the slopes"),
    "one slope": (steepen, "contradicts the minimum or the slopes"),
    "negative": (lambda record: record.update(minimum=-1.0), "negative cost"),
    "nothing": (lambda record: record.update(evaluations=[]), "evaluations: is empty"),
    "twice": (lambda record: record["evaluations"].append(record["evaluations"][0]), "is there twice"),
    "not symmetric": (lambda record: record["curvature"][0].__setitem__(1, 0.7), "is not symmetric"),
    "not convex": (lambda record: record["curvature"][2].__setitem__(2, -0.1), "not positive semi-definite"),
    "much curvature": (
        lambda record: record.update(curvature=(8.0 * np.array(record["curvature"])).tolist()),
        "contradicts the minimum or the slopes",
    ),
    "other units": (lambda record: record["curvature"].pop(), "curvature\\[0\\]: has 5 entries, but there are 4 units"),
    "no number": (lambda record: record["curvature"][0].__setitem__(0, None), "curvature\\[0\\]\\[0\\]: is null"),
    "unit out of range": (lambda record: record["evaluations"][0].update(moved=[7]), "moved\\[0\\]: 7 is no unit"),
    "unit below zero": (lambda record: record["evaluations"][0].update(moved=[-1]), "moved\\[0\\]: -1 is no unit"),
    "unit twice": (lambda record: record["evaluations"][0].update(moved=[1, 1]), "moved\\[1\\]: 1 is no unit, or is there"),
    "share too large": (lambda record: record["evaluations"][2].update(at=[2.0, 0, 0, 0, 0]), "share outside 0 … 1"),
    "share below zero": (lambda record: record["evaluations"][2].update(at=[0, -0.1, 0, 0, 0]), "share outside 0 … 1"),
    "too few shares": (lambda record: record["evaluations"][2].update(at=[0.5]), "at: has 1 entries, but there are 5 units"),
    "both": (lambda record: record["evaluations"][2].update(moved=[1]), "needs either 'moved' or 'at'"),
    "neither": (lambda record: record["evaluations"][2].pop("at"), "needs either 'moved' or 'at'"),
    "no value": (lambda record: record["evaluations"][2].pop("value"), "evaluations\\[2\\].value: is missing"),
    "too few slopes": (lambda record: record["evaluations"][2].update(slopes=[1]), "slopes: has 1 entries"),
    "unknown key": (lambda record: record["evaluations"][2].update(cost=1), "evaluations\\[2\\].cost: is not a known key"),
    "unknown keys": (lambda record: record.update(rows=1), "cost.record.rows: is not a known key"),
    "no depth": (lambda record: record.pop("depth"), "cost.record.depth: is missing"),
    "depth": (lambda record: record.update(depth=1.5), "cost.record.depth: is 1.5; give an integer"),
    "no minimum": (lambda record: record.pop("minimum"), "cost.record.minimum: is missing"),
    "no curvature": (lambda record: record.pop("curvature"), "cost.record.curvature: is missing"),
    "no evaluations": (lambda record: record.pop("evaluations"), "cost.record.evaluations: is missing"),
    "aim": (lambda record: record.update(aim="low"), "cost.record.aim: is 'low'; give a number"),
    "minimum NaN": (lambda record: record.update(minimum=float("nan")), "cost.record.minimum: is NaN"),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_no_convex_cost_has_is_refused(written, name):
    change, message = FORGED[name]
    with pytest.raises(ProblemError, match=message):
        parse_problem(changed(written, change))


def test_an_inflated_curvature_is_noticed_where_evaluations_contradict_it(written):
    """It proves too much, so the less of it the better; a little more than there is may go unnoticed without rows."""
    refused = 0
    for factor in (1.01, 1.2, 1.5, 2.0, 4.0):
        document = changed(
            written, lambda record, f=factor: record.update(curvature=(f * np.array(record["curvature"])).tolist())
        )
        try:
            again = solve_problem(parse_problem(document))
        except ProblemError:
            refused += 1
        else:
            assert again.objective == written[0].objective
    assert refused


def test_no_hint_proves_anything(convex, from_record, monkeypatch):
    monkeypatch.setattr(set_programme, "LARGEST", 0)
    problem = convex("logistic", 6, size=1.0)
    found = solve_problem(problem)
    read = from_record(problem)
    for aim in (-np.inf, 0.0, found.objective - 0.01, 1e300):
        again = solve_problem(replace(read, cost=replace(read.cost, aim=aim)))
        assert again.objective == found.objective
        assert again.lower_bound == pytest.approx(found.lower_bound, rel=1e-9)


@pytest.mark.parametrize("limit", [0.0, 3.0, 30.0])
@pytest.mark.parametrize("above", [0.0, 1.0])
def test_no_hint_proves_anything_when_time_runs_out_either(convex, from_record, monkeypatch, limit, above):
    """A forged aim beside a time limit that is over: only what was proved until then counts."""
    monkeypatch.setattr(set_programme, "LARGEST", 0)
    problem = replace(convex("logistic", 12, size=1.5), solver="local")
    hurried = solve_problem(problem)
    read = from_record(problem)
    assert hurried.status == "bounded"
    forged = replace(read, cost=replace(read.cost, aim=hurried.objective + above), solver="auto", time_limit=limit)
    ticks = itertools.count()
    again = solve_problem(forged, clock=lambda: float(next(ticks)))
    assert again.status == "bounded"
    assert again.lower_bound < hurried.objective - 1e-6


def test_a_record_belongs_to_its_problem(written):
    document = json.loads(written[1])
    with pytest.raises(ProblemError, match="every unit moves once"):
        parse_problem({**document, "max_steps": None, "steps": 7})
    with pytest.raises(ProblemError, match="is for 5 units, but 4 change"):
        parse_problem({**document, "target": [*document["target"][:4], document["start"][4]]})
    with pytest.raises(ProblemError, match="quadratic cost"):
        _ = parse_problem(document).quadratic


def test_nothing_that_changed_has_a_record_too(convex, from_record):
    problem = convex("logistic", 2)
    still = replace(problem, target=problem.start)
    found = solve_problem(still)
    assert solve_problem(from_record(still)).to_dict() == found.to_dict()
    assert isinstance(from_record(still).cost, RecordedCost)
    assert model_loss(from_record(still)).to_dict() == model_loss(still).to_dict()
