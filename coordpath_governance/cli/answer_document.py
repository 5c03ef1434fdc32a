"""The gate's answer as one JSON document, for scripts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from coordpath_governance.errors import RefusedError
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.keyring import KeyRing
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.gate import Answer
    from coordpath_governance.review.policies import AdoptedPolicy

__all__ = ["GATE_SCHEMA", "answer_document", "print_json", "refusal_document"]

GATE_SCHEMA = "coordpath.gate/1"


def print_json(document: dict[str, Any]) -> None:
    """One document on standard output; control characters in names are escaped by JSON itself."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=True))


def answer_document(answer: Answer, adopted: AdoptedPolicy, ledger: Ledger, name: str, version: str) -> dict[str, Any]:
    """What `coordpath gate --json` prints. Without a judgement, ``materiality`` and its reason are null."""
    document = _unjudged(name, version, answer.alias, answer.verdict, answer.reason, answer.exit_code)
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
    return _unjudged(name, version, alias, "fail", str(error), error.exit_code)


def _unjudged(name: str, version: str, alias: str, verdict: str, reason: str, exit_code: int) -> dict[str, Any]:
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
