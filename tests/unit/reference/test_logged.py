"""Logged moments: the same answers as the rows they were made of, no small cell, and no trust in what is read back."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.alignment.change import align
from coordpath_governance.alignment.layout import ModelPair, lay_out
from coordpath_governance.alignment.rare_levels import merge_rare_levels
from coordpath_governance.canonical import read_json
from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.models import MISSING_LEVEL, CategoricalTerm, LinearModel, NumericTerm, level_label
from coordpath_governance.reference.collect import collect_moments
from coordpath_governance.reference.encode import ReadingPlan
from coordpath_governance.reference.logged import moments_for_design, moments_to_log, read_logged_moments
from coordpath_governance.reference.moments import MIN_COUNT
from coordpath_governance.reference.sources import TableSource


def rows(seed: int = 0, n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(3, 2, n),
            "m": pd.Series(rng.normal(size=n)).mask(rng.random(n) < 0.2),
            "k": rng.integers(0, 4, n),
            "flag": rng.random(n) < 0.4,
            "c": rng.choice([*"uvw"], n),
            "d": rng.choice(np.array(["x", "y", None], dtype=object), n),
        }
    )
    return frame.assign(target=frame["a"] + rng.normal(size=n), w=rng.choice([0.5, 1.0, 2.0], n))


def log(frame: pd.DataFrame, *, weight=None, missing="fail") -> bytes:
    return moments_to_log(frame, "target", weight=weight, role="training", period=None, missing=missing)


def random_model(seed: int, *, unknown: float | None = None) -> LinearModel:
    rng = np.random.default_rng(seed)

    def effects(levels: tuple[str, ...]) -> tuple[float, ...]:
        return tuple(map(float, rng.normal(size=len(levels))))

    levels = {"c": ("u", "v", "w")[: 3 if unknown is None else 2], "d": ("x", "y", MISSING_LEVEL), "flag": ("False", "True")}
    categorical = [CategoricalTerm(name, known, effects(known), unknown) for name, known in levels.items()]
    categorical.append(CategoricalTerm("k", tuple("0123"), effects(tuple("0123")), unknown, numeric_levels=True))
    numeric = [NumericTerm("a", float(rng.normal())), NumericTerm("k", float(rng.normal()))]
    numeric.append(NumericTerm("m", float(rng.normal()), float(rng.normal())))
    return LinearModel(float(rng.normal()), tuple(numeric), tuple(categorical))


def change_from(pair: ModelPair, moments):
    return align(pair, merge_rare_levels(pair, moments))


@settings(max_examples=25)
@given(seed=st.integers(0, 2**20), unknown=st.sampled_from([None, 0.5]), weight=st.sampled_from([None, "w"]))
def test_logged_moments_give_what_the_rows_give(seed, unknown, weight):
    frame = rows(seed)
    pair = ModelPair(random_model(seed, unknown=unknown), random_model(seed + 1, unknown=unknown))
    design = lay_out(pair)
    logged = moments_for_design(read_logged_moments(log(frame, weight=weight)), design)
    direct = collect_moments(TableSource(frame), ReadingPlan(design, "target", weight)).moments
    assert logged.columns == direct.columns
    assert logged.counts == direct.counts
    assert (logged.rows, logged.weight_sum) == (direct.rows, pytest.approx(direct.weight_sum))
    np.testing.assert_allclose(logged.mean, direct.mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(logged.covariance, direct.covariance, rtol=1e-10, atol=1e-13)
    ours, theirs = change_from(pair, logged), change_from(pair, direct)
    assert [c.label for c in ours.coordinates] == [c.label for c in theirs.coordinates]
    assert [c.exercised for c in ours.coordinates] == [c.exercised for c in theirs.coordinates]
    np.testing.assert_allclose(ours.gram, theirs.gram, rtol=1e-9, atol=1e-12)


def test_the_same_rows_give_the_same_bytes():
    assert log(rows()) == log(rows())
    assert log(rows()) != log(rows(1))


def awkward(seed: int) -> pd.DataFrame:
    """Cells of all sizes, in text, in numbers, in missing values, and rows that the target costs."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 500))
    frame = rows(seed, n)
    for name in ("c", "d"):
        few = rng.random(n) < rng.choice([0.005, 0.02, 0.04])
        frame[name] = frame[name].mask(few, f"rare {name}")
    frame["c"] = frame["c"].mask(rng.random(n) < rng.choice([0.0, 0.01, 0.1]))
    frame["a"] = frame["a"].mask(rng.random(n) < rng.choice([0.0, 0.01, 0.1, 0.97]))
    frame["kind"] = pd.Categorical(rng.choice(["p", "q"], n), categories=["p", "q", "never"])
    frame["text"] = pd.Series(rng.choice(["s", "t"], n), dtype="string").mask(rng.random(n) < 0.1)
    frame["whole"] = pd.Series(rng.integers(0, 3, n), dtype="Int64").mask(rng.random(n) < 0.1)
    frame["target"] = frame["target"].mask(rng.random(n) < 0.05)
    return frame


