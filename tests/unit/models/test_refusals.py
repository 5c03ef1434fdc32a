"""What cannot be folded is refused by name; what contradicts itself is called damaged."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA, KernelPCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import ArchivedObject, Opaque, fold_model, from_estimator

X = np.array([[1.0, 4.0], [2.0, 3.0], [3.0, 3.0], [4.0, 1.0]])
Y = np.array([1.0, 2.0, 2.5, 4.0])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            make_pipeline(StandardScaler(), KernelPCA(1), Ridge()),
            r"step 'kernelpca' is a KernelPCA, .*supported: Pipeline, ",
        ),
        (
            make_pipeline(ColumnTransformer([("n", Normalizer(), [0, 1])]), Ridge()),
            "columntransformer/n' is a Normalizer, which divides every column by the length of the whole row",
        ),
        (
            Pipeline([("sine", FunctionTransformer(np.sin)), ("m", Ridge())]),
            r"step 'sine' is a FunctionTransformer with numpy\.sin, which we do not run; known are np\.log, ",
        ),
        (
            make_pipeline(FunctionTransformer(np.log1p, kw_args={"where": True}), Ridge()),
            "without kw_args",
        ),
        (make_pipeline(PCA(2), FunctionTransformer(np.square), Ridge()), "a sum or a product of several columns"),
        (make_pipeline(SplineTransformer(n_knots=2, degree=0), Ridge()), "splines of degree 0"),
        (
            make_pipeline(SplineTransformer(n_knots=2, degree=1, extrapolation="linear"), Ridge()),
            "splines of degree 1 in several columns",
        ),
        (make_pipeline(SimpleImputer(missing_values=3.0), Ridge()), r"replaces the value 3\.0"),
        (make_pipeline(OneHotEncoder(sparse_output=False), OneHotEncoder(), Ridge()), "earlier step has scaled or encoded"),
        (make_pipeline(StandardScaler(), OneHotEncoder(), Ridge()), "earlier step has scaled or encoded"),
        (DecisionTreeRegressor(), "the model is a DecisionTreeRegressor and not a linear model"),
        (make_pipeline(StandardScaler(), DecisionTreeRegressor()), "last step 'decisiontreeregressor' is a Dec"),
        (GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2, refit=False), "refit=False, which cannot predict"),
        (TransformedTargetRegressor(Ridge(), func=np.cbrt, inverse_func=np.exp), "the target with numpy.cbrt and numpy.exp"),
        (make_pipeline(StandardScaler()), "a StandardScaler and not a linear model"),
        (Pipeline([("s", StandardScaler()), ("m", "passthrough")]), "last step 'm' is a str and not"),
    ],
)
def test_refused_by_name(model, message):
    model.fit(X, Y)
    with pytest.raises(UnsupportedModelError, match=message):
        from_estimator(model)


@pytest.mark.parametrize("model", [3, "text", None, [Ridge()], np.zeros(3), len])
def test_things_that_are_no_models(model):
    with pytest.raises(UnsupportedModelError, match="not a linear model"):
        from_estimator(model)


def test_subclasses_are_not_trusted():
    class MyRidge(Ridge):
        def predict(self, X):  # noqa: N803
            return X.sum()

    with pytest.raises(UnsupportedModelError, match="MyRidge and not a linear model"):
        from_estimator(MyRidge().fit(X, Y))
    with pytest.raises(UnsupportedModelError, match="MyRidge"):
        from_estimator(make_pipeline(StandardScaler(), MyRidge()).fit(X, Y))


def test_methods_replaced_in_memory():
    model = Ridge().fit(X, Y)
    model.predict = lambda rows: rows
    with pytest.raises(ModelReadError, match="attribute 'predict'"):
        from_estimator(model)


@pytest.mark.parametrize(
    "model",
    [
        Ridge(),
        LinearRegression(),
        make_pipeline(StandardScaler(), Ridge()),
        make_pipeline("passthrough", Ridge()),
        make_pipeline(ColumnTransformer([("s", StandardScaler(), [0])]), Ridge()),
    ],
)
def test_unfitted(model):
    with pytest.raises(UnsupportedModelError, match="fit"):
        from_estimator(model)


def test_half_fitted():
    model = make_pipeline(StandardScaler().fit(X), Ridge())
    with pytest.raises(UnsupportedModelError, match=r"step 'ridge' is a Ridge that was not fitted \(it has no 'coef_'\)"):
        from_estimator(model)


def test_several_targets():
    with pytest.raises(UnsupportedModelError, match="predicts 2 targets"):
        from_estimator(Ridge().fit(X, np.column_stack([Y, Y])))


def test_none_and_nan_as_different_levels():
    frame = pd.DataFrame({"c": pd.Series(np.array(["x", None, np.nan, "x"], dtype=object), dtype=object)})
    with pytest.raises(UnsupportedModelError, match="tells None from NaN"):
        from_estimator(make_pipeline(OneHotEncoder(), Ridge()).fit(frame, Y))


def test_levels_that_read_alike():
    frame = pd.DataFrame({"c": pd.Series(["1", "2", "1", "2"], dtype=object)})
    model = make_pipeline(OneHotEncoder(), Ridge()).fit(frame, Y)
    model[0].categories_ = [np.array(["1", 1], dtype=object)]
    with pytest.raises(UnsupportedModelError, match="both read '1'"):
        from_estimator(model)


def test_a_level_called_missing():
    frame = pd.DataFrame({"c": pd.Series(np.array(["(missing)", "x", "x", "y"], dtype=object), dtype=object)})
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), Ridge()).fit(frame, Y)
    with pytest.raises(UnsupportedModelError, match=r"level called '\(missing\)'"):
        from_estimator(model)
    model = make_pipeline(OneHotEncoder(), Ridge()).fit(frame, Y)
    with pytest.raises(UnsupportedModelError, match=r"level called '\(missing\)'"):
        from_estimator(model)


def test_text_used_as_a_number():
    frame = pd.DataFrame({"c": pd.Series(np.array(["1", "2", "3", "3"], dtype=object), dtype=object)})
    model = make_pipeline(SimpleImputer(strategy="constant", fill_value="0"), StandardScaler(), Ridge())
    with pytest.raises(UnsupportedModelError, match="fills it with '0'"):
        from_estimator(model.fit(frame, Y))
    model = make_pipeline(SimpleImputer(strategy="constant", fill_value="0"), Ridge()).fit(frame, Y)
    with pytest.raises(UnsupportedModelError, match="fills it with '0'"):
        from_estimator(model)


def test_levels_that_are_neither_text_nor_numbers():
    frame = pd.DataFrame({"c": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01", "2020-01-02"])})
    model = make_pipeline(OneHotEncoder(), Ridge()).fit(frame, Y)
    with pytest.raises(ModelReadError):
        from_estimator(model)
    model = make_pipeline(OneHotEncoder(), Ridge()).fit(np.array([[b"x"], [b"y"], [b"x"], [b"y"]], dtype=object), Y)
    with pytest.raises(UnsupportedModelError, match="neither text nor numbers"):
        from_estimator(model)


def test_none_as_the_missing_value(score):
    frame = pd.DataFrame({"c": pd.Series(np.array(["x", None, "y", "x"], dtype=object), dtype=object)})
    imputer = SimpleImputer(missing_values=None, strategy="most_frequent")
    model = make_pipeline(imputer, OneHotEncoder(), Ridge()).fit(frame, Y)
    assert score(from_estimator(model), {"c": None}) == pytest.approx(model.predict(frame.iloc[[1]])[0])
    missing = pd.DataFrame({"a": [1.0, 2.0, np.nan, 4.0]}).astype("Float64")
    model = make_pipeline(SimpleImputer(missing_values=pd.NA), Ridge()).fit(missing, Y)
    assert score(from_estimator(model), {"a": None}) == pytest.approx(model.predict(missing.iloc[[2]])[0])


def test_overflow_in_raw_units():
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    model[0].scale_ = np.array([1e-320, 1.0])
    with pytest.raises(ModelReadError, match="not finite"):
        from_estimator(model)


def fitted_frame() -> pd.DataFrame:
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.array(["x", "y", "x", "z"], dtype=object)})


def composite() -> Pipeline:
    part = ColumnTransformer([("n", StandardScaler(), ["a", "b"]), ("c", OneHotEncoder(drop="first"), ["c"])])
    return Pipeline([("prepare", part), ("model", Ridge())]).fit(fitted_frame(), Y)


def damage_names(model):
    model[0].feature_names_in_ = np.array(["a", "a", "c"], dtype=object)


def damage_names_type(model):
    model[0].feature_names_in_ = np.array([1, 2, 3])


def damage_names_count(model):
    model[0].feature_names_in_ = np.array(["a", "b"], dtype=object)


def damage_selection(model):
    model[0].transformers_[0] = ("n", model[0].transformers_[0][1], ["a", "q"])
    del model[0]._transformer_to_input_indices


def damage_position(model):
    model[0].transformers_[0] = ("n", model[0].transformers_[0][1], [0, 9])


def damage_mask(model):
    model[0].transformers_[0] = ("n", model[0].transformers_[0][1], [True])


def damage_slice(model):
    model[0].transformers_[0] = ("n", model[0].transformers_[0][1], slice(0, 2, 0))


def damage_table(model):
    model[0]._transformer_to_input_indices = {}


def damage_function(model):
    model[0].transformers_[0] = ("n", model[0].transformers_[0][1], len)
    del model[0]._transformer_to_input_indices


def damage_entries(model):
    model[0].transformers_ = [("n", "drop")]


def damage_same_names(model):
    model[0].transformers_ = [model[0].transformers_[0]] * 2


def damage_nothing(model):
    model.steps = []


def damage_weights(model):
    model[0].transformer_weights = {"n": "heavy"}


def damage_weight_table(model):
    model[0].transformer_weights = [1]


def damage_sparse(model):
    model.steps.insert(1, ("robust", RobustScaler().fit(np.zeros((4, 4)))))
    model[0].sparse_output_ = True


def damage_sparse_shift(model):
    model.steps.insert(1, ("minmax", MinMaxScaler().fit(np.zeros((4, 4)))))
    model[0].sparse_output_ = True


def damage_scale(model):
    scaler(model).scale_ = np.array([0.0, 1.0])


def damage_scale_length(model):
    scaler(model).scale_ = np.array([1.0])


def damage_scale_type(model):
    scaler(model).scale_ = [1.0, 1.0]


def damage_scale_value(model):
    scaler(model).scale_ = np.array([np.nan, 1.0])


def damage_flag(model):
    scaler(model).with_mean = "yes"


def damage_count(model):
    scaler(model).n_features_in_ = "two"


def damage_first_count(model):
    model[0].n_features_in_ = -3
    del model[0].feature_names_in_


def damage_categories(model):
    one_hot(model).categories_ = [np.array(["x", "x", "z"], dtype=object)]


def damage_categories_shape(model):
    one_hot(model).categories_ = []


def damage_categories_empty(model):
    one_hot(model).categories_ = [np.array([])]


def damage_order(model):
    one_hot(model).categories_ = [np.array([3.0, 1.0, 2.0])]


def damage_infinite(model):
    one_hot(model).categories_ = [np.array([1.0, 2.0, np.inf])]


def damage_unknown_rule(model):
    one_hot(model).handle_unknown = "guess"


def damage_output_counts(model):
    one_hot(model)._n_features_outs = 2


def damage_drop(model):
    one_hot(model)._drop_idx_after_grouping = [0]


def damage_infrequent(model):
    one_hot(model)._infrequent_enabled = True
    one_hot(model)._infrequent_indices = []
    one_hot(model)._default_to_infrequent_mappings = []


def damage_infrequent_twice(model):
    one_hot(model)._infrequent_enabled = True
    one_hot(model)._infrequent_indices = [np.array([0])]
    one_hot(model)._default_to_infrequent_mappings = [np.array([0, 1, 2])]


def damage_infrequent_type(model):
    one_hot(model)._infrequent_enabled = True
    one_hot(model)._infrequent_indices = [3]
    one_hot(model)._default_to_infrequent_mappings = [np.array([0, 1, 2])]


def damage_coefficients(model):
    model[-1].coef_ = "none"


def damage_penalty(model):
    model[-1].alpha = [1.0, 2.0]


def damage_big_intercept(model):
    model[-1].intercept_ = 10**400


def scaler(model):
    return model[0].named_transformers_["n"]


def one_hot(model):
    return model[0].named_transformers_["c"]


@pytest.mark.parametrize("damage", [value for name, value in list(globals().items()) if name.startswith("damage_")])
def test_damaged_models(damage):
    model = composite()
    assert from_estimator(model).columns == ("a", "b", "c")
    damage(model)
    with pytest.raises(ModelReadError):
        from_estimator(model)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("statistics_", None),
        ("statistics_", np.array([np.inf, 1.0])),
        ("indicator_", None),
        ("indicator_", StandardScaler()),
        ("statistics_", np.array(["x", {}], dtype=object)),
    ],
)
@pytest.mark.parametrize("before", [[], [StandardScaler()]])
def test_damaged_imputers(name, value, before):
    holes = X.copy()
    holes[0, 0] = np.nan
    model = make_pipeline(*before, SimpleImputer(add_indicator=True), Ridge()).fit(holes, Y)
    setattr(model[-2], name, value)
    with pytest.raises(ModelReadError):
        from_estimator(model)


def test_imputer_of_none_after_a_scaler(score):
    """Numbers can be NaN but not None, so nothing is filled, and the estimator raises."""
    holes = X.copy()
    holes[0, 0] = np.nan
    model = make_pipeline(StandardScaler(), SimpleImputer(), Ridge()).fit(holes, Y)
    model[1].missing_values = None
    assert [term.missing for term in from_estimator(model).numeric] == [None, None]


def test_imputed_statistics_have_the_fitted_type():
    holes = X.astype(np.float32)
    holes[0, 0] = np.nan
    model = make_pipeline(SimpleImputer(), Ridge()).fit(holes, Y)
    model[0].statistics_ = np.array([0.1, 0.2])
    term = from_estimator(model).numeric[0]
    assert term.missing == term.coefficient * float(np.float32(0.1))


def test_raising_on_missing_values_only():
    frame = fitted_frame()
    part = FeatureUnion(
        [
            ("c", ColumnTransformer([("c", OneHotEncoder(handle_unknown="ignore"), ["c"])])),
            ("n", ColumnTransformer([("s", StandardScaler(), ["a"])])),
        ]
    )
    model = make_pipeline(part, Ridge()).fit(frame, Y)
    numbers = model[0].transformer_list[1][1]
    numbers.transformers_ = [("s", MinMaxScaler().fit(X[:, :1]), ["c"])]
    numbers._transformer_to_input_indices = {"s": [2]}
    numbers.transformers_[0][1].scale_ = np.array([0.0])
    with pytest.raises(UnsupportedModelError, match="raises on missing values but not on unknown levels"):
        from_estimator(model)


def test_names_that_a_function_makes_up():
    """Columns selected by a name that an author's function invented cannot be followed."""
    first = ColumnTransformer([("n", StandardScaler(), ["a", "b"])], verbose_feature_names_out="{feature_name}!")
    second = ColumnTransformer([("m", "passthrough", ["b!"])])
    model = make_pipeline(first.set_output(transform="pandas"), second, Ridge())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(fitted_frame(), Y)
    with pytest.raises(ModelReadError, match="selects columns by name"):
        from_estimator(model)


