"""Archives of models that real Spark has fitted (tests/golden/spark), and whether we score rows as Spark did."""

from __future__ import annotations

import json
import math
import tarfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordpath_governance.models import LinearModel, read_model
from coordpath_governance.models.kinds import fault_of_kind
from helpers.bent_models import score

GOLDEN = Path(__file__).parents[1] / "golden" / "spark"
ARCHIVES = sorted(GOLDEN.glob("*.tar.xz"))
MODELS = (
    *("linear", "huber", "logistic", "weighed", "softmax", "pair", "sparse", "gaussian", "binomial", "poisson", "gamma"),
    *("tweedie", "several", "nested", "alone"),
)
NULL_TO_BUCKETS = {("gamma", 8)}
"""Rows with a null in a column whose NaN has a bucket: Spark scores NaN only, and files do not tell the two apart."""


def unpack(archive: Path, folder: Path) -> dict[str, object]:
    """Extract the model folders; what Spark predicts, by model."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return json.loads((folder / "models.json").read_text())


def expected_of(document: dict[str, object], name: str) -> tuple[list[dict[str, object]], list[object]]:
    """The rows of a model, and Spark's mean or probabilities; None where it does not score a row."""
    said = document[name]["predictions"]
    numbers = [row and row.get("probability", row["prediction"]) for row in said]
    return document[name]["rows"], numbers


def predicted(model: LinearModel, rows: list[dict[str, object]]) -> list[object]:
    """What a model predicts by its link: a mean, or the probability of every class; None where it cannot score the row."""
    parts = [score(each, pd.DataFrame(rows)) for each in model.class_scores or (model,)]
    return [
        None if any(math.isnan(value) for value in values) else _linked(model, values)
        for values in zip(*(part.tolist() for part in parts), strict=True)
    ]


def _linked(model: LinearModel, values: tuple[float, ...]) -> object:
    if model.link == "softmax":
        weights = [math.exp(value - max(values)) for value in values]
        return [weight / sum(weights) for weight in weights]
    if model.link == "logit":
        first, second = 1 / (1 + math.exp(values[0])), 1 / (1 + math.exp(-values[0]))
        return [first, second] if model.threshold is not None else second
    return math.exp(values[0]) if model.link == "log" else values[0]


def check_scores(folder: Path, document: dict[str, object], name: str) -> None:
    """Compare a model that is read from its folder with what Spark predicts, row by row."""
    model = read_model(folder / name)
    assert fault_of_kind(model) is None
    assert model.library == f"Spark {document['spark']}"
    rows, expected = expected_of(document, name)
    assert sum(number is not None for number in expected) >= 6
    for place, (row, found, number) in enumerate(zip(rows, predicted(model, rows), expected, strict=True)):
        if (name, place) in NULL_TO_BUCKETS:
            assert row["a"] is None
            assert (found is None, number is None) == (False, True)
        else:
            assert found == (None if number is None else pytest.approx(number, rel=1e-9)), row


def stage(folder, kind):
    """The folder of the first stage of a kind; the pipeline's own for ""."""
    return next((folder / "sparkml" / "stages").glob(f"*_{kind}*")) if kind else folder / "sparkml"


def part(folder):
    return next(path for path in folder.iterdir() if path.name.startswith("part-"))


def change_metadata(folder, kind, change):
    path = part(stage(folder, kind) / "metadata")
    metadata = json.loads(path.read_text())
    path.write_text(json.dumps(change(metadata) or metadata) + "\n")


def change_row(folder, kind, **columns):
    """Other values, in the types that Spark gave them, or in their own."""
    path = part(stage(folder, kind) / "data")
    table = pq.read_table(path)
    for name, value in columns.items():
        place = table.schema.get_field_index(name)
        old = table.column(name)
        new = value(old[0].as_py()) if callable(value) else value
        try:
            array = pa.array([new], old.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            array = pa.array([new])
        table = table.set_column(place, name, array)
    pq.write_table(table, path)


def sparse(indices, values, size=9):
    return {"type": 0, "size": size, "indices": indices, "values": values}


def dense(values):
    return {"type": 1, "size": None, "indices": None, "values": values}
