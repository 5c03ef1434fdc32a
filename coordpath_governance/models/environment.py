"""Which code serves a model: its environment files, read as data.

Before MLflow loads a model it installs the packages that ``requirements.txt``, ``conda.yaml`` and ``python_env.yaml`` ask
for. Packages asked for by name and version can be compared. An index, an address, a path or an option becomes a remark,
which a person looks at. A file that cannot be read is damaged: we do not know what it asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from coordpath_governance.errors import ModelReadError
from coordpath_governance.models.model_files import ModelFiles, compose_yaml, open_model_files
from coordpath_governance.models.requirement_lines import Pin, Remark, read_requirement, read_requirements, shown

__all__ = ["Environment", "Pin", "Remark", "read_environment"]

_REQUIREMENTS, _CONDA, _PYTHON = "requirements.txt", "conda.yaml", "python_env.yaml"
_LOCKED = ("uv.lock", "pyproject.toml", ".python-version")
_MAX_BYTES = {_REQUIREMENTS: 1 << 20, _CONDA: 1 << 17, _PYTHON: 1 << 17}
_MOST_PINS = 2_000
_MOST_REMARKS = 50
_MOST_NAMED = 5
_CHANNELS = ("conda-forge", "defaults", "nodefaults")
_BUILD = ("pip", "setuptools", "wheel")
_KEYS = {_CONDA: ("name", "channels", "dependencies"), _PYTHON: ("python", "build_dependencies", "dependencies")}
_CONDA_LINE = re.compile(
    r"(?P<package>[A-Za-z0-9_][A-Za-z0-9_.-]*)"
    r"(?P<version>\s*[<>=!~]=?\s*[0-9A-Za-z.*+!_]+(?:\s*,\s*[<>=!~]=?\s*[0-9A-Za-z.*+!_]+)*(?:=[0-9A-Za-z._*]+)?"
    r"|\s+[0-9][0-9A-Za-z.*]*)?"
)
_LONGEST_CONDA_LINE = 200
_PYTHON_VERSION = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,5}){0,3}(?:[A-Za-z0-9.+]{0,20})")
_INCLUDED = re.compile(r"(?:-r|--requirement)[ =]requirements\.txt")

_Requests = Iterator["Pin | Remark"]


@dataclass(frozen=True)
class Environment:
    """What the environment files of one model ask for.

    ``pins`` are packages by name and version, ``remarks`` what a person should look at, and ``damaged`` the reasons why
    files could not be read.
    """

    files: tuple[str, ...] = ()
    python: str | None = None
    pins: tuple[Pin, ...] = ()
    channels: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
    damaged: tuple[str, ...] = ()


def read_environment(folder: Path) -> Environment | None:
    """The environment of the model in ``folder``; None for a folder without MLmodel and without environment files.

    The content of the files never raises an error; what cannot be read is in ``damaged``.
    """
    if not folder.is_dir():
        return None
    reading = _EnvironmentFiles(folder)
    reading.read_all()
    if not reading.files and not (folder / "MLmodel").exists():
        return None
    return reading.environment()


class _EnvironmentFiles:
    """Reads the files of one folder one after the other, and collects what they ask for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[str] = []
        self._pins: dict[str, list[Pin]] = {}
        self._other_pins: list[Pin] = []
        self._including: set[str] = set()
        self._python: dict[str, str] = {}
        self._channels: list[str] = []
        self._remarks: list[Remark] = []
        self._damaged: list[str] = []

    def read_all(self) -> None:
        names = self._names()
        readers: dict[str, Callable[[str, bytes], _Requests]] = {
            _REQUIREMENTS: self._requirements,
            _CONDA: self._conda,
            _PYTHON: self._python_env,
        }
        for kind, read in readers.items():
            for name in names[kind]:
                self._read_file(kind, name, read)
        for name in _LOCKED:
            if (self.folder / name).exists():
                self.files.append(name)
                self._remarks.append(Remark(name, None, "a file that uv installs from and that is not read here"))
        self._compare(frozenset(shown(name) for name in names[_PYTHON]))
        if len(set(self._python.values())) > 1:
            self._remarks.append(Remark(_PYTHON, None, f"it names another version of Python than {_CONDA} does"))

    def environment(self) -> Environment:
        unique = _sorted({*self._other_pins, *(pin for pins in self._pins.values() for pin in pins)})
        damaged = list(self._damaged)
        if len(unique) > _MOST_PINS:
            damaged.append(f"they ask for {len(unique)} packages; at most {_MOST_PINS} are read")
        remarks = list(dict.fromkeys(self._remarks))
        if len(remarks) > _MOST_REMARKS:
            more = f"and {len(remarks) - _MOST_REMARKS + 1} more remarks on these files"
            remarks = [*remarks[: _MOST_REMARKS - 1], Remark(remarks[-1].file, None, more)]
        return Environment(
            files=tuple(self.files),
            python=self._python.get(_PYTHON) or self._python.get(_CONDA),
            pins=tuple(unique[:_MOST_PINS]),
            channels=tuple(dict.fromkeys(self._channels)),
            remarks=tuple(remarks),
            damaged=tuple(damaged),
        )

    def _compare(self, virtual: frozenset[str]) -> None:
        """Add a remark if the files ask pip for different packages: which are installed depends on who serves the model.

        A file that includes requirements.txt asks for the same packages as that file. A file for a ``virtual`` environment
        that asks for nothing is ignored.
        """
        asked = {
            label: frozenset([*pins, *(self._pins.get(_REQUIREMENTS, ()) if label in self._including else ())])
            for label, pins in self._pins.items()
        }
        asked = {label: pins for label, pins in asked.items() if pins or label not in virtual}
        if len(set(asked.values())) < 2:
            return
        first, *others = asked
        other = next(label for label in others if asked[label] != asked[first])
        differing = _sorted(frozenset().union(*asked.values()) - frozenset.intersection(*asked.values()))
        listed = shown(", ".join(f"{pin.package}{pin.version}" for pin in differing[:_MOST_NAMED]))
        more = f" and {len(differing) - _MOST_NAMED} more" if len(differing) > _MOST_NAMED else ""
        self._remarks.append(Remark(other, None, f"the files ask for different packages: {listed}{more}"))

    def _names(self) -> dict[str, tuple[str, ...]]:
        """By kind of file: its usual name, and the name that MLmodel gives."""
        names = {_REQUIREMENTS: [_REQUIREMENTS], _CONDA: [_CONDA], _PYTHON: [_PYTHON]}
        try:
            stated = open_model_files(self.folder).flavours.get("python_function", {}).get("env")
        except ModelReadError:
            self._damaged.append("MLmodel cannot be read, so that it is not known which files it names")
            stated = None
        by_kind = stated if isinstance(stated, dict) else {"conda": stated}
        for key, value in by_kind.items():
            kind = {"conda": _CONDA, "virtualenv": _PYTHON}.get(str(key))
            if kind is None or not isinstance(value, str | None):
                self._remarks.append(Remark("MLmodel", None, f"an environment of another kind: {shown(str(key))}"))
            elif value is not None and value not in names[kind]:
                names[kind].append(value)
                if not (self.folder / value).exists():
                    self._damaged.append(f"MLmodel names {shown(value)}, which is not there")
        return {kind: tuple(paths) for kind, paths in names.items()}

    def _read_file(self, kind: str, name: str, read: Callable[[str, bytes], _Requests]) -> None:
        label = shown(name)
        try:
            path = ModelFiles(self.folder, {}).path(name)
            if not path.exists():
                return
            self.files.append(label)
            with path.open("rb") as stream:
                data = stream.read(_MAX_BYTES[kind] + 1)
            if len(data) > _MAX_BYTES[kind]:
                self._damaged.append(f"{label} has more than the {_MAX_BYTES[kind]} bytes we read")
                return
            requests = list(read(label, data))
        except (OSError, ModelReadError, UnicodeDecodeError, RecursionError, ValueError) as error:
            self._damaged.append(f"{label} cannot be read: {shown(str(error).removeprefix(f'{label}: '))}")
            return
        self._remarks += [request for request in requests if isinstance(request, Remark)]
        self._pins.setdefault(label, []).extend(request for request in requests if isinstance(request, Pin))

    @staticmethod
    def _requirements(label: str, data: bytes) -> _Requests:
        yield from read_requirements(label, data.decode("utf-8"))

    def _conda(self, label: str, data: bytes) -> _Requests:
        fields = _Mapping(label, compose_yaml(data, label))
        yield from fields.unknown(_KEYS[_CONDA])
        for channel, line in fields.texts("channels"):
            self._channels.append(shown(channel))
            if channel not in _CHANNELS:
                yield Remark(label, line, f"another channel of packages: {shown(channel)}")
        for node in fields.items("dependencies"):
            if isinstance(node, yaml.ScalarNode):
                yield from self._conda_line(label, str(node.value), _line(node))
                continue
            nested = _Mapping(label, node)
            yield from nested.unknown(("pip",))
            for text, line in nested.texts("pip"):
                yield from self._pip_line(label, text, line)

    def _conda_line(self, label: str, text: str, line: int) -> Iterator[Remark]:
        match = _CONDA_LINE.fullmatch(text.strip()) if len(text) <= _LONGEST_CONDA_LINE else None
        if match is None:
            yield Remark(label, line, f"not a package by name and version: {shown(text)}")
            return
        package, version = match["package"].lower(), (match["version"] or "").strip()
        if package == "python":
            self._python[_CONDA] = version.lstrip("= ")
        elif package not in _BUILD:
            self._other_pins.append(Pin(package, version))

    def _python_env(self, label: str, data: bytes) -> _Requests:
        fields = _Mapping(label, compose_yaml(data, label))
        yield from fields.unknown(_KEYS[_PYTHON])
        python = fields.text("python")
        if python is not None:
            if _PYTHON_VERSION.fullmatch(python[0]) is None:
                yield Remark(label, python[1], f"not a version of Python: {shown(python[0])}")
            self._python[_PYTHON] = shown(python[0])
        for text, line in fields.texts("build_dependencies"):
            yield from self._build_line(label, text, line)
        for text, line in fields.texts("dependencies"):
            yield from self._pip_line(label, text, line)

    def _build_line(self, label: str, text: str, line: int) -> Iterator[Remark]:
        """A package that is installed first, for the installation itself; a remark for any but pip's own tools."""
        for request in read_requirement(label, line, text):
            if isinstance(request, Remark):
                yield request
            elif request.package not in _BUILD:
                self._other_pins.append(request)
                yield Remark(label, line, f"a build dependency other than {', '.join(_BUILD)}: {shown(text)}")

    def _pip_line(self, label: str, text: str, line: int) -> _Requests:
        """One entry of a list for pip. A reference to the model's own requirements.txt is recorded, not read again."""
        if _INCLUDED.fullmatch(text.strip()) is None:
            yield from read_requirement(label, line, text)
        else:
            self._including.add(label)


