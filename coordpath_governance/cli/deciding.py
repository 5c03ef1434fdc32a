"""What a person signs about one change: look at it first, sign, and say how the gate stands then."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from coordpath_governance.cli.answers import say_line, show_answer, told_change
from coordpath_governance.cli.screen import say
from coordpath_governance.errors import RefusedError

if TYPE_CHECKING:
    from coordpath_governance.cli.governed import Governed
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.review.readiness import Readiness

__all__ = ["decide"]


def decide(governed: Governed, version: str, alias: str | None, sign: Callable[[Readiness], Entry]) -> None:
    """Let ``sign`` record a decision on the change to ``version`` as it stands now; `RefusedError` if none can be judged."""
    number, alias = governed.version(version), governed.alias(alias)
    before = governed.ask(number, alias)
    if before.readiness is None:
        raise RefusedError(f"there is nothing to decide yet: {before.reason}")
    entry = sign(before.readiness)
    say_line(f"The {entry.event} for {told_change(before.readiness.binding)} is entry {entry.seq}.")
    say()
    answer = governed.ask(number, alias)
    show_answer(answer, governed.adopted, governed.name, number)
    governed.show(number, lambda: answer)
