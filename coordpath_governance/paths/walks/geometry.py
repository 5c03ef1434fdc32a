"""Walks: sequences of units that move one after the other, with the best values along them.

For a sequence i₁ … i_K the values are a linear least-squares problem: min Σ αₖ ‖r₀ + Σ_{j≤k} C_{iⱼ} δⱼ‖², where with a
fixed end the increments of every unit add up to its change. A rest moves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS
from coordpath_governance.paths.outcome import Stop
from coordpath_governance.paths.walks.projections import excess_of_all_sets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

__all__ = ["FEW_UNITS", "REST", "Walks", "prepare_walks"]

REST = -1
"""The entry of a sequence at which nothing moves."""

FEW_UNITS = 12
"""Most units for which the excess of every set is tabulated; 2^12 projections take a moment."""

_NOISE = 1e-7
"""Part of the residuals of the ends below which a direction at the level of rounding is left out."""

_LEVEL = 1e-12
"""Part of the start's excess that is rounding of it."""

_STILL = 8 * EPS
"""A coefficient that moves by no more than this part of itself is rounding, and stays."""

_SAFELY = 4.0
"""A better walk may lead twice as far as the one that is known."""

_ROUNDING = 1e-11
"""Singular values below this part of the largest are rounding: rows of the factor are never that short."""