def test_deep_pipelines():
    model = Lasso().fit(X, Y)
    for _ in range(30):
        model = Pipeline([("m", model)])
    assert from_estimator(model).estimator == "Lasso"
    for _ in range(100):
        model = Pipeline([("m", model)])
    with pytest.raises(ModelReadError):
        from_estimator(model)
    tree = ArchivedObject("sklearn.linear_model._ridge.Ridge", {"n_features_in_": 1})
    for _ in range(5000):
        tree = ArchivedObject("sklearn.pipeline.Pipeline", {"steps": [("m", tree)]})
    with pytest.raises(ModelReadError, match="deeply"):
        fold_model(tree)


def test_a_model_that_contains_itself():
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    model.steps[0] = ("self", model)
    with pytest.raises(ModelReadError, match="back to itself"):
        from_estimator(model)


def test_functions_as_models():
    with pytest.raises(UnsupportedModelError, match="the function f"):
        fold_model(Opaque("the function f"))


def test_none_in_a_union():
    model = make_pipeline(FeatureUnion([("s", StandardScaler())]), Ridge()).fit(X, Y)
    model[0].transformer_list.append(("none", None))
    with pytest.raises(UnsupportedModelError, match="step 'featureunion/none' is a NoneType"):
        from_estimator(model)


def _name_of_a_level(column: str, level: object) -> str:
    return f"{column}<{level}>"


