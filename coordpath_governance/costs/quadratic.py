"""The quadratic cost c(β) = βᵀGβ − 2bᵀβ + constant, and the factor through which differences of it are computed.

With G = RᵀR and β* a minimiser, c(β) = min c + ‖R(β − β*)‖². The *excess* ‖R(β − β*)‖² knows nothing of the constant,
so orders of steps are compared on it and never on totals that include the noise no order can remove. Columns may be
dependent: R comes from an eigendecomposition after scaling every coordinate by a power of two, and directions whose
eigenvalue is at rounding level are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["SCALES", "QuadraticCost"]

SCALES = ("1/n", "1/2n")
"""What one unit of the cost is: a label told in reports; c is always by the formula."""

_SYMMETRY = 1e-10
_DEFINITENESS = 1e-10
_RANGE = 1e-8
"""Relative tolerances: what summing moments in double precision can do, and nothing beyond."""

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class QuadraticCost:
    """c(β) = βᵀ·gram·β − 2·linearᵀβ + constant, bounded below; arrays are read-only.

    Raises `ProblemError` when the gram matrix is not symmetric or not positive semi-definite, or when ``linear`` lies
    outside its range: no squared error looks like that.
    """

    gram: FloatArray
    linear: FloatArray
    constant: float = 0.0
    scale: str = "1/n"
    _exponents: NDArray[np.int64] = field(init=False, repr=False)
    _root: FloatArray = field(init=False, repr=False)
    _goal: FloatArray = field(init=False, repr=False)
    _minimum: float = field(init=False, repr=False)
    _left_out: tuple[float, float] = field(init=False, repr=False)

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
        root, curvature = _factor(gram, exponents)
        goal, outside = _goal(linear, exponents, root)
        minimum = float(self.constant) - _square(goal)
        if not np.isfinite(minimum):
            raise ProblemError("cost: its minimum overflows double precision; rescale the target variable")
        for name, value in (
            ("gram", _frozen(gram)),
            ("linear", _frozen(linear)),
            ("constant", float(self.constant)),
            ("_exponents", exponents),
            ("_root", _frozen(root)),
            ("_goal", _frozen(goal)),
            ("_minimum", minimum),
            ("_left_out", (curvature, outside)),
        ):
            object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return int(self.linear.shape[0])

    def minimum(self) -> float:
        """Least cost over all β: constant − bᵀG⁺b."""
        return self._minimum

    def residual(self, beta: ArrayLike) -> FloatArray:
        """R(β − β*), one number a direction that data exercise; its squared length is the excess. Several β: a row each."""
        return self.direction(beta) - self._goal

    def direction(self, delta: ArrayLike) -> FloatArray:
        """R·δ: how a change of the coefficients moves the residual; of several changes, a row each."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.ldexp(np.asarray(delta, dtype=np.float64), self._exponents)
            moved: FloatArray = scaled @ self._root.T
        if not np.isfinite(moved).all():
            raise ProblemError("cost: overflows double precision at these coefficients; rescale the features")
        return moved

    def directions(self, columns: NDArray[np.int64]) -> FloatArray:
        """The columns of R that belong to some coordinates, each times its own power of two."""
        return np.ldexp(self._root[:, columns], self._exponents[columns])

    def blur(self, delta: ArrayLike) -> float:
        """What rounding may do to R·δ, of several δ to any: a few units in the last place of the largest product in it."""
        scaled = np.ldexp(np.abs(np.asarray(delta, dtype=np.float64)), self._exponents)
        return self._last_places(np.max(scaled @ np.abs(self._root).T, initial=0.0))

    def goal_blur(self) -> float:
        """What rounding may do to R·β*."""
        return self._last_places(np.max(np.abs(self._goal), initial=0.0))

    def _last_places(self, largest: float) -> float:
        return 16 * float(np.finfo(np.float64).eps * largest * np.sqrt(self.size))

    def explained(self) -> float:
        """c(0) − min c: the size of what the features can explain, whatever the constant."""
        return _square(self._goal)

    def length(self, delta: ArrayLike) -> float:
        """‖δ‖ after scaling every coordinate by its power of two, without those that cost nothing at all."""
        exercised = np.where(self.gram.any(axis=0), np.asarray(delta, dtype=np.float64), 0.0)
        with np.errstate(over="ignore"):
            scaled = np.abs(np.ldexp(exercised, self._exponents))
            largest = float(np.max(scaled, initial=0.0))
            return largest * float(np.linalg.norm(scaled / largest)) if 0.0 < largest < np.inf else largest

    def left_out(self) -> tuple[float, float]:
        """How far RᵀR may be from the gram matrix, and how far from ``linear`` what R makes of it.

        That is the largest eigenvalue that R leaves out, or the rounding of those it keeps. A move of length d from a point
        of length s may change c by λ(2sd + d²) + 2bd more than R knows.
        """
        return self._left_out

    def free_doubt(self) -> tuple[float, float]:
        """(p, q): where values are free, R may be wrong about an excess e by p·e + q·√e.

        ‖β − β*‖² ≤ e/λ with λ the least eigenvalue that R keeps, so an error of ε·λ_max in RᵀR moves e by at most that many
        times the condition λ_max/λ, and one of ε·‖b‖ in ``linear`` by its root.
        """
        if len(self._root) == 0:
            return 0.0, 0.0
        eigenvalues = np.sum(self._root * self._root, axis=1)
        condition = float(eigenvalues.max() / eigenvalues.min())
        error = _factor_error(self.size)
        return error * condition, 2.0 * error * float(np.sqrt(condition * self.explained()))

    def excess(self, beta: ArrayLike) -> float:
        """c(β) − min c, never negative."""
        return _square(self.residual(beta))

    def excesses(self, betas: FloatArray) -> list[float]:
        """`excess` of every row."""
        return [_square(residual) for residual in self.residual(betas)]

    def value(self, beta: ArrayLike) -> float:
        """c(β)."""
        return self._minimum + self.excess(beta)


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


