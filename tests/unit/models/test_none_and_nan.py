"""None and NaN are two values to scikit-learn and one missing cell in a file: read where the model knows one of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models import from_estimator


def column(*values: object) -> pd.DataFrame:
    return pd.DataFrame({"c": pd.Series(np.array(values, dtype=object), dtype=object)})


WITH_NONE, WITH_NAN = column(*["x", None, "y", "x"] * 5), column(*["x", np.nan, "y", "x"] * 5)
Y = np.tile([1.0, 5.0, 2.0, 0.5], 5)


@pytest.fixture(params=["live", "archive"])
def read(request, dumps, fold_bytes):
    return from_estimator if request.param == "live" else lambda model: fold_bytes(dumps(model))


def encoder() -> OneHotEncoder:
    return OneHotEncoder(handle_unknown="ignore")


@pytest.mark.parametrize("last", [Ridge(), LogisticRegression()])
@pytest.mark.parametrize(
    ("imputer", "fill"),
    [
        (SimpleImputer(strategy="most_frequent"), "x"),
        (SimpleImputer(strategy="constant", fill_value="none"), "none"),
    ],
)
def test_none_as_a_level_behind_an_imputer_of_nan(imputer, fill, last, read):
    """scikit-learn's imputer leaves None alone: read as the fill, every such row would be scored wrongly."""
    model = make_pipeline(imputer, encoder(), last).fit(WITH_NONE, Y > 1)
    assert None in model[1].categories_[0]
    message = f"step 'onehotencoder' tells None from NaN in the column 'c'.* replaces NaN by '{fill}', but None is a level"
    with pytest.raises(UnsupportedModelError, match=message) as caught:
        read(model)
    assert "df['c'].fillna(np.nan)" in str(caught.value)


def test_none_as_what_an_imputer_of_nan_finds_most_often(read):
    frame = column("x", None, None, "y")
    model = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder(), Ridge()).fit(frame, Y[:4])
    assert model[0].statistics_.tolist() == [None]
    with pytest.raises(UnsupportedModelError, match=r"tells None from NaN in the column 'c'.* found most often is None"):
        read(model)


def test_none_turned_into_nan_as_the_refusal_says(read, score):
    frame = WITH_NONE.assign(c=WITH_NONE["c"].fillna(np.nan))
    model = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), encoder(), Ridge()).fit(frame, Y)
    assert score(read(model), {"c": None}) == pytest.approx(model.predict(frame.iloc[[1]])[0])


def test_an_imputer_of_nan_before_one_of_none(read, score):
    def model(fill: str, **options: object):
        imputers = (
            SimpleImputer(strategy="constant", fill_value="none"),
            SimpleImputer(strategy="constant", fill_value=fill, missing_values=None, **options),
        )
        return make_pipeline(*imputers, encoder(), Ridge()).fit(WITH_NONE, Y)

    same = model("none")
    for value in (None, np.nan):
        assert score(read(same), {"c": value}) == pytest.approx(same.predict(column(value))[0])
    with pytest.raises(UnsupportedModelError, match="step 'simpleimputer-2' tells None from NaN in the column 'c'"):
        read(model("other"))


def test_an_indicator_of_none_behind_an_imputer_of_nan():
    """What is encoded is the same for both, what is indicated is not."""
    fill = {"strategy": "constant", "fill_value": "none"}
    imputers = (SimpleImputer(**fill), SimpleImputer(**fill, missing_values=None, add_indicator=True))
    model = make_pipeline(*imputers, encoder(), Ridge()).fit(WITH_NONE, Y)
    with pytest.raises(UnsupportedModelError, match="step 'simpleimputer-2' tells None from NaN in the column 'c'"):
        from_estimator(model)


@pytest.mark.parametrize("frame", [WITH_NONE, WITH_NAN])
def test_an_imputer_of_na_replaces_both(frame, read, score):
    imputer = SimpleImputer(strategy="constant", fill_value="none", missing_values=pd.NA)
    model = make_pipeline(imputer, encoder(), Ridge()).fit(frame, Y)
    for value in (None, np.nan):
        assert score(read(model), {"c": value}) == pytest.approx(model.predict(column(value))[0])


def test_an_imputer_of_na_of_numbers(read, score):
    frame = pd.DataFrame({"a": pd.Series([1, 2, None, 4], dtype="Int64")})
    model = make_pipeline(SimpleImputer(missing_values=pd.NA), Ridge()).fit(frame, Y[:4])
    assert score(read(model), {"a": None}) == pytest.approx(model.predict(frame.iloc[[2]])[0])


@pytest.mark.parametrize(
    ("steps", "frame"),
    [
        ((encoder(),), WITH_NONE),
        ((encoder(),), WITH_NAN),
        ((SimpleImputer(strategy="constant", fill_value="none", missing_values=None), encoder()), WITH_NONE),
        ((SimpleImputer(strategy="constant", fill_value="none"), encoder()), WITH_NAN),
    ],
)
def test_a_missing_cell_is_the_one_that_the_model_knows(steps, frame, read, score):
    model = make_pipeline(*steps, Ridge()).fit(frame, Y)
    assert score(read(model), {"c": None}) == pytest.approx(model.predict(frame.iloc[[1]])[0])
