"""Which file of a folder MLflow's own loaders serve from, and refusals of folders where something else has a say.

MLflow serves through the flavour ``python_function``: it puts the folder's ``code`` on the path, imports ``loader_module``
and gives it the folder, or the file ``data`` if there is one. The sklearn loader takes the format from the MLmodel beside
that file; where there is none it takes a pickle. So there must be one MLmodel, and the file must lie beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.model_files import ModelFiles
from coordpath_governance.models.tree import brief

__all__ = [
    "SKLEARN",
    "SPARK",
    "STATSMODELS",
    "ServedFlavour",
    "check_interface",
    "check_served",
    "check_settings",
    "served_file",
]


@dataclass(frozen=True)
class ServedFlavour:
    """A flavour that MLflow writes beside ``python_function``: its name, what it may say, and which setting names the file.

    ``file``: the name if the setting is left out. ``format``: that of every file, if MLmodel does not say it.
    """

    name: str
    settings: tuple[str, ...]
    names_file: str
    format: str = "pickle"
    file: str | None = None

    @property
    def loader(self) -> str:
        """The module that loads it."""
        return f"mlflow.{self.name}"

    @property
    def advice(self) -> str:
        """What to do about a folder that is not as MLflow writes it."""
        return f"log the model again with {self.loader}.log_model"


SKLEARN = ServedFlavour(
    "sklearn", ("code", "pickled_model", "serialization_format", "sklearn_version", "skops_trusted_types"), "pickled_model"
)
STATSMODELS = ServedFlavour("statsmodels", ("code", "data", "statsmodels_version"), "data", file="model.statsmodels")
SPARK = ServedFlavour("spark", ("code", "model_class", "model_data", "pyspark_version"), "model_data", format="parquet")

_FLAVOURS = (SKLEARN.name, STATSMODELS.name, SPARK.name)
_PYFUNC = "python_function"
_PYFUNC_SETTINGS = (
    *("code", "config", "data", "env", "loader_module", "model_code_path", "model_path", "predict_fn"),
    *("python_version", "streamable"),
)
"""Everything that MLflow itself writes there."""

_BY_POSITION = re.compile(r"x[0-9]+")
_NOTHING_OF = ("code", "config", "model_code_path")
"""Settings that bring code or configuration of the author's."""


def served_file(files: ModelFiles, flavour: ServedFlavour) -> tuple[Path, str]:
    """The file that is loaded when the model is served, and its format; an `UnsupportedModelError` where it is not clear."""
    settings = files.flavours[flavour.name]
    name = settings.get(flavour.names_file, flavour.file)
    path = files.path(name)
    check_settings(files, flavour)
    if "/" in str(name):
        raise UnsupportedModelError(
            f"{files.folder}: the model's file {name!r} lies in a folder of its own, where MLflow takes it for a pickle "
            f"whatever MLmodel says; {flavour.advice}."
        )
    check_served(files, flavour, {"model_path": name, "data": name})
    return path, str(settings.get("serialization_format") or flavour.format)


def check_served(files: ModelFiles, flavour: ServedFlavour, expected: Mapping[str, object]) -> None:
    """Refuse another loader, and settings of ``python_function`` that are there and are not the expected ones."""
    served = files.flavours.get(_PYFUNC, {})
    for key, value in {"loader_module": flavour.loader, **expected}.items():
        if served.get(key, value) not in (value, None):
            raise UnsupportedModelError(
                f"{files.folder}: MLmodel serves predictions with {key}={brief(served[key])} and not as {flavour.loader} "
                f"does ({key}={brief(value)}); {flavour.advice}."
            )


def check_settings(files: ModelFiles, flavour: ServedFlavour) -> None:
    """Refuse what brings code, what MLflow does not write there, a second flavour that we read, and a second MLmodel.

    Another version of MLflow could heed a setting that is not known here. Flavours that we do not know may stand beside:
    they are not what ``python_function`` serves.
    """
    for name in files.flavours:
        if name != flavour.name and name in _FLAVOURS:
            raise UnsupportedModelError(
                f"{files.folder}: the model has the flavour {brief(name)} besides {flavour.name}, so that it is not clear "
                f"which of them is served; {flavour.advice}, alone."
            )
    known_settings: Mapping[str, tuple[str, ...]] = {flavour.name: flavour.settings, _PYFUNC: _PYFUNC_SETTINGS}
    for name, known in known_settings.items():
        found = files.flavours.get(name, {})
        for key in found:
            if key not in known:
                raise UnsupportedModelError(
                    f"{files.folder}: MLmodel has the setting {name}.{key}, which is not known here and could change "
                    f"what is served; {flavour.advice}."
                )
        for key in _NOTHING_OF:
            if found.get(key) is not None:
                raise UnsupportedModelError(
                    f"{files.folder}: the model brings its own {'code (code_paths)' if key == 'code' else key}, which can "
                    f"change what it predicts; log it without {'code_paths' if key == 'code' else key}."
                )
    for path in files.folder.rglob("MLmodel"):
        if path.parent != files.folder:
            raise UnsupportedModelError(
                f"{files.folder}: there is a second MLmodel in '{path.parent.relative_to(files.folder)}', so that it is not "
                "clear which of them is served; log the model again."
            )


def check_interface(files: ModelFiles, model: LinearModel | DecisionTree, flavour: ServedFlavour) -> None:
    """Refuse a folder that serves another method than the model's prediction, or gives it columns without their names.

    Of a classifier its probabilities may be served too. Columns that MLflow has made an array of go by their position,
    whatever the model calls them.
    """
    if files.takes_array and not all(_BY_POSITION.fullmatch(column) for column in model.columns):
        raise UnsupportedModelError(
            f"{files.folder}: the signature makes an array without names of the columns, and the model knows their names: "
            f"another order of the columns is served as something else; {flavour.advice}, with a signature of columns."
        )
    known = ("predict", "predict_proba") if model.classes and flavour is SKLEARN else ("predict",)
    served = files.flavours.get(_PYFUNC, {}).get("predict_fn")
    if served is not None and served not in known:
        raise UnsupportedModelError(
            f"{files.folder}: MLmodel serves predictions with predict_fn={served!r}, and not with {' or '.join(known)}; "
            f"{flavour.advice}."
        )
