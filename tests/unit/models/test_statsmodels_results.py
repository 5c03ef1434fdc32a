"""statsmodels results, stored by MLflow itself, by older versions, and live: score = prediction on rows never seen."""

from __future__ import annotations

import contextlib
import json
import pickle
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels
import statsmodels.api as sm
import statsmodels.formula.api as smf
import yaml
from helpers.bent_models import score

import coordpath_governance as cg
from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import from_document, from_fitted, read_model, to_document
from coordpath_governance.models.pickle_objects import read_pickle_bytes
from coordpath_governance.models.statsmodels_folding import fold_result

sys.path.insert(0, str(Path(__file__).parents[2] / "golden" / "statsmodels"))
from write_results import FAMILIES, LINKS, SHORT, fitted, inputs_of, training_data

mlflow = pytest.importorskip("mlflow")

TRAIN, ROWS = training_data(), training_data(200, seed=5)
RESULTS = fitted(TRAIN)
ZIP = zipfile.ZipFile(Path(__file__).parents[2] / "golden" / "statsmodels" / "statsmodels-0.14.zip")
OLD = json.loads(ZIP.read("results.json"))
INVERSE = {"identity": lambda s: s, "logit": lambda s: 1 / (1 + np.exp(-s)), "log": np.exp}


def predictions(model, rows):
    return INVERSE[model.link](score(model, rows))


def assert_predicts(model, rows, expected):
    np.testing.assert_allclose(predictions(model, rows), np.asarray(expected), rtol=1e-9, atol=1e-12)


def as_named(model, rows):
    """Rows under the names x0, x1 … if the model has no others."""
    return (
        rows if set(model.columns) <= set(rows.columns) else rows.set_axis([f"x{i}" for i in range(rows.shape[1])], axis=1)
    )


@pytest.mark.parametrize("name", RESULTS)
def test_live_results_predict_as_they_are(name):
    model = from_fitted(RESULTS[name])
    rows = inputs_of(name, ROWS)
    assert_predicts(model, as_named(model, rows), RESULTS[name].predict(rows))
    assert model.source == "a fitted result in memory"
    assert model.library == f"statsmodels {statsmodels.__version__}"
    assert from_document(to_document(model)) == model
    assert cg.to_coefficients(RESULTS[name]) == to_document(model)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", ["ols", "glm-gamma", "f-ols"])
def test_every_protocol_is_read(name, protocol):
    model = fold_result(read_pickle_bytes(pickle.dumps(RESULTS[name], protocol)))
    rows = inputs_of(name, ROWS)
    assert_predicts(model, rows, RESULTS[name].predict(rows))


@pytest.mark.parametrize("member", [name for name in ZIP.namelist() if name.endswith(".pkl")])
def test_results_of_older_versions(member):
    name = member.split(".")[0].removesuffix("-bare")
    model = fold_result(read_pickle_bytes(ZIP.read(member)))
    rows = pd.DataFrame(OLD[name]["rows"])
    assert_predicts(model, as_named(model, rows), OLD[name]["predictions"])


@pytest.fixture(scope="module")
def save(tmp_path_factory):
    def saved(result, **options):
        folder = tmp_path_factory.mktemp("saved") / "model"
        mlflow.statsmodels.save_model(result, folder, pip_requirements=[], **options)
        return folder

    return saved


SAVED = ["ols", "ols-array", "ols-without", "glm-binomial", "negative", "f-ols", "f-poisson"]


@pytest.mark.parametrize(
    ("name", "remove"), [*((name, remove) for name in SAVED for remove in (False, True)), ("net", False)]
)
def test_what_mlflow_stores_is_what_it_serves(save, name, remove):
    result = fitted(TRAIN)[name]
    rows = inputs_of(name, ROWS)
    signature = None if name.startswith("f-") else mlflow.models.infer_signature(rows, result.predict(rows))
    folder = save(result, remove_data=remove, signature=signature)
    model = read_model(folder)
    served = mlflow.pyfunc.load_model(str(folder)).predict(rows)
    assert_predicts(model, rows, served)
    assert model.source == "read from the model's files (a pickle, as data)"
    holds = [remark for remark in model.remarks if "holds the training data (60 rows" in remark]
    assert bool(holds) == (not remove or name.startswith("f-"))