@settings(max_examples=40)
@given(seed=st.integers(0, 2**20))
def test_no_cell_of_fewer_than_ten_rows_is_stored(seed):
    frame = awkward(seed)
    document = json.loads(log(frame, missing="drop"))
    stored = [c["rows"] for c in document["columns"] if c["rows"] is not None]
    assert min(stored) >= MIN_COUNT
    assert document["rows"] + document["rows_dropped"] == len(frame)
    names = {c["column"] for c in document["columns"]} | set(document["left_out"])
    assert names == set(frame.columns) - {"target"}
    present = {c["column"]: document["rows"] - c["rows"] for c in document["columns"] if c["kind"] == "missing"}
    assert all(count >= MIN_COUNT for count in present.values())


@settings(max_examples=25)
@given(seed=st.integers(0, 2**20))
def test_every_row_that_is_stored_has_one_level_a_column(seed):
    document = json.loads(log(awkward(seed), missing="drop"))
    levels: Counter[str] = Counter()
    for column in document["columns"]:
        if column["kind"] == "level":
            levels[column["column"]] += column["rows"]
            assert column["level"] != "(any other)"
    assert set(levels.values()) <= {document["rows"]}


def test_rows_with_a_rare_level_are_left_out_and_counted():
    frame = rows()
    frame.loc[:4, "c"] = "rare"
    logged = read_logged_moments(log(frame)).document
    assert (logged.rows, logged.rows_dropped, logged.left_out) == (395, 5, ())
    assert {c.level for c in logged.columns if c.column == "c"} == {"u", "v", "w"}


def test_rows_with_a_number_that_is_rarely_missing_are_left_out_and_counted():
    frame = rows()
    frame.loc[:6, "a"] = np.nan
    logged = read_logged_moments(log(frame)).document
    assert (logged.rows, logged.rows_dropped, logged.left_out) == (393, 7, ())
    assert ("missing", "a") not in {(c.kind, c.column) for c in logged.columns}


def test_leaving_out_rows_can_make_other_levels_rare():
    """The five rows of one rare level were half of another level's."""
    frame = rows()
    frame["c"], frame["d"] = "u", "x"
    frame.loc[:4, "c"] = "rare"
    frame.loc[:9, "d"] = "barely enough"
    logged = read_logged_moments(log(frame)).document
    assert logged.rows == 390
    assert {c.level for c in logged.columns if c.column == "d"} == {"x"}


def test_rows_that_the_target_costs_do_not_count_towards_a_cell():
    frame = rows()
    frame["c"] = "u"
    frame.loc[:11, "c"] = "v"
    frame.loc[:5, "target"] = np.nan
    logged = read_logged_moments(log(frame, missing="drop")).document
    assert {c.level for c in logged.columns if c.column == "c"} == {"u"}
    assert logged.rows_dropped == 12


def test_rows_without_weight_do_not_count_towards_a_cell():
    frame = rows()
    frame["c"] = "u"
    frame.loc[:11, "c"] = "v"
    frame.loc[:5, "w"] = 0.0
    logged = read_logged_moments(log(frame, weight="w")).document
    assert {c.level for c in logged.columns if c.column == "c"} == {"u"}
    assert (logged.rows, logged.rows_dropped) == (388, 12)


