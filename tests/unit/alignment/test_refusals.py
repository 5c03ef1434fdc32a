"""Models that cannot be put side by side, and names that would make a change ambiguous: errors, never a guess."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coordpath_governance.errors import AlignmentError, ReferenceDataError
from coordpath_governance.models import CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.reference.design import OTHER_LEVEL

FRAME = pd.DataFrame({"a": np.arange(40.0), "c": [*"uv"] * 20, "k": [0.0, 1.0, 2.0, 3.0] * 10, "y": np.arange(40.0) % 7})


@pytest.mark.parametrize("what", ["family", "link", "target"])
def test_models_of_another_kind(what, linear, aligned):
    model = replace(linear(1.0, {"a": 1.0}), target="price")
    with pytest.raises(AlignmentError, match=f"the models differ in {what}.*'other'"):
        aligned(model, replace(model, **{what: "other"}), FRAME)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ({"family": "poisson"}, "family 'poisson' with link 'identity' is not supported"),
        ({"family": "inverse gaussian", "link": "log"}, "family 'inverse gaussian' with link 'log' is not supported"),
        ({"family": "tweedie", "link": "log"}, "a tweedie model needs a power"),
        ({"family": "tweedie", "link": "log", "power": 3.0}, "the power is 3; a tweedie model needs one between 1 and 2"),
        ({"family": "poisson", "link": "log", "power": 1.0}, "a poisson model has no power"),
        ({"family": "binomial", "link": "logit"}, "a binomial model has exactly two classes, and here are 0"),
        ({"family": "binomial", "link": "logit", "classes": ("n", "n")}, "the classes have one label twice"),
        ({"classes": ("n", "y")}, "a gaussian model has no classes, and here are 2"),
        ({"threshold": float("nan")}, "the threshold is not a finite number"),
    ],
)
def test_models_whose_kind_contradicts_itself(kind, fault, linear, aligned):
    model = replace(linear(1.0, {"a": 1.0}), **kind)
    for champion in (model, None):
        with pytest.raises(AlignmentError, match=f"the (champion|candidate) is not a model that we explain: {fault}"):
            aligned(champion, model, FRAME)


def test_classes_that_differ(linear, aligned):
    model = replace(linear(1.0, {"a": 1.0}), family="binomial", link="logit", classes=("bad", "good"))
    both = "the champion has 'bad', 'good', the candidate 'good', 'bad'"
    with pytest.raises(AlignmentError, match=f"the models differ in classes: {both}"):
        aligned(model, replace(model, classes=("good", "bad")), FRAME)


def test_a_target_that_only_one_model_names_is_no_difference(linear, aligned):
    model = linear(1.0, {"a": 1.0})
    assert aligned(model, replace(model, target="price"), FRAME).moving == set()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("where", ["intercept", "slope", "missing", "effect", "unknown"])
def test_numbers_that_are_none(bad, where, aligned):
    """NaN would otherwise read as "this model cannot score such a row" and leave the path without a word."""
    parts = dict.fromkeys(("intercept", "slope", "missing", "effect", "unknown"), 1.0) | {where: bad}
    model = LinearModel(
        parts["intercept"],
        (NumericTerm("a", parts["slope"], parts["missing"]),),
        (CategoricalTerm("c", ("u", "v"), (0.0, parts["effect"]), parts["unknown"]),),
    )
    fine = LinearModel(1.0, (NumericTerm("a", 1.0, 1.0),))
    for pair, who in (((model, fine), "champion"), ((fine, model), "candidate")):
        with pytest.raises(AlignmentError, match=f"the {who} has a coefficient on '.*' that is not a finite number"):
            aligned(*pair, FRAME)


def test_two_terms_on_one_column(linear, aligned):
    model = linear(1.0, {"a": 1.0})
    twice = replace(model, numeric=(*model.numeric, NumericTerm("a", 2.0)))
    with pytest.raises(AlignmentError, match="the candidate has 2 numeric terms on the column 'a'"):
        aligned(model, twice, FRAME)


def test_a_level_with_the_name_of_all_others(linear, aligned):
    model = linear(1.0, {}, {"c": {"u": 0.0, OTHER_LEVEL: 5.0}}, unknown=0.0)
    with pytest.raises(AlignmentError, match=r"a level called .* a name that is taken"):
        aligned(model, model, FRAME)


@pytest.mark.parametrize(
    ("numeric", "levels", "name"),
    [
        (["c is missing", "c"], {}, "c is missing"),
        (["c = u"], {"c": ("u", "v")}, "c = u"),
        (["(baseline)"], {}, r"\(baseline\)"),
        ([], {"(baseline)": ("u", "v")}, r"\(baseline\)"),
        (["k", "k (as a category)"], {"k": ("0", "1", "2", "3")}, r"k \(as a category\)"),
    ],
)
def test_names_that_clash(numeric, levels, name, aligned):
    model = LinearModel(
        1.0,
        tuple(NumericTerm(column, 1.0, 0.5) for column in numeric),
        tuple(CategoricalTerm(c, known, tuple(float(len(known)) for _ in known)) for c, known in levels.items()),
    )
    frame = FRAME.assign(**{column: np.arange(40.0) % 5 for column in numeric if column != "k"})
    frame["(baseline)"] = FRAME["c"] if "(baseline)" in levels else frame.get("(baseline)", 0.0)
    with pytest.raises(AlignmentError, match=f"two (coordinates|steps) would both be called '{name}'"):
        aligned(model, model, frame)


def test_a_column_as_number_and_as_category_is_two_units(aligned, oracle):
    def model(slope: float, effect: float) -> LinearModel:
        term = CategoricalTerm("k", tuple("0123"), (0.0, effect, 0.0, 1.0), None, numeric_levels=True)
        return LinearModel(1.0, (NumericTerm("k", slope),), (term,))

    pair = (model(1.0, 2.0), model(2.0, -1.0))
    result, truth = aligned(*pair, FRAME), oracle(*pair, FRAME)
    assert {"k", "k (as a category)"} <= result.moving
    for moved in (["k"], ["k (as a category)"], ["k", "k (as a category)", "(baseline)"]):
        assert result.cost(moved) == pytest.approx(truth.cost(moved), rel=1e-10)


@pytest.mark.parametrize("text", ["01", "1.0", "True", "nan"])
def test_levels_that_are_numbers_to_one_model_and_text_to_the_other(text, aligned):
    numbers = LinearModel(1.0, (), (CategoricalTerm("c", ("1", "2"), (0.0, 1.0), 0.0, numeric_levels=True),))
    texts = LinearModel(1.0, (), (CategoricalTerm("c", (text, "2"), (0.0, 1.0), 0.0),))
    for pair in ((numbers, texts), (texts, numbers)):
        with pytest.raises(AlignmentError, match=f"reads the column 'c' as numbers, the other as text: '{text}'"):
            aligned(*pair, FRAME)


def test_levels_that_read_the_same_as_numbers_and_as_text(aligned):
    frame = FRAME.assign(c=["1", "2"] * 20)
    pair = [LinearModel(1.0, (), (CategoricalTerm("c", ("1", "2"), (0.0, 1.0), None, flag),)) for flag in (True, False)]
    assert aligned(*pair, frame).moving == set()


def test_a_missing_value_that_one_model_cannot_score(linear, aligned):
    frame = FRAME.assign(a=FRAME["a"].mask(FRAME.index < 3))
    strict, lenient = linear(1.0, {"a": 1.0}), linear(1.0, {"a": 1.0}, missing={"a": 2.0})
    for pair in ((strict, lenient), (lenient, strict)):
        with pytest.raises(ReferenceDataError, match="column 'a' is missing in 3 of 40 rows"):
            aligned(*pair, frame)
        assert aligned(*pair, frame, missing="drop").moving == set()