def test_without_a_signature_and_its_data_a_model_has_no_names(save):
    result = fitted(TRAIN)["ols"]
    model = read_model(save(result, remove_data=True))
    assert model.columns == ("x1", "x2")
    assert "its input column 'x0' is taken to be 1 in every row: it is the intercept" in model.remarks


def test_a_signature_of_other_columns_is_refused(save):
    rows = inputs_of("ols", ROWS)
    other = save(RESULTS["ols"], signature=mlflow.models.infer_signature(rows[["age", "const", "km"]]))
    with pytest.raises(UnsupportedModelError, match="another order"):
        read_model(other)
    fewer = save(RESULTS["ols"], signature=mlflow.models.infer_signature(rows[["age", "km"]]))
    with pytest.raises(UnsupportedModelError, match=r"2 columns for 3 coefficients.*add_constant"):
        read_model(fewer)


@pytest.mark.parametrize(("kind", "power"), [("integer", 2), ("long", 3)])
def test_a_signature_under_which_a_formula_wraps_around_is_refused(save, kind, power):
    frame = pd.DataFrame({"x": np.arange(1.0, 30.0)}).assign(y=lambda rows: rows.x**power)
    result = smf.ols(f"y ~ I(x**{power})", frame).fit()
    whole = {"integer": "int32", "long": "int64"}[kind]
    folder = save(result, signature=mlflow.models.infer_signature(frame[["x"]].astype(whole)))
    large = pd.DataFrame({"x": [4_000_000 if power == 3 else 70_000]}, dtype=whole)
    assert mlflow.pyfunc.load_model(str(folder)).predict(large).iloc[0] < 0.5 * float(large.x[0]) ** power
    with pytest.raises(UnsupportedModelError, match=r"wrap around.*convert the column to float"):
        read_model(folder)
    doubles = save(result, signature=mlflow.models.infer_signature(frame[["x"]]))
    assert_predicts(read_model(doubles), large, mlflow.pyfunc.load_model(str(doubles)).predict(large.astype(float)))


def test_a_constant_that_is_not_add_constants_is_a_column_of_its_own():
    design = TRAIN[["age", "km"]].assign(land=1.0)
    model = from_fitted(sm.OLS(TRAIN["price"], design).fit())
    assert model.columns == ("age", "km", "land")
    assert not model.has_intercept
    tens = sm.OLS(TRAIN["price"], TRAIN[["age"]].assign(const=10.0)).fit()
    assert from_fitted(tens).columns == ("age", "const")
    assert_predicts(from_fitted(tens), ROWS.assign(const=3.0), tens.predict(ROWS[["age"]].assign(const=3.0)))


def test_kinds():
    kinds = {name: from_fitted(result) for name, result in RESULTS.items()}
    assert {name: (m.family, m.power) for name, m in kinds.items() if name.startswith("glm-tweedie")} == {
        "glm-tweedie": ("tweedie", 1.6),
        "glm-tweedie-1": ("poisson", None),
        "glm-tweedie-2": ("gamma", None),
    }
    for name in ("negative", "geometric", "f-negative", "glm-negative"):
        assert kinds[name].family == "poisson"
        assert kinds[name].regularisation["loss"] == "negative binomial likelihood"
    assert kinds["logit"].classes == ("0", "1")
    assert kinds["logit"].threshold is None
    assert kinds["f-ols"].target == "price"
    assert kinds["net"].regularisation["kind"] == "elastic net"
    assert kinds["logit-lasso"].regularisation["kind"] == "lasso"
    assert kinds["net-again"].regularisation == {"kind": "none", "chosen_by": "an elastic net, then fitted again"}
    assert kinds["glm-gamma"].estimator == "GLM (Gamma)"
    assert any("fitted with an exposure, and MLflow serves it without" in remark for remark in kinds["glm-exposure"].remarks)
    assert kinds["ols"].has_intercept
    assert not kinds["ols-without"].has_intercept


def _design():
    return sm.add_constant(TRAIN[["age", "km"]])


