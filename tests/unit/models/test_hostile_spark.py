"""Folders of Spark models that were changed: they are refused with a clear error, whatever is in them."""

from __future__ import annotations

import json
import shutil
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from helpers.spark_models import change_metadata, change_row, dense, part, sparse, stage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import read_model


def change_mlmodel(folder, change):
    settings = yaml.safe_load((folder / "MLmodel").read_text())
    change(settings["flavors"])
    (folder / "MLmodel").write_text(yaml.safe_dump(settings))


def params(kind, **values):
    return lambda folder: change_metadata(folder, kind, lambda metadata: metadata["paramMap"].update(values))


def defaults(kind, **values):
    return lambda folder: change_metadata(folder, kind, lambda metadata: metadata["defaultParamMap"].update(values))


def fields(kind, **values):
    return lambda folder: change_metadata(folder, kind, lambda metadata: metadata.update(values))


def row(kind, **columns):
    return lambda folder: change_row(folder, kind, **columns)


def flavour(name, **values):
    return lambda folder: change_mlmodel(folder, lambda flavours: flavours.setdefault(name, {}).update(values))


def file(kind, where, content=b""):
    def write(folder):
        path = stage(folder, kind) / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return write


def _second_part(folder):
    path = part(stage(folder, "Logistic") / "data")
    shutil.copy(path, path.with_name(path.name.replace("part-00000", "part-00001")))


def _link(folder):
    path = part(stage(folder, "Logistic") / "data")
    target = folder / "elsewhere.parquet"
    shutil.move(path, target)
    path.symlink_to(target)


def _linked_model(folder):
    (folder / "sparkml").rename(folder / "other")
    (folder / "sparkml").symlink_to(folder / "other")


def _folder_for_a_file(folder):
    path = part(stage(folder, "Logistic") / "data")
    path.unlink()
    path.mkdir()


def _swap_folders(folder):
    stages = folder / "sparkml" / "stages"
    first, second = stage(folder, "StringIndexer"), stage(folder, "Bucketizer")
    first.rename(stages / "x")
    second.rename(first)
    (stages / "x").rename(second)


def _same_uid(folder):
    first, second = stage(folder, "StringIndexer"), stage(folder, "Bucketizer")
    uid = first.name.partition("_")[2]
    fields("Bucketizer", uid=uid)(folder)
    second.rename(second.with_name(f"1_{uid}"))
    change_metadata(folder, "", lambda metadata: metadata["paramMap"]["stageUids"].__setitem__(1, uid))


def _two_lines(folder):
    path = part(stage(folder, "Logistic") / "metadata")
    path.write_text(path.read_text() * 2)


def _nested_mlmodel(folder):
    shutil.copy(folder / "MLmodel", stage(folder, "") / "MLmodel")


def _drop_data(folder):
    shutil.rmtree(stage(folder, "StandardScaler") / "data")


def table(**parts):
    base = {"type": 1, "numRows": 1, "numCols": 9, "colPtrs": None, "rowIndices": None, "values": [0.0] * 9}
    return {**base, "isTransposed": True, **parts}


