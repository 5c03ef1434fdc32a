"""The quadratic cost c(β) = βᵀGβ − 2bᵀβ + constant: its exact values, and the factor with which orders are searched.

What is reported of a model is c(β) itself, from sums of twice the working precision. Searches work with *residuals*: with
G ≈ RᵀR and Rᵀr the gradient at β, c(β + δ) ≈ min c + ‖r + Rδ‖² (see `Factor`). The *excess* c(β) − min c knows nothing of
the constant, so orders of steps are compared on it and never on totals that include the noise no order can remove.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coordpath_governance.costs.factor import EPS, Factor, ScaledCost, factor_cost
from coordpath_governance.costs.twofold import Twofold, difference, exactly
from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["SCALES", "Expansion", "Measured", "QuadraticCost"]

SCALES = ("1/n", "1/2n")
"""What one unit of the cost is: a label in reports; c is always by the formula."""

_SYMMETRY = 1e-10
_DEFINITENESS = 1e-10
_RANGE = 1e-8
"""Relative tolerances: what summing moments in double precision can do, and nothing beyond."""

_REMEMBERED = 8

_NOTHING = 1e-13
"""Part of the constant below which a negative minimum is rounding."""

_WHOLE = 16
"""Units in the last place of the largest eigenvalue, per coordinate, by which honest moments may be indefinite."""

_OVERFLOWS = "cost: overflows double precision at these coefficients; rescale the features"


class Measured(NamedTuple):
    """What some models cost, and by how much that exceeds the least cost: at the minimum it may be negative by rounding."""

    costs: tuple[float, ...]
    excesses: tuple[float, ...]


class Expansion(NamedTuple):
    """c(β + Σ_{u∈S} δ_u) − c(β) = Σ_{u∈S} linear_u + Σ_{u,v∈S} quadratic_uv, every number rounded once."""

    linear: FloatArray
    quadratic: FloatArray


class _Residual(NamedTuple):
    """The r of a model in units of 2^unit, how much of the gradient it misses, and what lost directions could bring."""

    gradient: Twofold
    residual: FloatArray
    missed: float
    lost: float
    unit: int


@dataclass(frozen=True, eq=False)
class QuadraticCost:
    """c(β) = βᵀ·gram·β − 2·linearᵀβ + constant, bounded below; arrays are read-only.

    Raises `ProblemError` when the gram matrix is not symmetric or not positive semi-definite, or when ``linear`` lies
    outside its range by more than rounding: no squared error looks like that.
    """

    gram: FloatArray
    linear: FloatArray
    constant: float = 0.0
    scale: str = "1/n"
    _scaled: ScaledCost = field(init=False, repr=False)
    _factor: Factor = field(init=False, repr=False)
    _drop: tuple[float, float] = field(init=False, repr=False)
    _residuals: dict[bytes, _Residual] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        gram = _finite(self.gram, "gram", 2)
        linear = _finite(self.linear, "linear", 1)
        size = linear.shape[0]
        if gram.shape != (size, size):
            raise ProblemError(f"cost.gram: has shape {gram.shape}, but cost.linear has {size} entries; give {size}×{size}")
        if size == 0:
            raise ProblemError("cost.linear: is empty; a cost needs at least one coordinate")
        if not np.isfinite(self.constant):
            raise ProblemError(f"cost.constant: {self.constant} is not a finite number")
        if self.scale not in SCALES:
            raise ProblemError(f"cost.scale: {self.scale!r} is not known; use one of {', '.join(SCALES)}")
        exponents = _coordinate_exponents(gram)
        scaled = _scale(gram, linear, exponents)
        factor = factor_cost(scaled, np.diag(gram) > 0)
        _check_range(scaled, factor, float(self.constant))
        drop = _least(scaled, factor)
        if not np.isfinite(float(self.constant) + drop[0]):
            raise ProblemError("cost: its minimum overflows double precision; rescale the target variable")
        for name, value in (
            ("gram", _frozen(gram)),
            ("linear", _frozen(linear)),
            ("constant", float(self.constant)),
            ("_scaled", scaled),
            ("_factor", factor),
            ("_drop", drop),
        ):
            object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return int(self.linear.shape[0])

    def minimum(self) -> float:
        """Least cost over all β: constant − bᵀG⁺b."""
        return math.fsum((self.constant, *self._drop))

    def explained(self) -> float:
        """c(0) − min c: the size of what the features can explain, whatever the constant."""
        return max(0.0, -self._drop[0])

    def value(self, beta: ArrayLike) -> float:
        """c(β), rounded once."""
        return self.measure(_single_row(beta)).costs[0]

    def excess(self, beta: ArrayLike) -> float:
        """c(β) − min c, never negative."""
        return max(0.0, self.measure(_single_row(beta)).excesses[0])

    def measure(self, betas: FloatArray) -> Measured:
        """c(β) and c(β) − min c of every row, each rounded once."""
        placed, unit = self._scaled.place(betas)
        at_model = self._residuals.get(betas.tobytes())
        change = self._scaled.change(placed, unit, at_model and at_model.gradient)
        with np.errstate(over="ignore", invalid="ignore"):
            change = Twofold(np.ldexp(change.high, 2 * unit), np.ldexp(change.low, 2 * unit))
            costs = change.plus(Twofold(np.full(len(betas), self.constant), np.zeros(len(betas)))).high
            excesses = change.plus(Twofold(*np.repeat([[-self._drop[0]], [-self._drop[1]]], len(betas), axis=1))).high
        if not (np.isfinite(costs).all() and np.isfinite(excesses).all()):
            raise ProblemError(_OVERFLOWS)
        return Measured(tuple((costs + 0.0).tolist()), tuple((excesses + 0.0).tolist()))

    def expand(self, beta: FloatArray, change: Twofold, units: Sequence[Sequence[int]]) -> Expansion:
        """The cost around a model, in terms of which units (of coordinates, none in two) have been changed."""
        placed, unit = self._scaled.place(np.stack([beta, change.high]))
        moved = Twofold(placed[1], np.ldexp(change.low, self._scaled.exponents - unit))
        matrix = self._scaled.matrix
        matrix = matrix if isinstance(matrix, Twofold) else exactly(matrix)
        linear = _by_unit(_scaled_rows(self._scaled.gradient(placed[:1], unit), moved), units).high[:, 0]
        half = _by_unit(_scaled_rows(matrix, moved), units)
        turned = _scaled_rows(Twofold(half.high.T, half.low.T), moved)
        return Expansion(np.ldexp(linear, 2 * unit + 1), np.ldexp(_by_unit(turned, units).high, 2 * unit))

    def residual(self, beta: FloatArray) -> FloatArray:
        """The r of a model with Rᵀr = Gβ − b, one number per direction: ‖r + Rδ‖² is the excess of β + δ."""
        at_model = self._residual(beta)
        with np.errstate(over="ignore"):
            return _checked(np.ldexp(at_model.residual, at_model.unit))

    def lost_gain(self, beta: FloatArray) -> float:
        """By how much a model may cost less than the residual at β says, along directions that are no part of it."""
        at_model = self._residual(beta)
        with np.errstate(over="ignore"):
            return float(np.ldexp(at_model.lost, 2 * at_model.unit))

    def _residual(self, beta: FloatArray) -> _Residual:
        """The residual of a model and what it does not know; of the last models it is remembered."""
        key = beta.tobytes()
        if key not in self._residuals:
            placed, unit = self._scaled.place(beta[None, :])
            slope = self._scaled.gradient(placed, unit)
            gradient = (slope.high + slope.low)[:, 0]
            residual, missed = self._factor.residual(gradient)
            if len(self._residuals) >= _REMEMBERED:
                self._residuals.clear()
            lost = self._factor.lost_gain(gradient)
            self._residuals[key] = _Residual(slope, residual, float(np.linalg.norm(missed)), lost, unit)
        return self._residuals[key]

    def direction(self, delta: ArrayLike) -> FloatArray:
        """R·δ: how a change of the coefficients moves the residual; of several changes, one row per change."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.ldexp(np.asarray(delta, dtype=np.float64), self._scaled.exponents)
            return _checked(scaled @ self._factor.root.T)

    def directions(self, columns: NDArray[np.int64]) -> FloatArray:
        """The columns of R that belong to some coordinates, each times its own power of two."""
        return np.ldexp(self._factor.root[:, columns], self._scaled.exponents[columns])

    def blur(self, deltas: FloatArray) -> float:
        """What rounding may do to R·δ of any of some changes (rows): units in the last place of its products."""
        placed, unit = self._scaled.place(deltas)
        largest = float(np.max(np.abs(placed) @ np.abs(self._factor.root).T, initial=0.0))
        return float(np.ldexp(16 * EPS * largest * np.sqrt(self.size), unit))

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Which numbers of a residual are above the rounding of the moments; the others may be noise."""
        return self._factor.clear

    def bend(self, beta: FloatArray | None, models: FloatArray) -> float:
        """By how much models (rows) may cost less than the residual at β (None: at the minimum) says of them.

        G may be indefinite by rounding, and is then taken for the nearest matrix that is not.
        """
        placed, unit = self._scaled.place(models if beta is None else np.concatenate([models, beta[None, :]]))
        factor = self._factor
        if beta is None:
            about, slope = np.ldexp(factor.center, factor.unit - unit), math.ldexp(factor.missed, factor.unit - unit)
        else:
            at_model = self._residual(beta)
            about, slope = placed[-1], math.ldexp(at_model.missed, at_model.unit - unit)
        reach = float(np.max(np.linalg.norm(placed - about, axis=1)))
        with np.errstate(over="ignore"):
            return float(np.ldexp((factor.negative * reach + 2.0 * slope) * reach, 2 * unit))

    def never_negative(self) -> bool:
        """Whether no model costs less than 0, rounding aside."""
        return self.minimum() >= -_NOTHING * (abs(self.constant) + self.explained())

    def free_doubt(self, chosen: NDArray[np.bool_]) -> float:
        """By what part of an excess some numbers of the residuals may be wrong about it, where values are free."""
        return self._factor.doubt(self._scaled.matrix, chosen)


def _scaled_rows(matrix: Twofold, factors: Twofold) -> Twofold:
    """Every row times its factor."""
    return matrix.scaled(factors.high[:, None]).plus(exactly(matrix.high * factors.low[:, None]))


def _by_unit(rows: Twofold, units: Sequence[Sequence[int]]) -> Twofold:
    """The rows of the members of every unit added up."""
    first = rows.part(np.array([unit[0] for unit in units], dtype=np.intp))
    for u, unit in enumerate(units):
        if len(unit) > 1:
            whole = rows.part(np.array(unit, dtype=np.intp)).total()
            first.high[u], first.low[u] = whole
    return first


def _single_row(beta: ArrayLike) -> FloatArray:
    return np.asarray(beta, dtype=np.float64)[None, :]


def _checked(residuals: FloatArray) -> FloatArray:
    if not np.isfinite(residuals).all():
        raise ProblemError(_OVERFLOWS)
    return residuals


def _finite(values: ArrayLike, name: str, dimensions: int) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    if array.ndim != dimensions:
        raise ProblemError(f"cost.{name}: has {array.ndim} dimensions; give {dimensions}")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        where = "".join(f"[{index}]" for index in bad[0])
        raise ProblemError(f"cost.{name}{where}: is not a finite number")
    return array


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _coordinate_exponents(gram: FloatArray) -> NDArray[np.int64]:
    """hᵢ with G_ii/4^hᵢ near 1, so that columns of very different size are judged alike."""
    diagonal = np.diag(gram)
    negative = np.flatnonzero(diagonal < -_DEFINITENESS * diagonal.max(initial=0.0))
    if len(negative):
        i = int(negative[0])
        raise ProblemError(f"cost.gram[{i}][{i}]: {diagonal[i]} is negative; a gram matrix is positive semi-definite")
    exponents = np.frexp(diagonal)[1].astype(np.int64) // 2
    exponents[diagonal <= 0] = exponents[diagonal > 0].max(initial=-600)
    return exponents


def _scale(gram: FloatArray, linear: FloatArray, exponents: NDArray[np.int64]) -> ScaledCost:
    """The cost in scaled coordinates; refuses a matrix that is not symmetric and positive semi-definite."""
    with np.errstate(over="ignore"):
        scaled = np.ldexp(gram, -(exponents[:, None] + exponents[None, :]))
    if not np.isfinite(scaled).all() or np.max(np.abs(scaled)) > 1e9:
        raise ProblemError("cost.gram: is not positive semi-definite: an entry exceeds what its diagonal allows")
    skew = np.abs(scaled - scaled.T)
    if skew.max() > _SYMMETRY:
        i, j = np.unravel_index(int(np.argmax(skew)), skew.shape)
        raise ProblemError(
            f"cost.gram[{i}][{j}]: is {gram[i, j]}, but gram[{j}][{i}] is {gram[j, i]}; give a symmetric matrix"
        )
    matrix = difference(scaled / 2, -scaled.T / 2)
    values = np.linalg.eigvalsh(matrix.high)
    if values[0] < -_DEFINITENESS * max(float(values[-1]), 1.0):
        raise ProblemError(
            f"cost.gram: is not positive semi-definite (smallest eigenvalue {values[0]:.3g} after scaling to a unit "
            "diagonal); give XᵀX/n as it was computed, without rounding it"
        )
    mantissas, powers = np.frexp(linear)
    powers = powers.astype(np.int64) - exponents
    top = int(powers[linear != 0].max(initial=-1100))
    pull = np.ldexp(mantissas, np.maximum(powers - top, -4000))
    return ScaledCost(exponents, matrix if matrix.low.any() else matrix.high, pull, top)


def _check_range(scaled: ScaledCost, factor: Factor, constant: float) -> None:
    """Refuse a ``linear`` that no β̂ can meet, unless [[G, b], [bᵀ, constant]] is positive semi-definite but for rounding."""
    if np.linalg.norm(factor.gradient) <= _RANGE * np.linalg.norm(scaled.linear):
        return
    if constant > 0:
        matrix = scaled.matrix.high if isinstance(scaled.matrix, Twofold) else scaled.matrix
        mantissa, power = math.frexp(constant)
        power, mantissa = (power // 2, mantissa * (1 + power % 2))
        with np.errstate(over="ignore"):
            border = np.ldexp(scaled.linear, scaled.top - power)[:, None] / math.sqrt(mantissa)
        if np.isfinite(border).all():
            values = np.linalg.eigvalsh(np.block([[matrix, border], [border.T, np.ones((1, 1))]]))
            if values[0] >= -_WHOLE * len(values) * EPS * values[-1]:
                return
    raise ProblemError(
        "cost.linear: lies outside the range of cost.gram, so the cost is unbounded below and not a squared error; "
        "compute gram and linear from the same rows"
    )


def _least(scaled: ScaledCost, factor: Factor) -> tuple[float, float]:
    """Min c − constant: c(β̂) − constant − ‖r‖² with r the residual of β̂."""
    least = scaled.change(factor.center[None, :], factor.unit, factor.slope).plus(exactly(np.array([-factor.above])))
    with np.errstate(over="ignore"):
        return float(np.ldexp(least.high[0], 2 * factor.unit)), float(np.ldexp(least.low[0], 2 * factor.unit))
