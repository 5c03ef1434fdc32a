"""The table of readers: from a model's folder, as MLflow stores it, to a `LinearModel`.

A reader is an object with `can_read` and `read`. Our own are imported when a model of their flavour arrives; a new flavour
is one file and one line in `_OWN`. Registered readers come next, then plugins.

Plugins are what installed distributions offer under the entry point group ``coordpath_governance.readers``: an object with
`can_read` and `read`, or a class of such objects. A plugin is imported only when a model has no flavour that we read, so it
cannot take over a flavour of ours. Its models get the plugin's name as their source, whatever the plugin says, so that a
policy can tell them from what we read.

The author's own ``coefficients.json`` counts only where no reader can read the model: next to a readable model it could
state anything. What it states is declared, not read, and the gate does not take it as known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from coordpath_governance.errors import CoordpathError, ModelReadError, ReaderPluginError, UnsupportedModelError
from coordpath_governance.models.coefficients_json import from_document, read_coefficients, to_document, with_source
from coordpath_governance.models.formats import PLUGIN_NAME, plugin_source
from coordpath_governance.models.linear_model import LinearModel, Provenance
from coordpath_governance.models.model_files import ModelFiles, open_model_files
from coordpath_governance.text import shorten, visible

__all__ = ["PLUGIN_GROUP", "ModelReader", "PluginReader", "plugin_readers", "read_model", "register_reader"]

PLUGIN_GROUP = "coordpath_governance.readers"
_SHOWN = 80


@dataclass(frozen=True)
class PluginReader:
    """One entry point. Any exception it raises, except a `ModelReadError`, becomes a `ReaderPluginError` that names it."""

    entry_point: EntryPoint

    @property
    def name(self) -> str:
        """The entry point's name."""
        return self.entry_point.name

    @property
    def distribution(self) -> str:
        """Name and version of the distribution that the plugin belongs to."""
        installed = self.entry_point.dist
        name = "an unknown distribution" if installed is None else f"{installed.name} {installed.version}"
        return shorten(visible(name), _SHOWN)

    def can_read(self, files: ModelFiles) -> bool:
        """Whether the plugin says that it can read the model."""
        return bool(self._ask("can_read", files))

    def read(self, files: ModelFiles) -> LinearModel:
        """The model as the plugin reads it, with the same checks as a declared model and with the plugin as its source."""
        model = self._ask("read", files)
        if not isinstance(model, LinearModel):
            raise self._error(f"its 'read' returns {type(model).__name__} and not a LinearModel")
        with self._faults("what it read cannot be used"):
            checked = _validated(model)
        return with_source(checked, plugin_source(self.name, self.distribution))

    @cached_property
    def _reader(self) -> Any:  # noqa: ANN401 - whatever the entry point names
        if PLUGIN_NAME.fullmatch(self.name) is None:
            raise self._error("its name has other characters than letters, digits and -._, or more than 60 of them")
        with self._faults("it cannot be loaded"):
            loaded = self.entry_point.load()
            reader = loaded() if isinstance(loaded, type) else loaded
        for method in ("can_read", "read"):
            if not callable(getattr(reader, method, None)):
                raise self._error(f"it has no method '{method}'")
        return reader

    def _ask(self, method: str, files: ModelFiles) -> Any:  # noqa: ANN401 - whatever the plugin returns
        ask: Callable[[ModelFiles], Any] = getattr(self._reader, method)
        with self._faults(f"its '{method}' failed"):
            return ask(files)

    @contextmanager
    def _faults(self, reason: str) -> Iterator[None]:
        try:
            yield
        except ModelReadError:
            raise
        except (Exception, SystemExit) as error:
            raise self._error(f"{reason} ({type(error).__name__}: {error})") from error

    def _error(self, reason: str) -> ReaderPluginError:
        name = shorten(visible(self.name), _SHOWN)
        return ReaderPluginError(
            f"the reader plugin '{name}' of {self.distribution} does not work: {reason}. Repair that distribution, or "
            "uninstall it."
        )


@cache
def plugin_readers() -> tuple[PluginReader, ...]:
    """All plugins in the order of their names. They are looked up once, and not imported."""
    installed = sorted(entry_points(group=PLUGIN_GROUP), key=lambda entry_point: (entry_point.name, entry_point.value))
    return tuple(map(PluginReader, installed))


def _validated(model: LinearModel) -> LinearModel:
    """The model after a round trip through its document, which checks that numbers are finite and nothing is there twice."""
    return replace(from_document(to_document(model)), provenance=model.provenance)


