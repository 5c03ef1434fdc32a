"""Maps of one number to another, the closed list of what a model may do to a column before it is weighted.

    affine           scale·x + shift              power       xᵏ for a whole k ≥ 2
    scaled           (x − centre) / divisor
    log, sqrt, …     numpy's functions by name    clip        x within [low, high]
    within           x, defined in [low, high] only
    steps            a value for every interval between edges
    spline           Σ c_i B_i(x) with B-splines on knots, and what it is beyond them
    yeo-johnson      box-cox                      quantile    an interpolated distribution function

A number outside of a map's domain becomes NaN, which no model can score. Missing values are handled before.

(x − centre)/divisor and scale·x + shift are two maps because they round differently: a row exactly on an edge of steps
after a scaler must fall on the same side as in scikit-learn's own arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ELEMENTARY",
    "MAPS",
    "Affine",
    "BoxCox",
    "Clip",
    "Elementary",
    "Map",
    "Power",
    "Quantile",
    "Scaled",
    "Spline",
    "Steps",
    "Within",
    "YeoJohnson",
    "apply_all",
    "finite",
    "map_document",
    "preimages",
    "without_identities",
]

Array = NDArray[np.float64]
Extrapolation: TypeAlias = Literal["constant", "linear", "continue", "periodic", "error"]

_NEAR_ZERO = float(np.spacing(1.0))
_BOUNDS = 1e-7
"""With normal output, scikit-learn treats a number this close to an end of its quantiles as that end."""


@dataclass(frozen=True)
class Affine:
    """scale·x + shift."""

    kind: ClassVar[str] = "affine"
    scale: float
    shift: float = 0.0

    @property
    def changes_nothing(self) -> bool:
        """Whether it maps every number to itself."""
        return self.scale == 1.0 and self.shift == 0.0

    def of(self, number: float) -> float:
        """The map of one number."""
        return self.scale * number + self.shift

    def apply(self, x: Array) -> Array:
        """The map of every number."""
        return self.scale * x + self.shift

    def preimage(self, points: Array) -> Array:
        """The numbers that the map takes to these points."""
        return (points - self.shift) / self.scale if self.scale else points[:0]

    def breaks(self) -> Array:
        """Where the map bends or jumps."""
        return np.empty(0)


@dataclass(frozen=True)
class Scaled:
    """(x − centre) / divisor, in two operations as scalers do it."""

    kind: ClassVar[str] = "scaled"
    centre: float
    divisor: float

    def __post_init__(self) -> None:
        if self.divisor == 0.0:
            raise ValueError("the divisor is 0")

    @property
    def scale(self) -> float:
        """The factor of x."""
        return 1.0 / self.divisor

    @property
    def shift(self) -> float:
        """The map of 0."""
        return -self.centre / self.divisor

    @property
    def changes_nothing(self) -> bool:
        """Whether it maps every number to itself."""
        return self.centre == 0.0 and self.divisor == 1.0

    def of(self, number: float) -> float:
        """The map of one number."""
        return (number - self.centre) / self.divisor

    def apply(self, x: Array) -> Array:
        """The map of every number."""
        return (x - self.centre) / self.divisor

    def preimage(self, points: Array) -> Array:
        """The numbers that the map takes to these points."""
        return points * self.divisor + self.centre

    def breaks(self) -> Array:
        """No points."""
        return np.empty(0)


_SQUARE_ROOTS = ("square", "absolute")
ELEMENTARY: Mapping[str, tuple[np.ufunc, np.ufunc | None]] = MappingProxyType(
    {
        "log": (np.log, np.exp),
        "log1p": (np.log1p, np.expm1),
        "log2": (np.log2, np.exp2),
        "log10": (np.log10, None),
        "sqrt": (np.sqrt, np.square),
        "cbrt": (np.cbrt, None),
        "exp": (np.exp, np.log),
        "expm1": (np.expm1, np.log1p),
        "square": (np.square, np.sqrt),
        "absolute": (np.absolute, np.absolute),
        "reciprocal": (np.reciprocal, np.reciprocal),
    }
)
"""The functions of numpy that we know, each with its inverse; None if the inverse is not a function of numpy."""


@dataclass(frozen=True)
class Elementary:
    """One of numpy's functions, by its name."""

    kind: ClassVar[str] = "function"
    name: str

    def __post_init__(self) -> None:
        if self.name not in ELEMENTARY:
            raise ValueError(f"'{self.name}' is not one of {', '.join(ELEMENTARY)}")

    def apply(self, x: Array) -> Array:
        """The map of every number."""
        return cast("Array", ELEMENTARY[self.name][0](x))

    def preimage(self, points: Array) -> Array:
        """The numbers that the map takes to these points."""
        if self.name == "log10":
            return np.power(10.0, points)
        if self.name == "cbrt":
            return points**3
        inverse = cast("np.ufunc", ELEMENTARY[self.name][1])
        back: Array = inverse(points)
        return np.concatenate([-back, back]) if self.name in _SQUARE_ROOTS else back

    def breaks(self) -> Array:
        """Where the map bends or jumps, or its domain ends."""
        return np.array([-1.0, 0.0]) if self.name == "log1p" else np.zeros(1)


