"""Rows, arguments and pairs of models that no report can be made of: typed errors that name them."""

import numpy as np
import pytest
from helpers.glm_cases import (
    FAMILIES,
    HOLDOUT,
    NUMBERS,
    fitted,
    logit,
    rows,
)
from sklearn.linear_model import LogisticRegression

from coordpath_governance import explain_change
from coordpath_governance.errors import AlignmentError, CoordpathError, ReferenceDataError, UsageError
from coordpath_governance.verification.verify import verify_report


def unusable(change):
    """The holdout rows with some of them changed, without those that lack an income."""
    return change(rows(HOLDOUT).assign(income=0.0).copy())


BAD = [
    ("logistic", lambda f: f.assign(default="no"), {}, "'default'", "all 260 rows"),
    (
        "logistic",
        lambda f: f.assign(default=f["default"].where(f.index > 3, "maybe")),
        {},
        "'maybe' (4 rows)",
        "'no', 'yes'",
    ),
    ("logistic", lambda f: f.assign(load=f["load"].where(f.index > 6)), {"offset": "load"}, "'load'", "7"),
    ("logistic", lambda f: f.assign(weight=0.0), {"weight": "weight"}, "'weight'", "260"),
    ("logistic", lambda f: f, {"offset": "load", "exposure": "years"}, "'load'", "'years'"),
    ("poisson", lambda f: f.assign(claims=f["claims"].where(f.index > 4, -1)), {}, "'claims'", "5 of 260 rows"),
    ("poisson", lambda f: f.assign(claims=0), {}, "'claims'", "all 260 rows"),
    (
        "poisson",
        lambda f: f.assign(years=f["years"].where(f.index > 1, 0.0)),
        {"exposure": "years"},
        "'years'",
        "2 of 260 rows",
    ),
    ("gamma", lambda f: f.assign(cost=f["cost"].where(f.index > 2, 0.0)), {}, "'cost'", "3 of 260 rows"),
    ("tweedie", lambda f: f.assign(loss=f["loss"].where(f.index > 2, -0.5)), {}, "'loss'", "3 of 260 rows"),
    ("multinomial", lambda f: f, {"offset": "load"}, "'load'", "multinomial"),
]

SEPARATED = {
    "by a level": ("logistic", lambda f: f.assign(default=np.where(f["town"] == "Ayr", "yes", "no"))),
    "by a number": ("logistic", lambda f: f.assign(default=np.where(f["age"] > 0.25, "yes", "no"))),
    "into three": (
        "multinomial",
        lambda f: f.assign(grade=np.where(f["debt"] > 0.5, "A", np.where(f["debt"] > -0.5, "B", "C"))),
    ),
}


@pytest.mark.parametrize("how", SEPARATED)
def test_classes_that_a_column_gives_away_are_told(how, tmp_path):
    """Both models are finite, so the change has its path; that no model is best here is said."""
    name, change = SEPARATED[how]
    path = tmp_path / "rows.parquet"
    unusable(change).to_parquet(path)
    report = explain_change(fitted(name, 1), fitted(name, 2), data=path, target=FAMILIES[name].target)
    assert report.document.path.minimum_cost == 0.0
    assert report.document.path.status in ("optimal", "bounded")
    assert sum("tell the classes apart completely" in limit for limit in report.document.limits) == 1
    assert "tell the classes apart completely" in report.to_html()
    assert verify_report(report, path).conclusion.startswith("verified against the data; ")


@pytest.mark.parametrize(("name", "change", "arguments", "column", "says"), BAD)
def test_rows_that_cannot_be_used_are_named_and_counted(name, change, arguments, column, says):
    with pytest.raises((ReferenceDataError, UsageError)) as raised:
        explain_change(fitted(name, 1), fitted(name, 2), data=unusable(change), target=FAMILIES[name].target, **arguments)
    assert column in str(raised.value)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"target": ["yes", "no"]}, r"target= has the shape \(2,\), but data= has \d+ rows"),
        ({"target": np.zeros((3, 2))}, r"target= has the shape \(3, 2\)"),
        ({"max_steps": 2.5}, "max_steps: 2.5 is not a whole number"),
        ({"max_steps": 0}, "max_steps: 0 is not a whole number of at least 1"),
        ({"max_steps": True}, "max_steps: True is not a whole number"),
        ({"role": "test"}, "role= is 'test'; give one of training, holdout, out-of-time, not stated"),
        ({"missing": "ignore"}, "missing= is 'ignore'; give one of fail, drop"),
        ({"name": 5}, "name= is 5; give a text"),
        ({"weight": 3}, "weight= is 3; give a text"),
        ({"reason": ["new"]}, "reason= is \\['new'\\]; give a text"),
        ({"segments": "region"}, "segments= is 'region'; give a list of column names"),
        ({"segments": [1]}, "segments= is \\[1\\]; give a list"),
        ({"segments": 7}, "segments= is 7; give a list"),
    ],
)
def test_arguments_that_are_none_are_named(asked, says):
    arguments = {"data": rows(HOLDOUT), "target": "default"} | asked
    with pytest.raises(UsageError, match=says):
        explain_change(logit(0.1, age=0.2), logit(0.2, age=0.3), **arguments)


def test_models_of_different_kinds_are_not_compared():
    with pytest.raises(AlignmentError, match="differ in family"):
        explain_change(fitted("poisson", 1), fitted("gamma", 2), data=rows(HOLDOUT), target="cost")
    relabelled = LogisticRegression().fit(rows(1)[NUMBERS].fillna(0.0), rows(1)["default"] == "yes")
    with pytest.raises(CoordpathError, match="differ in classes"):
        explain_change(fitted("logistic", 1), relabelled, data=rows(HOLDOUT), target="default")
