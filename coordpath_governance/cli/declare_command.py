"""`coordpath declare`: a person vouches for the coefficients of a version that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote

import click

from coordpath_governance.cli.answers import say_line
from coordpath_governance.cli.governed import open_governed
from coordpath_governance.cli.options import check_text, check_words, key_option, ledger_options, load_key

__all__ = ["DECLARATION_SCHEMA", "command"]

DECLARATION_SCHEMA = "coordpath.declaration/1"
_SHORT = 12


@click.command("declare")
@click.argument("name")
@click.argument("version")
@click.option(
    "--coefficients",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What to vouch for, as cg.to_coefficients writes it; default: the coefficients.json in the version's own files.",
)
@click.option("--reason", default="", help="How you know that the version predicts by them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (coordpath.declaration/1) instead of lines.")
@key_option
@ledger_options
def command(
    name: str,
    version: str,
    coefficients: Path | None,
    reason: str,
    as_json: bool,
    key: Path | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> None:
    """Vouch for the coefficients of VERSION of NAME, which cannot be read; signed with your key.

    The policy says who may (declarations.roles); who registered the version may not. A version that can be read is refused:
    its files speak for themselves. The declaration is about files of exactly this digest and changes none of them.
    """
    check_text(name, version, coefficients)
    check_words("--reason", reason)
    from coordpath_governance.governance.declared import declare_version
    from coordpath_governance.registry.versions import point_at

    signer = load_key(key)
    governed = open_governed(name, ledger=ledger, tracking_uri=tracking_uri, registry_uri=registry_uri)
    pointer = point_at(governed.client, name, governed.version(version))
    declared = declare_version(
        governed.client, governed.ledger, governed.adopted, pointer, signer, file=coefficients, reason=reason
    )
    number = str(pointer.version)
    if as_json:
        document = {
            "schema": DECLARATION_SCHEMA,
            "name": name,
            "version": number,
            "digest": declared.digest,
            "coefficients": declared.coefficients,
            "by": declared.owner,
            "entry": declared.entry.seq,
            "new": declared.new,
            "beside": declared.beside,
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    vouches = "vouches" if declared.new else "vouched already"
    say_line(
        f"{declared.owner} {vouches} that version {number} of {name} (files {declared.digest[:_SHORT]}) predicts by "
        f"the coefficients {declared.coefficients[:_SHORT]} (entry {declared.entry.seq})."
    )
    where = (
        f"Laid beside the version as {declared.beside}." if declared.beside else "The version has no place to lay it beside."
    )
    say_line(f"{where} The model's own files are as they were.")
    if declared.missing:
        say_line("One more person has to vouch for the same, since nobody vouches for who registered the version.")
    say_line(f"Next: `coordpath report {quote(name)} --candidate {number}`")