@dataclass(frozen=True)
class Power:
    """x to a whole power."""

    kind: ClassVar[str] = "power"
    exponent: int

    def __post_init__(self) -> None:
        if isinstance(self.exponent, bool) or not isinstance(self.exponent, int) or not 2 <= self.exponent <= 64:
            raise ValueError("an exponent is a whole number from 2 to 64")

    def apply(self, x: Array) -> Array:
        """The map of every number."""
        return x**self.exponent

    def preimage(self, points: Array) -> Array:
        """The numbers that the map takes to these points."""
        back = np.sign(points) * np.abs(points) ** (1.0 / self.exponent)
        return np.concatenate([-back, back])

    def breaks(self) -> Array:
        """No points."""
        return np.empty(0)


@dataclass(frozen=True)
class Clip:
    """x limited to [``low``, ``high``]."""

    kind: ClassVar[str] = "clip"
    low: float
    high: float

    def apply(self, x: Array) -> Array:
        """The map of every number."""
        return np.clip(x, self.low, self.high)

    def preimage(self, points: Array) -> Array:
        """The numbers that the map takes to these points."""
        return points[(points >= self.low) & (points <= self.high)]

    def breaks(self) -> Array:
        """Both ends."""
        return np.array([self.low, self.high])


@dataclass(frozen=True)
class Within:
    """x itself in [``low``, ``high``], NaN outside. An end that is None is open."""

    kind: ClassVar[str] = "within"
    low: float | None
    high: float | None

    def __post_init__(self) -> None:
        ends = [end for end in (self.low, self.high) if end is not None]
        if not ends or any(low > high for low, high in pairwise(ends)):
            raise ValueError("a range has an end, and its lower end is not above its upper end")

    def apply(self, x: Array) -> Array:
        """The map of every number."""
        low, high = -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high
        return np.where((x >= low) & (x <= high), x, np.nan)

    def preimage(self, points: Array) -> Array:
        """The numbers that the map takes to these points."""
        return points[np.isfinite(self.apply(points))]

    def breaks(self) -> Array:
        """The ends that are not open."""
        return np.array([end for end in (self.low, self.high) if end is not None], dtype=np.float64)


@dataclass(frozen=True)
class Steps:
    """``values[i]`` where x lies behind i of the ``edges``. An edge belongs to the interval behind it or before it."""

    kind: ClassVar[str] = "steps"
    edges: tuple[float, ...]
    values: tuple[float, ...]
    edge_belongs: Literal["behind", "before"] = "behind"

    def __post_init__(self) -> None:
        if len(self.values) != len(self.edges) + 1:
            raise ValueError(f"{len(self.edges)} edges part {len(self.edges) + 1} intervals, not {len(self.values)}")
        if any(low > high for low, high in pairwise(self.edges)):
            raise ValueError("the edges are not in order")
        if self.edge_belongs not in ("behind", "before"):
            raise ValueError("an edge belongs 'behind' or 'before'")

    def apply(self, x: Array) -> Array:
        """The map of every number."""
        side: Literal["left", "right"] = "right" if self.edge_belongs == "behind" else "left"
        values = np.asarray(self.values, dtype=np.float64)[np.searchsorted(np.asarray(self.edges), x, side=side)]
        return np.where(np.isnan(x), np.nan, values)

    def preimage(self, points: Array) -> Array:
        """No points: the map takes only a few values."""
        return points[:0]

    def breaks(self) -> Array:
        """The edges."""
        return np.asarray(self.edges, dtype=np.float64)


