"""What only rows can tell still has to fit together: each contradiction is found without the data."""

import json

import pytest
from helpers.forging import changed, forge, noticed

from coordpath_governance import LinearModel, NumericTerm, explain_change
from coordpath_governance.reports.row_figures import contradictions

METRICS = ("rows", "candidate_metrics")


def model(family, *values, classes=(), threshold=None):
    link = {"binomial": "logit"}.get(family, "log")
    terms = tuple(NumericTerm(name, value) for name, value in zip(("age", "debt"), values[1:], strict=True))
    return LinearModel(values[0], terms, family=family, link=link, classes=classes, threshold=threshold)


@pytest.fixture(scope="module")
def logistic():
    from helpers.glm_cases import rows

    old = model("binomial", -0.2, 0.4, -0.5, classes=("no", "yes"), threshold=0.5)
    new = model("binomial", -0.3, 0.5, -0.7, classes=("no", "yes"), threshold=0.4)
    report = explain_change(old, new, data=rows(5), target="default", segments=["region"])
    return json.loads(report.to_bytes())


@pytest.fixture(scope="module")
def poisson():
    from helpers.glm_cases import rows

    old, new = model("poisson", -0.2, 0.4, -0.5), model("poisson", -0.3, 0.5, -0.7)
    return json.loads(explain_change(old, new, data=rows(5), target="claims").to_bytes())


def test_what_was_measured_fits(logistic, poisson):
    for document in (logistic, poisson):
        assert list(contradictions(forge(document).document)) == []
        assert not noticed(forge(document))


@pytest.mark.parametrize(
    ("where", "value", "says"),
    [
        ((*METRICS, "auc"), 0.99, "gini: is not 2"),
        ((*METRICS, "auc"), None, "auc: is for two classes"),
        ((*METRICS, "gini"), 5.0, "gini: is beyond 1"),
        ((*METRICS, "observed"), 0.9, "is not what was observed of the champion"),
        ((*METRICS, "expected"), -3.0, "that such models cannot have"),
        ((*METRICS, "calibration", 9, "expected"), 1.7, "that such models cannot have"),
        ((*METRICS, "calibration", 0, "expected"), 0.999, "not in the order of the predictions"),
        ((*METRICS, "calibration", 0, "rows"), 3000, "its rows are not those of the data"),
        ((*METRICS, "calibration"), [], "its rows are not those of the data"),
        ((*METRICS, "classes", 0, "label"), "zzz", "are not those of the models"),
        ((*METRICS, "classes"), [], "are not those of the models"),
        ((*METRICS, "classes", 0, "expected"), 0.9, "the expected shares do not add up"),
        (("rows", "flips", "up"), 0.9, "the steps do not add up"),
        (("rows", "flips", "steps", 0, "feature"), "zzz", "are not the steps of the path"),
        (("rows", "flips", "steps"), [], "are not the steps of the path"),
        (("rows", "shift_p05"), 9.0, "the quantiles are not in order"),
        (("rows", "shift_largest"), 0.0, "is smaller than a quantile"),
        (("rows", "segments", 0, "rows"), 10**6, "are more than those of the data"),
        (("rows", "segments", 0, "candidate_cost"), -4.0, "is not the difference of the costs"),
        (("glm", "constant_cost"), -3.0, "is negative, and no loss is"),
    ],
)
def test_a_contradiction_is_found_without_the_rows(logistic, where, value, says):
    forged = forge(changed(logistic, where, value))
    assert any(says in found for found in contradictions(forged.document))
    assert noticed(forged)


def test_counts_have_no_classes(poisson):
    assert poisson["rows"]["candidate_metrics"]["auc"] is None
    forged = forge(changed(poisson, ("rows", "candidate_metrics", "auc"), 0.5))
    assert any("auc: is for two classes" in found for found in contradictions(forged.document))
