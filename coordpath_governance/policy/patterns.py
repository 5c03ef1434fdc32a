"""Patterns of model names: which policy is for a model, what two patterns have in common, the pattern of one name."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache

from coordpath_governance.errors import RefusedError, UsageError
from coordpath_governance.policy.document import Policy
from coordpath_governance.policy.results import listed
from coordpath_governance.text import shorten, visible

__all__ = ["exact_pattern", "matching_policy", "may_both_match"]

_LONGEST = 200
"""Characters in the name of a policy and in a pattern."""


def matching_policy(policies: Iterable[Policy], name: str) -> Policy:
    """The one policy that matches the registered model ``name``.

    Raises `RefusedError` if no policy matches it, or more than one.
    """
    matching = [policy for policy in policies if policy.matches(name)]
    if not matching:
        raise RefusedError(
            f"no policy matches the model '{name}', so its promotion is refused; adopt one whose 'models' has a pattern for "
            "it (`coordpath policy adopt FILE`)"
        )
    if len(matching) > 1:
        raise RefusedError(
            f"{len(matching)} policies match the model '{name}': {listed([policy.name for policy in matching])}; "
            "exactly one must: make their patterns exclude each other and adopt them again"
        )
    return matching[0]


def may_both_match(left: str, right: str) -> bool:
    """Whether some name fits both patterns. Two sets ([…]) in the same place are taken to have a character in common.

    ``credit*`` and ``*risk`` both match ``credit risk``; ``credit*`` and ``fraud*`` have no name in common.
    """
    first, second = _parts(left), _parts(right)

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


def _same_character(left: str, right: str) -> bool:
    """Whether a character fits both parts."""
    if _is_open(left) and _is_open(right):
        return True
    if _is_open(left):
        return fnmatchcase(right, left)
    return fnmatchcase(left, right) if _is_open(right) else left == right


def _is_open(part: str) -> bool:
    return part == "?" or len(part) > 1


def exact_pattern(model: str) -> str:
    """The pattern that matches the name ``model`` and no other: ``*``, ``?`` and ``[`` are put in brackets.

    Raises `UsageError` if a policy cannot hold the name or the pattern.
    """
    if not model.strip() or visible(model) != model:
        shown = shorten(visible(model), 80)
        raise UsageError(f"--model '{shown}' is blank or holds characters that cannot be seen; give the registered name")
    if len(model) > _LONGEST:
        raise UsageError(f"--model has {len(model)} characters; a policy takes names of at most {_LONGEST}")
    pattern = "".join(f"[{char}]" if char in "*?[" else char for char in model)
    if len(pattern) > _LONGEST:
        raise UsageError(
            f"--model '{shorten(model, 80)}' makes a pattern of {len(pattern)} characters, since each *, ? and [ is written "
            f"in brackets; a policy takes at most {_LONGEST}: write a shorter pattern by hand"
        )
    return pattern
