"""Reports on classifiers and rates: end points as other libraries have them, orders that plain enumeration cannot beat."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.glm_cases import (
    FAMILIES,
    HOLDOUT,
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

from coordpath_governance import explain_change, solve
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.verification.verify import verify_report

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "change_report.schema.json"


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


@pytest.mark.thorough
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
        assert verify_report(ChangeReport.from_bytes(each), path).conclusion.startswith("verified against the data; ")


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
