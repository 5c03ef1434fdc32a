"""Pipelines whose score is a sum of functions of columns, and the score of a `LinearModel` row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import inv_boxcox
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from coordpath_governance.models.functions import term_values
from coordpath_governance.models.linear_model import LinearModel, level_label
from coordpath_governance.models.maps import Affine, BoxCox, Elementary

NUMBERS = ["a", "b", "c"]
GROUPS = ["g", "h"]


def bent_data(rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """Numbers that are positive, normal and even, two categories, and a target that depends on all of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.gamma(2.0, 1.0, rows) + 0.1,
            "b": rng.normal(size=rows),
            "c": rng.uniform(0.0, 5.0, rows),
            "g": rng.choice(["x", "y", "z"], rows),
            "h": rng.choice(["u", "v"], rows),
        }
    )
    frame["y"] = frame.a * frame.b + np.log(frame.a) + (frame.g == "x") * frame.c + rng.normal(size=rows)
    return frame


def _numbers(*steps):
    return make_pipeline(make_column_transformer((make_pipeline(*steps), NUMBERS), (OneHotEncoder(), GROUPS)), Ridge())


def _all(*steps):
    inner = make_column_transformer(
        (OneHotEncoder(drop="first"), GROUPS),
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["a", "b"]),
    )
    return make_pipeline(inner, *steps, Ridge())


BENT = {
    "polynomial of scaled columns": lambda: _numbers(StandardScaler(), PolynomialFeatures(3)),
    "scaled polynomial": lambda: _numbers(PolynomialFeatures(2), StandardScaler()),
    "interactions only": lambda: _all(PolynomialFeatures(2, interaction_only=True, include_bias=False)),
    "polynomial of dummies and indicators": lambda: _all(PolynomialFeatures(2)),
    "polynomial of a polynomial": lambda: _numbers(PolynomialFeatures(2), PolynomialFeatures(2)),
    "polynomial of components": lambda: _numbers(StandardScaler(), PCA(2), PolynomialFeatures(2)),
    "splines, constant": lambda: _numbers(SplineTransformer(include_bias=False), StandardScaler()),
    "splines, linear": lambda: _numbers(SplineTransformer(extrapolation="linear", knots="quantile")),
    "splines, continue": lambda: _numbers(StandardScaler(), SplineTransformer(extrapolation="continue", degree=2)),
    "splines, periodic": lambda: _numbers(SplineTransformer(extrapolation="periodic")),
    "bins": lambda: _numbers(KBinsDiscretizer(quantile_method="averaged_inverted_cdf")),
    "ordinal bins": lambda: _numbers(KBinsDiscretizer(encode="ordinal", strategy="uniform"), StandardScaler()),
    "bins and splines": lambda: _numbers(make_union(SplineTransformer(), KBinsDiscretizer(strategy="uniform"))),
    "Yeo-Johnson": lambda: _numbers(PowerTransformer()),
    "Box-Cox of exp": lambda: _numbers(FunctionTransformer(np.exp), PowerTransformer("box-cox", standardize=False)),
    "quantiles, uniform, squared": lambda: _numbers(QuantileTransformer(n_quantiles=40), PolynomialFeatures(2)),
    "quantiles, normal": lambda: _numbers(QuantileTransformer(n_quantiles=40, output_distribution="normal")),
    "square and logarithm": lambda: _numbers(FunctionTransformer(np.square), FunctionTransformer(np.log1p)),
    "absolute, root, negative": lambda: _numbers(
        FunctionTransformer(np.abs), FunctionTransformer(np.sqrt), FunctionTransformer(np.negative)
    ),
    "above a threshold": lambda: _numbers(StandardScaler(), Binarizer(threshold=0.3)),
    "clipped": lambda: _numbers(MinMaxScaler(clip=True), MaxAbsScaler()),
    "codes of levels": lambda: make_pipeline(
        make_column_transformer(
            (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), GROUPS),
            (TargetEncoder(random_state=0), ["g"]),
            ("passthrough", NUMBERS),
        ),
        PolynomialFeatures(2),
        Ridge(),
    ),
}
"""By name: how to make a pipeline that is not yet fitted."""


class Frame:
    """A data frame as functions read it."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def numbers(self, column):
        return self._frame[column].to_numpy(dtype=np.float64)

    def labels(self, column):
        labels = [level_label(value) for value in self._frame[column]]
        return labels, np.arange(len(labels))


def score(model: LinearModel, frame: pd.DataFrame) -> np.ndarray:
    """The score of every row, by the definition; NaN where the model raises."""
    rows = Frame(frame)
    out = np.full(len(frame), model.intercept)
    for term in model.numeric:
        x = rows.numbers(term.column)
        missing = np.nan if term.missing is None else term.missing
        out += np.where(np.isnan(x), missing, term.coefficient * np.nan_to_num(x))
    for term in model.categorical:
        effects = [term.effect(label) for label in rows.labels(term.column)[0]]
        out += np.array([np.nan if effect is None else effect for effect in effects])
    for term in model.functions:
        out += term_values(term.pieces, rows, len(frame))
    return out


def taken_back(model: LinearModel, values: np.ndarray) -> np.ndarray:
    """The inverse of the function of the target, by scikit-learn's own formulas or numpy's."""
    inverse = {"log": np.exp, "log1p": np.expm1, "sqrt": np.square, "exp": np.log, "expm1": np.log1p}
    for each in reversed(model.target_map):
        if isinstance(each, Affine):
            values = (values - each.shift) / each.scale
        elif isinstance(each, Elementary):
            values = inverse[each.name](values)
        elif isinstance(each, BoxCox):
            values = inv_boxcox(values, each.power)
        else:
            transformer = PowerTransformer(standardize=False).fit([[0.0], [1.0]])
            transformer.lambdas_ = np.array([each.power])
            values = transformer.inverse_transform(values.reshape(-1, 1)).reshape(values.shape)
    return values
