"""Whether a policy's threshold says enough: of a classifier it is a probability of one of two classes, and names which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from coordpath_governance.policy.results import listed

if TYPE_CHECKING:
    from coordpath_governance.models.linear_model import LinearModel
    from coordpath_governance.policy.document import PinnedReference

__all__ = ["is_bare_threshold", "label_objection", "threshold_objections"]

_TWO = 2
_NOT_TEXT = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
"""Words that some readers of YAML take for something else than text."""
_WHERE = "reference.threshold"


def is_bare_threshold(reference: PinnedReference) -> bool:
    """Whether there is a threshold without a class."""
    return reference.threshold_value is not None and reference.threshold_class is None


def threshold_objections(reference: PinnedReference, models: Mapping[str, LinearModel]) -> Iterator[str]:
    """One sentence for each of the ``models``, by registered name, that cannot be judged at the threshold."""
    if reference.threshold_value is None:
        return
    for name, model in models.items():
        about = f"{_WHERE}: the registered model {listed([name])}"
        if model.family == "multinomial":
            yield f"{about} decides for the most probable of several classes: take the threshold out"
        elif len(model.classes) == _TWO:
            yield from (f"{about} {what}" for what in _of_two(reference, model.classes))
        elif reference.threshold_class is not None:
            value = f"{reference.threshold_value:g}"
            yield f"{about} predicts no probability of a class: write the number alone, threshold: {value}"


def label_objection(reference: PinnedReference, labels: Sequence[str]) -> Iterator[str]:
    """The same from the texts that the target's column of the reference data holds, where no model can be asked."""
    named = reference.threshold_class
    wrong = named is None or (len(labels) == _TWO and named not in labels)
    if labels and reference.threshold_value is not None and wrong:
        about = f"{_WHERE}: the column '{reference.target}' of the reference data holds the classes {listed(labels)}"
        yield f"{about}: {_say_which(reference, labels)}"


def _of_two(reference: PinnedReference, classes: Sequence[str]) -> Iterator[str]:
    named = reference.threshold_class
    if named not in classes:
        yield f"is a classifier of {listed(classes)}: {_say_which(reference, classes)}"


def _say_which(reference: PinnedReference, classes: Sequence[str]) -> str:
    value = f"{reference.threshold_value:g}"
    ways = " or ".join(f"threshold: {{value: {value}, class: {_yaml(label)}}}" for label in list(classes)[:_TWO])
    named = reference.threshold_class
    return f"say whose probability the {value} is, {ways}" + ("" if named is None else f"; there is no class '{named}'")


def _yaml(label: str) -> str:
    """The label as YAML reads it as text."""
    shown = listed([label])
    return shown if shown.isidentifier() and shown.lower() not in _NOT_TEXT else f'"{shown}"'
