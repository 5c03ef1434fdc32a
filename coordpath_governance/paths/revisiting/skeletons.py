"""Skeletons: which units stop at how many values in between, when there are r more terms than changed units.

A changed unit that is visited q + 1 times takes q values in between; a unit that does not change takes q values in q + 1
visits, since it has to come back. So Σ q + (unchanged units used) = r. A rest is a visit to the value a unit already has
and needs no skeleton of its own. The displacement of the residual in between is B_u z: B_u an orthonormal basis of what
the columns of the unit span, z free.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coordpath_governance.paths.walks.geometry import Walks

__all__ = ["Skeleton", "Spans", "Special", "count_skeletons", "list_skeletons", "orthonormal"]


@dataclass(frozen=True, eq=False)
class Spans:
    """What a skeleton needs of the walks: r₀, each unit's orthonormal basis and its change of the residual."""

    base: NDArray[np.float64]
    bases: tuple[NDArray[np.float64], ...]
    changes: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(cls, walks: Walks) -> Spans:
        """Bases without the directions that are nothing but rounding."""
        if walks.changes is None:
            raise ValueError("a free end has no skeletons")
        return cls(walks.base, tuple(orthonormal(block) for block in walks.blocks), walks.changes)

    @cached_property
    def reach(self) -> float:
        """‖r₀‖ + Σ‖change of u‖: no residual of a chain without values in between is longer."""
        return math.sqrt(float(self.base @ self.base)) + sum(math.sqrt(float(c @ c)) for c in self.changes)


@dataclass(frozen=True)
class Special:
    """A unit with so many values in between."""

    unit: int
    values: int


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Special units, and the changed units that move once."""

    specials: tuple[Special, ...]
    others: tuple[int, ...]

    @property
    def units(self) -> tuple[int, ...]:
        """The units as the chain table counts them: special ones first."""
        return tuple(special.unit for special in self.specials) + self.others

    @property
    def tokens(self) -> list[int]:
        """The unit of every value in between."""
        return [special.unit for special in self.specials for _ in range(special.values)]

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of ranks of each unit: old, the values in between, new."""
        return tuple(special.values + 2 for special in self.specials) + (2,) * len(self.others)

    def states(self, spans: Spans) -> Iterator[tuple[NDArray[np.float64], list[int]]]:
        """For every way the special units can be: r without the values in between, and the tokens that are in between.

        One row of r for every set of the others, the last unit counting fastest, as in the chain table.
        """
        moved = spans.base[None, :]
        for u in self.others:
            moved = np.stack([moved, moved + spans.changes[u]], axis=1).reshape(2 * len(moved), len(spans.base))
        for ranks in itertools.product(*(range(special.values + 2) for special in self.specials)):
            residual, token, active = moved, 0, []
            for rank, special in zip(ranks, self.specials, strict=True):
                if rank == special.values + 1:
                    residual = residual + spans.changes[special.unit]
                elif rank:
                    active.append(token + rank - 1)
                token += special.values
            yield residual, active


def count_skeletons(changed: int, unchanged: int, spare: int) -> int:
    """How many `list_skeletons` lists."""
    total = 0
    for out in range(min(unchanged, spare // 2) + 1):
        # q ≥ 1 values each for `out` unchanged units, q ≥ 0 for the changed ones
        left = spare - 2 * out
        if changed + out:
            total += math.comb(unchanged, out) * math.comb(left + changed + out - 1, left)
    return total


def list_skeletons(changed: tuple[int, ...], unchanged: tuple[int, ...], spare: int) -> list[Skeleton]:
    """Every way to spend the spare visits."""
    ways = _spend(tuple((u, 0) for u in changed) + tuple((u, 1) for u in unchanged), spare)
    skeletons = []
    for specials in ways:
        used = {special.unit for special in specials}
        ordered = tuple(sorted(specials, key=lambda special: (special.values, special.unit in unchanged)))
        skeletons.append(Skeleton(ordered, tuple(u for u in changed if u not in used)))
    return skeletons


def _spend(units: tuple[tuple[int, int], ...], spare: int) -> Iterator[tuple[Special, ...]]:
    """Ways to spend visits on units, each with the visits it needs beyond its values."""
    if spare == 0:
        yield ()
        return
    for at, (unit, extra) in enumerate(units):
        for values in range(1, spare - extra + 1):
            for further in _spend(units[at + 1 :], spare - extra - values):
                yield (Special(unit, values), *further)


def orthonormal(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """A basis of the span of columns of length 1 or 0, without directions that are nothing but rounding."""
    left, values, _ = np.linalg.svd(block, full_matrices=False)
    significant = values > EPS * max(block.shape) * values.max(initial=0.0)
    return np.ascontiguousarray(left[:, significant])
