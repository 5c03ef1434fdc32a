"""scikit-learn's TransformedTargetRegressor: a regression of h(y) that predicts h⁻¹ of its score.

The prediction comes from ``regressor_`` and the inverse of ``transformer_``. So a transformer is read only if its inverse
is known: scalers and PowerTransformer compute it from the same numbers, a FunctionTransformer must name it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models.fitted import Fitted, sklearn_class, stored_name
from coordpath_governance.models.flows import CurveFlow, Frame, NumericFlow, RawFlow
from coordpath_governance.models.linear_model import LinearModel, rescaled
from coordpath_governance.models.maps import Affine, Map
from coordpath_governance.models.sklearn_curves import named_function
from coordpath_governance.models.target_maps import canonical_target, fault_of_target
from coordpath_governance.models.tree import ArchivedObject, describe

__all__ = ["TARGETED", "check_invertible", "with_target"]

TARGETED = "TransformedTargetRegressor"
_INVERTED = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PowerTransformer")
_INVERSES: Mapping[str, str] = MappingProxyType(
    {
        "log": "exp",
        "log1p": "expm1",
        "log2": "exp2",
        "sqrt": "square",
        "exp": "log",
        "expm1": "log1p",
        "negative": "negative",
    }
)
"""The functions of numpy that may transform a target, each with its inverse."""


def check_invertible(transformer: object, path: tuple[str, ...]) -> None:
    """Refuse a transformer of the target whose inverse we do not know; the error names the step."""
    pending, visited = [(transformer, path)], set[int]()
    while pending:
        value, where = pending.pop()
        if id(value) in visited or value is None or (isinstance(value, str) and value == "passthrough"):
            continue
        visited.add(id(value))
        name, step = sklearn_class(value), f"step '{'/'.join(where)}'"
        if not isinstance(value, ArchivedObject) or name not in (*_INVERTED, "FunctionTransformer", "Pipeline"):
            raise UnsupportedModelError(
                f"{step} transforms the target and is {describe(value)}, whose inverse is not exact or not known; "
                f"known are {', '.join(_INVERTED)}, and FunctionTransformer or func and inverse_func with "
                f"{', '.join(f'np.{name} and np.{inverse}' for name, inverse in _INVERSES.items())}."
            )
        fitted = Fitted(value, step)
        if name == "Pipeline":
            steps = fitted.required("steps")
            pairs = [pair for pair in steps if isinstance(pair, (list, tuple))] if isinstance(steps, list) else []
            pending.extend(
                (part, (*where, str(part_name))) for part_name, part in (pair for pair in pairs if len(pair) == 2)
            )
        elif name == "FunctionTransformer":
            _check_functions(fitted)
        elif name in ("MinMaxScaler", "MaxAbsScaler") and fitted.flag("clip", False):
            raise fitted.refusal("clips the target, which cannot be taken back; leave out clip.")


def _check_functions(fitted: Fitted) -> None:
    """Refuse a FunctionTransformer whose two functions are not inverse to each other. One without functions is fine."""
    function, back = fitted.get("func"), fitted.get("inverse_func")
    if fitted.get("kw_args") in (None, {}) and fitted.get("inv_kw_args") in (None, {}):
        if function is None and back is None:
            return
        inverse = _INVERSES.get(named_function(function) or "")
        if inverse is not None and named_function(back) == inverse:
            return
    both = " and ".join("no function" if item is None else stored_name(item) for item in (function, back))
    raise fitted.refusal(
        f"transforms the target with {both} (func and inverse_func), which are not a pair of inverse functions that we "
        f"know: known are {', '.join(f'np.{name} and np.{other}' for name, other in _INVERSES.items())}, without kw_args."
    )


def with_target(fitted: Fitted, model: LinearModel, transformed: Frame) -> LinearModel:
    """The regression within, with the function of the target that it predicts.

    An affine map at the end of the transformation goes into the score: with h(y) = scale·g(y) + shift, a score s of h(y) is
    the score (s − shift)/scale of g(y).
    """
    if model.family != "gaussian":
        raise fitted.refusal(
            f"transforms the target of a {model.estimator}, whose deviance is one of the target itself; fit the regressor "
            "without transforming its target."
        )
    maps, last = canonical_target((*_chain(fitted, transformed), *model.target_map))
    fault = fault_of_target(maps)
    if fault is not None:
        raise fitted.refusal(f"is not read: {fault}; known are scalers, log, log1p, sqrt and PowerTransformer.")
    try:
        score = rescaled(model, 1.0 / last.scale, -last.shift / last.scale)
    except (ZeroDivisionError, OverflowError) as error:
        raise fitted.error("its transformer scales the target by zero, or so far that its coefficients overflow") from error
    return replace(score, target_map=maps, estimator=f"{TARGETED} ({model.estimator})")


def _chain(fitted: Fitted, transformed: Frame) -> tuple[Map, ...]:
    """The transformation of the target as a chain of maps."""
    flow = transformed.flows[0] if len(transformed) == 1 else None
    if isinstance(flow, RawFlow):
        return ()
    if not isinstance(flow, NumericFlow | CurveFlow):
        raise fitted.error("its transformer does not make one column of the target")
    before = flow.maps if isinstance(flow, CurveFlow) else ()
    return (*before, Affine(flow.scale, flow.shift))
