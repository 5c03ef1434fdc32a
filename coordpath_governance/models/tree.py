"""The tree that every format of stored models is read into: plain values, arrays, and objects that are only described.

Nothing in it was imported or called. Names of classes and functions are text that is only ever compared.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coordpath_governance.errors import ModelReadError

__all__ = ["ITEMS", "ArchivedObject", "Named", "Opaque", "StoredTree", "brief", "describe", "read_limited"]

ITEMS = "(items)"
"""The attribute that stands for what was appended to an object."""


@dataclass(frozen=True)
class ArchivedObject:
    """An object of a stored model: the path of its class, its attributes, and what it was made from.

    ``called``: it is what a call of that class or function with the ``arguments`` returns, so that there may be more to it
    than its attributes say.
    """

    class_path: str
    attributes: Mapping[str, object]
    arguments: tuple[object, ...] = ()
    called: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether its attributes are all there is to it."""
        return not (self.called or self.arguments or ITEMS in self.attributes)

    @property
    def class_name(self) -> str:
        """The last part of the class path."""
        return self.class_path.rpartition(".")[2]


@dataclass(frozen=True)
class Named:
    """A class or a function that a model holds as a value, by its name."""

    path: str


@dataclass(frozen=True)
class Opaque:
    """Something stored in a model that we do not open: a method, a set, an unknown kind of object."""

    what: str


@dataclass(frozen=True)
class StoredTree:
    """What a file holds, every name that occurs in it, and how it was read.

    Of a pickle also the names that it calls, every object that it gives a state, and every array that pyarrow makes: also
    of what is made and thrown away.
    """

    root: object
    names: frozenset[str]
    format: str
    calls: frozenset[str] = frozenset()
    stated: tuple[ArchivedObject, ...] = ()
    arrow_arrays: tuple[ArchivedObject, ...] = ()


class _Brief(reprlib.Repr):
    """Short, also for what is nested without end or shared so often that writing it out would never end."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlist, self.maxtuple, self.maxdict = 2, 4, 4, 4
        self.maxstring = self.maxother = 80

    def repr_instance(self, x: object, level: int) -> str:
        if isinstance(x, (ArchivedObject, Named, Opaque)):
            return describe(x)
        return super().repr_instance(x, level)


def read_limited(path: Path, most: int, what: str) -> bytes:
    """The bytes of a file; one more than ``most`` where it has more, so that whoever reads on can tell."""
    try:
        with path.open("rb") as stream:
            return stream.read(most + 1)
    except OSError as error:
        raise ModelReadError(f"{path}: the {what} cannot be read ({error}); check that the file is there.") from error


def brief(value: object) -> str:
    """A value of a model as an error message shows it."""
    return _Brief().repr(value)


def describe(value: object) -> str:
    """What a value is, in words."""
    if isinstance(value, ArchivedObject):
        if not value.is_plain:
            return f"what a call of {value.class_path} makes"
        in_sklearn = value.class_path.startswith("sklearn.")
        return f"a {value.class_name}" if in_sklearn else f"a {value.class_path} (not part of scikit-learn)"
    if isinstance(value, Named):
        return f"the name {value.path}"
    return value.what if isinstance(value, Opaque) else f"a {type(value).__name__}"
