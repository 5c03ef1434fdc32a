"""A ``.skops`` archive with other numbers in one of its objects, and everything else as it is.

The archive must have been read before by `archive`, which checks it: here only its schema and its members are copied.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from coordpath_governance.models.archive_writing import array_node, json_node, npy_bytes, schema_bytes, write_zip

__all__ = ["archive_with"]

_SCHEMA = "schema.json"
_Node = dict[str, Any]
_ById = Mapping[int, _Node]


def archive_with(data: bytes, path: Sequence[object], attributes: Mapping[str, object]) -> bytes:
    """The archive with new values of some attributes of the object at ``path``.

    ``path`` has the attributes, keys and positions that lead to the object; the values are arrays or numbers. If the schema
    holds the object more than once, it is changed everywhere. Members keep their names, order and compression; the date of
    all of them is the first date of zips.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        kept = {info.filename: info.compress_type for info in archive.infolist()}
        contents = {name: archive.read(name) for name in kept}
    schema: _Node = json.loads(contents[_SCHEMA])
    nodes = list(_nodes(schema))
    by_id = {node["__id__"]: node for node in nodes if "__id__" in node and node["__loader__"] != "CachedNode"}
    wanted = _follow(schema, path, by_id)
    objects = [node for node in nodes if node is wanted or ("__id__" in wanted and _defines(node, wanted["__id__"]))]
    fresh = max((*by_id, 0)) + 1
    for identity, (name, value) in enumerate(sorted(attributes.items()), fresh):
        old_file = _resolved(_attributes_of(wanted, by_id)[name], by_id).get("file")
        file = f"{identity}.npy"
        new: _Node = json_node(value) if type(value) is float else array_node(type(value), file)
        new["__id__"] = identity
        for node in objects:
            _attributes_of(node, by_id)[name] = new
        if "file" in new:
            if isinstance(old_file, str) and not any(node.get("file") == old_file for node in _nodes(schema)):
                new["file"] = old_file
            contents[new["file"]] = npy_bytes(np.asarray(value))
    contents[_SCHEMA] = schema_bytes(schema)
    return write_zip((name, content, kept.get(name, zipfile.ZIP_STORED)) for name, content in contents.items())


def _nodes(part: object) -> Iterator[_Node]:
    """Every node of a schema."""
    pending = [part]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if "__loader__" in value:
                yield value
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)


def _defines(node: _Node, identity: int) -> bool:
    return node.get("__id__") == identity and node["__loader__"] != "CachedNode"


def _resolved(node: _Node, by_id: _ById) -> _Node:
    return by_id[node["__id__"]] if node["__loader__"] == "CachedNode" else node


def _attributes_of(node: _Node, by_id: _ById) -> dict[str, _Node]:
    """The nodes of an object's attributes by name."""
    content: dict[str, _Node] = _resolved(node["content"], by_id)["content"]
    return content


def _follow(schema: _Node, path: Sequence[object], by_id: _ById) -> _Node:
    """The node at the end of a path."""
    node = _resolved(schema, by_id)
    for step in path:
        if node["__loader__"] == "ObjectNode":
            node = _attributes_of(node, by_id)[str(step)]
        else:
            node = node["content"][step if isinstance(step, int) and node["__loader__"] != "DictNode" else str(step)]
        node = _resolved(node, by_id)
    return node
