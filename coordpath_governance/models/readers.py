"""The table of readers: from a model's folder, as MLflow stores it, to a `LinearModel`.

A reader is an object with `can_read` and `read`. Ours are imported when a model of their flavour is met; adding a flavour is
one file and one line in the table. Readers that other distributions bring (`plugin_readers`) are asked last, about flavours
that no reader here knows. The author's own
``coefficients.json`` counts only where no reader can read the model: beside a readable one it could state anything. What it
states is declared, not read, and the gate does not take it for known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, TypeVar

from coordpath_governance.errors import CoordpathError, ModelReadError, ReaderPluginError, UnsupportedModelError
from coordpath_governance.models.coefficients_json import read_coefficients
from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.models.linear_model import LinearModel, Provenance
from coordpath_governance.models.model_files import ModelFiles, open_model_files
from coordpath_governance.models.plugin_readers import plugin_readers

__all__ = ["ModelReader", "read_model", "read_version", "register_reader"]

_COEFFICIENTS = "coefficients.json"
_MAX_MESSAGE = 1_000
_Wanted = TypeVar("_Wanted", bound="LinearModel | DecisionTree")


class ModelReader(Protocol):
    """One way to read models."""

    def can_read(self, files: ModelFiles) -> bool:
        """Tell from the flavours whether this reader knows the model; must not open it."""
        ...

    def read(self, files: ModelFiles) -> LinearModel | DecisionTree:
        """Return the model, or raise a `ModelReadError` that says what is wrong and what to do."""
        ...


_OWN: Mapping[str, str] = MappingProxyType(
    {
        "sklearn": "sklearn_reader.SklearnReader",
        "statsmodels": "statsmodels_reader.StatsmodelsReader",
        "spark": "spark_reader.SparkReader",
    }
)
"""By flavour: the module and the class of our reader."""

_READERS: list[ModelReader] = []


def register_reader(reader: ModelReader) -> None:
    """Add a reader behind ours and those already there; the first that knows a model reads it."""
    if reader not in _READERS:
        _READERS.append(reader)


def read_model(folder: Path, provenance: Provenance | None = None) -> LinearModel:
    """Read a linear model's folder, or a ``coefficients.json`` itself.

    Every failure is a `ModelReadError`; so is a decision tree, which `read_version` reads.
    """
    return replace(_safely(lambda: _read(Path(folder), _linear), folder), provenance=provenance or Provenance())


def read_version(folder: Path, provenance: Provenance | None = None) -> LinearModel | DecisionTree:
    """Read a model's folder, whichever of the models that we read it is, or a ``coefficients.json`` itself.

    Every failure is a `ModelReadError`; its message may quote the model, and is made safe to print.
    """
    return replace(_safely(lambda: _read(Path(folder), _any_model), folder), provenance=provenance or Provenance())


def _safely(read: Callable[[], _Wanted], folder: Path) -> _Wanted:
    """What was read; every failure becomes a `ModelReadError` whose message is safe to print."""
    try:
        return read()
    except ModelReadError as error:
        raise type(error)(_printable(str(error))) from error
    except CoordpathError:
        raise
    except Exception as error:
        said = _printable(f"{type(error).__name__}: {error}")
        raise ModelReadError(
            f"{folder}: reading the model failed in a way that we did not foresee ({said}). If it is not damaged or forged, "
            "this is a fault of coordpath: please report it, and log the model again meanwhile."
        ) from error


def _linear(model: LinearModel | DecisionTree, folder: Path) -> LinearModel:
    if isinstance(model, LinearModel):
        return model
    raise UnsupportedModelError(
        f"{folder}: the model is a {model.estimator} with {model.leaves} leaves, which is read, but a linear model is "
        "needed here; a tree can only be compared with a tree."
    )


def _any_model(model: LinearModel | DecisionTree, _: Path) -> LinearModel | DecisionTree:
    return model


def _read(folder: Path, wanted: Callable[[LinearModel | DecisionTree, Path], _Wanted]) -> _Wanted | LinearModel:
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
                return wanted(reader.read(files), folder)
        return _read_by_plugin(files)
    except (UnsupportedModelError, ReaderPluginError):
        if not declared:
            raise
    return read_coefficients(files.path(_COEFFICIENTS))


def _read_by_plugin(files: ModelFiles) -> LinearModel:
    """What the first plugin that knows the model reads; if none does, the error of one that failed comes first."""
    failed: list[ReaderPluginError] = []
    for plugin in plugin_readers() if files.flavours else ():
        with _kept(failed):
            if plugin.can_read(files):
                return plugin.read(files)
    if failed:
        raise ReaderPluginError(f"{files.folder}: {_why_not(files)} Besides, {failed[0]}") from failed[0]
    raise UnsupportedModelError(f"{files.folder}: {_why_not(files)}")


@contextmanager
def _kept(failed: list[ReaderPluginError]) -> Iterator[None]:
    """A plugin that fails is remembered, and the next one is asked."""
    try:
        yield
    except ReaderPluginError as error:
        failed.append(error)


def _readers(files: ModelFiles) -> Iterator[ModelReader]:
    """Our readers of the model's flavours, then those that were registered."""
    for flavour, home in _OWN.items():
        if flavour in files.flavours:
            module, _, name = home.rpartition(".")
            yield getattr(import_module(f"coordpath_governance.models.{module}"), name)()
    yield from _READERS


def _printable(message: str) -> str:
    """Return the message without control characters and of a length a person reads: parts of it are the author's."""
    flat = " ".join(message.split())
    clean = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in flat)
    return clean if len(clean) <= _MAX_MESSAGE else f"{clean[:_MAX_MESSAGE]} ..."


def _why_not(files: ModelFiles) -> str:
    """Return why no reader knows the model, and the remedy."""
    if not files.flavours:
        return f"there is neither an MLmodel file nor a {_COEFFICIENTS} here; give the folder of a logged model."
    names = [name for name in files.flavours if name != "python_function"] or ["python_function"]
    return (
        f"the model has the flavour {', '.join(names)}, which is not supported; supported: {', '.join(_OWN)}. "
        f"Log it that way, or put a {_COEFFICIENTS} beside it (cg.to_coefficients)."
    )
