"""How far a search has come, in words."""

from __future__ import annotations

__all__ = ["how_far"]


def how_far(best: float, bound: float) -> str:
    """What separates the best sum found from the bound on all, as part of the sum."""
    gap = (best - bound) / best if best > 0 else 0.0
    return f"within {100 * min(max(gap, 0.0), 1.0):.3g} % of the best possible"
