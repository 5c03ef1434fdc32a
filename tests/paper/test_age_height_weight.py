"""Section 2: a child's age from height and weight."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from coordpath_governance.paths import dominates, model_loss, pareto_front, parse_problem, solve

HEIGHT, WEIGHT = 2.12, -0.94
AGE = {
    "features": ["height", "weight"],
    "cost": {"gram": [[1, 0.9], [0.9, 1]], "linear": [1.274, 0.968], "constant": 2.04096},
    "target": [HEIGHT, WEIGHT],
}


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ((0.0, 0.0), 2.04),
        ((HEIGHT, 0.0), 1.13),
        ((0.0, WEIGHT), 4.74),
        ((1.70, 0.0), 0.60),
        ((1.70, WEIGHT), 0.43),
        ((HEIGHT, WEIGHT), 0.25),
    ],
)
def test_every_cost_of_table_1(model, cost):
    assert round(parse_problem(AGE).cost.value(model), 2) == cost


def test_the_cost_is_the_one_of_the_text():
    """Least squares gives (2.12, −0.94), with an error of 0.25."""
    cost = parse_problem(AGE).cost
    assert np.linalg.solve(cost.gram, cost.linear) == pytest.approx([HEIGHT, WEIGHT])
    assert cost.minimum() == pytest.approx(0.25)


def test_the_two_decompositions_in_two_steps():
    best = solve(AGE)
    assert [step.label for step in best.path.steps] == ["height", "weight"]
    assert [round(cost, 2) for cost in best.path.costs()] == [1.13, 0.25]
    flipped = {**AGE, "features": ["weight", "height"], "target": [WEIGHT, HEIGHT]}
    cost = {**AGE["cost"], "linear": AGE["cost"]["linear"][::-1]}
    other = solve({**flipped, "cost": cost, "solver": "direct"})
    assert [round(cost, 2) for cost in other.path.costs()] == [4.74, 0.25]
    assert dominates(best.path, other.path)


def test_the_greedy_path():
    """0.42 and 0.39: better than the decomposition at first, worse after two steps.

    Weights that fall steeply make each step the best by itself.
    """
    greedy = solve({**AGE, "target": None, "steps": 2, "solver": "greedy", "weights": {"gamma": 1e-6}})
    assert [round(cost, 2) for cost in greedy.path.costs()] == [0.42, 0.39]
    direct = solve(AGE)
    assert not dominates(greedy.path, direct.path)
    assert not dominates(direct.path, greedy.path)


@pytest.mark.parametrize(("steps", "objective"), [(2, 1.3836), (3, 1.2757), (4, 1.4349)])
def test_the_best_path_of_each_length(steps, objective):
    certificate = solve({**AGE, "steps": steps}).certificate
    assert round(certificate.objective, 4) == objective
    assert certificate.status == "optimal"


def test_the_loss_chooses_three_steps_as_in_table_1c():
    loss = model_loss(AGE)
    path = loss.solution.path
    assert loss.status == "optimal"
    assert [(step.label, round(step.moves[0].after, 2)) for step in path.steps] == [
        ("height", 1.70),
        ("weight", WEIGHT),
        ("height", HEIGHT),
    ]
    assert [round(cost, 2) for cost in (path.start_cost, *path.costs())] == [2.04, 0.60, 0.43, 0.25]
    assert solve({**AGE, "steps": {"min": 2, "max": 4}}).to_dict() == loss.solution.to_dict()


def test_the_front_has_segments_of_none_to_three_steps():
    """The figure of section 3.3: 0, 1, 2 and 3 steps, with jumps between the segments."""
    front = pareto_front({**AGE, "target": None, "steps": 4}, resolution=1e-4)
    assert front.status == "optimal"
    assert [k for k, _ in itertools.groupby(point.path.terms for point in front.points)] == [0, 1, 2, 3]
    jumps = [b.loss - a.loss for a, b in itertools.pairwise(front.points) if a.path.terms != b.path.terms]
    within = [b.loss - a.loss for a, b in itertools.pairwise(front.points) if a.path.terms == b.path.terms]
    assert min(jumps) > max(within)
