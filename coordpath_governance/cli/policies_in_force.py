"""`coordpath policy list`, `show` and `retire`: the policies that were adopted, and the end of one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coordpath_governance.cli.answers import print_json, say_line
from coordpath_governance.cli.options import (
    check_text,
    check_words,
    key_option,
    ledger_options,
    load_key,
    open_ledger,
    read_ledger,
)
from coordpath_governance.cli.second_command import say_proposed
from coordpath_governance.errors import NotFoundError, RegistryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.keyring import KeyRing
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.policies import PolicyRecord

__all__ = ["POLICIES_SCHEMA", "list_policies", "retire", "show"]

POLICIES_SCHEMA = "coordpath.policies/1"
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]*")
_SHORTEST = 6
"""Digits of a digest that name a policy, at least."""


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help=f"Print one JSON document ({POLICIES_SCHEMA}) instead of lines.")
@ledger_options
def list_policies(ledger: str | None, tracking_uri: str | None, registry_uri: str | None, *, as_json: bool) -> None:
    """List every policy that was adopted: whether it is in force, for which models, since when, and who adopted it.

    If a registry is named and answers, the models in it that each policy in force matches are listed too.
    """
    from coordpath_governance.review.policies import policy_records

    opened = read_ledger(ledger, tracking_uri, registry_uri)
    names, why = _registered(tracking_uri, registry_uri)
    records, keys = policy_records(opened.entries()), opened.keyring()
    documents = [_document(record, keys, _matched(opened, record, names)) for record in records]
    if as_json:
        print_json({"schema": POLICIES_SCHEMA, "ledger": opened.id, "registry": why, "policies": documents})
        return
    for document in documents:
        _show_record(document)
    if not documents:
        say_line("No policy was adopted; `coordpath policy adopt FILE --key KEY` adopts one.")
    if why is not None:
        say_line(f"Registered models are not listed: {why}")


@click.command("show")
@click.argument("which", metavar="NAME|DIGEST")
@click.option("--yaml", "as_yaml", is_flag=True, help="As YAML, to edit; adopted again unchanged it has the same digest.")
@ledger_options
def show(ledger: str | None, tracking_uri: str | None, registry_uri: str | None, *, which: str, as_yaml: bool) -> None:
    """Print an adopted policy as the ledger keeps it: the bytes whose SHA-256 is its digest.

    NAME stands for the newest policy of that name, also if it was retired; DIGEST for the one whose SHA-256 begins so.
    """
    from coordpath_governance.review.policies import policy_records

    check_text(which)
    opened = read_ledger(ledger, tracking_uri, registry_uri)
    content = opened.blob(_chosen(policy_records(opened.entries()), which))
    click.echo(_yaml(content) if as_yaml else content, nl=False)


@click.command("retire")
@click.argument("name")
@click.option("--reason", required=True, help="Why it goes out of force.")
@key_option
@ledger_options
def retire(
    name: str, reason: str, key: Path | None, ledger: str | None, tracking_uri: str | None, registry_uri: str | None
) -> int:
    """Put the policy NAME out of force; signed with the key of a policy-admin.

    A model that only this policy matched is refused by the gate from then on, and its aliases stay guarded. The ledger keeps
    the policy, and it can be adopted again. Where a policy asks for two policy-admins, this is only proposed: exit code 3.
    """
    from coordpath_governance.review.policies import retire_policy

    check_text(name)
    check_words("--reason", reason)
    signer = load_key(key)
    opened = open_ledger(ledger, tracking_uri=tracking_uri, registry_uri=registry_uri, create=False)
    entry = retire_policy(opened, name, signer, reason)
    if entry.event == "proposal":
        say_line(f"It is proposed to retire policy '{name}'")
        return say_proposed(entry)
    say_line(
        f"Policy '{name}' is retired (entry {entry.seq}). Models that only it matched are refused by the gate and stay "
        "guarded, until a policy that matches them is adopted."
    )
    return 0


def _registered(tracking_uri: str | None, registry_uri: str | None) -> tuple[list[str] | None, str | None]:
    """The names of all registered models; None, and why, where no registry can be asked."""
    from coordpath_governance.cli.governed import registry_at_hand
    from coordpath_governance.registry.versions import registered_names

    try:
        registry = registry_at_hand(tracking_uri, registry_uri)
        names = None if registry is None else registered_names(registry.client)
    except RegistryError as error:
        return None, str(error)
    return names, "no registry was named, or there is none yet" if names is None else None


def _matched(ledger: Ledger, record: PolicyRecord, names: Sequence[str] | None) -> list[str] | None:
    from coordpath_governance.policy.load import read_policy

    if names is None or record.ended is not None:
        return None
    policy = read_policy(ledger.blob(record.sha256), f"the adopted policy '{record.name}'")
    return [name for name in names if policy.matches(name)]


def _document(record: PolicyRecord, keys: KeyRing, matched: list[str] | None) -> dict[str, Any]:
    """A record as JSON; ``registered`` is null where nobody could be asked, or the policy is not in force."""
    return {
        "name": record.name,
        "sha256": record.sha256,
        "state": record.state,
        "models": list(record.models),
        "registered": matched,
        "adopted": _signed(record.adopted, keys),
        "ended": None if record.ended is None else _signed(record.ended, keys),
    }


def _signed(entry: Entry, keys: KeyRing) -> dict[str, Any]:
    return {"entry": entry.seq, "at": entry.at, "by": keys.keys[entry.key].facts.owner}


def _show_record(document: dict[str, Any]) -> None:
    adopted, ended = document["adopted"], document["ended"]
    say_line(f"{document['state']:9} {document['name']}  for {', '.join(document['models'])}")
    say_line(f"{'':9}   SHA-256 {document['sha256']}")
    say_line(f"{'':9}   adopted by {adopted['by']}, {adopted['at']}, entry {adopted['entry']}")
    if ended is not None:
        say_line(f"{'':9}   {document['state']} by {ended['by']}, {ended['at']}, entry {ended['entry']}")
    if document["registered"] is not None:
        say_line(f"{'':9}   registered models: {', '.join(document['registered']) or 'none matches'}")


def _chosen(records: Sequence[PolicyRecord], which: str) -> str:
    """The digest of the newest policy of that name, else of the one whose digest begins with it."""
    matching = [record.sha256 for record in records if record.name == which]
    if matching:
        return matching[-1]
    begins = {record.sha256 for record in records if len(which) >= _SHORTEST and record.sha256.startswith(which.lower())}
    if len(begins) > 1:
        raise UsageError(f"{len(begins)} adopted policies have a SHA-256 that begins with {which}; give more digits")
    if not begins:
        raise NotFoundError(
            f"no policy '{which}' was adopted, nor one whose SHA-256 begins so (at least {_SHORTEST} digits); see "
            "`coordpath policy list`"
        )
    return begins.pop()


def _yaml(content: bytes) -> str:
    """The same policy as YAML; texts that could be read as something else are in quotes."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Safe, and every text but a plain word in quotes."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if _WORD.fullmatch(value) else '"')

    Dumper.add_representer(str, text)
    return yaml.dump(json.loads(content), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
