"""A tree that was read from a pickle, written as a ``.skops`` archive, without importing or running anything it names.

The archive has the nodes that skops itself writes for such objects, so that skops' loader builds what the pickle would have
built, and our reader reads the same tree. Ids and the names of members are counted, so the same tree gives the same bytes.
What these nodes cannot express is refused.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coordpath_governance.errors import UpdateError
from coordpath_governance.models.archive_writing import array_node, json_node, npy_bytes, schema_bytes, write_zip
from coordpath_governance.models.names import FUNCTIONS, TYPES
from coordpath_governance.models.pickle_objects import STATE
from coordpath_governance.models.tree import ITEMS, ArchivedObject, Named, Opaque, describe

__all__ = ["TreeArchive", "write_tree"]

_PROTOCOL = 2
_WRITER = "none: written by coordpath-governance"
"""What stands in the schema where skops puts its version, which no loader reads."""
_MOST_NODES = 1_000_000
_LOSSES = ("sklearn._loss._loss", "_loss", "sklearn.linear_model._sgd_fast")
_REBUILDS = "__pyx_unpickle_"
_MASKED = "numpy.ma.core._mareconstruct"
_RANDOM = "numpy.random._pickle.__randomstate_ctor"
_RANDOM_STATE = "numpy.random.mtrand.RandomState"
_Node = dict[str, Any]


@dataclass(frozen=True)
class TreeArchive:
    """An archive, and the sorted names in it that skops has to be told to trust."""

    data: bytes
    names: tuple[str, ...]


def write_tree(root: object) -> TreeArchive:
    """The archive of a tree. Raises `UpdateError` for a value that cannot be written, and names it."""
    writer = _Writer()
    try:
        schema = writer.node(root)
    except RecursionError as error:
        raise UpdateError("the model is nested too deeply to be written as a skops archive.") from error
    schema |= {"protocol": _PROTOCOL, "_skops_version": _WRITER}
    members = [*writer.members.items(), ("schema.json", schema_bytes(schema))]
    data = write_zip((name, content, zipfile.ZIP_DEFLATED) for name, content in members)
    return TreeArchive(data, tuple(sorted(writer.names)))


@dataclass
class _Writer:
    """Makes nodes. ``ids`` has the id of every object so far, and keeps the object, so that its identity stays its own."""

    members: dict[str, bytes] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    ids: dict[int, tuple[int, object]] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    count: int = 0

    def node(self, value: object) -> _Node:
        """The node of a value, with its id."""
        self.count += 1
        if self.count > _MOST_NODES:
            raise UpdateError(f"the model has more than the {_MOST_NODES} parts that are written.")
        if value is None or type(value) in (bool, int, float, str):
            return {**json_node(value), "__id__": self._new_id()}  # type: ignore[arg-type]
        if id(value) in self.open:
            raise UpdateError("the model is a part of itself, which a skops archive cannot express.")
        identity = self.ids.setdefault(id(value), (len(self.ids) + 1, value))[0]
        self.open.add(id(value))
        node = self._of(value, identity)
        self.open.discard(id(value))
        return {**node, "__id__": identity}

    def _new_id(self) -> int:
        marker = object()
        return self.ids.setdefault(id(marker), (len(self.ids) + 1, marker))[0]

    def _of(self, value: object, identity: int) -> _Node:
        if isinstance(value, np.ndarray):
            return self._array(value, identity)
        if isinstance(value, np.generic):
            return self._numbers(value, identity)
        if isinstance(value, np.dtype):
            self.names.add("numpy.dtype")
            return {**_head("numpy.dtype", "DTypeNode"), "content": self.node(np.empty(0, value))}
        if isinstance(value, slice):
            return {**_head("builtins.slice", "SliceNode"), "content": self._slice(value)}
        if type(value) in (list, tuple):
            kind = type(value).__name__
            return {**_head(f"builtins.{kind}", f"{kind.capitalize()}Node"), "content": [self.node(part) for part in value]}  # type: ignore[attr-defined]
        if type(value) is dict:
            return self._dict(value)
        if isinstance(value, Named):
            return self._name(value)
        if isinstance(value, ArchivedObject):
            return self._object(value)
        raise _cannot(value)

    def _numbers(self, value: Any, identity: int) -> _Node:  # noqa: ANN401 - an array or a scalar of numpy
        file = f"{identity}.npy"
        if value.dtype.kind not in "biufSU":
            raise _cannot(value)
        self.members[file] = npy_bytes(value)
        node = array_node(type(value) if isinstance(value, np.generic) else np.ndarray, file)
        if isinstance(value, np.bool_):
            self.names.add(f"numpy.{node['__class__']}")
        return node

    def _array(self, value: Any, identity: int) -> _Node:  # noqa: ANN401 - an array of anything
        if value.dtype.kind != "O":
            return self._numbers(value, identity)
        if not value.ndim:
            raise _cannot(value)
        node = {**_head("numpy.ndarray", "NdArrayNode"), "content": self.node(value.tolist())["content"], "type": "json"}
        return {**node, "shape": self.node(value.shape)}

    def _slice(self, value: slice) -> _Node:
        parts = {"start": value.start, "stop": value.stop, "step": value.step}
        if any(part is not None and type(part) is not int for part in parts.values()):
            raise _cannot(value)
        return parts

    def _dict(self, value: Mapping[Any, object]) -> _Node:
        content: _Node = {}
        kinds = []
        for key, part in value.items():
            if type(key) not in (str, int, float, np.str_, np.int64, np.float64) or str(key) in content:
                raise UpdateError(f"the model has a dictionary with the key {key!r}, which a skops archive cannot express.")
            content[str(key.item() if isinstance(key, np.generic) else key)] = self.node(part)
            module = "numpy" if isinstance(key, np.generic) else "builtins"
            kinds.append({**_head(f"{module}.{type(key).__name__}", "TypeNode"), "__id__": self._new_id()})
        key_types = {**_head("builtins.list", "ListNode"), "content": kinds, "__id__": self._new_id()}
        return {**_head("builtins.dict", "DictNode"), "key_types": key_types, "content": content}

    def _name(self, value: Named) -> _Node:
        if value.path not in TYPES | FUNCTIONS:
            raise _cannot(value)
        self.names.add(value.path)
        return _head(value.path, "TypeNode" if value.path in TYPES else "FunctionNode")

    def _object(self, value: ArchivedObject) -> _Node:
        if value.class_path == _MASKED and value.called:
            return self._masked(value)
        if value.class_path == _RANDOM and value.called:
            return {**_head(_RANDOM_STATE, "RandomStateNode"), "content": self.node(dict(value.attributes))}
        loss = _loss(value)
        if loss is not None:
            path, arguments = loss
            self.names.add(path)
            node = {**_head(path, "LossNode"), "__reduce__": {"args": self.node(arguments)}}
            return {**node, "content": self.node({})}
        if not value.is_plain or STATE in value.attributes or ITEMS in value.attributes:
            raise _cannot(value)
        self.names.add(value.class_path)
        return {**_head(value.class_path, "ObjectNode"), "content": self.node(dict(value.attributes) or None)}

    def _masked(self, value: ArchivedObject) -> _Node:
        """A masked array, from the state in which numpy stores one."""
        state = value.attributes.get(STATE)
        if not isinstance(state, tuple) or len(state) != 7 or not isinstance(state[2], np.dtype):
            raise _cannot(value)
        _, shape, dtype, fortran, content, mask, _ = state
        order: Any = "F" if fortran else "C"
        if dtype.kind == "O" and isinstance(content, list):
            data = np.empty(len(content), dtype=object)
            data[:] = content
        elif dtype.kind != "O" and isinstance(content, bytes) and isinstance(shape, tuple):
            data = np.frombuffer(content, dtype)
        else:
            raise _cannot(value)
        hidden = np.frombuffer(mask, np.bool_).reshape(shape, order=order)
        parts = {"data": self.node(data.reshape(shape, order=order)), "mask": self.node(hidden)}
        return {**_head("numpy.ma.MaskedArray", "MaskedArrayNode"), "content": parts}


def _loss(value: ArchivedObject) -> tuple[str, tuple[object, ...]] | None:
    """The class and the arguments of a compiled loss function; None for anything else.

    A pickle calls the class, or a function with the class, a number and the loss's state, which are the arguments.
    """
    module, _, name = value.class_path.rpartition(".")
    if module not in _LOSSES or not value.called:
        return None
    if not name.startswith(_REBUILDS):
        return None if value.attributes else (value.class_path, value.arguments)
    kind, state = (value.arguments[0], value.arguments[-1]) if len(value.arguments) == 3 else (None, None)
    state = value.attributes.get(STATE, ()) if state is None else state
    if not isinstance(kind, Named) or kind.path.rpartition(".")[2] != name.removeprefix(_REBUILDS):
        return None
    return (kind.path, state) if isinstance(state, tuple) else None


def _head(path: str, loader: str) -> _Node:
    module, _, name = path.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader}


def _cannot(value: object) -> UpdateError:
    what = (
        describe(value)
        if isinstance(value, ArchivedObject | Named | Opaque)
        else f"a value of the type {type(value).__name__}"
    )
    return UpdateError(
        f"the champion's pickle holds {what}, which a skops archive cannot express; log the champion again with "
        "mlflow.sklearn.log_model (default format), or fit the update and log it."
    )