WIDTH = 9
UNSUPPORTED = {
    "mleap": (flavour("mleap", model_data="mleap/model"), "the flavour 'mleap' besides spark"),
    "code": (flavour("python_function", code="code"), "brings its own code"),
    "code of spark": (flavour("spark", code="code"), "brings its own code"),
    "loader": (flavour("python_function", loader_module="evil"), "loader_module='evil' and not as mlflow.spark"),
    "other data": (flavour("python_function", data="other"), "data='other' and not as mlflow.spark"),
    "connect": (flavour("spark", model_class="pyspark.ml.connect.evil.Model"), "loads the model as 'pyspark.ml.connect"),
    "unknown setting": (flavour("spark", jars="evil.jar"), "the setting spark.jars"),
    "prediction by another function": (flavour("python_function", predict_fn="evil"), "predict_fn='evil'"),
    "folder of its own": (flavour("spark", model_data="a/b"), "is not one beside MLmodel"),
    "second MLmodel": (_nested_mlmodel, "a second MLmodel"),
    "foreign class": (fields("Logistic", **{"class": "com.evil.Model"}), r"is a com.evil.Model, which is not read"),
    "python class": (
        fields("Logistic", **{"class": "pyspark.ml.evil.Model"}),
        "is a pyspark.ml.evil.Model, which is not read",
    ),
    "class by suffix": (fields("Logistic", **{"class": "evil.ml.classification.LogisticRegressionModel"}), "is not read"),
    "language": (params("", language="Python"), "the setting 'language'"),
    "unknown parameter": (params("Logistic", evil=1), "the setting 'evil', which we do not know"),
    "unknown default": (defaults("StandardScaler", evil=1), "the setting 'evil', which we do not know"),
    "unknown field": (fields("Logistic", evil=1), "the setting 'evil', which we do not know"),
    "old Spark": (fields("Logistic", sparkVersion="2.4.8"), "was written by Spark '2.4.8'"),
    "two parts": (_second_part, "has the file .*, which Spark does not write"),
    "file in the data": (file("Logistic", "data/evil.parquet"), "has the file 'evil.parquet', which Spark does not write"),
    "partition": (file("Logistic", "data/x=1/part-00000.parquet"), "has the file 'x=1'"),
    "summary": (file("Logistic", "data/_metadata"), "has the file '_metadata'"),
    "zipped metadata": (file("Logistic", "metadata/part-00000.gz"), "has the file 'part-00000.gz'"),
    "file in a stage": (file("Logistic", "evil.py"), "has 'evil.py', which Spark does not write"),
    "data of a stage without": (file("Bucketizer", "data/part-00000"), "has 'data', which Spark does not write"),
    "no data": (_drop_data, "lacks 'data', which Spark writes"),
    "link": (_link, "has a link in its folder"),
    "linked model": (_linked_model, "the model's folder is a link"),
    "folder for a file": (_folder_for_a_file, "has 1 files of data, and Spark writes one|cannot be read"),
    "overwritten column": (params("Bucketizer", outputCol="city_i"), "writes the column 'city_i', which is there before"),
    "shadowed raw column": (params("StandardScaler", outputCol="b"), "writes the column 'b', which is there before it"),
    "case": (params("Bucketizer", inputCol="CITY"), "'city' and 'CITY', which Spark does not tell apart"),
    "part of a structure": (params("Bucketizer", inputCol="a.b"), "which Spark takes for a part of another"),
    "threshold 1": (params("Logistic", threshold=1.0), "has the threshold 1"),
    "raw column of a later stage": (params("Bucketizer", inputCol="city_v"), "writes the column 'city_v', which is there"),
    "one class": (row("Logistic", numClasses=1), "was fitted on one class only"),
}
DAMAGED = {
    "not JSON": (file("Logistic", "metadata/part-00000", b"{"), "is not JSON"),
    "deep JSON": (file("Logistic", "metadata/part-00000", b"[" * 200_000), "nested too deeply"),
    "key twice": (file("Logistic", "metadata/part-00000", b'{"class": "a", "class": "b"}'), "there twice"),
    "two lines": (_two_lines, "more than one line"),
    "list": (file("Logistic", "metadata/part-00000", b"[]"), "are not class"),
    "numbers as names": (fields("Logistic", uid=3), "are not names"),
    "table of settings": (fields("Logistic", paramMap=[]), "are not a table"),
    "uid of a path": (fields("Logistic", uid="../x"), "are not names"),
    "another uid": (fields("Logistic", uid="Other_1"), "its uid is not"),
    "swapped folders": (_swap_folders, "its uid is not"),
    "the same uid twice": (_same_uid, "another stage has it too"),
    "stages by number": (params("", stageUids=[1, 2]), "not a list of names"),
    "no stages": (params("", stageUids=[]), "are not exactly theirs"),
    "another stage": (file("", "stages/9_Evil/x"), "are not exactly theirs"),
    "no metadata": (lambda folder: shutil.rmtree(stage(folder, "Logistic") / "metadata"), "has no metadata"),
    "missing model": (lambda folder: shutil.rmtree(stage(folder, "")), "cannot be read"),
    "not Parquet": (lambda folder: part(stage(folder, "Logistic") / "data").write_bytes(b"PAR1" * 9), "not a Parquet file"),
    "empty": (lambda folder: part(stage(folder, "Logistic") / "data").write_bytes(b""), "not a Parquet file"),
    "NaN": (row("StandardScaler", mean=dense([float("nan")] * WIDTH)), "entries that are not finite"),
    "infinite intercept": (row("Logistic", interceptVector=dense([float("inf")])), "entries that are not finite"),
    "wrong length": (row("StandardScaler", mean=dense([0.0])), "have not the same length"),
    "unordered positions": (row("StandardScaler", mean=sparse([3, 1], [1.0, 2.0])), "positions that are not in order"),
    "positions twice": (row("StandardScaler", mean=sparse([1, 1], [1.0, 2.0])), "positions that are not in order"),
    "negative position": (row("StandardScaler", mean=sparse([-1], [1.0])), "positions that are not in order"),
    "position too far": (row("StandardScaler", mean=sparse([9], [1.0])), "positions that are not in order, or not below 9"),
    "huge vector": (row("StandardScaler", mean=sparse([0], [1.0], 2**31 - 1)), "not a count"),
    "negative size": (row("StandardScaler", mean=sparse([], [], -1)), "not a count"),
    "neither kind of vector": (row("StandardScaler", mean={**dense([0.0]), "type": 7}), "neither a dense nor a sparse"),
    "null vector": (row("StandardScaler", mean=None), "is not what Spark writes"),
    "text for a vector": (row("StandardScaler", mean="x"), "is not what Spark writes"),
    "whole numbers": (row("StandardScaler", mean=[1, 2]), "is not what Spark writes"),
    "huge matrix": (row("Logistic", coefficientMatrix=table(numRows=2**21 - 5, numCols=99)), "not a count|more than"),
    "short matrix": (row("Logistic", coefficientMatrix=table(values=[0.0])), "has 1 entries where 1 × 9 belong"),
    "pointers": (
        row("Logistic", coefficientMatrix=table(type=0, colPtrs=[0, 2], rowIndices=[0], values=[1.0])),
        "do not begin where the one before ends",
    ),
    "falling pointers": (
        row("Logistic", coefficientMatrix=table(type=0, numRows=2, colPtrs=[0, 2, 1], rowIndices=[0], values=[1.0])),
        "do not begin where the one before ends",
    ),
    "more scores": (row("Logistic", numClasses=4), "one score for 4 classes"),
    "fewer columns": (row("Logistic", numFeatures=3), "are not those of 2 classes and 3 columns"),
    "truth as a number": (row("Logistic", isMultinomial=3), "not true or false"),
    "level twice": (row("StringIndexer", labelsArray=lambda old: [[*old[0], old[0][0]], old[1]]), "has a level twice"),
    "null level": (row("StringIndexer", labelsArray=lambda old: [[None, "x"], old[1]]), "is not a list of texts"),
    "fewer lists": (row("StringIndexer", labelsArray=lambda old: old[:1]), "one list for each of 2 columns"),
    "more columns": (params("StringIndexer", inputCols=["city"]), "1 input columns and 2 output columns"),
    "one and several": (params("StringIndexer", inputCol="city"), "both one column and several"),
    "rule": (params("StringIndexer", handleInvalid="evil"), "'handleInvalid' is 'evil'"),
    "rule by number": (params("VectorAssembler", handleInvalid=3), "'handleInvalid' is 3"),
    "categories": (row("OneHotEncoder", categorySizes=[-1, 2, 3]), "not a count"),
    "no category": (row("OneHotEncoder", categorySizes=[0, 2, 3]), "no category to drop"),
    "splits": (params("Bucketizer", splits=["-Inf", 5.0, 3.0, "Inf"]), "three or more numbers in order"),
    "splits NaN": (params("Bucketizer", splits=["-Inf", "NaN", 3.0]), "not one finite number"),
    "splits nested": (params("Bucketizer", splits=[[1.0]]), "not one finite number"),
    "two kinds of splits": (params("Bucketizer", splitsArray=[[0.0, 1.0, 2.0]]), "not one list of splits"),
    "flag": (params("StandardScaler", withMean="yes"), "not true or false"),
    "threshold": (params("Logistic", threshold=7.0), "'threshold' is 7"),
    "threshold of text": (params("Logistic", threshold="Inf"), "not one finite number"),
    "default thresholds": (defaults("Logistic", thresholds=[0.5, 0.5]), "'thresholds' among its defaults"),
    "default columns": (defaults("Bucketizer", inputCols=["c"]), "'inputCols' among its defaults"),
    "vectors without end": (row("Logistic", numFeatures=400_000), "not a count"),
    "thresholds": (params("Logistic", thresholds=[0.0, 0.0]), "are not two numbers"),
    "family": (params("Logistic", family="evil"), "'family' is 'evil'"),
    "features": (params("Logistic", featuresCol="city_i"), "takes the column 'city_i' for vectors"),
    "penalty": (params("Logistic", regParam=10**400), "not one finite number"),
    "columns of another row": (lambda folder: _rename_column(folder), "where numClasses, .* belong"),
}  # fmt: skip


