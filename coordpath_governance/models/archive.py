"""A ``.skops`` archive as a plain tree of Python values, without importing or running anything it names.

`read_archive` reads ``schema.json`` and the ``.npy`` members it refers to. What comes out is built of None, bool, int,
float, str, list, tuple, dict, slice, numpy arrays, scalars and dtypes, `Named` functions and types, and `ArchivedObject`.
Anything else in a schema (methods, random generators, bytes ...) is an `Opaque`. The names of all of it are collected.

The tree is the one that skops' own loader would build. An archive that could make the two differ is refused: duplicate keys
or members, one id on two different nodes, a number stored under the name of another type.
"""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.canonical import read_json
from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.archive_members import ArchiveMembers, Limits
from coordpath_governance.models.names import skops_name
from coordpath_governance.models.tree import ArchivedObject, Named, Opaque, StoredTree, brief, read_limited

__all__ = ["read_archive", "read_archive_bytes"]

_NEWEST_PROTOCOL = 2
_SHORT = 1000
"""Longest JSON text, in characters, that is read as a number or a text without a check for duplicate keys."""
_LONGEST_NAME = 300
_KEY_TYPES: Mapping[str, Callable[[str], object]] = {
    "builtins.str": str,
    "builtins.int": int,
    "builtins.float": float,
    "numpy.str_": str,
    "numpy.int32": int,
    "numpy.int64": int,
    "numpy.float64": float,
}
_NUMPY_SCALARS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intc", "uintc"),
    *("longlong", "ulonglong", "float16", "float32", "float64", "longdouble", "float128", "str", "bytes"),
)


def read_archive(path: Path, limits: Limits | None = None) -> StoredTree:
    """Read the archive at ``path``. Raises `ModelReadError` if it is damaged or exceeds the ``limits``."""
    limits = limits or Limits()
    return read_archive_bytes(read_limited(path, limits.archive_bytes, "archive"), str(path), limits)


