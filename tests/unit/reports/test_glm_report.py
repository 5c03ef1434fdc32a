"""Reports on classifiers and rates: end points as other libraries have them, orders that plain enumeration cannot beat."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.glm_cases import (
    FAMILIES,
    INPUTS,
    NUMBERS,
    ONE_SCORE,
    RARE,
    best_objective,
    fitted,
    rows,
    unit_shifts,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mean_tweedie_deviance
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from coordpath_governance import explain_change, solve
from coordpath_governance.errors import AlignmentError, CoordpathError, ProblemError, ReferenceDataError, UsageError
from coordpath_governance.models import from_estimator
from coordpath_governance.models.linear_model import CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.reports import make
from coordpath_governance.reports.change_report import ChangeReport
from coordpath_governance.reports.document import Tool
from coordpath_governance.reports.steps import _brackets
from coordpath_governance.reports.verify import verify_report

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "change_report.schema.json"
HOLDOUT = 3
"""Seed of the rows that nothing was fitted to."""


@pytest.fixture(scope="session")
def glm_reports():
    """The report of every family, from a scaled, drop-first champion to a candidate that is coded otherwise."""
    frame = rows(HOLDOUT)
    return {
        name: explain_change(
            fitted(name, 1),
            fitted(name, 2, scaled=False, drop=None),
            data=frame,
            target=family.target,
            segments=["region"],
            role="holdout",
            exposure="years" if name == "poisson" else None,
        )
        for name, family in FAMILIES.items()
    }


def given_rows(how):
    """Arguments of a report with a weight, an offset or an exposure; and the weights and offsets they mean."""
    frame = rows(HOLDOUT)
    return {
        "plain": ({}, None, 0.0),
        "weight": ({"weight": "weight"}, frame["weight"], 0.0),
        "offset": ({"offset": "load"}, None, frame["load"].to_numpy()),
        "exposure": ({"exposure": "years"}, None, np.log(frame["years"].to_numpy())),
        "both": ({"exposure": "years", "weight": "weight"}, frame["weight"], np.log(frame["years"].to_numpy())),
    }[how]


WAYS = [(name, how) for name in FAMILIES for how in ("plain", "weight")] + [
    (name, how) for name in ONE_SCORE for how in ("offset", "exposure", "both")
]


@pytest.mark.parametrize(("name", "how"), WAYS)
def test_start_and_end_are_the_losses_that_other_libraries_find(name, how):
    family, frame = FAMILIES[name], rows(HOLDOUT)
    arguments, weight, offset = given_rows(how)
    old, new = fitted(name, 1), fitted(name, 2, scaled=False, drop=None)
    report = explain_change(old, new, data=frame, target=family.target, **arguments)
    path, impact = report.document.path, report.document.impact
    found = (path.start_cost, path.steps[-1].cost), (impact.champion.cost, impact.candidate.cost)
    assert found[0] == found[1]
    for cost, model in zip(found[0], (old, new), strict=True):
        scores = family.scores(model, frame, offset)
        assert cost == pytest.approx(family.mean_loss(frame, scores, weight), abs=1e-9)
        assert cost == pytest.approx(family.statsmodels(frame[family.target], family.prediction(scores), weight), abs=1e-9)
    assert verify_report(report).passed


ASKED = [
    *((name, {}) for name in FAMILIES),
    ("logistic", {"max_steps": 2, "gamma": 0.7}),
    ("logistic", {"offset": "load", "max_steps": 1}),
    ("poisson", {"max_steps": 3, "gamma": 1.5, "exposure": "years"}),
    ("gamma", {"max_steps": 5, "gamma": 0.5}),
    ("tweedie", {"gamma": 2.0, "exposure": "years"}),
    ("multinomial", {"max_steps": 2, "gamma": 1.2}),
]


@pytest.mark.parametrize(("name", "asked"), ASKED)
def test_no_order_is_better_than_the_one_told(name, asked):
    """Every set of units is evaluated, by asking the models alone."""
    family, frame = FAMILIES[name], rows(HOLDOUT)
    offset = given_rows("offset" if "offset" in asked else "exposure" if "exposure" in asked else "plain")[2]
    old, new = fitted(name, 1), fitted(name, 2, scaled=False, drop=None)
    document = explain_change(old, new, data=frame, target=family.target, **asked).document
    base, shifts = unit_shifts(family, old, new, frame, offset)

    def cost_of(units):
        scores = base + sum(shifts[unit] for unit in units)
        return family.mean_loss(frame, scores[:, 0] if scores.shape[1] == 1 else scores)

    options = {"gamma": asked.get("gamma", 1.0), "max_steps": asked.get("max_steps")}
    best, costs = best_objective(cost_of, list(shifts), **options)
    path = document.path
    assert path.status == "optimal"
    assert path.objective == pytest.approx(best, abs=1e-9)
    assert path.start_cost == pytest.approx(costs[frozenset()], abs=1e-9)
    moved = frozenset()
    unit_of = {c.label: c.unit for c in document.coordinates}
    for step in path.steps:
        moved |= {unit_of[move.feature] for move in step.moves}
        assert step.cost == pytest.approx(costs[moved], abs=1e-9)
    whole = path.steps[-1].cost - path.start_cost
    assert sum(step.shapley for step in path.steps) == pytest.approx(whole, abs=1e-9)
    assert (path.steps[-1].kind == "rest") == (len(path.steps) > asked.get("max_steps", len(shifts)))


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 5), kind=st.sampled_from(["binomial", "poisson", "gamma"]))
def test_any_little_change_is_proved_and_holds(seed, size, kind):
    """Every row is there twice, once with each class, so that nothing separates them."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(size)]
    frame = pd.DataFrame(rng.normal(size=(10, size)) * rng.choice([0.01, 1.0, 3.0], size), columns=names)
    frame = pd.concat([frame, frame])
    frame["y"] = {"binomial": [0] * 10 + [1] * 10, "poisson": rng.poisson(1.0, 20) + 1}.get(kind, rng.gamma(1.0, 1.0, 20))
    facts = {"link": "logit", "classes": ("0", "1")} if kind == "binomial" else {"link": "log"}
    intercepts, slopes = rng.normal(size=2), rng.normal(size=(2, size))
    slopes[1] = np.where(rng.random(size) < 0.7, slopes[1], slopes[0])
    old, new = (
        LinearModel(i, tuple(NumericTerm(n, v) for n, v in zip(names, s, strict=True)), family=kind, **facts)
        for i, s in zip(intercepts.tolist(), slopes.tolist(), strict=True)
    )
    report = explain_change(old, new, data=frame, target="y")
    assert report.document.path.status == "optimal"
    assert report.document.comparison[1].objective >= report.document.path.objective - 1e-9
    assert verify_report(report).passed


