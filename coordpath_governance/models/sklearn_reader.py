"""scikit-learn's models: the reader of MLflow's ``sklearn`` flavour, and the reading of a fitted estimator in memory.

The files are skops archives, pickles and cloudpickles, all read as data. An estimator in memory (of scikit-learn or glum)
is viewed as the tree that its archive would give; neither library is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FunctionType, MappingProxyType

import numpy as np

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.archive import read_archive
from coordpath_governance.models.formats import source_of
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.model_files import ModelFiles
from coordpath_governance.models.names import class_of
from coordpath_governance.models.pickle_objects import read_pickle
from coordpath_governance.models.served import SKLEARN, check_interface, served_file
from coordpath_governance.models.sklearn_curves import BSPLINE
from coordpath_governance.models.sklearn_folding import fold_model, fold_stored
from coordpath_governance.models.tree import ArchivedObject, Named, Opaque, StoredTree

__all__ = ["SklearnReader", "from_estimator"]

_FORMATS: Mapping[str, Callable[[Path], StoredTree]] = MappingProxyType(
    {"skops": read_archive, "pickle": read_pickle, "cloudpickle": read_pickle}
)


class SklearnReader:
    """Reads the file that MLflow would serve from. Nothing in it is run, and its list of trusted types is ignored."""

    def can_read(self, files: ModelFiles) -> bool:
        """Whether MLmodel has the flavour ``sklearn``."""
        return SKLEARN.name in files.flavours

    def read(self, files: ModelFiles) -> LinearModel:
        """The model. Every name in the file must be known, and nothing but the file may decide what is served."""
        path, form = served_file(files, SKLEARN)
        if form not in _FORMATS:
            raise UnsupportedModelError(
                f"{files.folder}: the scikit-learn model is stored as {form!r}, which is not read; supported are "
                f"{', '.join(_FORMATS)}. Log it with mlflow.sklearn.log_model in one of them."
            )
        stored = _FORMATS[form](path)
        try:
            model = fold_stored(stored, files.columns)
        except UnsupportedModelError as error:
            kind = "" if form == "skops" else f" ({form})"
            raise UnsupportedModelError(f"{path}{kind}: {error}") from error
        except ModelReadError as error:
            raise ModelReadError(f"{path}: {error}") from error
        check_interface(files, model, SKLEARN)
        return replace(model, target=files.target, source=source_of(form))


_MAX_DEPTH = 100


def from_estimator(estimator: object, feature_names: Sequence[str] | None = None) -> LinearModel:
    """A fitted estimator of scikit-learn or glum, or a pipeline, as a `LinearModel`.

    ``feature_names`` names the input columns of a model that was fitted on an array without names. Raises
    `UnsupportedModelError`, which names the part that cannot be folded.
    """
    model = fold_model(_View().of(estimator, 0), feature_names)
    is_glum = model.library == "glum"
    version = getattr(sys.modules.get("glum" if is_glum else "sklearn"), "__version__", None)
    library = f"{'glum' if is_glum else 'scikit-learn'} {version}" if version else model.library
    return replace(model, source="a fitted estimator in memory", library=library)


def _stored_version() -> dict[str, object]:
    """The attribute that scikit-learn adds to an object when it is stored."""
    version = getattr(sys.modules.get("sklearn"), "__version__", None)
    return {"_sklearn_version": version} if version else {}


class _View:
    """Views objects as an archive would hold them; each once, so that shared parts stay shared and a cycle ends."""

    def __init__(self) -> None:
        self._views: dict[int, object] = {}

    def of(self, value: object, depth: int) -> object:
        """``value`` as an archive would hold it."""
        if value is None or isinstance(value, (bool, int, float, str, slice, np.generic, np.dtype)):
            return value
        if isinstance(value, np.ndarray):
            return Opaque("a masked array") if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
        if depth > _MAX_DEPTH:
            return Opaque("an object nested too deeply")
        if id(value) not in self._views:
            self._views[id(value)] = Opaque("a reference of an object back to itself")
            self._views[id(value)] = self._open(value, depth)
        return self._views[id(value)]

    def _open(self, value: object, depth: int) -> object:
        if type(value) is list:
            return [self.of(item, depth + 1) for item in value]
        if type(value) is tuple:
            return tuple(self.of(item, depth + 1) for item in value)
        if type(value) is dict:
            return {key: self.of(item, depth + 1) for key, item in value.items()}
        if isinstance(value, FunctionType):
            return Named(f"{value.__module__}.{value.__qualname__}")
        if isinstance(value, np.ufunc):
            return Named(f"numpy.{value.__name__}")
        if isinstance(value, type):
            return Named(f"{value.__module__}.{value.__qualname__}")
        kind = type(value)
        path = f"{kind.__module__}.{kind.__qualname__}"
        if path.startswith("scipy.sparse.") and hasattr(value, "toarray"):
            return np.asarray(value.toarray())
        if path == BSPLINE or (path.startswith("glum.") and class_of(path) is not None):
            return ArchivedObject(path, {str(name): self.of(item, depth + 1) for name, item in vars(value).items()})
        if path.startswith("sklearn.") and hasattr(value, "__dict__"):
            attributes = {str(name): self.of(item, depth + 1) for name, item in vars(value).items()}
            return ArchivedObject(path, {**_stored_version(), **attributes} if attributes else {})
        return Opaque(f"an object of the type {path}")
