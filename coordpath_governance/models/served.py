"""Which file of a folder MLflow's ``sklearn`` loader serves from, and refusals of folders where something else has a say.

MLflow serves through the flavour ``python_function``: it puts the folder's ``code`` on the path, imports ``loader_module``
and gives it the folder, or the file ``data`` if there is one. The loader takes the format from the MLmodel beside that file;
where there is none it takes a pickle. So there must be one MLmodel, and the file must lie beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.model_files import ModelFiles
from coordpath_governance.models.tree import brief

__all__ = ["SKLEARN", "check_alone", "check_method", "check_served", "check_settings", "served_file"]

SKLEARN, _PYFUNC = "sklearn", "python_function"
_LOADER = "mlflow.sklearn"
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    SKLEARN: ("code", "pickled_model", "serialization_format", "sklearn_version", "skops_trusted_types"),
    "spark": ("code", "model_class", "model_data", "pyspark_version"),
    _PYFUNC: (
        *("code", "config", "data", "env", "loader_module", "model_code_path", "model_path", "predict_fn"),
        *("python_version", "streamable"),
    ),
}
"""Everything that MLflow itself writes there."""

_NOTHING_OF = ("code", "config", "model_code_path")
"""Settings that bring code or configuration of the author's."""


def served_file(files: ModelFiles) -> tuple[Path, str]:
    """The file that is loaded when the model is served, and its format; an `UnsupportedModelError` where it is not clear."""
    settings = files.flavours[SKLEARN]
    name = settings.get("pickled_model")
    path = files.path(name)
    check_settings(files, SKLEARN)
    if "/" in str(name):
        raise UnsupportedModelError(
            f"{files.folder}: the model's file {name!r} lies in a folder of its own, where MLflow takes it for a pickle "
            "whatever MLmodel says; log the model again with mlflow.sklearn.log_model."
        )
    check_alone(files)
    check_served(files, SKLEARN, {"loader_module": _LOADER, "model_path": name, "data": name})
    return path, str(settings.get("serialization_format") or "pickle")


def check_served(files: ModelFiles, flavour: str, expected: Mapping[str, object]) -> None:
    """Refuse settings of ``python_function`` that are there and are not the expected ones."""
    served = files.flavours.get(_PYFUNC, {})
    for key, value in expected.items():
        if served.get(key, value) not in (value, None):
            raise UnsupportedModelError(
                f"{files.folder}: MLmodel serves predictions with {key}={brief(served[key])} and not as mlflow.{flavour} "
                f"does ({key}={brief(value)}); log the model again with mlflow.{flavour}.log_model."
            )


def check_settings(files: ModelFiles, flavour: str) -> None:
    """Refuse what brings code, and settings that MLflow does not write: another version of it could heed them."""
    for each, known in ((each, _SETTINGS[each]) for each in (flavour, _PYFUNC)):
        found = files.flavours.get(each, {})
        for key in found:
            if key not in known:
                raise UnsupportedModelError(
                    f"{files.folder}: MLmodel has the setting {each}.{key}, which is not known here and could change "
                    f"what is served; log the model again with mlflow.{flavour}.log_model."
                )
        for key in _NOTHING_OF:
            if found.get(key) is not None:
                raise UnsupportedModelError(
                    f"{files.folder}: the model brings its own {'code (code_paths)' if key == 'code' else key}, which can "
                    f"change what it predicts; log it without {'code_paths' if key == 'code' else key}."
                )


def check_alone(files: ModelFiles) -> None:
    """Refuse a second MLmodel."""
    for path in files.folder.rglob("MLmodel"):
        if path.parent != files.folder:
            raise UnsupportedModelError(
                f"{files.folder}: there is a second MLmodel in '{path.parent.relative_to(files.folder)}', so that it is not "
                "clear which of them is served; log the model again."
            )


def check_method(files: ModelFiles, model: LinearModel) -> None:
    """Refuse a folder that serves another method than the model's prediction: of a classifier also its probabilities."""
    known = ("predict", "predict_proba") if model.classes else ("predict",)
    served = files.flavours.get(_PYFUNC, {}).get("predict_fn")
    if served is not None and served not in known:
        raise UnsupportedModelError(
            f"{files.folder}: MLmodel serves predictions with predict_fn={served!r}, and not with {' or '.join(known)}; "
            "log the model again with mlflow.sklearn.log_model."
        )
