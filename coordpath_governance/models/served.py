"""Which file of a folder MLflow serves from; a folder in which something else decides what is served is refused.

MLflow serves through the flavour ``python_function``: it puts the folder's ``code`` on the path, imports ``loader_module``
and passes it the folder, or the file ``data`` if there is one. The sklearn loader reads the format from the MLmodel next to
that file, and assumes a pickle if there is none. So there must be one MLmodel, and the file must be next to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coordpath_governance.errors import UnsupportedModelError
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
    """A flavour that MLflow writes next to ``python_function``: its name, its settings, and the setting that names the file.

    ``file`` is the name of the file if the setting is left out. ``format`` is its format if MLmodel does not give one.
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
        """What to do about a folder that MLflow has not written in this form."""
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
"""All settings that MLflow itself writes there."""

_BY_POSITION = re.compile(r"x[0-9]+")
_AUTHORS_CODE = ("code", "config", "model_code_path")
"""Settings that add code or configuration of the author."""


def served_file(files: ModelFiles, flavour: ServedFlavour) -> tuple[Path, str]:
    """The file that is loaded when the model is served, and its format.

    Raises `UnsupportedModelError` if it is not clear which file that is, or what is done with it.
    """
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
    """Refuse another loader, and settings of ``python_function`` other than the ``expected`` ones."""
    served = files.flavours.get(_PYFUNC, {})
    for key, value in {"loader_module": flavour.loader, **expected}.items():
        if served.get(key, value) not in (value, None):
            raise UnsupportedModelError(
                f"{files.folder}: MLmodel serves predictions with {key}={brief(served[key])} and not as {flavour.loader} "
                f"does ({key}={brief(value)}); {flavour.advice}."
            )


def check_settings(files: ModelFiles, flavour: ServedFlavour) -> None:
    """Refuse code of the author, unknown settings, a second flavour that we read, and a second MLmodel.

    Another version of MLflow could use a setting that we do not know. Flavours that we do not know are allowed, because
    ``python_function`` does not serve them.
    """
    for name in files.flavours:
        if name != flavour.name and name in _FLAVOURS:
            raise UnsupportedModelError(
                f"{files.folder}: the model has the flavour {brief(name)} besides {flavour.name}, so that it is not clear "
                f"which of them is served; {flavour.advice}, alone."
            )
    allowed: Mapping[str, tuple[str, ...]] = {flavour.name: flavour.settings, _PYFUNC: _PYFUNC_SETTINGS}
    for name, allowed_keys in allowed.items():
        settings = files.flavours.get(name, {})
        for key in settings:
            if key not in allowed_keys:
                raise UnsupportedModelError(
                    f"{files.folder}: MLmodel has the setting {name}.{key}, which is not known here and could change "
                    f"what is served; {flavour.advice}."
                )
        for key in _AUTHORS_CODE:
            if settings.get(key) is not None:
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


def check_interface(files: ModelFiles, model: LinearModel, flavour: ServedFlavour) -> None:
    """Refuse a folder that serves another method than the model's prediction, or passes it columns without names.

    A classifier may also serve its probabilities. If MLflow converts columns to an array, the model takes them by position,
    whatever names it has for them.
    """
    if files.takes_array and not all(_BY_POSITION.fullmatch(column) for column in model.columns):
        raise UnsupportedModelError(
            f"{files.folder}: the signature makes an array without names of the columns, and the model knows their names: "
            f"another order of the columns is served as something else; {flavour.advice}, with a signature of columns."
        )
    methods = ("predict", "predict_proba") if model.classes and flavour is SKLEARN else ("predict",)
    served = files.flavours.get(_PYFUNC, {}).get("predict_fn")
    if served is not None and served not in methods:
        raise UnsupportedModelError(
            f"{files.folder}: MLmodel serves predictions with predict_fn={served!r}, and not with {' or '.join(methods)}; "
            f"{flavour.advice}."
        )
