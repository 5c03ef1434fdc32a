"""Which policy is for a model, and whether two patterns of names could match one and the same name."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache

from coordpath_governance.errors import RefusedError
from coordpath_governance.policy.document import Policy
from coordpath_governance.policy.results import listed

__all__ = ["matching", "may_both_match"]


def matching(policies: Iterable[Policy], name: str) -> Policy:
    """The one policy for the model ``name``; `RefusedError` if there is none, or more than one."""
    found = [policy for policy in policies if policy.matches(name)]
    if not found:
        raise RefusedError(
            f"no policy matches the model '{name}', so its promotion is refused; adopt one whose 'models' has a pattern for "
            "it (`coordpath policy adopt FILE`)"
        )
    if len(found) > 1:
        raise RefusedError(
            f"{len(found)} policies match the model '{name}': {listed([policy.name for policy in found])}; "
            "exactly one must: make their patterns exclude each other and adopt them again"
        )
    return found[0]


def may_both_match(one: str, other: str) -> bool:
    """Whether some name fits both patterns. Where both have a set ([…]) in the same place, it is taken to be possible.

    ``credit*`` and ``*risk`` both match ``credit risk``; ``credit*`` and ``fraud*`` have no name in common.
    """
    first, second = _parts(one), _parts(other)

    @cache
    def meet(i: int, j: int) -> bool:
        """Whether the patterns from part ``i`` and part ``j`` on have a name in common."""
        if i == len(first) and j == len(second):
            return True
        if i < len(first) and first[i] == "*":
            return meet(i + 1, j) or (j < len(second) and meet(i, j + 1))
        if j < len(second) and second[j] == "*":
            return meet(i, j + 1) or (i < len(first) and meet(i + 1, j))
        return i < len(first) and j < len(second) and _same_character(first[i], second[j]) and meet(i + 1, j + 1)

    return meet(0, 0)


def _parts(pattern: str) -> tuple[str, ...]:
    """Stars, question marks, sets and single characters, in order, as `fnmatch` reads them; two stars are one."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        end = at + 1
        if pattern[at] == "[":
            begin = at + 2 if pattern[at + 1 : at + 2] == "!" else at + 1
            closing = pattern.find("]", begin + 1)
            end = closing + 1 if closing >= 0 else end
        part = pattern[at:end]
        if not (part == "*" and parts and parts[-1] == "*"):
            parts.append(part)
        at = end
    return tuple(parts)


def _same_character(one: str, other: str) -> bool:
    """Whether one character fits both parts."""
    if _is_open(one) and _is_open(other):
        return True
    if _is_open(one):
        return fnmatchcase(other, one)
    return fnmatchcase(one, other) if _is_open(other) else one == other


def _is_open(part: str) -> bool:
    return part == "?" or len(part) > 1
