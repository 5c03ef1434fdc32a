"""`coordpath policy`: write, check and adopt policies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coordpath_governance.cli.answers import say_line, show_rules
from coordpath_governance.cli.options import (
    find_ledger,
    key_option,
    ledger_options,
    load_key,
    open_ledger,
    registry_options,
)
from coordpath_governance.cli.policies_in_force import list_policies, retire, show
from coordpath_governance.cli.screen import say
from coordpath_governance.cli.second_command import say_proposed
from coordpath_governance.errors import EXIT_NO, VERDICT_EXIT_CODES, CoordpathError, NotFoundError, RefusedError, UsageError
from coordpath_governance.files import write_new
from coordpath_governance.policy.load import MAX_POLICY_BYTES, policy_schema, policy_sha256, read_policy

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.policy.admission import Remark
    from coordpath_governance.policy.document import Policy

__all__ = ["command"]


@click.group("policy")
def command() -> None:
    """Policies: which changes pass, which need a person, which fail."""


for each in (list_policies, show, retire):
    command.add_command(each)


@command.command("init")
@click.option("--model", required=True, metavar="NAME", help="The registered model that the policy is for.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write it here; default: standard output.")
@click.option("--data", type=click.Path(path_type=Path), metavar="FILE", help="Pin these reference data by their SHA-256.")
@click.option("--target", metavar="COL", help="The column of the data that the models predict.")
@click.option(
    "--kind",
    type=click.Choice(["linear", "classifier", "rate"]),
    help="What the models are: linear, logistic, or Poisson, gamma and Tweedie; default: what the registered one is.",
)
@registry_options
def init(
    model: str,
    out: Path | None,
    data: Path | None,
    target: str | None,
    kind: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> None:
    """Write a policy to start from for one registered model, with comments; an ordinary refit meets its limits.

    Without --kind, what stands as champion in the registry says what kind of model it is, or the newest version. If that
    cannot be told, the policy is for linear models and says so.
    """
    from coordpath_governance.policy.patterns import exact_pattern
    from coordpath_governance.policy.starting_policy import starting_policy

    if (data is None) != (target is None):
        raise UsageError("give --data FILE and --target COL together, or neither")
    exact_pattern(model)
    sha256, uri = (None, None) if data is None or target is None else (_digest(data, target), str(data.resolve()))
    kind, remark = (kind, None) if kind is not None else _kind(model, tracking_uri, registry_uri)
    text = starting_policy(model, sha256=sha256, uri=uri, target=target, kind=kind, remark=remark)
    read_policy(text, "the new policy")
    if out is None:
        click.echo(text, nl=False)
        return
    write_new(out, [text.encode()], "name another file, or remove it")
    say_line(f"Written to {out}; edit it, then `coordpath policy check {out}`")


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--report", type=click.Path(path_type=Path), metavar="change_report.json", help="Try the policy on a report.")
@ledger_options
def check(file: Path, report: Path | None, **where: str | None) -> int:
    """Say whether FILE is a valid policy, what speaks against adopting it, and with --report what it says of a change.

    Its data are looked at, and its models and the other policies, if a registry and a ledger are named. Exits 1 if something
    speaks against adopting it; else with --report 0 pass, 1 fail, 3 needs review.
    """
    policy = _read(file)
    rules = [name for name, _ in policy.named_rules()]
    say_line(f"Valid: policy '{policy.name}', {len(rules)} rules, for models {', '.join(policy.models)}")
    say(f"SHA-256 {policy_sha256(policy)}")
    remarks = _remarks(policy, find_ledger(**where) if any(where.values()) else None, where)
    for remark in remarks:
        say_line(f"{'Objection' if remark.certain else 'Note'}: {remark.text}")
    wrong = EXIT_NO if any(remark.certain for remark in remarks) else 0
    if report is None:
        return wrong
    from coordpath_governance.policy.judge import judge
    from coordpath_governance.policy.patterns import matching_policy
    from coordpath_governance.rendering.change_report import ChangeReport

    document = ChangeReport.from_bytes(_content(report)).document
    judgement = judge(matching_policy([policy], document.subject.name), document)
    show_rules(judgement.results, judgement.at_gate)
    say_line(f"{judgement.verdict.upper()}, class '{judgement.materiality}': {judgement.reason}")
    return wrong or VERDICT_EXIT_CODES[judgement.verdict]


@command.command("schema")
def schema() -> None:
    """Print the JSON Schema of a policy."""
    click.echo(json.dumps(policy_schema(), indent=2, sort_keys=True))


@command.command("adopt")
@click.argument("file", type=click.Path(path_type=Path))
@key_option
@ledger_options
def adopt(file: Path, key: Path | None, **where: str | None) -> int:
    """Adopt FILE: from now on the gate goes by it. It replaces an adopted policy of the same name.

    Signed with the key of a policy-admin. Exits 1 if the policy contradicts its data, a registered model that it matches, or
    another policy in force, so that it could only refuse; what cannot be known here is a note. Where a policy in force asks
    for two policy-admins (`admins: 2`), FILE is only proposed: exit code 3, until another seconds it (`coordpath second`).
    """
    from coordpath_governance.review.policies import adopt_policy, adopted_policies

    policy = _read(file)
    sha256 = policy_sha256(policy)
    signer = load_key(key)
    ledger = open_ledger(**where, create=False)
    head = ledger.head()
    before = {each.policy.name: each for each in adopted_policies(ledger)}.get(policy.name)
    if before is not None and before.sha256 == sha256:
        say_line(f"Policy '{policy.name}', SHA-256 {sha256}, is the adopted one already")
        return 0
    remarks = _remarks(policy, ledger, where)
    objections = [remark.text for remark in remarks if remark.certain]
    if objections:
        raise RefusedError(f"policy '{policy.name}' was not adopted. {' '.join(f'{each}.' for each in objections)}")
    entry = adopt_policy(ledger, policy, signer, head)
    if entry.event == "proposal":
        say_line(f"Policy '{policy.name}', SHA-256 {sha256}, is proposed in {ledger.url}")
        return say_proposed(entry)
    say_line(f"Adopted policy '{policy.name}', SHA-256 {sha256}, as entry {entry.seq} of {ledger.url}")
    if before is not None:
        say(f"It replaces the one with SHA-256 {before.sha256}")
    for remark in remarks:
        say_line(f"Note: {remark.text}")
    return 0


def _kind(model: str, tracking_uri: str | None, registry_uri: str | None) -> tuple[str, str]:
    """What kind of model the registered one is, linear if nobody can tell; and where that comes from, in a sentence."""
    from coordpath_governance.cli.governed import registry_at_hand
    from coordpath_governance.governance.circumstances import standing_model
    from coordpath_governance.policy.starting_policy import kind_of
    from coordpath_governance.registry.versions import CHAMPION_ALIAS

    try:
        registry = registry_at_hand(tracking_uri, registry_uri)
        if registry is None:
            why = "no registry was asked"
        else:
            kind = kind_of(standing_model(registry.client, model, CHAMPION_ALIAS).family)
            return kind, f"Its limits are for the kind of model that is registered: {kind}."
    except CoordpathError as error:
        why = str(error)
    return "linear", f"Its limits are for linear models; --kind classifier or rate writes others. Kind not known: {why}"


def _remarks(policy: Policy, ledger: Ledger | None, where: Mapping[str, str | None]) -> tuple[Remark, ...]:
    """What speaks against adopting the policy, as far as its data, a ledger and a registry can be asked."""
    from coordpath_governance.cli.governed import registry_at_hand
    from coordpath_governance.governance.circumstances import circumstances
    from coordpath_governance.policy.admission import remarks

    registry = registry_at_hand(where["tracking_uri"], where["registry_uri"])
    return remarks(circumstances(policy, None if registry is None else registry.client, ledger))


def _digest(data: Path, target: str) -> str:
    """The digest that reports compute; the target must be a column of the data."""
    from coordpath_governance.reference.sources import open_source

    source = open_source(data)
    names = source.column_names()
    if target not in names:
        raise UsageError(f"'{data}' has no column '{target}'; it has: {', '.join(names[:20])}")
    return source.sha256


def _read(file: Path) -> Policy:
    return read_policy(_content(file, MAX_POLICY_BYTES + 1), str(file))


def _content(file: Path, most: int = -1) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(most)
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{file}'") from None
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {error.strerror}") from error
