"""Every way of preprocessing that we fold, against what scikit-learn itself predicts row by row."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV, LinearRegression, Ridge, RidgeCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from coordpath_governance.models import from_estimator

NUMBERS, LEVELS = ["a", "b"], ["c", "d", "e"]


def training_data(n: int = 90, *, holes: bool = False, gaps: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "a": rng.normal(2, 3, n),
            "b": rng.normal(-5, 0.1, n),
            "c": rng.choice(np.array(["x", "y", "z"], dtype=object), n),
            "d": rng.choice([1, 2, 30], n),
            "e": rng.random(n) < 0.4,
        }
    )
    frame["c"] = frame["c"].astype(object)
    frame.loc[0, "c"] = "rare"
    target = frame.a - 3 * frame.b + (frame.c == "y") * 2 + frame.d * 0.1 - frame.e + rng.normal(0, 0.1, n)
    if holes:
        frame.loc[3::9, "a"] = np.nan
    if gaps:
        frame.loc[4::11, "c"] = np.nan
        frame["d"] = frame["d"].astype(float)
        frame.loc[5::13, "d"] = np.nan
    return frame, target.to_numpy()


def probe_rows(frame: pd.DataFrame) -> pd.DataFrame:
    rows = pd.concat([frame.head(12)] + [frame.iloc[[20 + i]] for i in range(7)], ignore_index=True)
    rows = rows.astype({"d": float})
    rows.loc[12, "c"] = "never seen"
    rows.loc[13, "d"] = 77
    rows.loc[14, "a"] = np.nan
    rows.loc[15, "b"] = np.nan
    rows.loc[16, "c"] = np.nan
    rows.loc[17, "d"] = np.nan
    rows.loc[18, "a"], rows.loc[18, "c"] = np.nan, np.nan
    return rows


def predictions(model, rows: pd.DataFrame) -> list[float | None]:
    """What the model predicts for every row, None where it raises; halves what raises to find the rows."""
    try:
        return [float(number) for number in np.ravel(model.predict(rows))]
    except ValueError:
        if len(rows) == 1:
            return [None]
        half = len(rows) // 2
        return predictions(model, rows.iloc[:half]) + predictions(model, rows.iloc[half:])


def check(model, frame, target, score, dumps, fold_bytes, rows=None):
    """The model from its archive and from memory: the same terms, and they score like the model itself."""
    rows = probe_rows(frame) if rows is None else rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame, target)
        expected = predictions(model, rows)
    folded, live = fold_bytes(dumps(model)), from_estimator(model)
    found = [score(folded, row) for row in rows.to_dict("records")]
    assert found == [None if number is None else pytest.approx(number, rel=1e-9, abs=1e-9) for number in expected]
    for part in ("numeric", "categorical", "raw", "library", "intercept"):
        assert getattr(folded, part) == getattr(live, part)
    return folded


def prepare(numbers, levels, **options) -> ColumnTransformer:
    return ColumnTransformer([("n", numbers, NUMBERS), ("c", levels, LEVELS)], **options)


def encoder(**options) -> OneHotEncoder:
    return OneHotEncoder(**options)


SCALERS = {
    "standard": StandardScaler(),
    "only mean": StandardScaler(with_std=False),
    "only std": StandardScaler(with_mean=False),
    "no standard": StandardScaler(with_mean=False, with_std=False),
    "min max": MinMaxScaler(feature_range=(-1, 3)),
    "max abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust centre": RobustScaler(with_scaling=False),
    "robust scale": RobustScaler(with_centering=False, unit_variance=True),
    "passthrough": "passthrough",
    "identity": FunctionTransformer(),
    "validated identity": FunctionTransformer(validate=True),
    "two scalers": make_pipeline(MinMaxScaler(), StandardScaler(), MaxAbsScaler()),
    "nested": Pipeline([("one", Pipeline([("two", StandardScaler()), ("none", None)])), ("pass", "passthrough")]),
}
ENCODERS = {
    "all levels": encoder(),
    "dense": encoder(sparse_output=False),
    "first": encoder(drop="first"),
    "if binary": encoder(drop="if_binary", handle_unknown="ignore"),
    "chosen": encoder(drop=["y", 30, True], handle_unknown="ignore"),
    "ignore": encoder(handle_unknown="ignore"),
    "ignore first": encoder(handle_unknown="ignore", drop="first"),
    "infrequent": encoder(handle_unknown="infrequent_if_exist", min_frequency=3),
    "infrequent ignored": encoder(handle_unknown="ignore", min_frequency=3),
    "infrequent share": encoder(handle_unknown="infrequent_if_exist", min_frequency=0.3),
    "few": encoder(handle_unknown="infrequent_if_exist", max_categories=2, drop="first"),
    "one": encoder(handle_unknown="infrequent_if_exist", max_categories=1),
    "infrequent error": encoder(min_frequency=3, drop="if_binary"),
    "warn": encoder(handle_unknown="warn", min_frequency=3),
    "integers": encoder(dtype=np.int8),
    "given": encoder(categories=[["x", "y", "z", "rare", "q"], [1, 2, 30, 77], [False, True]]),
    "then scaled": make_pipeline(encoder(sparse_output=False, drop="first"), StandardScaler()),
    "then max abs": make_pipeline(encoder(handle_unknown="ignore"), MaxAbsScaler()),
    "then robust": make_pipeline(encoder(), RobustScaler(with_centering=False)),
    "then imputed": make_pipeline(encoder(handle_unknown="ignore"), SimpleImputer(add_indicator=True)),
}


@pytest.mark.parametrize("name", SCALERS)
def test_scalers(name, score, dumps, fold_bytes):
    frame, target = training_data()
    model = make_pipeline(prepare(SCALERS[name], encoder()), LinearRegression())
    check(model, frame, target, score, dumps, fold_bytes)


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders(name, score, dumps, fold_bytes):
    frame, target = training_data()
    model = make_pipeline(prepare(StandardScaler(), ENCODERS[name]), Ridge(alpha=0.1))
    check(model, frame, target, score, dumps, fold_bytes)


@pytest.mark.parametrize("drop", [None, "first", ["x", 2.0, True], [np.nan, np.nan, False]])
@pytest.mark.parametrize("unknown", ["error", "ignore", "infrequent_if_exist"])
def test_missing_levels_in_training(drop, unknown, score, dumps, fold_bytes):
    frame, target = training_data(gaps=True)
    model = make_pipeline(prepare("passthrough", encoder(drop=drop, handle_unknown=unknown)), Ridge())
    folded = check(model, frame, target, score, dumps, fold_bytes)
    assert "(missing)" in folded.categorical[0].levels


def test_missing_level_in_the_infrequent_bucket(score, dumps, fold_bytes):
    frame, target = training_data(gaps=True)
    model = make_pipeline(prepare("passthrough", encoder(min_frequency=10, handle_unknown="ignore")), Ridge())
    check(model, frame, target, score, dumps, fold_bytes)


IMPUTERS = {
    "mean": SimpleImputer(),
    "median": SimpleImputer(strategy="median"),
    "most frequent": SimpleImputer(strategy="most_frequent"),
    "constant": SimpleImputer(strategy="constant", fill_value=-7.5),
    "zero": SimpleImputer(strategy="constant"),
    "indicator": SimpleImputer(add_indicator=True),
    "callable": SimpleImputer(strategy=np.max),
    "imputed and scaled": make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
    "scaled and imputed": make_pipeline(StandardScaler(), SimpleImputer(strategy="constant", fill_value=2.0)),
    "scaled and indicated": make_pipeline(MinMaxScaler(), SimpleImputer(add_indicator=True), RobustScaler()),
    "imputed twice": make_pipeline(SimpleImputer(), SimpleImputer(add_indicator=True)),
    "validated": make_pipeline(SimpleImputer(), FunctionTransformer(validate=True)),
    "union": FeatureUnion(
        [("one", SimpleImputer()), ("two", SimpleImputer(strategy="median", add_indicator=True)), ("no", "drop")],
        transformer_weights={"two": 0.25},
    ),
}


@pytest.mark.parametrize("name", IMPUTERS)
def test_numeric_imputers(name, score, dumps, fold_bytes):
    frame, target = training_data(holes=True)
    model = make_pipeline(prepare(IMPUTERS[name], encoder(handle_unknown="ignore")), Ridge())
    check(model, frame, target, score, dumps, fold_bytes)


def test_columns_without_any_value(score, dumps, fold_bytes):
    frame, target = training_data(holes=True)
    frame["b"] = np.nan
    for keep in (True, False):
        imputer = SimpleImputer(keep_empty_features=keep, add_indicator=True)
        model = make_pipeline(prepare(imputer, encoder(handle_unknown="ignore")), Ridge())
        folded = check(model, frame, target, score, dumps, fold_bytes)
        assert [term.column for term in folded.numeric] == ["a", "b"]
    model = make_pipeline(prepare(SimpleImputer(), encoder(handle_unknown="ignore")), Ridge())
    folded = check(model, frame, target, score, dumps, fold_bytes)
    assert [term.column for term in folded.numeric] == ["a"]


@pytest.mark.parametrize("unknown", ["error", "ignore", "infrequent_if_exist"])
@pytest.mark.parametrize("fill", [None, "y", "(missing)", "never seen"])
def test_imputed_levels(fill, unknown, score, dumps, fold_bytes):
    """The missing level gets the effect of the level it is filled with."""
    frame, target = training_data(gaps=True)
    text = SimpleImputer(strategy="most_frequent" if fill is None else "constant", fill_value=fill)
    number = SimpleImputer(strategy="most_frequent")
    steps = [
        ("c", make_pipeline(text, encoder(handle_unknown=unknown)), ["c"]),
        ("d", make_pipeline(number, encoder(handle_unknown=unknown)), ["d"]),
        ("a", SimpleImputer(), ["a", "b"]),
    ]
    folded = check(make_pipeline(ColumnTransformer(steps), Ridge()), frame, target, score, dumps, fold_bytes)
    assert all("(missing)" in term.levels for term in folded.categorical)


@pytest.mark.parametrize("unknown", ["error", "ignore"])
def test_fill_that_training_never_needed(unknown, score, dumps, fold_bytes):
    frame, target = training_data()
    imputer = SimpleImputer(strategy="constant", fill_value="none given")
    steps = [("c", make_pipeline(imputer, encoder(handle_unknown=unknown)), ["c"]), ("a", SimpleImputer(), ["a", "b", "d"])]
    check(make_pipeline(ColumnTransformer(steps), Ridge()), frame, target, score, dumps, fold_bytes)


COLUMNS = {
    "names": (["a", "b"], ["c", "d", "e"]),
    "positions": ([0, 1], [2, 3, 4]),
    "negative": ([-5, 1], [-3, -2, -1]),
    "slices": (slice(0, 2), slice(2, None)),
    "slice of names": (slice("a", "b"), slice("c", None)),
    "backwards": (slice(1, None, -1), [4, 2, 3]),
    "mask": ([True, True, False, False, False], np.array([False, False, True, True, True])),
    "arrays": (np.array(["b", "a"]), np.array([2, 3, 4])),
    "selectors": (
        make_column_selector(dtype_include=np.floating),
        make_column_selector(dtype_exclude=np.floating),
    ),
    "function": (make_column_selector("^[ab]$"), ["c", "d", "e"]),
    "nothing": (["b", "a"], []),
    "empty mask": (["b", "a"], [False] * 5),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_ways_to_spell_columns(name, score, dumps, fold_bytes):
    frame, target = training_data()
    numbers, levels = COLUMNS[name]
    steps = [("n", StandardScaler(), numbers), ("c", encoder(handle_unknown="ignore"), levels)]
    check(make_pipeline(ColumnTransformer(steps), Ridge()), frame, target, score, dumps, fold_bytes)


def test_an_index_of_columns_in_memory(score):
    """skops cannot store an index; a live model can have one."""
    frame, target = training_data()
    steps = [("n", StandardScaler(), pd.Index(["a", "b"])), ("c", encoder(), frame.columns[2:])]
    model = make_pipeline(ColumnTransformer(steps), Ridge()).fit(frame, target)
    row = frame.head(1)
    assert score(from_estimator(model), row.to_dict("records")[0]) == pytest.approx(model.predict(row)[0], rel=1e-9)


REMAINDERS = {
    "drop": "drop",
    "passthrough": "passthrough",
    "estimator": StandardScaler(),
    "pipeline": make_pipeline(SimpleImputer(add_indicator=True), MinMaxScaler()),
}


@pytest.mark.parametrize("name", REMAINDERS)
@pytest.mark.parametrize("columns", [["c", "e"], [2, 4], [False, False, True, False, True], make_column_selector("c|e")])
def test_remainders(name, columns, score, dumps, fold_bytes):
    frame, target = training_data(holes=name == "pipeline")
    part = ColumnTransformer([("c", encoder(handle_unknown="ignore"), columns)], remainder=REMAINDERS[name])
    check(make_pipeline(part, Ridge()), frame, target, score, dumps, fold_bytes)


def test_weights_drops_and_a_column_used_twice(score, dumps, fold_bytes):
    frame, target = training_data()
    part = ColumnTransformer(
        [
            ("n", StandardScaler(), ["a", "d"]),
            ("m", MinMaxScaler(), ["d", "a"]),
            ("c", encoder(handle_unknown="ignore"), ["c", "d"]),
            ("o", encoder(handle_unknown="infrequent_if_exist", max_categories=2), ["c"]),
            ("gone", "drop", ["e"]),
            ("b", "passthrough", ["b"]),
        ],
        transformer_weights={"n": 3.0, "c": 0.5, "b": -2},
    )
    folded = check(make_pipeline(part, Ridge()), frame, target, score, dumps, fold_bytes)
    assert [term.column for term in folded.numeric] == ["a", "b", "d"]
    assert [term.column for term in folded.categorical] == ["c", "d"]


def test_one_encoder_raises_where_another_does_not(score, dumps, fold_bytes):
    frame, target = training_data()
    strict = encoder(categories=[["x", "y", "z", "rare"]])
    part = ColumnTransformer([("s", strict, ["c"]), ("l", encoder(handle_unknown="ignore"), ["c"])])
    folded = check(make_pipeline(part, Ridge()), frame, target, score, dumps, fold_bytes)
    assert folded.categorical[0].unknown is None


def test_a_single_level_that_is_dropped_still_raises_on_others(score, dumps, fold_bytes):
    frame, target = training_data()
    frame["c"] = "x"
    rows = probe_rows(frame)
    model = make_pipeline(prepare("passthrough", encoder(drop="first")), Ridge())
    folded = check(model, frame, target, score, dumps, fold_bytes, rows)
    assert folded.categorical[0].levels == ("x",)


def test_sparse_and_dense_column_transformers(score, dumps, fold_bytes):
    frame, target = training_data()
    for threshold in (0.0, 1.0):
        part = prepare(StandardScaler(), encoder(), sparse_threshold=threshold)
        check(make_pipeline(part, MaxAbsScaler(), Ridge()), frame, target, score, dumps, fold_bytes)
    part = prepare(StandardScaler(), encoder(), sparse_threshold=0.0)
    check(make_pipeline(part, StandardScaler(), Ridge()), frame, target, score, dumps, fold_bytes)


def test_missing_indicator_of_a_text_column_belongs_to_its_levels(score, dumps, fold_bytes):
    frame, target = training_data(gaps=True)
    imputer = SimpleImputer(strategy="constant", fill_value="y", add_indicator=True)
    told = make_pipeline(
        ColumnTransformer([("i", imputer, ["c"])]).set_output(transform="pandas"),
        ColumnTransformer([("c", encoder(handle_unknown="ignore"), [0]), ("i", "passthrough", [1])]),
    )
    part = ColumnTransformer([("c", told, ["c"]), ("a", "passthrough", ["a", "b"])])
    folded = check(make_pipeline(part, Ridge()), frame, target, score, dumps, fold_bytes)
    assert [term.column for term in folded.numeric] == ["a", "b"]
    assert folded.categorical[0].effect("(missing)") != folded.categorical[0].effect("y")
    assert "missingindicator_c" in [coefficient.name for coefficient in folded.raw]


def test_names_of_data_frames_between_steps(score, dumps, fold_bytes):
    frame, target = training_data(holes=True)
    first = ColumnTransformer([("n", SimpleImputer(), ["b", "a"])], remainder="passthrough").set_output(transform="pandas")
    second = ColumnTransformer(
        [("s", StandardScaler(), ["n__a"]), ("c", encoder(handle_unknown="ignore"), ["remainder__c", "remainder__d"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    check(make_pipeline(first, second, Ridge()), frame, target, score, dumps, fold_bytes)
    first.set_params(verbose_feature_names_out=False)
    second.set_params(transformers=[("s", StandardScaler(), ["a"]), ("c", encoder(handle_unknown="ignore"), ["c", "d"])])
    check(make_pipeline(first, second, Ridge()), frame, target, score, dumps, fold_bytes)


def test_names_after_encoders_and_indicators(score, dumps, fold_bytes):
    frame, target = training_data(holes=True)
    levels = encoder(handle_unknown="ignore", sparse_output=False)
    first = prepare(SimpleImputer(add_indicator=True), levels).set_output(transform="pandas")
    second = make_column_transformer(
        (StandardScaler(), ["n__a", "n__missingindicator_a", "c__c_y"]), remainder="passthrough"
    )
    check(make_pipeline(first, second, Ridge()), frame, target, score, dumps, fold_bytes)


def test_names_after_a_union_in_memory(score):
    """skops cannot store a union that makes data frames; a live model can be one."""
    frame, target = training_data(holes=True)
    union = FeatureUnion([("u", SimpleImputer(add_indicator=True)), ("v", SimpleImputer(strategy="median"))])
    first = prepare(union, "drop").set_output(transform="pandas")
    second = make_column_transformer((StandardScaler(), ["n__u__a", "n__u__missingindicator_a"]), remainder="passthrough")
    model = make_pipeline(first, second, Ridge()).fit(frame, target)
    rows = probe_rows(frame)
    found = [score(from_estimator(model), row) for row in rows.to_dict("records")]
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-9)


ESTIMATORS = {
    "least squares": (LinearRegression(), {"kind": "none"}),
    "positive": (LinearRegression(positive=True), {"kind": "none", "positive": True}),
    "ridge": (Ridge(alpha=0.1), {"kind": "ridge", "alpha": 0.1}),
    "ridge array": (Ridge(alpha=np.array([2.0])), {"kind": "ridge", "alpha": 2.0}),
    "ridge cv": (RidgeCV(alphas=[0.5]), {"kind": "ridge", "alpha": 0.5, "chosen_by": "cross-validation"}),
    "lasso": (Lasso(alpha=0.05), {"kind": "lasso", "alpha": 0.05}),
    "lasso cv": (LassoCV(alphas=[0.01], cv=3), {"kind": "lasso", "alpha": 0.01, "chosen_by": "cross-validation"}),
    "elastic net": (ElasticNet(alpha=0.1, l1_ratio=0.3), {"kind": "elastic net", "alpha": 0.1, "l1_ratio": 0.3}),
    "elastic net cv": (
        ElasticNetCV(alphas=[0.1], l1_ratio=[0.2], cv=3, random_state=np.random.RandomState(0)),
        {"kind": "elastic net", "alpha": 0.1, "l1_ratio": 0.2, "chosen_by": "cross-validation"},
    ),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators(name, score, dumps, fold_bytes):
    frame, target = training_data()
    estimator, facts = ESTIMATORS[name]
    model = make_pipeline(prepare(StandardScaler(), encoder(drop="first")), estimator)
    folded = check(model, frame, target, score, dumps, fold_bytes)
    assert dict(folded.regularisation) == facts
    assert folded.estimator == type(estimator).__name__
    assert (folded.family, folded.link, folded.has_intercept) == ("gaussian", "identity", True)


def test_target_as_a_column_and_sparse_coefficients(score, dumps, fold_bytes):
    frame, target = training_data()
    check(make_pipeline(prepare("passthrough", encoder()), Ridge()), frame, target.reshape(-1, 1), score, dumps, fold_bytes)
    model = make_pipeline(prepare("passthrough", encoder()), Lasso(alpha=0.1)).fit(frame, target)
    dense = model[-1].coef_.copy()
    for matrix in (sparse.csr_matrix(dense), sparse.csc_array(dense.reshape(1, -1))):
        model[-1].coef_ = matrix
        folded, live = fold_bytes(dumps(model)), from_estimator(model)
        assert [coefficient.value for coefficient in folded.raw] == dense.tolist()
        assert folded.raw == live.raw


def test_models_without_an_intercept(score, dumps, fold_bytes):
    frame, target = training_data()
    bare = make_pipeline(prepare(MaxAbsScaler(), encoder()), Ridge(fit_intercept=False))
    folded = check(bare, frame, target, score, dumps, fold_bytes)
    assert (folded.has_intercept, folded.intercept) == (False, 0.0)
    centred = make_pipeline(prepare(StandardScaler(), encoder()), Ridge(fit_intercept=False))
    folded = check(centred, frame, target, score, dumps, fold_bytes)
    assert folded.has_intercept, "the scaler's shift makes an intercept"


def test_estimator_alone_and_a_pipeline_in_a_pipeline(score, dumps, fold_bytes):
    frame, target = training_data()
    numbers = frame[["a", "b", "e"]].astype(float)
    folded = check(LinearRegression(), numbers, target, score, dumps, fold_bytes, rows=numbers.head(5))
    assert folded.columns == ("a", "b", "e")
    inner = Pipeline([("scale", StandardScaler()), ("model", Ridge())])
    model = Pipeline([("none", None), ("pass", "passthrough"), ("impute", SimpleImputer()), ("inner", inner)])
    rows = numbers.head(5).copy()
    rows.loc[2, "a"] = np.nan
    check(model, numbers, target, score, dumps, fold_bytes, rows=rows)


def test_arrays_without_names(score, dumps, fold_bytes):
    frame, target = training_data()
    numbers = frame[["a", "b"]].to_numpy()
    model = make_pipeline(StandardScaler(), Ridge()).fit(numbers, target)
    assert fold_bytes(dumps(model)).columns == ("x0", "x1")
    assert fold_bytes(dumps(model), ["left", "right"]).columns == ("left", "right")
    assert fold_bytes(dumps(model), ["only one"]).columns == ("x0", "x1")
    assert from_estimator(model, ["left", "right"]).columns == ("left", "right")
    named = make_pipeline(
        StandardScaler().set_output(transform="pandas"), ColumnTransformer([("k", "passthrough", ["x1", "x0"])]), Ridge()
    )
    named.fit(numbers, target)
    folded = fold_bytes(dumps(named), ["left", "right"])
    assert [coefficient.name for coefficient in folded.raw] == ["right", "left"]
    for row in numbers[:3]:
        expected = named.predict(row.reshape(1, -1))[0]
        assert score(folded, dict(zip(["left", "right"], row, strict=True))) == pytest.approx(expected, rel=1e-9)


def test_raw_coefficients_have_the_encoders_names(dumps, fold_bytes):
    frame, target = training_data()
    part = prepare(StandardScaler(), encoder(min_frequency=3), verbose_feature_names_out=False)
    model = make_pipeline(part, Ridge()).fit(frame, target)
    folded = fold_bytes(dumps(model))
    assert [coefficient.name for coefficient in folded.raw] == model[0].get_feature_names_out().tolist()
    scales = [*(1 / model[0].named_transformers_["n"].scale_), *np.ones(len(folded.raw) - 2)]
    np.testing.assert_allclose([each.value for each in folded.raw], model[-1].coef_ * scales, rtol=1e-12)


@pytest.mark.parametrize(("values", "is_text"), [(["True", "False"], True), ([True, False], False), (["yes", "no"], False)])
def test_the_texts_true_and_false_are_told_from_truth_values(values, is_text, score, dumps, fold_bytes):
    frame = pd.DataFrame({"c": np.array(values * 10)})
    model = make_pipeline(encoder(handle_unknown="ignore"), Ridge()).fit(frame, np.tile([1.0, 2.0], 10))
    for folded in (from_estimator(model), fold_bytes(dumps(model))):
        assert folded.categorical[0].text_levels is is_text
        assert score(folded, {"c": values[0]}) == pytest.approx(model.predict(frame.head(1))[0])


def test_the_texts_true_and_false_stay_text_when_gaps_are_filled():
    frame = pd.DataFrame({"c": pd.Series(["True", "False", np.nan, "True"] * 5, dtype=object)})
    imputer = SimpleImputer(strategy="constant", fill_value="(missing)")
    model = make_pipeline(imputer, encoder(handle_unknown="ignore"), Ridge()).fit(frame, np.tile([1.0, 2.0, 3.0, 1.0], 5))
    assert from_estimator(model).categorical[0].text_levels