@pytest.mark.parametrize("name", FAMILIES)
def test_from_zero_without_a_champion(name):
    family, frame = FAMILIES[name], rows(HOLDOUT)
    report = explain_change(None, fitted(name, 2), data=frame, target=family.target)
    scores = np.zeros((len(frame), 3) if name == "multinomial" else len(frame))
    assert report.document.path.start_cost == pytest.approx(family.mean_loss(frame, scores), abs=1e-9)
    assert "from zero" in report.document.summary.headline
    assert report.document.models["champion"] is None
    assert verify_report(report).passed


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_model_twice_has_an_empty_path(name):
    family = FAMILIES[name]
    model = fitted(name, 1)
    report = explain_change(model, model, data=rows(HOLDOUT), target=family.target)
    path, impact = report.document.path, report.document.impact
    assert path.steps == ()
    assert (path.status, path.gap) == ("optimal", 0.0)
    assert impact.delta == 0.0
    assert impact.champion == impact.candidate
    assert "same function" in report.document.summary.headline
    assert verify_report(report).passed
    assert report.to_frame().empty
    assert "same function" in report.to_markdown()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_function_coded_otherwise_has_an_empty_path(name):
    """Scaled and not, one level dropped and none: the numbers of the two models differ, their scores do not."""
    family, frame = FAMILIES[name], rows(1)
    scaled = fitted(name, 1, inputs=("age", "debt", "town"))
    encode, estimator = scaled[:-1], scaled[-1]
    plain = fitted(name, 1, scaled=False, drop=None, inputs=("age", "debt", "town"))
    design, codes = (model[:-1].transform(frame[["age", "debt", "town"]]) for model in (scaled, plain))
    assert design.shape[1] < codes.shape[1]
    coefficients = np.atleast_2d(estimator.coef_)
    scores = np.atleast_2d(encode.transform(frame[["age", "debt", "town"]]) @ coefficients.T)
    columns = np.column_stack([codes, np.ones(len(frame))])
    moved, *_ = np.linalg.lstsq(columns, scores, rcond=None)
    own, intercept = plain[-1], np.atleast_1d(estimator.intercept_)
    own.coef_ = moved[:-1].T.reshape(np.shape(own.coef_))
    own.intercept_ = (moved[-1] + intercept).reshape(np.shape(own.intercept_))
    document = explain_change(scaled, plain, data=rows(HOLDOUT), target=family.target).document
    fitted.cache_clear()
    assert document.counts.raw_changed > 0
    assert document.counts.changed == 0
    assert document.path.steps == ()
    assert document.summary.direction == "no change"


