"""A model that was fitted by another loss than it is judged by: the report says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import HuberRegressor, LinearRegression, QuantileRegressor

import coordpath_governance as cg
from coordpath_governance.verification.verify import verify_report


def test_another_loss_is_said_of_the_version_it_belongs_to():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    rows["y"] = rows.a * 2 - rows.b + rng.normal(size=120)
    plain = LinearRegression().fit(rows[["a", "b"]], rows.y)
    other = QuantileRegressor(alpha=0.01).fit(rows[["a", "b"]], rows.y)
    huber = HuberRegressor().fit(rows[["a", "b"]], rows.y)
    report = cg.explain_change(plain, other, data=rows, target="y")
    said = [limit for limit in report.document.limits if "another loss" in limit]
    loss = "pinball loss of the quantile 0.5"
    assert said == [
        f"The candidate was fitted by another loss ({loss}) than the mean squared error by which it is judged here."
    ]
    assert verify_report(report).passed
    both = cg.explain_change(huber, other, data=rows, target="y").document.limits
    assert sum("another loss" in limit for limit in both) == 2
    assert not any(
        "another loss" in limit for limit in cg.explain_change(plain, plain, data=rows, target="y").document.limits
    )
