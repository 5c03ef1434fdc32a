"""The factor of a quadratic cost: c(β + δ) ≈ min c + ‖r + Rδ‖², with RᵀR ≈ G and Rᵀr = Gβ − b, the gradient at β.

Everything is in *scaled* coordinates, βᵢ·2^hᵢ with Gᵢᵢ/4^hᵢ near 1, so that columns of very different size are judged alike.

Columns may be dependent, or nearly so. An eigendecomposition knows an eigenvalue λ only to eps·λ_max, which is all of it
where two columns are 1e-8 apart. So the directions V of small eigenvalues are treated again on their own: with K the
others, C = KᵀGV and S = VᵀGV − CᵀΛ⁻¹C from products of twice the working precision,

    δᵀGδ = ‖Λ^½(Kᵀ + Λ⁻¹C Vᵀ)δ‖² + (Vᵀδ)ᵀS(Vᵀδ),

and S is factored in the same way. The rows of R are right to a few units in the last place, so that the condition that
matters is that of R, the root of that of G. Gradients are of twice the working precision too, and r and the minimum are
corrected by what they leave of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.twofold import Twofold, difference, exactly, multiply

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["EPS", "Factor", "ScaledCost", "factor_cost"]

EPS = float(np.finfo(np.float64).eps)

_FIRM = 1e-3
"""Eigenvalues above this part of the largest are taken as an eigendecomposition gives them."""

_UNRESOLVED = 2.0**-92
"""Eigenvalues below this part of the largest are lost even in twice the working precision."""

_INFORMED = EPS / 64
"""Below this part of the largest an eigenvalue says more about the rounding of the moments than about the data."""

_CORRECTIONS = 2

_FEW = 150
"""Up to so many models one product with the whole matrix is quicker than going from one to the next."""


@dataclass(frozen=True, eq=False)
class ScaledCost:
    """Gram matrix and linear part in scaled coordinates; the linear part is ``linear``·2^``top``."""

    exponents: NDArray[np.int64]
    matrix: FloatArray | Twofold
    linear: FloatArray
    top: int

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.exponents)

    def place(self, betas: FloatArray, least: int | None = None) -> tuple[FloatArray, int]:
        """Models (rows) in scaled coordinates, and the exponent of their unit: no less than ``least`` or that of b."""
        mantissas, powers = np.frexp(betas)
        powers = powers.astype(np.int64) + self.exponents
        unit = int(powers[betas != 0].max(initial=self.top if least is None else max(self.top, least)))
        return np.ldexp(mantissas, np.maximum(powers - unit, -4000)), unit

    def gradient(self, placed: FloatArray, unit: int) -> Twofold:
        """Gβ − b at models (rows) in units of 2^unit, one column for each model."""
        pull = np.ldexp(self.linear, self.top - unit)[:, None]
        return multiply(self.matrix, placed.T).plus(exactly(-pull))

    def change(self, placed: FloatArray, unit: int, gradient: Twofold | None = None) -> Twofold:
        """βᵀGβ − 2bᵀβ of every model (row), in units of 4^unit; from their gradients where these are known."""
        pull = np.ldexp(self.linear, self.top - unit)[:, None]
        if gradient is None:
            gradient = self.gradient(placed, unit) if len(placed) <= _FEW else self._gradients_along(placed, unit)
        return gradient.plus(exactly(-pull)).scaled(placed.T).total()

    def _gradients_along(self, placed: FloatArray, unit: int) -> Twofold:
        """`gradient` of models each of which differs from the one before in few coordinates, from one to the next."""
        columns = Twofold(*(part.T for part in self.matrix)) if isinstance(self.matrix, Twofold) else exactly(self.matrix.T)
        first = self.gradient(placed[:1], unit)
        current = Twofold(first.high[:, 0], first.low[:, 0])
        high, low = np.empty((self.size, len(placed))), np.empty((self.size, len(placed)))
        high[:, 0], low[:, 0] = current
        for k, (before, after) in enumerate(pairwise(placed), start=1):
            moved = np.flatnonzero(before != after)
            delta = difference(after[moved], before[moved])
            for i, up, down in zip(moved.tolist(), delta.high.tolist(), delta.low.tolist(), strict=True):
                column = columns.part(i)
                current = current.plus(column.scaled(up)).plus(exactly(column.high * down))
            high[:, k], low[:, k] = current
        return Twofold(high, low)


@dataclass(frozen=True, eq=False, kw_only=True)
class Factor:
    """R, and β̂ near the minimum, in scaled coordinates; β̂ in units of 2^unit.

    ``clear`` says which rows of R are above the rounding of the moments. The others are right for these moments as they
    stand, and nothing more. ``lost``: rows whose squared lengths, ``lost_sizes``, say nothing of the data any more; they are
    no part of R. ``negative``: how far the gram matrix is from being positive semi-definite. ``slope``: the gradient at β̂.
    """

    root: FloatArray
    sizes: FloatArray
    clear: NDArray[np.bool_]
    lost: FloatArray
    lost_sizes: FloatArray
    center: FloatArray
    slope: Twofold
    unit: int
    negative: float

    @cached_property
    def gradient(self) -> FloatArray:
        """That at β̂, rounded once."""
        return (self.slope.high + self.slope.low)[:, 0]

    @cached_property
    def _at_center(self) -> tuple[float, float]:
        residual, missed = self.residual(self.gradient)
        return float(residual @ residual) + self.lost_gain(self.gradient), float(np.linalg.norm(missed))

    @property
    def above(self) -> float:
        """c(β̂) − min c, in units of 4^unit."""
        return self._at_center[0]

    @property
    def missed(self) -> float:
        """What no residual explains of the gradient at β̂, in units of 2^unit."""
        return self._at_center[1]

    def lost_gain(self, gradient: FloatArray) -> float:
        """By how much the cost could be lowered along the lost rows from where it has a gradient."""
        return float(np.sum(np.square((self.lost @ gradient) / self.lost_sizes)))

    def residual(self, gradient: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The r with Rᵀr = a gradient, as near as there is one, and what is left of the gradient."""
        inverse = self.inverse
        residual, left = np.zeros(len(self.root)), gradient
        for _ in range(_CORRECTIONS + 1):
            corrected = residual + inverse @ left
            if np.array_equal(corrected, residual):
                break
            residual = corrected
            high, low = multiply(self.root.T, residual[:, None])
            left = (gradient - high[:, 0]) - low[:, 0]
        return residual, left

    @property
    def inverse(self) -> FloatArray:
        """W with WRᵀ ≈ 1: the rows of R divided by their squared lengths."""
        inverse: FloatArray = self.root / self.sizes[:, None]
        return inverse

    def doubt(self, matrix: FloatArray | Twofold, chosen: NDArray[np.bool_]) -> float:
        """By what part of an excess some rows of the factor may be wrong about it, wherever the model is.

        With E = G − RᵀR it is δᵀEδ for a change δ in the space of the rows, at most ‖WEWᵀ‖·‖Rδ‖².
        """
        rows, inverse = self.root[chosen], self.inverse[chosen]
        product = multiply(rows.T, rows).times(-1.0)
        error = product.plus(matrix if isinstance(matrix, Twofold) else exactly(matrix)).high
        return float(np.linalg.norm(inverse @ error @ inverse.T, 2)) + 8 * (rows.shape[1] + 4) * EPS if len(rows) else 0.0


