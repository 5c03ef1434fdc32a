"""Reports on models whose columns are nearly equal: what they tell is what exact fractions give."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers.exact_paths import ExactCost, best_order

import coordpath_governance as cg
from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.verification.verify import verify_report


def made(seed, apart, far):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((120, 3))
    x[:, 1] = x[:, 0] + apart * rng.standard_normal(120)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=x @ [1.0, -0.5, 0.3] + 0.5 * rng.standard_normal(120))

    def model(distance):
        a, b, c = rng.standard_normal(3)
        terms = (cg.NumericTerm("a", a + distance), cg.NumericTerm("b", b - distance), cg.NumericTerm("c", c))
        return cg.LinearModel(float(rng.standard_normal()), terms, ())

    return model(far), model(far if seed % 2 else -far), frame


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("apart", "far"), [(1e-8, 10.0), (1e-7, 100.0), (1e-6, 1e3), (1e-5, 1e4)])
def test_a_report_from_moments(seed, apart, far, tmp_path):
    old, new, frame = made(seed, apart, far)
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    report = cg.explain_change(old, new, data=path, target="y")
    told, problem = report.document.path, report.document.problem
    cost = ExactCost(problem["cost"])
    best = best_order(problem, [1.0] * len(told.steps))
    assert Fraction(told.lower_bound) <= best * (1 + Fraction(1e-6))
    assert told.status == "optimal"
    assert told.objective == pytest.approx(float(best), rel=1e-12)
    assert told.steps[-1].cost == pytest.approx(float(cost(problem["target"])), rel=1e-14)
    assert verify_report(report, path).conclusion.startswith("verified against the data; ")


def test_moments_that_cannot_hold_what_the_rows_say():
    """Coefficients of millions that cancel: double precision loses the fourth digit of the cost with the first product."""
    old, new, frame = made(1, 1e-7, 1e6)
    with pytest.raises(ReferenceDataError, match="lie too far apart for double precision"):
        cg.explain_change(old, new, data=frame, target="y")
