"""The reader of MLflow's ``spark`` flavour: a Spark ML pipeline from its files, without starting Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.formats import source_of
from coordpath_governance.models.kinds import fault_of_kind
from coordpath_governance.models.linear_model import LinearModel, level_label
from coordpath_governance.models.model_files import ModelFiles
from coordpath_governance.models.served import SPARK
from coordpath_governance.models.spark_columns import Columns, in_and_out
from coordpath_governance.models.spark_estimators import ESTIMATORS
from coordpath_governance.models.spark_files import REMEDY, SparkStage, open_stages
from coordpath_governance.models.spark_stages import STAGES, levels_of
from coordpath_governance.models.spark_values import texts

__all__ = ["SparkReader"]

_SERVED = "prediction"
"""The column that MLflow serves."""


class SparkReader:
    """Reads the stages that Spark would load, without Spark."""

    def can_read(self, files: ModelFiles) -> bool:
        """Whether MLmodel has the flavour ``spark``."""
        return SPARK.name in files.flavours

    def read(self, files: ModelFiles) -> LinearModel:
        """The model. Every class and setting must be known, and nothing else may decide what is served."""
        stages = open_stages(files)
        try:
            return replace(_fold(stages, files.types or {}), source=source_of(SPARK.format))
        except UnsupportedModelError as error:
            raise UnsupportedModelError(f"{files.folder}: {error}") from error
        except ModelReadError as error:
            raise ModelReadError(f"{files.folder}: {error}") from error


def _fold(stages: Sequence[SparkStage], types: Mapping[str, str]) -> LinearModel:
    *before, last = stages
    columns = Columns({name.casefold(): kind for name, kind in types.items()})
    for stage in before:
        if stage.class_name not in STAGES:
            raise UnsupportedModelError(
                f"{stage.fitted.where} predicts in the middle of the pipeline; a model at its end is read. {REMEDY}"
            )
        STAGES[stage.class_name](stage, columns)
    if last.class_name not in ESTIMATORS:
        raise UnsupportedModelError(
            f"{last.fitted.where} is the last stage, and not a model that predicts; supported: "
            f"{', '.join(ESTIMATORS)}. {REMEDY}"
        )
    model = ESTIMATORS[last.class_name](last, columns)
    _check_outputs(last, columns)
    model = _with_labels(last, model, before, columns)
    fault = fault_of_kind(model)
    if fault is not None:
        raise last.fitted.refusal(f"is not a model we read: {fault}.")
    return replace(model, estimator=last.class_name, library=f"Spark {last.version}")


def _check_outputs(stage: SparkStage, columns: Columns) -> None:
    """Refuse a stage that does not predict into the column that is served, or whose outputs replace another column."""
    for name in ("predictionCol", "probabilityCol", "rawPredictionCol", "linkPredictionCol"):
        column = texts(stage, name, [stage.fitted.get(name, "")])[0]
        if name == "predictionCol" and column != _SERVED:
            raise stage.fitted.refusal(
                f"writes its prediction into '{column}', and MLflow serves the column '{_SERVED}'; leave predictionCol "
                "as it is."
            )
        if column:
            columns.claim(stage, column)


def _with_labels(stage: SparkStage, model: LinearModel, before: Sequence[SparkStage], columns: Columns) -> LinearModel:
    """The model with the name of its target, and with the labels of the StringIndexer that makes the target, if any."""
    target = texts(stage, "labelCol", [stage.fitted.get("labelCol", "label")])[0]
    for indexer in before:
        if indexer.class_name != "StringIndexerModel":
            continue
        pairs = in_and_out(indexer)
        for (source, output), levels in zip(pairs, levels_of(indexer, pairs, columns), strict=True):
            if output != target:
                continue
            labels = tuple(level_label(level) for level in levels)
            if model.classes and len(labels) != len(model.classes):
                raise stage.fitted.refusal(
                    f"tells {len(model.classes)} classes apart, and the labels of '{source}' are {len(labels)}; fit it with "
                    "handleInvalid='error' in the StringIndexer of the target."
                )
            return replace(model, target=source, classes=labels if model.classes else ())
    return replace(model, target=target or None)