@pytest.mark.parametrize("name", FAMILIES)
def test_without_an_intercept_nothing_is_centred(name):
    family, frame = FAMILIES[name], rows(HOLDOUT)
    made = {"scaled": False, "intercept": False, "inputs": ("age", "debt")}
    old, new = fitted(name, 1, **made), fitted(name, 2, **made)
    report = explain_change(old, new, data=frame, target=family.target)
    document = report.document
    assert {step.feature for step in document.path.steps} == {"age", "debt"}
    assert all(c.kind != "baseline" for c in document.coordinates)
    assert verify_report(report).passed
    for cost, model in ((document.path.start_cost, old), (document.path.steps[-1].cost, new)):
        design = frame[["age", "debt"]].to_numpy() @ np.atleast_2d(model[-1].coef_).T
        scores = design if name == "multinomial" else design[:, 0]
        assert cost == pytest.approx(family.mean_loss(frame, scores), abs=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_levels_with_few_rows_are_not_shown_on_their_own(name, glm_reports):
    document = glm_reports[name].document
    assert (rows(HOLDOUT)["town"] == "Deal").sum() == RARE
    assert any("merged levels" in c.label for c in document.coordinates)
    assert all(not c.rows or c.rows >= 10 for c in document.coordinates)
    told = [text for text in document.limits if "merged with the next smallest" in text]
    assert len(told) == 1
    assert told[0].count("Deal") == 1


@pytest.mark.parametrize("name", FAMILIES)
def test_same_input_same_bytes_and_the_same_read_back(name, glm_reports):
    family, report = FAMILIES[name], glm_reports[name]
    again = explain_change(
        fitted(name, 1),
        fitted(name, 2, scaled=False, drop=None),
        data=rows(HOLDOUT).copy(),
        target=family.target,
        segments=["region"],
        role="holdout",
        exposure="years" if name == "poisson" else None,
    )
    assert again.to_bytes() == report.to_bytes()
    assert again.to_html() == report.to_html()
    assert again.to_markdown() == report.to_markdown()
    reread = ChangeReport.from_bytes(report.to_bytes())
    assert reread.document == report.document
    assert reread.to_bytes() == report.to_bytes()
    assert reread.to_html() == report.to_html()
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(json.loads(report.to_bytes()))
    assert len(report.to_html()) < 400_000


PRINT_REPORTS = """
import json, sys
from coordpath_governance import explain_change
from coordpath_governance.models import from_document
from pathlib import Path
for name in sys.argv[2:]:
    given = json.loads((Path(sys.argv[1]) / f"{name}.json").read_text())
    old, new = map(from_document, given["models"])
    report = explain_change(old, new, data=Path(sys.argv[1]) / "rows.parquet", **given["arguments"])
    sys.stdout.buffer.write(report.to_bytes())
"""


def test_other_processes_write_the_same_bytes_and_with_more_threads_the_same_report(glm_reports, tmp_path):
    """Thread counts may change the last digits of a sum; what is told then still agrees, and is proved."""
    path = tmp_path / "rows.parquet"
    rows(HOLDOUT, 6000).to_parquet(path)
    for name, report in glm_reports.items():
        models = [report.document.models[who] for who in ("champion", "candidate")]
        told = {"target": FAMILIES[name].target, "segments": ["region"], "weight": "weight"}
        (tmp_path / f"{name}.json").write_text(json.dumps({"models": models, "arguments": told}))
    printed = []
    for threads in ("1", "1", "2"):
        settings = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-c", PRINT_REPORTS, str(tmp_path), *FAMILIES]
        done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, timeout=240, check=True)
        printed.append(done.stdout.splitlines())
    assert printed[0] == printed[1]
    assert len(printed[0]) == len(FAMILIES)
    for each in (*printed[0], *printed[2]):
        assert verify_report(ChangeReport.from_bytes(each), path).conclusion == "verified"


