"""Targets, offsets and exposures of generalised linear models: read as they are meant, and every fault counted and named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from coordpath_governance.errors import ReferenceDataError, UsageError
from coordpath_governance.reference.collect import collect_moments
from coordpath_governance.reference.sources import TableSource, open_source

NUMBERS, TRUTHS = ("0", "1"), ("False", "True")
BINOMIAL = {"family": "binomial", "classes": ("no", "yes")}
POISSON = {"family": "poisson"}


def targets(collected) -> list[float]:
    return np.concatenate([chunk.target for chunk in collected.kept]).tolist()


def offsets(collected) -> list[float]:
    return np.concatenate([chunk.offset for chunk in collected.kept]).tolist()


def frame(n: int = 500, **columns: object) -> pd.DataFrame:
    return pd.DataFrame({"a": np.arange(float(n)), "y": 1.0, **columns})


@pytest.mark.parametrize("classes", [NUMBERS, TRUTHS])
@pytest.mark.parametrize(
    "values",
    [
        pa.array([0, 1, 1]),
        pa.array([0.0, 1.0, 1.0]),
        pa.array([False, True, True]),
        pa.array(["0", "1", "1"]),
        pa.array(["0.0", "1.0", "1.0"]),
        pa.array(["false", "true", "TRUE"]),
        pa.array(["False", "True", " 1"]),
        pa.array([b"0", b"1", b"1"]),
        pa.array(["0", "1", "1"]).dictionary_encode(),
        pa.array([0, 1, 1], pa.decimal128(3, 1)),
    ],
)
def test_spellings_of_zero_and_one_are_the_classes(classes, values, parquet_file, collect, model):
    path = parquet_file(a=[1.0, 2.0, 3.0], y=values)
    assert targets(collect(path, model(["a"]), family="binomial", classes=classes)) == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("classes", [NUMBERS, TRUTHS])
@pytest.mark.parametrize("words", [("0", "1"), ("0.0", "1.0"), ("False", "True"), ("false", "true")])
def test_spellings_in_a_csv(classes, words, csv, collect, model):
    no, yes = words
    path = csv(f"a,y\n1,{no}\n2,{yes}\n3,{yes}\n")
    assert targets(collect(path, model(["a"]), family="binomial", classes=classes)) == [0.0, 1.0, 1.0]


def test_text_classes_are_taken_as_they_stand(collect, model):
    found = collect(frame(3, y=["yes", "no", "yes"]), model(["a"]), **BINOMIAL)
    assert targets(found) == [1.0, 0.0, 1.0]
    assert found.moments.target_mean == pytest.approx(2 / 3)
    with pytest.raises(ReferenceDataError, match=r"not a class: 'Yes' \(1 rows\)"):
        collect(frame(3, y=["Yes", "no", "yes"]), model(["a"]), **BINOMIAL)


def test_several_classes_are_positions_in_the_models_order(collect, model):
    found = collect(frame(4, y=["c", "a", "b", "a"]), model(["a"]), family="multinomial", classes=("b", "a", "c"))
    assert targets(found) == [2.0, 1.0, 0.0, 1.0]


def test_whole_numbers_are_classes_too(collect, model):
    found = collect(frame(3, y=[3.0, 1.0, 2.0]), model(["a"]), family="multinomial", classes=("1", "2", "3"))
    assert targets(found) == [2.0, 0.0, 1.0]


def test_a_text_for_missing_may_be_a_class(csv, collect, model):
    path = csv("a,y\n1,NA\n2,EU\n3,NA\n")
    assert targets(collect(path, model(["a"]), family="binomial", classes=("EU", "NA"))) == [1.0, 0.0, 1.0]
    with pytest.raises(ReferenceDataError, match=r"column 'y' is missing in 2 of 3 rows.*--missing drop"):
        collect(path, model(["a"]), family="binomial", classes=("EU", "US"))


def test_labels_that_are_no_class_are_named_with_their_rows_and_the_classes(collect, model):
    labels = ["no", "yes"] * 240 + ["maybe"] * 7 + ["u", "v", "w", "x"] * 3 + ["z"]
    with pytest.raises(ReferenceDataError) as caught:
        collect(frame(y=labels), model(["a"]), **BINOMIAL)
    assert str(caught.value) == (
        "the reference data cannot be used: column 'y' has labels that are not a class: 'maybe' (7 rows), 'u' (3 rows), "
        "'v' (3 rows), 'w' (3 rows), 'x' (3 rows) and 1 more labels; the classes that the models know are 'no', 'yes'. "
        "What to do: write the labels as the models know them (in pandas: df['y'].map({…})), or name another target column "
        "than 'y'."
    )


def test_many_classes_are_named_by_a_few(collect, model):
    classes = tuple(f"k{i:02}" for i in range(25))
    with pytest.raises(ReferenceDataError, match=r"'zz' \(500 rows\); .* 'k19' and 5 more\."):
        collect(frame(y="zz"), model(["a"]), family="multinomial", classes=classes)


def test_labels_are_counted_over_all_chunks(csv, collect, model, monkeypatch):
    monkeypatch.setattr("coordpath_governance.reference.sources._BLOCK_BYTES", 64)
    path = csv("a,y\n" + "1,no\n2,perhaps\n" * 300)
    with pytest.raises(ReferenceDataError, match=r"'perhaps' \(300 rows\)"):
        collect(path, model(["a"]), **BINOMIAL)


def test_one_class_only(collect, model):
    with pytest.raises(ReferenceDataError, match=r"all 500 rows of 'y' are 'no'\. What to do: .* more than one class"):
        collect(frame(y="no"), model(["a"]), **BINOMIAL)


@pytest.mark.parametrize(
    ("family", "values", "says"),
    [
        (
            "poisson",
            [-3.0] * 7 + [1.0] * 493,
            r"'y' is out of range \(-3 at its lowest\) in 7 of 500.*Poisson.* at least 0",
        ),
        ("tweedie", [-0.5] + [0.0] * 499, r"\(-0\.5 at its lowest\) in 1 of 500 rows; a Tweedie target is at least 0"),
        ("gamma", [0.0] * 20 + [2.0] * 480, r"\(0 at its lowest\) in 20 of 500 rows; a gamma target is above 0"),
        ("poisson", [0.0] * 500, "all 500 rows of 'y' are 0.*give reference data in which something was observed"),
        ("tweedie", [0.0] * 500, "all 500 rows of 'y' are 0"),
    ],
)
def test_targets_out_of_range(family, values, says, collect, model):
    with pytest.raises(ReferenceDataError, match=says):
        collect(frame(y=values), model(["a"]), family=family)


@pytest.mark.parametrize(("family", "least"), [("poisson", 0.0), ("tweedie", 0.0), ("gamma", 1e-9)])
def test_the_edge_of_the_range_is_inside(family, least, collect, model):
    assert collect(frame(y=[least] * 499 + [2.5]), model(["a"]), family=family).moments.rows == 500


def test_offsets_are_read_and_exposures_by_their_logarithm(collect, model):
    exposure = np.array([0.5, 1.0, 2.0])
    data = frame(3, e=exposure, o=[0.1, -0.2, 0.3])
    assert offsets(collect(data, model(["a"]), exposure="e", **POISSON)) == pytest.approx(np.log(exposure))
    assert offsets(collect(data, model(["a"]), offset="o", **POISSON)) == [0.1, -0.2, 0.3]
    assert offsets(collect(data, model(["a"]), **POISSON)) == [0.0, 0.0, 0.0]
    assert offsets(collect(data, model(["a"]))) == [0.0, 0.0, 0.0]


def test_exposures_of_zero_and_less_are_counted(collect, model):
    data = frame(e=[0.0] * 3 + [-1.0] * 2 + [1.0] * 495)
    with pytest.raises(ReferenceDataError, match=r"the exposure 'e' is zero or negative in 5 of 500 rows.*What to do: mend"):
        collect(data, model(["a"]), exposure="e", **POISSON)


@pytest.mark.parametrize("what", ["offset", "exposure"])
def test_missing_offsets_are_told_or_dropped(what, collect, model):
    data = frame(e=[np.nan] * 4 + [1.5] * 496)
    with pytest.raises(ReferenceDataError, match=r"column 'e' is missing in 4 of 500 rows.*--missing drop"):
        collect(data, model(["a"]), **{what: "e"}, **POISSON)
    dropped = collect(data, model(["a"]), missing="drop", **{what: "e"}, **POISSON)
    assert (dropped.rows_dropped, dropped.moments.rows) == (4, 496)


def test_an_offset_column_that_is_not_there_or_holds_text(collect, model):
    with pytest.raises(ReferenceDataError, match="lacks 'e'"):
        collect(frame(3), model(["a"]), exposure="e", **POISSON)
    with pytest.raises(ReferenceDataError, match="column 'e' should hold numbers but has 'much' in row 2"):
        collect(frame(3, e=["1", "much", "2"]), model(["a"]), exposure="e", **POISSON)


def test_rows_of_weight_zero_are_in_no_check(collect, model):
    bad = [np.nan, 0.0, 1.0, 1.0]
    data = frame(4, y=[1.0, 2.0, -5.0, 4.0], e=bad, w=[0.0, 0.0, 0.0, 1.0])
    doubled = pd.concat([data, data.iloc[[3]]])
    assert collect(doubled, model(["a"]), weight="w", exposure="e", **POISSON).moments.rows == 2
    labels = frame(4, y=["other", "no", "yes", "no"], w=[0.0, 1.0, 1.0, 1.0])
    assert collect(labels, model(["a"]), weight="w", **BINOMIAL).moments.rows == 3
    alone = frame(4, y=["yes", "no", "no", "no"], w=[0.0, 1.0, 1.0, 1.0])
    with pytest.raises(ReferenceDataError, match="all 3 rows of 'y' are 'no'"):
        collect(alone, model(["a"]), weight="w", **BINOMIAL)


def test_rows_that_are_dropped_anyway_are_in_no_check(collect, model):
    data = frame(4, y=["other", "no", "yes", "no"])
    data.loc[0, "a"] = np.nan
    assert collect(data, model(["a"]), missing="drop", **BINOMIAL).moments.rows == 3
    with pytest.raises(ReferenceDataError, match=r"'a' is missing in 1 of 4 rows; .* not a class: 'other' \(1 rows\)"):
        collect(data, model(["a"]), **BINOMIAL)


def test_every_fault_is_told_at_once(collect, model):
    data = frame(10, y=[-1.0, -2.0, *[1.0] * 8], e=[1.0] * 7 + [0.0] * 3, c=["u"] * 9 + ["new"])
    data.loc[4, "a"] = np.nan
    with pytest.raises(ReferenceDataError) as caught:
        collect(data, model(["a"], {"c": "uv"}), exposure="e", **POISSON)
    for part in (
        "cannot be used: column 'a' is missing in 1 of 10 rows",
        "'c' has levels that the candidate cannot score: 'new' (1 rows)",
        "'y' is out of range (-2 at its lowest) in 2 of 10 rows",
        "the exposure 'e' is zero or negative in 3 of 10 rows",
        "use --missing drop to leave those rows out",
    ):
        assert part in str(caught.value)


def test_all_weights_zero_is_told_as_before(collect, model):
    with pytest.raises(ReferenceDataError, match=r"all weights in .* are zero"):
        collect(frame(4, w=0.0), model(["a"]), weight="w", **POISSON)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"offset": "o", "exposure": "e", **POISSON}, "'o' is named as the offset and 'e' as the exposure; give one"),
        ({"offset": "o"}, "the offset 'o' has no place in a gaussian model; leave it out"),
        ({"exposure": "e", "family": "multinomial", "classes": ("a", "b", "c")}, "'e' has no place in a multinomial model"),
        ({"exposure": "y", **POISSON}, "'y' is named as the target and as the exposure"),
        ({"family": "binomial"}, "a binomial target has two classes or more, but the models name 0"),
        ({"family": "poisson", "classes": ("a", "b")}, "a poisson target has no classes, but the models name 2"),
    ],
)
def test_plans_that_make_no_sense(options, says, plan, model):
    with pytest.raises(UsageError, match=says):
        plan(model(["a"]), **options)


def test_only_what_is_read_as_numbers_is_parsed_as_numbers(plan, model):
    one = plan(model(["a"], {"c": "uv"}), weight="w", exposure="e", segments=("s",), **POISSON)
    assert one.columns == ["a", "c", "y", "w", "e", "s"]
    assert one.number_columns == {"a", "y", "w", "e"}
    assert plan(model(["a"]), offset="o", **BINOMIAL).number_columns == {"a", "o"}


def test_a_file_and_a_table_give_the_same(tmp_path, plan, model):
    rng = np.random.default_rng(0)
    data = frame(200, y=rng.poisson(1.0, 200), e=rng.uniform(0.1, 2.0, 200))
    data.to_csv(tmp_path / "rows.csv", index=False)
    reading = plan(model(["a"]), exposure="e", **POISSON)
    one, other = (collect_moments(source, reading) for source in (TableSource(data), open_source(tmp_path / "rows.csv")))
    assert offsets(one) == offsets(other)
    assert targets(one) == targets(other) == data["y"].tolist()
