"""The reader of MLflow's ``statsmodels`` flavour, which is always a pickle, read as data."""

from __future__ import annotations

from dataclasses import replace

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.model_files import ModelFiles
from coordpath_governance.models.pickle_stream import read_pickle
from coordpath_governance.models.served import STATSMODELS, check_method, served_file
from coordpath_governance.models.statsmodels_folding import fold_result

__all__ = ["StatsmodelsReader"]


class StatsmodelsReader:
    """Reads the file that MLflow would serve from; nothing of it is run, its formula neither."""

    def can_read(self, files: ModelFiles) -> bool:
        """Tell whether this is a statsmodels model."""
        return STATSMODELS.name in files.flavours

    def read(self, files: ModelFiles) -> LinearModel:
        """Return the model; every name in the file must be known, and nothing else may decide what is served."""
        path, form = served_file(files, STATSMODELS)
        stored = read_pickle(path)
        try:
            model = fold_result(stored, files.columns)
        except UnsupportedModelError as error:
            raise UnsupportedModelError(f"{path}: {error}") from error
        except ModelReadError as error:
            raise ModelReadError(f"{path}: {error}") from error
        check_method(files, model, STATSMODELS)
        version = files.flavours[STATSMODELS.name].get("statsmodels_version")
        library = f"statsmodels {version}" if isinstance(version, str) else model.library
        return replace(
            model, target=files.target or model.target, library=library, source=f"{model.source} (a {form}, as data)"
        )
