"""What only rows can tell still has to fit together: each contradiction is found without the data."""

import json
from dataclasses import replace

import pytest
from helpers.forging import changed, forge, noticed

from coordpath_governance import LinearModel, NumericTerm, explain_change
from coordpath_governance.errors import ReportFormatError
from coordpath_governance.verification.row_figures import contradictions

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


def several(*intercepts, slope=0.4):
    """A score for each class, with slopes that differ, so that rows are decided for different ones."""
    scores = tuple(model("gaussian", value, slope * (k % 3 - 1), 0.2 - 0.1 * k) for k, value in enumerate(intercepts))
    scores = tuple(replace(score, family="gaussian", link="identity") for score in scores)
    classes = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(intercepts)])
    facts = {"family": "multinomial", "link": "softmax", "classes": classes, "class_scores": scores}
    return LinearModel(0.0, has_intercept=False, **facts)


def graded(old, new, **options):
    from helpers.glm_cases import rows

    frame = rows(5)
    frame["grade"] = [("A", "B", "C")[i % 3] for i in range(len(frame))]
    frame["w"] = [1.0 + i % 2 for i in range(len(frame))]
    return json.loads(explain_change(old, new, data=frame, target="grade", **options).to_bytes())


@pytest.fixture(scope="module")
def multinomial():
    return graded(several(0.3, 0.2, 0.3, -3.0), several(0.2, 0.4, 0.1, -3.2, slope=0.9))


def test_what_was_measured_fits(logistic, poisson, multinomial):
    for document in (logistic, poisson, multinomial):
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


CLASS = (*METRICS, "classes", 1)
TENTH = (*CLASS, "calibration", 2)


@pytest.mark.parametrize(
    ("where", "value", "says"),
    [
        ((*METRICS, "accuracy"), None, "accuracy: is missing"),
        ((*METRICS, "accuracy"), 0.999, "accuracy: changes by more than decisions do"),
        (("rows", "candidate_mae"), 0.01, "accuracy: cannot be, with that absolute error"),
        (("rows", "candidate_mae"), 0.99, "accuracy: cannot be, with that absolute error"),
        ((*CLASS, "auc"), None, "auc: is for classes that some rows have"),
        ((*METRICS, "classes", 3, "auc"), 0.5, "auc: is for classes that some rows have"),
        ((*CLASS, "calibration"), [], "its rows are not those of the data"),
        ((*TENTH, "rows"), 3000, "its rows are not those of the data"),
        ((*TENTH, "expected"), 1.7, "that no class can have"),
        ((*TENTH, "observed"), -0.2, "that no class can have"),
        ((*TENTH, "expected"), 0.5, "does not add up to what was expected"),
        ((*TENTH, "observed"), 0.999, "does not add up to what was observed"),
        ((*CLASS, "calibration", 0, "expected"), 0.99, "not in the order of the predictions"),
        (("rows", "flips", "classes"), [], "do not add up to the decisions that flip"),
        (("rows", "flips", "classes", 0, "flips"), 0.99, "do not add up to the decisions that flip"),
        (("rows", "flips", "classes", 0, "before"), "zzz", "are not those of the models"),
        (("rows", "flips", "classes", 0, "before"), "D", "each once and in order"),
    ],
)
def test_a_contradiction_of_several_classes_is_found_without_the_rows(multinomial, where, value, says):
    forged = forge(changed(multinomial, where, value))
    assert any(says in found for found in contradictions(forged.document))
    assert noticed(forged)


@pytest.mark.parametrize("value", [1.5, -0.5])
def test_an_auc_beyond_its_bounds_is_no_report(multinomial, value):
    with pytest.raises(ReportFormatError):
        forge(changed(multinomial, (*CLASS, "auc"), value))


def test_a_change_from_a_class_to_itself_is_none(multinomial):
    before = multinomial["rows"]["flips"]["classes"][0]["before"]
    forged = forge(changed(multinomial, ("rows", "flips", "classes", 0, "after"), before))
    assert any("each once and in order" in found for found in contradictions(forged.document))


@pytest.mark.parametrize(
    ("where", "value", "says"),
    [
        ((*METRICS, "accuracy"), 0.5, "accuracy: is for several classes"),
        ((*METRICS, "classes", 0, "auc"), 0.5, "only of several has each its own"),
        (("rows", "flips", "classes"), [{"before": "no", "after": "yes", "flips": 0.1}], "are for several classes"),
    ],
)
def test_two_classes_have_no_figures_of_several(logistic, where, value, says):
    document = changed(logistic, where, value)
    assert any(says in found for found in contradictions(forge(document).document))


def test_with_weights_a_mean_lies_between_its_parts():
    weighted = graded(several(0.3, 0.1, -0.4), several(-0.2, 0.5, 0.1), weight="w")
    assert not noticed(forge(weighted))
    bins = weighted["rows"]["candidate_metrics"]["classes"][1]["calibration"]
    higher = [each | {"observed": 0.9} for each in bins]
    forged = forge(changed(weighted, (*CLASS, "calibration"), higher))
    assert any("does not add up to what was observed" in found for found in contradictions(forged.document))


def test_a_crowd_of_classes_is_not_measured_one_by_one():
    crowd = graded(several(*(0.1 * k for k in range(21))), several(*(-0.05 * k for k in range(21))))
    assert "auc" not in crowd["rows"]["candidate_metrics"]["classes"][0]
    assert not noticed(forge(crowd))
    forged = forge(changed(crowd, (*METRICS, "classes", 0, "auc"), 0.5))
    assert any("more than 20 are not measured one by one" in found for found in contradictions(forged.document))


def test_counts_have_no_classes(poisson):
    assert poisson["rows"]["candidate_metrics"]["auc"] is None
    forged = forge(changed(poisson, ("rows", "candidate_metrics", "auc"), 0.5))
    assert any("auc: is for two classes" in found for found in contradictions(forged.document))
