"""Decisions that flip: how many in all, and at which step of the path; a moved threshold is a step of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from coordpath_governance.numbers import percent
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.wording import by_weight, step_name
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.reports.impact_parts import Flips, FlipStep
from coordpath_governance.reports.thresholds import DecisionWords, decision_words, threshold_texts

__all__ = ["ClassFlipRow", "FlipRow", "FlipsView", "flips_view"]

NOT_COUNTED = "No threshold was given, so decisions that flip were not counted."
NO_THRESHOLD = "No threshold was given and neither version has its own, so decisions that flip were not counted."
ONE_THRESHOLD = "Only the {} has a threshold, so decisions that flip were not counted."
NO_CHAMPION = "There is no champion, so there are no decisions that could flip."
BACK_AND_FORTH = "A decision can flip and flip back on the way, so the steps may add up to more than the total."
THRESHOLD_SIDES = ("To yes", "To no")
ANOTHER_CLASS = ("To another class",)
MOST_MOVES = 10


@dataclass(frozen=True)
class FlipRow:
    """One step: the share of the rows whose decision flips, for each of the view's sides."""

    number: str
    label: str
    shares: tuple[str, ...]


@dataclass(frozen=True)
class ClassFlipRow:
    """From one class to another: a share of the rows."""

    before: str
    after: str
    share: str


@dataclass(frozen=True)
class FlipsView:
    """Sentences on flips, and the flips at each step of the path with their total and a note on it.

    There is no sentence if these models decide nothing. ``classes`` are the changes from one of several classes to another,
    the most frequent first.
    """

    known: bool
    sentences: tuple[str, ...]
    sides: tuple[str, ...] = ()
    caption: str = ""
    steps: Shown[FlipRow] = field(default=Shown(()))
    total: FlipRow | None = None
    note: str = BACK_AND_FORTH
    classes: Shown[ClassFlipRow] = field(default=Shown(()))
    classes_caption: str = ""


def flips_view(document: ChangeReportDocument, caps: Caps) -> FlipsView:
    """How decisions flip, in all and step by step; where the versions' thresholds differ, both are named.

    Models of several classes decide for the most probable one; every decision that changes counts as up.
    """
    flips, glm = document.impact.flips, document.glm
    if flips is None:
        return FlipsView(known=False, sentences=_why_not(document))
    several = glm is not None and glm.family == "multinomial"
    data = document.data
    words = decision_words(flips, data.rows, data.weight, glm, caps.label, with_shares=True)
    sentences = _sentences(words)
    weighted = by_weight(document, caps)
    among = f"rows ({weighted})" if weighted else "rows"
    moves, becoming = _class_flips(flips, caps), f"Share of the {among} whose most probable class becomes another"
    if not flips.steps:
        return FlipsView(known=True, sentences=sentences, classes=moves, classes_caption=becoming)
    steps = document.path.steps
    rows = [
        FlipRow(str(step.k), caps.label(step_name(step)), _shares(flip, several))
        for step, flip in zip(steps[: caps.steps], flips.steps, strict=False)
    ]
    rows += [FlipRow("", _move(flips), _shares(flip, several)) for flip in flips.steps[len(steps) :][-1:]]
    sides, meaning = _sides(words)
    caption = f"Share of the {among} whose decision flips at each step"
    return FlipsView(
        known=True,
        sentences=sentences,
        sides=ANOTHER_CLASS if several else sides,
        caption=caption if several else f"{caption}; {meaning}",
        steps=Shown(tuple(rows), len(flips.steps) - len(rows)),
        total=FlipRow("", "From first to last", _shares(flips, several)),
        classes=moves,
        classes_caption=becoming,
    )


def _why_not(document: ChangeReportDocument) -> tuple[str, ...]:
    """Why no flips were counted; nothing if neither version decides anything, as models of counts and amounts."""
    if document.glm is None:
        return (NOT_COUNTED,)
    settings = document.settings
    own = [who for who in ("champion", "candidate") if (document.models.get(who) or {}).get("threshold") is not None]
    is_requested = settings.threshold is not None or settings.champion_threshold is not None
    if not (document.glm.classes or own or is_requested):
        return ()
    if document.subject.champion is None:
        return (NO_CHAMPION,)
    return (ONE_THRESHOLD.format(own[0]) if len(own) == 1 else NO_THRESHOLD,)


def _sides(words: DecisionWords) -> tuple[tuple[str, ...], str]:
    """The heads of the columns, and what is decided for."""
    if words.yes is None:
        return THRESHOLD_SIDES, "yes: the prediction is at or above the threshold"
    below, above = words.sides
    return (f"To {above}", f"To {below}"), f"{above}: its probability is at or above the threshold"


def _shares(flips: FlipStep | Flips, several: bool) -> tuple[str, ...]:
    return (percent(flips.up, 2),) if several else (percent(flips.up, 2), percent(flips.down, 2))


def _class_flips(flips: Flips, caps: Caps) -> Shown[ClassFlipRow]:
    """The most frequent changes of class."""
    ranked = sorted(flips.classes, key=lambda flip: -flip.flips)
    return Shown.first(
        ranked,
        MOST_MOVES,
        lambda flip: ClassFlipRow(caps.label(flip.before), caps.label(flip.after), percent(flip.flips, 2)),
    )


def _move(flips: Flips) -> str:
    old, new = threshold_texts(flips)
    return f"threshold {old} → {new}"


def _sentences(words: DecisionWords) -> tuple[str, ...]:
    """Where decisions are made, how many change, and what to ask about it."""
    if words.flips.threshold is None:
        return (words.sentence(),)
    old, new = words.cut_offs
    does = "decides" if words.yes is None else f"decides for {words.yes}"
    if old == new:
        where = f"Both versions are taken to {does.replace('decides', 'decide', 1)} {_at(words, new)}."
    else:
        where = (
            f"The champion {does} {_at(words, old)}, the candidate {_at(words, new)}; each is taken at its own threshold."
        )
    directions = [f"{text[0].upper()}{text[1:]}." for text in words.directions()]
    return (where, *directions, *words.is_it_in_use())


def _at(words: DecisionWords, cut_off: str) -> str:
    return f"at the threshold {cut_off}" if words.yes is None else f"where {cut_off}"
