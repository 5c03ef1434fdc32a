"""Functions of columns: read from pipelines, archives and pickles they give scikit-learn's own predictions."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.bent_models import BENT, bent_data, score
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import from_document, from_estimator, to_document
from coordpath_governance.models.functions import Curve, FunctionTerm, Piece, summed
from coordpath_governance.models.maps import (
    MAPS,
    Affine,
    Elementary,
    Power,
    Quantile,
    Scaled,
    Spline,
    Steps,
    Within,
    apply_all,
    preimages,
)
from coordpath_governance.models.pickle_objects import read_pickle
from coordpath_governance.models.sklearn_folding import fold_stored


@pytest.mark.parametrize("name", BENT)
def test_predicts_as_scikit_learn_does_within_and_beyond_the_training_data(name, tmp_path):
    data = bent_data()
    model = BENT[name]().fit(data, data.y)
    rows = bent_data(200, seed=1)
    rows[["a", "b", "c"]] *= 1.4
    rows.loc[:20, ["a", "b", "c"]] = data.loc[:20, ["a", "b", "c"]].to_numpy()
    truth = model.predict(rows)
    read = from_estimator(model)
    assert read.functions
    np.testing.assert_allclose(score(read, rows), truth, rtol=1e-9, atol=1e-9 * np.abs(truth).max())
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    stored = fold_stored(read_pickle(tmp_path / "model.pkl"))
    assert to_document(stored)["functions"] == to_document(read)["functions"]
    assert from_document(json.loads(json.dumps(to_document(read)))) == read


def test_missing_values_flow_through_curves_as_they_do_in_scikit_learn():
    data = bent_data()
    data.loc[::5, "a"] = np.nan
    steps = (PowerTransformer(), SimpleImputer(add_indicator=True), PolynomialFeatures(2))
    model = make_pipeline(*steps, Ridge()).fit(data[["a", "b"]], data.y)
    np.testing.assert_allclose(score(from_estimator(model), data), model.predict(data[["a", "b"]]), rtol=1e-9)
    raises = make_pipeline(PowerTransformer(), Ridge()).fit(data[["b"]], data.y)
    assert np.isnan(score(from_estimator(raises), pd.DataFrame({"b": [np.nan, 1.0]}))).tolist() == [True, False]


def test_an_ordinal_code_of_missing_is_imputed_or_raises():
    data = pd.DataFrame({"g": ["x", "y", None, "x"] * 5, "y": np.arange(20.0)})
    data["g"] = data.g.astype(object).where(data.g.notna(), np.nan)
    imputed = make_pipeline(OrdinalEncoder(), SimpleImputer(add_indicator=True), Ridge()).fit(data[["g"]], data.y)
    np.testing.assert_allclose(score(from_estimator(imputed), data), imputed.predict(data[["g"]]), rtol=1e-9)
    coded = make_pipeline(OrdinalEncoder(encoded_missing_value=-7), Ridge()).fit(data[["g"]], data.y)
    np.testing.assert_allclose(score(from_estimator(coded), data), coded.predict(data[["g"]]), rtol=1e-9)


def test_a_logarithm_of_nothing_cannot_be_scored():
    curve = Piece(2.0, (Curve("x", (Elementary("log"),)),))
    model = from_document({"schema": "coordpath.coefficients/1", "intercept": 0.0, "numeric": []})
    from dataclasses import replace

    values = score(replace(model, functions=(FunctionTerm(("x",), (curve,)),)), pd.DataFrame({"x": [-1.0, 0.0, 1.0]}))
    assert np.isfinite(values).tolist() == [False, False, True]


def test_a_logistic_model_of_splines_has_scikit_learns_log_odds():
    data = bent_data()
    model = make_pipeline(SplineTransformer(), LogisticRegression()).fit(data[["a", "c"]], data.y > 1)
    np.testing.assert_allclose(score(from_estimator(model), data), model.decision_function(data[["a", "c"]]), rtol=1e-9)


def test_equal_products_and_splines_on_equal_knots_are_one_piece():
    first = Curve("x", (Spline((0.0, 0.0, 1.0, 1.0), 1, (1.0, 0.0), "constant"),), 0.5)
    second = Curve("x", (Spline((0.0, 0.0, 1.0, 1.0), 1, (0.0, 1.0), "constant"),), 0.25)
    other = Curve("y", (Steps((0.0,), (0.0, 1.0)),))
    pieces = summed([Piece(2.0, (first,)), Piece(4.0, (second,)), Piece(1.0, (first,)), Piece(1.0, (other, first))])
    assert len(pieces) == 2
    together = pieces[0].shapes[0]
    assert (together.maps[0].coefficients, together.missing) == ((3.0, 4.0), 2.5)


@pytest.mark.parametrize("name", ["log", "log1p", "log2", "log10", "sqrt", "cbrt", "exp", "expm1", "square", "absolute"])
def test_where_a_later_map_bends_is_found_on_the_column_itself(name):
    steps = Steps((1.5,), (0.0, 1.0))
    bends = preimages((Affine(2.0, 1.0), Elementary(name), steps))
    at = bends[[np.isclose(apply_all((Affine(2.0, 1.0), Elementary(name)), np.array([x]))[0], 1.5) for x in bends]]
    assert len(at)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Elementary("sin"),
        lambda: Scaled(1.0, 0.0),
        lambda: Power(1),
        lambda: Power(True),
        lambda: Steps((1.0, 0.0), (0.0, 1.0, 2.0)),
        lambda: Steps((1.0,), (0.0,)),
        lambda: Steps((1.0,), (0.0, 1.0), "nowhere"),
        lambda: Spline((0.0, 1.0), 1, (1.0,), "constant"),
        lambda: Spline((0.0, 1.0, 0.5, 2.0), 1, (1.0, 1.0), "constant"),
        lambda: Spline((0.0, 0.0, 1.0, 1.0), 0, (1.0, 1.0), "constant"),
        lambda: Spline((0.0, 0.0, 1.0, 1.0), 1, (1.0, 1.0), "sometimes"),
        lambda: Quantile((), (), "uniform"),
        lambda: Quantile((1.0, 0.0), (0.0, 1.0), "uniform"),
        lambda: Quantile((0.0,), (0.0,), "even"),
    ],
)
def test_numbers_that_make_no_map_are_refused(wrong):
    with pytest.raises(ValueError, match=r"\w"):
        wrong()


@pytest.mark.parametrize(
    "step", [KBinsDiscretizer(4, strategy="quantile"), QuantileTransformer(n_quantiles=40), Binarizer()]
)
@pytest.mark.parametrize(
    "scalers", [[StandardScaler()], [RobustScaler()], [StandardScaler(), MinMaxScaler()], [PowerTransformer()]]
)
@pytest.mark.filterwarnings("ignore")
def test_rows_on_an_edge_behind_a_scaler_fall_where_scikit_learn_puts_them(scalers, step):
    """Quantile edges are values of rows, so that the last digit of (x - mean) / scale decides for many of them."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"age": rng.integers(18, 90, 300).astype(float), "sex": rng.choice(["f", "m"], 300)})
        numbers = make_pipeline(*scalers, step)
        dummies = make_pipeline(OneHotEncoder(sparse_output=False), *scalers, Binarizer(threshold=0.5))
        columns = make_column_transformer((numbers, ["age"]), (dummies, ["sex"]))
        model = make_pipeline(columns, Ridge()).fit(frame, frame.age + rng.normal(size=300))
        np.testing.assert_allclose(score(from_estimator(model), frame), model.predict(frame), rtol=1e-9)


