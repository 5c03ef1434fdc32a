"""Which policy is for a model: exactly one, or none at all is allowed to speak."""

from __future__ import annotations

from collections.abc import Iterable

from coordpath_governance.errors import RefusedError
from coordpath_governance.policy.document import Policy
from coordpath_governance.policy.results import listed

__all__ = ["matching"]


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