def _square(vector: FloatArray) -> float:
    """‖vector‖² without overflow or underflow on the way; inf where the result itself overflows."""
    largest = float(np.max(np.abs(vector), initial=0.0))
    if largest == 0.0:
        return 0.0
    exponent = int(np.frexp(largest)[1])
    scaled = np.ldexp(vector, -exponent)
    with np.errstate(over="ignore"):
        return float(np.ldexp(scaled @ scaled, 2 * exponent))


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


def _factor(gram: FloatArray, exponents: NDArray[np.int64]) -> tuple[FloatArray, float]:
    """R with RᵀR = the scaled gram matrix, one row for every eigenvalue above rounding; and how far off it may be.

    A column that the data never exercise is exactly zero, or its rounding would look like a direction.
    """
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
    values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    largest = float(values[-1])
    if values[0] < -_DEFINITENESS * max(largest, 1.0):
        raise ProblemError(
            f"cost.gram: is not positive semi-definite (smallest eigenvalue {values[0]:.3g} after scaling to a unit "
            "diagonal); give XᵀX/n as it was computed, without rounding it"
        )
    kept = values > 4 * len(values) * _EPS * largest
    root: FloatArray = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    idle = np.diag(gram) <= 0
    root[:, idle] = 0.0
    missed = max(float(np.abs(values[~kept]).max(initial=0.0)), float(np.abs(scaled[idle]).max(initial=0.0)))
    return root, missed + _factor_error(len(values)) * largest


def _factor_error(size: int) -> float:
    """What an eigendecomposition may be off by, relative to the largest eigenvalue."""
    return 2.0 * (size + 4) * _EPS


def _goal(linear: FloatArray, exponents: NDArray[np.int64], root: FloatArray) -> tuple[FloatArray, float]:
    """R·β*, from RᵀRβ* = b, and how much of b that misses; refuses a ``linear`` that no β* can meet."""
    mantissas, powers = np.frexp(linear)
    powers = powers.astype(np.int64) - exponents
    top = int(powers[linear != 0].max(initial=-4000))
    scaled = np.ldexp(mantissas, np.maximum(powers - top, -4000))
    goal: FloatArray = (root @ scaled) / np.sum(root * root, axis=1)
    outside = float(np.linalg.norm(scaled - root.T @ goal))
    if outside > _RANGE * np.linalg.norm(scaled):
        raise ProblemError(
            "cost.linear: lies outside the range of cost.gram, so the cost is unbounded below and not a squared error; "
            "compute gram and linear from the same rows"
        )
    if len(root) == len(linear):
        outside = 0.0
    outside += _factor_error(len(linear)) * float(np.linalg.norm(scaled))
    with np.errstate(over="ignore"):
        return np.ldexp(goal, top), float(np.ldexp(outside, top))