_COEFFICIENTS = "coefficients.json"
_MAX_MESSAGE = 1_000


class ModelReader(Protocol):
    """Reads the models of one or more flavours."""

    def can_read(self, files: ModelFiles) -> bool:
        """Whether this reader reads the flavours of the model; it must not open the model's files."""
        ...

    def read(self, files: ModelFiles) -> LinearModel:
        """The model. Raises `ModelReadError`, which says what is wrong and what to do."""
        ...


_OWN: Mapping[str, str] = MappingProxyType(
    {
        "sklearn": "sklearn_reader.SklearnReader",
        "statsmodels": "statsmodels_reader.StatsmodelsReader",
        "spark": "spark_reader.SparkReader",
    }
)
"""By flavour: module and class of our reader."""

_READERS: list[ModelReader] = []


def register_reader(reader: ModelReader) -> None:
    """Add a reader after ours and those already registered. The first reader that can read a model reads it."""
    if reader not in _READERS:
        _READERS.append(reader)


def read_model(folder: Path, provenance: Provenance | None = None) -> LinearModel:
    """Read a model's folder, or a ``coefficients.json`` file.

    ``provenance`` becomes that of the returned model. Raises `ModelReadError` for every failure. Its message may quote the
    model, and is made safe to print.
    """
    try:
        model = _read(Path(folder))
    except ModelReadError as error:
        raise type(error)(_printable(str(error))) from error
    except CoordpathError:
        raise
    except Exception as error:
        fault = _printable(f"{type(error).__name__}: {error}")
        raise ModelReadError(
            f"{folder}: reading the model failed in a way that we did not foresee ({fault}). If it is not damaged or "
            "forged, this is a fault of coordpath: please report it, and log the model again meanwhile."
        ) from error
    return replace(model, provenance=provenance or Provenance())


def _read(folder: Path) -> LinearModel:
    if folder.is_file():
        if folder.suffix != ".json":
            raise ModelReadError(f"{folder}: this is neither a model's folder nor a {_COEFFICIENTS}; give one of them.")
        return read_coefficients(folder)
    if not folder.is_dir():
        raise ModelReadError(f"{folder}: there is no such model folder; check the path.")
    files = open_model_files(folder)
    declared = (folder / _COEFFICIENTS).exists()
    try:
        for reader in _readers(files):
            if reader.can_read(files):
                return reader.read(files)
        return _read_by_plugin(files)
    except (UnsupportedModelError, ReaderPluginError):
        if not declared:
            raise
    return read_coefficients(files.path(_COEFFICIENTS))


def _read_by_plugin(files: ModelFiles) -> LinearModel:
    """The model, read by the first plugin that can. If no plugin can, the error names the first plugin that failed."""
    failed: list[ReaderPluginError] = []
    for plugin in plugin_readers() if files.flavours else ():
        with _noting(failed):
            if plugin.can_read(files):
                return plugin.read(files)
    if failed:
        raise ReaderPluginError(f"{files.folder}: {_why_not(files)} Besides, {failed[0]}") from failed[0]
    raise UnsupportedModelError(f"{files.folder}: {_why_not(files)}")


@contextmanager
def _noting(failed: list[ReaderPluginError]) -> Iterator[None]:
    """Add the error of a plugin that fails to ``failed``, so that the next plugin is asked."""
    try:
        yield
    except ReaderPluginError as error:
        failed.append(error)


def _readers(files: ModelFiles) -> Iterator[ModelReader]:
    """Our readers of the model's flavours, then the registered ones."""
    for flavour, home in _OWN.items():
        if flavour in files.flavours:
            module, _, name = home.rpartition(".")
            yield getattr(import_module(f"coordpath_governance.models.{module}"), name)()
    yield from _READERS


def _printable(message: str) -> str:
    """The message without control characters and shortened, because parts of it come from the model's author."""
    flat = " ".join(message.split())
    clean = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in flat)
    return clean if len(clean) <= _MAX_MESSAGE else f"{clean[:_MAX_MESSAGE]} ..."


def _why_not(files: ModelFiles) -> str:
    """Why no reader can read the model, and what to do."""
    if not files.flavours:
        return f"there is neither an MLmodel file nor a {_COEFFICIENTS} here; give the folder of a logged model."
    names = [name for name in files.flavours if name != "python_function"] or ["python_function"]
    return (
        f"the model has the flavour {', '.join(names)}, which is not supported; supported: {', '.join(_OWN)}. "
        f"Log it that way, or put a {_COEFFICIENTS} beside it (cg.to_coefficients)."
    )