def _names_of_columns(_: object, names: list[str]) -> list[str]:
    return [f"{name}!" for name in names]


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize(
    "first",
    [
        ColumnTransformer([("s", StandardScaler(), ["a"])], verbose_feature_names_out="{transformer_name}-{feature_name}"),
        ColumnTransformer([("s", StandardScaler(), ["a"])], verbose_feature_names_out=_name_of_a_level),
        ColumnTransformer([("e", OneHotEncoder(sparse_output=False, feature_name_combiner=_name_of_a_level), ["b"])]),
        FunctionTransformer(feature_names_out=_names_of_columns),
    ],
)
def test_columns_selected_by_names_that_are_made_up(first, archived, dumps, fold_bytes):
    frame = pd.DataFrame(X, columns=["a", "b"])
    first.set_output(transform="pandas")
    names = list(first.fit_transform(frame).columns)
    second = ColumnTransformer([("s", StandardScaler(), names[:1])], remainder="passthrough")
    model = Pipeline([("first", first), ("second", second), ("m", Ridge())]).fit(frame, Y)
    with pytest.raises(UnsupportedModelError, match="step 'second' selects columns by name, and a function or a format"):
        fold_bytes(dumps(model)) if archived else from_estimator(model)


@pytest.mark.parametrize("copies", [False, None])
@pytest.mark.parametrize("scaler", [StandardScaler, MinMaxScaler, SimpleImputer])
def test_a_scaler_that_writes_into_columns_others_are_given_too(scaler, copies):
    """In a FeatureUnion the second transformer would see what the first has written."""
    rows = np.random.default_rng(0).normal(size=(30, 2))
    alone = make_pipeline(scaler(), Ridge()).fit(rows, rows[:, 0])
    alone[0].copy = copies
    assert from_estimator(alone).numeric
    beside = make_pipeline(FeatureUnion([("a", scaler()), ("b", RobustScaler())]), Ridge()).fit(rows, rows[:, 0])
    beside[0].transformer_list[0][1].copy = copies
    with pytest.raises(UnsupportedModelError, match=r"step 'featureunion/a' writes into the columns .* with copy=True"):
        from_estimator(beside)
