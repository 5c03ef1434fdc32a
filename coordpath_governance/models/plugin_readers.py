"""Readers of others: what installed distributions offer under the entry point group ``coordpath_governance.readers``.

An entry point is an object with `can_read` and `read`, or a class of such objects. It is imported when a model has no
flavour that we read ourselves, and not before: a plugin cannot take over a flavour of ours. What it reads is called by the
plugin's name, whatever the plugin says itself, so that a policy can tell it from what we read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from coordpath_governance.errors import ModelReadError, ReaderPluginError
from coordpath_governance.models.coefficients_json import from_document, to_document, with_source
from coordpath_governance.models.formats import PLUGIN_NAME, plugin_source
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.model_files import ModelFiles
from coordpath_governance.text import shorten, visible

__all__ = ["GROUP", "PluginReader", "plugin_readers"]

GROUP = "coordpath_governance.readers"
_SHOWN = 80


@dataclass(frozen=True)
class PluginReader:
    """One entry point. Whatever it raises that is not a `ModelReadError` becomes a `ReaderPluginError` that names it."""

    entry_point: EntryPoint

    @property
    def name(self) -> str:
        """The entry point's name."""
        return self.entry_point.name

    @property
    def distribution(self) -> str:
        """Name and version of the distribution that brings it."""
        found = self.entry_point.dist
        told = "an unknown distribution" if found is None else f"{found.name} {found.version}"
        return shorten(visible(told), _SHOWN)

    def can_read(self, files: ModelFiles) -> bool:
        """Whether the plugin says that it knows the model."""
        return bool(self._ask("can_read", files))

    def read(self, files: ModelFiles) -> LinearModel:
        """The model as the plugin reads it, checked as a declared one is, under the plugin's name."""
        found = self._ask("read", files)
        if not isinstance(found, LinearModel):
            raise self._error(f"its 'read' returns {type(found).__name__} and not a LinearModel")
        with self._faults("what it read cannot be used"):
            checked = _sound(found)
        return with_source(checked, plugin_source(self.name, self.distribution))

    @cached_property
    def _reader(self) -> Any:  # noqa: ANN401 - whatever the entry point names
        if PLUGIN_NAME.fullmatch(self.name) is None:
            raise self._error("its name has other characters than letters, digits and -._, or more than 60 of them")
        with self._faults("it cannot be loaded"):
            found = self.entry_point.load()
            reader = found() if isinstance(found, type) else found
        for method in ("can_read", "read"):
            if not callable(getattr(reader, method, None)):
                raise self._error(f"it has no method '{method}'")
        return reader

    def _ask(self, method: str, files: ModelFiles) -> Any:  # noqa: ANN401 - whatever the plugin returns
        ask: Callable[[ModelFiles], Any] = getattr(self._reader, method)
        with self._faults(f"its '{method}' failed"):
            return ask(files)

    @contextmanager
    def _faults(self, what: str) -> Iterator[None]:
        try:
            yield
        except ModelReadError:
            raise
        except (Exception, SystemExit) as error:
            raise self._error(f"{what} ({type(error).__name__}: {error})") from error

    def _error(self, what: str) -> ReaderPluginError:
        named = shorten(visible(self.name), _SHOWN)
        return ReaderPluginError(
            f"the reader plugin '{named}' of {self.distribution} does not work: {what}. Repair that distribution, or "
            "uninstall it."
        )


@cache
def plugin_readers() -> tuple[PluginReader, ...]:
    """All plugins in the order of their names, looked for once; none of them is imported by that."""
    found = sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value))
    return tuple(PluginReader(each) for each in found)


def _sound(model: LinearModel) -> LinearModel:
    """The model as its own document gives it back: finite numbers, known kinds, nothing twice."""
    return replace(from_document(to_document(model)), provenance=model.provenance)
