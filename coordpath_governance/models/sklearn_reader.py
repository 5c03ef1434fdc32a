"""The reader of MLflow's ``sklearn`` flavour: skops archives, pickles and cloudpickles, all of them as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.archive import read_archive
from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.models.formats import source_of
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.model_files import ModelFiles
from coordpath_governance.models.pickle_stream import read_pickle
from coordpath_governance.models.served import SKLEARN, check_interface, served_file
from coordpath_governance.models.sklearn_folding import fold_stored
from coordpath_governance.models.sklearn_trees import is_tree, read_tree
from coordpath_governance.models.tree import StoredTree

__all__ = ["SklearnReader"]

_FORMATS: Mapping[str, Callable[[Path], StoredTree]] = MappingProxyType(
    {"skops": read_archive, "pickle": read_pickle, "cloudpickle": read_pickle}
)


class SklearnReader:
    """Reads the file that MLflow would serve from; nothing of it is run, and no trusted types are honoured."""

    def can_read(self, files: ModelFiles) -> bool:
        """Tell whether this is a scikit-learn model."""
        return SKLEARN.name in files.flavours

    def read(self, files: ModelFiles) -> LinearModel | DecisionTree:
        """Return the model; every name in the file must be known, and nothing else may decide what is served."""
        path, form = served_file(files, SKLEARN)
        if form not in _FORMATS:
            raise UnsupportedModelError(
                f"{files.folder}: the scikit-learn model is stored as {form!r}, which is not read; supported are "
                f"{', '.join(_FORMATS)}. Log it with mlflow.sklearn.log_model in one of them."
            )
        stored = _FORMATS[form](path)
        try:
            model = (read_tree if is_tree(stored.root) else fold_stored)(stored, files.columns)
        except UnsupportedModelError as error:
            told = "" if form == "skops" else f" ({form})"
            raise UnsupportedModelError(f"{path}{told}: {error}") from error
        except ModelReadError as error:
            raise ModelReadError(f"{path}: {error}") from error
        check_interface(files, model, SKLEARN)
        return replace(model, target=files.target, source=source_of(form))
