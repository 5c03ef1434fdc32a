"""Live classifiers and rates: the columns of rows score as scikit-learn does, and another coding is no change."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, TweedieRegressor
from sklearn.metrics import log_loss
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

from coordpath_governance import explain_change
from coordpath_governance.alignment.row_columns import RowColumns
from coordpath_governance.models import from_estimator
from coordpath_governance.paths.problem import BASELINE
from coordpath_governance.reference.encode import Tally, encode_rows

FEATURES = ["a", "b", "m", "c", "d"]
DROPS = {"all": None, "first": "first", "chosen": ["w", "1"]}


def rows(seed: int, n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(3, 1, n), "b": 1e3 * rng.normal(3, 1, n)})
    frame["m"] = pd.Series(rng.normal(0, 1, n)).mask(rng.random(n) < 0.2)
    frame["c"] = rng.choice(np.array([*"uvwx"], dtype=object), n, p=[0.6, 0.33, 0.04, 0.03])
    frame["d"] = rng.choice(np.array([*"012"], dtype=object), n)
    score = frame["a"] - 3 + (frame["c"] == "v") + frame["m"].fillna(0.5) + rng.logistic(size=n)
    frame["binary"] = (score > 0.3).astype(float)
    frame["three"] = np.digitize(score, [-0.5, 1.0]).astype(float)
    frame["rate"] = np.floor(np.exp(score / 3))
    frame["y"] = np.exp(score / 3)
    return frame


def pipeline(model, scaler=None, drop: str = "all", *, unknown: str = "ignore", indicator: bool = True) -> Pipeline:
    filled = SimpleImputer(add_indicator=indicator)
    numbers = make_pipeline(filled, scaler or StandardScaler())
    levels = OneHotEncoder(drop=DROPS[drop], handle_unknown=unknown)
    parts = [("n", numbers, ["a", "b", "m"]), ("c", levels, ["c", "d"])]
    return Pipeline([("prepare", ColumnTransformer(parts)), ("model", model)])


def fitted(model: Pipeline, frame: pd.DataFrame, target: str) -> Pipeline:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(frame[FEATURES], frame[target])


def scores(model: Pipeline, frame: pd.DataFrame) -> np.ndarray:
    """What scikit-learn itself scores, without what all classes have in common."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not hasattr(model, "decision_function"):
            return np.log(model.predict(frame[FEATURES]))[:, None]
        found = model.decision_function(frame[FEATURES])
    return found[:, None] if found.ndim == 1 else found - found.mean(axis=1, keepdims=True)


