"""Small SVG elements as text: every attribute and every text escaped, coordinates with one decimal."""

from __future__ import annotations

from html import escape

from coordpath_governance.text import visible

__all__ = ["attributes", "circle", "diamond", "document", "group", "hatch", "line", "number", "path", "rect", "text"]

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
    """A pattern of slanting lines, so that a worsening bar is told apart without colour."""
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