@pytest.mark.parametrize("name", FAMILIES)
def test_the_problem_alone_gives_the_same_path_without_rows(name, glm_reports):
    document = glm_reports[name].document
    found = solve(json.loads(json.dumps(document.problem))).to_dict()
    path = document.path
    assert (found["status"], found["solver"]) == (path.status, path.solver)
    assert (found["objective"], found["start_cost"]) == (path.objective, path.start_cost)
    assert [(step["cost"], step["delta"]) for step in found["steps"]] == [(step.cost, step.delta) for step in path.steps]
    assert [step["moves"] for step in found["steps"]] == [
        [move.model_dump(by_alias=True) for move in step.moves] for step in path.steps
    ]
    assert document.problem["cost"]["kind"] == name
    assert "rows" not in document.problem["cost"]


SOLVE = """
import sys
from coordpath_governance.cli.main import main
sys.argv = ["coordpath", "solve", sys.argv[1]]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
assert not {"mlflow", "pandas", "sklearn", "pyarrow"} & set(sys.modules), sorted(sys.modules)
"""


def test_the_solver_needs_neither_rows_nor_mlflow(glm_reports, tmp_path):
    document = glm_reports["logistic"].document
    (tmp_path / "problem.json").write_text(json.dumps(document.problem))
    command = [sys.executable, "-c", SOLVE, str(tmp_path / "problem.json")]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    found = json.loads(done.stdout)
    assert (found["objective"], found["status"]) == (document.path.objective, "optimal")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_frame_and_a_notebook_show_the_steps(name, glm_reports):
    report = glm_reports[name]
    frame = report.to_frame()
    assert list(frame["feature"]) == [step.feature for step in report.document.path.steps]
    assert frame["cost"].iloc[-1] == report.document.impact.candidate.cost
    shown = report._repr_html_()
    assert shown.startswith("<iframe")
    assert "<script" not in shown
    assert report.document.summary.headline in repr(report)


def test_the_target_and_the_words_of_each_family(glm_reports):
    for name, report in glm_reports.items():
        text = report.to_markdown()
        assert report.document.glm.loss in " ".join(report.document.summary.sentences)
        assert ("mean squared error" in text) is False, name
        assert report.document.rows.champion_metrics is not None


# What the rows are told to be, and models that are hardly models


def logit(intercept=0.0, threshold=None, classes=("no", "yes"), **slopes):
    terms = tuple(NumericTerm(name, value) for name, value in slopes.items())
    return LinearModel(intercept, terms, family="binomial", link="logit", classes=classes, threshold=threshold)


def test_a_model_worse_than_a_constant_is_told_so():
    old, new = logit(0.5, age=-4.0, debt=4.0), logit(0.5, age=-5.0, debt=4.0)
    report = explain_change(old, new, data=rows(HOLDOUT), target="default")
    assert report.document.impact.candidate.explained < 0
    assert any("worse than the best constant" in text for text in report.document.limits)
    assert verify_report(report).passed


def test_labels_that_are_swapped_are_asked_about():
    frame = rows(HOLDOUT)
    fit = LogisticRegression().fit(frame[["age", "debt"]], frame["default"])
    old, new = (logit(0.0, age=size * fit.coef_[0, 0], debt=size * fit.coef_[0, 1]) for size in (2.0, 3.0))
    asked = "check that the target column is right and its labels are not swapped."
    right = explain_change(old, new, data=frame, target="default").document.summary
    assert not any(asked in sentence for sentence in right.sentences)
    swapped = frame.assign(default=frame["default"].map({"yes": "no", "no": "yes"}))
    report = explain_change(old, new, data=swapped, target="default")
    assert any(asked in sentence for sentence in report.document.summary.sentences)
    assert verify_report(report).passed


def test_a_segment_of_amounts_is_no_segment():
    report = explain_change(
        logit(0.1, age=0.2), logit(0.2, age=0.3), data=rows(HOLDOUT), target="default", segments=["debt"]
    )
    remark = "No value of the segment 'debt' has 10 rows, so it tells nothing: name a column of bands instead."
    assert remark in report.document.limits
    assert verify_report(report).passed
    by_region = explain_change(logit(0.1), logit(0.2), data=rows(HOLDOUT), target="default", segments=["region"])
    assert not any("bands" in text for text in by_region.document.limits)


def test_a_first_version_is_not_compared_with_what_it_was_explained_from():
    arguments = {"data": rows(HOLDOUT), "target": "claims", "exposure": "years"}
    assert not any(
        "observed" in text for text in explain_change(None, fitted("poisson", 1), **arguments).document.summary.sentences
    )
    off = explain_change(None, replace(from_estimator(fitted("poisson", 1)), intercept=3.0), **arguments)
    (sentence,) = [text for text in off.document.summary.sentences if "observed" in text]
    assert sentence.startswith("It predicts ")
    assert sentence.endswith("times what was observed: check exposure and weight.")


