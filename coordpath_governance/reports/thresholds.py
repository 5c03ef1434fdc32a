"""Where the versions decide: their own thresholds, and sentences on the decisions that flip.

A sentence says at which cut-off of which class, how many rows change, and from what to what.

A threshold that somebody asks for is taken for both versions. If their own is another one and moves, decisions counted
there say nothing of that, and a gate must not take them for all there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coordpath_governance.numbers import complement, count, pair, percent
from coordpath_governance.reports.document import Settings
from coordpath_governance.reports.impact_parts import Flips, GlmFacts
from coordpath_governance.text import shorten

__all__ = [
    "NOWHERE",
    "DecisionWords",
    "OwnThresholds",
    "counted_elsewhere",
    "decision_words",
    "hides_a_move",
    "is_bare",
    "moved_threshold",
    "own_thresholds",
    "threshold_texts",
]

OwnThresholds = tuple[float | None, float | None]
"""The champion's and the candidate's; None where a version decides nothing by itself."""

NOWHERE: OwnThresholds = (None, None)

_LABEL = 40
"""Characters of a class's name in a sentence."""

_TWO = 2
_RARE = 0.01
"""The share of rows on the other side of a cut-off, up to which it may not be the one in use."""


def own_thresholds(models: Mapping[Any, Mapping[str, Any] | None], threshold_class: str | None = None) -> OwnThresholds:
    """Of the models of a report, as probabilities of ``threshold_class``; without a champion there is nothing to compare."""
    champion, candidate = models["champion"], models["candidate"]
    if champion is None or candidate is None:
        return NOWHERE
    own = (champion.get("threshold"), candidate.get("threshold"))
    if threshold_class is None or threshold_class != next(iter(candidate.get("classes") or ()), None):
        return own
    return tuple(None if threshold is None else complement(threshold) for threshold in own)  # type: ignore[return-value]


def threshold_texts(flips: Flips) -> tuple[str, str]:
    """Where decisions of the champion and of the candidate were counted."""
    new = flips.threshold or 0.0
    return _texts(new if flips.champion_threshold is None else flips.champion_threshold, new)


def hides_a_move(flips: Flips | None, own: OwnThresholds) -> bool:
    """Whether decisions were counted at one threshold for both versions, although their own thresholds differ."""
    if flips is None or flips.champion_threshold is not None or own[0] == own[1]:
        return False
    return {threshold for threshold in own if threshold is not None} != {flips.threshold}


def counted_elsewhere(flips: Flips | None, own: OwnThresholds) -> list[str]:
    """A warning if a move of the own thresholds is hidden; a remark if both versions' own threshold is another one."""
    if flips is None or flips.threshold is None or flips.champion_threshold is not None:
        return []
    _, counted = threshold_texts(flips)
    if hides_a_move(flips, own):
        move = _move(own)
        return [f"{move[0].upper()}{move[1:]}: decisions counted at {counted} do not show that."]
    theirs, _ = own
    if theirs is not None and own == (theirs, theirs) and theirs != flips.threshold:
        threshold, _ = _texts(theirs, theirs)
        return [f"The versions' own threshold is {threshold}; decisions were counted at {counted}, as asked."]
    return []


def moved_threshold(flips: Flips | None, own: OwnThresholds) -> str:
    """What to add to the headline of an empty path: the move of the threshold, or ""."""
    if flips is not None and flips.champion_threshold is not None:
        return ", but the threshold moves from {} to {}".format(*threshold_texts(flips))
    return "" if own[0] == own[1] else f", but {_move(own)}"


def _move(own: OwnThresholds) -> str:
    old, new = own
    if old is None or new is None:
        who, threshold = ("candidate", new or 0.0) if old is None else ("champion", old)
        return f"only the {who} has a threshold of its own, {_texts(threshold, threshold)[0]}"
    return "the versions' own threshold moves from {} to {}".format(*_texts(old, new))


def _texts(old: float, new: float) -> tuple[str, str]:
    first, second = (text.rstrip("0").rstrip(".") if "." in text else text for text in pair(old, new))
    return first, second


def is_bare(settings: Settings, classes: Sequence[str]) -> bool:
    """Whether a threshold of one of two classes was asked for without saying of which."""
    is_requested = settings.threshold is not None or settings.champion_threshold is not None
    return is_requested and settings.threshold_class is None and len(classes) == _TWO


def short_label(label: str) -> str:
    """A class's name for a sentence."""
    return shorten(label, _LABEL)