REFUSED = {
    "InversePower": lambda: sm.GLM(TRAIN["cost"], _design(), family=FAMILIES.Gamma(LINKS.InversePower())).fit(),
    "family Binomial with the link Probit": lambda: sm.GLM(
        TRAIN["good"], _design(), family=FAMILIES.Binomial(LINKS.Probit())
    ).fit(),
    "family Binomial with the link CLogLog": lambda: sm.GLM(
        TRAIN["good"], _design(), family=FAMILIES.Binomial(LINKS.CLogLog())
    ).fit(),
    "family Gaussian with the link log": lambda: sm.GLM(
        TRAIN["cost"], _design(), family=FAMILIES.Gaussian(LINKS.Log())
    ).fit(),
    "family InverseGaussian": lambda: sm.GLM(TRAIN["cost"], _design(), family=FAMILIES.InverseGaussian(LINKS.Log())).fit(),
    "power 2.5": lambda: sm.GLM(TRAIN["cost"], _design(), family=FAMILIES.Tweedie(LINKS.Log(), var_power=2.5)).fit(),
    "discrete_model.Probit": lambda: sm.Probit(TRAIN["good"], _design()).fit(disp=0),
    "MNLogit": lambda: sm.MNLogit(TRAIN["tier"], _design()).fit(disp=0),
    "QuantReg": lambda: sm.QuantReg(TRAIN["price"], _design()).fit(),
    "RLM": lambda: sm.RLM(TRAIN["price"], _design()).fit(),
    "MixedLM": lambda: smf.mixedlm("price ~ age", TRAIN, groups=TRAIN["city"]).fit(),
    "GLSAR": lambda: sm.GLSAR(TRAIN["price"], _design(), 1).iterative_fit(2),
    "ARIMA": lambda: sm.tsa.ARIMA(TRAIN["price"].to_numpy(), order=(1, 0, 0)).fit(),
    "calls 'center'": lambda: smf.ols("price ~ center(age)", TRAIN).fit(),
    "calls 'bs'": lambda: smf.ols("price ~ bs(age, df=4)", TRAIN).fit(),
    "not a number": lambda: smf.glm("new ~ age", TRAIN, family=FAMILIES.Binomial()).fit(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", REFUSED)
def test_others_are_refused_by_name_with_the_way_out(what):
    with pytest.raises(UnsupportedModelError, match=re.escape(what)) as caught:
        from_fitted(REFUSED[what]())
    assert re.search(r"coefficients\.json|before the model|0 and 1", str(caught.value))


@pytest.mark.filterwarnings("ignore")
def test_a_model_of_formulaic_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(statsmodels.formula.options, "formula_engine", "formulaic")
    result = smf.ols("price ~ age", TRAIN).fit()
    with pytest.raises(UnsupportedModelError, match=r"read by formulaic.*Fit the model with patsy"):
        from_fitted(result)


@pytest.mark.parametrize(
    ("left", "maps"),
    [("np.log(cost)", ["log"]), ("np.log1p(cost * 2 + 1)", ["affine", "log1p"]), ("I(2 * np.sqrt(cost) + 1)", ["sqrt"])],
)
def test_a_function_of_the_target_is_what_the_score_is_judged_by(left, maps):
    result = smf.ols(f"{left} ~ age", TRAIN).fit()
    model = from_fitted(result)
    assert model.target == "cost"
    assert [getattr(each, "name", each.kind) for each in model.target_map] == maps
    slope = result.params["age"] / (2.0 if left.startswith("I") else 1.0)
    np.testing.assert_allclose(model.numeric[0].coefficient, slope, rtol=1e-12)
    assert any(f"it serves {result.model.endog_names}, and not cost itself" in remark for remark in model.remarks)


def test_a_formula_of_several_targets_says_what_it_predicts():
    model = from_fitted(smf.ols("I(cost + km) ~ age", TRAIN).fit())
    assert model.target == "I(cost + km)"
    assert "it predicts I(cost + km), so the target it is judged by must be that too" in model.remarks


@pytest.mark.parametrize(
    ("fit", "formula"),
    [(smf.ols, "np.abs(cost) ~ age"), (smf.ols, "I(1 / cost) ~ age"), (smf.poisson, "np.log1p(count) ~ age")],
)
@pytest.mark.filterwarnings("ignore")
def test_other_functions_of_the_target_are_refused(fit, formula):
    result = fit(formula, TRAIN).fit(**({} if fit is smf.ols else {"disp": 0}))
    with pytest.raises(UnsupportedModelError, match="fit the model on a column that holds the target"):
        from_fitted(result)


def test_levels_never_seen_and_missing_values_are_what_it_raises_on():
    model = from_fitted(RESULTS["f-ols"])
    strange = ROWS.head(3).copy()
    strange["city"] = ["Bern", "Basel", None]
    assert np.isnan(score(model, strange)).tolist() == [False, True, True]
    assert {term.unknown for term in model.categorical} == {None}
    assert {term.missing for term in model.numeric} == {None}


def test_rows_that_were_left_out_of_the_design_do_not_matter():
    gaps = TRAIN.copy()
    gaps.loc[3, "age"] = np.nan
    gaps.loc[5, "city"] = None
    result = smf.ols(f"price ~ {SHORT}", gaps).fit()
    assert_predicts(from_fitted(result), ROWS, result.predict(ROWS))


def test_a_frame_that_was_changed_after_fitting_is_refused():
    frame = TRAIN.copy()
    result = smf.ols(f"price ~ {SHORT}", frame).fit()
    frame["age"] *= 2
    with pytest.raises(UnsupportedModelError, match="changed after fitting"):
        from_fitted(result)


def test_training_data_are_told_and_never_copied(save):
    frame = TRAIN.assign(secret=[f"secret-{i}" for i in range(len(TRAIN))])
    result = smf.ols(f"price ~ {SHORT}", frame).fit()
    model = read_model(save(result, remove_data=True))
    assert any("60 rows, 12 columns" in remark and "also with remove_data=True" in remark for remark in model.remarks)
    assert "secret-" not in json.dumps(to_document(model))
    assert "secret" not in model.columns


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda flavours: flavours["python_function"].update(loader_module="mlflow.sklearn"), "loader_module"),
        (lambda flavours: flavours["python_function"].update(data="other"), "data="),
        (lambda flavours: flavours["python_function"].update(predict_fn="fit"), "predict_fn"),
        (lambda flavours: flavours["python_function"].update(code="code"), "code_paths"),
        (lambda flavours: flavours["statsmodels"].update(code="code"), "code_paths"),
        (lambda flavours: flavours["statsmodels"].update(hook="x"), "statsmodels.hook"),
        (lambda flavours: flavours["statsmodels"].update(data="sub/model.statsmodels"), "folder of its own"),
    ],
)
def test_a_folder_where_something_else_decides_is_refused(save, change, named):
    folder = save(RESULTS["ols"])
    settings = yaml.safe_load((folder / "MLmodel").read_text())
    change(settings["flavors"])
    (folder / "MLmodel").write_text(yaml.safe_dump(settings))
    with pytest.raises(UnsupportedModelError, match=re.escape(named)):
        read_model(folder)


