"""The corpus: estimator × preprocessing × format, saved by MLflow itself, read, and compared with the original.

Refusals are part of it: each names the step and what to do instead.
"""

from __future__ import annotations

import logging
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import skops.io
from helpers.corpus import COLUMNS, ESTIMATORS, FROZEN, PREPARED, corpus_data, fit_pair, original, predicted, probe_rows
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import KernelPCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - makes the imputer importable
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator
from sklearn.linear_model import LogisticRegression, MultiTaskLasso, RidgeClassifier
from sklearn.linear_model import Ridge as Linear
from sklearn.metrics import (
    log_loss,
    mean_gamma_deviance,
    mean_poisson_deviance,
    mean_squared_error,
    mean_tweedie_deviance,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, PolynomialFeatures, QuantileTransformer, StandardScaler
from sklearn.svm import LinearSVC

from coordpath_governance import explain_change
from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models import fold_stored, from_estimator, read_model
from coordpath_governance.models.maps import apply_all
from coordpath_governance.models.pickle_objects import read_pickle_bytes

mlflow = pytest.importorskip("mlflow")

DATA, ROWS = corpus_data(), probe_rows()
FORMATS = ("skops", "pickle", "cloudpickle")
USUAL = "scaled, with dummies"
_OF_NUMBERS = ("a share by a test", "from a model", "eliminated", "one after the other")
"""Preprocessing that is fitted on a target of numbers."""
PAIRS = [
    *((estimator, USUAL) for estimator in ESTIMATORS),
    *(("Ridge", each) for each in (*PREPARED, FROZEN) if each != USUAL),
    *(("LogisticRegression", each) for each in PREPARED if each not in (USUAL, *_OF_NUMBERS)),
]


@pytest.fixture(scope="module", autouse=True)
def _quiet():
    """MLflow warns of every pickle that it writes."""
    logger = logging.getLogger("mlflow.sklearn")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(before)


TRUSTED = [
    *("numpy.dtype", "numpy.number", "scipy._lib.array_api_compat.numpy._aliases.asarray"),
    "scipy.interpolate._bsplines.BSpline",
    *(f"sklearn._loss.loss.{name}" for name in ("HalfTweedieLoss", "HalfTweedieLossIdentity")),
    *(f"sklearn.calibration.{name}" for name in ("_CalibratedClassifier", "_SigmoidCalibration")),
    "sklearn.compose._column_transformer.make_column_selector",
    *(f"sklearn.feature_selection._univariate_selection.{name}" for name in ("f_classif", "f_regression")),
    "sklearn.metrics._classification.balanced_accuracy_score",
    *(f"sklearn.metrics._scorer.{name}" for name in ("_CurveScorer", "_PassthroughScorer", "_Scorer")),
    "sklearn.model_selection._search_successive_halving.HalvingGridSearchCV",
    *(f"sklearn.model_selection._split.{name}" for name in ("KFold", "StratifiedKFold")),
    *(f"sklearn.utils._metadata_requests.{name}" for name in ("MetadataRequest", "MethodMetadataRequest")),
]
"""What MLflow must be told to trust before it saves these models as skops archives."""


def saved(model, folder, form):
    """The model as MLflow saves it; of a model that is refused skops is told to trust whatever it needs."""
    options = {}
    if form == "skops":
        untrusted = skops.io.get_untrusted_types(data=skops.io.dumps(model)) if folder.name == form else TRUSTED
        options["skops_trusted_types"] = untrusted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow.sklearn.save_model(model, folder, serialization_format=form, pip_requirements=[], **options)
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Of every pair and form what the original predicts and what was read predicts, or the error."""
    folder = tmp_path_factory.mktemp("corpus")
    found = {}
    for number, (estimator, prepared) in enumerate(PAIRS):
        model = fit_pair(estimator, prepared, DATA)
        truth = original(model, ROWS)
        for form in _forms(number, estimator, prepared):
            found[estimator, prepared, form] = truth, _outcome(model, folder / f"{number}-{form}", form)
    return found


def _forms(number, estimator, prepared):
    """Every form; of preprocessing that stands before a second estimator one after the other."""
    if estimator == "LogisticRegression" and prepared != USUAL:
        return (FORMATS[number % len(FORMATS)], "live")
    return (*FORMATS, "live")


def _outcome(model, folder, form):
    """What the model that was read predicts, or why it is not read."""
    try:
        read = from_estimator(model) if form == "live" else read_model(saved(model, folder, form))
    except UnsupportedModelError as error:
        return error
    return predicted(read, ROWS)


def test_every_combination_is_read_and_predicts_what_the_original_does(corpus):
    unread = {key: str(own) for key, (_, own) in corpus.items() if isinstance(own, Exception)}
    assert unread == {}
    assert len({(estimator, prepared) for estimator, prepared, _ in corpus}) == len(PAIRS) >= 114
    assert len(corpus) > 4 * 100
    for key, (truth, own) in corpus.items():
        raises = np.isnan(truth).any(axis=1)
        if key[1] == "one after the other":  # this selector also raises for gaps in columns that it drops
            raises &= np.isnan(own).any(axis=1)
        assert np.isnan(own).any(axis=1).tolist() == raises.tolist(), key
        told = ~np.isnan(truth).any(axis=1)
        np.testing.assert_allclose(
            own[told], truth[told], rtol=1e-9, atol=1e-9 * np.abs(truth[told]).max(), err_msg=str(key)
        )


@pytest.mark.thorough
def test_rows_with_gaps_and_new_levels_are_among_those_compared(corpus):
    for row, prepared in ((16, "ordinal codes"), (17, "imputed, with indicators"), (18, "imputed levels, with indicators")):
        scored = [~np.isnan(truth[row]).any() for (_, own, _), (truth, _) in corpus.items() if own == prepared]
        assert all(scored)
    for row in (16, 17):
        assert any(np.isnan(truth[row]).any() for truth, _ in corpus.values())


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("estimator", ["calibrated RidgeClassifier", "target, Box-Cox", "calibrated SGDClassifier"])
def test_every_protocol_of_pickle_gives_the_same_model(protocol, estimator):
    model = fit_pair(estimator, USUAL, DATA)
    read = fold_stored(read_pickle_bytes(pickle.dumps(model, protocol)))
    np.testing.assert_array_equal(predicted(read, ROWS), predicted(from_estimator(model), ROWS))


_NUMBERS = ["a", "b", "c"]


def own_function(values):
    return values


def _before(*steps):
    return make_pipeline(make_column_transformer((make_pipeline(*steps), _NUMBERS)), Linear())


REFUSED = {
    "KNNImputer": (_before(KNNImputer()), "amount", "knnimputer' is a KNNImputer", "use a SimpleImputer"),
    "IterativeImputer": (
        _before(IterativeImputer()),
        "amount",
        "'columntransformer/pipeline/iterativeimputer'",
        "SimpleImputer",
    ),
    "Normalizer": (
        _before(Normalizer()),
        "amount",
        "normalizer' is a Normalizer, which divides every column",
        "StandardScaler",
    ),
    "KernelPCA": (_before(KernelPCA(2)), "amount", "kernelpca' is a KernelPCA", "supported: Pipeline"),
    "own function": (_before(FunctionTransformer(own_function)), "amount", "functiontransformer' is a Func", "np.log1p"),
    "sine": (
        _before(FunctionTransformer(np.sin)),
        "amount",
        "with numpy.sin, which we do not run",
        "Compute the column before",
    ),
    "curve of a product": (
        _before(PolynomialFeatures(2), QuantileTransformer(n_quantiles=20)),
        "amount",
        "quantiletransformer' applies a QuantileTransformer to",
        "Transform the columns before they are combined",
    ),
    "indicator that raises": (
        make_pipeline(make_column_transformer((MissingIndicator(), ["a", "m"])), Linear()),
        "amount",
        "missingindicator' raises where a column is missing",
        "error_on_new=False",
    ),
    "RandomForest": (_before(StandardScaler())[:-1], "amount", "randomforestregressor' is a RandomForest", "supported: "),
    "LinearSVC": (_before(StandardScaler())[:-1], "label", "linearsvc' is a LinearSVC", "CalibratedClassifierCV(model"),
    "RidgeClassifier": (
        _before(StandardScaler())[:-1],
        "label",
        "the squared error against −1",
        "CalibratedClassifierCV(model",
    ),
    "OneVsRest": (_before(StandardScaler())[:-1], "kind", "is a OneVsRestClassifier", "fit a LogisticRegression"),
    "several targets": (_before(StandardScaler())[:-1], "two", "is a MultiOutputRegressor", "log one model per target"),
    "many tasks": (_before(StandardScaler())[:-1], "two", "is a MultiTaskLasso", "log one model per target"),
    "two targets": (_before(StandardScaler()), "two", "predicts 2 targets at once", "log one model per target"),
    "target quantiles": (_before(StandardScaler())[:-1], "amount", "'transformedtargetregressor/transformer_'", "known are"),
}
_LAST = {
    "RandomForest": RandomForestRegressor(2),
    "LinearSVC": LinearSVC(),
    "RidgeClassifier": RidgeClassifier(),
    "OneVsRest": OneVsRestClassifier(LogisticRegression()),
    "several targets": MultiOutputRegressor(Linear()),
    "many tasks": MultiTaskLasso(),
    "target quantiles": TransformedTargetRegressor(Linear(), transformer=QuantileTransformer(n_quantiles=20)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_step_and_the_way_out_in_every_form(name, tmp_path):
    model, target, step, way_out = REFUSED[name]
    model = make_pipeline(*model, _LAST[name]) if name in _LAST else model
    y = pd.DataFrame({"one": DATA.a, "two": DATA.b}) if target == "two" else DATA[target]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(DATA[COLUMNS], y)
    for form in (*FORMATS, "live"):
        with pytest.raises(UnsupportedModelError) as error:
            from_estimator(model) if form == "live" else read_model(saved(model, tmp_path / form, form))
        told = str(error.value).replace("numpy._core._multiarray_umath.", "numpy.")
        assert step in told
        assert way_out in told


def _squared(model, rows):
    maps = from_estimator(model).target_map
    return mean_squared_error(
        apply_all(maps, rows.amount.to_numpy()), apply_all(maps, np.ravel(model.predict(rows[COLUMNS])))
    )


COSTS = {
    "Ridge": _squared,
    "HuberRegressor": _squared,
    "PLSRegression": _squared,
    "target, scaled": _squared,
    "target, log1p, in a search": _squared,
    "target, Yeo-Johnson": _squared,
    "GammaRegressor": lambda model, rows: mean_gamma_deviance(rows.amount, model.predict(rows[COLUMNS])),
    "PoissonRegressor": lambda model, rows: mean_poisson_deviance(rows["count"], model.predict(rows[COLUMNS])),
    "TweedieRegressor": lambda model, rows: mean_tweedie_deviance(rows["count"], model.predict(rows[COLUMNS]), power=1.5),
    "LogisticRegression": lambda model, rows: log_loss(rows.label, model.predict_proba(rows[COLUMNS])),
    "calibrated LinearSVC": lambda model, rows: log_loss(rows.label, model.predict_proba(rows[COLUMNS])),
    "LogisticRegression, three classes": lambda model, rows: log_loss(rows.kind, model.predict_proba(rows[COLUMNS])),
}


@pytest.mark.parametrize("estimator", COSTS)
def test_the_end_of_a_path_costs_what_scikit_learn_says(estimator):
    model = fit_pair(estimator, USUAL, DATA)
    rows, target = corpus_data(150, seed=4), ESTIMATORS[estimator][0]
    report = explain_change(None, model, data=rows, target=target, max_steps=2).document
    assert report.path.steps[-1].cost == pytest.approx(COSTS[estimator](model, rows), rel=1e-9)


@pytest.mark.parametrize("prepared", ["imputed levels, with indicators", "indicators beside", "interactions with dummies"])
def test_what_prepares_gaps_and_products_is_explained_on_rows_that_have_them(prepared):
    old, new = fit_pair("Ridge", prepared, DATA.iloc[:80]), fit_pair("Ridge", prepared, DATA)
    rows = corpus_data(150, seed=4)
    path = explain_change(old, new, data=rows, target="amount").document.path
    ends = [path.start_cost, path.steps[-1].cost]
    assert ends == pytest.approx([mean_squared_error(rows.amount, model.predict(rows[COLUMNS])) for model in (old, new)])