@pytest.mark.parametrize("degree", [3, 6, 8])
@pytest.mark.parametrize(("centre", "spread"), [(2000.0, 10.0), (1.7e9, 8e5)])
def test_powers_of_scaled_columns_keep_their_digits(degree, centre, spread):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"year": rng.normal(centre, spread, 300)})
    target = np.sin((frame.year - centre) / spread)
    model = make_pipeline(StandardScaler(), PolynomialFeatures(degree), Ridge(0.01)).fit(frame, target)
    np.testing.assert_allclose(score(from_estimator(model), frame), model.predict(frame), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "behind", [KBinsDiscretizer(3, strategy="uniform"), Binarizer(threshold=-2.0), MinMaxScaler(clip=True)]
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_not_finite_between_two_steps_cannot_be_scored(behind):
    frame = pd.DataFrame({"x": np.linspace(0.5, 4.0, 40)})
    model = make_pipeline(FunctionTransformer(np.log), behind, Ridge()).fit(frame, frame.x)
    told = score(from_estimator(model), pd.DataFrame({"x": [1.0, 0.0, -1.0]}))
    assert np.isfinite(told).tolist() == [True, False, False]


_SPARSE_SPLINES = SplineTransformer(sparse_output=True, extrapolation="periodic", handle_missing="zeros")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_pipeline(KBinsDiscretizer(3, dtype=np.float32), Ridge()), "rounds its columns to another type"),
        (lambda: make_pipeline(OrdinalEncoder(dtype=bool), Ridge()), "writes its codes as bool"),
        (
            lambda: make_pipeline(
                SplineTransformer(sparse_output=True, extrapolation="periodic", handle_missing="zeros"), Ridge()
            ),
            "fit it with sparse_output=False",
        ),
        (lambda: make_pipeline(OrdinalEncoder(min_frequency=0.02), SimpleImputer(), Ridge()), "impute the column before"),
        (
            lambda: make_pipeline(PolynomialFeatures(7, interaction_only=True), Ridge()),
            "multiplies 7 columns with each other",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_scikit_learn_computes_in_another_way_is_refused(make, message):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 5, (200, 7)).astype(float), columns=list("abcdefg"))
    if "impute" in message:
        frame.loc[::5, "a"] = np.nan
    model = make().fit(frame, frame.b)
    with pytest.raises(UnsupportedModelError, match=message):
        from_estimator(model)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
