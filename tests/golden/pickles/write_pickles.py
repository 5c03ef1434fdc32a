"""Writes a zip of pickled models, with the scikit-learn and numpy it runs under; see README.md. Also used by the tests."""

from __future__ import annotations

import json
import pickle
import sys
import warnings
import zipfile

import cloudpickle
import numpy as np
import pandas as pd
from sklearn import feature_selection, linear_model, model_selection, preprocessing, svm
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - makes the searches importable
from sklearn.feature_selection import f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

NUMBERS = ["age", "income", "km"]


def training_data() -> pd.DataFrame:
    """Sixty rows: numbers with gaps, text, and targets of every kind."""
    rng = np.random.default_rng(11)
    frame = pd.DataFrame(rng.normal([40, 3, 1], [12, 1, 0.4], (60, 3)), columns=NUMBERS)
    frame["city"] = rng.choice(["Bern", "Chur", "Genf", "Zug"], 60, p=[0.4, 0.3, 0.25, 0.05])
    frame["tier"] = rng.choice([1, 2, 3], 60)
    gaps = frame.income.mask(rng.random(60) < 0.15)
    frame["gaps"] = gaps
    score = frame.age / 20 - frame.income / 2 + frame.km + (frame.city == "Bern") + rng.normal(0, 0.4, 60)
    frame["price"], frame["good"] = score, np.where(score > score.median(), "yes", "no")
    frame["kind"], frame["count"] = np.digitize(score, score.quantile([0.3, 0.7])), np.floor(np.exp(score / 2))
    return frame


def prepared(model: object) -> Pipeline:
    """A usual pipeline around a model."""
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5)
    parts = [("n", numbers, ["gaps", "age"]), ("c", levels, ["city"]), ("t", OneHotEncoder(drop="first"), ["tier"])]
    return Pipeline([("prepare", ColumnTransformer(parts, remainder="drop")), ("model", model)])


def regressors() -> dict[str, object]:
    """Everything that predicts a number as it is."""
    return {
        **{
            name: getattr(linear_model, name)()
            for name in (
                *("LinearRegression", "Ridge", "RidgeCV", "LassoCV", "ElasticNetCV", "Lars", "LarsCV", "LassoLarsCV"),
                *("LassoLarsIC", "BayesianRidge", "ARDRegression", "HuberRegressor", "OrthogonalMatchingPursuitCV"),
            )
        },
        "Lasso": linear_model.Lasso(alpha=0.01),
        "ElasticNet": linear_model.ElasticNet(alpha=0.01, positive=True),
        "LassoLars": linear_model.LassoLars(alpha=0.01),
        "OrthogonalMatchingPursuit": linear_model.OrthogonalMatchingPursuit(n_nonzero_coefs=2),
        "TheilSenRegressor": linear_model.TheilSenRegressor(random_state=0),
        "QuantileRegressor": linear_model.QuantileRegressor(alpha=0.01, solver="highs"),
        "SGDRegressor": make_pipeline(StandardScaler(), linear_model.SGDRegressor(random_state=0)),
        "SGDRegressor-huber": make_pipeline(StandardScaler(), linear_model.SGDRegressor(loss="huber", random_state=0)),
        "PassiveAggressiveRegressor": make_pipeline(
            StandardScaler(), linear_model.PassiveAggressiveRegressor(random_state=0, max_iter=50, tol=None)
        ),
        "LinearSVR": make_pipeline(StandardScaler(), svm.LinearSVR(random_state=0, max_iter=10_000)),
        "RANSACRegressor": linear_model.RANSACRegressor(Ridge(), min_samples=20, random_state=np.random.RandomState(0)),
        "PLSRegression": PLSRegression(2),
        "GridSearchCV": model_selection.GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1.0]}),
        "HalvingGridSearchCV": model_selection.HalvingGridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, random_state=0),
        "RandomizedSearchCV": model_selection.RandomizedSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, n_iter=2, random_state=0),
        "MinMaxScaler": make_pipeline(MinMaxScaler(), Ridge()),
        "RobustScaler": make_pipeline(RobustScaler(), MaxAbsScaler(), Ridge()),
        "FeatureUnion": make_pipeline(
            FeatureUnion(
                [("a", StandardScaler()), ("b", FunctionTransformer(validate=True))], transformer_weights={"b": 2.0}
            ),
            Ridge(),
        ),
        **selections(),
        "PCA": make_pipeline(StandardScaler(), PCA(2), Ridge()),
        "PCA-whitened": make_pipeline(PCA(2, whiten=True), StandardScaler(), Ridge()),
        "TruncatedSVD": make_pipeline(TruncatedSVD(2, random_state=0), PCA(2), Ridge()),
        "PCA-beside": make_pipeline(FeatureUnion([("a", StandardScaler()), ("b", PCA(1))]), Ridge()),
        "nested": make_pipeline(make_pipeline(StandardScaler(), "passthrough"), Pipeline([("m", LinearRegression())])),
    }


