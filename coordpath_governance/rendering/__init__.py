"""Rendering: a complete change report document laid out as HTML and Markdown."""

from __future__ import annotations

from coordpath_governance.rendering.render import (
    Conclusion,
    render_conclusion_markdown,
    render_html,
    render_markdown,
    render_summary_markdown,
)

__all__ = ["Conclusion", "render_conclusion_markdown", "render_html", "render_markdown", "render_summary_markdown"]
