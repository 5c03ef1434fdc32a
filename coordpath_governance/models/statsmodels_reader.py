"""statsmodels' models: the reader of MLflow's ``statsmodels`` flavour, and the reading of a fitted result in memory.

The file of the flavour is always a pickle and is read as data. A result in memory is read from the pickle that statsmodels
would store; nothing is unpickled.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.formats import source_of
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.model_files import ModelFiles
from coordpath_governance.models.pickle_objects import read_pickle, read_pickle_bytes
from coordpath_governance.models.pickle_values import PickleLimits
from coordpath_governance.models.served import STATSMODELS, check_interface, served_file
from coordpath_governance.models.statsmodels_folding import fold_result

__all__ = ["StatsmodelsReader", "from_result"]


class StatsmodelsReader:
    """Reads the file that MLflow would serve from. Nothing in it is run, and its formula is not evaluated."""

    def can_read(self, files: ModelFiles) -> bool:
        """Whether MLmodel has the flavour ``statsmodels``."""
        return STATSMODELS.name in files.flavours

    def read(self, files: ModelFiles) -> LinearModel:
        """The model. Every name in the file must be known, and nothing but the file may decide what is served."""
        path, form = served_file(files, STATSMODELS)
        _check_size(path)
        stored = read_pickle(path)
        try:
            model = fold_result(stored, files.columns, files.types)
        except UnsupportedModelError as error:
            raise UnsupportedModelError(f"{path}: {error}") from error
        except ModelReadError as error:
            raise ModelReadError(f"{path}: {error}") from error
        check_interface(files, model, STATSMODELS)
        version = files.flavours[STATSMODELS.name].get("statsmodels_version")
        library = f"statsmodels {version}" if isinstance(version, str) else model.library
        return replace(model, target=files.target or model.target, library=library, source=source_of(form))


def _check_size(path: Path) -> None:
    """Refuse a file that is too large to be read, and say why it is: a result stores its design several times."""
    most = PickleLimits().size
    if path.is_file() and path.stat().st_size > most:
        raise UnsupportedModelError(
            f"{path}: the file has {path.stat().st_size >> 20} MB, more than the {most >> 20} MB that are read, since it "
            "holds the training data several times over; log the model with remove_data=True."
        )


def from_result(result: object, feature_names: Sequence[str] | None = None) -> LinearModel:
    """A fitted statsmodels result as a `LinearModel`.

    ``feature_names`` names the columns of a design that is an array without names. Raises `UnsupportedModelError` with the
    reason if the result is not read.
    """
    try:
        data = pickle.dumps(result, protocol=5)
    except Exception as error:
        raise UnsupportedModelError(
            f"the statsmodels result cannot be pickled ({type(error).__name__}: {str(error)[:200]}), so it could not be "
            "logged either; give a fitted result."
        ) from error
    model = fold_result(read_pickle_bytes(data, "the statsmodels result"), feature_names)
    version = getattr(sys.modules.get("statsmodels"), "__version__", None)
    return replace(
        model,
        source="a fitted result in memory",
        library=f"statsmodels {version}" if version else model.library,
        remarks=tuple(remark for remark in model.remarks if "its file holds" not in remark),
    )