def selections() -> dict[str, object]:
    """Selectors of every kind in front of a model."""
    lasso = linear_model.Lasso(alpha=0.05)
    found = {
        "VarianceThreshold": feature_selection.VarianceThreshold(0.5),
        "SelectKBest": feature_selection.SelectKBest(f_regression, k=2),
        "SelectPercentile": feature_selection.SelectPercentile(f_regression, percentile=60),
        "SelectFpr": feature_selection.SelectFpr(f_regression, alpha=0.1),
        "SelectFdr": feature_selection.SelectFdr(f_regression, alpha=0.1),
        "SelectFwe": feature_selection.SelectFwe(f_regression, alpha=0.1),
        "GenericUnivariateSelect": feature_selection.GenericUnivariateSelect(f_regression, mode="k_best", param=1),
        "SelectFromModel": feature_selection.SelectFromModel(LinearRegression(), threshold="0.8*mean"),
        "SelectFromModel-lasso": feature_selection.SelectFromModel(lasso),
        "SelectFromModel-most": feature_selection.SelectFromModel(LinearRegression(), threshold=-np.inf, max_features=2),
        "RFE": feature_selection.RFE(Ridge(), n_features_to_select=2),
        "RFECV": feature_selection.RFECV(Ridge(), cv=3),
        "SequentialFeatureSelector": feature_selection.SequentialFeatureSelector(Ridge(), n_features_to_select=1, cv=3),
    }
    return {name: make_pipeline(selector, Ridge()) for name, selector in found.items()}


def models() -> dict[str, tuple[object, list[str], str]]:
    """Every model, with the columns it sees and its target."""
    columns = ["gaps", "age", "city", "tier"]
    selected = ColumnTransformer(
        [("n", StandardScaler(), make_column_selector(dtype_include=np.number)), ("c", OneHotEncoder(), ["city"])],
        remainder="passthrough",
    )
    return {
        **{name: (model, NUMBERS, "price") for name, model in regressors().items()},
        "prepared": (prepared(Ridge()), columns, "price"),
        "selected": (make_pipeline(selected, Ridge()), ["age", "km", "city"], "price"),
        "logistic": (prepared(LogisticRegression(C=0.5)), columns, "good"),
        "softmax": (prepared(LogisticRegression(max_iter=1000)), columns, "kind"),
        "logistic-cv": (make_pipeline(StandardScaler(), linear_model.LogisticRegressionCV(Cs=2, cv=2)), NUMBERS, "good"),
        "stochastic": (prepared(linear_model.SGDClassifier(loss="log_loss", random_state=0)), columns, "good"),
        "poisson": (prepared(linear_model.PoissonRegressor(alpha=0.1)), columns, "count"),
        "tweedie": (prepared(linear_model.TweedieRegressor(power=1.5, alpha=0.1)), columns, "count"),
        "identity": (make_pipeline(StandardScaler(), linear_model.TweedieRegressor(power=0)), NUMBERS, "price"),
        **thresholds(columns),
        **reframed(columns),
        **curves(),
    }


def reframed(columns: list[str]) -> dict[str, tuple[object, list[str], str]]:
    """Calibrated classifiers, and regressions of a transformed target."""
    classifiers = {
        "logistic": LogisticRegression(),
        "ridge": linear_model.RidgeClassifier(),
        "ridge-cv": linear_model.RidgeClassifierCV(),
        "vectors": svm.LinearSVC(),
        "perceptron": linear_model.Perceptron(),
        "aggressive": linear_model.PassiveAggressiveClassifier(random_state=0),
        "hinge": linear_model.SGDClassifier(random_state=0),
        "modified": linear_model.SGDClassifier(loss="modified_huber", random_state=0),
    }
    before = prepared(svm.LinearSVC(max_iter=5000))
    data = training_data()
    before.fit(data[columns], data["good"])
    fitted_before: object = CalibratedClassifierCV(before, cv="prefit")
    try:
        from sklearn.frozen import FrozenEstimator

        fitted_before = CalibratedClassifierCV(FrozenEstimator(before))
    except ImportError:
        pass
    targets: dict[str, dict[str, object]] = {
        "log1p": {"func": np.log1p, "inverse_func": np.expm1},
        "sqrt": {"func": np.sqrt, "inverse_func": np.square},
        "standard": {"transformer": StandardScaler()},
        "robust": {"transformer": RobustScaler()},
        "power": {"transformer": PowerTransformer()},
        "steps": {"transformer": make_pipeline(FunctionTransformer(np.log1p, np.expm1), MinMaxScaler())},
    }
    return {
        **{
            f"calibrated-{name}": (CalibratedClassifierCV(prepared(model), ensemble=False, cv=2), columns, "good")
            for name, model in classifiers.items()
        },
        "calibrated-before": (fitted_before, columns, "good"),
        **{
            f"target-{name}": (TransformedTargetRegressor(prepared(Ridge()), **options), columns, "count")
            for name, options in targets.items()
        },
        "target-search": (
            model_selection.GridSearchCV(
                TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1), {"regressor__alpha": [0.1, 1.0]}
            ),
            NUMBERS,
            "count",
        ),
    }


