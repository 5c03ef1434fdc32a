"""Where templates are and how they are filled: HTML autoescapes, Markdown escapes whatever is not Markdown already."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from coordpath_governance.errors import CoordpathError
from coordpath_governance.rendering.markdown_text import MarkdownText, code_block, code_span, escape_markdown
from coordpath_governance.text import visible

__all__ = ["html_environment", "markdown_environment", "template_folder"]

BREAKS = re.compile(r"(?<=\w[_/=])(?=\w)|(?<=[^\W\d]\.)(?=[^\W\d])")
"""Where a long name may go on to the next line."""
UNBROKEN = 14

PACKAGE = Path(__file__).resolve().parents[1]


def template_folder(package: Path = PACKAGE) -> Path:
    """The package's own ``templates`` folder, or that of the source checkout around it."""
    for folder in (package / "templates", package.parent / "templates"):
        if (folder / "report.html.j2").is_file():
            return folder
    raise CoordpathError(
        f"The report templates are neither in {package / 'templates'} nor in {package.parent / 'templates'}: "
        "the installation is incomplete; install coordpath-governance again."
    )


@cache
def html_environment() -> Environment:
    """Escapes every value, isolates names with ``bdi``, and refuses to print None or something undefined."""
    environment = _environment()
    environment.finalize = finalize_html
    environment.filters["bdi"] = isolate
    environment.filters["br"] = join_lines
    environment.filters["verbatim"] = escape
    return environment


@cache
def markdown_environment() -> Environment:
    """Escapes every value for GitHub Markdown unless it is Markdown already."""
    environment = _environment()
    environment.finalize = finalize_markdown
    environment.filters["code"] = code_span
    environment.filters["block"] = code_block
    environment.filters["br"] = join_markdown
    return environment


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(template_folder()),
        autoescape=select_autoescape(enabled_extensions=("html.j2", "svg.j2", "css")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def finalize_html(value: object) -> object:
    """A value on its way into HTML: markup as it is, text with nothing invisible in it."""
    if value is None:
        raise CoordpathError("a template printed a value that is missing: this is a defect of coordpath-governance")
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) and value else value


def finalize_markdown(value: object) -> str:
    """A value on its way into Markdown."""
    if value is None:
        raise CoordpathError("a template printed a value that is missing: this is a defect of coordpath-governance")
    return value if isinstance(value, MarkdownText) else escape_markdown(str(value))


def isolate(text: str) -> Markup:
    """User text in an element of its own writing direction, with places to break a long name."""
    shown = visible(text)
    pieces = BREAKS.split(shown) if len(shown) > UNBROKEN else [shown]
    return Markup("<bdi>{}</bdi>").format(Markup("<wbr>").join(pieces))


def join_lines(lines: Iterable[str]) -> Markup:
    """Lines of user text, one under the other."""
    return Markup("<br>").join(isolate(line) for line in lines)


def join_markdown(lines: Iterable[str]) -> MarkdownText:
    """Lines of user text within one table cell."""
    return MarkdownText("<br>".join(escape_markdown(line) for line in lines))
