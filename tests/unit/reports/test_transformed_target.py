"""Reports on models that predict a function of the target: the cost is one of that function, and every page says so."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PowerTransformer, SplineTransformer, StandardScaler

from coordpath_governance import explain_change
from coordpath_governance.cli.report_answer import show_overview
from coordpath_governance.errors import AlignmentError, ReferenceDataError, ReportFormatError, UsageError
from coordpath_governance.models import from_estimator
from coordpath_governance.reference.logged import moments_to_log, read_logged_moments
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import ChangeFacts, Subject, document_digest
from coordpath_governance.reports.make import ReferenceData, Request, make_report, settings_for, version_facts
from coordpath_governance.verification.verify import verify_report

ROWS = 240
LOG = {"func": np.log1p, "inverse_func": np.expm1}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({"age": rng.uniform(1, 30, ROWS), "km": rng.gamma(2, 30, ROWS)})
    rows["town"] = rng.choice(["Ayr", "Bath", "Cork"], ROWS)
    score = 9 - 0.05 * rows.age - 0.004 * rows.km + 0.2 * (rows.town == "Bath") + rng.normal(0, 0.2, ROWS)
    rows["price"] = np.exp(score)
    return rows


def fit(rows, model=None, **target):
    columns = make_column_transformer(
        (StandardScaler(), ["km"]), (SplineTransformer(3), ["age"]), (OneHotEncoder(), ["town"])
    )
    inner = make_pipeline(columns, model or Ridge(0.1))
    return TransformedTargetRegressor(inner, **(target or LOG)).fit(rows[["age", "km", "town"]], rows.price)


@pytest.fixture(scope="module")
def pair(frame):
    return fit(frame.iloc[:120]), fit(frame)


@pytest.fixture(scope="module")
def report(pair, frame):
    return explain_change(*pair, data=frame, target="price", role="training", threshold=3000.0, name="cars")


def test_costs_are_scikit_learns_errors_of_the_transformed_target(report, pair, frame):
    document, truth = report.document, np.log1p(frame.price)
    scores = [np.log1p(model.predict(frame)) for model in pair]
    ends = [document.path.start_cost, document.path.steps[-1].cost]
    assert ends == pytest.approx([mean_squared_error(truth, each) for each in scores], rel=1e-9)
    for side, own in zip((document.impact.champion, document.impact.candidate), scores, strict=True):
        assert side.r2 == pytest.approx(r2_score(truth, own), rel=1e-9)
        assert side.mae == pytest.approx(mean_absolute_error(truth, own), rel=1e-9)
    assert (document.data.target_mean, document.data.target_sd) == pytest.approx((truth.mean(), truth.std(ddof=0)))
    before, after = (np.expm1(each) >= 3000.0 for each in scores)
    flips = document.impact.flips
    assert (flips.threshold, flips.up, flips.down) == pytest.approx(
        (3000.0, (after & ~before).mean(), (before & ~after).mean())
    )


def test_power_transformer_and_pipelines_cost_what_they_say_in_one_unit(frame):
    transformer = make_pipeline(FunctionTransformer(np.log, np.exp), StandardScaler())
    old, new = fit(frame.iloc[:120], transformer=transformer), fit(frame, func=np.log, inverse_func=np.exp)
    path = explain_change(old, new, data=frame, target="price").document.path
    costs = [mean_squared_error(np.log(frame.price), np.log(model.predict(frame))) for model in (old, new)]
    assert [path.start_cost, path.steps[-1].cost] == pytest.approx(costs, rel=1e-9)
    bent = fit(frame, transformer=PowerTransformer("box-cox", standardize=False))
    document = explain_change(None, bent, data=frame, target="price").document
    scale = bent.transformer_.transform(frame[["price"]].to_numpy()).ravel()
    inner = bent.regressor_.predict(frame)
    assert document.path.steps[-1].cost == pytest.approx(mean_squared_error(scale, inner), rel=1e-9)
    assert re.fullmatch(r"Box-Cox\(price; λ = -?[0-9.]+\)", document.data.predicted)


def test_it_is_said_everywhere(report):
    document = report.document
    assert document.data.predicted == "log1p(price)"
    assert "mean squared error of log1p(price) goes from" in document.summary.sentences[0]
    assert any("are models of log1p(price), not of the target itself" in limit for limit in document.limits)
    out = io.StringIO()
    with redirect_stdout(out):
        show_overview(document)
    assert "mean squared error of log1p(price)" in " ".join(out.getvalue().split())
    html, markdown = report.to_html(), report.to_markdown()
    for page in (re.sub(r"<[^>]+>", "", html), markdown.replace("\\", "")):
        text = " ".join(page.split())
        for words in (
            "Cost: mean squared error of log1p(price)",
            "Mean absolute error of log1p(price)",
            "Bias (average log1p(price) minus average score)",
            "change of score (log1p(price)) for one standard deviation",
            "Mean and standard deviation of log1p(price)",
            "The score of both versions is one of log1p(price)",
            "Modelled",
        ):
            assert words in text
    for who in ("champion", "candidate"):
        assert json.loads(report.to_json())["models"][who]["target_map"] == [{"kind": "function", "name": "log1p"}]


def test_verify_reads_the_rows_again(pair, frame, tmp_path):
    frame.to_parquet(tmp_path / "cars.parquet")
    made = explain_change(*pair, data=tmp_path / "cars.parquet", target="price")
    assert verify_report(made, tmp_path / "cars.parquet").conclusion.startswith("verified against the data; ")
    frame.assign(price=frame.price * 1.01).to_parquet(tmp_path / "cars.parquet")
    assert not verify_report(made, tmp_path / "cars.parquet").passed


def test_a_report_that_hides_the_function_is_no_report(report):
    told = report.document
    for predicted in (None, "price"):
        data = told.data.model_copy(update={"predicted": predicted})
        forged = told.model_copy(update={"data": data})
        forged = forged.model_copy(update={"digest": document_digest(forged)})
        with pytest.raises(ReportFormatError, match=r"data.predicted"):
            verify_report(ChangeReport(forged))


def test_a_scaled_target_is_the_target_itself(frame):
    plain = make_pipeline(
        make_column_transformer((StandardScaler(), ["km"]), (OneHotEncoder(), ["town"])), LinearRegression()
    )
    scaled = TransformedTargetRegressor(plain, transformer=StandardScaler()).fit(frame[["km", "town"]], frame.price)
    plain.fit(frame[["km", "town"]], frame.price)
    document = explain_change(plain, scaled, data=frame, target="price").document
    assert document.path.steps == ()
    assert document.data.predicted is None
    assert "predicted" not in json.loads(ChangeReport(document).to_json())["data"]


def test_different_functions_of_the_target_are_not_compared(pair, frame):
    other = fit(frame, func=np.log, inverse_func=np.exp)
    plain = Ridge().fit(frame[["km"]], frame.price)
    with pytest.raises(
        AlignmentError, match=r"the champion log1p\(target\), the candidate log\(target\)\. Their costs are not"
    ):
        explain_change(pair[0], other, data=frame, target="price")
    with pytest.raises(AlignmentError, match=r"the champion log1p\(target\), the candidate target\."):
        explain_change(pair[0], plain, data=frame, target="price")
    assert explain_change(None, other, data=frame, target="price").document.data.predicted == "log(price)"


def test_rows_without_a_finite_value_are_counted_and_named(frame):
    model = fit(frame, func=np.log, inverse_func=np.exp)
    rows = frame.copy()
    rows.loc[:4, "price"] = [0.0, -1.0, -2.5, 0.0, np.nan]
    message = r"column 'price' has no finite log\(price\), which the models predict, in 4 of 240 rows \(-2.5 at its lowest\)"
    with pytest.raises(ReferenceDataError, match=message):
        explain_change(None, model, data=rows, target="price", missing="drop")
    with pytest.raises(ReferenceDataError, match="column 'price' is missing in 1 of 240 rows"):
        explain_change(None, model, data=rows, target="price")
    weighted = rows.assign(w=(np.arange(ROWS) > 4).astype(float))
    assert explain_change(None, model, data=weighted, target="price", weight="w", missing="drop").document.data.rows == 235


def test_logged_moments_are_of_the_target_and_do_not_do(pair, frame):
    rows = frame[["age", "km", "price"]]
    logged = read_logged_moments(moments_to_log(rows, "price", weight=None, role="training", period=None, missing="fail"))
    model = from_estimator(pair[1])
    request = Request(
        Subject(name="m", champion=None, candidate=version_facts(model, "candidate")), ChangeFacts(), settings_for()
    )
    with pytest.raises(UsageError, match=r"the models predict log1p\(price\), whose error needs rows"):
        make_report(None, model, ReferenceData(logged, "price"), request)


@pytest.mark.parametrize(
    ("target", "threshold", "message"),
    [(LOG, -1.0, r"no value at the threshold -1"), ({"func": np.sqrt, "inverse_func": np.square}, 9.0, "serve its square")],
)
def test_thresholds_that_no_score_has_are_refused(frame, target, threshold, message):
    with pytest.raises(UsageError, match=message):
        explain_change(None, fit(frame, **target), data=frame, target="price", threshold=threshold)
