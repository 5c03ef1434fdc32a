"""Where the versions themselves decide, and whether decisions that were counted show it.

A threshold that somebody asks for is taken for both versions. If their own is another one and moves, decisions counted
there say nothing of that, and a gate must not take them for all there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from coordpath_governance.numbers import complement, pair

if TYPE_CHECKING:
    from coordpath_governance.reports.impact_parts import Flips

__all__ = [
    "NOWHERE",
    "OwnThresholds",
    "counted_elsewhere",
    "hides_a_move",
    "moved_threshold",
    "own_thresholds",
    "threshold_texts",
]

OwnThresholds = tuple[float | None, float | None]
"""The champion's and the candidate's; None where a version decides nothing by itself."""

NOWHERE: OwnThresholds = (None, None)


def own_thresholds(models: Mapping[Any, Mapping[str, Any] | None], threshold_class: str | None = None) -> OwnThresholds:
    """Of the models of a report, as probabilities of ``threshold_class``; without a champion there is nothing to compare."""
    champion, candidate = models["champion"], models["candidate"]
    if champion is None or candidate is None:
        return NOWHERE
    own = (champion.get("threshold"), candidate.get("threshold"))
    if threshold_class is None or threshold_class != next(iter(candidate.get("classes") or ()), None):
        return own
    return tuple(None if each is None else complement(each) for each in own)  # type: ignore[return-value]


def threshold_texts(flips: Flips) -> tuple[str, str]:
    """Where decisions of the champion and of the candidate were counted."""
    new = flips.threshold or 0.0
    return _texts(new if flips.champion_threshold is None else flips.champion_threshold, new)


def hides_a_move(flips: Flips | None, own: OwnThresholds) -> bool:
    """Whether both versions were taken to decide at one threshold, while their own moves and one of them is another."""
    if flips is None or flips.champion_threshold is not None or own[0] == own[1]:
        return False
    return {threshold for threshold in own if threshold is not None} != {flips.threshold}


def counted_elsewhere(flips: Flips | None, own: OwnThresholds) -> list[str]:
    """A warning where that is so; a remark where both decide elsewhere, and that does not move."""
    if flips is None or flips.threshold is None or flips.champion_threshold is not None:
        return []
    _, counted = threshold_texts(flips)
    if hides_a_move(flips, own):
        move = _move(own)
        return [f"{move[0].upper()}{move[1:]}: decisions counted at {counted} do not show that."]
    theirs, _ = own
    if theirs is not None and own == (theirs, theirs) and theirs != flips.threshold:
        told, _ = _texts(theirs, theirs)
        return [f"The versions' own threshold is {told}; decisions were counted at {counted}, as asked."]
    return []


def moved_threshold(flips: Flips | None, own: OwnThresholds) -> str:
    """What to add where nothing else moves."""
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
