"""Writes an archive of models that real Spark has fitted, with what it predicts; see README.md. The tests use it too."""

from __future__ import annotations

import json
import math
import random
import sys
import tarfile
import tempfile
from pathlib import Path

import mlflow.spark
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import (
    Bucketizer,
    Imputer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialExpansion,
    SQLTransformer,
    StandardScaler,
    StringIndexer,
    VectorAssembler,
)
from pyspark.ml.regression import DecisionTreeRegressor, GeneralizedLinearRegression, LinearRegression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DoubleType, IntegerType, StringType, StructField, StructType

TYPES = {"city": StringType(), "kind": StringType(), "code": IntegerType()}
INPUTS = ["a", "b", "c", "city", "tier", "code", "exposure"]
TARGETS = ["price", "yes", "kind", "count", "cost", "weight"]
CITIES = ["Bern", "Chur", "Genf"]
LONG = 40


def training_rows(count: int = 80, seed: int = 5) -> list[dict[str, object]]:
    """Numbers, text, codes, and targets of every kind."""
    draw = random.Random(seed)
    rows: list[dict[str, object]] = []
    for at in range(count):
        row: dict[str, object] = {"a": draw.uniform(0, 10), "b": draw.gauss(2, 3), "c": draw.gauss(-1, 0.5)}
        row |= {"city": CITIES[at % 3] if at % 5 else "Zug", "tier": float(1 + at % 2) / 2, "code": at % 4}
        score = 0.3 * row["a"] - 0.2 * row["b"] + (row["city"] == "Bern") + 0.4 * row["code"] + draw.gauss(0, 0.5)
        row |= {"exposure": draw.uniform(-0.5, 0.5), "price": score, "yes": float(score + draw.gauss(0, 1) > 1.5)}
        row |= {"kind": ["low", "mid", "high"][int(min(2, max(0, (score + draw.gauss(0, 0.8)) // 1)))]}
        row |= {"count": float(math.floor(math.exp(score / 2))), "cost": math.exp(score / 2 + draw.gauss(0, 0.2))}
        rows.append(row | {"weight": draw.uniform(0.5, 2)})
    return rows


def odd_rows() -> list[dict[str, object]]:
    """Rows that some models cannot score, and edges of buckets."""
    usual = {name: training_rows(1, 9)[0][name] for name in INPUTS}
    changes: list[dict[str, object]] = [
        *({"city": "Oz"}, {"city": None}, {"a": None}, {"a": math.nan}, {"b": None}, {"a": 3.0}, {"a": 12.0}),
        *({"a": 0.0}, {"a": 10.0}, {"a": -1.0}, {"tier": 7.0}, {"code": 9}, {"code": -1}, {"exposure": None}),
    ]
    return [usual | change for change in changes]


def frame(spark: SparkSession, rows: list[dict[str, object]]) -> DataFrame:
    """Rows as Spark reads them."""
    names = list(rows[0])
    schema = StructType([StructField(name, TYPES.get(name, DoubleType())) for name in names])
    return spark.createDataFrame([tuple(row[name] for name in names) for row in rows], schema)


def pipelines() -> dict[str, Pipeline]:
    """Everything that is read, each as it was before it was fitted."""

    def glm(label: str, **options: object) -> GeneralizedLinearRegression:
        return GeneralizedLinearRegression(labelCol=label, **options)

    numbers = VectorAssembler(inputCols=["a", "b"], outputCol="features")
    infinite = [-math.inf, 3.0, 6.0, math.inf]
    indexer = StringIndexer(inputCols=["city", "tier"], outputCols=["city_i", "tier_i"], handleInvalid="keep")
    dummies = OneHotEncoder(inputCols=["city_i", "tier_i", "a_i"], outputCols=["city_v", "tier_v", "a_v"])
    assembled = VectorAssembler(inputCols=["c", "city_v", "b", "tier_v", "a_v"], outputCol="raw", handleInvalid="keep")
    usual = [indexer, Bucketizer(splits=infinite, inputCol="a", outputCol="a_i"), dummies, assembled]
    scaled = [*usual, StandardScaler(inputCol="raw", outputCol="features", withMean=True)]
    kinds = StringIndexer(inputCol="kind", outputCol="label")
    long = [
        Bucketizer(splits=[-math.inf, *(i / 4 for i in range(LONG)), math.inf], inputCol="a", outputCol="a_i"),
        OneHotEncoder(inputCol="a_i", outputCol="a_v", handleInvalid="keep"),
        VectorAssembler(inputCols=["a_v", "b"], outputCol="features"),
    ]
    straight = [
        StringIndexer(inputCol="city", outputCol="city_i", stringOrderType="alphabetAsc"),
        Bucketizer(splits=[0.0, 2.5, 5.0, 10.0], inputCol="a", outputCol="a_i", handleInvalid="keep"),
        StringIndexer(inputCol="tier", outputCol="tier_i", handleInvalid="skip"),
        OneHotEncoder(inputCols=["tier_i", "code"], outputCols=["t", "v"], dropLast=False, handleInvalid="keep"),
        VectorAssembler(inputCols=["city_i", "a_i", "t", "v"], outputCol="features", handleInvalid="skip"),
    ]
    several = [
        Imputer(inputCols=["a", "b"], outputCols=["a_f", "b_f"], strategy="median"),
        Bucketizer(
            splitsArray=[[-math.inf, 4.0, math.inf], [-9.0, 0.0, 9.0]], inputCols=["a_f", "c"], outputCols=["ab", "cb"]
        ),
        OneHotEncoder(inputCols=["ab", "cb"], outputCols=["av", "cv"], dropLast=False),
        VectorAssembler(inputCols=["av", "cv", "b_f", "code"], outputCol="raw"),
        MinMaxScaler(inputCol="raw", outputCol="scaled", min=-1.0, max=1.0),
        StandardScaler(inputCol="scaled", outputCol="features"),
    ]
    stages = {
        "linear": [numbers, LinearRegression(labelCol="price", regParam=0.1, elasticNetParam=0.5, weightCol="weight")],
        "huber": [numbers, LinearRegression(labelCol="price", loss="huber", fitIntercept=False, regParam=0.2)],
        "logistic": [*scaled, LogisticRegression(labelCol="yes", threshold=0.3, regParam=0.01)],
        "weighed": [numbers, LogisticRegression(labelCol="yes", thresholds=[0.3, 0.7], regParam=0.2, elasticNetParam=1.0)],
        "softmax": [kinds, *scaled, LogisticRegression(regParam=0.05)],
        "pair": [numbers, LogisticRegression(labelCol="yes", family="multinomial", regParam=0.01)],
        "sparse": [*long, LogisticRegression(labelCol="yes", regParam=0.02, elasticNetParam=1.0)],
        "gaussian": [*usual, glm("price", featuresCol="raw", regParam=0.01)],
        "binomial": [numbers, glm("yes", family="binomial")],
        "poisson": [numbers, glm("count", family="poisson", offsetCol="exposure", regParam=0.1)],
        "gamma": [*straight, glm("cost", family="gamma", link="log", weightCol="weight", regParam=0.01)],
        "tweedie": [numbers, glm("count", family="tweedie", variancePower=1.5, linkPower=0.0)],
        "several": [*several, glm("count", family="tweedie", variancePower=1.0, linkPower=0.0, regParam=0.1)],
        "nested": [Pipeline(stages=usual), LinearRegression(labelCol="price", featuresCol="raw", regParam=0.01)],
    }
    return {name: Pipeline(stages=each) for name, each in stages.items()}


def refused() -> dict[str, Pipeline]:
    """Sound models that are not read."""
    numbers = VectorAssembler(inputCols=["a", "b"], outputCol="features")
    squares = PolynomialExpansion(inputCol="features", outputCol="squares")
    query = SQLTransformer(statement="SELECT *, a * b AS ab FROM __THIS__")
    products = VectorAssembler(inputCols=["ab"], outputCol="features")
    stages = {
        "tree": [numbers, DecisionTreeRegressor(labelCol="price", maxDepth=2)],
        "squares": [numbers, squares, LinearRegression(labelCol="price", featuresCol="squares")],
        "query": [query, products, LinearRegression(labelCol="price")],
        "inverse": [numbers, GeneralizedLinearRegression(labelCol="cost", family="gamma", regParam=0.1)],
        "power": [numbers, GeneralizedLinearRegression(labelCol="count", family="tweedie", variancePower=1.5, regParam=1.0)],
        "answer": [numbers, LinearRegression(labelCol="price", predictionCol="answer")],
    }
    return {name: Pipeline(stages=each) for name, each in stages.items()}


def predictions(model: PipelineModel, data: DataFrame) -> list[dict[str, object] | None]:
    """What the model says of every row that it does not skip; None where that is not a number."""
    made = model.transform(data)
    columns = [name for name in ("prediction", "probability") if name in made.columns]
    out: list[dict[str, object] | None] = []
    for row in made.select(*columns).collect():
        numbers = [*row.probability, row.prediction] if "probability" in columns else [row.prediction]
        said = {name: list(row[name]) if name == "probability" else row[name] for name in columns}
        out.append(None if any(number is None or math.isnan(number) for number in numbers) else said)
    return out


def predict_one(model: PipelineModel, spark: SparkSession, row: dict[str, object]) -> dict[str, object] | None:
    """The same of one row; None also if the model raises or skips it."""
    try:
        made = predictions(model, frame(spark, [row]))
    except Exception:  # noqa: BLE001 - whatever Spark raises
        return None
    return made[0] if made else None


def write(target: Path) -> None:
    """Fit and save everything."""
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    train = frame(spark, training_rows()).cache()
    usual = [{name: row[name] for name in INPUTS} for row in training_rows(6, 6)]
    document: dict[str, object] = {"spark": spark.version, "refused": list(refused())}
    with tempfile.TemporaryDirectory() as work, tarfile.open(target, "w:xz", preset=9) as out:
        for name, pipeline in {**pipelines(), **refused()}.items():
            model = pipeline.fit(train)
            if name not in refused():
                odd = odd_rows()
                said = [*predictions(model, frame(spark, usual)), *(predict_one(model, spark, row) for row in odd)]
                document[name] = {"rows": [*usual, *odd], "predictions": said}
            folder = Path(work) / name
            mlflow.spark.save_model(model, str(folder), pip_requirements=[])
            _add(out, folder, name)
        vectors = VectorAssembler(inputCols=["a", "b"], outputCol="features").transform(train)
        alone = LinearRegression(labelCol="price").fit(vectors)
        rows = [{"features[0]": row["a"], "features[1]": row["b"]} for row in usual]
        document["alone"] = {"rows": rows, "predictions": predictions(alone, vectors_of(spark, rows))}
        mlflow.spark.save_model(alone, str(Path(work) / "alone"), pip_requirements=[])
        _add(out, Path(work) / "alone", "alone")
        (Path(work) / "models.json").write_text(json.dumps(document, indent=1))
        out.add(Path(work) / "models.json", "models.json")
    spark.stop()


def vectors_of(spark: SparkSession, rows: list[dict[str, object]]) -> DataFrame:
    """Rows as one column of vectors."""
    from pyspark.ml.linalg import Vectors

    return spark.createDataFrame([(Vectors.dense(list(row.values())),) for row in rows], ["features"])


def _add(out: tarfile.TarFile, folder: Path, name: str) -> None:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and relative.parts[0] in ("MLmodel", "sparkml"):
            out.add(path, f"{name}/{relative.as_posix()}")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
