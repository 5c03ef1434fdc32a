"""The whole front of a quadratic cost: the least cost at every loss, with the models that no weighted sum finds.

Where the sequences of units are few, all of them are listed and their lower envelope is exact. Otherwise the arcs are those
of the sequences that the weighted sums found and of their neighbours, and proved bounds say how far below the front can lie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from coordpath_governance.paths.certificate import BOUNDED, OPTIMAL
from coordpath_governance.paths.fronts.lower_arcs import Arc, lower_arcs
from coordpath_governance.paths.fronts.sequence_curves import MOST_UNEVEN, SequenceCurves, neighbours
from coordpath_governance.paths.fronts.sequence_list import all_sequences, listed
from coordpath_governance.paths.fronts.shortfall import LowerSide, find_shortfall
from coordpath_governance.paths.losses import path_loss
from coordpath_governance.paths.outcome import measure_stops, path_through
from coordpath_governance.paths.path import Path
from coordpath_governance.paths.problem import REST_LABEL
from coordpath_governance.paths.walks.floors import least_excess
from coordpath_governance.paths.walks.geometry import REST, prepare_walks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.certificate import Status
    from coordpath_governance.paths.fronts.curves import Curves
    from coordpath_governance.paths.fronts.sequence_list import Listed
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["ArcSample", "FrontArc", "WholeFront", "draw_whole_front"]

Method = Literal["all sequences", "neighbours"]

_EXACT = 1e-9
"""Part of the range of costs by which an arc may lie above the least of all curves."""

_SUPPORTED = 1e-8
"""Part of the range of costs by which a weighted sum may be missed by rounding."""

_SAMPLES = 9
"""Losses at which an arc is sampled, its ends among them; where it begins or ends to be supported is added."""

_LOOKED = 65
"""Losses of an arc at which it is looked whether a weighted sum reaches it."""

_HALVINGS = 50
"""Of the stretch in which that changes."""

_LIMIT = 1e-7
"""In place of λ = 0, at which the values in between are free: this part of the least bend of the curve."""

_SPREAD = (1e-9, 1e9, 400)
"""Values of λ, from … to and how many, that are tried for an arc that is a single model."""


@dataclass(frozen=True, eq=False)
class ArcSample:
    """A model of the front; ``supported``: some weighted sum cost + λ·loss has its least value there."""

    loss: float
    cost: float
    supported: bool
    path: Path
    coefficients: tuple[float, ...]

    def to_dict(self) -> dict[str, object]:
        """As in the front document."""
        return {
            "loss": self.loss,
            "cost": self.cost,
            "supported": self.supported,
            "coefficients": list(self.coefficients),
            "steps": [step.to_dict() for step in self.path.steps],
        }


@dataclass(frozen=True, eq=False)
class FrontArc:
    """Models that one sequence of units reaches, by growing loss; ``units`` has a rest where nothing moves."""

    units: tuple[str, ...]
    samples: tuple[ArcSample, ...]

    def to_dict(self) -> dict[str, object]:
        """As in the front document."""
        return {
            "units": list(self.units),
            "terms": len(self.units),
            "samples": [sample.to_dict() for sample in self.samples],
        }


@dataclass(frozen=True, eq=False)
class WholeFront:
    """The least cost at every loss, as arcs by growing loss; between two arcs the cost stays as it is.

    ``shortfall``: at no loss does a model of at most N steps cost less than these arcs (at a loss larger by a part of 10⁻⁸,
    for rounding) by more than that.
    """

    method: Method
    sequences: int
    arcs: tuple[FrontArc, ...]
    shortfall: float
    status: Status

    def to_dict(self) -> dict[str, object]:
        """As in the front document."""
        return {
            "method": self.method,
            "sequences": self.sequences,
            "shortfall": self.shortfall,
            "status": self.status,
            "arcs": [arc.to_dict() for arc in self.arcs],
        }


def draw_whole_front(
    problem: PathProblem,
    paths: Sequence[Path],
    bounds: Sequence[tuple[float, float]],
    least_loss: Callable[[int], float],
    least: float,
    allowed: float,
) -> WholeFront | None:
    """The arcs, from the paths that weighted sums found and proved bounds on weighted sums (λ and F(λ)).

    ``least_loss`` bounds the loss of paths of K steps from below; it is asked only where not all sequences are listed.
    ``least``: no model costs less. ``allowed``: the shortfall up to which the front is `optimal`. None where weights of
    some steps are zero or so small that the loss does not tell their values.
    """
    alphas = problem.alphas(problem.most_terms)
    if float(alphas.max()) > MOST_UNEVEN * float(alphas.min()):
        return None
    return _Drawing(problem, alphas).draw(paths, bounds, least_loss, least, allowed)


class _Drawing:
    """One problem in the units of its walks."""

    def __init__(self, problem: PathProblem, alphas: NDArray[np.float64]) -> None:
        self.problem, self.alphas = problem, alphas
        self.walks = prepare_walks(problem)
        self._floor = math.ldexp(problem.quadratic.minimum(), -self.walks.exponent) + self.walks.level
        self._made = SequenceCurves(self.walks, alphas, self._floor)
        self._units = {unit.label: u for u, unit in enumerate(problem.units)}

    def draw(
        self,
        paths: Sequence[Path],
        bounds: Sequence[tuple[float, float]],
        least_loss: Callable[[int], float],
        least: float,
        allowed: float,
    ) -> WholeFront:
        """The arcs and how far below them the front can lie; see `draw_whole_front`."""
        scale = math.ldexp(1.0, -self.walks.exponent)
        floors = self._floor + least_excess(self.walks, self.problem.start, len(self.alphas))
        known = self._known(paths)
        span = float(known.curves.least_cost[0]) - least * scale
        end = _end(known.curves, span)
        every = all_sequences(self._made, self.alphas, floors[1:], end)
        method: Method = "neighbours" if every is None else "all sequences"
        near = known if every is None else every
        if every is None:
            tried = neighbours(known.sequences[1:], self._made.units, len(self.alphas))
            near = listed(self._made, tried)
        still = [Arc(0, 0.0, 0.0)]
        arcs = lower_arcs(near.curves, end, _EXACT * span) if end > 0 else still
        below = _EXACT * span
        if every is None:
            lines = [(lam, value * scale) for lam, value in bounds]
            proved = np.array([least_loss(terms) * scale for terms in range(1, len(self.alphas) + 1)])
            losses = np.maximum.accumulate(np.maximum(proved, self._made.least_losses(floors[1:])))
            lower = LowerSide(lines, floors, losses)
            below = find_shortfall(near.curves, arcs, lower, end)
        last = float(near.curves.lowest(end)[0].min()) - least * scale
        shortfall = max(below, last, 0.0) / scale
        drawn = tuple(self._arc(near, arcs, arc, span) for arc in arcs)
        count = len(near.sequences)
        return WholeFront(method, count, drawn, shortfall, OPTIMAL if shortfall <= allowed else BOUNDED)

    def _known(self, paths: Sequence[Path]) -> Listed:
        """The sequences of paths; where no step is listed, a path rests."""
        found: dict[tuple[int, ...], None] = {}
        for path in paths:
            moved = {step.k: self._units[step.label] for step in path.steps}
            if moved:
                found[tuple(moved.get(k, REST) for k in range(1, path.terms + 1))] = None
        return listed(self._made, list(found))

    def _arc(self, near: Listed, arcs: Sequence[Arc], arc: Arc, span: float) -> FrontArc:
        """An arc as a list of models."""
        sequence = near.sequences[arc.curve]
        others = near.curves[np.unique([each.curve for each in arcs])]
        support = _Support(near.curves[np.array([arc.curve])], others, _SUPPORTED * span)
        samples = [self._sample(sequence, support, loss) for loss in support.losses(arc)]
        labels = tuple(REST_LABEL if u == REST else self.problem.units[u].label for u in sequence)
        return FrontArc(labels, tuple(samples))

    def _sample(self, sequence: tuple[int, ...], support: _Support, loss: float) -> ArcSample:
        """The models that the sequence passes through at a loss, with their exact costs."""
        problem, terms = self.problem, len(sequence)
        if not terms:
            cost = measure_stops(problem, ()).costs[0]
            return ArcSample(0.0, cost, True, Path(cost, (), 0), tuple(problem.start.tolist()))
        lam = support.tradeoff(loss)
        weights = self.alphas[:terms].copy()
        if math.isfinite(lam):
            weights *= max(lam, support.least_tradeoff)
            weights[-1] += 1.0
        _, stops = self.walks.value(sequence, weights)
        path = path_through(problem, measure_stops(problem, stops), stops, terms)
        end, cost = stops[-1].beta, path.costs()[-1]
        return ArcSample(path_loss(path, problem.weights), cost, support.reached(loss), path, tuple(end.tolist()))


class _Support:
    """Whether weighted sums reach the models of one curve, among all that have an arc."""

    def __init__(self, curve: Curves, others: Curves, tolerance: float) -> None:
        self._curve, self._others, self._tolerance = curve, others, tolerance
        bends = curve.bend[curve.apart != 0]
        self.least_tradeoff = _LIMIT * float(bends.min(initial=np.inf)) if len(bends) else 1.0

    def tradeoff(self, loss: float) -> float:
        """λ at a loss."""
        return float(self._curve.tradeoff(loss)[0])

    def reached(self, loss: float) -> bool:
        """Whether some λ makes cost + λ·loss least there; of a curve that is a single model any will do."""
        lam = self.tradeoff(loss)
        if not self._curve.apart.any():
            low, high, count = _SPREAD
            size = float(self._curve.least_cost[0]) / max(
                float(self._curve.least_loss[0]), float(self._others.most_loss.max())
            )
            return any(self._is_least(each) for each in (size * np.geomspace(low, high, count)).tolist())
        return math.isfinite(lam) and self._is_least(lam)

    def _is_least(self, lam: float) -> bool:
        return float(self._curve.value(lam)[0]) <= float(self._others.value(lam).min()) + self._tolerance

    def losses(self, arc: Arc) -> list[float]:
        """Where to sample an arc: evenly, and where weighted sums begin or end to reach it."""
        if arc.begin == arc.end:
            return [arc.begin]
        looked = np.linspace(arc.begin, arc.end, _LOOKED)
        flags = [self.reached(loss) for loss in looked.tolist()]
        changes = [self._change(*looked[i : i + 2].tolist()) for i in range(_LOOKED - 1) if flags[i] != flags[i + 1]]
        return sorted({*np.linspace(arc.begin, arc.end, _SAMPLES).tolist(), *changes})

    def _change(self, low: float, high: float) -> float:
        """The loss, of two that differ, next to which one is reached and one is not; it is reached itself."""
        at_low = self.reached(low)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.reached(middle) == at_low else (low, middle)
        return low if at_low else high


def _end(curves: Curves, span: float) -> float:
    """Just beyond the least loss at which one of the known sequences costs as little as any of them does."""
    lowest = curves.least_cost <= float(curves.least_cost.min()) + _EXACT * span
    return (1.0 + _EXACT) * float(curves.most_loss[lowest].min())
