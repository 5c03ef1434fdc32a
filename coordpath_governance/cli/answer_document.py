"""The gate's answer as one JSON document, for scripts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.keyring import KeyRing
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.adopted import AdoptedPolicy
    from coordpath_governance.review.gate import Answer

__all__ = ["GATE_SCHEMA", "answer_document", "print_json"]

GATE_SCHEMA = "coordpath.gate/1"


def print_json(document: dict[str, Any]) -> None:
    """One document on standard output; control characters in names are escaped by JSON itself."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=True))


def answer_document(answer: Answer, adopted: AdoptedPolicy, ledger: Ledger, name: str, version: str) -> dict[str, Any]:
    """What `coordpath gate --json` prints. Without a judgement, ``materiality`` and its reason are null."""
    document: dict[str, Any] = {
        "schema": GATE_SCHEMA,
        "name": name,
        "version": version,
        "alias": answer.alias,
        "verdict": answer.verdict,
        "reason": answer.reason,
        "exit_code": answer.exit_code,
        "materiality": None,
        "materiality_reason": None,
        "policy": {"name": adopted.policy.name, "sha256": adopted.sha256},
        "from_version": None,
        "rules": [],
        "missing": [],
        "approvals": [],
        "waivers": [],
        "not_counted": [],
    }
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


def _decision(entry: Entry, ring: KeyRing) -> dict[str, Any]:
    """Who signed an approval or a waiver, until when it holds, and its number in the ledger."""
    signer = ring.keys[entry.key].facts
    return {"by": signer.owner, "roles": list(signer.roles), "until": entry.body["expires"], "entry": entry.seq}
