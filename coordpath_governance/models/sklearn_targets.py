"""scikit-learn's TransformedTargetRegressor: a regression of h(y) that serves h⁻¹ of its score.

What is served comes from ``regressor_`` and the inverse of ``transformer_``. So a transformer is read only if its inverse is
known to be the inverse: scalers and PowerTransformer compute it from the same numbers, a FunctionTransformer must name it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models.fitted import Fitted, named, sklearn_class
from coordpath_governance.models.flows import CurveFlow, Frame, NumericFlow, RawFlow
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.maps import Affine, Map
from coordpath_governance.models.rescaling import rescaled
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
"""numpy's functions that a target may be transformed by, each with the function that takes it back."""


def check_invertible(transformer: object, path: tuple[str, ...]) -> None:
    """Refuse a transformer of the target whose inverse is not one that we know, by the name of the step."""
    left, seen = [(transformer, path)], set[int]()
    while left:
        value, where = left.pop()
        if id(value) in seen or value is None or (isinstance(value, str) and value == "passthrough"):
            continue
        seen.add(id(value))
        name, step = sklearn_class(value), f"step '{'/'.join(where)}'"
        if not isinstance(value, ArchivedObject) or name not in (*_INVERTED, "FunctionTransformer", "Pipeline"):
            raise UnsupportedModelError(
                f"{step} transforms the target and is {describe(value)}, whose inverse is not exact or not known; "
                f"known are {', '.join(_INVERTED)}, and FunctionTransformer or func and inverse_func with "
                f"{', '.join(f'np.{one} and np.{back}' for one, back in _INVERSES.items())}."
            )
        fitted = Fitted(value, step)
        if name == "Pipeline":
            steps = fitted.required("steps")
            pairs = [pair for pair in steps if isinstance(pair, (list, tuple))] if isinstance(steps, list) else []
            left.extend((part, (*where, str(part_name))) for part_name, part in (pair for pair in pairs if len(pair) == 2))
        elif name == "FunctionTransformer":
            _check_functions(fitted)
        elif name in ("MinMaxScaler", "MaxAbsScaler") and fitted.flag("clip", False):
            raise fitted.refusal("clips the target, which cannot be taken back; leave out clip.")


def _check_functions(fitted: Fitted) -> None:
    """The two functions are one another's inverse; without either it hands the target on as it is."""
    there, back = fitted.get("func"), fitted.get("inverse_func")
    if fitted.get("kw_args") in (None, {}) and fitted.get("inv_kw_args") in (None, {}):
        if there is None and back is None:
            return
        inverse = _INVERSES.get(named_function(there) or "")
        if inverse is not None and named_function(back) == inverse:
            return
    both = " and ".join("no function" if each is None else named(each) for each in (there, back))
    raise fitted.refusal(
        f"transforms the target with {both} (func and inverse_func), which are not a pair of inverse functions that we "
        f"know: known are {', '.join(f'np.{one} and np.{other}' for one, other in _INVERSES.items())}, without kw_args."
    )


def with_target(fitted: Fitted, model: LinearModel, transformed: Frame) -> LinearModel:
    """The regression within, told of the target: what is affine at the end of the transformation goes into the score.

    With h(y) = scale·g(y) + shift, a score s of h(y) is the score (s − shift)/scale of g(y).
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
    """What the transformer does to the target, as maps."""
    flow = transformed.flows[0] if len(transformed) == 1 else None
    if isinstance(flow, RawFlow):
        return ()
    if not isinstance(flow, NumericFlow | CurveFlow):
        raise fitted.error("its transformer does not make one column of the target")
    before = flow.maps if isinstance(flow, CurveFlow) else ()
    return (*before, Affine(flow.scale, flow.shift))
