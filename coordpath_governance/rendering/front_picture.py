"""The front between loss and cost as a picture: arcs solid, dashed where no weighted sum reaches them, jumps open.

Arcs are told apart by their number of steps, which is written beside each: colour only helps.
"""

from __future__ import annotations

from itertools import pairwise

from coordpath_governance.numbers import significant
from coordpath_governance.rendering import svg
from coordpath_governance.reports.front_document import ArcFacts, FrontDocument, SampleFacts

__all__ = ["front_picture"]

_SIZE = (760.0, 420.0)
_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, 736.0, 18.0, 368.0
_COLOURS = 5
_CLOSE = 1e-6
"""Part of the axis within which two arcs meet."""


def front_picture(document: FrontDocument) -> str:
    """The picture as SVG; empty where there is no front to draw."""
    arcs = () if document.whole is None else document.whole.arcs
    samples = [sample for arc in arcs for sample in arc.samples]
    if len(samples) <= 1:
        return ""
    across, up = _scales(samples)
    parts = [*_axes(across, up)]
    for before, after in pairwise(arcs):
        parts += _jump(before.samples[-1], after.samples[0], across, up)
    for arc in arcs:
        parts += _arc(arc, across, up)
    title = "Front between loss and cost"
    described = "; ".join(
        f"{arc.terms} steps from loss {significant(arc.samples[0].loss)} and cost {significant(arc.samples[0].cost)} to "
        f"{significant(arc.samples[-1].loss)} and {significant(arc.samples[-1].cost)}"
        for arc in arcs
    )
    return svg.document("front", "front", _SIZE, title, described, *parts)


def _scales(samples: list[SampleFacts]) -> tuple[svg.Scale, svg.Scale]:
    costs = [sample.cost for sample in samples]
    room = 0.06 * (max(costs) - min(costs)) or 1.0
    across = svg.Scale(0.0, 1.04 * max(sample.loss for sample in samples) or 1.0, _LEFT, _RIGHT)
    return across, svg.Scale(min(costs) - room, max(costs) + room, _BOTTOM, _TOP)


def _axes(across: svg.Scale, up: svg.Scale) -> list[str]:
    parts = [
        svg.line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis"),
        svg.line(_LEFT, _TOP, _LEFT, _BOTTOM, "axis"),
        svg.text((_LEFT + _RIGHT) / 2, _SIZE[1] - 8, "interpretability loss Σ αₖ c(βₖ)", "label", "middle"),
        svg.text(_RIGHT, _TOP + 6, "vertical: cost of the last model", "label", "end"),
    ]
    for i in range(5):
        loss, cost = (each.low + (each.high - each.low) * i / 4 for each in (across, up))
        parts.append(svg.text(across(loss), _BOTTOM + 18, significant(loss, 3), "tick", "middle"))
        parts.append(svg.text(_LEFT - 8, up(cost) + 4, significant(cost, 4), "tick", "end"))
    return parts


def _arc(arc: ArcFacts, across: svg.Scale, up: svg.Scale) -> list[str]:
    colour = f"steps-{arc.terms % _COLOURS}"
    points = [(across(sample.loss), up(sample.cost)) for sample in arc.samples]
    parts = []
    for (first, second), (one, other) in zip(pairwise(points), pairwise(arc.samples), strict=True):
        reached = one.supported and other.supported
        parts.append(_stroke(first, second, f"arc {colour}" if reached else f"arc missed {colour}"))
    x, y = points[0]
    parts.append(svg.circle(x, y, 3.5, f"point {colour}"))
    middle = points[len(points) // 2]
    steps = f"{arc.terms} step" if arc.terms == 1 else f"{arc.terms} steps"
    parts.append(svg.text(middle[0] + 7, middle[1] - 8, steps, "label", "end" if middle[0] > _RIGHT - 90 else "start"))
    return parts


def _jump(before: SampleFacts, after: SampleFacts, across: svg.Scale, up: svg.Scale) -> list[str]:
    """Between two arcs that do not meet: nothing is drawn but an open circle where the cost falls."""
    if abs(across(after.loss) - across(before.loss)) + abs(up(after.cost) - up(before.cost)) <= _CLOSE * _SIZE[0]:
        return []
    return [svg.circle(across(after.loss), up(before.cost), 3.5, "open")]


def _stroke(first: tuple[float, float], second: tuple[float, float], class_: str) -> str:
    return svg.line(*first, *second, class_)
