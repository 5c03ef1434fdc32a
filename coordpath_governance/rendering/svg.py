"""Small SVG elements as text, every attribute and every text escaped, coordinates with one decimal; and axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from coordpath_governance.text import visible

__all__ = [
    "Picture",
    "Scale",
    "attributes",
    "circle",
    "decimals_of",
    "diamond",
    "document",
    "group",
    "hatch",
    "line",
    "number",
    "padded_domain",
    "path",
    "rect",
    "round_ticks",
    "text",
]

Value = str | float | int


def number(value: float) -> str:
    """A coordinate: one decimal at most, and no minus before a zero."""
    return f"{round(value, 1) + 0.0:g}"


def attributes(**values: Value | None) -> str:
    """Attributes in the order given; ``class_`` is class, an underscore is a hyphen, None is left out."""
    parts: list[str] = []
    for name, value in values.items():
        if value is None:
            continue
        shown = escape(value) if isinstance(value, str) else number(value)
        parts.append(f' {name.rstrip("_").replace("_", "-")}="{shown}"')
    return "".join(parts)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """A straight line."""
    return f"<line{attributes(x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)}/>"


def rect(x: float, y: float, width: float, height: float, class_: str, fill: str | None = None) -> str:
    """A rectangle, optionally filled with a pattern."""
    return f"<rect{attributes(x=x, y=y, width=width, height=height, class_=class_, fill=fill)}/>"


def circle(x: float, y: float, radius: float, class_: str) -> str:
    """A circle."""
    return f"<circle{attributes(cx=x, cy=y, r=radius, class_=class_)}/>"


def diamond(x: float, y: float, radius: float, class_: str) -> str:
    """A square on its corner."""
    n = number
    return path(f"M{n(x)} {n(y - radius)}L{n(x + radius)} {n(y)}L{n(x)} {n(y + radius)}L{n(x - radius)} {n(y)}Z", class_)


def path(d: str, class_: str) -> str:
    """A path with its drawing commands."""
    return f"<path{attributes(d=d, class_=class_)}/>"


def text(x: float, y: float, content: str, class_: str, anchor: str | None = None) -> str:
    """One line of text; ``anchor`` is start, middle or end."""
    return f"<text{attributes(x=x, y=y, class_=class_, text_anchor=anchor)}>{escape(visible(content))}</text>"


def group(class_: str, *parts: str) -> str:
    """Elements that belong together."""
    return f"<g{attributes(class_=class_)}>{''.join(parts)}</g>"


def hatch(identifier: str, class_: str) -> str:
    """A pattern of slanting lines, so that a worsening bar differs without colour."""
    stripe = f'<rect width="6" height="6" class="{class_}-ground"/><line x1="0" y1="0" x2="0" y2="6" class="{class_}"/>'
    return (
        f'<defs><pattern id="{escape(identifier)}" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)">{stripe}</pattern></defs>'
    )


def document(identifier: str, class_: str, size: tuple[float, float], title: str, desc: str, *parts: str) -> str:
    """A whole picture that scales with its box and tells screen readers what it shows."""
    width, height = number(size[0]), number(size[1])
    head = attributes(class_=class_, viewBox=f"0 0 {width} {height}", role="img")
    labels = f'aria-labelledby="{escape(identifier)}-title" aria-describedby="{escape(identifier)}-desc"'
    return (
        f"<svg{head} {labels}>"
        f'<title id="{escape(identifier)}-title">{escape(visible(title))}</title>'
        f'<desc id="{escape(identifier)}-desc">{escape(visible(desc))}</desc>{"".join(parts)}</svg>'
    )


@dataclass(frozen=True)
class Picture:
    """One chart in a wide and in a narrow layout; the style sheet shows the one that fits."""

    wide: str
    narrow: str


@dataclass(frozen=True)
class Scale:
    """A straight line from values ``low``…``high`` to places ``left``…``right``; beyond them it stops at the edge."""

    low: float
    high: float
    left: float
    right: float

    def __call__(self, value: float) -> float:
        """The place of ``value``."""
        return self.left + (self.right - self.left) * min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def holds(self, value: float) -> bool:
        """Whether ``value`` lies within the axis."""
        return self.low <= value <= self.high


def padded_domain(values: Sequence[float], padding: float = 0.06) -> tuple[float, float]:
    """The range of ``values`` and a little more; not below zero when no value is; never empty."""
    low, high = min(values), max(values)
    span = high - low
    if span <= 1e-12 * max(abs(low), abs(high)):
        span = 0.1 * max(abs(low), abs(high)) or 1.0
        low, high = low - span / 2, high + span / 2
    floor = 0.0 if min(values) >= 0 else -math.inf
    return max(low - padding * span, floor), high + padding * span


def round_ticks(low: float, high: float, wanted: int) -> tuple[float, ...]:
    """At least two and about ``wanted`` round numbers (steps of 1, 2, 5 times a power of ten) from ``low`` to ``high``."""
    ticks: tuple[float, ...] = ()
    while len(ticks) < 2:
        ticks = _multiples(low, high, wanted)
        wanted += 1
    return ticks


def _multiples(low: float, high: float, wanted: int) -> tuple[float, ...]:
    raw = (high - low) / max(wanted, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(index * step for index in range(first, last + 1))


def decimals_of(ticks: Sequence[float]) -> int:
    """How many decimals tell neighbouring ticks apart."""
    if len(ticks) < 2:
        return 4
    return max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))