def test_a_second_mlmodel_is_refused(save):
    folder = save(RESULTS["ols"])
    (folder / "more").mkdir()
    (folder / "more" / "MLmodel").write_text("{}")
    with pytest.raises(UnsupportedModelError, match="second MLmodel"):
        read_model(folder)


@pytest.mark.parametrize("size", [0, 1, 10, 500, 3000])
def test_half_a_file_is_damaged(save, size):
    folder = save(RESULTS["f-ols"])
    path = folder / "model.statsmodels"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ModelReadError):
        read_model(folder)


def test_a_file_too_large_says_what_makes_it_so(save):
    folder = save(RESULTS["ols"])
    with (folder / "model.statsmodels").open("r+b") as file:
        file.truncate(300 << 20)
    with pytest.raises(UnsupportedModelError, match=r"300 MB.*remove_data=True"):
        read_model(folder)


def test_a_result_without_its_wrapper():
    result = RESULTS["glm-gamma"]
    assert from_fitted(result._results) == from_fitted(result)


def test_counts_of_successes_are_told():
    counts = np.column_stack([TRAIN["count"], TRAIN["tier"]])
    result = sm.GLM(counts, sm.add_constant(TRAIN[["age"]]), family=FAMILIES.Binomial()).fit()
    model = from_fitted(result)
    assert "it was fitted on counts of successes and failures, and predicts the share of successes" in model.remarks
    assert_predicts(model, ROWS, result.predict(sm.add_constant(ROWS[["age"]])))
    assert not any("counts" in remark for remark in from_fitted(RESULTS["glm-binomial"]).remarks)


