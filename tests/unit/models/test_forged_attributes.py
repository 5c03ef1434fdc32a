"""What is read is what is served, whichever attribute of a stored model somebody changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.forged_attributes import deceptions, forgeries
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, StandardScaler

_RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(_RNG.normal(size=(80, 2)), columns=["age", "km"])

MODELS = {
    "regression": (Ridge(), ROWS.age),
    "classifier": (LogisticRegression(), ROWS.age > ROWS.km),
    "rate": (PoissonRegressor(), np.exp(ROWS.km)),
    "pipeline": (make_pipeline(StandardScaler(), Ridge()), ROWS.age),
    "union": (make_pipeline(FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())]), Ridge()), ROWS.age),
    "bins": (make_pipeline(KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), Ridge()), ROWS.age),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_a_changed_attribute_is_refused_or_read_as_it_is_served(name):
    model, target = MODELS[name]
    found, read, refused = deceptions(forgeries(model.fit(ROWS, target), share=0.4), ROWS.head(5))
    assert found == []
    assert min(read, refused) > 20
