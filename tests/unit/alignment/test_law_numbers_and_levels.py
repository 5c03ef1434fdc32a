"""A column of numbers in one model and its dummies in the other: one coordinate where both can score it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from coordpath_governance import explain_change
from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.models import CategoricalTerm, LinearModel, NumericTerm

ROWS = pd.DataFrame({"flag": [0, 1] * 50, "x": np.arange(100.0) % 7, "y": np.arange(100.0) % 5})


def slope(value: float) -> LinearModel:
    return LinearModel(1.0, (NumericTerm("x", 0.5), NumericTerm("flag", value)))


def dummies(effects: dict[str, float], **more: object) -> LinearModel:
    term = CategoricalTerm("flag", tuple(effects), tuple(effects.values()), **more)
    return LinearModel(1.0, (NumericTerm("x", 0.5),), (term,))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    "coded",
    [
        dummies({"0": 0.0, "1": 2.0}, numeric_levels=True),
        dummies({"1": 2.0, "0": 0.0}, numeric_levels=True),
        dummies({"False": 0.0, "True": 2.0}),
    ],
)
def test_a_flag_and_its_dummies_are_the_same_function(coded, swapped):
    pair = (coded, slope(2.0)) if swapped else (slope(2.0), coded)
    document = explain_change(*pair, data=ROWS, target="y").document
    assert document.path.steps == ()
    assert document.counts.changed == 0


def test_a_changed_effect_is_one_step_of_the_flag_and_the_average():
    document = explain_change(slope(2.0), dummies({"0": 0.0, "1": 3.0}, numeric_levels=True), data=ROWS, target="y").document
    assert {step.feature for step in document.path.steps} == {"flag", "(baseline)"}
    scores = [1.0 + 0.5 * ROWS["x"] + effect * ROWS["flag"] for effect in (2.0, 3.0)]
    costs = [float(((ROWS["y"] - score) ** 2).mean()) for score in scores]
    assert document.path.start_cost == pytest.approx(costs[0])
    assert document.path.steps[-1].cost == pytest.approx(costs[1])
    assert document.impact.champion.mae == pytest.approx(float((ROWS["y"] - scores[0]).abs().mean()))


def test_missing_values_are_told_as_a_level_where_both_score_them():
    frame = pd.DataFrame({"flag": [0.0, 1.0, None] * 30, "y": np.arange(90.0) % 5})
    number = LinearModel(1.0, (NumericTerm("flag", 2.0, missing=0.7),))
    term = CategoricalTerm("flag", ("0", "1", "(missing)"), (0.0, 2.0, 0.7), None, numeric_levels=True)
    assert explain_change(number, LinearModel(1.0, (), (term,)), data=frame, target="y").document.path.steps == ()


def test_a_slope_beside_true_and_false_as_text():
    """An encoder of text raises on "true", of which the slope would make a 1."""
    pair = slope(2.0), dummies({"False": 0.0, "True": 2.0}, text_levels=True)
    frame = ROWS.assign(flag=ROWS["flag"].map({0: "False", 1: "True"}))
    assert explain_change(*pair, data=frame, target="y").document.path.steps == ()
    with pytest.raises(
        ReferenceDataError, match=r"levels that the candidate cannot score: 'false' \(50 rows\), 'true' \(50"
    ):
        explain_change(*pair, data=frame.assign(flag=frame["flag"].str.lower()), target="y")


def test_an_encoder_that_scores_anything_else_stays_a_coordinate_of_its_own():
    """With an effect for levels never seen, the two are not the same function of every number."""
    document = explain_change(slope(2.0), dummies({"0": 0.0, "1": 2.0}, unknown=0.0), data=ROWS, target="y").document
    assert {c.unit for c in document.coordinates} >= {"flag", "flag (as a category)"}


def test_levels_that_are_no_numbers_stay_a_coordinate_of_their_own():
    other = LinearModel(1.0, (), (CategoricalTerm("flag", ("no", "yes"), (0.0, 2.0), None),))
    with pytest.raises(ValueError, match="cannot score"):
        explain_change(slope(2.0), other, data=ROWS, target="y")
