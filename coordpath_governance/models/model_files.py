"""A model's folder as MLflow writes it: the ``MLmodel`` file, and the paths it names, which must stay inside."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import yaml

from coordpath_governance.canonical import read_json
from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.manifest import is_covered
from coordpath_governance.models.tree import read_limited

__all__ = ["ModelFiles", "compose_yaml", "open_model_files", "uncovered_path"]

_MLMODEL = "MLmodel"
_MAX_MLMODEL_BYTES = 1 << 20
_MAX_FLOW_LEVEL = 20
_MOST_TOKENS = 20_000
_NOT_PATHS = ("model_config", "uri")
"""Keys of MLmodel's flavours whose values are not paths of files that the model is read from."""

_YAML_ERRORS = (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError, AttributeError, KeyError)


class _TextLoader(yaml.BaseLoader):
    """YAML with text and null only. Refuses what two readers could read differently, and what takes for ever to read."""

    _tokens = 0

    def fetch_more_tokens(self) -> None:
        self._tokens += 1
        if self._tokens > _MOST_TOKENS:
            raise yaml.YAMLError("it has more parts than we read")
        super().fetch_more_tokens()

    def fetch_flow_collection_start(self, *arguments: object) -> None:
        if self.flow_level >= _MAX_FLOW_LEVEL:
            raise yaml.YAMLError("its brackets are nested too deeply")
        super().fetch_flow_collection_start(*arguments)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if "<<" in keys or len(set(keys)) != len(keys):
            raise yaml.YAMLError("it has merge keys or the same key twice")
        return super().construct_mapping(node, deep)

    def construct_null(self, _: yaml.Node) -> None:
        return None


_NULL = "tag:yaml.org,2002:null"
_TextLoader.add_implicit_resolver(_NULL, re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])
_TextLoader.add_constructor(_NULL, _TextLoader.construct_null)


class _NodeLoader(_TextLoader):
    """The same for nodes and their lines. Refuses aliases, which could repeat a node without end, and tags."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None) is not None:
            raise yaml.YAMLError("it has aliases (*name) or tags (!name)")
        return super().compose_node(parent, index)


def compose_yaml(data: bytes, where: str) -> yaml.Node | None:
    """The nodes of one small YAML document, each with its line; None if it is empty.

    Raises `ModelReadError`, which begins with ``where``, if it is not YAML that we read.
    """
    try:
        return _NodeLoader(data).get_single_node()
    except _YAML_ERRORS as error:
        raise ModelReadError(f"{where}: this is not YAML that we read ({error}).") from error


@dataclass(frozen=True)
class ModelFiles:
    """The folder, its flavours with their settings, and the names of the signature's input columns and output.

    ``takes_array``: the signature asks for an array without names, into which MLflow converts its input. ``types`` are the
    types in the signature, of the input columns that have a name.
    """

    folder: Path
    flavours: Mapping[str, Mapping[str, object]]
    columns: tuple[str, ...] | None = None
    target: str | None = None
    takes_array: bool = False
    types: Mapping[str, str] | None = None

    def path(self, name: object) -> Path:
        """The path of a file that MLmodel names. Raises `ModelReadError` if it is not inside the folder."""
        relative = PurePosixPath(name) if isinstance(name, str) and name else None
        outside = relative is None or relative.is_absolute() or ".." in relative.parts or "\\" in str(name)
        path = self.folder / str(name)
        try:
            outside = outside or "\0" in str(name) or not path.resolve().is_relative_to(self.folder.resolve())
        except (OSError, RuntimeError) as error:
            raise ModelReadError(f"{self.folder}: the path {name!r} cannot be followed ({error}).") from error
        if outside:
            raise ModelReadError(
                f"{self.folder}: MLmodel names the path {name!r}, which is not a file of this model; log the model again."
            )
        return path


def open_model_files(folder: Path) -> ModelFiles:
    """Read the folder's ``MLmodel``; a folder without one has no flavours.

    Raises `ModelReadError` if it cannot be read, `UnsupportedModelError` if it names a file outside of the model digest.
    """
    files = ModelFiles(folder, MappingProxyType({}))
    if not (folder / _MLMODEL).exists():
        return files
    settings = _load_yaml(files.path(_MLMODEL))
    where = f"{folder / _MLMODEL}"
    flavours = settings.get("flavors")
    if not isinstance(flavours, dict) or not all(isinstance(entry, dict) for entry in flavours.values()):
        raise ModelReadError(f"{where}: it does not list the model's flavours; log the model again.")
    uncovered = uncovered_path(flavours)
    if uncovered is not None:
        raise UnsupportedModelError(
            f"{where}: it names the path {uncovered!r}, which the model digest does not cover, so what is there could "
            "change unnoticed; log the model again with its files in folders of their own."
        )
    signature = settings.get("signature")
    inputs = _column_names(signature, "inputs", where)
    outputs = _column_names(signature, "outputs", where)
    return ModelFiles(
        folder,
        MappingProxyType({str(name): flavour for name, flavour in flavours.items()}),
        columns=None if inputs is None or None in inputs else tuple(str(name) for name in inputs),
        target=outputs[0] if outputs is not None and len(outputs) == 1 else None,
        takes_array=_is_array(signature, where),
        types=_column_types(signature, where),
    )


def uncovered_path(flavours: Mapping[object, object]) -> str | None:
    """The first path in the flavours' settings that the model digest does not cover; None if there is none."""
    return next((text for text in _texts(flavours) if not is_covered(text)), None)


