"""The best values along a sequence of units when steps may give only some: least squares in a box, by an active set.

Without `monotone` that is all. With it, every ‖r_k‖² is at most the start's, and for any multipliers λ ≥ 0

    min over the box of Σ(αₖ + λₖ)‖rₖ‖² − Σλₖ·ceiling

is a bound (weak duality), the better the closer λ is to the best ones; where it exceeds what any allowed walk costs, no
values are allowed. Values that are allowed are looked for a hair below the ceiling, and count only once they are checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import lsq_linear, minimize

from coordpath_governance.paths.walks.geometry import REST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.walks.geometry import Walks

    FloatArray = NDArray[np.float64]

__all__ = ["RuledValues", "Valued"]

_BELOW = 1e-9
"""Part of the ceiling by which values are looked for below it."""

_ROUNDS = 60
"""Steps towards the best multipliers."""


@dataclass(frozen=True, eq=False)
class Valued:
    """Models of a sequence's terms (None: no values were found that are allowed), their sum, and a bound on it."""

    models: FloatArray | None
    value: float
    bound: float


@dataclass(frozen=True, eq=False)
class _Layout:
    """r_k = fixed_k + design_k·x: unknown x within bounds, and where in the models each of them counts."""

    models: FloatArray
    places: list[tuple[int, int, int]]
    fixed: FloatArray
    design: FloatArray
    low: FloatArray
    high: FloatArray


