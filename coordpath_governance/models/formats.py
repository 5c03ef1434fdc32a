"""How a version was read: the formats, and the words in `LinearModel.source` that stand for each of them.

A report holds the words; a gate asks for the format. One table serves both directions, so a new format is one line here and
a call of `source_of`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

__all__ = [
    "DECLARED",
    "DECLARED_FORMAT",
    "FORMATS",
    "PLUGIN_NAME",
    "RECALLED_MARK",
    "as_read",
    "format_of",
    "is_format",
    "is_plugin",
    "plugin_source",
    "recalled_from",
    "recalled_source",
    "source_of",
    "vouched_source",
]

_FILES = "read from the model's files"
_SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "skops": _FILES,
        "pickle": f"{_FILES} (a pickle, as data)",
        "cloudpickle": f"{_FILES} (a cloudpickle, as data)",
        "parquet": f"{_FILES} (JSON and Parquet, as data)",
    }
)
_FORMATS_BY_SOURCE = {source: form for form, source in _SOURCES.items()}

DECLARED_FORMAT = "declared"
DECLARED = "declared by the author in coefficients.json"
"""The source of coefficients that only the author states."""

_VOUCHED = "declared, vouched for by "
_PLUGIN = "plugin:"
_READ_BY = "read by "
PLUGIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
_PLUGIN_SOURCE = re.compile(rf"{_READ_BY}.+ \(plugin ({PLUGIN_NAME.pattern})\)", re.DOTALL)

_RECALLED = "kept in the ledger by report "
RECALLED_MARK = _RECALLED.encode()
"""Bytes in every report that takes a model from the ledger. Most reports lack them, and need not be parsed to know it."""

_BEFORE = ", since the files are gone; before: "
_RECALLED_SOURCE = re.compile(rf"{_RECALLED}(?P<report>[0-9a-f]{{64}}){_BEFORE}(?P<source>.*)", re.DOTALL)

FORMATS = (*_SOURCES, DECLARED_FORMAT)
"""All formats except those of plugins, which are called ``plugin:NAME``."""


def source_of(form: str) -> str:
    """The words for a format of our own readers."""
    return _SOURCES[form]


def vouched_source(*owners: str) -> str:
    """The words for coefficients that people vouch for in the ledger."""
    return f"{_VOUCHED}{' and '.join(owners)}"


def plugin_source(name: str, distribution: str) -> str:
    """The words for a model that the plugin ``name`` of an installed distribution (name and version) reads."""
    return f"{_READ_BY}{distribution} (plugin {name})"


def recalled_source(report: str, source: str) -> str:
    """The words for coefficients taken from the report with this SHA-256, because the model's files are gone."""
    return f"{_RECALLED}{report}{_BEFORE}{source}"


def recalled_from(source: object) -> str | None:
    """The SHA-256 of the report that the coefficients were taken from; None if they were read from files."""
    match = _RECALLED_SOURCE.fullmatch(source) if isinstance(source, str) else None
    return None if match is None else match["report"]


def as_read(source: object) -> object:
    """The source when the version's files were still there; ``source`` itself if they are."""
    match = _RECALLED_SOURCE.fullmatch(source) if isinstance(source, str) else None
    return source if match is None else match["source"]


def format_of(source: object) -> str | None:
    """The format that these words stand for; None if for none, such as those for an estimator in memory."""
    source = as_read(source)
    if not isinstance(source, str):
        return None
    if source == DECLARED or source.startswith(_VOUCHED):
        return DECLARED_FORMAT
    plugin = _PLUGIN_SOURCE.fullmatch(source)
    if plugin:
        return f"{_PLUGIN}{plugin[1]}"
    return _FORMATS_BY_SOURCE.get(source)


def is_plugin(form: str) -> bool:
    """Whether a format is that of a plugin."""
    return form.startswith(_PLUGIN)


def is_format(text: str) -> bool:
    """Whether a policy may list ``text``: one of `FORMATS`, or ``plugin:NAME``."""
    return text in FORMATS or (is_plugin(text) and PLUGIN_NAME.fullmatch(text.removeprefix(_PLUGIN)) is not None)