def test_classes_of_which_one_weighs_next_to_nothing(tmp_path):
    frame = rows(HOLDOUT).assign(weight=lambda each: np.where(each["default"] == "no", 1e-9, 1.0))
    frame.to_parquet(tmp_path / "rows.parquet")
    old, new = logit(3.0, age=0.1), logit(3.0, age=0.5)
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="default", weight="weight")
    assert verify_report(report, tmp_path / "rows.parquet").conclusion == "verified"


@pytest.mark.parametrize("size", [150.0, 500.0, 5e4, 1e100])
def test_scores_far_from_zero_are_measured(size):
    """A logistic loss is at most linear in the score, so nothing overflows."""
    frame = rows(HOLDOUT)
    old, new = logit(1.0, age=size), logit(2.0, age=-size)
    report = explain_change(old, new, data=frame, target="default")
    yes = np.where(frame["default"] == "yes", 1.0, -1.0)
    for cost, intercept, slope in (
        (report.document.path.start_cost, 1.0, size),
        (report.document.impact.candidate.cost, 2.0, -size),
    ):
        mean = frame["age"].mean()
        margin = yes * (intercept + slope * mean + slope * (frame["age"] - mean))
        assert cost == pytest.approx(np.logaddexp(0.0, -margin).mean(), rel=1e-9)
    assert verify_report(report).passed


@pytest.mark.parametrize(("size", "error"), [(1e153, ProblemError), (1e300, AlignmentError)])
def test_scores_that_overflow_are_an_error_and_never_no_change(size, error):
    with pytest.raises(error, match="overflow double precision"):
        explain_change(logit(1.0, age=size), logit(1.0, age=-size), data=rows(HOLDOUT), target="default")


def test_a_fault_of_our_own_is_not_called_an_overflow(monkeypatch):
    """A part that is no valid document for another reason than a number that is not finite."""

    def faulty(*_):
        return Tool(version=1)

    monkeypatch.setattr(make, "compose", faulty)
    with pytest.raises(ValidationError):
        explain_change(logit(age=0.1), logit(age=0.2), data=rows(HOLDOUT), target="default")


def rates(name, size):
    """A rate that hardly depends on age, and one that does by far too much."""
    power = {"power": 1.5} if name == "tweedie" else {}
    return (LinearModel(0.0, (NumericTerm("age", s),), family=name, link="log", **power) for s in (0.1, size))


@pytest.mark.parametrize(("name", "target"), [("poisson", "claims"), ("gamma", "cost"), ("tweedie", "loss")])
def test_rates_far_from_one_are_measured_and_those_that_overflow_are_counted(name, target):
    frame = rows(HOLDOUT)
    report = explain_change(*rates(name, 100.0), data=frame, target=target)
    assert report.document.impact.candidate.cost > 1e20
    assert verify_report(report).passed
    with pytest.raises(ProblemError, match=r"overflows double precision for \d+ rows"):
        explain_change(*rates(name, 1e4), data=frame, target=target)


@pytest.mark.parametrize("size", [1e12, 1e15])
def test_changes_that_drown_in_the_scores_of_a_version_that_diverged(size):
    """Beside such scores a change of 0.1 counts as rounding, but not where they are gone."""
    with pytest.raises(
        AlignmentError, match=r"change of 'debt' is lost in the rounding of the champion's scores, which reach \d"
    ):
        explain_change(logit(0.1, age=size, debt=0.2), logit(0.1, age=0.3, debt=0.1), data=rows(HOLDOUT), target="default")
    report = explain_change(
        logit(0.1, age=1e6, debt=0.2), logit(0.1, age=0.3, debt=0.1), data=rows(HOLDOUT), target="default"
    )
    assert "debt" in [step.feature for step in report.document.path.steps]


def test_one_coefficient_of_a_few():
    old, new = logit(0.1, age=0.4, debt=-0.5), logit(0.1, age=0.4, debt=-0.7)
    report = explain_change(old, new, data=rows(HOLDOUT), target="default")
    assert {step.feature for step in report.document.path.steps} <= {"debt", "(baseline)"}
    assert verify_report(report).passed
    centred = rows(HOLDOUT).assign(debt=rows(HOLDOUT)["debt"] - rows(HOLDOUT)["debt"].mean())
    document = explain_change(old, new, data=centred, target="default").document
    assert document.counts.changed >= 1