def test_columns_that_would_cost_too_many_rows_are_left_out_and_said(model):
    frame = rows()
    frame["id"] = [f"customer {i}" for i in range(len(frame))]
    frame["when"] = pd.date_range("2020-01-01", periods=len(frame))
    frame["hardly"] = pd.Series(np.nan, index=frame.index).where(frame.index > 4, 1.0)
    logged = read_logged_moments(log(frame))
    assert set(logged.document.left_out) == {"id", "when", "hardly"}
    assert (logged.document.rows, logged.document.rows_dropped) == (400, 0)
    scorer = LinearModel(0.0, (), (CategoricalTerm("id", ("customer 1",), (1.0,), 0.0),))
    with pytest.raises(ReferenceDataError, match=r"do not hold id as the models use it.*fewer than 10 rows.*--data"):
        moments_for_design(logged, lay_out(ModelPair(scorer, scorer)))


def test_a_column_with_more_levels_than_can_be_stored_is_left_out():
    frame = rows(0, 4040).assign(c=np.repeat([f"level {i}" for i in range(202)], 20))
    assert read_logged_moments(log(frame)).document.left_out == ("c",)


def test_a_column_logged_as_text_is_no_number():
    scorer = LinearModel(0.0, (NumericTerm("c", 1.0),))
    with pytest.raises(ReferenceDataError, match="do not hold c as the models use it"):
        moments_for_design(read_logged_moments(log(rows())), lay_out(ModelPair(scorer, scorer)))


def test_levels_and_missing_values_that_a_model_cannot_score_are_named():
    logged = read_logged_moments(log(rows()))
    counts = rows()["c"].value_counts()
    strict = LinearModel(0.0, (NumericTerm("m", 1.0),), (CategoricalTerm("c", ("u", "v"), (0.0, 1.0)),))
    with pytest.raises(ReferenceDataError) as caught:
        moments_for_design(logged, lay_out(ModelPair(strict, strict)))
    message = str(caught.value)
    assert f"'c' has levels that the candidate cannot score: 'w' ({counts['w']} rows)" in message
    assert f"'m' is missing in {rows()['m'].isna().sum()} of 400 rows" in message
    assert "--missing drop" not in message


def test_a_column_with_the_name_of_missing_values_as_a_text_is_left_out():
    frame = rows().assign(c=lambda f: f["c"].replace("w", MISSING_LEVEL))
    assert read_logged_moments(log(frame)).document.left_out == ("c",)


def test_true_and_false_logged_as_text_are_taken_as_they_stand_by_an_encoder_of_text():
    frame = rows().assign(c=lambda f: f["c"].replace({"u": "True", "v": "true", "w": "False"}))
    scorer = LinearModel(0.0, (), (CategoricalTerm("c", ("False", "True"), (1.0, 2.0), 0.0, text_levels=True),))
    design = lay_out(ModelPair(scorer, scorer))
    found = moments_for_design(read_logged_moments(log(frame)), design)
    assert found.counts == collect_moments(TableSource(frame), ReadingPlan(design, "target")).moments.counts
    assert found.counts[-1] == (frame["c"] == "true").sum()


def test_numbers_logged_as_text_are_the_levels_of_an_encoder_of_numbers():
    frame = rows().assign(size=lambda f: f["k"].map({0: "1", 1: "1.0", 2: "2", 3: "02"}))
    scorer = LinearModel(0.0, (), (CategoricalTerm("size", ("1", "2"), (1.0, 2.0), 0.0, numeric_levels=True),))
    design = lay_out(ModelPair(scorer, scorer))
    found = moments_for_design(read_logged_moments(log(frame)), design)
    direct = collect_moments(TableSource(frame), ReadingPlan(design, "target")).moments
    assert found.counts == direct.counts
    assert found.counts[-1] == 0


@pytest.mark.parametrize("dtype", ["string", "str", object, "category"])
def test_missing_text_is_one_level_in_every_type_of_pandas(dtype):
    frame = rows()
    frame["d"] = frame["d"].astype(dtype)
    levels = {c.level: c.rows for c in read_logged_moments(log(frame)).document.columns if c.column == "d"}
    assert levels == Counter(level_label(v) for v in rows()["d"])
    assert MISSING_LEVEL in levels


