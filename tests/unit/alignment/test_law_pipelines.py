"""The law on scikit-learn pipelines: the same function through other scalers, codings, orders and intercepts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

from coordpath_governance.models import from_estimator
from coordpath_governance.paths.problem import BASELINE

pytestmark = pytest.mark.no_cover

NUMERIC = ("a", "b", "m")
LEVELS = {"c": ("u", "v", "w", "x"), "d": ("no", "yes")}


def rows(seed: int, n: int = 150, *, rare: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"a": rng.normal(5, 2, n), "b": rng.normal(-300, 100, n), "m": rng.normal(0, 0.01, n)},
    )
    frame["m"] = frame["m"].mask(rng.random(n) < 0.15)
    share = [0.66, 0.28, 0.03, 0.03] if rare else [0.4, 0.3, 0.2, 0.1]
    frame["c"] = rng.choice(LEVELS["c"], n, p=share)
    frame["d"] = rng.choice(LEVELS["d"], n)
    frame.loc[:3, "c"] = LEVELS["c"]
    frame.loc[:1, "d"] = LEVELS["d"]
    noise = rng.normal(0, 1, n)
    return frame.assign(y=2 + frame["a"] - frame["b"] / 100 + (frame["c"] == "v") * 2 - (frame["d"] == "no") + noise)


SCALERS = {
    "none": lambda: "passthrough",
    "standard": StandardScaler,
    "standard, no mean": lambda: StandardScaler(with_mean=False),
    "min-max": lambda: MinMaxScaler(feature_range=(-1, 3)),
    "max-abs": MaxAbsScaler,
    "robust": RobustScaler,
}
DROPS = {
    "all levels": None,
    "first": "first",
    "last": ["x", "yes"],
    "if binary": "if_binary",
    "chosen": ["v", "no"],
}


@dataclass(frozen=True)
class Coding:
    """How a function is written as a pipeline."""

    scaler: str = "none"
    drop: str = "first"
    numeric: tuple[str, ...] = NUMERIC
    categorical: tuple[str, ...] = tuple(LEVELS)
    categories_first: bool = False
    intercept: bool = True
    min_frequency: int | None = None

    def pipeline(self, frame: pd.DataFrame) -> Pipeline:
        """The preprocessing, fitted; every coefficient still arbitrary."""
        drop = DROPS[self.drop]
        if isinstance(drop, list):
            drop = [dict(zip(LEVELS, drop, strict=True))[name] for name in self.categorical]
        encoder = OneHotEncoder(drop=drop, sparse_output=False, min_frequency=self.min_frequency)
        fill = SimpleImputer(strategy="constant", fill_value=0.004)
        parts = [
            ("n", Pipeline([("fill", fill), ("scale", SCALERS[self.scaler]())]), list(self.numeric)),
            ("l", encoder, list(self.categorical)),
        ]
        prepare = ColumnTransformer(parts[::-1] if self.categories_first else parts)
        model = Pipeline([("prepare", prepare), ("model", LinearRegression(fit_intercept=self.intercept))])
        return model.fit(frame[[*self.categorical[::-1], *self.numeric]], frame["y"])


@dataclass(frozen=True)
class Function:
    """A function of raw columns."""

    intercept: float
    slopes: dict[str, float]
    effects: dict[str, dict[str, float]] = field(default_factory=dict)

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        score = np.full(len(frame), self.intercept)
        for name, slope in self.slopes.items():
            score += slope * frame[name].fillna(0.004).to_numpy()
        for name, effects in self.effects.items():
            score += frame[name].map(effects).to_numpy()
        return score

    def write(self, coding: Coding, frame: pd.DataFrame) -> Pipeline:
        """A fitted pipeline of that coding whose coefficients are set by algebra to be this function."""
        model = coding.pipeline(frame)
        prepare, last = model["prepare"], model["model"]
        intercept = self.intercept
        scaled = prepare.named_transformers_["n"]
        zero, one = (pd.DataFrame(np.full((1, 3), v), columns=list(coding.numeric)) for v in (0.0, 1.0))
        shift = scaled.transform(zero)[0]
        scale = scaled.transform(one)[0] - shift
        slopes = np.array([self.slopes[name] for name in coding.numeric]) / scale
        intercept -= float(slopes @ shift)
        encoder = prepare.named_transformers_["l"]
        dummies: list[float] = []
        for position, name in enumerate(coding.categorical):
            levels, effects = LEVELS[name], self.effects[name]
            probe = pd.DataFrame({other: [LEVELS[other][0]] * len(levels) for other in coding.categorical})
            probe[name] = levels
            start = sum(len(self._outputs(encoder, k)) for k in range(position))
            codes = encoder.transform(probe)[:, start : start + len(self._outputs(encoder, position))]
            dropped = [effects[level] for level, code in zip(levels, codes, strict=True) if not code.any()]
            base = dropped[0] if dropped else 0.0
            intercept += base
            weights = np.zeros(codes.shape[1])
            for level, code in zip(levels, codes, strict=True):
                weights[code == 1] = effects[level] - base
            dummies.extend(weights)
        numbers = [*dummies, *slopes] if coding.categories_first else [*slopes, *dummies]
        last.coef_ = np.array(numbers)
        last.intercept_ = intercept if coding.intercept else 0.0
        assert coding.intercept or intercept == pytest.approx(0.0, abs=1e-12)
        return model

    @staticmethod
    def _outputs(encoder: OneHotEncoder, position: int) -> list[str]:
        prefix = f"{encoder.feature_names_in_[position]}_"
        return [name for name in encoder.get_feature_names_out() if name.startswith(prefix)]


codings = st.builds(
    Coding,
    scaler=st.sampled_from(list(SCALERS)),
    drop=st.sampled_from(list(DROPS)),
    numeric=st.permutations(NUMERIC).map(tuple),
    categorical=st.permutations(tuple(LEVELS)).map(tuple),
    categories_first=st.booleans(),
)


def random_function(seed: int, intercept: float | None = None) -> Function:
    rng = np.random.default_rng(seed)
    slopes = dict(zip(NUMERIC, rng.choice([-1, 1], 3) * rng.uniform(0.5, 2, 3) / [2, 100, 0.01], strict=True))
    effects = {name: dict(zip(levels, rng.uniform(-2, 2, len(levels)), strict=True)) for name, levels in LEVELS.items()}
    return Function(float(rng.normal()) if intercept is None else intercept, slopes, effects)


@pytest.mark.thorough
@settings(max_examples=40)
@given(first=codings, second=codings, seed=st.integers(0, 2**20), rare=st.booleans())
def test_another_coding_of_one_function_is_no_change(first, second, seed, rare, aligned):
    frame = rows(seed, rare=rare)
    function = random_function(seed)
    models = [function.write(coding, rows(seed + k)) for k, coding in enumerate((first, second))]
    for model in models:
        np.testing.assert_allclose(model.predict(frame), function(frame), rtol=1e-9, atol=1e-9)
    result = aligned(*map(from_estimator, models), frame)
    assert result.moving == set()
    assert result.solution.path.steps == ()
    assert result.cost([]) == pytest.approx(np.mean((frame["y"] - function(frame)) ** 2), rel=1e-9)


@settings(max_examples=15)
@given(second=codings, seed=st.integers(0, 2**20), scaler=st.sampled_from(["none", "max-abs", "standard, no mean"]))
def test_no_intercept_on_one_side(second, seed, scaler, aligned):
    """All levels and scalers that do not shift need no intercept: the levels hold it."""
    frame = rows(seed)
    function = random_function(seed, intercept=0.0)
    without = function.write(Coding(scaler, "all levels", intercept=False), frame)
    other = function.write(second, frame)
    assert not from_estimator(without).has_intercept
    assert aligned(from_estimator(without), from_estimator(other), frame).moving == set()


def test_neither_side_has_an_intercept(aligned):
    frame = rows(4)
    function = random_function(4, intercept=0.0)
    lifted = {
        name: {level: e + by for level, e in effects.items()}
        for (name, effects), by in zip(function.effects.items(), (9, -9), strict=True)
    }
    same = Function(0.0, function.slopes, lifted)
    pair = [f.write(Coding("none", "all levels", intercept=False), frame) for f in (function, same)]
    result = aligned(*map(from_estimator, pair), frame)
    assert not result.change.centred
    assert result.moving == set()


@settings(max_examples=15)
@given(second=codings, seed=st.integers(0, 2**20))
def test_an_infrequent_bucket_is_levels_that_share_an_effect(second, seed, aligned):
    frame = rows(seed, rare=True)
    drawn = random_function(seed)
    effects = {**drawn.effects, "c": {**drawn.effects["c"], "w": 0.75, "x": 0.75}}
    function = Function(drawn.intercept, drawn.slopes, effects)
    bucket = function.write(Coding("standard", "all levels", min_frequency=25), frame)
    assert bucket["prepare"].named_transformers_["l"].infrequent_categories_[0].tolist() == ["w", "x"]
    result = aligned(from_estimator(bucket), from_estimator(function.write(second, frame)), frame)
    assert result.moving == set()


@pytest.mark.thorough
@settings(max_examples=20)
@given(
    first=codings,
    second=codings,
    seed=st.integers(0, 2**20),
    exponent=st.floats(-6, 0),
    what=st.sampled_from([*NUMERIC, *LEVELS]),
)
def test_a_real_change_shows_through_every_coding(first, second, seed, exponent, what, aligned):
    frame = rows(seed)
    function = random_function(seed)
    slopes, effects = dict(function.slopes), {name: dict(values) for name, values in function.effects.items()}
    if what in slopes:
        slopes[what] *= 1 + 10**exponent
    else:
        level = LEVELS[what][0]
        effects[what][level] += 10**exponent
    changed = Function(function.intercept, slopes, effects)
    mean_shift = float(np.mean(changed(frame) - function(frame)))
    changed = Function(function.intercept - mean_shift, slopes, effects)
    pair = (function.write(first, frame), changed.write(second, frame))
    assert aligned(*map(from_estimator, pair), frame).moving == {what}
    lifted = Function(function.intercept + 10**exponent, function.slopes, function.effects)
    pair = (function.write(first, frame), lifted.write(second, frame))
    assert aligned(*map(from_estimator, pair), frame).moving == {BASELINE}


@settings(max_examples=35)
@given(first=codings, second=codings, seed=st.integers(0, 2**20))
def test_fits_of_one_model_in_two_codings_are_no_change(first, second, seed, aligned):
    frame = rows(seed)
    pair = [coding.pipeline(frame) for coding in (first, second)]
    np.testing.assert_allclose(pair[0].predict(frame), pair[1].predict(frame), rtol=1e-8)
    assert aligned(*map(from_estimator, pair), frame).moving == set()


@settings(max_examples=10)
@given(first=codings, second=codings, seed=st.integers(0, 2**20))
def test_fits_on_other_rows_are_a_change_of_everything(first, second, seed, aligned):
    pair = [coding.pipeline(rows(seed + k)) for k, coding in enumerate((first, second))]
    assert aligned(*map(from_estimator, pair), rows(seed + 2)).moving == {*NUMERIC, *LEVELS, BASELINE}


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent"])
def test_an_indicator_that_repeats_the_fill_is_no_change(strategy, aligned):
    """add_indicator with weight zero, and a fill moved into the indicator, are the same function."""
    frame = rows(9)

    def fitted(**options) -> Pipeline:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            steps = [("fill", SimpleImputer(**options)), ("model", LinearRegression())]
            return Pipeline(steps).fit(frame[["a", "m"]], frame["y"])

    plain, told, moved = (
        fitted(strategy=strategy),
        fitted(strategy=strategy, add_indicator=True),
        fitted(strategy="constant", fill_value=0.0, add_indicator=True),
    )
    slope, fill = plain["model"].coef_[1], plain["fill"].statistics_[1]
    for model, indicator in ((told, 0.0), (moved, slope * fill)):
        model["model"].coef_ = np.append(plain["model"].coef_, indicator)
        model["model"].intercept_ = plain["model"].intercept_
        np.testing.assert_allclose(model.predict(frame[["a", "m"]]), plain.predict(frame[["a", "m"]]), rtol=1e-12)
        assert aligned(from_estimator(plain), from_estimator(model), frame).moving == set()
    told["model"].coef_[-1] = 0.5
    assert aligned(from_estimator(plain), from_estimator(told), frame).moving == {"m", BASELINE}


def test_another_fill_value_is_a_change_of_that_column(aligned):
    frame = rows(10)
    pair = []
    for value in (0.0, 1.0):
        steps = [("fill", SimpleImputer(strategy="constant", fill_value=value)), ("model", LinearRegression())]
        model = Pipeline(steps).fit(frame[["a", "m"]], frame["y"])
        model["model"].coef_, model["model"].intercept_ = np.array([1.0, 2.0]), 3.0
        pair.append(from_estimator(model))
    assert aligned(*pair, frame).moving == {"m", BASELINE}


def test_levels_that_no_row_has_are_listed_and_no_step(aligned):
    """Two encoders that differ only in what they do with a level that these data lack."""
    frame = rows(11)
    first, second = (random_function(11) for _ in range(2))
    second.effects["c"]["x"] += 5.0
    pair = [f.write(Coding(), frame) for f in (first, second)]
    without = frame[frame["c"] != "x"]
    result = aligned(*map(from_estimator, pair), without)
    assert result.moving == set()
    found = next(c for c in result.change.coordinates if c.label == "c = x")
    assert (found.exercised, found.changed, found.rows) == (False, True, 0)
