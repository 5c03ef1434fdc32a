"""Read a policy strictly from YAML or JSON; write its canonical bytes and digest; list what changes between two policies.

YAML as people mean it: only ``true`` and ``false`` are booleans, a date is text, 1e-3 is a number. What could make two
readers see two policies, or one reader work for ever, is an error: a key twice, anchors and aliases, tags, too many bytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import yaml
from pydantic import ValidationError

from coordpath_governance.canonical import canonical_bytes, read_json, sha256_hex
from coordpath_governance.errors import PolicyError
from coordpath_governance.policy.document import POLICY_SCHEMA, Policy

__all__ = [
    "MAX_POLICY_BYTES",
    "policy_bytes",
    "policy_changes",
    "policy_schema",
    "policy_sha256",
    "read_policy",
    "written_keys",
]

MAX_POLICY_BYTES = 1_000_000
_DEEPEST = 20
_SHOWN = 5

_MISSING = "(not set)"


def read_policy(content: bytes | str, where: str) -> Policy:
    """The policy in ``content``, which is YAML or JSON.

    Raises `PolicyError` for anything that is wrong; its message begins with ``where`` and names the key.
    """
    raw = _parsed(content, where)
    if not isinstance(raw, dict):
        raise PolicyError(f"{where}: is not a policy but {_kind(raw)}; see `coordpath policy init`")
    schema = raw.get("schema")
    if schema != POLICY_SCHEMA:
        raise PolicyError(f"{where}: schema: is {str(schema)[:80]!r}; expected {POLICY_SCHEMA!r}")
    _check_plain(raw, where, ())
    try:
        return Policy.model_validate_json(canonical_bytes(raw), strict=True)
    except ValidationError as error:
        problems = [f"{_place(e['loc'])}{_message(e)}" for e in error.errors()]
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise PolicyError(f"{where}: {'; '.join(problems[:_SHOWN])}{more}") from error


def policy_bytes(policy: Policy) -> bytes:
    """The canonical JSON of the keys that were written, without defaults: what is adopted, hashed and kept."""
    return canonical_bytes(written_keys(policy))


def written_keys(policy: Policy) -> dict[str, Any]:
    """The keys of a policy as they were written, without defaults, as a JSON value."""
    return policy.model_dump(mode="json", by_alias=True, exclude_unset=True)


def policy_sha256(policy: Policy) -> str:
    """SHA-256 of `policy_bytes`, in hexadecimal digits."""
    return sha256_hex(policy_bytes(policy))


def policy_schema() -> dict[str, Any]:
    """The JSON Schema of a policy, for editors and for those who read policies without us."""
    return Policy.model_json_schema(by_alias=True)


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, stricter as the module's docstring says."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}  # type: ignore[misc]

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - as PyYAML has it
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not read; write it out", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                text = str(key.value)[:80]
                raise yaml.MarkedYAMLError(
                    problem=f"the key {text!r} is not text; put it in quotes", problem_mark=key.start_mark
                )
            if key.value in keys:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value[:80]!r} is there twice", problem_mark=key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, deep)


_NUMBERS = list("-+.0123456789")
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), ["t", "f"])
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]{0,17})$"), _NUMBERS)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$|^[-+]?\.inf$|^\.nan$"),
    _NUMBERS,
)


def _parsed(content: bytes | str, where: str) -> Any:  # noqa: ANN401 - any JSON value
    """The value of JSON or YAML text."""
    size = len(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    if size > MAX_POLICY_BYTES:
        raise PolicyError(f"{where}: has {size} bytes; a policy has at most {MAX_POLICY_BYTES}")
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PolicyError(f"{where}: is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    if text.startswith("{"):
        return read_json(text, where, PolicyError)
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise PolicyError(f"{where}: {place}{problem}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise PolicyError(f"{where}: is not YAML: {str(error).splitlines()[0][:200]}") from error
    except RecursionError as error:
        raise PolicyError(f"{where}: is nested too deeply to be read") from error


def _check_plain(value: Any, where: str, place: tuple[str | int, ...]) -> None:  # noqa: ANN401 - any JSON value
    """Raises `PolicyError` for what canonical JSON cannot hold, and for values that are nested too deeply."""
    if len(place) > _DEEPEST:
        raise PolicyError(f"{where}: {_place(place[:3])}is nested too deeply")
    if isinstance(value, dict):
        for key, item in value.items():
            _check_plain(key, where, place)
            _check_plain(item, where, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_plain(item, where, (*place, index))
    elif isinstance(value, float) and not math.isfinite(value):
        raise PolicyError(f"{where}: {_place(place)}is not a finite number")
    elif isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        raise PolicyError(f"{where}: {_place(place)}holds half a character (a lone surrogate); write it in UTF-8")
    elif not (value is None or isinstance(value, str | bool | int | float)):
        raise PolicyError(f"{where}: {_place(place)}is {_kind(value)}, which no policy holds")


def _place(place: tuple[str | int, ...]) -> str:
    """A key's path, such as "rules.gap.most: "; empty for the whole."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{str(part)[:80]}" for part in place).lstrip(".")
    return f"{text}: " if text else ""


def _message(error: Any) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    """What pydantic found, in our words where they are clearer."""
    clearer = {"extra_forbidden": "there is no such key", "missing": "is missing"}
    message = str(error["msg"]).removeprefix("Value error, ")
    return clearer.get(error["type"], message)


def _kind(value: object) -> str:
    names = {type(None): "empty", str: "a text", list: "a list", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), f"a {type(value).__name__}")


def policy_changes(before: Policy | None, after: Policy) -> tuple[str, ...]:
    """One line per key that differs, such as `rules.gap.most: 0.1 → 0.2`; without ``before`` every key that is set."""
    old = {} if before is None else dict(_leaves(written_keys(before), ""))
    new = dict(_leaves(written_keys(after), ""))
    return tuple(
        f"{key}: {new[key]}" if before is None else f"{key}: {old.get(key, _MISSING)} → {new.get(key, _MISSING)}"
        for key in dict.fromkeys((*old, *new))
        if old.get(key) != new.get(key)
    )


def _leaves(value: Any, where: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any JSON value
    """Every value with its key, such as `rules.gap.most`; a list of plain values is one value."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for at, item in enumerate(value):
            yield from _leaves(item, f"{where}[{at}]")
    else:
        yield where, json.dumps(value, ensure_ascii=False)
