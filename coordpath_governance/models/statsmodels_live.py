"""A live, fitted statsmodels result, read from the pickle that statsmodels itself would store; nothing is loaded again."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from dataclasses import replace

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.pickle_stream import read_pickle_bytes
from coordpath_governance.models.statsmodels_folding import fold_result

__all__ = ["from_result"]


def from_result(result: object, feature_names: Sequence[str] | None = None) -> LinearModel:
    """Return a fitted statsmodels result as a `LinearModel`.

    ``feature_names`` names the columns of the design if it was fitted on a bare array. Raises `UnsupportedModelError` with
    the reason if it is not read.
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
