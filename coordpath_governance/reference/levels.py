"""One label for a level, however a file writes it: the label that the encoder of the level would match.

An encoder of numbers matches "1", "1.0", 1 and True with its level 1; an encoder of truth values matches "true" and 1 with
True. An encoder of text compares texts as they are, also "True" and "False".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from coordpath_governance.models.linear_model import MISSING_LEVEL, level_label

__all__ = ["class_reader", "level_reader", "number_of", "number_text"]

_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?(inf|infinity|nan)", re.ASCII | re.IGNORECASE)
_TRUTH = {"true": "True", "1": "True", "false": "False", "0": "False"}


def number_of(text: str) -> float | None:
    """The number that a text stands for (1 and 0 for true and false); None for other text, such as Python's 1_000."""
    stripped = text.strip()
    if stripped.lower() in ("true", "false"):
        return float(stripped.lower() == "true")
    return float(stripped) if _NUMBER.fullmatch(stripped) else None


def number_text(value: object) -> str:
    """The label of a level for an encoder whose levels are numbers; text that is not a number stays as it is."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Decimal):
        return level_label(int(value) if value == value.to_integral_value() else float(value))
    if not isinstance(value, str):
        return level_label(value)
    if _WHOLE.fullmatch(value.strip()):
        return str(int(value))
    number = number_of(value)
    return value if number is None or math.isinf(number) else level_label(number)


def _truth_text(value: object) -> str:
    """The label of a level for an encoder whose levels are true and false."""
    label = level_label(value)
    return _TRUTH.get(label.strip().lower(), label)


def level_reader(levels: Sequence[str], *, numeric_levels: bool, text_levels: bool) -> Callable[[object], str]:
    """The function that turns a value into a label, for an encoder with these ``levels`` (flags as in `CategoricalTerm`)."""
    if numeric_levels:
        return number_text
    if text_levels:
        return level_label
    present = set(levels) - {MISSING_LEVEL}
    return _truth_text if present and present <= {"True", "False"} else level_label


def class_reader(classes: Sequence[str]) -> Callable[[object], str]:
    """The function that turns a target into the label of its class: 1, 1.0, "1", "1.0" and true all give "1", or "True"."""
    if all(number_text(label) == label and number_of(label) is not None for label in classes):
        return number_text
    if set(classes) <= {"True", "False"}:
        return lambda value: _truth_text(number_text(value))
    return level_label