def test_codes_that_their_type_can_hold_are_read(dtype):
    frame = pd.DataFrame({"g": list("abcab") * 20})
    encoder = OrdinalEncoder(dtype=dtype, handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(encoder, Ridge()).fit(frame, np.arange(100.0))
    rows = pd.DataFrame({"g": ["a", "c", "z"]})
    exact = 1e-6 if dtype is np.float32 else 1e-9  # the codes are exact, what scikit-learn makes of them is not
    np.testing.assert_allclose(score(from_estimator(model), rows), model.predict(rows), rtol=exact)


def _document(**changes):
    piece = {"weight": 1.0, "shapes": [{"column": "x", "maps": [{"kind": "power", "exponent": 2}], "missing": None}]}
    return {
        "schema": "coordpath.coefficients/1",
        "intercept": 0.0,
        "functions": [{"columns": ["x"], "pieces": [piece]} | changes],
    }


_STEPS = {"kind": "steps", "edges": [float(i) for i in range(20_001)], "values": [0.0] * 20_002, "edge_belongs": "behind"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": []}, "is not a list of different columns"),
        ({"columns": ["z", "x"]}, "in the order of their names"),
        ({"columns": ["z"]}, "a column that is not among"),
        ({"pieces": [{"weight": 1.0, "shapes": []}]}, "is empty"),
        ({"pieces": [{"weight": 1.0, "shapes": [{"column": "x", "maps": [{"kind": "sine"}]}]}]}, "known are affine"),
        ({"pieces": [{"weight": 1.0, "shapes": [{"column": "x", "maps": [{"kind": "power", "exponent": 1.5}]}]}]}, "no map"),
        ({"pieces": [{"weight": "1", "shapes": []}]}, "where a finite number belongs"),
        ({"columns": list("abcdefg")}, "an interaction has at most 6"),
        ({"pieces": [{"weight": 1.0, "shapes": []}] * 10_001}, "at most 10000 are read"),
        ({"pieces": [{"weight": 1.0, "shapes": [{"column": "x", "maps": [{"kind": "sine"}] * 1001}]}]}, "at most 1000"),
        ({"pieces": [{"weight": 1.0, "shapes": [{"column": "x", "maps": [_STEPS]}]}]}, "has 20001 numbers; at most 20000"),
    ],
)
def test_a_declared_function_that_makes_no_sense_is_refused(changes, message):
    assert from_document(_document()).functions
    with pytest.raises(ModelReadError, match=message):
        from_document(_document(**changes))


