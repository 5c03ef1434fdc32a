"""Lower arcs: the least of many curves at every loss, as arcs of single curves.

Between two losses a curve lies above its tangents, and the least of all nowhere above its own value at the smaller loss.
So an interval is halved until one curve is left that can be the least, or until none goes below a known one by more than
is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.fronts.curves import Curves

    FloatArray = NDArray[np.float64]

__all__ = ["Arc", "lower_arcs"]


@dataclass(frozen=True)
class Arc:
    """From one loss to another the front is the curve of one sequence; further on, its cost stays until the next arc."""

    curve: int
    begin: float
    end: float


def lower_arcs(curves: Curves, end: float, tolerance: float) -> list[Arc]:
    """The arcs of the front from loss 0 to ``end``, by growing loss, each to within ``tolerance`` of the least φ.

    Some curve must begin at loss 0: the path without a step.
    """
    begins = curves.least_loss
    pieces: list[Arc] = []
    waiting = [(0.0, end, np.flatnonzero(begins < end))]
    while waiting:
        begin, stop, chosen = waiting.pop()
        chosen = chosen[begins[chosen] < stop]
        some = curves[chosen]
        high, high_lam = some.lowest(begin)
        low, low_lam = some.lowest(stop)
        first, last = int(np.argmin(high)), int(np.argmin(low))
        if low[first] <= low[last] + tolerance:
            last = first
        rivals = _below(stop - begin, (high, high_lam), (low, low_lam), first, tolerance)
        if np.isfinite(high[last]):
            rivals &= _below(stop - begin, (high, high_lam), (low, low_lam), last, tolerance)
        rivals[[first, last]] = True
        entry = float(some.least_loss[last])
        split = entry if begin < entry < stop else (begin + stop) / 2.0
        if np.count_nonzero(rivals) == 1 or high[first] - low[last] <= tolerance or not begin < split < stop:
            pieces.append(Arc(int(chosen[first if entry > begin else last]), begin, stop))
            continue
        waiting += [(split, stop, chosen[rivals | (some.least_loss > begin)]), (begin, split, chosen[rivals])]
    return _joined(pieces, curves)


def _below(
    width: float,
    at_begin: tuple[FloatArray, FloatArray],
    at_stop: tuple[FloatArray, FloatArray],
    known: int,
    tolerance: float,
) -> NDArray[np.bool_]:
    """Which curves have tangents that go below the chord of a known one by more than the tolerance.

    A curve's tangents meet at one loss; above the straight chord the larger of them is least there or at an end.
    """
    (top, top_lam), (bottom, bottom_lam) = at_begin, at_stop
    steep = (top[known] - bottom[known]) / width
    two = np.isfinite(top) & np.isfinite(top_lam) & (top_lam > bottom_lam)
    fall = np.where(two, top, 0.0) - np.where(two, bottom + bottom_lam * width, 0.0)
    meet = np.where(two, np.clip(fall / np.where(two, top_lam - bottom_lam, 1.0), 0.0, width), 0.0)
    at_meeting = bottom + bottom_lam * (width - meet) - (top[known] - steep * meet)
    below: NDArray[np.bool_] = np.minimum(bottom - bottom[known], at_meeting) < -tolerance
    return below


def _joined(pieces: list[Arc], curves: Curves) -> list[Arc]:
    """Neighbouring pieces of one curve as one, each only as far as its cost falls."""
    joined: list[Arc] = []
    for piece in pieces:
        if joined and joined[-1].curve == piece.curve:
            joined[-1] = Arc(piece.curve, joined[-1].begin, piece.end)
        else:
            joined.append(piece)
    ends = [(each, min(each.end, float(curves.most_loss[each.curve]))) for each in joined]
    return [Arc(each.curve, each.begin, end) for each, end in ends if end >= each.begin]