CASES = {
    "logistic": (LogisticRegression(), LogisticRegression(C=0.1), "binary"),
    "logistic without intercept": (
        LogisticRegression(fit_intercept=False),
        LogisticRegression(fit_intercept=False, C=0.1),
        "binary",
    ),
    "softmax": (LogisticRegression(), LogisticRegression(C=0.1, fit_intercept=False), "three"),
    "softmax without intercept": (
        LogisticRegression(fit_intercept=False),
        LogisticRegression(fit_intercept=False, C=0.1),
        "three",
    ),
    "poisson": (PoissonRegressor(alpha=0.1), PoissonRegressor(), "rate"),
    "gamma": (GammaRegressor(alpha=0.1), GammaRegressor(), "y"),
    "tweedie": (TweedieRegressor(power=1.5, alpha=0.1), TweedieRegressor(power=1.2), "rate"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scalers", [(StandardScaler(), RobustScaler()), (StandardScaler(with_mean=False),) * 2])
def test_columns_times_coefficients_are_the_models_own_scores(name, scalers, aligned):
    """Missing values, rare levels, levels that only one model knows, two codings: to 1e-9 in every row."""
    *models, target = CASES[name]
    champion = fitted(pipeline(models[0], scalers[0]), rows(1), target)
    candidate = fitted(pipeline(models[1], scalers[1], indicator=False), rows(2).query("c != 'x'"), target)
    frame = rows(3)
    frame.loc[5:40, "d"] = "never seen"
    result = aligned(from_estimator(champion), from_estimator(candidate), frame)
    assert any(c.source is not None and c.source.kind == "rare" for c in result.change.coordinates)
    columns = RowColumns.of(result.pair, result.moments, result.change)
    design = np.vstack([chunk.design for chunk in encode_rows(result.source, result.plan, Tally())])
    found, classes = columns.columns(design), len(result.pair.scores)
    for model, side in ((champion, "old"), (candidate, "new")):
        beta = np.array([getattr(c, side) for c in result.change.exercised])
        own = np.column_stack([found @ beta[c::classes] for c in range(classes)])
        np.testing.assert_allclose(own, scores(model, frame), rtol=1e-9, atol=1e-9)


def recoded(model: Pipeline, frame: pd.DataFrame, target: str, scaler, drop: str, common: float) -> Pipeline:
    """The same function of the rows in another coding; ``common`` is added to the scores of all classes."""
    other = fitted(pipeline(type(model["model"])(), scaler, drop), frame, target)
    wanted = np.atleast_2d(scores(model, frame).T).T
    prepared = other["prepare"].transform(frame[FEATURES])
    prepared = np.asarray(prepared.todense() if hasattr(prepared, "todense") else prepared)
    full = np.column_stack([np.ones(len(frame)), prepared])
    solved = np.linalg.lstsq(full, wanted + common * full[:, [1]], rcond=None)[0]
    flat = other["model"].coef_.ndim == 1
    other["model"].coef_ = solved[1:, 0] if flat else solved[1:].T
    other["model"].intercept_ = float(solved[0, 0]) if flat else solved[0]
    np.testing.assert_allclose(scores(other, frame), scores(model, frame), rtol=1e-8, atol=1e-8)
    return other


@pytest.mark.parametrize("name", ["logistic", "softmax", "poisson"])
@pytest.mark.parametrize("drop", ["first", "chosen"])
@pytest.mark.parametrize("scaler", [MinMaxScaler(), RobustScaler()])
def test_another_coding_of_one_function_is_no_change(name, drop, scaler, aligned):
    first, _, target = CASES[name]
    frame = rows(4)
    model = fitted(pipeline(first, unknown="error"), frame, target)
    other = recoded(model, frame, target, scaler, drop, 0.7 if name == "softmax" else 0.0)
    other["prepare"].named_transformers_["c"].handle_unknown = "error"
    for pair in ((model, other), (other, model)):
        assert aligned(*map(from_estimator, pair), frame).moving == set()
    lifted = recoded(model, frame, target, scaler, drop, 0.0)
    lifted["prepare"].named_transformers_["c"].handle_unknown = "error"
    intercept = lifted["model"].intercept_
    lifted["model"].intercept_ = intercept + np.eye(1, np.size(intercept)).reshape(np.shape(intercept))
    assert aligned(from_estimator(model), from_estimator(lifted), frame).moving == {BASELINE}


def test_tweedie_powers_may_differ_and_families_may_not(aligned):
    frame = rows(5)
    one, other = (fitted(pipeline(TweedieRegressor(power=p)), frame, "rate") for p in (1.3, 1.7))
    assert aligned(from_estimator(one), from_estimator(other), frame).pair.candidate.power == 1.7
    poisson = from_estimator(fitted(pipeline(PoissonRegressor()), frame, "rate"))
    with pytest.raises(ValueError, match="differ in family: the champion has 'poisson', the candidate 'tweedie'"):
        aligned(poisson, from_estimator(other), frame)


@pytest.mark.parametrize("target", ["binary", "three"])
def test_texts_that_only_look_like_the_levels_true_and_false_are_unknown_ones(target):
    frame = rows(5).assign(c=lambda f: np.where(f["c"] == "u", "True", "False"))
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(frame[["c"]], frame[target])
    frame.loc[::2, "c"] = frame.loc[::2, "c"].str.lower()
    cost = explain_change(None, model, data=frame, target=target).document.impact.candidate.cost
    assert cost == pytest.approx(log_loss(frame[target], model.predict_proba(frame[["c"]])), rel=1e-9)
