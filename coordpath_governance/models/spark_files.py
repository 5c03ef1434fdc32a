"""The folder of a Spark ML model as MLflow serves it: a PipelineModel whose stages are JSON and Parquet.

MLflow's ``spark`` loader passes the folder ``sparkml`` to Spark. Spark reads the class and the settings of every stage from
its metadata, and its numbers from one row of Parquet. It reads every file in a folder that does not look hidden, so only
files that Spark writes may be there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from coordpath_governance.canonical import read_json
from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.fitted import Fitted
from coordpath_governance.models.model_files import ModelFiles
from coordpath_governance.models.served import SPARK, check_served, check_settings
from coordpath_governance.models.spark_parquet import read_row
from coordpath_governance.models.tree import ArchivedObject, brief, read_limited

__all__ = ["REMEDY", "SparkStage", "open_stages"]

REMEDY = "Fit it with stages that are read, or put its coefficients (cg.to_coefficients) into coefficients.json beside it."
_PYTHON_PIPELINE = "pyspark.ml.pipeline.PipelineModel"
_PIPELINES = ("org.apache.spark.ml.PipelineModel", _PYTHON_PIPELINE)
"""The class as Java writes it, and as Python writes it for a pipeline within a pipeline."""

_MAX_METADATA = 8 << 20
_MAX_STAGES = 1_000
_MAX_DEPTH = 8
_VERSION = re.compile(r"[34]\.\d{1,3}(\.\w{1,40}){0,2}(-\w{1,40})?")
_UID = re.compile(r"[A-Za-z0-9_.\-]{1,200}")
_PART = re.compile(r"part-00000(-[A-Za-z0-9\-]+)?(\.txt)?|part-00000-[A-Za-z0-9\-]+\.(snappy\.|zstd\.|gz\.|lz4\.)?parquet")
_COMMIT = re.compile(r"_SUCCESS|\._SUCCESS\.crc|\.?_(committed|started)_\d{1,30}(\.crc)?")
"""Files that Spark and Databricks write next to the parts; no reader takes numbers from them."""

_BOUNDS = tuple(f"{side}BoundsOn{bounded}" for side in ("lower", "upper") for bounded in ("Coefficients", "Intercepts"))
_NO_DEFAULT = frozenset(
    (
        *("inputCol", "inputCols", "outputCols", "splits", "splitsArray", "stageUids", "language", "weightCol", "offsetCol"),
        *("link", "linkPower", "linkPredictionCol", "thresholds", *_BOUNDS),
    )
)
"""Settings that Spark uses only if the author has set them."""

_METADATA = ("class", "timestamp", "sparkVersion", "uid", "paramMap", "defaultParamMap")


@dataclass(frozen=True)
class _Kind:
    """The settings of a class and the columns of its Parquet file; None if it has no file, () if the columns vary."""

    settings: tuple[str, ...]
    columns: tuple[str, ...] | None = None


_ONE = ("inputCol", "outputCol")
_MANY = (*_ONE, "inputCols", "outputCols")
_FIT = ("featuresCol", "fitIntercept", "labelCol", "maxIter", "predictionCol", "regParam", "tol", "weightCol")
_BLOCKS = ("aggregationDepth", "blockSize", "elasticNetParam", "maxBlockSizeInMB", "standardization")
_LINKED = ("link", "linkPower", "linkPredictionCol", "offsetCol", "variancePower")

_KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        _PIPELINES[0]: _Kind(("stageUids",)),
        _PYTHON_PIPELINE: _Kind(("stageUids", "language")),
        "org.apache.spark.ml.feature.VectorAssembler": _Kind(("inputCols", "outputCol", "handleInvalid")),
        "org.apache.spark.ml.feature.StandardScalerModel": _Kind((*_ONE, "withMean", "withStd"), ("std", "mean")),
        "org.apache.spark.ml.feature.MinMaxScalerModel": _Kind((*_ONE, "min", "max"), ("originalMin", "originalMax")),
        "org.apache.spark.ml.feature.StringIndexerModel": _Kind(
            (*_MANY, "handleInvalid", "stringOrderType"), ("labelsArray",)
        ),
        "org.apache.spark.ml.feature.OneHotEncoderModel": _Kind((*_MANY, "dropLast", "handleInvalid"), ("categorySizes",)),
        "org.apache.spark.ml.feature.Bucketizer": _Kind((*_MANY, "handleInvalid", "splits", "splitsArray")),
        "org.apache.spark.ml.feature.ImputerModel": _Kind((*_MANY, "missingValue", "relativeError", "strategy"), ()),
        "org.apache.spark.ml.regression.LinearRegressionModel": _Kind(
            (*_FIT, *_BLOCKS, "epsilon", "loss", "solver"), ("intercept", "coefficients", "scale")
        ),
        "org.apache.spark.ml.regression.GeneralizedLinearRegressionModel": _Kind(
            (*_FIT, *_LINKED, "aggregationDepth", "family", "solver"),
            ("intercept", "coefficients"),
        ),
        "org.apache.spark.ml.classification.LogisticRegressionModel": _Kind(
            (*_FIT, *_BLOCKS, *_BOUNDS, "family", "probabilityCol", "rawPredictionCol", "threshold", "thresholds"),
            ("numClasses", "numFeatures", "interceptVector", "coefficientMatrix", "isMultinomial"),
        ),
    }
)  # fmt: skip
"""Every class that is read, by its exact name."""


@dataclass(frozen=True)
class SparkStage:
    """One stage: its settings as attributes (``fitted``), the names of those that the author has set, and its numbers."""

    fitted: Fitted
    uid: str
    set_by_author: frozenset[str]
    row: Mapping[str, object]
    version: str

    @property
    def class_name(self) -> str:
        """The last part of the class path."""
        return self.fitted.archived.class_name


def open_stages(files: ModelFiles) -> list[SparkStage]:
    """The stages of the model in order, with those of nested pipelines.

    Raises `ModelReadError` if a file is damaged, `UnsupportedModelError` if there is a file that Spark does not write.
    """
    _check_flavours(files)
    root = files.path(files.flavours[SPARK.name].get("model_data"))
    if root.is_symlink():
        raise UnsupportedModelError(f"{root}: the model's folder is a link; log the model again.")
    folder = _Folder(files.folder)
    stages = folder.pipeline(root, folder.node(root, "the model"), 0)
    if not stages:
        raise ModelReadError(f"{files.folder}: the pipeline has no stages; fit and log it again.")
    return stages


def _check_flavours(files: ModelFiles) -> None:
    """Refuse a folder that could be served from anything but the one PipelineModel."""
    for flavour in files.flavours:
        if flavour not in (SPARK.name, "python_function"):
            raise UnsupportedModelError(
                f"{files.folder}: the model has the flavour {brief(flavour)} besides spark, and could be served from it; "
                "log it with mlflow.spark.log_model alone."
            )
    settings = files.flavours[SPARK.name]
    name = settings.get("model_data")
    check_settings(files, SPARK)
    if not isinstance(name, str) or not re.fullmatch(r"\w{1,100}", name):
        raise UnsupportedModelError(
            f"{files.folder}: the model's folder {brief(name)} is not one beside MLmodel, where its loader looks for it; "
            "log the model again with mlflow.spark.log_model."
        )
    check_served(files, SPARK, {"data": name, "model_path": None, "predict_fn": None})
    if settings.get("model_class") not in (None, _PYTHON_PIPELINE):
        raise UnsupportedModelError(
            f"{files.folder}: MLmodel loads the model as {brief(settings.get('model_class'))}, and not as a "
            f"{_PYTHON_PIPELINE}; log a PipelineModel with mlflow.spark.log_model."
        )


@dataclass
class _Folder:
    """A walk through the folders of a model."""

    top: Path
    uids: set[str] | None = None

    def node(self, folder: Path, where: str) -> SparkStage:
        """The metadata of one stage or pipeline, and its numbers if the class has any."""
        entries = self._entries(folder, where)
        if "metadata" not in entries:
            raise ModelReadError(f"{folder}: {where} has no metadata; log the model again.")
        metadata = self._metadata(self._part(folder / "metadata", where), where)
        path, uid = metadata["class"], metadata["uid"]
        if path not in _KINDS:
            raise UnsupportedModelError(_not_read(path, uid))
        kind, where = _KINDS[path], f"stage '{uid}' ({path.rpartition('.')[2]})"
        has = {"metadata", *(("stages",) if path in _PIPELINES else ()), *(("data",) if kind.columns is not None else ())}
        if set(entries) != has:
            odd = min(set(entries) ^ has)
            raise UnsupportedModelError(
                f"{folder}: {where} {'has' if odd in entries else 'lacks'} '{odd}', which Spark "
                f"{'does not write' if odd in entries else 'writes'} there; log the model again."
            )
        settings = {**metadata["defaultParamMap"], **metadata["paramMap"]}
        for name in (*settings, *metadata):
            if name not in kind.settings and name not in _METADATA:
                raise UnsupportedModelError(
                    f"{where} has the setting {brief(name)}, which we do not know and which could change what it predicts. "
                    f"{REMEDY}"
                )
        unset = next((name for name in metadata["defaultParamMap"] if name in _NO_DEFAULT), None)
        if unset is not None:
            raise ModelReadError(
                f"{folder}: {where} has '{unset}' among its defaults, where Spark has none. The model is damaged or forged."
            )
        row = read_row(self._part(folder / "data", where)) if kind.columns is not None else {}
        if kind.columns and set(row) != set(kind.columns):
            raise ModelReadError(
                f"{folder}: {where} has the columns {brief(sorted(row))} where {', '.join(kind.columns)} belong. The model "
                "is damaged or forged; fit and log it again."
            )
        fitted = Fitted(ArchivedObject(path, settings), where)
        return SparkStage(fitted, uid, frozenset(metadata["paramMap"]), row, metadata["sparkVersion"])

    def pipeline(self, folder: Path, pipeline: SparkStage, depth: int) -> list[SparkStage]:
        """The stages of a pipeline in its order. Each has a folder named after its position and its uid."""
        if pipeline.fitted.archived.class_path not in _PIPELINES:
            raise UnsupportedModelError(
                f"{folder}: this is a {pipeline.class_name} and not a pipeline; log it with mlflow.spark.log_model, which "
                "makes one."
            )
        if pipeline.fitted.archived.class_path == _PYTHON_PIPELINE and pipeline.fitted.text("language", "") != "Python":
            raise pipeline.fitted.error("it is a pipeline of Python in another language")
        uids = pipeline.fitted.get("stageUids")
        if not isinstance(uids, list) or not all(isinstance(uid, str) and _UID.fullmatch(uid) for uid in uids):
            raise pipeline.fitted.error("'stageUids' is not a list of names")
        self.uids = (self.uids or set()) | {pipeline.uid}
        if len(uids) + len(self.uids) > _MAX_STAGES or depth > _MAX_DEPTH:
            raise ModelReadError(f"{folder}: the model has more stages, or pipelines within each other, than we read.")
        width = len(str(len(uids)))
        names = [f"{place:0{width}d}_{uid}" for place, uid in enumerate(uids)]
        entries = self._entries(folder / "stages", pipeline.fitted.where)
        if sorted(entries) != sorted(names):
            raise ModelReadError(
                f"{folder}: {pipeline.fitted.where} names {len(names)} stages, and the folders of its stages are not "
                "exactly theirs. The model is damaged or forged; fit and log it again."
            )
        stages: list[SparkStage] = []
        for name, uid in zip(names, uids, strict=True):
            stage = self.node(folder / "stages" / name, f"stage '{uid}'")
            if stage.uid != uid or uid in self.uids:
                raise stage.fitted.error(f"its uid is not the '{uid}' of its folder, or another stage has it too")
            if stage.fitted.archived.class_path in _PIPELINES:
                stages.extend(self.pipeline(folder / "stages" / name, stage, depth + 1))
            else:
                self.uids.add(uid)
                stages.append(stage)
        return stages

    def _entries(self, folder: Path, where: str) -> list[str]:
        """The names in a folder. Links are refused, because they could lead anywhere."""
        try:
            with os.scandir(folder) as scan:
                entries = [(entry.name, entry.is_symlink()) for entry, _ in zip(scan, range(2 * _MAX_STAGES), strict=False)]
        except (OSError, ValueError) as error:
            raise ModelReadError(
                f"{folder}: the folder of {where} cannot be read ({error}); log the model again."
            ) from error
        if any(is_link for _, is_link in entries):
            raise UnsupportedModelError(f"{folder}: {where} has a link in its folder; log the model again.")
        return [name for name, _ in entries]

    def _part(self, folder: Path, where: str) -> Path:
        """The only file in a folder that Spark reads."""
        entries = self._entries(folder, where)
        parts = [name for name in entries if _PART.fullmatch(name)]
        if len(parts) != 1 or not (folder / parts[0]).is_file():
            raise UnsupportedModelError(
                f"{folder}: {where} has {len(parts)} files of data, and Spark writes one; log the model again."
            )
        for name in entries:
            if name not in (parts[0], f".{parts[0]}.crc") and not _COMMIT.fullmatch(name):
                raise UnsupportedModelError(
                    f"{folder}: {where} has the file {brief(name)}, which Spark does not write and could read; log "
                    "the model again."
                )
        return folder / parts[0]

    def _metadata(self, path: Path, where: str) -> Mapping[str, Any]:
        """The one line of JSON that describes a stage."""
        content = read_limited(path, _MAX_METADATA, "file of metadata")
        lines = content.replace(b"\r", b"\n").removesuffix(b"\n").split(b"\n", 1)
        if len(lines) != 1:
            raise ModelReadError(f"{path}: the metadata of {where} have more than one line. The model is damaged or forged.")
        metadata = read_json(lines[0], f"{path}", ModelReadError)
        if not isinstance(metadata, dict) or not set(metadata) >= set(_METADATA):
            raise ModelReadError(
                f"{path}: the metadata of {where} are not {', '.join(_METADATA)}; fit and log the model again."
            )
        texts = [metadata["class"], metadata["uid"], metadata["sparkVersion"]]
        if not all(isinstance(text, str) for text in texts) or not _UID.fullmatch(metadata["uid"]):
            raise ModelReadError(f"{path}: class, uid or version of {where} are not names; fit and log the model again.")
        if not all(isinstance(metadata[key], dict) for key in ("paramMap", "defaultParamMap")):
            raise ModelReadError(f"{path}: the settings of {where} are not a table; fit and log the model again.")
        if not _VERSION.fullmatch(metadata["sparkVersion"]):
            raise UnsupportedModelError(
                f"{path}: {where} was written by Spark {brief(metadata['sparkVersion'])}, and read are 3 and 4; save it "
                "again."
            )
        return metadata


def _not_read(path: str, uid: str) -> str:
    supported: Sequence[str] = list(dict.fromkeys(name.rpartition(".")[2] for name in _KINDS))
    return f"stage '{uid}' is a {brief(path).strip(chr(39))}, which is not read; supported: {', '.join(supported)}. {REMEDY}"