@dataclass(frozen=True)
class Spline:
    """Σ c_i B_i(x), the B-splines of ``degree`` on ``knots``; beyond the base interval as ``extrapolation`` says."""

    kind: ClassVar[str] = "spline"
    knots: tuple[float, ...]
    degree: int
    coefficients: tuple[float, ...]
    extrapolation: Extrapolation

    def __post_init__(self) -> None:
        if isinstance(self.degree, bool) or not isinstance(self.degree, int) or not 1 <= self.degree <= 20:
            raise ValueError("the degree of a spline is a whole number from 1 to 20")
        if len(self.coefficients) != len(self.knots) - self.degree - 1 or len(self.coefficients) <= self.degree:
            raise ValueError(
                "a spline has as many coefficients as knots, but for its degree and one, and more than its degree"
            )
        if any(low > high for low, high in pairwise(self.knots)) or not self._low < self._high:
            raise ValueError("the knots of a spline are not in order")
        if self.extrapolation not in ("constant", "linear", "continue", "periodic", "error"):
            raise ValueError("a spline goes on constant, linear, continue, periodic, or is an error")

    @property
    def _low(self) -> float:
        return self.knots[self.degree]

    @property
    def _high(self) -> float:
        return self.knots[-self.degree - 1]

    def apply(self, x: Array) -> Array:
        """The map of every number; NaN beyond the base interval if that is an error."""
        from scipy.interpolate import BSpline

        spline = BSpline(np.asarray(self.knots), np.asarray(self.coefficients), self.degree)
        low, high = self._low, self._high
        if self.extrapolation == "continue":
            return cast("Array", spline(x))
        if self.extrapolation == "periodic":
            return cast("Array", spline(low + (x - low) % (high - low)))
        within: Array = spline(np.clip(x, low, high))
        if self.extrapolation == "constant":
            return within
        if self.extrapolation == "error":
            return np.where((x >= low) & (x <= high), within, np.nan)
        below, above = np.minimum(x - low, 0.0), np.maximum(x - high, 0.0)
        return within + below * float(spline(low, 1)) + above * float(spline(high, 1))

    def preimage(self, points: Array) -> Array:
        """No points: a spline is not inverted here."""
        return points[:0]

    def breaks(self) -> Array:
        """The knots."""
        return np.unique(np.asarray(self.knots))


@dataclass(frozen=True)
class YeoJohnson:
    """((x + 1)^λ − 1)/λ for x ≥ 0, −((1 − x)^(2 − λ) − 1)/(2 − λ) below; logarithms where the exponent is 0."""

    kind: ClassVar[str] = "yeo-johnson"
    power: float

    def apply(self, x: Array) -> Array:
        """The map of every number."""
        right, left = np.maximum(x, 0.0), np.maximum(-x, 0.0)
        return np.where(x >= 0.0, _powered(right, self.power), -_powered(left, 2.0 - self.power)) + 0.0 * x

    def preimage(self, points: Array) -> Array:
        """The numbers that the map takes to these points."""
        right, left = _unpowered(points, self.power), -_unpowered(-points, 2.0 - self.power)
        return np.where(points >= 0.0, right, left)

    def breaks(self) -> Array:
        """Zero."""
        return np.zeros(1)


def _powered(x: Array, power: float) -> Array:
    """((x + 1)^p − 1)/p, or log(x + 1)."""
    return np.log1p(x) if abs(power) < _NEAR_ZERO else np.expm1(power * np.log1p(x)) / power


def _unpowered(y: Array, power: float) -> Array:
    return np.expm1(y) if abs(power) < _NEAR_ZERO else np.expm1(np.log1p(y * power) / power)


@dataclass(frozen=True)
class BoxCox:
    """(x^λ − 1)/λ for x > 0, log x where λ is 0."""

    kind: ClassVar[str] = "box-cox"
    power: float

    def apply(self, x: Array) -> Array:
        """The map of every number."""
        from scipy.special import boxcox

        return np.where(x > 0.0, boxcox(np.where(x > 0.0, x, 1.0), self.power), np.nan)

    def preimage(self, points: Array) -> Array:
        """The numbers that the map takes to these points."""
        from scipy.special import inv_boxcox

        return cast("Array", inv_boxcox(points, self.power))

    def breaks(self) -> Array:
        """Zero, where the domain ends, and one."""
        return np.array([0.0, 1.0])