def _rename_column(folder):
    path = part(stage(folder, "Logistic") / "data")
    names = pq.read_table(path)
    pq.write_table(names.rename_columns([f"{name}_" for name in names.column_names]), path)


def test_the_model_is_read_as_it_is(spark_copy):
    assert read_model(spark_copy("logistic")).threshold == 0.3


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_folder_that_could_serve_something_else(spark_copy, name):
    forge, said = UNSUPPORTED[name]
    folder = spark_copy("logistic")
    forge(folder)
    with pytest.raises(ModelReadError, match=said):
        read_model(folder)


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_folder(spark_copy, name):
    forge, said = DAMAGED[name]
    folder = spark_copy("logistic")
    forge(folder)
    with pytest.raises(ModelReadError, match=said) as caught:
        read_model(folder)
    assert not isinstance(caught.value, UnsupportedModelError)


@pytest.mark.parametrize(
    ("model", "forge", "said"),
    [
        ("poisson", defaults("Generalized", link="log"), "'link' among its defaults"),
        ("gamma", params("Generalized", link="probit"), "the family gamma with the link probit"),
        ("gamma", params("Generalized", family="evil"), "'family' is 'evil'"),
        ("tweedie", params("Generalized", variancePower=1.5, linkPower=0.25), r"the link power 0\.25"),
        ("tweedie", params("Generalized", variancePower=3.0), "tweedie with variancePower 3"),
        ("tweedie", params("Generalized", variancePower="Inf"), "not one finite number"),
        ("poisson", params("Generalized", offsetCol=3), "is not a list of texts"),
        ("poisson", params("Generalized", offsetCol="features"), "for single values, and it holds vectors"),
        ("linear", params("LinearRegression", loss="evil"), "'loss' is 'evil'"),
        ("linear", params("VectorAssembler", inputCols=["a", "b", "c"]), "numbers for 2 columns, and the vectors"),
        ("linear", params("VectorAssembler", inputCols=["a", "prediction"]), "writes the column 'prediction', which is"),
        ("several", params("Imputer", missingValue=-1.0), r"replaces -1\.0, not missing values"),
        ("several", row("Imputer", a=float("nan")), "not one finite number"),
        ("several", params("Imputer", outputCols=["a_f", "b"]), "writes the column 'b', which is there before it"),
        ("several", row("OneHotEncoder", categorySizes=[1, 2]), "has no category for a bucket of 'a'"),
        ("several", params("MinMaxScaler", max="x"), "not one finite number"),
        ("softmax", params("Logistic", thresholds=[0.2, 0.3, 0.5]), "divides probabilities by thresholds"),
        ("softmax", row("StringIndexer", labelsArray=[["low", "mid"]]), "the labels of 'kind' are 2"),
        ("softmax", params("Logistic", predictionCol="features"), "writes its prediction into 'features'"),
        ("softmax", params("Logistic", probabilityCol="c"), "writes the column 'c', which is there before it"),
        ("gamma", row("StringIndexer", labelsArray=[["1.0", "NaN"]]), "NaN among levels that are numbers"),
        ("gamma", row("StringIndexer", labelsArray=[["1", "1.5"]]), "'1' of '.*may be text or a number; cast the column to"),
        ("gamma", row("StringIndexer", labelsArray=[["-0", "7"]]), "the level '7' of"),
        ("gamma", row("StringIndexer", labelsArray=[["-0.0", "0.0"]]), "the level '-0.0' of"),
        ("gamma", row("StringIndexer", labelsArray=[["1.0E10", "1.5"]]), "the level '1.0E10' of"),
        ("gamma", row("StringIndexer", labelsArray=[["1e-05", "0.5"]]), "the level '1e-05' of"),
        ("gamma", row("StringIndexer", labelsArray=[["Infinity", "0.5"]]), "the level 'Infinity' of"),
        ("gamma", row("StringIndexer", labelsArray=[["9" * 5000, "1"]]), "may be text or a number"),
        ("nested", params("", language="Scala"), "a pipeline of Python in another language"),
    ],
)  # fmt: skip
def test_other_models(spark_copy, model, forge, said):
    folder = spark_copy(model)
    forge(folder)
    with pytest.raises(ModelReadError, match=said):
        read_model(folder)


