"""The reader of MLflow's ``sklearn`` flavour in skops format, which is MLflow's default since 3.14."""

from __future__ import annotations

from dataclasses import replace

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.archive import read_archive
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.model_files import ModelFiles
from coordpath_governance.models.sklearn_folding import fold_model

__all__ = ["SklearnReader"]

_FLAVOUR = "sklearn"
_PYFUNC = "python_function"


class SklearnReader:
    """Reads the archive that ``pickled_model`` names; no code of the model is run, no trusted types are honoured."""

    def can_read(self, files: ModelFiles) -> bool:
        """Tell whether this is a scikit-learn model in skops format."""
        return files.flavours.get(_FLAVOUR, {}).get("serialization_format") == "skops"

    def read(self, files: ModelFiles) -> LinearModel:
        """Return the model; the folder must serve the very archive that we read."""
        settings = files.flavours[_FLAVOUR]
        path = files.path(settings.get("pickled_model"))
        _check_served(files, str(settings.get("pickled_model")))
        archive = read_archive(path)
        try:
            model = fold_model(archive, files.columns)
        except UnsupportedModelError as error:
            raise UnsupportedModelError(f"{path}: {error}") from error
        except ModelReadError as error:
            raise ModelReadError(f"{path}: {error}") from error
        _check_prediction(files, model)
        return replace(model, target=files.target)


def _check_served(files: ModelFiles, archive: str) -> None:
    """Refuse a folder whose ``python_function`` flavour would serve something else than the archive we read."""
    served = files.flavours.get(_PYFUNC, {})
    for flavour in (_FLAVOUR, _PYFUNC):
        if files.flavours.get(flavour, {}).get("code") is not None:
            raise UnsupportedModelError(
                f"{files.folder}: the model brings its own code (code_paths), which can change what it predicts; "
                "log it without code_paths."
            )
    expected = {"loader_module": "mlflow.sklearn", "model_path": archive, "data": archive}
    for key, value in expected.items():
        if served.get(key, value) not in (value, None):
            raise UnsupportedModelError(
                f"{files.folder}: MLmodel serves predictions with {key}={served[key]!r} and not by the archive "
                f"'{archive}' ({key}={value!r}); log the model again with mlflow.sklearn.log_model."
            )


def _check_prediction(files: ModelFiles, model: LinearModel) -> None:
    """Refuse a folder that serves another method than the model's prediction: of a classifier also its probabilities."""
    known = ("predict", "predict_proba") if model.classes else ("predict",)
    served = files.flavours.get(_PYFUNC, {}).get("predict_fn")
    if served is not None and served not in known:
        raise UnsupportedModelError(
            f"{files.folder}: MLmodel serves predictions with predict_fn={served!r}, and not with {' or '.join(known)}; "
            "log the model again with mlflow.sklearn.log_model."
        )