def factor_cost(cost: ScaledCost, used: NDArray[np.bool_]) -> Factor:
    """Factor a cost; coordinates that are not ``used`` move nothing."""
    matrix = cost.matrix
    if not used.all():
        keep = np.outer(used, used)
        matrix = Twofold(matrix.high * keep, matrix.low * keep) if isinstance(matrix, Twofold) else matrix * keep
    rows, sizes, negative = _rows(matrix, None)
    largest = float(sizes.max(initial=0.0))
    informed = sizes > _INFORMED * largest
    lost, lost_sizes, rows, sizes = rows[~informed], sizes[~informed], rows[informed], sizes[informed]
    clear = sizes > 4 * cost.size * EPS * largest
    center, slope = _center(cost, rows, sizes)
    return Factor(
        root=rows,
        sizes=sizes,
        clear=clear,
        lost=lost,
        lost_sizes=lost_sizes,
        center=center,
        slope=slope,
        unit=cost.top,
        negative=negative,
    )


def _rows(matrix: FloatArray | Twofold, least: float | None) -> tuple[FloatArray, FloatArray, float]:
    """Rows with RᵀR = the matrix, but for eigenvalues below ``least``; their squared lengths; how negative others are."""
    plain = matrix.high if isinstance(matrix, Twofold) else matrix
    values, vectors = np.linalg.eigh(plain)
    largest = float(values[-1])
    least = _UNRESOLVED * len(values) * largest if least is None else least
    if largest <= least:
        return np.zeros((0, len(values))), np.zeros(0), max(0.0, -float(values[0]))
    firm = values > _FIRM * largest
    firm_values, across = values[firm], vectors[:, firm].T
    if firm.all():
        return np.sqrt(firm_values)[:, None] * across, firm_values, 0.0
    small = vectors[:, ~firm]
    image = multiply(matrix, small)
    mixed = multiply(across, image).high / firm_values[:, None]
    left = multiply(small.T, image).plus(exactly(-(mixed.T * firm_values) @ mixed))
    inner, sizes, negative = _rows(_symmetric(left), least)
    rows = np.concatenate([np.sqrt(firm_values)[:, None] * (across + mixed @ small.T), inner @ small.T])
    return rows, np.concatenate([firm_values, sizes]), negative


def _center(cost: ScaledCost, rows: FloatArray, sizes: FloatArray) -> tuple[FloatArray, Twofold]:
    """A vector near the minimum, corrected by the gradient until that helps no more; and the gradient there."""
    inverse, center = rows / sizes[:, None], np.zeros(cost.size)
    slope = exactly(-cost.linear[:, None])
    pull = inverse @ -cost.linear
    left, tolerance = math.inf, EPS * float(np.linalg.norm(pull))
    while left > tolerance:
        step = center - inverse.T @ pull
        following = cost.gradient(step[None, :], cost.top)
        pull = inverse @ (following.high + following.low)[:, 0]
        less = float(np.linalg.norm(pull))
        if not less < left / 2:
            break
        center, slope, left = step, following, less
    return center, slope


def _symmetric(matrix: Twofold) -> Twofold:
    return matrix.plus(Twofold(matrix.high.T, matrix.low.T)).times(0.5)
