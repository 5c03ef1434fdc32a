"""Where templates are and how they are filled: HTML autoescapes, Markdown escapes whatever is not Markdown already.

User text stays text in GitHub Markdown; code spans, fenced blocks and bars made of characters are made here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from coordpath_governance.errors import CoordpathError
from coordpath_governance.text import visible

__all__ = [
    "HTML_BYTES",
    "MARKDOWN_BYTES",
    "MarkdownText",
    "bar",
    "code_block",
    "code_span",
    "escape_markdown",
    "first_that_fits",
    "html_environment",
    "markdown_environment",
    "template_folder",
]

ZERO_WIDTH_SPACE = "&#8203;"

ESCAPES = str.maketrans(
    {
        "\\": "\\\\",
        "`": "\\`",
        "*": "\\*",
        "_": "\\_",
        "[": "\\[",
        "]": "\\]",
        "~": "\\~",
        "#": "\\#",
        "<": "&lt;",
        ">": "&gt;",
        "&": "&amp;",
        "|": "&#124;",
        "@": "@" + ZERO_WIDTH_SPACE,
        "$": "<span>$</span>",
    }
)
"""``@`` calls people and ``$`` opens a formula even where they are escaped, so both are kept apart from their neighbours."""

REFERENCES = re.compile(r"(?i)(#|\bgh-)(?=\d)")
EMOJI = re.compile(r":(?=[a-z0-9_+-]{1,40}:)", re.IGNORECASE)
LINK_STARTS = re.compile(r"(?i)(\w:|\bwww)(?=//|\.)")
LINE_STARTS = re.compile(r"^(\s*)(=|[-+](?=[\s+-]|$))|^(\s*\d+)([.)](?=\s|$))")
BREAK = "\ue000"
"""Stands for a zero-width space while text is escaped; `visible` removes it from user text."""

BREAKS = re.compile(r"(?<=\w[_/=])(?=\w)|(?<=[^\W\d]\.)(?=[^\W\d])")
"""Where a long name may go on to the next line."""
UNBROKEN = 14

PACKAGE = Path(__file__).resolve().parents[1]

HTML_BYTES = 400_000
MARKDOWN_BYTES = 95_000
"""MLflow renders Markdown artifacts below 100 kB."""


class MarkdownText(str):
    """Text that is Markdown already and is not escaped again."""

    __slots__ = ()


def escape_markdown(text: str) -> MarkdownText:
    """``text`` as literal text in a paragraph or table cell: no emphasis, code, HTML, link, mention, issue or emoji."""
    plain = visible(text) if text else ""
    marked = LINK_STARTS.sub(rf"\1{BREAK}", plain)
    marked = REFERENCES.sub(rf"\1{BREAK}", marked)
    marked = EMOJI.sub(f":{BREAK}", marked)
    escaped = marked.translate(ESCAPES).replace(BREAK, ZERO_WIDTH_SPACE)
    return MarkdownText(LINE_STARTS.sub(r"\1\3\\\2\4", escaped))


def code_span(text: str) -> MarkdownText:
    """``text`` as inline code, or as escaped text where a backtick or a pipe would end the span or the cell."""
    plain = visible(text)
    if "`" in plain or "|" in plain:
        return escape_markdown(plain)
    return MarkdownText(f"`{plain}`")


def code_block(text: str, language: str = "") -> MarkdownText:
    """Lines of ``text`` as a fenced block whose fence is longer than any run of backticks inside."""
    lines = "\n".join(visible(line) if line else "" for line in text.split("\n"))
    fence = "`" * max(3, longest_run(lines) + 1)
    return MarkdownText(f"{fence}{language}\n{lines}\n{fence}")


def longest_run(text: str) -> int:
    """Length of the longest run of backticks."""
    return max((len(run) for run in re.findall("`+", text)), default=0)


def bar(start: float, end: float, low: float, high: float, width: int = 24) -> str:
    """A waterfall bar as characters: █ where the cost falls, ▒ where it rises, on a track of dots."""
    span = high - low
    if not span > 0:
        return "·" * width
    cells = [min(max((value - low) / span, 0.0), 1.0) * width for value in (min(start, end), max(start, end))]
    first = min(int(cells[0] + 0.5), width - 1)
    last = max(int(cells[1] + 0.5), first + 1) if start != end else first
    fill = "█" if end < start else "▒"
    return "·" * first + fill * (last - first) + "·" * (width - last)


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


def first_that_fits(name: str, pages: Iterable[str], fits: Callable[[str], bool]) -> str:
    """The first of ``pages``, which come from the largest to the shortest, that ``fits``; ``name`` is for the error.

    Raises `CoordpathError` if even the last one does not fit, which our own caps rule out.
    """
    for page in pages:
        if fits(page):
            return page
    raise CoordpathError(f"{name} is too large even when shortened: this is a defect of coordpath-governance")


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
