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

__all__ = ["SKLEARN", "check_method", "served_file"]

SKLEARN, _PYFUNC = "sklearn", "python_function"
_LOADER = "mlflow.sklearn"
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    SKLEARN: ("code", "pickled_model", "serialization_format", "sklearn_version", "skops_trusted_types"),
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
    _check_settings(files)
    _check_alone(files, str(name))
    served = files.flavours.get(_PYFUNC, {})
    for key, value in {"loader_module": _LOADER, "model_path": name, "data": name}.items():
        if served.get(key, value) not in (value, None):
            raise UnsupportedModelError(
                f"{files.folder}: MLmodel serves predictions with {key}={served[key]!r} and not from the file {name!r} "
                f"({key}={value!r}); log the model again with mlflow.sklearn.log_model."
            )
    return path, str(settings.get("serialization_format") or "pickle")


def _check_settings(files: ModelFiles) -> None:
    """Refuse what brings code, and settings that MLflow does not write: another version of it could heed them."""
    for flavour, known in _SETTINGS.items():
        found = files.flavours.get(flavour, {})
        for key in found:
            if key not in known:
                raise UnsupportedModelError(
                    f"{files.folder}: MLmodel has the setting {flavour}.{key}, which is not known here and could change "
                    "what is served; log the model again with mlflow.sklearn.log_model."
                )
        for key in _NOTHING_OF:
            if found.get(key) is not None:
                raise UnsupportedModelError(
                    f"{files.folder}: the model brings its own {'code (code_paths)' if key == 'code' else key}, which can "
                    f"change what it predicts; log it without {'code_paths' if key == 'code' else key}."
                )


def _check_alone(files: ModelFiles, name: str) -> None:
    """Refuse a file in a folder of its own, and a second MLmodel: the loader looks for the format beside the file."""
    if "/" in name:
        raise UnsupportedModelError(
            f"{files.folder}: the model's file {name!r} lies in a folder of its own, where MLflow takes it for a pickle "
            "whatever MLmodel says; log the model again with mlflow.sklearn.log_model."
        )
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