@dataclass(frozen=True)
class DecisionWords:
    """The flips of one report in words; ``yes`` and ``no`` are the classes' names, None where decisions have none."""

    flips: Flips
    rows: int
    weighted: bool
    yes: str | None
    no: str | None
    with_shares: bool = False

    @property
    def cut_offs(self) -> tuple[str, str]:
        """Where champion and candidate decide, such as P(bad) ≥ 0.2."""
        old, new = threshold_texts(self.flips)
        if self.yes is None:
            return old, new
        return f"P({self.yes}) ≥ {old}", f"P({self.yes}) ≥ {new}"

    @property
    def sides(self) -> tuple[str, str]:
        """What a decision is for, below the cut-off and from it on."""
        if self.yes is None or self.no is None:
            return "below it", "at or above it"
        return self.no, self.yes

    def directions(self) -> tuple[str, str]:
        """How many rows change in either direction; the larger number first."""
        flips, (no, yes) = self.flips, self.sides
        up = (self.number(flips.rows_up, flips.up), f"from {no} to {yes}", flips.up)
        down = (self.number(flips.rows_down, flips.down), f"from {yes} to {no}", flips.down)
        first, second = (up, down) if flips.up >= flips.down else (down, up)
        return f"{first[0]} change {first[1]}", f"{second[0].replace(self._of_all, '')} {second[1]}"

    @property
    def _of_all(self) -> str:
        return " of the rows" if self.flips.rows_up is None else f" of {count(self.rows)}"

    def number(self, rows: int | None, share: float) -> str:
        """So many of all rows, with their share if rows have weights; the first edition knows the share alone."""
        if rows is None:
            return f"{percent(share, 2)}{self._of_all}"
        if not rows:
            return "none"
        shares = f" ({percent(share, 2)}{' by weight' if self.weighted else ''})"
        return f"{count(rows)}{self._of_all}" + (shares if self.weighted or self.with_shares else "")

    def sentence(self) -> str:
        """What flips at which cut-off."""
        flips = self.flips
        if flips.threshold is None:
            return f"Another class becomes the most probable one for {self.number(flips.rows_up, flips.up)}."
        old, new = self.cut_offs
        kind = "threshold" if self.yes is None else "cut-off"
        at = f"At the {kind} {new}" if old == new else f"With the {kind} moving from {old} to {new}"
        if not (flips.up or flips.down):
            return f"{at}, none of {count(self.rows)} decisions changes."
        return f"{at}, {', '.join(self.directions())}."

    def is_it_in_use(self) -> list[str]:
        """A question where nearly all decisions of both versions are the same."""
        before, after = self.flips.champion_yes, self.flips.candidate_yes
        if before is None or after is None:
            return []
        no, yes = self.sides
        for mostly, rest in ((no, (before, after)), (yes, (1.0 - before, 1.0 - after))):
            if max(rest) <= _RARE:
                shares = " and ".join(dict.fromkeys(percent(share, 2) for share in rest))
                rows = f"all but {shares} of the rows" if max(rest) > 0 else "all rows"
                old, new = self.cut_offs
                where = new if old == new else f"{old} before and {new} now"
                decide = f"decide for {mostly}" if self.yes is not None else f"are {mostly}"
                return [f"Both versions {decide} in {rows}: is {where} the cut-off in use?"]
        return []

    def was_it_meant(self) -> str:
        """A question where nobody said of which class the cut-off is."""
        old, new = self.cut_offs
        which = "cut-off" if old == new else "cut-offs"
        return (
            f"Nobody said of which class the {which} {'is' if old == new else 'are'} a probability; P({self.yes}) was "
            f"taken: was P({self.no}) meant?"
        )


def decision_words(
    flips: Flips,
    rows: int,
    weight: str | None,
    glm: GlmFacts | None,
    name: Callable[[str], str] = short_label,
    *,
    with_shares: bool = False,
) -> DecisionWords:
    """The words for ``flips`` of ``rows`` rows; ``name`` writes the name of a class as the place of the words needs it."""
    classes = () if glm is None or flips.threshold is None else glm.classes
    yes, no = (None, None) if len(classes) != _TWO else (classes[1], classes[0])
    if flips.threshold_class is not None and flips.threshold_class == no:
        yes, no = no, yes
    yes, no = (None if label is None else _quoted(label, name) for label in (yes, no))
    return DecisionWords(flips, rows, weight is not None, yes, no, with_shares)


def _quoted(label: str, name: Callable[[str], str]) -> str:
    """A label that is one word as it is; any other, such as a number, in quotes."""
    return name(label) if label.isidentifier() else f"“{name(label)}”"
