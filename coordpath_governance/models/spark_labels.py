"""The labels of Spark's StringIndexer: text, or the numbers that Spark has made text of.

Spark writes a number as Java does, a whole one as 1 and a double as 1.0, and looks up that text. Labels are numbers again
only if Java writes those numbers so; our data layer compares numbers, to which 1 and 1.0 are the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from coordpath_governance.models.spark_files import SparkStage
from coordpath_governance.models.tree import brief

__all__ = ["levels_of_labels"]

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_WRITTEN = re.compile(
    r"0|-?([1-9][0-9]*|(0|[1-9][0-9]*)\.([0-9]*[1-9]|0)(E-?[0-9]+)?|[0-9]+(\.[0-9]+)?e[+-]?[0-9]+|Infinity|inf)"
)
"""How Java, or our data layer, may write a number: text of this form cannot be told from a number in the data."""

_TEXT = "string"
_WHOLE_TYPES, _DOUBLE_TYPES = ("integer", "long"), ("double", "float")
_WAY_OUT = "cast the column to text before the model, and log the model with a signature that gives it the type string"


def levels_of_labels(stage: SparkStage, source: str, labels: Sequence[str], served: str | None) -> list[object]:
    """The levels of a column of the type ``served`` (None if no signature says it): numbers, or the labels as they stand."""
    if served == _TEXT or not labels or not all(map(_is_like_a_number, labels)):
        return list(labels)
    if all(_WHOLE.fullmatch(label) for label in labels):
        _check_type(stage, source, served, _WHOLE_TYPES, labels[0])
        return [int(label) for label in labels]
    if all(_is_double(label) for label in labels):
        _check_type(stage, source, served, _DOUBLE_TYPES, labels[0])
        return [float(label) for label in labels]
    if "NaN" in labels:
        raise stage.fitted.refusal("has NaN among levels that are numbers, and so tells NaN from null; impute the column.")
    written = next((label for label in labels if _WRITTEN.fullmatch(label)), None)
    if written is not None:
        raise stage.fitted.refusal(
            f"has the level {brief(written)} of '{source}' among levels that are not all whole numbers, and not all doubles "
            f"as Java writes them from 0.001 up to 10000000, so that it may be text or a number; {_WAY_OUT}."
        )
    return list(labels)


def _is_like_a_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def _is_double(label: str) -> bool:
    """Whether Java writes this double so; beyond these limits it writes an exponent, and Python another one."""
    value = float(label)
    return repr(value) == label and (label == "0.0" or 1e-3 <= abs(value) < 1e7)


def _check_type(stage: SparkStage, source: str, served: str | None, types: Sequence[str], label: str) -> None:
    """Refuse a column that is served as another type than its levels are: Spark would find none of them."""
    if served is not None and served not in types:
        raise stage.fitted.refusal(
            f"has levels like {brief(label)} of '{source}', and the signature gives that column the type {brief(served)}, "
            f"whose numbers Spark writes in another way; cast the column to {types[0]}, or {_WAY_OUT}."
        )
