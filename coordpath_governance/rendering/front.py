"""A front as files: the document's bytes, and its pages."""

from __future__ import annotations

from markupsafe import Markup

from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.rendering.front_picture import front_picture
from coordpath_governance.rendering.front_view import front_view
from coordpath_governance.rendering.templates import html_environment, markdown_environment
from coordpath_governance.reports.front_document import FrontDocument

__all__ = ["front_bytes", "front_html", "front_markdown"]


def front_bytes(document: FrontDocument) -> bytes:
    """Canonical JSON: the same front, the same bytes."""
    return canonical_bytes(document.model_dump(mode="json", by_alias=True))


def front_html(document: FrontDocument) -> str:
    """One self-contained page."""
    template = html_environment().get_template("front.html.j2")
    # The picture escapes every text of its own.
    return template.render(front=front_view(document), picture=Markup(front_picture(document)))  # noqa: S704


def front_markdown(document: FrontDocument) -> str:
    """The same in Markdown."""
    return markdown_environment().get_template("front.md.j2").render(front=front_view(document))
