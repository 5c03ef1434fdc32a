"""What the gate had said of a change before it was promoted: a promotion must not contradict the newest recorded verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Adoption, Binding, OutsideMove, Promotion, ReportMade, VerdictGiven
from coordpath_governance.policy.built_in import CHAMPION_FILES, DECLARED_COEFFICIENTS
from coordpath_governance.policy.document import Policy
from coordpath_governance.reports.document import RuleFacts

__all__ = ["LastVerdict", "last_verdict"]

_LEAVE_NO_TRACE = (DECLARED_COEFFICIENTS, CHAMPION_FILES)
"""Checks that can be met later without another verdict: declarations are looked at elsewhere, and files can be put back."""

_MOVES = (Promotion, Adoption, OutsideMove)


@dataclass(frozen=True)
class LastVerdict:
    """The newest verdict on a change, as far as it still held when the change was promoted."""

    seq: int
    rules: tuple[RuleFacts, ...]

    def objections(self, waived: Collection[str]) -> Iterator[str]:
        """Rules that had failed, or were waived, and that no waiver of the promotion is about."""
        for rule in self.rules:
            if rule.result in ("fail", "waived") and rule.rule not in waived:
                state = "fails" if rule.result == "fail" else "is met by a waiver only"
                yield f"the gate had said in entry {self.seq} that '{rule.rule[:80]}' {state}, and it uses no waiver of that"

    def undecided(self, waived: Collection[str]) -> bool:
        """Whether the gate had left a rule to people."""
        return any(rule.result in ("review", "unknown") and rule.rule not in waived for rule in self.rules)


def last_verdict(binding: Binding, chain: Sequence[Entry], policy: Policy) -> LastVerdict | None:
    """The newest verdict on exactly this change among the earlier entries of its model; None if there is none.

    Report and policy are part of the change, so that most rules say the same for ever. What only the gate can look at may
    be met after a move of the alias, or by a report made again. Older ledgers do not record a verdict for each promotion.
    """
    verdicts = [
        (entry, facts) for entry in chain if isinstance(facts := entry.facts, VerdictGiven) and facts.binding == binding
    ]
    if not verdicts:
        return None
    entry, verdict = verdicts[-1]
    may_differ = set(_LEAVE_NO_TRACE)
    if any(_changes(each, binding) for each in chain if each.seq > entry.seq):
        may_differ |= {name for name, rule in policy.named_rules() if rule.at_gate}
    return LastVerdict(entry.seq, tuple(rule for rule in verdict.rules if rule.rule not in may_differ))


def _changes(entry: Entry, binding: Binding) -> bool:
    """Whether an entry can change what only the gate can look at."""
    facts = entry.facts
    if isinstance(facts, ReportMade):
        return facts.report == binding.report
    return isinstance(facts, _MOVES) and facts.alias == binding.alias
