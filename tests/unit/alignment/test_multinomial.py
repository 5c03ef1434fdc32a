"""Multinomial models: one coordinate a column and class, and nothing left of what softmax does not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coordpath_governance.alignment.row_columns import RowColumns
from coordpath_governance.errors import AlignmentError
from coordpath_governance.models import MISSING_LEVEL, CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.paths.problem import BASELINE
from coordpath_governance.reference.encode import Tally, encode_rows

CLASSES = ("bad", "good", "so so")
LEVELS = ("p", "q", "r", "s")


def multinomial(scores: Sequence[LinearModel]) -> LinearModel:
    has_intercept = any(score.has_intercept for score in scores)
    kind = {"family": "multinomial", "link": "softmax", "classes": CLASSES[: len(scores)]}
    return LinearModel(0.0, has_intercept=has_intercept, class_scores=tuple(scores), **kind)


def rows(seed: int, n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(1, 2, n), "b": rng.normal(-4, 1, n) * 100})
    frame["m"] = pd.Series(rng.normal(0, 1, n)).mask(rng.random(n) < 0.3)
    frame["c"] = rng.choice([*LEVELS, "unheard of"], n, p=[0.5, 0.36, 0.06, 0.04, 0.04])
    frame["d"] = rng.choice(np.array([*"mno", None], dtype=object), n)
    frame["y"] = rng.integers(0, 3, n).astype(float)
    frame["w"] = rng.choice([0.0, 0.5, 1.0, 4.0], n)
    frame.loc[:1, "w"] = 4.0
    return frame


def score(rng: np.random.Generator, has_intercept: bool = True) -> LinearModel:
    numeric = (
        NumericTerm("a", float(rng.normal())),
        NumericTerm("b", float(rng.normal() / 100)),
        NumericTerm("m", float(rng.normal()), float(rng.normal())),
    )
    categorical = (
        CategoricalTerm("c", LEVELS, tuple(map(float, rng.normal(size=4))), float(rng.normal())),
        CategoricalTerm("d", ("m", "n", "o", MISSING_LEVEL), tuple(map(float, rng.normal(size=4)))),
    )
    return LinearModel(float(rng.normal()) if has_intercept else 0.0, numeric, categorical, has_intercept=has_intercept)


def model(seed: int, has_intercept: bool = True) -> LinearModel:
    rng = np.random.default_rng(seed)
    return multinomial([score(rng, has_intercept) for _ in CLASSES])


def plus(score: LinearModel, other: LinearModel) -> LinearModel:
    """The sum of two scores with the same terms."""

    def add(one: float | None, two: float | None) -> float | None:
        return None if one is None or two is None else one + two

    numeric = [
        NumericTerm(t.column, t.coefficient + u.coefficient, add(t.missing, u.missing))
        for t, u in zip(score.numeric, other.numeric, strict=True)
    ]
    categorical = [
        replace(t, effects=tuple(map(sum, zip(t.effects, u.effects, strict=True))), unknown=add(t.unknown, u.unknown))
        for t, u in zip(score.categorical, other.categorical, strict=True)
    ]
    return replace(
        score, intercept=score.intercept + other.intercept, numeric=tuple(numeric), categorical=tuple(categorical)
    )


def scaled(score: LinearModel, by: float) -> LinearModel:
    numeric = [
        replace(t, coefficient=by * t.coefficient, missing=None if t.missing is None else by * t.missing)
        for t in score.numeric
    ]
    categorical = [
        replace(t, effects=tuple(by * e for e in t.effects), unknown=None if t.unknown is None else by * t.unknown)
        for t in score.categorical
    ]
    return replace(score, intercept=by * score.intercept, numeric=tuple(numeric), categorical=tuple(categorical))


def recoded(model: LinearModel, seed: int, size: float) -> LinearModel:
    """The same probabilities: something added to all classes, levels on other zeros, terms in another order."""
    rng = np.random.default_rng(seed)
    common = scaled(score(rng, model.class_scores[0].has_intercept), size)
    scores = []
    for each in model.class_scores:
        moved = plus(each, common)
        shift = float(rng.normal()) if each.has_intercept else 0.0
        c, d = moved.categorical
        c = replace(c, effects=tuple(e + shift for e in c.effects), unknown=c.unknown + shift)
        order = rng.permutation(4)
        d = replace(d, levels=tuple(d.levels[i] for i in order), effects=tuple(d.effects[i] for i in order))
        scores.append(replace(moved, intercept=moved.intercept - shift, numeric=moved.numeric[::-1], categorical=(d, c)))
    return replace(model, class_scores=tuple(scores))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**20),
    has_intercept=st.booleans(),
    size=st.sampled_from([0.0, 1.0, 1e4]),
    weight=st.sampled_from([None, "w"]),
    min_count=st.sampled_from([0, 10]),
)
def test_the_same_probabilities_give_an_empty_path(seed, has_intercept, size, weight, min_count, aligned):
    champion = model(seed, has_intercept)
    for pair in ((champion, recoded(champion, seed + 1, size)), (recoded(champion, seed + 2, size), champion)):
        result = aligned(*pair, rows(seed), weight=weight, min_count=min_count)
        assert result.moving == set()
        assert not any(c.changed for c in result.change.coordinates)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**20),
    k=st.integers(0, 2),
    what=st.sampled_from(["a", "b", "m", "c", "d", "intercept"]),
    exponent=st.floats(-6, 0),
    min_count=st.sampled_from([0, 10]),
)
def test_a_number_of_one_class_moves_its_unit_in_all(seed, k, what, exponent, min_count, aligned):
    champion, by = model(seed), 10**exponent
    own = champion.class_scores[k]
    if what == "intercept":
        own = replace(own, intercept=own.intercept + by)
    elif what in "abm":
        (slope,) = (t.coefficient for t in own.numeric if t.column == what)
        assume(abs(by * (1 + slope) * rows(seed)[what].fillna(0.0).mean()) > 1e-6)  # so that the average score moves, too
        numeric = [replace(t, coefficient=t.coefficient * (1 + by) + by) if t.column == what else t for t in own.numeric]
        own = replace(own, numeric=tuple(numeric))
    else:
        own = replace(
            own,
            categorical=tuple(
                replace(t, effects=(t.effects[0] + by, *t.effects[1:])) if t.column == what else t for t in own.categorical
            ),
        )
    scores = [own if i == k else each for i, each in enumerate(champion.class_scores)]
    result = aligned(champion, recoded(multinomial(scores), seed, 1.0), rows(seed), min_count=min_count)
    assert result.moving == {BASELINE} | ({what} - {"intercept"})
    assert {c.label for c in result.change.coordinates if c.changed and c.unit == BASELINE} == {
        f"{BASELINE} [{label}]" for label in CLASSES
    }


def beta(change, moved: Sequence[str]) -> np.ndarray:
    return np.array([c.new if c.unit in moved else c.old for c in change.exercised])


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**20),
    has_intercept=st.booleans(),
    weight=st.sampled_from([None, "w"]),
    min_count=st.integers(0, 40),
    data=st.data(),
)
def test_columns_times_coefficients_are_the_scores_of_every_class(
    seed, has_intercept, weight, min_count, data, aligned, oracle
):
    champion, candidate, frame = model(seed, has_intercept), model(seed + 1, has_intercept), rows(seed)
    result = aligned(champion, candidate, frame, weight=weight, min_count=min_count)
    columns = RowColumns.of(result.pair, result.moments, result.change)
    assert columns.width * 3 == len(result.change.exercised)
    design = np.vstack([chunk.design for chunk in encode_rows(result.source, result.plan, Tally())])
    found = columns.columns(design)
    truths = [oracle(*pair, frame, weight) for pair in zip(champion.class_scores, candidate.class_scores, strict=True)]
    order = data.draw(st.permutations(sorted(result.change.units)))
    for k in (0, len(order) // 2, len(order)):
        expected = np.column_stack([truth.score(order[:k])[truth.w > 0] for truth in truths])
        coefficients = beta(result.change, order[:k])
        scores = np.column_stack([found @ coefficients[c::3] for c in range(3)])
        np.testing.assert_allclose(scores, expected - expected.mean(axis=1, keepdims=True), rtol=1e-9, atol=1e-9)


def test_coordinates_stand_by_column_and_class(linear, aligned):
    frame = pd.DataFrame({"a": np.arange(40.0), "c": [*"uv"] * 20, "y": np.arange(40.0) % 3})
    champion, candidate = (
        multinomial([linear(s * k, {"a": s * k}, {"c": {"u": 0.0, "v": s * k * k}}) for k in range(3)]) for s in (1.0, 2.0)
    )
    change = aligned(champion, candidate, frame).change
    assert [(c.label, c.unit) for c in change.exercised] == [
        *((f"(baseline) [{label}]", "(baseline)") for label in CLASSES),
        *((f"a [{label}]", "a") for label in CLASSES),
        *((f"c = u [{label}]", "c") for label in CLASSES),
        *((f"c = v [{label}]", "c") for label in CLASSES),
    ]
    assert [(c.old, c.new) for c in change.exercised[3:6]] == [(-1.0, -2.0), (0.0, 0.0), (1.0, 2.0)]
    assert [c.changed for c in change.exercised[3:6]] == [True, False, True]
    assert change.gram.shape == (4, 4)


def test_merged_levels_have_columns_of_every_class(linear, aligned):
    frame = pd.DataFrame({"c": [*"u" * 4, *"v" * 8, *"w" * 40], "y": np.arange(52.0) % 3})
    champion, candidate = (
        multinomial([linear(0.0, {}, {"c": {"u": s * k, "v": k * k - s, "w": 0.0}}) for k in range(3)]) for s in (1.0, 2.0)
    )
    result = aligned(champion, candidate, frame)
    merged = [c for c in result.change.coordinates if c.source is not None and c.source.kind.startswith("rare")]
    assert len(merged) == 3 * (1 + 2 * 3)
    assert [c.rows for c in merged[:3]] == [12] * 3
    assert merged[3].label == "c = (2 merged levels), as in the champion's 'bad' [bad]"
    assert merged[4].label == "c = (2 merged levels), as in the champion's 'bad' [good]"
    others = [c for c in merged[3:] if not c.label.endswith(f"'{c.source.level}' [{c.source.level}]")]
    assert {(c.old, c.new, c.changed) for c in others} == {(0.0, 0.0, False)}
    assert {(c.old, c.new) for c in merged[3:] if c not in others} == {(1.0, 0.0), (0.0, 1.0)}


def test_columns_that_a_class_does_not_use(linear, aligned):
    """Written out as zeros or left out, levels listed or unknown: the same probabilities."""
    frame = rows(3).assign(z=np.arange(90.0) % 7)
    effects = {"c": dict.fromkeys(LEVELS, 0.0)}
    sparse = multinomial(
        [linear(1.0, {"a": 1.0}), linear(0.0, {"z": 2.0}), linear(0.5, {}, {"c": {"p": 1.0, "q": 2.0}}, unknown=0.0)]
    )
    known = {"c": {**effects["c"], "p": 1.0, "q": 2.0}}
    full = multinomial(
        [
            linear(1.0, {"a": 1.0, "z": 0.0}, effects, unknown=0.0),
            linear(0.0, {"z": 2.0, "a": 0.0}, effects, unknown=0.0),
            linear(0.5, {"z": 0.0, "a": 0.0}, known, unknown=0.0),
        ]
    )
    for pair in ((sparse, full), (full, sparse)):
        assert aligned(*pair, frame).moving == set()


def test_what_one_class_cannot_score_the_model_cannot(linear, aligned):
    frame = rows(4).fillna({"d": "m"})
    strict = linear(0.0, {"a": 1.0}, {"c": {"p": 1.0, "q": 0.0, "unheard of": 2.0}})
    lenient = linear(0.0, {"a": 1.0}, {"c": {"p": 1.0, "r": 5.0}}, unknown=0.0)
    mixed = multinomial([strict, lenient, lenient])
    with pytest.raises(ValueError, match=r"column 'c' .*'r'"):
        aligned(mixed, mixed, frame)
    within = frame[frame["c"].isin(["p", "q", "unheard of"])]
    assert aligned(mixed, mixed, within).moving == set()


def test_a_flag_and_its_dummies_in_every_class(linear, aligned):
    frame = pd.DataFrame({"flag": np.arange(60) % 2, "y": np.arange(60.0) % 3})
    number = multinomial([linear(k, {"flag": k + 0.5}) for k in range(3)])
    dummies = multinomial([linear(k, {}, {"flag": {"0": 0.0, "1": k + 0.5}}) for k in range(3)])
    for pair in ((number, dummies), (dummies, number)):
        assert aligned(*pair, frame).moving == set()


def test_without_a_champion_all_classes_start_alike(aligned):
    candidate, frame = model(5), rows(5)
    result = aligned(None, candidate, frame)
    assert result.pair.champion.classes == CLASSES
    assert result.pair.champion.threshold is None
    columns = RowColumns.of(result.pair, result.moments, result.change)
    design = np.vstack([chunk.design for chunk in encode_rows(result.source, result.plan, Tally())])
    start = np.array([c.old for c in result.change.exercised])
    assert all(np.abs(columns.columns(design) @ start[c::3]).max() < 1e-12 for c in range(3))


def test_more_classes_or_other_ones(aligned):
    champion, frame = model(6), rows(6)
    other = replace(champion, classes=("bad", "good", "never"))
    with pytest.raises(AlignmentError, match="'bad', 'good', 'so so', the candidate 'bad', 'good', 'never'"):
        aligned(champion, other, frame)
    binary = replace(champion.class_scores[0], family="binomial", link="logit", classes=("bad", "good"))
    with pytest.raises(AlignmentError, match="differ in family: the champion has 'multinomial', the candidate 'binomial'"):
        aligned(champion, binary, frame)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"class_scores": ()}, "a multinomial model of 3 classes has 0 class scores"),
        ({"intercept": 1.0}, "an intercept or terms of its own"),
        ({"class_scores": (replace(LinearModel(0.0), threshold=0.5),) * 3}, "a class score is a plain linear score"),
        ({"class_scores": (replace(LinearModel(0.0), family="poisson", link="log"),) * 3}, "a plain linear score"),
    ],
)
def test_kinds_that_contradict_themselves(damage, message, aligned):
    broken = replace(model(7), **damage)
    with pytest.raises(AlignmentError, match=message):
        aligned(broken, broken, rows(7))


def test_a_class_with_two_terms_on_one_column(linear, aligned):
    twice = replace(linear(0.0, {"a": 1.0}), numeric=(NumericTerm("a", 1.0), NumericTerm("a", 2.0)))
    broken = multinomial([linear(0.0, {"a": 1.0}), twice, linear(0.0, {"a": 1.0})])
    with pytest.raises(AlignmentError, match="the champion's class 'good' has 2 numeric terms on the column 'a'"):
        aligned(broken, broken, rows(8))
