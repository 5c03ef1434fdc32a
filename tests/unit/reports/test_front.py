"""The price of fewer changes, without a registry: fitted on one population, scored on another, figures from raw models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import coordpath_governance as cg
from coordpath_governance.errors import CoordpathError, ProblemError, UsageError
from coordpath_governance.models import from_fitted
from coordpath_governance.reference import collect
from coordpath_governance.reference.logged import moments_to_log, read_logged_moments
from coordpath_governance.rendering.front import front_bytes, front_html, front_markdown
from coordpath_governance.rendering.front_view import front_view
from coordpath_governance.reports.front_document import FrontDocument, front_schema
from coordpath_governance.reports.front_flow import FrontRequest, _front_steps, make_front
from coordpath_governance.reports.make import ReferenceData, settings_for

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "front.schema.json"
TOWNS = ["Ayr", "Bath", "Cork", "Dover"]


def houses(seed, count=300, rare=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"area": rng.normal(80, 20, count), "age": rng.uniform(0, 60, count)})
    frame["town"] = rng.choice(TOWNS[:3], count)
    frame.loc[: rare - 1, "town"] = "Dover"
    frame["weight"] = rng.uniform(0.5, 2.0, count)
    effect = frame["town"].map({"Ayr": 0.0, "Bath": 12.0, "Cork": -7.0, "Dover": 30.0})
    frame["price"] = 3.0 * frame["area"] - 0.8 * frame["age"] + effect + rng.normal(0, 9, count)
    return frame


def fitted(frame, model=None):
    columns = make_column_transformer(
        (StandardScaler(), ["area", "age"]), (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="drop"
    )
    return make_pipeline(columns, model or LinearRegression()).fit(frame[["area", "age", "town"]], frame["price"])


@pytest.fixture(scope="module")
def pair():
    return fitted(houses(1, 60)), fitted(houses(2, 300))


def plain(document):
    return json.loads(front_bytes(document))


def test_champion_and_candidate_cost_what_they_cost(pair):
    fit, data = houses(3, rare=4), houses(4, rare=3)
    document = cg.front(*pair, fit_data=fit, data=data, target="price", weight="weight", max_steps=3)
    weight = data["weight"] / data["weight"].sum()
    losses = [(data["price"] - model.predict(data)) ** 2 for model in pair]
    assert document.champion.reference_cost == pytest.approx(float(weight @ losses[0]))
    assert document.candidate.reference_cost == pytest.approx(float(weight @ losses[1]))
    apart = losses[1] - losses[0]
    error = np.sqrt(300 / 299 * (weight**2) @ (apart - weight @ apart) ** 2)
    assert document.candidate.difference_se == pytest.approx(float(error))
    of_fit = fit["weight"] @ (fit["price"] - pair[0].predict(fit)) ** 2 / fit["weight"].sum()
    assert document.updates[0].fit_cost == document.champion.fit_cost == pytest.approx(float(of_fit))


def test_enough_steps_fit_as_well_as_least_squares(pair):
    fit, data = houses(5), houses(6)
    document = cg.front(*pair, fit_data=fit, data=data, target="price", max_steps=4)
    best = fitted(fit)
    assert document.updates[-1].fit_cost == pytest.approx(float(np.mean((fit["price"] - best.predict(fit)) ** 2)))
    assert document.updates[-1].reference_cost == pytest.approx(float(np.mean((data["price"] - best.predict(data)) ** 2)))


def test_rows_and_their_moments_score_alike(pair):
    fit, data = houses(3), houses(4)
    rows = cg.front(*pair, fit_data=fit, data=data, target="price", max_steps=2)
    facts = {"weight": None, "role": "holdout", "period": None, "missing": "fail"}
    logs = [read_logged_moments(moments_to_log(frame, "price", **facts)) for frame in (fit, data)]
    sides = [ReferenceData(log, "price") for log in logs]
    request = FrontRequest(rows.subject, 2, settings_for())
    logged = make_front(*map(from_fitted, pair), *sides, request)
    assert logged.candidate.difference_se is None
    for mine, other in zip(logged.updates, rows.updates, strict=True):
        assert mine.reference_cost == pytest.approx(other.reference_cost)
        assert mine.fit_cost == pytest.approx(other.fit_cost)
    assert "moments only" in " ".join(front_view(logged).sentences)


@pytest.mark.parametrize("model", [LogisticRegression(), PoissonRegressor(alpha=1e-6)])
def test_losses_on_rows(model):
    def rows(seed):
        frame = houses(seed)
        score = (frame["price"] - frame["price"].mean()) / frame["price"].std()
        rng = np.random.default_rng(seed)
        yes = np.where(rng.random(len(frame)) < 1 / (1 + np.exp(-score)), "yes", "no")
        return frame.assign(price=yes if isinstance(model, LogisticRegression) else rng.poisson(np.exp(0.5 * score)))

    old, new = fitted(rows(1)[:80], clone(model)), fitted(rows(1), clone(model))
    document = cg.front(old, new, fit_data=rows(3), data=rows(4), target="price", max_steps=2)
    assert document.whole is None
    assert {row.status for row in document.updates} == {"optimal"}
    data = rows(4)
    if isinstance(model, LogisticRegression):
        chance = new.predict_proba(data)[np.arange(len(data)), (data["price"] == "yes").astype(int)]
        assert document.candidate.reference_cost == pytest.approx(float(-np.log(chance).mean()))
    assert document.updates[2].fit_cost < document.updates[0].fit_cost
    assert "Weighted sums only" in front_markdown(document)
    assert "<svg" not in front_html(document)


@pytest.mark.parametrize("limit", ["KEPT_CELLS", "KEPT_FOR_PASSES"])
def test_rows_that_are_not_kept_are_read_again(pair, monkeypatch, limit):
    fit, data = houses(3), houses(4)
    models = pair
    if limit == "KEPT_FOR_PASSES":
        fit, data = (frame.assign(price=np.where(frame["price"] > 215, "dear", "cheap")) for frame in (fit, data))
        models = fitted(fit[:80], LogisticRegression()), fitted(fit, LogisticRegression())
    asked = {"fit_data": fit, "data": data, "target": "price", "max_steps": 2}
    kept = plain(cg.front(*models, **asked))
    monkeypatch.setattr(collect, limit, 10)
    assert plain(cg.front(*models, **asked)) == kept


def test_moments_do_not_tell_a_loss_on_rows(pair):
    facts = {"weight": None, "role": "holdout", "period": None, "missing": "fail"}
    log = ReferenceData(read_logged_moments(moments_to_log(houses(3), "price", **facts)), "price")
    frame = houses(1)
    frame["price"] = frame["price"] > 215
    yes = from_fitted(fitted(frame, LogisticRegression()))
    subject = cg.front(*pair, fit_data=houses(3), data=houses(4), target="price", max_steps=1).subject
    request = FrontRequest(subject, 1, settings_for())
    with pytest.raises(UsageError, match="logged moments only, and these models need rows"):
        make_front(None, yes, log, log, request)
    other = ReferenceData(log.data, "rent")
    with pytest.raises(UsageError, match="the fit data are of the target 'price', the reference data of 'rent'"):
        make_front(*map(from_fitted, pair), log, other, request)


def test_figures_that_overflow_are_refused():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [1e153, -1e153, 2e153, 1e153]})
    model = cg.LinearModel(0.0, has_intercept=False, numeric=(cg.NumericTerm("x", 1e154),))
    with pytest.raises(CoordpathError, match="overflow"):
        cg.front(None, model, fit_data=frame, data=frame * 1.5, target="y", max_steps=1)


def test_several_classes():
    rng = np.random.default_rng(0)

    def rows(seed, count=240):
        frame = pd.DataFrame(np.random.default_rng(seed).normal(size=(count, 2)), columns=["x", "z"])
        score = frame.to_numpy() @ [[1.0, 0.0, -1.0], [0.0, 1.5, -0.5]]
        return frame.assign(y=[f"c{i}" for i in (score + rng.gumbel(size=score.shape)).argmax(axis=1)])

    old, new = rows(1, 60), rows(2)
    models = [LogisticRegression().fit(frame[["x", "z"]], frame["y"]) for frame in (old, new)]
    data = rows(4)
    document = cg.front(*models, fit_data=rows(3), data=data, target="y", max_steps=2)
    for facts, model in ((document.champion, models[0]), (document.candidate, models[1])):
        chance = model.predict_proba(data[["x", "z"]])[np.arange(len(data)), data["y"].str[1:].astype(int)]
        assert facts.reference_cost == pytest.approx(float(-np.log(chance).mean()))
    assert {len(row.changes) for row in document.updates[1:2]} == {3}


def test_no_gain_to_share(pair):
    data = houses(4)
    document = cg.front(pair[1], pair[0], fit_data=houses(3), data=data, target="price", max_steps=1)
    assert document.candidate.share is None
    assert "does not exceed two standard errors" in " ".join(front_view(document).sentences)


def test_from_zero_there_is_no_score_to_rescale():
    frame = houses(1)[["area", "age", "price"]] - houses(1)[["area", "age", "price"]].mean()
    model = LinearRegression(fit_intercept=False).fit(frame[["area", "age"]], frame["price"])
    document = cg.front(
        None, model, fit_data=frame[:150], data=frame[150:], target="price", max_steps=2, steps_chosen={2: 1}
    )
    assert document.recalibrations == ()
    assert document.chosen.steps[-1].reference_cost == document.chosen.reference_expected
    page = front_html(document)
    assert "For a person who chooses" in page
    assert page.count("<svg") == 1
    assert "stroke-dasharray" in page
    assert "http" not in page.replace("http-equiv", "")
    assert front_html(document) == page


def test_the_document_fits_its_schema(pair):
    document = cg.front(
        *pair, fit_data=houses(3), data=houses(4), target="price", max_steps=2, steps_chosen={1: 0.5, 2: 0.5}
    )
    content = plain(document)
    assert FrontDocument.model_validate(content) == document
    assert set(front_schema()["properties"]) == set(content)
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == front_schema(), "run python docs/schemas/write.py"
    assert content["schema"] == "coordpath.front/1"
    names = ("features", "start", "weights", "max_terms", "resolution", "shortfall", "status", "points", "whole")
    assert set(names) < set(content)


@pytest.mark.parametrize(
    ("units", "asked", "steps"), [(2, 10, 5), (30, 10, 5), (32, 10, 4), (75, 10, 3), (311, 10, 2), (10**8, 3, 1)]
)
def test_wide_fronts_are_of_fewer_steps(units, asked, steps):
    assert _front_steps(units, asked) == steps


def test_what_it_refuses(pair):
    rows = {"fit_data": houses(3), "data": houses(4), "target": "price"}
    with pytest.raises(UsageError, match="max_steps: 0 is too few"):
        cg.front(*pair, **rows, max_steps=0)
    with pytest.raises(ProblemError, match=r"add up to 0\.7"):
        cg.front(*pair, **rows, steps_chosen={1: 0.7})
    with pytest.raises(UsageError, match="give data="):
        cg.front(*pair, data=houses(4), target="price")