def test_whole_numbers_are_levels_only_where_every_one_has_ten_rows():
    frame = rows().assign(rare=lambda f: (f.index < 5).astype(int), many=lambda f: f.index)
    kinds = {(c.kind, c.column) for c in read_logged_moments(log(frame)).document.columns}
    assert {("level", "k"), ("numeric", "k"), ("level", "flag"), ("numeric", "flag")} <= kinds
    assert {("level", "rare"), ("level", "many"), ("level", "a")}.isdisjoint(kinds)


def test_columns_named_by_numbers_and_twice():
    frame = rows()[["a", "target"]].rename(columns={"a": 7})
    assert [c.column for c in read_logged_moments(log(frame)).document.columns] == ["7"]
    twice = pd.concat([rows(), rows()[["a"]]], axis="columns")
    with pytest.raises(ReferenceDataError, match="two columns of the name 'a'"):
        log(twice)


@pytest.mark.parametrize("column", ["target", "w"])
def test_missing_targets_and_weights_fail_unless_dropped(column):
    frame = rows()
    frame.loc[:19, column] = np.nan
    with pytest.raises(ReferenceDataError, match=f"'{column}' is missing in 20 of 400 rows"):
        log(frame, weight="w")
    document = read_logged_moments(log(frame, weight="w", missing="drop")).document
    assert (document.rows, document.rows_dropped) == (380, 20)


def test_too_many_columns_are_refused():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 501))).assign(target=1.0)
    with pytest.raises(ReferenceDataError, match="1002 columns and levels are more than the 1000"):
        log(frame)


def damaged(change) -> bytes:
    document = json.loads(log(rows()))
    change(document)
    return json.dumps(document).encode()


def _asymmetric(document: dict) -> None:
    document["covariance"][0][1] += 1.0


def _negative(document: dict) -> None:
    document["covariance"][0][0] = -1.0


def _twice(document: dict) -> None:
    document["columns"][1] = document["columns"][0]


def _no_level(document: dict) -> None:
    next(c for c in document["columns"] if c["kind"] == "level")["level"] = None


def _no_rows(document: dict) -> None:
    next(c for c in document["columns"] if c["kind"] == "missing")["rows"] = None


def _too_many_rows(document: dict) -> None:
    next(c for c in document["columns"] if c["kind"] == "level")["rows"] = 401


CHANGES = {
    "another schema": lambda d: d.update(schema="coordpath.reference/2"),
    "an extra key": lambda d: d.update(extra=1),
    "a key less": lambda d: d.pop("mean"),
    "a mean less": lambda d: d["mean"].pop(),
    "a row of the covariance less": lambda d: d["covariance"].pop(),
    "a short row": lambda d: d["covariance"][0].pop(),
    "not finite": lambda d: d["mean"].__setitem__(0, float("nan")),
    "infinite weight": lambda d: d.update(weight_sum=float("inf")),
    "one row": lambda d: d.update(rows=1),
    "text for a number": lambda d: d["mean"].__setitem__(0, "much"),
    "asymmetric": _asymmetric,
    "negative variance": _negative,
    "a column twice": _twice,
    "a level without a name": _no_level,
    "an indicator without rows": _no_rows,
    "more rows than there are": _too_many_rows,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_damaged_document_is_a_typed_error(name):
    with pytest.raises(ReferenceDataError, match=r"^the logged reference moments(:| cannot be read)"):
        read_logged_moments(damaged(CHANGES[name]))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b"[" * 100_000, b'{"schema": 1e999}'])
def test_what_is_no_document_is_a_typed_error(content):
    with pytest.raises(ReferenceDataError, match=r"^the logged reference moments(:| cannot be read)"):
        read_logged_moments(content)


def test_an_undamaged_document_reads_back():
    content = damaged(lambda d: None)
    assert read_logged_moments(content).document == read_logged_moments(log(rows())).document


def test_a_file_too_large_is_not_even_parsed(monkeypatch):
    monkeypatch.setitem(read_json.__kwdefaults__, "max_bytes", 100)
    with pytest.raises(ReferenceDataError, match="at most 100 are read"):
        read_logged_moments(log(rows()))
