"""Reports on two decision trees: what they say, their pages, and that any changed figure is found."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from helpers.forging import changed, forge, leaves, noticed
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from coordpath_governance import explain_change
from coordpath_governance.errors import (
    AlignmentError,
    ModelReadError,
    ReferenceDataError,
    ReportFormatError,
    UnsupportedModelError,
    UsageError,
)
from coordpath_governance.models.sklearn_reader import tree_from_estimator
from coordpath_governance.models.tree_document import tree_from_document, tree_to_document
from coordpath_governance.policy.judge import assess
from coordpath_governance.policy.load import read_policy
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.verification.verify import verify_report

COLUMNS = ["age", "income", "km"]


def frame(seed, count=400):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"age": rng.normal(40, 12, count).round(1), "income": rng.normal(3, 1, count)})
    made["km"] = rng.exponential(20, count)
    made["price"] = 10 + 3 * (made.age > 45) + made.km * 0.05 * (made.income > 3) + rng.normal(0, 1, count)
    made["bad"] = np.where(rng.random(count) < 1 / (1 + np.exp(2 - made.km / 20)), "yes", "no")
    made["kind"] = np.digitize(made.price, [11, 13])
    made["region"] = rng.choice(["north", "south"], count)
    return made


HOLDOUT = frame(9)


def fitted(seed, kind=DecisionTreeRegressor, target="price", **options):
    rows = frame(seed)
    return kind(**{"max_depth": 3, "min_samples_leaf": 15, "random_state": 0, **options}).fit(rows[COLUMNS], rows[target])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("holdout") / "holdout.csv"
    HOLDOUT.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def report(data):
    return explain_change(fitted(1), fitted(2), data=data, target="price", role="holdout", max_steps=5)


def test_the_path_goes_from_one_tree_to_the_other(report):
    document = report.document
    costs = [((HOLDOUT.price - fitted(seed).predict(HOLDOUT[COLUMNS])) ** 2).mean() for seed in (1, 2)]
    assert document.path.start_cost == pytest.approx(costs[0])
    assert document.path.steps[-1].cost == pytest.approx(costs[1])
    assert document.impact.candidate.mse == pytest.approx(costs[1])
    assert [step.kind for step in document.path.steps] == ["split"] * 5 + ["rest"]
    assert document.path.status == "optimal"
    assert document.tree.loss == "mean squared error"
    bias = HOLDOUT.price.mean() - fitted(2).predict(HOLDOUT[COLUMNS]).mean()
    assert document.impact.candidate.bias == pytest.approx(bias)
    delta = (HOLDOUT.price - fitted(2).predict(HOLDOUT[COLUMNS])) ** 2
    delta -= (HOLDOUT.price - fitted(1).predict(HOLDOUT[COLUMNS])) ** 2
    assert document.impact.delta_se == pytest.approx(delta.std(ddof=1) / len(delta) ** 0.5)
    assert sum(step.shapley for step in document.path.steps) == pytest.approx(costs[1] - costs[0])


def test_what_a_step_is_called(data):
    report = explain_change(fitted(1), fitted(8), data=data, target="price")
    step = next(step for step in report.document.path.steps if step.split and step.split.action == "move")
    assert step.feature.startswith(f"move the split {step.split.column} ≤ ")
    assert step.feature.endswith(f"at {step.split.place}")
    assert (step.from_, step.to) == (step.split.old_threshold, step.split.new_threshold)
    assert "Optimal among these steps, not over all edits of a tree." in report.document.summary.sentences


def test_both_pages_say_what_trees_need(report):
    for page in (report.to_markdown(), report.to_html()):
        assert "not over all edits of a tree" in page
        assert "Splits and leaves" in page
        assert "oefficient" not in re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<style.*?</style>", "", page))
    assert len(report.to_html()) < 400_000
    assert report.to_frame() is not None
    assert "splits and leaves differ" in report.to_markdown()


def test_from_zero(data):
    report = explain_change(None, fitted(2), data=data, target="price", max_steps=None)
    document = report.document
    assert {step.split.action for step in document.path.steps} == {"grow"}
    assert document.path.solver == "strings"
    root = fitted(2).tree_.value[0, 0, 0]
    assert document.path.start_cost == pytest.approx(((HOLDOUT.price - root) ** 2).mean())
    assert document.models["champion"] is None
    assert "One leaf" in report.to_html()
    assert "explained from one leaf" in report.to_markdown()
    assert verify_report(report, data).passed


def test_two_classes_with_flips_and_segments(data):
    old, new = (fitted(seed, DecisionTreeClassifier, "bad") for seed in (1, 2))
    report = explain_change(old, new, data=data, target="bad", threshold=0.5, segments=["region"], role="holdout")
    document, sides = report.document, [model.predict_proba(HOLDOUT[COLUMNS])[:, 1] for model in (old, new)]
    assert document.tree.loss == "Brier score"
    brier = ((sides[1] - (HOLDOUT.bad == "yes")) ** 2).mean()
    assert document.path.steps[-1].cost == pytest.approx(brier)
    assert document.impact.flips.up == pytest.approx(((sides[0] < 0.5) & (sides[1] >= 0.5)).mean())
    assert {segment.value for segment in document.impact.segments} == {"north", "south"}
    assert "Brier score" in report.to_html()
    assert verify_report(report, data).passed


def test_the_same_tree_is_an_empty_path(data):
    report = explain_change(fitted(1), fitted(1), data=data, target="price")
    assert report.document.path.steps == ()
    assert report.document.summary.direction == "no change"
    assert verify_report(report, data).passed
    assert report.to_html()


def test_a_bounded_order_says_so(data):
    options = {"max_depth": 6, "min_samples_leaf": 5}
    report = explain_change(fitted(1, **options), fitted(4, **options), data=data, target="price")
    assert report.document.path.status == "bounded"
    assert "Bounded among these steps, not over all edits of a tree." in report.document.summary.sentences
    assert verify_report(report, data).passed


def test_a_class_weight_is_told(data):
    old, new = (fitted(seed, DecisionTreeClassifier, "bad", class_weight="balanced") for seed in (1, 2))
    limits = explain_change(old, new, data=data, target="bad", role="training").document.limits
    assert any("The candidate was trained with class weights" in limit for limit in limits)
    assert any("used for training" in limit for limit in limits)


def test_missing_values_are_refused_or_left_out():
    rows = HOLDOUT.copy()
    rows.loc[:4, "km"] = np.nan
    with pytest.raises(ReferenceDataError, match=r"'km' is missing in 5 of 400 rows"):
        explain_change(fitted(1), fitted(2), data=rows, target="price")
    report = explain_change(fitted(1), fitted(2), data=rows, target="price", missing="drop")
    assert report.document.data.rows_dropped == 5
    assert any("5 rows with a missing value were left out" in limit for limit in report.document.limits)


@pytest.mark.parametrize(
    ("champion", "candidate", "options", "error", "words"),
    [
        (None, fitted(1, DecisionTreeClassifier, "kind"), {"target": "kind"}, UnsupportedModelError, "3 classes"),
        (fitted(1), fitted(2), {"exposure": "km"}, UsageError, "no score that an offset"),
        (
            fitted(1, DecisionTreeClassifier, "bad"),
            fitted(2, DecisionTreeClassifier, "bad"),
            {"target": "bad", "threshold": 0.5, "threshold_class": "no"},
            UsageError,
            "not the last class",
        ),
        (LinearRegression().fit([[1.0, 2, 3]], [1.0]), fitted(2), {}, AlignmentError, "one version is a decision tree"),
        (fitted(2), LinearRegression().fit([[1.0, 2, 3]], [1.0]), {}, AlignmentError, "one version is a decision tree"),
    ],
)
def test_what_is_refused(champion, candidate, options, error, words):
    with pytest.raises(error, match=words):
        explain_change(champion, candidate, data=HOLDOUT, **{"target": "price", **options})


def test_a_pipeline_around_a_tree_and_a_tree_itself(data):
    rows = frame(2)
    tree = DecisionTreeRegressor(max_depth=3, min_samples_leaf=15, random_state=0)
    piped = Pipeline([("nothing", "passthrough"), ("tree", tree)]).fit(rows[COLUMNS], rows.price)
    report = explain_change(tree_from_estimator(fitted(1)), piped, data=data, target="price")
    assert report.document.path.start_cost > 0


def test_the_same_report_gives_the_same_bytes_and_is_read_again(report, data):
    again = explain_change(fitted(1), fitted(2), data=data, target="price", role="holdout", max_steps=5)
    assert again.to_bytes() == report.to_bytes()
    assert ChangeReport.from_bytes(report.to_bytes()).document == report.document


def test_verified_down_to_the_rows(report, data):
    result = verify_report(report, data)
    assert result.passed, [check for check in result.checks if not check.passed]
    assert {check.level for check in result.checks} == {"arithmetic", "certificate", "data"}


UNUSED = ("recheck.", "settings.seed", "settings.time_limit", "models.", "tool.")
"""Not figures of the reference data; what trees hold that no step looks at is compared with the model files."""


def numbers(report):
    content = json.loads(report.to_bytes())
    found = [(w, v) for w, v in leaves(content) if isinstance(v, int | float) and not isinstance(v, bool)]
    return content, [(w, v) for w, v in found if not ".".join(map(str, w)).startswith(UNUSED)]


def test_every_changed_figure_is_found(report, data):
    """Also by somebody who computes the digest again: with the data, and nearly all of them without."""
    content, found = numbers(report)
    assert len(found) > 150
    unnoticed = []
    for where, value in found:
        forged = changed(content, where, value * 1.01 + 1 if isinstance(value, float) else value + 1)
        try:
            forged_report = forge(forged)
        except ReportFormatError:
            continue
        if not noticed(forged_report):
            unnoticed.append(where)
            assert noticed(forged_report, data), where
    assert len(unnoticed) < 12, unnoticed


def test_a_better_claim_than_proved_is_found(data):
    options = {"max_depth": 6, "min_samples_leaf": 5}
    report = explain_change(fitted(1, **options), fitted(4, **options), data=data, target="price")
    content = json.loads(report.to_bytes())
    for where, value in (
        (("path", "status"), "optimal"),
        (("path", "lower_bound"), content["path"]["objective"]),
        (("path", "solver"), "strings"),
        (("path", "steps", 0, "split", "unit"), content["path"]["steps"][1]["split"]["unit"]),
        (("problem", "terms", 0, "gains", 0, 0), 10_000),
        (("problem", "units", 0, "kind"), "grow"),
        (("problem", "gamma"), 0.5),
        (("models", "candidate", "nodes", "left", 0), 7),
        (("tree", "classes"), ["a"]),
    ):
        assert noticed(forge(changed(content, where, value))), where


def test_a_policy_judges_a_tree_and_says_what_it_cannot_judge(report):
    """Rules about coefficients would hold of a tree for want of any: they are not known, and count as reached."""
    policy = {
        "schema": "coordpath.policy/1",
        "name": "trees",
        "models": ["model"],
        "reference": {"sha256": report.document.data.sha256, "role": "holdout", "target": "price"},
        "rules": {
            "steps": {"most": 6},
            "gap": {"most": 0.1},
            "rest": {"coefficients": 3},
            "final_cost_increase": {"relative": 0.5},
            "features_added": {},
            "features_dropped": {},
            "sign_flips": {},
            "sign_constraints": {"features": {"age": "positive"}},
            "frozen_features": {"features": ["age"]},
            "standardised_change": {"absolute": 1},
            "unexercised": {"changed": 0},
        },
        "materiality": [{"class": "major", "when": {"sign_flips": 1}, "approvals": []}, {"class": "minor"}],
    }
    judged = assess(report.document, read_policy(json.dumps(policy), "test"))
    results = {rule.rule: rule.result for rule in judged.assessment.rules}
    about_coefficients = ("sign_flips", "sign_constraints", "frozen_features", "standardised_change", "unexercised")
    assert {results[name] for name in about_coefficients} == {"unknown"}
    assert results["steps"] == results["gap"] == results["features_added"] == results["final_cost_increase"] == "pass"
    in_rest = report.document.counts.changed - 5
    assert results["rest"] == ("pass" if in_rest <= 3 else "fail")
    assert judged.assessment.materiality == "major"
    assert "decision tree has no coefficients" in next(r.reason for r in judged.assessment.rules if r.rule == "sign_flips")
    assert ChangeReport(judged).to_html()


def test_the_document_of_a_tree():
    tree = tree_from_estimator(fitted(1))
    document = tree_to_document(tree)
    assert tree_to_document(tree_from_document(json.loads(json.dumps(document)))) == document
    nodes = document["nodes"]
    for key, value in (
        ("left", nodes["right"]),
        ("feature", [9] * tree.count),
        ("threshold", ["x"] * tree.count),
        ("value", nodes["value"][:-1]),
        ("feature", []),
        ("threshold", [float("nan")] * tree.count),
        ("more", []),
    ):
        with pytest.raises(ModelReadError):
            tree_from_document({**document, "nodes": {**nodes, key: value}})
    for key, value in (
        ("schema", "coordpath.tree/2"),
        ("nodes", 3),
        ("nodes", {}),
        ("names", ["age"]),
        ("names", ["age"] * 3),
        ("names", 3),
        ("settings", 3),
        ("remarks", None),
        ("estimator", 5),
    ):
        with pytest.raises(ModelReadError):
            tree_from_document({**document, key: value})