def test_twenty_rows_and_a_level_that_only_one_class_has():
    frame = rows(HOLDOUT)[["age", "town"]].iloc[:20].copy()
    frame["town"] = ["Ayr"] * 10 + ["Bath"] * 10
    frame["default"] = ["yes"] * 10 + ["no", "yes"] * 5
    effects = CategoricalTerm("town", ("Ayr", "Bath"), (2.0, 0.0), unknown=0.0)
    old = logit(0.1, age=0.2)
    new = LinearModel(0.1, (NumericTerm("age", 0.3),), (effects,), family="binomial", link="logit", classes=("no", "yes"))
    report = explain_change(old, new, data=frame, target="default")
    assert report.document.path.minimum_cost < report.document.impact.candidate.cost
    assert report.document.path.status == "optimal"
    assert verify_report(report).passed


def test_weights_count_rows_and_zeros_leave_them_out():
    """Whole weights are the same as repeated rows; a row with weight zero may even be one the models cannot score."""
    frame = rows(HOLDOUT)
    repeated = frame.loc[frame.index.repeat(frame["weight"].astype(int))]
    old, new = fitted("logistic", 1), fitted("logistic", 2)
    weighed = explain_change(old, new, data=frame, target="default", weight="weight").document
    plain = explain_change(old, new, data=repeated, target="default").document
    assert weighed.path.objective == pytest.approx(plain.path.objective, rel=1e-9)
    assert [step.feature for step in weighed.path.steps] == [step.feature for step in plain.path.steps]
    assert weighed.impact.candidate.auc == pytest.approx(plain.impact.candidate.auc, abs=1e-9)
    assert weighed.data.weight_sum == len(repeated)


def test_versions_of_different_powers_are_judged_by_the_candidates():
    frame = rows(HOLDOUT)
    old, new = (
        LinearModel(0.0, (NumericTerm("age", 0.1 * power),), family="tweedie", link="log", power=power)
        for power in (1.2, 1.7)
    )
    report = explain_change(old, new, data=frame, target="loss")
    for cost, slope in ((report.document.path.start_cost, 0.12), (report.document.impact.candidate.cost, 0.17)):
        expected = mean_tweedie_deviance(frame["loss"], np.exp(slope * frame["age"]), power=1.7)
        assert cost == pytest.approx(expected, abs=1e-9)
    assert any("different Tweedie powers" in text for text in report.document.limits)
    assert verify_report(report).passed


def test_a_constant_target_leaves_nothing_to_explain():
    old, new = (LinearModel(0.0, (NumericTerm("age", s),), family="gamma", link="log") for s in (0.1, 0.2))
    arguments = {"data": rows(HOLDOUT).assign(cost=1.0), "target": "cost"}
    assert verify_report(explain_change(LinearModel(0.0, family="gamma", link="log"), old, **arguments)).passed
    report = explain_change(old, new, **arguments)
    assert report.document.impact.candidate.explained is None
    assert report.document.impact.candidate.gini is None
    assert any("without any error" in text for text in report.document.limits)
    assert verify_report(report).passed


@pytest.mark.parametrize("part", [1e-3, 1e-6, 1e-8])
def test_the_smallest_changes_are_verified_too(part, tmp_path):
    """What a step contributes to a gain of 1e-9 is known to a few digits only, and the rows are added up anew."""
    rows(HOLDOUT).to_parquet(tmp_path / "rows.parquet")
    slopes = {"age": 0.4, "debt": -0.3}
    old = logit(0.1, **slopes)
    new = logit(0.1 - part, **{name: slope * (1 + (i + 1) * part) for i, (name, slope) in enumerate(slopes.items())})
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="default")
    assert len(report.document.path.steps) == 3
    assert abs(report.document.impact.delta) < part
    assert verify_report(report, tmp_path / "rows.parquet").conclusion == "verified"


@pytest.mark.parametrize("part", [1e-2, 1e-6, 1e-7, 1e-9])
def test_the_smallest_changes_of_many_coefficients_are_verified_too(part, tmp_path):
    """The curvature that was recorded is close to the one for any cut, and still another."""
    rng = np.random.default_rng(8)
    names = [f"x{i}" for i in range(24)]
    frame = pd.DataFrame(rng.normal(size=(300, 24)), columns=names).assign(default=rng.choice(["no", "yes"], 300))
    frame.to_parquet(tmp_path / "rows.parquet")
    slopes, moves = 0.3 * rng.normal(size=24), part * rng.normal(size=24)
    old, new = (logit(0.1, **dict(zip(names, each, strict=True))) for each in (slopes, slopes + moves))
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="default")
    assert len(report.document.path.steps) == 11
    assert verify_report(report, tmp_path / "rows.parquet").conclusion == "verified"