def test_dates_and_other_columns_may_lie_beside_those_that_are_used():
    frame = TRAIN.assign(
        day=pd.date_range("2024-01-01", periods=60),
        until=pd.date_range("2025-01-01", periods=60),
        zoned=pd.date_range("2025-01-01", periods=60, tz="UTC"),
        whole=pd.array([1, None] * 30, dtype="Int64"),
        mixed=pd.Series([1, "a"] * 30, dtype=object),
    )
    frame.index = pd.date_range("2024-01-01", periods=60, freq="D")
    result = smf.ols(f"price ~ {SHORT}", frame).fit()
    assert_predicts(from_fitted(result), ROWS, result.predict(ROWS))
    with pytest.raises(UnsupportedModelError, match="column 'whole', which holds neither numbers"):
        from_fitted(smf.ols("price ~ age + whole", frame.dropna()).fit())


def test_without_names_to_compare_levels_in_another_order_are_read_as_they_are_served():
    result = smf.ols("price ~ age + C(city)", TRAIN.copy()).fit()
    result.remove_data()
    data = result._results.model.data
    data.frame = data.frame.assign(city=pd.Categorical(data.frame["city"], categories=["Zug", "Chur", "Bern"]))
    with pytest.raises(ModelReadError, match="names of its columns"):
        from_fitted(result)
    data.orig_exog = None
    stored = pickle.dumps(result)
    rows = ROWS.assign(city=pd.Categorical(ROWS["city"], categories=["Zug", "Chur", "Bern"]))
    assert_predicts(fold_result(read_pickle_bytes(stored)), ROWS, pickle.loads(stored).predict(rows))


def test_one_column_alone():
    result = sm.OLS(TRAIN["price"], TRAIN["age"]).fit()
    model = from_fitted(result)
    assert model.columns == ("age",)
    assert_predicts(model, ROWS, result.predict(ROWS[["age"]]))


def test_what_cannot_be_pickled_says_so():
    result = sm.OLS(TRAIN["price"], TRAIN[["age"]]).fit()
    result._results.note = lambda: None
    with pytest.raises(UnsupportedModelError, match=r"cannot be pickled \("):
        from_fitted(result)


@pytest.mark.filterwarnings("ignore")
def test_what_people_do_with_a_result_before_they_log_it():
    design = sm.add_constant(TRAIN[["age", "km"]])
    gaps = design.assign(age=design["age"].mask(TRAIN.index == 3))
    results = [
        sm.OLS(TRAIN["price"], design).fit(cov_type="HAC", cov_kwds={"maxlags": 2}),
        sm.OLS(TRAIN["price"], design).fit(cov_type="cluster", cov_kwds={"groups": TRAIN["tier"]}),
        sm.OLS(TRAIN["price"], design).fit().get_robustcov_results("HC3"),
        sm.OLS(TRAIN["price"], design).fit(method="qr"),
        sm.WLS(TRAIN["price"], gaps, weights=TRAIN["years"], missing="drop").fit(),
        sm.GLM(TRAIN["count"], design, family=FAMILIES.Poisson()).fit(method="bfgs", disp=0),
        sm.GLM(TRAIN["count"], design, family=FAMILIES.Poisson()).fit(scale="X2", attach_wls=True),
        sm.GLM(TRAIN["count"], design, family=FAMILIES.Poisson(), freq_weights=TRAIN["tier"]).fit(cov_type="HC0"),
        sm.Logit(TRAIN["good"], design).fit(disp=0, cov_type="HC0"),
        sm.Poisson(TRAIN["count"], design).fit_constrained("age = km", disp=0),
    ]
    for result in results:
        result.summary()
        result.conf_int()
        for look in ("get_influence", "get_margeff", "pred_table"):
            with contextlib.suppress(Exception):
                getattr(result, look)()
        model = from_fitted(result)
        assert_predicts(model, ROWS, result.predict(sm.add_constant(ROWS[["age", "km"]])))