def read_archive_bytes(data: bytes, where: str = "archive", limits: Limits | None = None) -> StoredTree:
    """Read an archive held in memory; ``where`` names it in errors."""
    limits = limits or Limits()
    members = ArchiveMembers(data, where, limits)
    text = members.read("schema.json", limit=limits.schema_bytes)
    schema = read_json(text, f"{where}, schema.json", ModelReadError, max_parts=limits.schema_parts)
    if not isinstance(schema, dict):
        raise members.damaged("schema.json is not an object")
    protocol = schema.get("protocol")
    if isinstance(protocol, bool) or not isinstance(protocol, int) or protocol < 0:
        raise members.damaged(f"schema.json has the protocol {brief(protocol)}")
    if protocol > _NEWEST_PROTOCOL:
        raise UnsupportedModelError(
            f"{where}: written with skops protocol {protocol}, and we read up to {_NEWEST_PROTOCOL}; "
            "update coordpath-governance or log the model with an older skops."
        )
    try:
        with _without_collecting():
            tree = _Tree(members, limits, schema)
            return StoredTree(tree.build(schema), frozenset(tree.names), "skops")
    except RecursionError as error:
        raise members.damaged("schema.json is nested too deeply") from error


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    """Switch garbage collection off: a tree has no garbage while it is built, and the search takes a third of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class _Tree:
    """Builds the values of a schema's nodes; every node with an id is built once."""

    def __init__(self, members: ArchiveMembers, limits: Limits, schema: dict[str, object]) -> None:
        self._members = members
        self._limits = limits
        self._nodes: dict[int, dict[str, object]] = {}
        self._repeated: list[dict[str, object]] = []
        self._shapes: dict[int, int] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._memo: dict[int, object] = {}
        self._building: set[int] = set()
        self.names: set[str] = set()
        self._index(schema)
        for node in self._repeated:
            self._compare(node)

    def build(self, node: object) -> object:
        """The value of one node."""
        if not isinstance(node, dict) or not isinstance(node.get("__loader__"), str):
            raise self._members.damaged("schema.json has something in it that is not a node")
        identity = node.get("__id__")
        if node["__loader__"] == "JsonNode":
            return self.load_json(node)
        if node["__loader__"] == "CachedNode":
            if type(identity) is not int or identity not in self._nodes:
                raise self._members.damaged(f"schema.json refers to the unknown id {brief(identity)}")
            node = self._nodes[identity]
        if not isinstance(identity, int):
            return self._dispatch(node)
        if identity in self._building:
            return Opaque("a reference of an object back to itself")
        if identity not in self._memo:
            self._building.add(identity)
            self._memo[identity] = self._dispatch(node)
            self._building.discard(identity)
        return self._memo[identity]

    def _dispatch(self, node: dict[str, object]) -> object:
        loader = _LOADERS.get(str(node["__loader__"]))
        if loader is None:
            return Opaque(f"{node['__loader__']} {_class_path(node)}")
        return loader(self, node)

    def _index(self, schema: dict[str, object]) -> None:
        """Collect every node by its id, and every name, also below nodes that stay opaque; level by level."""
        level: list[Any] = [schema]
        for _ in range(self._limits.depth + 1):
            below: list[Any] = []
            for part in level:
                if type(part) is dict:
                    if "__loader__" in part:
                        self._remember(part)
                    part = part.values()  # noqa: PLW2901 - the values are what is looked through
                below += [value for value in part if type(value) is dict or type(value) is list]
            if not below:
                return
            level = below
        raise self._members.damaged(f"schema.json is nested deeper than {self._limits.depth} levels")

    def _remember(self, node: dict[str, object]) -> None:
        loader, identity = node["__loader__"], node.get("__id__")
        if loader != "JsonNode":
            self._remember_name(loader, node)
        if identity is None or loader == "CachedNode":
            return
        if type(identity) is not int:
            raise self._members.damaged(f"schema.json has the id {brief(identity)}")
        if self._nodes.setdefault(identity, node) is not node:
            self._repeated.append(node)

    def _remember_name(self, loader: object, node: dict[str, object]) -> None:
        """Collect the name that a node brings. Its parts must be short texts, so that no error message is long."""
        for part in (loader, node.get("__module__"), node.get("__class__")):
            if not (part is None or (type(part) is str and len(part) <= _LONGEST_NAME)):
                raise self._members.damaged(f"schema.json has a node whose kind, module or class is {brief(part)}")
        self.names.add(skops_name(str(loader), _class_path(node)))

    def _compare(self, node: dict[str, object]) -> None:
        """Refuse two different nodes with the same id: skops keeps one of them and ignores the other."""
        identity = node["__id__"]
        first = self._nodes[identity] if isinstance(identity, int) else node
        if self._shape(node) != self._shape(first):
            raise self._members.damaged(f"two different nodes have the id {identity}")

    def _shape(self, part: object) -> object:
        """A key that is equal for equal parts of the schema: for an object or a list, a number that stands for its content.

        Ids are ignored. Files are compared by their content, because one object may be stored in two files.
        """
        if type(part) is str:
            return part
        if type(part) is not dict and type(part) is not list:
            return (type(part).__name__, repr(part))
        if id(part) not in self._shapes:
            shape: list[object] = [type(part).__name__]
            if type(part) is list:
                shape += [self._shape(value) for value in part]
            elif type(part) is dict:
                has_file = "__loader__" in part
                for key, value in part.items():
                    if key != "__id__":
                        is_file = has_file and key == "file" and isinstance(value, str)
                        shape += (key, self._members.digest(value) if is_file else self._shape(value))
            self._shapes[id(part)] = self._numbers.setdefault(tuple(shape), len(self._numbers))
        return self._shapes[id(part)]

    def _content(self, node: dict[str, object]) -> object:
        if "content" not in node:
            raise self._members.damaged(f"a {node['__loader__']} has no content")
        return node["content"]

    def _items(self, node: dict[str, object]) -> list[object]:
        content = self._content(node)
        if not isinstance(content, list):
            raise self._members.damaged(f"the content of a {node['__loader__']} is not a list")
        return [self.build(item) for item in content]

    def load_json(self, node: dict[str, object]) -> object:
        content = self._content(node)
        if not isinstance(content, str):
            raise self._members.damaged("the content of a JsonNode is not text")
        if len(content) <= _SHORT and content[:1] not in "{[" and "\\" not in content:
            with contextlib.suppress(ValueError):
                return json.loads(content)
        return read_json(content, "schema.json, a JsonNode", ModelReadError, allow_nan=True)

    def load_list(self, node: dict[str, object]) -> object:
        return self._items(node) if _class_path(node) == "builtins.list" else _opaque(node)

    def load_tuple(self, node: dict[str, object]) -> object:
        return tuple(self._items(node)) if _class_path(node) == "builtins.tuple" else _opaque(node)

    def load_dict(self, node: dict[str, object]) -> object:
        content, key_types = self._content(node), node.get("key_types")
        types = key_types.get("content") if isinstance(key_types, dict) else None
        if not isinstance(content, dict) or not isinstance(types, list) or len(types) != len(content):
            raise self._members.damaged("the keys and values of a DictNode do not match")
        if _class_path(node) not in ("builtins.dict", "collections.OrderedDict"):
            return _opaque(node)
        built: dict[object, object] = {}
        for (key, value), key_type in zip(content.items(), types, strict=True):
            convert = _KEY_TYPES.get(_class_path(key_type)) if _is_type_node(key_type) else None
            if convert is None:
                return Opaque("a dictionary with keys of an unusual type")
            try:
                built[convert(key)] = self.build(value)
            except ValueError as error:
                if isinstance(error, ModelReadError):
                    raise
                raise self._members.damaged(f"the dictionary key {key!r} is not of the type it says") from error
        if len(built) != len(content):
            raise self._members.damaged("a dictionary has the same key twice")
        return built

    def load_slice(self, node: dict[str, object]) -> object:
        content = self._content(node)
        parts = [content.get(part) for part in ("start", "stop", "step")] if isinstance(content, dict) else [()]
        if not all(part is None or isinstance(part, (int, str)) for part in parts):
            raise self._members.damaged("a SliceNode does not have a start, stop and step")
        return slice(*parts)

    def load_name(self, node: dict[str, object]) -> object:
        return Named(_class_path(node))

    def load_object(self, node: dict[str, object]) -> object:
        state = self.build(node["content"]) if node.get("content") is not None else None
        state = {} if state is None else state
        if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
            return _opaque(node)
        return ArchivedObject(_class_path(node), state)

    def load_array(self, node: dict[str, object]) -> object:
        if node.get("type") == "json":
            return self._object_array(node)
        if node.get("type") != "numpy":
            raise self._members.damaged(f"an array is stored in the unknown way {brief(node.get('type'))}")
        array = self._members.array(node.get("file"))
        if isinstance(array, Opaque) or _class_path(node) == "numpy.ndarray":
            return array
        name = _class_path(node).removeprefix("numpy.").rstrip("_")
        if name not in _NUMPY_SCALARS:
            return _opaque(node)
        if array.shape != () or not _is_of_type(array.dtype, name):
            raise self._members.damaged(f"a value of type {array.dtype} is stored as a {_class_path(node)}")
        return array[()]

    def load_dtype(self, node: dict[str, object]) -> object:
        array = self.build(self._content(node))
        return array.dtype if isinstance(array, np.ndarray) else Opaque("a numpy type")

    def load_sparse(self, node: dict[str, object]) -> object:
        return self._members.sparse(node.get("file"))

    def _object_array(self, node: dict[str, object]) -> object:
        """An object array from the nested list of its items, which must have the declared shape."""
        shape = self.build(node.get("shape"))
        if not isinstance(shape, tuple) or not shape or not all(type(size) is int and size >= 0 for size in shape):
            raise self._members.damaged(f"an array declares the shape {brief(shape)}")
        flat = _flatten(self._items(node), shape)
        if flat is None:
            raise self._members.damaged(f"an array does not have the shape {shape} it declares")
        array: NDArray[Any] = np.empty(len(flat), dtype=object)
        for position, item in enumerate(flat):
            array[position] = item
        return array.reshape(shape)


