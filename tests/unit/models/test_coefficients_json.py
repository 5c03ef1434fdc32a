"""coefficients.json: an exact round trip, and errors that name the key."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.errors import ModelReadError
from coordpath_governance.models import (
    CategoricalTerm,
    LinearModel,
    NumericTerm,
    Provenance,
    RawCoefficient,
    from_document,
    read_coefficients,
    to_document,
)
from coordpath_governance.models.maps import ELEMENTARY, MAPS

numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=8)
optional = st.none() | numbers


@st.composite
def categorical_terms(draw, column):
    levels = draw(st.lists(texts, unique=True, max_size=4))
    effects = draw(st.lists(numbers, min_size=len(levels), max_size=len(levels)))
    return CategoricalTerm(column, tuple(levels), tuple(effects), draw(optional), draw(st.booleans()), draw(st.booleans()))


KINDS = {
    "gaussian": {},
    "poisson": {"link": "log"},
    "gamma": {"link": "log"},
    "tweedie": {"link": "log", "power": 1.25},
    "binomial": {"link": "logit", "classes": ("0", "1"), "threshold": 0.3},
    "multinomial": {"link": "softmax", "classes": ("bad", "good", "so so")},
}


@st.composite
def models(draw):
    score = draw(scores())
    family = draw(st.sampled_from(list(KINDS)))
    if family != "multinomial":
        return replace(score, family=family, **KINDS[family])
    score = replace(score, intercept=0.0, numeric=(), categorical=())
    class_scores = draw(st.lists(scores(), min_size=3, max_size=3))
    class_scores = tuple(replace(each, provenance=Provenance()) for each in class_scores)
    return replace(score, family=family, class_scores=class_scores, **KINDS[family])


@st.composite
def scores(draw):
    names = draw(st.lists(texts, unique=True, max_size=4))
    return LinearModel(
        intercept=draw(numbers),
        numeric=tuple(NumericTerm(name, draw(numbers), draw(optional)) for name in names),
        categorical=tuple(draw(categorical_terms(name)) for name in names[:2]),
        has_intercept=draw(st.booleans()),
        target=draw(st.none() | texts),
        estimator=draw(texts),
        source=draw(texts),
        regularisation=draw(st.dictionaries(texts, st.none() | numbers | texts | st.booleans(), max_size=3)),
        raw=tuple(RawCoefficient(name, draw(numbers)) for name in draw(st.lists(texts, max_size=3))),
        library=draw(texts),
        provenance=Provenance(uri=draw(texts)),
    )


@settings(deadline=None)
@given(model=models())
def test_round_trip_is_exact(model):
    text = json.dumps(to_document(model), allow_nan=False)
    read = from_document(json.loads(text))
    assert read == replace(model, provenance=Provenance())
    assert json.dumps(to_document(read)) == text


def test_least_document():
    model = from_document({"schema": "coordpath.coefficients/1", "intercept": 1, "numeric": []})
    assert model == LinearModel(1.0, source="declared by the author in coefficients.json")
    assert isinstance(model.intercept, float)


def test_a_least_squares_model_is_written_as_ever():
    """Stored reports hold models in this form: new keys would change their digests."""
    assert list(to_document(LinearModel(1.0))) == [
        *("schema", "intercept", "has_intercept", "numeric", "categorical", "family", "link", "target", "estimator"),
        *("source", "regularisation", "raw", "library"),
    ]


def test_that_levels_are_text_is_written_only_if_they_are():
    plain = CategoricalTerm("c", ("True", "False"), (0.0, 1.0))
    written = [
        to_document(LinearModel(1.0, (), (each,)))["categorical"][0] for each in (plain, replace(plain, text_levels=True))
    ]
    assert [list(each)[5:] for each in written] == [[], ["text_levels"]]


def test_a_class_called_missing():
    document = {"schema": "coordpath.coefficients/1", "intercept": 1, "numeric": [], "family": "binomial"}
    with pytest.raises(ModelReadError, match=r"a class is called '\(missing\)', .*rename it"):
        from_document({**document, "classes": ["(missing)", "x"]})


def test_the_link_is_that_of_the_family():
    model = from_document({"schema": "coordpath.coefficients/1", "intercept": 1, "numeric": [], "family": "gamma"})
    assert model.link == "log"


def test_least_multinomial_document():
    score = {"intercept": 1.0, "numeric": [NUMERIC]}
    model = from_document(
        {
            "schema": "coordpath.coefficients/1",
            "family": "multinomial",
            "classes": ["u", "v", "w"],
            "class_scores": [score, score, {**score, "intercept": 3.0}],
        }
    )
    assert (model.intercept, model.numeric, model.link, model.threshold) == (0.0, (), "softmax", None)
    assert [each.intercept for each in model.class_scores] == [1.0, 1.0, 3.0]
    assert model.columns == ("a",)


def document(**changes):
    base = to_document(
        LinearModel(
            1.0, (NumericTerm("a", 2.0),), (CategoricalTerm("c", ("x", "y"), (0.0, 1.0)),), raw=(RawCoefficient("a", 2.0),)
        )
    )
    return {**base, **changes}


NUMERIC = {"column": "a", "coefficient": 1.0}
CATEGORICAL = {"column": "c", "levels": ["x"], "effects": [1.0]}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"schema": "coordpath.coefficients/2"}, "schema"),
        ({"intercept": "1"}, "intercept"),
        ({"intercept": True}, "intercept"),
        ({"intercept": None}, "intercept"),
        ({"intercept": float("nan")}, "intercept"),
        ({"intercept": 10**400}, "intercept"),
        ({"has_intercept": 1}, "has_intercept"),
        ({"family": "magic"}, "family"),
        ({"link": "probit"}, "link"),
        ({"target": 3}, "target"),
        ({"estimator": None}, "estimator"),
        ({"surprise": 1}, "surprise"),
        ({"numeric": {}}, "numeric"),
        ({"numeric": [3]}, r"numeric\[0\]"),
        ({"numeric": [{"column": "a"}]}, r"numeric\[0\].coefficient"),
        ({"numeric": [{**NUMERIC, "extra": 1}]}, r"numeric\[0\].extra"),
        ({"numeric": [{**NUMERIC, "missing": "no"}]}, r"numeric\[0\].missing"),
        ({"numeric": [NUMERIC, NUMERIC]}, "numeric"),
        ({"categorical": [CATEGORICAL, CATEGORICAL]}, "categorical"),
        ({"categorical": [{**CATEGORICAL, "effects": []}]}, r"categorical\[0\].effects"),
        ({"categorical": [{**CATEGORICAL, "levels": [1]}]}, r"categorical\[0\].levels"),
        ({"categorical": [{**CATEGORICAL, "levels": ["x", "x"], "effects": [1, 2]}]}, r"categorical\[0\].levels"),
        ({"categorical": [{**CATEGORICAL, "unknown": float("inf")}]}, r"categorical\[0\].unknown"),
        ({"regularisation": []}, "regularisation"),
        ({"regularisation": {"alpha": []}}, "regularisation"),
        ({"raw": [{"name": "a", "value": None}]}, r"raw\[0\].value"),
        ({"power": "1.5"}, "power"),
        ({"classes": "ab"}, "classes"),
        ({"classes": [0, 1]}, "classes"),
        ({"threshold": float("inf")}, "threshold"),
        ({"class_scores": [3]}, r"class_scores\[0\]"),
        ({"class_scores": [{"intercept": 1.0}]}, r"class_scores\[0\].numeric"),
        ({"class_scores": [{"numeric": [], "intercept": 1.0, "class_scores": []}]}, r"class_scores\[0\].class_scores"),
        ({"class_scores": [{"numeric": [NUMERIC, NUMERIC], "intercept": 1.0}]}, r"class_scores\[0\].numeric"),
    ],
)
def test_errors_name_the_key(changes, key):
    with pytest.raises(ModelReadError, match=f"'{key}"):
        from_document(document(**changes))


SCORE = {"intercept": 1.0, "numeric": [NUMERIC]}
NO_TERMS = {"intercept": 0.0, "numeric": [], "categorical": [], "raw": []}
MULTINOMIAL = {**NO_TERMS, "family": "multinomial", "link": "softmax", "classes": [*"uvw"], "class_scores": [SCORE] * 3}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"family": "poisson"}, "family 'poisson' with link 'identity' is not supported; known are gaussian with identity"),
        ({"family": "binomial", "link": "logit"}, "a binomial model has exactly two classes, and here are 0"),
        ({"family": "binomial", "link": "logit", "classes": [*"abc"]}, "exactly two classes, and here are 3"),
        ({"family": "binomial", "link": "logit", "classes": [*"aa"]}, "one label twice"),
        ({"classes": [*"ab"]}, "a gaussian model has no classes"),
        ({"power": 1.5}, "a gaussian model has no power"),
        ({"family": "tweedie", "link": "log"}, "a tweedie model needs a power"),
        ({"family": "tweedie", "link": "log", "power": 1.0}, "the power is 1; a tweedie model needs one between 1 and 2"),
        ({**MULTINOMIAL, "classes": [*"uv"]}, "a multinomial model has three or more classes, and here are 2"),
        ({**MULTINOMIAL, "class_scores": [SCORE] * 2}, "a multinomial model of 3 classes has 2 class scores"),
        ({**MULTINOMIAL, "numeric": [NUMERIC]}, "terms of its own"),
        ({**MULTINOMIAL, "intercept": 1.0}, "an intercept or terms of its own"),
        ({**MULTINOMIAL, "threshold": 0.5}, "a multinomial model decides for the likeliest class and has no threshold"),
        ({"class_scores": [SCORE]}, "a gaussian model of 0 classes has 1 class scores"),
    ],
)
def test_kinds_that_contradict_themselves(changes, fault):
    assert from_document(document(**MULTINOMIAL)).family == "multinomial"
    with pytest.raises(ModelReadError, match=fault):
        from_document(document(**changes))


def test_terms_are_required():
    with pytest.raises(ModelReadError, match="'numeric' and 'categorical'"):
        from_document({"schema": "coordpath.coefficients/1", "intercept": 1})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"schema": 1, "schema": 2}', "there twice"),
        ('{"intercept": NaN}', "NaN is not a number"),
        ("[]", "not a JSON object"),
        ("{", "is not JSON: line 1"),
        ("[" * 100_000, "nested too deeply"),
        ("1" * 10_000, "cannot be read|not a JSON object"),
        ("\udcff", "is not UTF-8"),
        ("{}", "schema"),
    ],
)
def test_damaged_files(text, reason, tmp_path):
    path = tmp_path / "coefficients.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ModelReadError, match=reason) as caught:
        read_coefficients(path)
    assert str(path) in str(caught.value)


def test_absent_and_oversized_files(tmp_path, monkeypatch):
    with pytest.raises(ModelReadError, match="cannot be read"):
        read_coefficients(tmp_path / "coefficients.json")
    monkeypatch.setattr("coordpath_governance.models.coefficients_json._MAX_BYTES", 5)
    (tmp_path / "coefficients.json").write_text("{      }")
    with pytest.raises(ModelReadError, match="more than the 5 bytes"):
        read_coefficients(tmp_path / "coefficients.json")


def test_a_file_cannot_claim_another_source(tmp_path):
    (tmp_path / "coefficients.json").write_text(json.dumps(document(source="read from the model's files")))
    assert read_coefficients(tmp_path / "coefficients.json").source == "declared by the author in coefficients.json"
    claims = [{**SCORE, "source": "read from the model's files"}] * 3
    (tmp_path / "coefficients.json").write_text(json.dumps(document(**{**MULTINOMIAL, "class_scores": claims})))
    model = read_coefficients(tmp_path / "coefficients.json")
    assert {each.source for each in (model, *model.class_scores)} == {"declared by the author in coefficients.json"}


def test_a_fitted_estimator_is_written_down(tmp_path):
    import numpy as np
    from sklearn.dummy import DummyRegressor
    from sklearn.linear_model import Ridge

    import coordpath_governance as cg
    from coordpath_governance.errors import UnsupportedModelError, UsageError
    from coordpath_governance.models import read_coefficients

    rows = np.arange(6.0).reshape(3, 2)
    fitted = Ridge().fit(rows, [1.0, 2.0, 4.0])
    document = cg.to_coefficients(fitted, tmp_path / "coefficients.json", feature_names=["age", "km"])
    model = read_coefficients(tmp_path / "coefficients.json")
    assert model.columns == ("age", "km")
    assert [term.coefficient for term in model.numeric] == fitted.coef_.tolist()
    assert cg.to_coefficients(model)["numeric"] == document["numeric"]
    with pytest.raises(UnsupportedModelError, match="DummyRegressor"):
        cg.to_coefficients(DummyRegressor().fit(rows, [1.0, 2.0, 4.0]))
    with pytest.raises(UsageError, match="cannot write"):
        cg.to_coefficients(fitted, tmp_path)


FORMATS = (
    (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8").partition("## coefficients.json")[2]
)


@pytest.mark.parametrize("kind", MAPS)
def test_formats_describe_every_map_with_its_keys(kind):
    row = next((line for line in FORMATS.splitlines() if line.startswith("|") and f"`{kind}`" in line.split("|")[1]), None)
    assert row is not None, f"docs/formats.md does not describe the map '{kind}'"
    assert [field.name for field in fields(MAPS[kind]) if f"`{field.name}`" not in row] == []


def test_formats_list_every_function():
    row = next(line for line in FORMATS.splitlines() if line.startswith("| `function`"))
    assert [name for name in ELEMENTARY if name not in row] == []