def test_model_in_the_middle_or_none_at_the_end(spark_copy):
    folder = spark_copy("linear")
    stages = folder / "sparkml" / "stages"
    first, second = sorted(path.name for path in stages.iterdir())
    uids = [name.partition("_")[2] for name in (second, first)]
    for place, (old, uid) in enumerate(zip((second, first), uids, strict=True)):
        (stages / old).rename(stages / f"{place}_{uid}")
    params("", stageUids=uids)(folder)
    with pytest.raises(UnsupportedModelError, match="predicts in the middle of the pipeline"):
        read_model(folder)
    shutil.rmtree(stages / f"0_{uids[0]}")
    (stages / f"1_{uids[1]}").rename(stages / f"0_{uids[1]}")
    params("", stageUids=uids[1:])(folder)
    with pytest.raises(UnsupportedModelError, match="is the last stage, and not a model that predicts"):
        read_model(folder)


def test_pipelines_within_pipelines_without_end(spark_copy):
    folder = spark_copy("nested")
    inner = stage(folder, "PipelineModel")
    for depth in range(12):
        below = inner / "stages" / f"0_P_{depth}"
        content = {**json.loads(part(inner / "metadata").read_text())}
        content["paramMap"] = {"stageUids": [f"P_{depth}"]}
        part(inner / "metadata").write_text(json.dumps(content))
        shutil.rmtree(inner / "stages")
        shutil.copytree(inner / "metadata", below / "metadata")
        (below / "stages").mkdir()
        part(below / "metadata").write_text(json.dumps({**content, "uid": f"P_{depth}", "paramMap": {"stageUids": []}}))
        inner = below
    with pytest.raises(ModelReadError, match="more stages, or pipelines within each other, than we read"):
        read_model(folder)