@dataclass(frozen=True)
class Quantile:
    """The share of ``quantiles`` below x, interpolated over ``references``; or the normal quantile of that share."""

    kind: ClassVar[str] = "quantile"
    quantiles: tuple[float, ...]
    references: tuple[float, ...]
    output: Literal["uniform", "normal"]

    def __post_init__(self) -> None:
        if len(self.quantiles) != len(self.references) or not self.quantiles:
            raise ValueError("a quantile map has as many quantiles as references, and at least one")
        if any(low > high for numbers in (self.quantiles, self.references) for low, high in pairwise(numbers)):
            raise ValueError("quantiles or references are not in order")
        if self.output not in ("uniform", "normal"):
            raise ValueError("the output of a quantile map is uniform or normal")

    def apply(self, x: Array) -> Array:
        """The map of every number, computed as in scikit-learn: from both sides, because quantiles may repeat."""
        from scipy.special import ndtri

        quantiles, references = np.asarray(self.quantiles), np.asarray(self.references)
        share = 0.5 * (np.interp(x, quantiles, references) - np.interp(-x, -quantiles[::-1], -references[::-1]))
        normal = self.output == "normal"
        near = _BOUNDS if normal else 0.0
        above = x + near > quantiles[-1] if normal else x == quantiles[-1]
        below = x - near < quantiles[0] if normal else x == quantiles[0]
        share = np.where(below, 0.0, np.where(above, 1.0, share))
        if not normal:
            return share
        least = _BOUNDS - _NEAR_ZERO
        return np.clip(ndtri(share), float(ndtri(least)), float(ndtri(1.0 - least)))

    def preimage(self, points: Array) -> Array:
        """The numbers that the map takes to these points; between two equal quantiles, that quantile."""
        from scipy.special import ndtr

        shares = ndtr(points) if self.output == "normal" else points
        return cast("Array", np.interp(shares, np.asarray(self.references), np.asarray(self.quantiles)))

    def breaks(self) -> Array:
        """The quantiles."""
        return np.unique(np.asarray(self.quantiles))


Map: TypeAlias = Affine | Scaled | Elementary | Power | Clip | Within | Steps | Spline | YeoJohnson | BoxCox | Quantile

_MAPS = (Affine, Scaled, Elementary, Power, Clip, Within, Steps, Spline, YeoJohnson, BoxCox, Quantile)
MAPS: Mapping[str, type[Map]] = MappingProxyType({cls.kind: cls for cls in _MAPS})
"""By the word ``kind`` of a document: the class of the map. The other keys of the document are its fields."""


def apply_all(maps: Sequence[Map], x: Array) -> Array:
    """Apply one map after the other. A number that becomes infinite or NaN on the way is NaN from there on."""
    with np.errstate(all="ignore"):
        for step in maps:
            out = step.apply(x)
            lost = ~(np.isfinite(x) & np.isfinite(out))
            x = np.where(lost, np.nan, out) if lost.any() else out
    return x


def preimages(maps: Sequence[Map]) -> Array:
    """Where a chain of maps bends or jumps, as numbers of the column; points that cannot be traced back are left out."""
    points = np.empty(0)
    with np.errstate(all="ignore"):
        for step in reversed(maps):
            points = np.concatenate([step.preimage(points), step.breaks()])
    return points[np.isfinite(points)]


def map_document(step: Map) -> dict[str, Any]:
    """A map as JSON values."""
    values = {field.name: getattr(step, field.name) for field in fields(step)}
    return {"kind": step.kind, **{key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}}


def without_identities(maps: Sequence[Map]) -> tuple[Map, ...]:
    """The same chain without the maps that change nothing."""
    return tuple(step for step in maps if not (isinstance(step, Affine | Scaled) and step.changes_nothing))


def finite(step: Map) -> bool:
    """Whether every number in a map is finite."""
    numbers = (value for field in fields(step) for value in _numbers(getattr(step, field.name)))
    return all(math.isfinite(number) for number in numbers)


def _numbers(value: object) -> Sequence[float]:
    if isinstance(value, tuple):
        return value
    return (value,) if isinstance(value, float | int) else ()