_DEPENDENT = 1e-13
"""Directions of a unit below this part of its largest are rounding."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Walks:
    """A problem prepared for sequences of its units, in units of 2^shift a unit of residual.

    ``base`` is r₀; ``blocks[u]`` the columns C_u of unit u, each divided by its ``norms`` to length 1 (or zero where the
    data do not exercise it); ``changes[u]`` how the residual moves when unit u goes to its target, None if the end is free.
    ``chosen``: which numbers of the cost's residuals these are.
    """

    problem: PathProblem
    base: NDArray[np.float64]
    blocks: tuple[NDArray[np.float64], ...]
    norms: tuple[NDArray[np.float64], ...]
    changes: tuple[NDArray[np.float64], ...] | None
    shift: int
    chosen: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Number of units, those that need not move included."""
        return len(self.blocks)

    @property
    def changed(self) -> tuple[int, ...]:
        """Units that a fixed end moves; none if the end is free."""
        problem = self.problem
        if problem.target is None:
            return ()
        moved = problem.start != problem.target
        return tuple(u for u, unit in enumerate(problem.units) if moved[list(unit.members)].any())

    @property
    def exponent(self) -> int:
        """Real excess = excess·2^exponent."""
        return 2 * self.shift

    @cached_property
    def _last(self) -> dict[tuple[tuple[int, ...], bytes], tuple[float, tuple[Stop, ...]]]:
        return {}

    @cached_property
    def bases(self) -> tuple[NDArray[np.float64], ...]:
        """An orthonormal basis of what each unit's columns span."""
        return tuple(_orthonormal(block) for block in self.blocks)

    @cached_property
    def excess_of_sets(self) -> NDArray[np.float64]:
        """For every set of units a lower bound on the excess that moving it from the start reaches (see `projections`)."""
        return excess_of_all_sets(self.base, self.blocks)

    def residual(self, betas: NDArray[np.float64]) -> NDArray[np.float64]:
        """The residuals of models (rows, or one) in these units."""
        moved = self.problem.quadratic.direction(betas - self.problem.start)[..., self.chosen]
        return self.base + np.ldexp(moved, -self.shift)

    def excess(self, beta: NDArray[np.float64]) -> float:
        """Excess of a model in these units."""
        residual = self.residual(beta)
        return float(residual @ residual)

    @cached_property
    def level(self) -> float:
        """c(start) − min c − ‖r₀‖²: what is to be added to an excess of these walks, so that it is right at the start.

        It is 0 unless directions are left out, or the gram matrix is indefinite, by more than rounding hides.
        """
        measured = self.problem.quadratic.measure(self.problem.start[None, :]).excesses[0]
        excess, own = math.ldexp(measured, -self.exponent), float(self.base @ self.base)
        return excess - own if abs(excess - own) > _LEVEL * (abs(excess) + own) else 0.0

    def blur(self, excess: float, stops: Sequence[Stop] = ()) -> float:
        """What floating point may do to an excess of this size, on the way through these stops."""
        moves = self._models(stops) - self.problem.start
        blur = math.ldexp(self.problem.quadratic.blur(moves), -self.shift)
        return 64 * EPS * excess + blur * (2 * math.sqrt(excess) + blur)

    def unseen(self, stops: Sequence[Stop]) -> float:
        """By how much a model may cost less than these walks know, if it is no farther from the start than some stops.

        Directions that are left out could bring that much, and a gram matrix that is indefinite by rounding could.
        """
        cost = self.problem.quadratic
        left_out = np.ldexp(cost.residual(self.problem.start)[~self.chosen], -self.shift)
        lost = math.ldexp(cost.lost_gain(self.problem.start), -self.exponent)
        bend = cost.bend(self.problem.start, self._models(stops))
        return float(left_out @ left_out) + lost + _SAFELY * math.ldexp(bend, -self.exponent)

    def below_minimum(self, stops: Sequence[Stop]) -> float:
        """By how much c − min c may be negative, for models no farther from the minimum than some stops."""
        return _SAFELY * math.ldexp(self.problem.quadratic.bend(None, self._models(stops)), -self.exponent)

    def _models(self, stops: Sequence[Stop]) -> NDArray[np.float64]:
        """The start, some stops and the target."""
        ends = [] if self.problem.target is None else [self.problem.target]
        return np.stack([self.problem.start, *(stop.beta for stop in stops), *ends])

    def rounding(self, excess: float, weight: float, stops: Sequence[Stop]) -> float:
        """What floating point may do to a bound on sums Σαₖeₖ where a walk of this excess is known, Σα = weight.

        Besides the blur of the models it is what the factor of the cost may be wrong about: free values may grow until only
        the smallest eigenvalue holds them, so it is relative to the excess and to that of the start.
        """
        part, first = self.problem.quadratic.free_doubt(self.chosen), float(self.base @ self.base)
        blur = self.blur(max(first, excess / weight), stops)
        return part * (excess + first * weight) + (blur + self.unseen(stops)) * weight

    def value(self, sequence: Sequence[int], alphas: NDArray[np.float64]) -> tuple[float, tuple[Stop, ...]]:
        """Σαₖ·excess along the sequence with its best values, and the stops; the last answer is remembered."""
        key = (tuple(sequence), alphas.tobytes())
        if key not in self._last:
            self._last.clear()
            self._last[key] = self.follow(sequence, self._increments(sequence, alphas), alphas)
        return self._last[key]

    def follow(
        self, sequence: Sequence[int], increments: Sequence[NDArray[np.float64] | None], alphas: NDArray[np.float64]
    ) -> tuple[float, tuple[Stop, ...]]:
        """Σαₖ·excess along the sequence, each unit moving by its increment (None: to its target), and the stops."""
        stops = self._stops(sequence, increments)
        models = np.stack([self.problem.start, *(stop.beta for stop in stops)])
        residuals = self.residual(models)
        at = np.cumsum([u != REST for u in sequence])
        return float(alphas @ np.einsum("mr,mr->m", residuals, residuals)[at]), stops

    def _increments(self, sequence: Sequence[int], alphas: NDArray[np.float64]) -> list[NDArray[np.float64] | None]:
        """Best δ for every slot but those that the fixed end decides (None)."""
        rank, terms = len(self.base), len(sequence)
        final = {u: j for j, u in enumerate(sequence) if u != REST} if self.changes is not None else {}
        fixed = np.repeat(self.base[None, :], terms, axis=0)
        columns: list[NDArray[np.float64]] = []
        places: list[tuple[int, int]] = []
        for j, u in enumerate(sequence):
            if u == REST:
                continue
            end = final.get(u, terms)
            if self.changes is not None and end == j:
                fixed[j:] += self.changes[u]
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
            fitted = _least_squares(design.reshape(terms * rank, design.shape[2]), aim.reshape(-1))
            at = 0
            for j, width in places:
                increments[j] = fitted[at : at + width]
                at += width
        return increments

    def _stops(self, sequence: Sequence[int], increments: Sequence[NDArray[np.float64] | None]) -> tuple[Stop, ...]:
        problem = self.problem
        beta = problem.start
        target = beta if problem.target is None else problem.target
        stops: list[Stop] = []
        for k, (u, delta) in enumerate(zip(sequence, increments, strict=True), start=1):
            if u == REST:
                continue
            unit = problem.units[u]
            members = list(unit.members)
            following = beta.copy()
            if delta is not None:
                moves = np.ldexp(delta / self.norms[u], self.shift).tolist()
                for i, before, move in zip(members, beta[members].tolist(), moves, strict=True):
                    following[i] = before + move if abs(before + move - before) > _STILL * abs(before) else before
            else:
                following[members] = target[members]
            stops.append(Stop(k, unit.kind, unit.label, following))
            beta = following
        return tuple(stops)