def test_every_map_has_a_word_of_its_own():
    words = "affine scaled function power clip within steps spline yeo-johnson box-cox quantile"
    assert list(MAPS) == words.split()


def test_coefficients_that_overflow_are_refused_as_not_finite():
    data = bent_data()
    model = make_pipeline(SplineTransformer(), StandardScaler(), Ridge()).fit(data[["a"]], data.y)
    model[-1].coef_ = model[-1].coef_ * 1e300
    model[1].scale_ = model[1].scale_ * 1e-300
    with pytest.raises(ModelReadError, match="finite"):
        from_estimator(model)


def _forge(model, change):
    change(model)
    return model


@pytest.mark.parametrize(
    ("make", "forge", "message"),
    [
        (SplineTransformer, lambda t: setattr(t, "degree", 2), "of another degree"),
        (SplineTransformer, lambda t: setattr(t, "extrapolation", "continue"), "goes on in another way"),
        (SplineTransformer, lambda t: setattr(t, "bsplines_", t.bsplines_[:1]), "one entry for each"),
        (SplineTransformer, lambda t: setattr(t, "bsplines_", [Ridge()] * 2), "not a BSpline of scipy"),
        (SplineTransformer, lambda t: setattr(t, "n_features_out_", 3), "'n_features_out_' is 3"),
        (SplineTransformer, lambda t: setattr(t.bsplines_[0], "extra", 1), "an attribute 'extra' of its own"),
        (SplineTransformer, lambda t: setattr(t.bsplines_[0], "_c", t.bsplines_[0].c[::-1].copy()), "not one spline each"),
        (StandardScaler, lambda t: setattr(t, "with_std", False), "does not divide"),
        (KBinsDiscretizer, lambda t: t._encoder.categories_.reverse() or t._encoder.categories_.pop(), "a KBinsDiscretizer"),
        (KBinsDiscretizer, lambda t: t.bin_edges_.__setitem__(0, t.bin_edges_[0][::-1]), "not in order"),
        (KBinsDiscretizer, lambda t: setattr(t, "_encoder", Ridge()), "not a OneHotEncoder"),
        (PowerTransformer, lambda t: setattr(t, "_scaler", Ridge()), "not a StandardScaler"),
        (PowerTransformer, lambda t: setattr(t, "method", "other"), "'method' is 'other'"),
        (QuantileTransformer, lambda t: setattr(t, "quantiles_", t.quantiles_[::-1]), "not in order"),
        (QuantileTransformer, lambda t: setattr(t, "references_", t.references_[:3]), "entries for"),
        (PolynomialFeatures, lambda t: setattr(t, "degree", 3), "contradicts 'degree'"),
        (PolynomialFeatures, lambda t: setattr(t, "interaction_only", True), "'n_output_features_' is 6"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_transformer_that_contradicts_itself_is_damaged(make, forge, message):
    data = bent_data()
    model = make_pipeline(make(), Ridge()).fit(data[["a", "c"]], data.y)
    forge(model[0])
    with pytest.raises(ModelReadError, match=message):
        from_estimator(model)


def test_outside_of_its_range_a_column_is_not_defined_and_steps_keep_it_so():
    x = np.array([-1.0, 0.0, 2.0, 3.0, 5.0])
    steps = Steps((2.0,), (10.0, 20.0))
    inside = apply_all((Within(0.0, 3.0), steps), x)
    assert np.array_equal(inside, [np.nan, 10.0, 20.0, 20.0, np.nan], equal_nan=True)
    assert np.array_equal(apply_all((Within(None, 2.0),), x), [-1.0, 0.0, 2.0, np.nan, np.nan], equal_nan=True)
    assert preimages((Affine(2.0), Within(0.0, 4.0), Steps((1.0, 9.0), (0.0, 1.0, 2.0)))).tolist() == [0.5, 0.0, 2.0]
    for ends in ((None, None), (2.0, 1.0)):
        with pytest.raises(ValueError, match="a range has an end"):
            Within(*ends)