def test_columns_far_from_zero_that_nothing_centres(tmp_path):
    """Beside a mean of 100 a spread of a thousandth is lost in the squares."""
    frame = rows(HOLDOUT).assign(age=100.0 + 1e-3 * rows(HOLDOUT)["age"])
    frame.to_parquet(tmp_path / "rows.parquet")
    old, new = (
        LinearModel(0.0, (NumericTerm("age", a), NumericTerm("debt", d)), has_intercept=False, family="poisson", link="log")
        for a, d in ((0.001, 0.3), (0.002, 0.1))
    )
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="claims")
    assert verify_report(report, tmp_path / "rows.parquet").conclusion == "verified"


def test_a_handful_of_rows_that_count(tmp_path):
    """Too few for a tenth of them to be told, and weights whose sums depend on the order of adding."""
    frame = rows(HOLDOUT)[["age", "debt"]].iloc[:6]
    frame = pd.concat([frame.assign(default="yes"), frame.assign(default="no")])
    frame["weight"] = [0.0, 0.0, 0.1, 0.2, 0.3, 0.7] * 2
    frame.to_parquet(tmp_path / "rows.parquet")
    old, new = logit(0.1, threshold=0.5, age=0.2), logit(0.2, threshold=0.5, debt=-0.3)
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="default", weight="weight")
    assert report.document.data.rows == 8
    assert report.document.rows.candidate_metrics.calibration == ()
    assert verify_report(report, tmp_path / "rows.parquet").conclusion == "verified"


@pytest.mark.parametrize(
    ("costs", "expected"),
    [([5, 5 + 1e-13, 4], [None, None]), ([5, 6, 5 + 1e-13], [1, 1]), ([5, 5 + 1e-11, 4], [1, 1])],
)
def test_what_rounding_does_to_a_cost_is_neither_a_change_for_the_worse_nor_one_to_make_up_for(costs, expected):
    assert _brackets(costs, 1e-12) == expected


def test_an_unchanged_model_that_overflows_is_an_error_too():
    model = LinearModel(0.0, (NumericTerm("age", 1e4),), family="tweedie", link="log", power=1.5)
    with pytest.raises(ProblemError, match="overflows double precision for"):
        explain_change(model, model, data=rows(HOLDOUT), target="loss")


def test_many_coefficients_end_in_all_the_rest(tmp_path):
    rng = np.random.default_rng(4)
    names = [f"x{i}" for i in range(40)]
    frame = pd.DataFrame(rng.normal(size=(400, 40)), columns=names)
    truth = rng.normal(0, 0.3, 40)
    frame["default"] = np.where(rng.random(400) < 1 / (1 + np.exp(-frame[names].to_numpy() @ truth)), "yes", "no")
    old, new = (logit(0.1 * i, **dict(zip(names, truth + rng.normal(0, 0.1, 40), strict=True))) for i in range(2))
    frame.to_parquet(tmp_path / "rows.parquet")
    report = explain_change(old, new, data=tmp_path / "rows.parquet", target="default", max_steps=10)
    path = report.document.path
    assert [step.kind for step in path.steps].count("rest") == 1
    assert len(path.steps) == 11
    assert path.status == "optimal" or 1e-6 < path.gap < 0.05
    assert path.lower_bound <= path.objective
    assert verify_report(report, tmp_path / "rows.parquet").conclusion == "verified"
    assert len(report.to_html()) < 400_000


# Decisions


def decisions(model, frame):
    return model.predict(frame[INPUTS]) == "yes"


def fixed(model, threshold):
    return FixedThresholdClassifier(model, threshold=threshold).fit(rows(1)[INPUTS], rows(1)["default"])


def tuned(model):
    """Its threshold chosen on rows that the model was not fitted to."""
    wrapped = TunedThresholdClassifierCV(model, cv="prefit", refit=False, scoring="balanced_accuracy")
    return wrapped.fit(rows(1)[INPUTS], rows(1)["default"])