def prepare_walks(problem: PathProblem) -> Walks:
    """Prepare a problem; columns are brought to length 1, so that units of any scale are fitted alike.

    Numbers of the residuals that may be noise are left out, unless the start or the target says otherwise.
    """
    cost = problem.quadratic
    base = cost.residual(problem.start)
    ends = [base] if problem.target is None else [base, base + cost.direction(problem.target - problem.start)]
    sizes = np.max(np.abs(ends), axis=0, initial=0.0)
    farthest = float(np.max(sizes, initial=0.0))
    chosen = cost.clear | (sizes > _NOISE * farthest)
    shift = math.frexp(farthest)[1]
    members = [i for unit in problem.units for i in unit.members]
    columns = cost.directions(np.array(members))[chosen]
    largest = np.max(np.abs(columns), axis=0, initial=0.0)
    largest[largest == 0] = 1.0
    lengths = np.linalg.norm(columns / largest, axis=0) * largest
    lengths[lengths == 0] = 1.0
    ends_at = np.cumsum([len(unit.members) for unit in problem.units])[:-1]
    blocks, norms = np.split(columns / lengths, ends_at, axis=1), np.split(lengths, ends_at)
    changes = None if problem.target is None else _changes(problem, shift, chosen)
    return Walks(
        problem=problem,
        base=np.ldexp(base[chosen], -shift),
        blocks=tuple(blocks),
        norms=tuple(norms),
        changes=changes,
        shift=shift,
        chosen=chosen,
    )


def _changes(problem: PathProblem, shift: int, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.float64], ...]:
    """How the residual moves when each unit goes from start to target."""
    change = np.zeros(len(problem.start)) if problem.target is None else problem.target - problem.start
    moves = []
    for unit in problem.units:
        delta = np.zeros(len(change))
        members = list(unit.members)
        delta[members] = change[members]
        moves.append(np.ldexp(problem.quadratic.direction(delta)[chosen], -shift))
    return tuple(moves)


def _least_squares(design: NDArray[np.float64], aim: NDArray[np.float64]) -> NDArray[np.float64]:
    """Min ‖design·x − aim‖; directions of columns of length 1 that are nothing but rounding are not used."""
    lengths = np.linalg.norm(design, axis=0)
    lengths[lengths == 0] = 1.0
    return np.asarray(np.linalg.lstsq(design / lengths, aim, rcond=_ROUNDING)[0] / lengths, np.float64)


def _orthonormal(block: NDArray[np.float64]) -> NDArray[np.float64]:
    if block.shape[1] == 1:
        return block[:, block.any(axis=0)]
    vectors, sizes, _ = np.linalg.svd(block, full_matrices=False)
    basis: NDArray[np.float64] = vectors[:, sizes > _DEPENDENT * max(1.0, float(np.max(sizes, initial=0.0)))]
    return basis
