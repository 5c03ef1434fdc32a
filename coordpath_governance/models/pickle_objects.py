"""A pickle as a plain tree of values, by an interpreter of its opcodes that imports nothing and calls nothing.

The tree has the form of `archive`: plain values, numpy's arrays, `Named` classes and functions, and an `ArchivedObject` for
every object, with the arguments of its constructor and the attributes in its state. Every name that occurs is collected,
also of objects that are made and then dropped. What no pickler writes is refused, because others could read it differently:
bytes after the end, a memo slot or a state set twice, persistent ids, extension codes, buffers from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.pickle_arrays import (
    DATES,
    ArrayShell,
    MalformedError,
    TypeShell,
    array_from_buffer,
    array_from_state,
    is_plain_array,
    scalar_from_bytes,
    type_from_state,
)
from coordpath_governance.models.pickle_values import ARROW_ARRAY, VALUES, PickleLimits, PickleMachine
from coordpath_governance.models.tree import ArchivedObject, Named, Opaque, StoredTree, read_limited

__all__ = ["STATE", "read_pickle", "read_pickle_bytes"]

STATE = "(state)"
"""The attribute under which a state that is not a dictionary is kept."""

_RENAMED = {"copy_reg": "copyreg", "__builtin__": "builtins"}
"""Modules that pickles of the protocols 0 to 2 name as in Python 2, with their present names."""

_LOCAL_CLASS = "class or function that the pickle brings itself"


def read_pickle(path: Path, limits: PickleLimits | None = None) -> StoredTree:
    """Read the pickle at ``path``. Raises `ModelReadError` if it is damaged or exceeds the ``limits``."""
    limits = limits or PickleLimits()
    return read_pickle_bytes(read_limited(path, limits.size, "pickle"), str(path), limits)


def read_pickle_bytes(data: bytes, where: str = "pickle", limits: PickleLimits | None = None) -> StoredTree:
    """Read a pickle held in memory; ``where`` names it in errors."""
    limits = limits or PickleLimits()
    if len(data) > limits.size:
        raise ModelReadError(f"{where}: the pickle has more than the {limits.size} bytes we read.")
    return _Interpreter(data, where, limits).run()


class _Interpreter(PickleMachine):
    """Adds names, objects and their state."""

    def _named(self, module: object, name: object) -> Named:
        if not isinstance(module, str) or not isinstance(name, str):
            self._damaged("a name in it is not text")
        if self._protocol < 3:
            module = _RENAMED.get(module, module)
        path = f"{module}.{name}"
        if module.startswith("formulaic."):
            raise UnsupportedModelError(
                f"{self._where}: the model's formula was read by formulaic, whose objects lie in the file and are not read: "
                "which of formulaic and patsy reads it when it is served is a setting outside of the file. Fit the model "
                "with patsy, as statsmodels does unless it is told otherwise, and log it again."
            )
        if len(path) > 300 or "." in name or not path.isprintable():
            raise UnsupportedModelError(
                f"{self._where}: the pickle holds the name {path[:200]!r}, which leads into another object and is therefore "
                "not read; log a model of the library's own classes."
            )
        if module.startswith("joblib."):
            raise UnsupportedModelError(
                f"{self._where}: the file was written by joblib.dump, which puts the arrays between the pickle's own bytes, "
                "and is not read; log the model with mlflow.sklearn.log_model."
            )
        return self._names.setdefault(path, Named(path))

    def global_lines(self) -> None:
        module = self._line()
        self._stack.append(self._named(module, self._line()))

    def stack_global(self) -> None:
        name = self._stack.pop()
        self._stack.append(self._named(self._stack.pop(), name))

    def inst(self) -> None:
        module = self._line()
        callee = self._named(module, self._line())
        self._stack.append(self._object(callee, tuple(self._above_mark()), called=True))

    def obj(self) -> None:
        callee, *arguments = self._above_mark()
        self._stack.append(self._object(callee, tuple(arguments), called=True))

    def newobj(self) -> None:
        arguments = self._stack.pop()
        self._stack.append(self._object(self._stack.pop(), arguments))

    def newobj_ex(self) -> None:
        named_arguments = self._stack.pop()
        arguments = self._stack.pop()
        if named_arguments:
            self._damaged("an object in it is made with named arguments")
        self._stack.append(self._object(self._stack.pop(), arguments))

    def _object(self, callee: object, arguments: object, *, called: bool = False) -> ArchivedObject:
        self._made()
        if type(arguments) is not tuple:
            self._damaged("it calls something without arguments")
        if type(callee) is not Named:
            callee = self._names.setdefault(_LOCAL_CLASS, Named(_LOCAL_CLASS))
        if called or arguments:
            self._calls.add(callee.path)
            self._use(arguments, is_argument=True)
        archived = ArchivedObject(callee.path, {}, arguments, called)
        if callee.path == ARROW_ARRAY:
            self._arrow_arrays.append(archived)
        return archived

    def reduce(self) -> None:
        arguments = self._stack.pop()
        callee = self._stack.pop()
        rebuild = _REBUILDERS.get(callee.path) if type(callee) is Named else None
        if rebuild is not None and type(arguments) is tuple:
            self._made()
            self._stack.append(rebuild(arguments))
        else:
            self._stack.append(self._object(callee, arguments, called=True))

    def build(self) -> None:
        state = self._stack.pop()
        shell = self._stack[-1]
        kind = type(shell)
        if kind is ArchivedObject:
            self._refuse_late_change(shell)
            self._set_state(shell, state)
            self._use(state, is_argument=False)
            return
        if kind is ArrayShell:
            value: object = array_from_state(state)
        elif kind is TypeShell:
            value = type_from_state(shell, state)
            if isinstance(value, Opaque) and value.what != DATES:
                self._names.setdefault(value.what, Named(value.what))
        else:
            self._damaged("it sets the state of something that has none, or has it already")
        self._stack[-1] = value
        for slot in shell.slots:
            self._memo[slot] = value

    def _set_state(self, archived: ArchivedObject, state: object) -> None:
        if id(archived) in self._stated:
            self._damaged(f"it sets the state of a {archived.class_name[:80]} twice")
        self._stated[id(archived)] = archived
        attributes: Any = archived.attributes
        parts = state if type(state) is tuple and len(state) == 2 else (state,)
        dictionaries = [part for part in parts if isinstance(part, dict) and all(type(key) is str for key in part)]
        if len(dictionaries) + sum(part is None for part in parts) != len(parts):
            attributes[STATE] = state
            return
        for part in dictionaries:
            for key in part:
                if key.startswith("__") and key.endswith("__") and key != "__doc__":
                    self._damaged(f"the state of a {archived.class_name[:80]} sets '{key[:80]}'")
            attributes.update(part)

    operations: ClassVar[Mapping[int, Callable[..., None]]] = {
        **VALUES,
        0x63: global_lines,
        0x93: stack_global,
        0x69: inst,
        0x6F: obj,
        0x81: newobj,
        0x92: newobj_ex,
        0x52: reduce,
        0x62: build,
    }


def _reconstruct(arguments: tuple[object, ...]) -> object:
    if len(arguments) != 3 or not is_plain_array(arguments[0]):
        raise MalformedError("an array in it is not of numpy's own class")
    return ArrayShell()


def _type(arguments: tuple[object, ...]) -> object:
    if len(arguments) != 3 or not isinstance(arguments[0], str):
        raise MalformedError("a numpy type in it has no code")
    if any(type(flag) not in (bool, int) for flag in arguments[1:]) or arguments[1:] != (False, True):
        raise MalformedError("a numpy type in it is made in another way than numpy writes it")
    return TypeShell(arguments[0])


def _encode(arguments: tuple[object, ...]) -> object:
    text = arguments[0] if len(arguments) == 2 and arguments[1] == "latin1" else None
    if not isinstance(text, str):
        raise MalformedError("bytes in it are not written as pickles write them")
    return text.encode("latin-1")


def _slice(arguments: tuple[object, ...]) -> object:
    if len(arguments) != 3 or not all(part is None or isinstance(part, (int, str)) for part in arguments):
        raise MalformedError("a slice in it has no start, stop and step")
    return slice(*arguments)


def _reconstructor(arguments: tuple[object, ...]) -> object:
    """``copyreg._reconstructor(class, object, None)`` of the protocols 0 and 1."""
    base = arguments[1] if len(arguments) == 3 else None
    cls = arguments[0] if arguments else None
    if (
        not isinstance(cls, Named)
        or not isinstance(base, Named)
        or base.path != "builtins.object"
        or arguments[2] is not None
    ):
        raise MalformedError("an object in it is not made from its class alone")
    return ArchivedObject(cls.path, {})


def _no_bytes(arguments: tuple[object, ...]) -> object:
    """``bytes()``, which is how the protocols 0 to 2 write empty bytes."""
    if arguments:
        raise MalformedError("bytes in it are not written as pickles write them")
    return b""


def _bytearray(arguments: tuple[object, ...]) -> object:
    """``bytearray(bytes)``, or of text and its encoding, as protocols up to 4 write it."""
    if len(arguments) == 2:
        return _encode((arguments[0], "latin1" if arguments[1] == "latin-1" else arguments[1]))
    if len(arguments) > 1 or not all(isinstance(part, (bytes, memoryview)) for part in arguments):
        raise MalformedError("bytes in it are not written as pickles write them")
    return arguments[0] if arguments else b""


def _ordered(arguments: tuple[object, ...]) -> object:
    if arguments:
        raise MalformedError("an ordered dictionary in it is made from something")
    return {}


_REBUILDERS: dict[str, Callable[[tuple[object, ...]], object]] = {
    "_codecs.encode": _encode,
    "builtins.bytes": _no_bytes,
    "builtins.bytearray": _bytearray,
    "builtins.slice": _slice,
    "builtins.set": lambda _: Opaque("a set"),
    "builtins.frozenset": lambda _: Opaque("a set"),
    "collections.OrderedDict": _ordered,
    "copyreg._reconstructor": _reconstructor,
    "numpy.dtype": _type,
    "numpy.core.multiarray._reconstruct": _reconstruct,
    "numpy._core.multiarray._reconstruct": _reconstruct,
    "numpy.core.multiarray.scalar": scalar_from_bytes,
    "numpy._core.multiarray.scalar": scalar_from_bytes,
    "numpy.core.numeric._frombuffer": array_from_buffer,
    "numpy._core.numeric._frombuffer": array_from_buffer,
}