class RuledValues:
    """Values for the walks of a problem; no model may exceed the ``ceiling`` (in excess, infinite without `monotone`)."""

    def __init__(self, walks: Walks, ceiling: float) -> None:
        self.walks, self.ceiling = walks, ceiling
        problem = walks.problem
        intervals = [problem.constraints.interval(feature) for feature in problem.features]
        self._low, self._high = (np.array(ends) for ends in zip(*intervals, strict=True))
        self._frozen = np.array([feature in problem.constraints.frozen for feature in problem.features])
        if problem.target is not None:  # what no step could bring back stays
            self._frozen |= (problem.target < self._low) | (problem.target > self._high)
        columns = problem.quadratic.direction(np.eye(len(problem.features)))[:, walks.chosen]
        self._columns = np.ldexp(columns, -walks.shift)

    @cached_property
    def movable(self) -> tuple[int, ...]:
        """Units that steps may move: not all of them is frozen."""
        units = enumerate(self.walks.problem.units)
        return tuple(u for u, unit in units if not self._frozen[list(unit.members)].all())

    def value(self, sequence: Sequence[int], alphas: FloatArray, limit: float) -> Valued:
        """Of a whole walk (a fixed end closes the last visit of every unit), or of a beginning: then only the bound counts.

        Bounds from ``limit`` on are as good as each other.
        """
        whole = len(sequence) == len(alphas)
        layout = self._layout(sequence, whole=whole)
        weights = alphas[: len(sequence)]
        x, value = _fit(layout, weights)
        excess = _excess(layout, x)
        if (excess <= self.ceiling).all():
            return Valued(self._models(layout, x), value, value)
        bound, x = self._dual(layout, weights, max(value, 0.0), limit)
        if not whole or bound >= limit:
            return Valued(None, np.inf, bound)
        return self._allowed(layout, weights, x, bound)

    def _layout(self, sequence: Sequence[int], *, whole: bool) -> _Layout:
        problem, terms = self.walks.problem, len(sequence)
        last = {u: k for k, u in enumerate(sequence)} if whole and problem.target is not None else {}
        models = np.repeat(problem.start[None, :], terms, axis=0)
        places: list[tuple[int, int, int]] = []
        open_until: dict[int, int] = {}
        for k in reversed(range(terms)):
            u = sequence[k]
            for i in problem.units[u].members if u != REST else ():
                end, open_until[i] = open_until.get(i, terms), k
                if last.get(u) == k and problem.target is not None:
                    models[k:end, i] = problem.target[i]
                elif not self._frozen[i]:
                    places.append((i, k, end))
        design = np.zeros((terms, len(self.walks.base), len(places)))
        for at, (i, k, end) in enumerate(places):
            design[k:end, :, at] = self._columns[i]
        coordinates = [i for i, _, _ in places]
        start = problem.start[coordinates]
        fixed = self.walks.residual(models)
        return _Layout(models, places, fixed, design, self._low[coordinates] - start, self._high[coordinates] - start)

    def _models(self, layout: _Layout, x: FloatArray) -> FloatArray:
        models = layout.models.copy()
        for (i, k, end), move in zip(layout.places, x.tolist(), strict=True):
            models[k:end, i] = np.clip(models[k, i] + move, self._low[i], self._high[i])
        return models

    def _dual(self, layout: _Layout, weights: FloatArray, least: float, limit: float) -> tuple[float, FloatArray]:
        """The best bound that some multipliers give, and its values."""
        best, best_x = least, np.zeros(len(layout.places))

        def negative(multipliers: FloatArray) -> tuple[float, FloatArray]:
            nonlocal best, best_x
            x, value = _fit(layout, weights + multipliers)
            over = _excess(layout, x) - self.ceiling
            value -= self.ceiling * float(multipliers.sum())
            if value >= best:
                best, best_x = value, x
            return -min(value, 2.0 * limit), -over

        first = np.zeros(len(weights))
        settings: dict[str, Any] = {
            "jac": True,
            "method": "L-BFGS-B",
            "bounds": [(0.0, None)] * len(first),
            "options": {"maxiter": _ROUNDS, "ftol": 1e-13, "gtol": 1e-14},
        }
        for scale in (1.0, 1e3):  # the farther, the sooner a bound that no walk meets is seen

            def scaled(multipliers: FloatArray, scale: float = scale) -> tuple[float, FloatArray]:
                value, slopes = negative(scale * multipliers)
                return value, scale * slopes

            if best < limit:
                minimize(scaled, first, **settings)
        return best, best_x

    def _allowed(self, layout: _Layout, weights: FloatArray, x: FloatArray, bound: float) -> Valued:
        """Values that keep below the ceiling, from near the best ones."""
        scale = self.ceiling or 1.0

        def objective(values: FloatArray) -> tuple[float, FloatArray]:
            residuals = layout.fixed + layout.design @ values
            slopes = 2.0 * np.einsum("k,kr,krn->n", weights, residuals, layout.design) / scale
            return float(weights @ _excess(layout, values)) / scale, slopes

        def below(values: FloatArray) -> FloatArray:
            return 1.0 - _BELOW - _excess(layout, values) / scale

        def below_slopes(values: FloatArray) -> FloatArray:
            residuals = layout.fixed + layout.design @ values
            slopes: FloatArray = -2.0 * np.einsum("kr,krn->kn", residuals, layout.design) / scale
            return slopes

        settings: dict[str, Any] = {
            "jac": True,
            "method": "SLSQP",
            "bounds": list(zip(layout.low, layout.high, strict=True)),
            "constraints": {"type": "ineq", "fun": below, "jac": below_slopes},
            "options": {"maxiter": 200, "ftol": 1e-14},
        }
        result = minimize(objective, x, **settings)
        values = np.clip(result.x, layout.low, layout.high)
        excess = _excess(layout, values)
        if not (excess <= self.ceiling).all():
            return Valued(None, np.inf, bound)
        return Valued(self._models(layout, values), float(weights @ excess), bound)


def _excess(layout: _Layout, x: FloatArray) -> FloatArray:
    residuals = layout.fixed + layout.design @ x
    excess: FloatArray = np.sum(residuals * residuals, axis=1)
    return excess


def _fit(layout: _Layout, weights: FloatArray) -> tuple[FloatArray, float]:
    """The best values within the bounds, and their weighted sum of squares."""
    count = len(layout.places)
    x = np.zeros(count)
    root = np.sqrt(weights)
    design = (layout.design * root[:, None, None]).reshape(layout.fixed.size, count)
    aim = -(layout.fixed * root[:, None]).reshape(-1)
    open_ones = np.flatnonzero(layout.low < layout.high)
    x[layout.low == layout.high] = layout.low[layout.low == layout.high]
    if len(open_ones):
        rest = aim - design @ x
        lengths = np.linalg.norm(design[:, open_ones], axis=0)
        lengths[lengths == 0] = 1.0
        bounds = (layout.low[open_ones] * lengths, layout.high[open_ones] * lengths)
        x[open_ones] = lsq_linear(design[:, open_ones] / lengths, rest, bounds, method="bvls", tol=1e-14).x / lengths
        x = np.clip(x, layout.low, layout.high)
    return x, float(weights @ _excess(layout, x))
