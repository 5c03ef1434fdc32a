"""Compare two documents leaf by leaf: numbers to within rounding, everything else exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["differences"]

_RELATIVE = 1e-8
_OF_SCALE = 1e-11


def differences(recorded: Any, again: Any, *, scale: float, where: str = "") -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Every leaf that differs, as "path: recorded → recomputed". ``scale`` is the size below 1e-11 of which is rounding."""
    if isinstance(recorded, dict) and isinstance(again, dict):
        for key in dict.fromkeys([*recorded, *again]):
            place = f"{where}.{key}" if where else str(key)
            if key not in recorded or key not in again:
                yield f"{place}: {'not in the report' if key not in recorded else 'does not belong there'}"
            else:
                yield from differences(recorded[key], again[key], scale=scale, where=place)
    elif isinstance(recorded, list) and isinstance(again, list):
        if len(recorded) != len(again):
            yield f"{where}: has {len(recorded)} entries, should have {len(again)}"
        for i, (one, other) in enumerate(zip(recorded, again, strict=False)):
            yield from differences(one, other, scale=scale, where=f"{where}[{i}]")
    elif _is_number(recorded) and _is_number(again):
        if abs(recorded - again) > _RELATIVE * max(abs(recorded), abs(again)) + _OF_SCALE * scale:
            yield f"{where}: {recorded!r}, recomputed {again!r}"
    elif recorded != again:
        yield f"{where}: {recorded!r}, recomputed {again!r}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
