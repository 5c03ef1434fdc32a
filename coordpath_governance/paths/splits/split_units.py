"""The steps between two trees, and which must come before which.

At a place where the trees differ in the feature they compare, the old subtree *collapses*, children first, and the new one
*grows*, parent first. Where they compare the same feature a threshold may *move*, and where both have a leaf its value is
*refitted*; nothing has to come before those, but for a leaf that stands where an old subtree has collapsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from coordpath_governance.errors import ProblemError

__all__ = ["COLLAPSE", "GROW", "KINDS", "MOVE", "REFIT", "Module", "SplitUnits"]

COLLAPSE, GROW, MOVE, REFIT = "collapse", "grow", "move", "refit"
KINDS = (COLLAPSE, GROW, MOVE, REFIT)


@dataclass(frozen=True)
class Module:
    """The steps at one place: ``collapse`` with the unit that follows each, then ``grow`` with the unit before each.

    Both in an order in which they may be done; None where no unit of the same list follows or comes before. What grows
    begins after everything that collapses.
    """

    collapse: tuple[tuple[int, int | None], ...] = ()
    grow: tuple[tuple[int, int | None], ...] = ()

    @property
    def units(self) -> tuple[int, ...]:
        """All its units."""
        return tuple(unit for unit, _ in (*self.collapse, *self.grow))


@dataclass(frozen=True)
class SplitUnits:
    """For each unit its kind, and the units that must be done before it, all of which have smaller numbers.

    Raises `ProblemError` if the precedence is none that two trees can have.
    """

    kinds: tuple[str, ...]
    after: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len(self.kinds) != len(self.after):
            raise ProblemError(f"splits: {len(self.kinds)} kinds for {len(self.after)} units")
        for unit, (kind, before) in enumerate(zip(self.kinds, self.after, strict=True)):
            if kind not in KINDS:
                raise ProblemError(f"splits: unit {unit} is of the kind {kind!r}, which is none of {', '.join(KINDS)}")
            if any(not 0 <= other < unit for other in before) or len(set(before)) != len(before):
                raise ProblemError(f"splits: unit {unit} comes after {list(before)}, which are not units before it")
        self.modules  # noqa: B018 - raises if the precedence is no tree's

    def __len__(self) -> int:
        return len(self.kinds)

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        """The units by place; modules are independent of each other as to what comes first."""
        follower, roots = self._followers(), self._roots()
        members: dict[int, tuple[list[tuple[int, int | None]], list[tuple[int, int | None]]]] = {}
        for unit, kind in enumerate(self.kinds):
            collapse, grow = members.setdefault(roots[unit], ([], []))
            if kind == COLLAPSE:
                collapse.append((unit, follower[unit]))
            else:
                parent = next((other for other in self.after[unit] if self.kinds[other] != COLLAPSE), None)
                grow.append((unit, parent))
        return tuple(Module(tuple(collapse), tuple(grow)) for collapse, grow in members.values())

    def _followers(self) -> list[int | None]:
        """The collapse that follows each one; each is followed by one step, and is the only one of its place to be last."""
        follower: list[int | None] = [None] * len(self)
        followed: set[int] = set()
        for unit, (kind, before) in enumerate(zip(self.kinds, self.after, strict=True)):
            fits = len(before) <= (2 if kind == COLLAPSE else 0 if kind == MOVE else 1)
            for other in before:
                fits = fits and (self.kinds[other] in (COLLAPSE, kind) and kind != MOVE)
                fits = fits and not (kind == REFIT and self.kinds[other] == REFIT)
                if self.kinds[other] == COLLAPSE:
                    fits = fits and other not in followed
                    followed.add(other)
                    follower[other] = unit if kind == COLLAPSE else None
            if not fits:
                raise ProblemError(f"splits: unit {unit} ({kind}) cannot come after {list(before)} in any tree")
        return follower

    def _roots(self) -> list[int]:
        """The unit by which each one's module is called: the smallest number among those that it is connected with."""
        roots = list(range(len(self)))

        def find(unit: int) -> int:
            while roots[unit] != unit:
                roots[unit] = roots[roots[unit]]
                unit = roots[unit]
            return unit

        for unit, before in enumerate(self.after):
            for other in before:
                first, second = sorted((find(unit), find(other)))
                roots[second] = first
        return [find(unit) for unit in range(len(self))]

    def allows(self, order: Sequence[int]) -> bool:
        """Whether the units may be done in this order; it need not hold all of them."""
        done: set[int] = set()
        for unit in order:
            if unit in done or not done.issuperset(self.after[unit]):
                return False
            done.add(unit)
        return True
