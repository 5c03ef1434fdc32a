"""The waterfall: from the champion's cost, step by step, to the candidate's."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import CostColumn, fixed
from coordpath_governance.rendering import svg
from coordpath_governance.rendering.svg import Picture, Scale, decimals_of, padded_domain, round_ticks
from coordpath_governance.text import fit, text_width

__all__ = ["Waterfall", "WaterfallStep", "waterfall"]

BREAK = 8.0
"""A first step this many times longer than all the others together spread is cut at the edge of the axis."""

MINIMUM_FITS = 0.35
"""The lowest possible cost is drawn if it lengthens the axis by no more than this."""


@dataclass(frozen=True)
class WaterfallStep:
    """One bar: from the cost before to the cost after, ``error`` being the standard error of the difference."""

    number: str
    label: str
    before: float
    after: float
    error: float | None
    amount: str
    bracket: str | None


@dataclass(frozen=True)
class Waterfall:
    """What the chart shows."""

    start_label: str
    end_label: str
    steps: tuple[WaterfallStep, ...]
    left_out: int
    minimum: float | None
    column: CostColumn
    cost_name: str
    description: str

    def domain(self) -> tuple[float, float]:
        """The axis: all costs, error bars as far as they do not dwarf the steps."""
        costs = [step.after for step in self.steps]
        if not self.breaks():
            costs.insert(0, self.steps[0].before)
        low, high = min(costs), max(costs)
        reach = (high - low) * 0.25
        for step in self.steps:
            error = min(step.error or 0.0, reach)
            low, high = min(low, step.after - error), max(high, step.after + error)
        if self.minimum_fits(low, high):
            low = min(low, self.minimum or low)
        low, high = padded_domain((low, high))
        return (max(low, 0.0), high) if min(costs) >= 0 else (low, high)

    def breaks(self) -> bool:
        """Whether the first step would leave no room to see the others."""
        after = [step.after for step in self.steps]
        return len(after) > 2 and abs(self.steps[0].before - after[0]) > BREAK * (max(after) - min(after)) > 0

    def minimum_fits(self, low: float, high: float) -> bool:
        """Whether the lowest possible cost is near enough to be drawn."""
        return self.minimum is not None and low - self.minimum <= MINIMUM_FITS * (high - low)

    def starts_at_zero(self) -> bool:
        """Whether the axis happens to begin at zero."""
        return self.domain()[0] == 0.0


@dataclass(frozen=True)
class Layout:
    """Where things go: beside one another on a wide page, label above bar on a narrow one."""

    name: str
    width: float
    label: float
    left: float
    right: float
    row: float
    bar: float
    top: float
    ticks: int
    stacked: bool


WIDE = Layout("wide", 960, 262, 292, 800, 32, 16, 30, 6, stacked=False)
NARROW = Layout("narrow", 340, 250, 14, 332, 46, 13, 28, 3, stacked=True)
SIZE = 13.5


def waterfall(chart: Waterfall) -> Picture:
    """The chart as SVG text."""
    return Picture(_draw(chart, WIDE), _draw(chart, NARROW))


def _draw(chart: Waterfall, layout: Layout) -> str:
    low, high = chart.domain()
    scale = Scale(low, high, layout.left, layout.right)
    rows = len(chart.steps) + 2
    bottom = layout.top + rows * layout.row
    pattern = f"waterfall-{layout.name}-hatch"
    parts = [svg.hatch(pattern, "hatch"), _axis(chart, layout, scale, bottom)]
    parts.append(_endpoint(chart, layout, scale, 0, first=True))
    parts += [_step(chart, layout, scale, index, pattern) for index in range(len(chart.steps))]
    parts.append(_endpoint(chart, layout, scale, rows - 1, first=False))
    parts += _brackets(chart, layout)
    title = f"Waterfall of the {chart.cost_name} along the path"
    size = (layout.width, bottom + 44)
    return svg.document(f"waterfall-{layout.name}", f"chart {layout.name}", size, title, chart.description, *parts)


def _axis(chart: Waterfall, layout: Layout, scale: Scale, bottom: float) -> str:
    ticks = round_ticks(chart.column.scaled(scale.low), chart.column.scaled(scale.high), layout.ticks)
    decimals = decimals_of(ticks)
    unit = 10.0**chart.column.exponent
    parts: list[str] = []
    for tick in ticks:
        x = scale(tick * unit)
        parts.append(svg.line(x, layout.top - 6, x, bottom, "grid"))
        parts.append(svg.text(x, layout.top - 12, fixed(tick, decimals), "tick", "middle"))
    shows_minimum = chart.minimum is not None and scale.holds(chart.minimum)
    if chart.minimum is not None and shows_minimum:
        x = scale(chart.minimum)
        parts.append(svg.line(x, layout.top - 6, x, bottom, "minimum"))
        parts.append(svg.text(x - 3, bottom + 16, "lowest possible", "tick", "start"))
    note = "axis starts at zero" if scale.low == 0.0 else "axis does not start at zero"
    suffix = f" {chart.column.suffix}" if chart.column.suffix else ""
    parts.append(svg.text(layout.left, bottom + (36 if shows_minimum else 19), f"{chart.cost_name}{suffix}; {note}", "tick"))
    return svg.group("axis", *parts)


def _places(layout: Layout, index: int) -> tuple[float, float]:
    """Baseline of the label and middle of the bar in row ``index``."""
    top = layout.top + index * layout.row
    if layout.stacked:
        return top + 16, top + 31
    return top + layout.row / 2 + 4.5, top + layout.row / 2


def _endpoint(chart: Waterfall, layout: Layout, scale: Scale, index: int, *, first: bool) -> str:
    """The champion's or the candidate's own cost: a mark, not a bar, because the axis does not start at zero."""
    cost = chart.steps[0].before if first else chart.steps[-1].after
    y_text, y_bar = _places(layout, index)
    amount = chart.column.cost(cost)
    x = scale(cost)
    label = fit(chart.start_label if first else chart.end_label, SIZE, layout.label)
    mark = svg.circle(x, y_bar, 5.5, "mark-old") if first else svg.diamond(x, y_bar, 6.5, "mark-new")
    half = layout.bar / 2
    link = svg.line(x, y_bar + half if first else y_bar - half, x, y_bar, "connector")
    value_x = layout.width if layout.stacked else layout.width - 2
    return svg.group(
        "endpoint",
        svg.text(_margin(chart, layout), y_text, label, "label strong"),
        svg.text(value_x, y_text, amount, "value strong", "end"),
        link,
        mark,
    )


def _step(chart: Waterfall, layout: Layout, scale: Scale, index: int, pattern: str) -> str:
    step = chart.steps[index]
    y_text, y_bar = _places(layout, index + 1)
    before, after = scale(step.before), scale(step.after)
    half = layout.bar / 2
    rises = step.after > step.before
    left, width = min(before, after), max(abs(after - before), 1.5)
    margin = _margin(chart, layout)
    number = f"{step.number} {step.bracket}" if layout.stacked and step.bracket else step.number
    indent = margin + max(20.0, text_width(number, SIZE) + 8)
    label = fit(step.label, SIZE, layout.label - indent - (0 if layout.stacked else 8))
    sign = "▲" if rises else "▼" if step.after < step.before else "="
    previous = _places(layout, index)[1]
    bar = svg.rect(left, y_bar - half, width, layout.bar, "bar worse" if rises else "bar better", None)
    if rises:
        bar = svg.rect(left, y_bar - half, width, layout.bar, "bar worse", f"url(#{pattern})")
    parts = [
        svg.line(before, previous, before, y_bar - half, "connector"),
        svg.text(margin, y_text, number, "label soft"),
        svg.text(indent, y_text, label, "label"),
        bar,
        svg.text(layout.width - (0 if layout.stacked else 2), y_text, f"{sign} {step.amount}", "value", "end"),
    ]
    if step.error:
        parts.append(_whisker(scale, step, y_bar))
    if index == 0 and chart.breaks():
        x = before + (-14 if before > after else 14)
        parts.append(svg.path(f"M{x - 3:g} {y_bar + half:g}l6 {-layout.bar:g}m5 0l-6 {layout.bar:g}", "break"))
    return svg.group("step", *parts)


def _whisker(scale: Scale, step: WaterfallStep, y: float) -> str:
    """One standard error either side of where the step ends; no cap where it runs off the axis."""
    error = step.error or 0.0
    ends = (step.after - error, step.after + error)
    span = scale(ends[0]), y, scale(ends[1]), y
    parts = [svg.line(*span, "halo"), svg.line(*span, "whisker")]
    parts += [svg.line(scale(end), y - 4, scale(end), y + 4, "whisker") for end in ends if scale.holds(end)]
    return "".join(parts)


def _brackets(chart: Waterfall, layout: Layout) -> list[str]:
    """A square bracket beside the rows that only together pay off."""
    rows: dict[str, list[int]] = {}
    for index, step in enumerate(chart.steps):
        if step.bracket is not None:
            rows.setdefault(step.bracket, []).append(index + 1)
    drawn: list[str] = []
    x = 1 if layout.stacked else layout.left - 14
    for name, members in rows.items():
        top = layout.top + members[0] * layout.row + 5
        bottom = layout.top + (members[-1] + 1) * layout.row - 5
        drawn.append(svg.path(f"M{x + 6:g} {top:g}H{x:g}V{bottom:g}H{x + 6:g}", "bracket"))
        if not layout.stacked:
            drawn.append(svg.text(x - 5, (top + bottom) / 2 + 4.5, name, "label strong", "end"))
    return drawn


def _margin(chart: Waterfall, layout: Layout) -> float:
    """Room for brackets at the left edge of the narrow layout."""
    return 11 if layout.stacked and any(step.bracket for step in chart.steps) else 0