def test_several_rows_and_a_row_in_another_file(spark_copy):
    folder = spark_copy("logistic")
    path = part(stage(folder, "Logistic") / "data")
    row_of = pq.read_table(path)
    pq.write_table(pa.concat_tables([row_of, row_of]), path)
    with pytest.raises(ModelReadError, match="has 2 rows in 1 groups, and not one row"):
        read_model(folder)
    pq.write_table(row_of.slice(0, 0), path)
    with pytest.raises(ModelReadError, match="has 0 rows"):
        read_model(folder)


def _one_long_list(path, count, value=1.5):
    """A file of a few kilobytes whose only row is a list of many equal numbers."""
    vector = {"type": 1, "size": None, "indices": None, "values": [value] * count}
    kind = pa.struct(
        [("type", pa.int8()), ("size", pa.int32()), ("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))]
    )
    columns = {name: pa.array([vector], kind) for name in ("std", "mean")}
    pq.write_table(pa.table(columns), path, compression="gzip")


def test_few_bytes_that_stand_for_many_values(spark_copy):
    folder = spark_copy("logistic")
    path = part(stage(folder, "StandardScaler") / "data")
    _one_long_list(path, 2_100_000)
    assert path.stat().st_size < 100_000
    with pytest.raises(ModelReadError, match="more values than we read"):
        read_model(folder)


def test_pages_that_say_more_than_the_footer(spark_copy):
    """The header of a page is believed by whoever reads the page, so it is read first."""
    folder = spark_copy("logistic")
    path = part(stage(folder, "StandardScaler") / "data")
    _one_long_list(path, 100)
    data = bytearray(path.read_bytes())
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    at = column.dictionary_page_offset or column.data_page_offset
    assert data[at] == 0x15  # field 1 of the header, a number
    data[at + 2 : at + 4] = struct.pack("BB", 0x15, 0xFF)  # its size, and the first byte of a number that goes on
    path.write_bytes(bytes(data))
    with pytest.raises(ModelReadError, match="not a Parquet file as Spark writes them"):
        read_model(folder)


def test_one_long_text_in_many_places_is_kept_once(spark_copy):
    """A level of a megabyte that a dictionary repeats is no terabyte; it is a level twice, and refused for that."""
    folder = spark_copy("gamma")
    path = part(stage(folder, "StringIndexer") / "data")
    count = 3_000
    level = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array(["x" * (1 << 20)]))
    for end in (count, 1):
        level = pa.ListArray.from_arrays(pa.array([0, end], pa.int32()), level)
    pq.write_table(pa.table({"labelsArray": level}), path, compression="gzip", store_schema=False)
    assert path.stat().st_size < 100_000
    with pytest.raises(ModelReadError, match="has a level twice"):
        read_model(folder)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1), flipped=st.integers(1, 255), which=st.sampled_from(["StandardScaler", "Logistic", "StringI"]))
