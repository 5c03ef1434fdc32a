"""The gate's answer, in the terminal and as one JSON document for scripts.

Names and what people wrote may hold line breaks: each line is made visible as one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from coordpath_governance.cli.screen import say
from coordpath_governance.text import visible

if TYPE_CHECKING:
    from coordpath_governance.errors import RefusedError
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.events import Binding
    from coordpath_governance.ledger.keyring import KeyRing
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.reports.document import RuleFacts
    from coordpath_governance.review.gate import Answer
    from coordpath_governance.review.policies import AdoptedPolicy
    from coordpath_governance.review.readiness import Readiness

__all__ = [
    "GATE_SCHEMA",
    "answer_document",
    "change_words",
    "print_json",
    "refusal_document",
    "say_line",
    "show_answer",
    "show_readiness",
    "show_rules",
    "tell_emergencies",
]

_MARKS = {"pass": "met", "review": "NEEDS REVIEW", "fail": "NOT MET", "unknown": "NOT KNOWN", "waived": "waived"}
_ORDER = ("fail", "unknown", "review", "waived", "pass")
_SHORT = 12

GATE_SCHEMA = "coordpath.gate/1"


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
    """The rules, one per line, and the approvals and waivers that count."""
    before = f"From version {readiness.binding.from_version}" if readiness.binding.from_version else "First version"
    policy = f"policy '{adopted.policy.name}' ({readiness.binding.policy[:_SHORT]})"
    say_line(f"{before}; class '{readiness.judgement.materiality}'; {policy}")
    say_line(readiness.judgement.materiality_reason)
    say()
    show_rules(readiness.judgement.results)
    keys = ledger.keyring().keys
    for entry in (*readiness.tally.given, *readiness.waivers):
        signer, until = keys[entry.key].facts, entry.body["expires"][:10]
        what = f"waived '{entry.body['rule']}'" if entry.event == "waiver" else "approved"
        say_line(f"  {what} by {signer.owner} ({', '.join(signer.roles)}), until {until}, entry {entry.seq}")
    for void in readiness.tally.void:
        say_line(f"  not counted: {void}")


def show_rules(results: Iterable[RuleFacts], later: Iterable[str] = ()) -> None:
    """One line per rule, unmet rules first, each followed by its reason. ``later`` are rules that only the gate checks."""
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


def change_words(binding: Binding) -> str:
    """A change in a few words."""
    before = f"{binding.from_version} → " if binding.from_version else ""
    return f"version {before}{binding.to_version} as '{binding.alias}'"


def print_json(document: dict[str, Any]) -> None:
    """One document on standard output; control characters in names are escaped by JSON itself."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=True))


def answer_document(answer: Answer, adopted: AdoptedPolicy, ledger: Ledger, name: str, version: str) -> dict[str, Any]:
    """What `coordpath gate --json` prints. Without a judgement, ``materiality`` and its reason are null."""
    document = _unjudged(
        name, version, alias=answer.alias, verdict=answer.verdict, reason=answer.reason, exit_code=answer.exit_code
    )
    document["policy"] = {"name": adopted.policy.name, "sha256": adopted.sha256}
    readiness = answer.readiness
    if readiness is None:
        return document
    ring = ledger.keyring()
    return document | {
        "materiality": readiness.judgement.materiality,
        "materiality_reason": readiness.judgement.materiality_reason,
        "from_version": readiness.binding.from_version,
        "rules": [rule.model_dump(mode="json") for rule in readiness.facts().rules],
        "missing": list(readiness.missing),
        "approvals": [_decision(entry, ring) for entry in readiness.tally.given],
        "waivers": [{"rule": entry.body["rule"], **_decision(entry, ring)} for entry in readiness.waivers],
        "not_counted": list(readiness.tally.void),
    }


def refusal_document(error: RefusedError, name: str, version: str, alias: str) -> dict[str, Any]:
    """The same where no one policy matches the model, so that there is no gate that could answer; ``policy`` is null."""
    return _unjudged(name, version, alias=alias, verdict="fail", reason=str(error), exit_code=error.exit_code)


def _unjudged(name: str, version: str, *, alias: str, verdict: str, reason: str, exit_code: int) -> dict[str, Any]:
    return {
        "schema": GATE_SCHEMA,
        "name": name,
        "version": version,
        "alias": alias,
        "verdict": verdict,
        "reason": reason,
        "exit_code": exit_code,
        "materiality": None,
        "materiality_reason": None,
        "policy": None,
        "from_version": None,
        "rules": [],
        "missing": [],
        "approvals": [],
        "waivers": [],
        "not_counted": [],
    }


def _decision(entry: Entry, ring: KeyRing) -> dict[str, Any]:
    """Who signed an approval or a waiver, until when it holds, and its number in the ledger."""
    signer = ring.keys[entry.key].facts
    return {"by": signer.owner, "roles": list(signer.roles), "until": entry.body["expires"], "entry": entry.seq}
