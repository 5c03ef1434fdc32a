"""Every kind of model we read, with attributes changed by lot: refused, or read as scikit-learn serves it."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.bent_models import BENT, bent_data
from helpers.forged_attributes import deceptions, forgeries

sys.path.insert(0, str(Path(__file__).parents[1] / "golden" / "pickles"))
from write_pickles import models, training_data

FRAME = training_data()
ROWS = FRAME.head(6).copy()
ROWS.loc[0, "gaps"], ROWS.loc[1, "city"] = np.nan, "Lugano"
BENT_FRAME, BENT_ROWS = bent_data(120), bent_data(6, seed=3)
BENT_ROWS.loc[1, "b"], BENT_ROWS.loc[2, "c"] = 9.0, -9.0

_SHARE = 0.1
_MANY = ("GridSearchCV", "HalvingGridSearchCV", "RandomizedSearchCV", "RFECV", "SequentialFeatureSelector")
"""Those that hold many models within."""


def check(model, rows, share):
    found, read, _ = deceptions(forgeries(model, share), rows)
    assert found == []
    assert read > 5


@pytest.mark.parametrize("name", models())
@pytest.mark.filterwarnings("ignore")
def test_models(name):
    model, columns, target = models()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(FRAME[columns], FRAME[target])
        check(model, ROWS[columns], _SHARE / 2 if name in _MANY or "gaps" in columns else _SHARE)


@pytest.mark.parametrize("name", BENT)
@pytest.mark.filterwarnings("ignore")
def test_functions_of_columns(name):
    model = BENT[name]().fit(BENT_FRAME.drop(columns="y"), BENT_FRAME["y"])
    check(model, BENT_ROWS.drop(columns="y"), _SHARE / 2)
