"""The tree into which every format of stored models is read: plain values, arrays, and objects that are only described.

Nothing in it was imported or called. Names of classes and functions are text, and only ever compared.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from coordpath_governance.errors import ModelReadError

__all__ = [
    "ITEMS",
    "ArchivedObject",
    "Named",
    "Opaque",
    "StoredTree",
    "brief",
    "describe",
    "path_to",
    "read_limited",
    "with_object",
]

ITEMS = "(items)"
"""The attribute under which the items appended to an object are kept."""


@dataclass(frozen=True)
class ArchivedObject:
    """An object of a stored model: the path of its class, its attributes, and the arguments it was made from.

    ``called``: the object is the result of calling that class or function with the ``arguments``, so it may have state that
    the attributes do not show.
    """

    class_path: str
    attributes: Mapping[str, object]
    arguments: tuple[object, ...] = ()
    called: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the attributes describe the object completely."""
        return not (self.called or self.arguments or ITEMS in self.attributes)

    @property
    def class_name(self) -> str:
        """The last part of the class path."""
        return self.class_path.rpartition(".")[2]


@dataclass(frozen=True)
class Named:
    """The name of a class or function that a model holds as a value."""

    path: str


@dataclass(frozen=True)
class Opaque:
    """A value in a stored model that we do not open: a method, a set, an unknown kind of object."""

    what: str


@dataclass(frozen=True)
class StoredTree:
    """The content of a file, every name that occurs in it, and its format.

    For a pickle also the names that it calls, every object whose state it sets, and every array of pyarrow, including what
    is made and then dropped.
    """

    root: object
    names: frozenset[str]
    format: str
    calls: frozenset[str] = frozenset()
    stated: tuple[ArchivedObject, ...] = ()
    arrow_arrays: tuple[ArchivedObject, ...] = ()


class _Brief(reprlib.Repr):
    """A short text, even of a value that is nested without end or repeats its parts without end."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlist, self.maxtuple, self.maxdict = 2, 4, 4, 4
        self.maxstring = self.maxother = 80

    def repr_instance(self, x: object, level: int) -> str:
        if isinstance(x, (ArchivedObject, Named, Opaque)):
            return describe(x)
        return super().repr_instance(x, level)


def read_limited(path: Path, most: int, content: str) -> bytes:
    """The bytes of a file, at most ``most`` of them.

    Raises `ModelReadError` if the file cannot be read or has more bytes; ``content`` says in the message what it holds.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        raise ModelReadError(f"{path}: the {content} cannot be read ({error}); check the path.") from error
    if len(data) > most:
        raise ModelReadError(f"{path}: the {content} has more than the {most} bytes we read.")
    return data


def _parts(value: object) -> Iterator[tuple[object, object]]:
    """The parts of a value that may hold objects, each with its attribute, key or position."""
    if isinstance(value, ArchivedObject):
        yield from value.attributes.items()
    elif isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)


def path_to(root: object, wanted: ArchivedObject) -> tuple[object, ...]:
    """The attributes, keys and positions that lead from ``root`` to an object in it, without passing through an array."""
    pending: list[tuple[object, tuple[object, ...]]] = [(root, ())]
    visited: set[int] = set()
    value, path = pending.pop()
    while value is not wanted:
        if id(value) not in visited:
            visited.add(id(value))
            pending.extend((part, (*path, step)) for step, part in _parts(value))
        value, path = pending.pop()
    return path


def with_object(root: object, old: ArchivedObject, new: ArchivedObject) -> object:
    """The tree with one object replaced wherever it occurs; parts in which it does not occur are not copied."""
    copies: dict[int, object] = {id(old): new}

    def copied(value: object) -> object:
        if id(value) not in copies:
            copies[id(value)] = value
            changed = {step: copy for step, part in _parts(value) if (copy := copied(part)) is not part}
            copies[id(value)] = _with_parts(value, changed) if changed else value
        return copies[id(value)]

    return copied(root)


def _with_parts(value: object, changed: Mapping[object, object]) -> object:
    if isinstance(value, ArchivedObject):
        return replace(value, attributes={**value.attributes, **{str(name): part for name, part in changed.items()}})
    if isinstance(value, dict):
        return {**value, **changed}
    items = [changed.get(position, part) for position, part in _parts(value)]
    return tuple(items) if isinstance(value, tuple) else items


def brief(value: object) -> str:
    """A value of a model in the short form that error messages use."""
    return _Brief().repr(value)


def describe(value: object) -> str:
    """What kind of value this is, in words."""
    if isinstance(value, ArchivedObject):
        if not value.is_plain:
            return f"what a call of {value.class_path} makes"
        in_sklearn = value.class_path.startswith("sklearn.")
        return f"a {value.class_name}" if in_sklearn else f"a {value.class_path} (not part of scikit-learn)"
    if isinstance(value, Named):
        return f"the name {value.path}"
    return value.what if isinstance(value, Opaque) else f"a {type(value).__name__}"