def _sorted(pins: Iterable[Pin]) -> list[Pin]:
    return sorted(pins, key=lambda pin: (pin.package, pin.version))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


class _Mapping:
    """A YAML mapping whose keys are different texts. Raises `ModelReadError` for anything else."""

    def __init__(self, label: str, node: yaml.Node | None) -> None:
        self._label = label
        if not isinstance(node, yaml.MappingNode):
            raise ModelReadError(f"{label}: there are no keys where keys were expected")
        self._nodes: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in self._nodes or key.value == "<<":
                raise ModelReadError(f"{label}: line {_line(key)}: a key that is not text, or that occurs twice")
            self._nodes[str(key.value)] = value

    def unknown(self, known_keys: tuple[str, ...]) -> Iterator[Remark]:
        """A remark on every key that MLflow does not write: it could set variables, or install packages."""
        for key, node in self._nodes.items():
            if key not in known_keys:
                yield Remark(self._label, _line(node), f"a key that is not known here: {shown(key)}")

    def items(self, key: str) -> list[yaml.Node]:
        node = self._nodes.get(key)
        if node is None or (isinstance(node, yaml.ScalarNode) and node.value in ("", "null", "~")):
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise ModelReadError(f"{self._label}: line {_line(node)}: '{key}' is not a list")
        return list(node.value)

    def texts(self, key: str) -> Iterator[tuple[str, int]]:
        for node in self.items(key):
            if not isinstance(node, yaml.ScalarNode):
                raise ModelReadError(f"{self._label}: line {_line(node)}: '{key}' holds something else than text")
            yield str(node.value), _line(node)

    def text(self, key: str) -> tuple[str, int] | None:
        node = self._nodes.get(key)
        if node is None:
            return None
        if not isinstance(node, yaml.ScalarNode):
            raise ModelReadError(f"{self._label}: line {_line(node)}: '{key}' is not a text")
        return str(node.value), _line(node)