def _texts(flavours: Mapping[object, object]) -> Iterator[str]:
    """Every text in the settings. A part is visited once, because YAML may hold it in many places or within itself."""
    pending: list[object] = [flavours]
    visited: set[int] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | Mapping) and id(value) not in visited:
            visited.add(id(value))
            parts = value if isinstance(value, list) else [part for key, part in value.items() if key not in _NOT_PATHS]
            pending.extend(parts)


def _load_yaml(path: Path) -> dict[object, object]:
    data = read_limited(path, _MAX_MLMODEL_BYTES, "file")
    try:
        settings = _TextLoader(data).get_single_data()
    except _YAML_ERRORS as error:
        raise ModelReadError(f"{path}: this is not valid YAML ({error}); log the model again.") from error
    if not isinstance(settings, dict):
        raise ModelReadError(f"{path}: this is not an MLmodel file; log the model again.")
    return settings


def _is_array(signature: object, where: str) -> bool:
    """Whether the inputs are an array or named arrays, not columns."""
    text = signature.get("inputs") if isinstance(signature, dict) else None
    specs = read_json(text, f"{where}, signature", ModelReadError) if isinstance(text, str) else None
    return isinstance(specs, list) and any(isinstance(spec, dict) and spec.get("type") == "tensor" for spec in specs)


def _column_names(signature: object, part: str, where: str) -> list[str | None] | None:
    """The column names of one half of the signature; None for a column without name, and None if it has no columns."""
    specs = _column_specs(signature, part, where)
    names = None if specs is None else [spec.get("name") for spec in specs]
    return None if names is None else [name if isinstance(name, str) else None for name in names]


def _column_types(signature: object, where: str) -> Mapping[str, str] | None:
    """The types of the input columns by name; "" for a type that is not text or is given twice."""
    specs = _column_specs(signature, "inputs", where)
    if specs is None:
        return None
    types: dict[str, str] = {}
    for spec in specs:
        name, kind = spec.get("name"), spec.get("type")
        if isinstance(name, str):
            types[name] = kind if isinstance(kind, str) and name not in types else ""
    return MappingProxyType(types)


def _column_specs(signature: object, part: str, where: str) -> list[dict[str, object]] | None:
    text = signature.get(part) if isinstance(signature, dict) else None
    if not isinstance(text, str):
        return None
    specs = read_json(text, f"{where}, signature", ModelReadError)
    if not isinstance(specs, list) or not all(isinstance(spec, dict) and spec.get("type") != "tensor" for spec in specs):
        return None
    return specs
