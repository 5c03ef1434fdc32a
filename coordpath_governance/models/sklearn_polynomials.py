"""scikit-learn's PolynomialFeatures: products of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, combinations_with_replacement

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models.fitted import Fitted, plain
from coordpath_governance.models.flows import CombinedFlow, Flow, Frame, SimpleFlow
from coordpath_governance.models.sklearn_components import raise_when_missing
from coordpath_governance.models.tree import brief

__all__ = ["fold_polynomial_features"]

_MOST_PRODUCTS = 100_000

Parts = tuple[tuple[float, tuple[SimpleFlow, ...]], ...]


def fold_polynomial_features(fitted: Fitted, frame: Frame) -> Frame:
    """Every product of columns up to the degree, in scikit-learn's order."""
    low, high = _degrees(fitted)
    bias = fitted.flag("include_bias", True)
    columns = [raise_when_missing(flow, fitted.where) for flow in frame.flows]
    names = frame.names or ("",) * len(columns)
    flows: list[Flow] = []
    labels: list[str] = []
    work = 0
    for chosen in _combinations(len(columns), low, high, fitted.flag("interaction_only", False), bias):
        label = _label([names[i] for i in chosen])
        flow = _product(fitted, [columns[i] for i in chosen], _label([columns[i].label for i in chosen]))
        work += 1 + (len(flow.parts) if isinstance(flow, CombinedFlow) else 0)
        if work > _MOST_PRODUCTS:
            raise _too_many(fitted)
        flows.append(flow)
        labels.append(label)
    made = fitted.count("n_output_features_")
    if made is not None and made != len(flows):
        raise fitted.error(f"'n_output_features_' is {made}, but its degree makes {len(flows)} columns")
    return Frame(tuple(flows), tuple(labels) if frame.names is not None else None, frame.sparse, frame.encodings)


def _degrees(fitted: Fitted) -> tuple[int, int]:
    """The least and the highest degree."""
    value = plain(fitted.get("degree", 2))
    pair = tuple(plain(each) for each in value) if isinstance(value, (tuple, list)) else (0, value)
    if len(pair) != 2 or not all(isinstance(each, int) and not isinstance(each, bool) and 0 <= each <= 64 for each in pair):
        raise fitted.error(f"'degree' is {brief(value)}")
    low, high = pair
    for name, own in (("_min_degree", low), ("_max_degree", high)):
        if fitted.count(name) not in (None, own):
            raise fitted.error(f"'{name}' contradicts 'degree'")
    return int(str(low)), int(str(high))


def _combinations(width: int, low: int, high: int, once: bool, bias: bool) -> Iterator[tuple[int, ...]]:
    choose = combinations if once else combinations_with_replacement
    products = chain.from_iterable(choose(range(width), degree) for degree in range(max(1, low), high + 1))
    return chain([()], products) if bias else products


def _label(names: Sequence[str]) -> str:
    """As scikit-learn names a product: a^2 b."""
    powers = {name: names.count(name) for name in dict.fromkeys(names)}
    return " ".join(name if power == 1 else f"{name}^{power}" for name, power in powers.items()) or "1"


def _too_many(fitted: Fitted) -> UnsupportedModelError:
    return fitted.refusal(f"makes more than {_MOST_PRODUCTS} products of columns, which is more than we read.")


def _product(fitted: Fitted, columns: Sequence[SimpleFlow | CombinedFlow], label: str) -> SimpleFlow | CombinedFlow:
    """The product of columns, sums multiplied out."""
    if len(columns) == 1:
        return columns[0]
    parts: Parts = ((1.0, ()),)
    for column in columns:
        if isinstance(column, CombinedFlow):
            own: Parts = (*column.parts, *(((column.shift, ()),) if column.shift else ()))
        else:
            own = ((1.0, (column,)),)
        if len(parts) * len(own) > _MOST_PRODUCTS:
            raise _too_many(fitted)
        parts = tuple((one * other, (*left, *right)) for one, left in parts for other, right in own)
    shift = sum(weight for weight, factors in parts if not factors)
    return CombinedFlow(label, tuple((weight, factors) for weight, factors in parts if factors), shift)
