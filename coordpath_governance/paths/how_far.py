"""How far a search has come: never worse than reported before, and in words."""

from __future__ import annotations

import math

__all__ = ["NO_BOUND", "NeverWorse", "how_far"]

NO_BOUND = -math.inf
"""Told where a path is looked for and nothing is proved of the whole problem."""


class NeverWorse:
    """Replaces a best sum and bound that say less than an earlier pair by that pair: what was proved stays proved."""

    def __init__(self) -> None:
        self._closest: tuple[float, float] | None = None

    def __call__(self, stage: str, best: float, bound: float) -> tuple[str, float, float]:
        """The stage, with the pair that is closest."""
        if bound > NO_BOUND and (self._closest is None or _gap(best, bound) <= _gap(*self._closest)):
            self._closest = best, bound
        return stage, *(self._closest or (best, bound))


def how_far(best: float, bound: float) -> str:
    """What separates the best sum found from the bound on all, as part of the sum."""
    if bound == NO_BOUND:
        return "no bound yet"
    return f"within {100 * _gap(best, bound):.3g} % of the best possible"


def _gap(best: float, bound: float) -> float:
    return min(max((best - bound) / best, 0.0), 1.0) if best > 0 else 0.0
