"""Decisions that flip: how many in all, and at which step of the path; a moved threshold is a step of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from coordpath_governance.numbers import percent, significant
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.reports.impact_parts import Flips, FlipStep
from coordpath_governance.reports.words import threshold_texts

__all__ = ["FlipRow", "FlipsView", "flips_view"]

NOT_COUNTED = "No threshold was given, so decisions that flip were not counted."
NO_THRESHOLD = "No threshold was given and neither version has its own, so decisions that flip were not counted."
NO_CHAMPION = "There is no champion, so there are no decisions that could flip."
BACK_AND_FORTH = "A decision can flip and flip back on the way, so the steps may add up to more than the total."
THRESHOLD_SIDES = ("To yes", "To no")
ANOTHER_CLASS = ("To another class",)


@dataclass(frozen=True)
class FlipRow:
    """One step: shares of the rows whose decision flips, a share for each of the view's sides."""

    number: str
    label: str
    shares: tuple[str, ...]


@dataclass(frozen=True)
class FlipsView:
    """Sentences, and the steps of a path along which flips were counted, with their total and a note on it."""

    known: bool
    sentences: tuple[str, ...]
    sides: tuple[str, ...] = ()
    caption: str = ""
    steps: Shown[FlipRow] = field(default=Shown(()))
    total: FlipRow | None = None
    note: str = BACK_AND_FORTH


def flips_view(document: ChangeReportDocument, caps: Caps) -> FlipsView:
    """How decisions flip; a version's own threshold is named where the two differ.

    Of several classes the most probable one is decided for, and every decision that changes is counted as up.
    """
    flips, glm = document.impact.flips, document.glm
    if flips is None:
        why = NOT_COUNTED if glm is None else NO_CHAMPION if document.subject.champion is None else NO_THRESHOLD
        return FlipsView(known=False, sentences=(why,))
    several = glm is not None and glm.family == "multinomial"
    sentences = (_changed(flips),) if several else _sentences(flips)
    if not flips.steps:
        return FlipsView(known=True, sentences=sentences)
    steps = document.path.steps
    rows = [
        FlipRow(str(step.k), caps.label(flip.feature), _shares(flip, several))
        for step, flip in zip(steps[: caps.steps], flips.steps, strict=False)
    ]
    rows += [FlipRow("", _move(flips), _shares(flip, several)) for flip in flips.steps[len(steps) :][-1:]]
    caption = "Share of the rows whose decision flips at each step"
    return FlipsView(
        known=True,
        sentences=sentences,
        sides=ANOTHER_CLASS if several else THRESHOLD_SIDES,
        caption=caption if several else f"{caption}; yes: the prediction is at or above the threshold",
        steps=Shown(tuple(rows), len(flips.steps) - len(rows)),
        total=FlipRow("", "From first to last", _shares(flips, several)),
    )


def _shares(flips: FlipStep | Flips, several: bool) -> tuple[str, ...]:
    return (percent(flips.up, 2),) if several else (percent(flips.up, 2), percent(flips.down, 2))


def _changed(flips: Flips) -> str:
    return f"For {percent(flips.up, 2)} of the rows another class becomes the most probable one."


def _move(flips: Flips) -> str:
    old, new = threshold_texts(flips)
    return f"threshold {old} → {new}"


def _sentences(flips: Flips) -> tuple[str, ...]:
    if flips.champion_threshold is not None and flips.champion_threshold != flips.threshold:
        old, new = threshold_texts(flips)
        return (
            f"The champion decides at {old}, the candidate at {new}; each version is taken at its own threshold.",
            f"{percent(flips.up, 2)} of the rows go from below the champion's threshold to at or above the candidate's.",
            f"{percent(flips.down, 2)} of the rows go from at or above the champion's threshold to below the candidate's.",
        )
    threshold = significant(flips.threshold or 0.0)
    return (
        f"{percent(flips.up, 2)} of the rows go from below the threshold {threshold} to at or above it.",
        f"{percent(flips.down, 2)} of the rows go from at or above the threshold to below it.",
    )