def test_no_byte_of_a_file_makes_anything_but_a_model_or_an_error(spark_models, tmp_path_factory, place, flipped, which):
    folder = tmp_path_factory.mktemp("flipped") / "model"
    shutil.copytree(spark_models / "logistic", folder)
    path = part(stage(folder, which) / "data")
    data = bytearray(path.read_bytes())
    data[min(int(place * len(data)), len(data) - 1)] ^= flipped
    path.write_bytes(bytes(data))
    try:
        model = read_model(folder)
    except ModelReadError:
        return
    assert model.family == "binomial"


def test_page_in_an_encoding_that_spark_does_not_use(spark_copy):
    folder = spark_copy("logistic")
    path = part(stage(folder, "StandardScaler") / "data")
    table_of = pq.read_table(path)
    names = ("mean.values.list.element", "std.values.list.element")
    pq.write_table(table_of, path, use_dictionary=False, column_encoding=dict.fromkeys(names, "BYTE_STREAM_SPLIT"))
    with pytest.raises(ModelReadError, match="encoded in a way that Spark does not use"):
        read_model(folder)


@pytest.mark.parametrize("name", ["metadata/part-00000", "data"])
def test_file_that_is_too_large(spark_copy, name):
    folder = spark_copy("logistic")
    path = stage(folder, "Logistic") / name
    path = part(path) if path.is_dir() else path
    with path.open("ab") as stream:
        stream.truncate((33 if name == "data" else 9) << 20)
    with pytest.raises(ModelReadError, match="bytes we read"):
        read_model(folder)
