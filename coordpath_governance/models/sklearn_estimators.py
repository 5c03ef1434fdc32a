"""Every estimator we read in scikit-learn's formats, by class name: regressions, classifiers, and those of glum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from coordpath_governance.models.fitted import Fitted
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.glum_models import GLUM
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.sklearn_classifiers import CLASSIFIERS
from coordpath_governance.models.sklearn_glms import GLMS
from coordpath_governance.models.sklearn_regressions import REGRESSIONS

__all__ = ["ESTIMATORS"]

ESTIMATORS: Mapping[str, Callable[[Fitted, Frame, Sequence[str]], LinearModel]] = MappingProxyType(
    {**REGRESSIONS, **GLMS, **CLASSIFIERS, **GLUM}
)
"""What turns a fitted estimator, the columns that reach it and the names of the raw columns into a model."""
