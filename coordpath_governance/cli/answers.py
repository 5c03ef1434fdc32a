"""The gate's answer in the terminal. Names and what people wrote may hold line breaks: each line is made visible as one."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote
from typing import TYPE_CHECKING

from coordpath_governance.cli.screen import say
from coordpath_governance.text import visible

if TYPE_CHECKING:
    from coordpath_governance.ledger.events import Binding
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.reports.document import RuleFacts
    from coordpath_governance.review.gate import Answer
    from coordpath_governance.review.policies import AdoptedPolicy
    from coordpath_governance.review.readiness import Readiness

__all__ = ["say_line", "show_answer", "show_readiness", "show_rules", "tell_emergencies", "told_change"]

_MARKS = {"pass": "met", "review": "NEEDS REVIEW", "fail": "NOT MET", "unknown": "NOT KNOWN", "waived": "waived"}
_ORDER = ("fail", "unknown", "review", "waived", "pass")
_SHORT = 12


def say_line(text: str) -> None:
    """One line, whatever is in it."""
    say(visible(text))


def show_answer(answer: Answer, adopted: AdoptedPolicy, name: str, version: str) -> None:
    """The verdict, why, and what comes next."""
    say_line(f"{name} version {version} → {answer.alias}: {answer.verdict.upper()}")
    say_line(answer.reason)
    if answer.verdict == "review":
        other = "" if answer.alias == adopted.policy.usual_alias else f" --alias {quote(answer.alias)}"
        say_line(f"Next: `coordpath review {quote(name)} {version} --approve{other}` by somebody who may")


def show_readiness(readiness: Readiness, adopted: AdoptedPolicy, ledger: Ledger) -> None:
    """What was judged, a line a rule, and whose word counts."""
    before = f"From version {readiness.binding.from_version}" if readiness.binding.from_version else "First version"
    policy = f"policy '{adopted.policy.name}' ({readiness.binding.policy[:_SHORT]})"
    say_line(f"{before}; class '{readiness.judgement.materiality}'; {policy}")
    say_line(readiness.judgement.materiality_reason)
    say()
    show_rules(readiness.judgement.results)
    keys = ledger.keyring().keys
    for entry in (*readiness.tally.given, *readiness.waivers):
        known, until = keys[entry.key].facts, entry.body["expires"][:10]
        what = f"waived '{entry.body['rule']}'" if entry.event == "waiver" else "approved"
        say_line(f"  {what} by {known.owner} ({', '.join(known.roles)}), until {until}, entry {entry.seq}")
    for void in readiness.tally.void:
        say_line(f"  not counted: {void}")


def show_rules(results: Iterable[RuleFacts], later: Iterable[str] = ()) -> None:
    """A line a rule, what is not met first, and its reason on a line of its own; ``later`` is for the gate alone."""
    rules = sorted(results, key=lambda each: _ORDER.index(each.result))
    width = max((len(each.rule) for each in rules), default=0)
    for each in rules:
        limit = "" if each.limit == each.observed else f"  (limit: {each.limit})"
        say_line(f"  {_MARKS[each.result]:13}{each.rule:{width}}  {each.observed}{limit}")
        if each.result != "pass":
            say_line(f"{'':15}{each.reason}")
    for name in later:
        say_line(f"  {'later':13}{name:{width}}  checked at the gate")


def tell_emergencies(ledger: Ledger, name: str) -> None:
    """A line for each emergency rollback of a model that others have not settled yet."""
    from coordpath_governance.review.emergency import emergency_words

    for words in emergency_words(ledger, name):
        say_line(f"Red: {words}")


def told_change(binding: Binding) -> str:
    """A change in a few words."""
    before = f"{binding.from_version} → " if binding.from_version else ""
    return f"version {before}{binding.to_version} as '{binding.alias}'"
