"""`to_coefficients`: a model's own coefficients written down, for registries that hold it in a form we do not read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coordpath_governance.errors import UsageError
from coordpath_governance.models.coefficients_json import to_document
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.live import from_fitted

__all__ = ["to_coefficients"]


def to_coefficients(
    model: Any,  # noqa: ANN401 - a fitted estimator or result, or a LinearModel
    path: str | Path | None = None,
    feature_names: Sequence[str] | None = None,
) -> dict[str, object]:
    """The ``coefficients.json`` of a fitted scikit-learn estimator, a fitted statsmodels result or a `LinearModel`.

    It is also written to ``path`` if that is given. ``feature_names`` names the input columns of a model that was fitted
    on a bare array. What cannot be written as a
    linear model is an `UnsupportedModelError` that says why.
    """
    document = to_document(model if isinstance(model, LinearModel) else from_fitted(model, feature_names))
    if path is not None:
        try:
            Path(path).write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write '{path}': {error.strerror}") from error
    return document
