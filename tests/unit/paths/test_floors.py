"""Floors: no model that differs in at most k units has less excess."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths import parse_problem
from coordpath_governance.paths.walks.floors import find_floors, least_excess
from coordpath_governance.paths.walks.geometry import prepare_walks


def oracle(walks, beta, most):
    """Least squares on every set of units."""
    residual = walks.residual(beta)
    least = []
    for size in range(min(most, walks.size) + 1):
        found = []
        for units in itertools.combinations(range(walks.size), size):
            columns = np.concatenate([np.zeros((len(residual), 1)), *(walks.blocks[u] for u in units)], axis=1)
            left = residual - columns @ np.linalg.lstsq(columns, residual, rcond=1e-11)[0]
            found.append(float(left @ left))
        least.append(min(found))
    least += [least[-1]] * (most + 1 - len(least))
    return np.minimum.accumulate(least)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans(), st.booleans(), st.sampled_from([0, -600, 300]))
def test_few_units(document, seed, size, dependent, grouped, scale):
    problem = parse_problem({**document(seed, size, dependent=dependent, grouped=grouped, scale=scale), "steps": size + 1})
    walks = prepare_walks(problem)
    floors = find_floors(walks, size + 1)
    for beta, found in ((problem.start, floors.from_start), (problem.target, floors.from_target)):
        exact = oracle(walks, beta, size + 1)
        assert (found <= exact + 1e-12 * exact[0]).all()
        assert found == pytest.approx(exact, abs=1e-9 * exact[0])
    along = floors.of_terms(size + 1)
    assert along.tolist() == np.maximum(floors.from_start[1:], floors.from_target[:-1][::-1]).tolist()


def test_many_columns(document):
    problem = parse_problem(document(2, 14, dependent=True))
    walks = prepare_walks(problem)
    found = least_excess(walks, problem.start, 4)
    exact = oracle(walks, problem.start, 4)
    assert (found <= exact + 1e-12 * exact[0]).all()
    assert found == pytest.approx(exact, abs=1e-8 * exact[0])


@pytest.mark.parametrize("seed", range(3))
def test_many_units_of_several_columns(document, seed):
    problem = parse_problem(document(seed, 15, grouped=True))
    walks = prepare_walks(problem)
    assert walks.size == 14
    found = least_excess(walks, problem.start, 3)
    exact = oracle(walks, problem.start, 3)
    assert (found <= exact + 1e-12 * exact[0]).all()
    assert found[:2] == pytest.approx(exact[:2])
    assert found[2] > 0
    assert len(least_excess(walks, problem.start, 0)) == 1
