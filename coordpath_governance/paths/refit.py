"""Best values along a fixed sequence of units, and the least excess that few units can reach.

For a sequence i₁ … i_K the values are a linear least-squares problem: min Σ αₖ ‖r₀ + Σ_{j≤k} C_{iⱼ} δⱼ‖², where with a
fixed end the increments of every unit add up to its change. A rest (None) moves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.outcome import Stop
from coordpath_governance.paths.set_function import EPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

__all__ = ["Refit", "Slots", "least_excess", "refitter"]

Slots = Sequence[int | None]

_WHOLE_TABLE = 12
"""Most units for which every subset is tried; 2^12 projections take a moment."""

_SAFETY = 1e-9
"""What a bound gives up, relative to the excess it starts from: projections on nearly dependent columns are not exact."""


@dataclass(frozen=True, eq=False)
class Refit:
    """A problem prepared for sequences: residual and unit columns divided by a power of two."""

    problem: PathProblem
    base: NDArray[np.float64]
    blocks: tuple[NDArray[np.float64], ...]
    norms: tuple[NDArray[np.float64], ...]
    shift: int

    @property
    def exponent(self) -> int:
        """Real excess = excess·2^exponent."""
        return 2 * self.shift

    def excess(self, beta: NDArray[np.float64]) -> float:
        """Excess of a model in these units."""
        residual = np.ldexp(self.problem.cost.residual(beta), -self.shift)
        return float(residual @ residual)

    def rounding(self, excess: float) -> float:
        """What floating point may do to an excess of this size."""
        problem = self.problem
        ends = [problem.start] if problem.target is None else [problem.start, problem.target]
        blur = math.ldexp(max(problem.cost.blur(end) for end in ends) + problem.cost.goal_blur(), -self.shift)
        return 64 * EPS * excess + blur * (2 * math.sqrt(excess) + blur)

    def value(self, slots: Slots, alphas: NDArray[np.float64]) -> tuple[float, tuple[Stop, ...]]:
        """Σαₖ·excess along the sequence with its best values, and the stops."""
        stops = self._stops(slots, self._increments(slots, alphas))
        total, current, at = 0.0, self.excess(self.problem.start), 0
        for k, alpha in enumerate(alphas.tolist(), start=1):
            if at < len(stops) and stops[at].k == k:
                current, at = self.excess(stops[at].beta), at + 1
            total += alpha * current
        return total, stops

    def _increments(self, slots: Slots, alphas: NDArray[np.float64]) -> list[NDArray[np.float64] | None]:
        """Best δ for every slot but those that the fixed end decides (None)."""
        target, rank, terms = self.problem.target, len(self.base), len(slots)
        final = {u: j for j, u in enumerate(slots) if u is not None} if target is not None else {}
        fixed = np.repeat(self.base[None, :], terms, axis=0)
        columns: list[NDArray[np.float64]] = []
        places: list[tuple[int, int]] = []
        for j, u in enumerate(slots):
            if u is None:
                continue
            end = final.get(u, terms)
            if end == j:
                fixed[j:] += self._change(u)
                continue
            design = np.zeros((terms, rank, self.blocks[u].shape[1]))
            design[j:end] = self.blocks[u]
            columns.append(design)
            places.append((j, design.shape[2]))
        increments: list[NDArray[np.float64] | None] = [None] * terms
        if columns:
            root = np.sqrt(alphas)
            design = np.concatenate(columns, axis=2) * root[:, None, None]
            aim = -fixed * root[:, None]
            fitted = np.asarray(
                np.linalg.lstsq(design.reshape(terms * rank, -1), aim.reshape(-1), rcond=None)[0], np.float64
            )
            at = 0
            for j, width in places:
                increments[j] = fitted[at : at + width]
                at += width
        return increments

    def _change(self, u: int) -> NDArray[np.float64]:
        """How the residual moves when unit u goes from start to target."""
        problem = self.problem
        delta = np.zeros(len(problem.start))
        members = list(problem.units[u].members)
        target = problem.start if problem.target is None else problem.target
        delta[members] = target[members] - problem.start[members]
        return np.ldexp(problem.cost.direction(delta), -self.shift)

    def _stops(self, slots: Slots, increments: list[NDArray[np.float64] | None]) -> tuple[Stop, ...]:
        problem = self.problem
        beta = problem.start
        target = beta if problem.target is None else problem.target
        stops: list[Stop] = []
        for k, (u, delta) in enumerate(zip(slots, increments, strict=True), start=1):
            if u is None:
                continue
            unit = problem.units[u]
            members = list(unit.members)
            following = beta.copy()
            if delta is not None:
                following[members] += np.ldexp(delta / self.norms[u], self.shift)
            else:
                following[members] = target[members]
            stops.append(Stop(k, unit.kind, unit.label, following))
            beta = following
        return tuple(stops)


def refitter(problem: PathProblem) -> Refit:
    """Prepare a problem; columns are brought to length 1, so that units of any scale are fitted alike."""
    base = problem.cost.residual(problem.start)
    ends = [base] if problem.target is None else [base, problem.cost.residual(problem.target)]
    shift = math.frexp(max(float(np.max(np.abs(end), initial=0.0)) for end in ends))[1]
    blocks, norms = [], []
    for unit in problem.units:
        columns = problem.cost.directions(np.array(unit.members))
        lengths = np.sqrt(np.sum(np.square(columns / _largest(columns)), axis=0)) * _largest(columns)
        lengths[lengths == 0] = 1.0
        blocks.append(columns / lengths)
        norms.append(lengths)
    return Refit(problem, np.ldexp(base, -shift), tuple(blocks), tuple(norms), shift)


def _largest(columns: NDArray[np.float64]) -> float:
    return float(np.max(np.abs(columns), initial=0.0)) or 1.0


def least_excess(refit: Refit, beta: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """For k = 0 … most: a lower bound on the excess of any model that differs from ``beta`` in at most k units."""
    residual = np.ldexp(refit.problem.cost.residual(beta), -refit.shift)
    own = float(residual @ residual)
    least = np.full(len(refit.blocks) + 1, np.inf)
    least[0] = own
    depth = len(refit.blocks) if len(refit.blocks) <= _WHOLE_TABLE else 1
    _descend(residual, list(refit.blocks), 0, depth, least)
    least = np.minimum.accumulate(least)
    if depth == 1:
        least[2:] = 0.0
    least[1:] = np.maximum(least[1:] - _SAFETY * own, 0.0)
    return np.concatenate([least, np.full(max(0, most + 1 - len(least)), least[-1])])[: most + 1]


def _descend(
    residual: NDArray[np.float64], blocks: list[NDArray[np.float64]], count: int, depth: int, least: NDArray[np.float64]
) -> None:
    """Depth first over subsets: project one more block out of the residual and of the blocks after it."""
    least[count] = min(least[count], float(residual @ residual))
    if count == depth:
        return
    for i, block in enumerate(blocks):
        lengths = np.sqrt(np.sum(block * block, axis=0))
        basis = np.linalg.qr(block[:, lengths > 0] / lengths[lengths > 0])[0]
        inner = residual - basis @ (basis.T @ residual)
        later = [other - basis @ (basis.T @ other) for other in blocks[i + 1 :]] if count + 1 < depth else []
        _descend(inner, later, count + 1, depth, least)
