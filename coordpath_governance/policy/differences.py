"""What changes from one policy to another, key by key, for whoever has to agree to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from coordpath_governance.policy.document import Policy

__all__ = ["policy_changes"]

_MISSING = "(not set)"


def policy_changes(before: Policy | None, after: Policy) -> tuple[str, ...]:
    """A line per key that differs, such as `rules.gap.most: 0.1 → 0.2`; with no policy ``before``, every key that is set."""
    old = {} if before is None else dict(_leaves(_set(before), ""))
    new = dict(_leaves(_set(after), ""))
    return tuple(
        f"{key}: {new[key]}" if before is None else f"{key}: {old.get(key, _MISSING)} → {new.get(key, _MISSING)}"
        for key in dict.fromkeys((*old, *new))
        if old.get(key) != new.get(key)
    )


def _set(policy: Policy) -> dict[str, Any]:
    return policy.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _leaves(value: Any, where: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any JSON value
    """Every value with the way to it; a list of plain values is one value."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for at, item in enumerate(value):
            yield from _leaves(item, f"{where}[{at}]")
    else:
        yield where, json.dumps(value, ensure_ascii=False)
