"""`coordpath policy`: write, check and adopt policies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coordpath_governance.cli.answers import say_line, show_rules
from coordpath_governance.cli.policies_in_force import list_policies, retire, show
from coordpath_governance.cli.screen import say
from coordpath_governance.cli.signing_options import key_option, ledger_options, load_key, open_ledger
from coordpath_governance.errors import VERDICT_EXIT_CODES, NotFoundError, UsageError
from coordpath_governance.policy.load import MAX_POLICY_BYTES, policy_bytes, policy_schema, policy_sha256, read_policy

if TYPE_CHECKING:
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
    default="linear",
    show_default=True,
    help="What the models are: linear, logistic, or Poisson, gamma and Tweedie.",
)
def init(model: str, out: Path | None, data: Path | None, target: str | None, kind: str) -> None:
    """Write a policy to start from for one registered model, with comments; an ordinary refit meets its limits."""
    from coordpath_governance.policy.starting_policy import starting_policy

    if (data is None) != (target is None):
        raise UsageError("give --data FILE and --target COL together, or neither")
    text = starting_policy(model, kind=kind)
    if data is not None and target is not None:
        text = starting_policy(model, _digest(data, target), str(data.resolve()), target, kind)
    read_policy(text, "the new policy")
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"'{out}' is there already; name another file, or remove it") from None
    except OSError as error:
        raise UsageError(f"cannot write '{out}': {error.strerror}") from error
    say_line(f"Written to {out}; edit it, then `coordpath policy check {out}`")


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--report", type=click.Path(path_type=Path), metavar="change_report.json", help="Try the policy on a report.")
def check(file: Path, report: Path | None) -> int:
    """Say whether FILE is a valid policy and, with --report, what its rules say of a change, without time or ledger.

    With --report exits 0 pass, 1 fail, 3 needs review.
    """
    policy = _read(file)
    rules = [name for name, _ in policy.named_rules()]
    say_line(f"Valid: policy '{policy.name}', {len(rules)} rules, for models {', '.join(policy.models)}")
    say(f"SHA-256 {policy_sha256(policy)}")
    if report is None:
        return 0
    from coordpath_governance.policy.judge import judge
    from coordpath_governance.policy.matching import matching
    from coordpath_governance.reports.change_report import ChangeReport

    document = ChangeReport.from_bytes(_content(report)).document
    judgement = judge(matching([policy], document.subject.name), document)
    show_rules(judgement.results, judgement.at_gate)
    say_line(f"{judgement.verdict.upper()}, class '{judgement.materiality}': {judgement.reason}")
    return VERDICT_EXIT_CODES[judgement.verdict]


@command.command("schema")
def schema() -> None:
    """Print the JSON Schema of a policy."""
    click.echo(json.dumps(policy_schema(), indent=2, sort_keys=True))


@command.command("adopt")
@click.argument("file", type=click.Path(path_type=Path))
@key_option
@ledger_options
def adopt(file: Path, key: Path | None, **where: Any) -> None:  # noqa: ANN401 - the options of the ledger
    """Adopt FILE: from now on the gate goes by it. It replaces an adopted policy of the same name.

    Signed with the key of a policy-admin.
    """
    from coordpath_governance.ledger.events import PolicyAdopted
    from coordpath_governance.review.adopted import adopted_policies

    policy = _read(file)
    sha256 = policy_sha256(policy)
    signer = load_key(key)
    ledger = open_ledger(**where, create=False)
    others = {each.policy.name: each for each in adopted_policies(ledger)}
    before = others.pop(policy.name, None)
    if before is not None and before.sha256 == sha256:
        say_line(f"Policy '{policy.name}', SHA-256 {sha256}, is the adopted one already")
        return
    body = PolicyAdopted(policy=sha256, name=policy.name, models=policy.models)
    entry = ledger.append("policy adopted", body, signer, blob=policy_bytes(policy))
    say_line(f"Adopted policy '{policy.name}', SHA-256 {sha256}, as entry {entry.seq} of {ledger.url}")
    if before is not None:
        say(f"It replaces the one with SHA-256 {before.sha256}")
    for note in _notes(policy, {role for known in ledger.keyring().keys.values() for role in known.facts.roles}):
        say_line(f"Note: {note}")
    for other in others.values():
        if _may_overlap(policy, other.policy):
            say_line(f"Note: policy '{other.policy.name}' may match the same models; one that both match is refused")


def _notes(policy: Policy, roles: set[str]) -> Iterator[str]:
    """What is allowed, but will not work as things are."""
    uri = policy.reference.uri
    if uri is not None and "://" not in uri and not Path(uri).is_absolute():
        yield f"reference.uri '{uri}' is a relative path: whoever makes reports must do it in the right folder"
    wanted = {need.role for each in policy.materiality for need in each.approvals} | set(policy.waivers.roles)
    for role in sorted(wanted - roles):
        yield f"nobody has the role '{role}' yet; add a key with `coordpath key new OWNER --role {role}`"


def _may_overlap(one: Policy, other: Policy) -> bool:
    """Whether a pattern of one, taken as a name, is matched by the other: a hint, not a proof."""
    return any(other.matches(pattern) for pattern in one.models) or any(one.matches(pattern) for pattern in other.models)


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