def thresholds(columns: list[str]) -> dict[str, tuple[object, list[str], str]]:
    """Classifiers with a threshold of their own, from scikit-learn 1.5 on."""
    if not hasattr(model_selection, "FixedThresholdClassifier"):
        return {}
    fixed = model_selection.FixedThresholdClassifier(prepared(LogisticRegression()), threshold=0.3, pos_label="yes")
    return {"fixed": (fixed, columns, "good")}


def curves() -> dict[str, tuple[object, list[str], str]]:
    """Preprocessing that bends columns, or multiplies them."""
    steps = {
        "polynomial": [StandardScaler(), preprocessing.PolynomialFeatures(2)],
        "splines": [preprocessing.SplineTransformer(4)],
        "linear-splines": [preprocessing.SplineTransformer(4, extrapolation="linear")],
        "bins": [preprocessing.KBinsDiscretizer(3, strategy="uniform")],
        "ordinal-bins": [preprocessing.KBinsDiscretizer(3, encode="ordinal", strategy="uniform")],
        "square-log1p": [FunctionTransformer(np.square), FunctionTransformer(np.log1p)],
        "absolute-sqrt": [FunctionTransformer(np.abs), FunctionTransformer(np.sqrt)],
        "power": [PowerTransformer()],
        "quantiles": [preprocessing.QuantileTransformer(n_quantiles=20)],
        "binarizer": [StandardScaler(), preprocessing.Binarizer()],
    }
    found = {
        f"curve-{name}": (make_pipeline(*each, StandardScaler(with_mean=False), Ridge()), NUMBERS, "price")
        for name, each in steps.items()
    }
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    codes = [("o", preprocessing.OrdinalEncoder(**unknown), ["city"]), ("n", StandardScaler(), ["age"])]
    if hasattr(preprocessing, "TargetEncoder"):
        codes.append(("t", preprocessing.TargetEncoder(random_state=0), ["city", "tier"]))
    products = ColumnTransformer([("c", OneHotEncoder(drop="first"), ["city"]), ("n", StandardScaler(), ["age"])])
    return {
        **found,
        "curve-codes": (make_pipeline(ColumnTransformer(codes), Ridge()), ["city", "tier", "age"], "price"),
        "curve-products": (
            make_pipeline(products, preprocessing.PolynomialFeatures(2, interaction_only=True), Ridge()),
            ["city", "age"],
            "price",
        ),
    }


def fitted(only: tuple[str, ...] = ("",)) -> dict[str, tuple[object, list[dict[str, object]], list[list[float] | None]]]:
    """Every model whose name starts so, fitted, with rows and what it predicts for them."""
    frame = training_data()
    rows = frame.head(6).copy()
    rows.loc[0, "gaps"], rows.loc[1, "city"] = np.nan, "Lugano"
    found = {}
    for name, (model, columns, target) in models().items():
        if not name.startswith(only):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(frame[columns], frame[target])
            told = [predictions(model, rows[columns].iloc[[row]]) for row in range(len(rows))]
        seen = rows[columns].astype(object).where(rows[columns].notna(), None)
        found[name] = (model, seen.to_dict("records"), told)
    return found


def predictions(model: object, row: pd.DataFrame) -> list[float] | None:
    """What a model says of one row, None if it raises."""
    try:
        values = model.predict_proba(row) if is_classifier(model) else model.predict(row)
    except ValueError:
        return None
    return [float(value) for value in np.ravel(values)]


def main(path: str, *only: str) -> None:
    described = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (model, rows, told) in fitted(only or ("",)).items():
            described[name] = {"rows": rows, "predictions": told}
            archive.writestr(f"{name}.cloudpickle.pkl", cloudpickle.dumps(model))
            for protocol in range(6) if name in ("prepared", "GridSearchCV", "poisson") else ():
                archive.writestr(f"{name}.{protocol}.pkl", pickle.dumps(model, protocol))
        archive.writestr("models.json", json.dumps(described))


if __name__ == "__main__":
    main(*sys.argv[1:])
