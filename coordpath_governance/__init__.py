"""coordpath-governance: proved, step-by-step explanations of what changed between two versions of a linear model.

    import coordpath_governance as cg
    report = cg.explain_change("models:/price@champion", "models:/price/7", data="holdout.parquet", target="price")
    cg.solve({"features": ["a", "b"], "cost": {...}, "start": [0, 0], "target": [2.1, -0.9]}).to_dict()

Names are loaded when they are first used, so importing the package is fast, and `solve` never imports MLflow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coordpath_governance._version import __version__
from coordpath_governance.errors import CoordpathError

if TYPE_CHECKING:
    from coordpath_governance.explain import explain_change, front
    from coordpath_governance.governance.load_verified import load_verified
    from coordpath_governance.governance.register import register_with_report
    from coordpath_governance.models import CategoricalTerm, LinearModel, NumericTerm
    from coordpath_governance.models.live import to_coefficients
    from coordpath_governance.paths import model_loss, pareto_front, solve
    from coordpath_governance.registry.reference import log_reference
    from coordpath_governance.rendering.change_report import ChangeReport

__all__ = [
    "CategoricalTerm",
    "ChangeReport",
    "CoordpathError",
    "LinearModel",
    "NumericTerm",
    "__version__",
    "explain_change",
    "front",
    "load_verified",
    "log_reference",
    "model_loss",
    "pareto_front",
    "register_with_report",
    "solve",
    "to_coefficients",
]

_HOME = {
    "CategoricalTerm": "coordpath_governance.models",
    "NumericTerm": "coordpath_governance.models",
    "ChangeReport": "coordpath_governance.rendering.change_report",
    "LinearModel": "coordpath_governance.models",
    "explain_change": "coordpath_governance.explain",
    "front": "coordpath_governance.explain",
    "load_verified": "coordpath_governance.governance.load_verified",
    "log_reference": "coordpath_governance.registry.reference",
    "model_loss": "coordpath_governance.paths",
    "pareto_front": "coordpath_governance.paths",
    "register_with_report": "coordpath_governance.governance.register",
    "solve": "coordpath_governance.paths",
    "to_coefficients": "coordpath_governance.models.live",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is exported
    if name not in _HOME:
        raise AttributeError(f"module 'coordpath_governance' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