def _flatten(items: list[object], shape: tuple[int, ...]) -> list[object] | None:
    """The items of a nested list in order; None if it does not have this shape."""
    if len(items) != shape[0]:
        return None
    if len(shape) == 1:
        return items
    flat: list[object] = []
    for item in items:
        inner = _flatten(item, shape[1:]) if isinstance(item, list) else None
        if inner is None:
            return None
        flat.extend(inner)
    return flat


def _is_of_type(dtype: np.dtype[Any], name: str) -> bool:
    if name in ("str", "bytes"):
        return dtype.kind == ("U" if name == "str" else "S")
    try:
        declared = np.dtype(name)
    except TypeError:
        return False
    return (dtype.kind, dtype.itemsize) == (declared.kind, declared.itemsize)


def _is_type_node(node: object) -> bool:
    return isinstance(node, dict) and node.get("__loader__") == "TypeNode"


def _class_path(node: Mapping[str, object]) -> str:
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _opaque(node: Mapping[str, object]) -> Opaque:
    return Opaque(f"an object of the type {_class_path(node)}")


_LOADERS: Mapping[str, Callable[[_Tree, dict[str, object]], object]] = {
    "JsonNode": _Tree.load_json,
    "ListNode": _Tree.load_list,
    "TupleNode": _Tree.load_tuple,
    "DictNode": _Tree.load_dict,
    "SliceNode": _Tree.load_slice,
    "TypeNode": _Tree.load_name,
    "FunctionNode": _Tree.load_name,
    "ObjectNode": _Tree.load_object,
    "NdArrayNode": _Tree.load_array,
    "DTypeNode": _Tree.load_dtype,
    "SparseMatrixNode": _Tree.load_sparse,
}