def test_each_version_decides_at_its_own_threshold():
    frame = rows(HOLDOUT)
    old, new = fixed(fitted("logistic", 1), 0.35), tuned(fitted("logistic", 2))
    document = explain_change(old, new, data=frame, target="default").document
    flips = document.impact.flips
    before, after = decisions(old, frame), decisions(new, frame)
    assert (flips.champion_threshold, flips.threshold) == (0.35, pytest.approx(new.best_threshold_))
    assert (flips.up, flips.down) == (pytest.approx((after & ~before).mean()), pytest.approx((before & ~after).mean()))
    assert [step.feature for step in flips.steps] == [*(step.feature for step in document.path.steps), "(threshold)"]
    early = new.predict_proba(frame[INPUTS])[:, 1] >= 0.35
    last = flips.steps[-1]
    assert (last.up, last.down) == (pytest.approx((after & ~early).mean()), pytest.approx((early & ~after).mean()))
    net = sum(step.up - step.down for step in flips.steps)
    assert net == pytest.approx(flips.up - flips.down)
    assert document.settings.threshold is None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, (None, 0.5)),
        ({"threshold": 0.4}, (None, 0.4)),
        ({"champion_threshold": 0.3}, (0.3, 0.5)),
        ({"threshold": 0.4, "champion_threshold": 0.3}, (0.3, 0.4)),
        ({"threshold": 0.4, "champion_threshold": 0.4}, (None, 0.4)),
    ],
)
def test_thresholds_that_are_asked_for_go_before_the_models_own(asked, expected):
    frame = rows(HOLDOUT)
    old, new = fitted("logistic", 1), fitted("logistic", 2)
    report = explain_change(old, new, data=frame, target="default", **asked)
    flips = report.document.impact.flips
    assert (flips.champion_threshold, flips.threshold) == expected
    before = old.predict_proba(frame[INPUTS])[:, 1] >= (expected[0] or expected[1])
    after = new.predict_proba(frame[INPUTS])[:, 1] >= expected[1]
    assert flips.up + flips.down == pytest.approx((before != after).mean())
    assert (flips.steps[-1].feature == "(threshold)") == (expected[0] is not None)
    assert verify_report(report).passed


def test_a_threshold_that_moves_alone_is_a_change_of_decisions():
    model = fitted("logistic", 1)
    report = explain_change(model, fixed(model, 0.3), data=rows(HOLDOUT), target="default")
    flips = report.document.impact.flips
    assert report.document.path.steps == ()
    assert [step.feature for step in flips.steps] == ["(threshold)"]
    assert flips.up > 0
    assert flips.down == 0
    assert verify_report(report).passed


def test_rates_have_a_threshold_only_if_one_is_given():
    arguments = {"data": rows(HOLDOUT), "target": "claims", "exposure": "years"}
    old, new = fitted("poisson", 1), fitted("poisson", 2)
    assert explain_change(old, new, **arguments).document.impact.flips is None
    flips = explain_change(old, new, **arguments, threshold=0.8).document.impact.flips
    frame = rows(HOLDOUT)
    before, after = (model.predict(frame[INPUTS]) >= 0.8 for model in (old, new))
    assert flips.up + flips.down == pytest.approx((before != after).mean())


@pytest.mark.parametrize(
    ("models", "asked", "says"),
    [
        ("linear", {"target": "age", "threshold": 0.1, "champion_threshold": 0.2}, "no place in a gaussian model"),
        ("multinomial", {"target": "grade", "champion_threshold": 0.2}, "decides for the most probable one"),
        ("poisson", {"target": "claims", "champion_threshold": 0.2}, "give --threshold too"),
    ],
)
def test_a_threshold_of_the_champion_without_any_use_is_refused(models, asked, says):
    made = {"linear": (LinearModel(0.0, (NumericTerm("debt", 1.0),)), LinearModel(0.0, (NumericTerm("debt", 2.0),)))}
    old, new = made.get(models) or (fitted(models, 1), fitted(models, 2))
    with pytest.raises(UsageError, match=says):
        explain_change(old, new, data=rows(HOLDOUT), **asked)


# Rows that cannot be used


def unusable(change):
    """The holdout rows with some of them changed, without those that lack an income."""
    return change(rows(HOLDOUT).assign(income=0.0).copy())


BAD = [
    ("logistic", lambda f: f.assign(default=np.where(f["town"] == "Ayr", "yes", "no")), {}, "'town = Ayr'", "126 rows"),
    ("logistic", lambda f: f.assign(default=np.where(f["age"] > 0.25, "yes", "no")), {}, "'age'", "rows"),
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
    (
        "multinomial",
        lambda f: f.assign(grade=np.where(f["debt"] > 0.5, "A", np.where(f["debt"] > -0.5, "B", "C"))),
        {},
        "'debt'",
        "rows",
    ),
]


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
