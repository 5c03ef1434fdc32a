"""Reports of real little changes, made once per session: fixtures for tests of reports, attestations and verification."""

import numpy as np
import pandas as pd
import pytest

from coordpath_governance import LinearModel, NumericTerm, explain_change
from coordpath_governance.models.linear_model import CategoricalTerm, RawCoefficient


def linear(intercept, slopes, effects, regularisation=None):
    return LinearModel(
        intercept=intercept,
        numeric=tuple(NumericTerm(name, value) for name, value in slopes.items()),
        categorical=(CategoricalTerm("colour", tuple(effects), tuple(effects.values()), unknown=0.0),),
        raw=tuple(RawCoefficient(name, value) for name, value in slopes.items()),
        estimator="LinearRegression",
        regularisation=regularisation or {},
    )


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(7)
    n = 300
    a = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "a": a,
            "b": 0.9 * a + 0.4 * rng.normal(size=n),
            "c": rng.normal(3, 2, size=n),
            "still": 1.0,
            "colour": rng.choice(["red", "green", "blue", "teal"], n, p=[0.5, 0.3, 0.18, 0.02]),
            "region": rng.choice(["north", "south"], n),
        }
    )
    noise = rng.normal(size=n)
    return frame.assign(y=1 + 2 * frame["a"] - frame["b"] + 0.5 * frame["c"] + (frame["colour"] == "green") + noise)


@pytest.fixture(scope="session")
def champion():
    return linear(1.2, {"a": 1.0, "b": 0.1, "c": 0.5, "still": 1.0}, {"red": 0.0, "green": 0.8, "blue": 0.1})


@pytest.fixture(scope="session")
def candidate():
    slopes = {"a": 2.0, "b": -1.1, "c": 0.5, "still": 2.0}
    return linear(0.3, slopes, {"red": 0.0, "green": 1.0, "blue": 0.2, "teal": 0.1})


@pytest.fixture(scope="session")
def report(rows, champion, candidate):
    return explain_change(
        champion, candidate, data=rows, target="y", segments=["region"], threshold=3.0, role="holdout", reason="newer rows"
    )


@pytest.fixture
def data_file(rows, tmp_path):
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    return path


@pytest.fixture
def file_report(data_file, champion, candidate):
    return explain_change(champion, candidate, data=data_file, target="y", segments=["region"], threshold=3.0)


@pytest.fixture(scope="session")
def document():
    """A report's document as the registry would give it: both versions registered, both with digests."""
    rows = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [0.0, 1.0, 0.0, 1.0], "y": [1.0, 3.0, 3.0, 6.0]})
    old, new = (
        LinearModel(intercept=0.0, numeric=(NumericTerm("a", a), NumericTerm("b", b))) for a, b in ((1, 0), (1.2, 1))
    )
    made = explain_change(old, new, data=rows, target="y", role="holdout", name="price").document
    sides = {
        side: getattr(made.subject, side).model_copy(update={"name": "price", "version": version, "digest": digit * 64})
        for side, version, digit in (("champion", "1", "a"), ("candidate", "2", "b"))
    }
    return made.model_copy(update={"subject": made.subject.model_copy(update=sides)})
