"""`coordpath audit`: read the ledger, check it, take it elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import click

from coordpath_governance.cli.answers import print_json
from coordpath_governance.cli.audit_answers import open_words, read_anchors, verify_document, write_evidence
from coordpath_governance.cli.audit_records import keys, log, show
from coordpath_governance.cli.clock import utc_moment
from coordpath_governance.cli.options import ledger_options, open_ledger, read_ledger
from coordpath_governance.cli.screen import say
from coordpath_governance.errors import EXIT_NO, LedgerError
from coordpath_governance.ledger.events import Anchor
from coordpath_governance.ledger.export import export_lines, make_anchor, read_export
from coordpath_governance.ledger.location import SERVICE_KEY_VARIABLE
from coordpath_governance.ledger.records import past_retention
from coordpath_governance.ledger.verify import Audit, audit
from coordpath_governance.text import visible

__all__ = ["command"]

_SHOWN = 20
_OUT = click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", required=True)


@click.group("audit")
def command() -> None:
    """The ledger: what was registered, reported, decided and promoted, and that nobody changed it since."""


for records_command in (log, show, keys):
    command.add_command(records_command)


@command.command("verify")
@click.argument("path", required=False, type=click.Path(path_type=Path), metavar="[PATH]")
@click.option(
    "--anchor", "anchors", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="An anchor; repeatable."
)
@click.option("--json", "as_json", is_flag=True, help="The answer as one JSON document.")
@ledger_options
def verify(path: Path | None, anchors: tuple[Path, ...], as_json: bool, **where: str | None) -> int:
    """Check the ledger, or an export of it at PATH: every entry, signature, chain, kept document, and the anchors given.

    Exits 0 if it is intact, 1 if not, 4 if we cannot know. PATH is checked without MLflow and without a database. It also
    says which promotions are past the retention of their policy; nothing is deleted by us.
    """
    files = read_anchors(anchors)
    if path is not None:
        exported = read_export(path)
        result = audit(exported.entries, exported.blobs, files, exported.damaged)
        return _tell(result, as_json, red=open_words(exported.entries, exported.blobs) if result.intact else ())
    ledger = read_ledger(**where)
    entries, damaged = ledger.stored()
    result = audit(entries, ledger.blobs, files, damaged)
    red = open_words(entries, ledger.blobs) if result.intact else ()
    return _tell(result, as_json, ledger.missing_triggers(), red)


@command.command("export")
@_OUT
@ledger_options
def export(out: Path, **where: str | None) -> None:
    """Write the whole ledger to one file that `coordpath audit verify FILE` checks anywhere."""
    ledger = read_ledger(**where)
    entries = ledger.entries()
    write_evidence(out, export_lines(ledger.id, entries, ledger.blobs))
    say(
        f"{len(entries)} entries of ledger {ledger.id} are in {out}; "
        f"check them with: coordpath audit verify {quote(str(out))}"
    )


@command.command("anchor")
@_OUT
@ledger_options
def anchor(out: Path, **where: str | None) -> None:
    """Write the signed head of the ledger to FILE, to be kept where nobody who writes to the ledger can change it."""
    ledger = open_ledger(**where, create=False)
    key = ledger.signing_key()
    if key is None:
        raise LedgerError(f"an anchor is signed with the service key: set {SERVICE_KEY_VARIABLE} to its file")
    head = ledger.entries()[-1]
    write_evidence(out, [make_anchor(ledger.id, head, ledger.now(), key)])
    ledger.record("anchor", Anchor(seq=head.seq, hash=head.hash))
    say(f"Entry {head.seq} is anchored in {out}; keep this file elsewhere.")
    say(f"Check the ledger with: coordpath audit verify --anchor {quote(str(out))}")


def _tell(result: Audit, as_json: bool, missing_triggers: Sequence[str] = (), red: Sequence[str] = ()) -> int:
    past = past_retention(result.sound, utc_moment().strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    if as_json:
        print_json(verify_document(result, missing_triggers, past, red))
        return 0 if result.intact else EXIT_NO
    say(
        f"Ledger {result.ledger or 'without a name'}: {result.entries} entries, models: {result.models}, "
        f"keys: {result.keys}, {result.blobs} kept documents"
    )
    if result.head is not None:
        say(f"Head: entry {result.head.seq} of {result.head.at}, {result.head.hash}")
    for problem in result.problems[:_SHOWN]:
        say(f"  {visible(str(problem))}")
    if len(result.problems) > _SHOWN:
        say(f"  and {len(result.problems) - _SHOWN} more")
    if result.alone:
        say("What one person could have done alone:")
    for sentence in result.alone:
        say(f"  {visible(sentence)}")
    if missing_triggers:
        say(
            "Note: the database itself would not refuse changes now, because somebody removed or changed triggers of the "
            f"ledger: {', '.join(missing_triggers)}"
        )
    if result.pages_not_compared:
        say(f"Not compared: pages of {result.pages_not_compared} decision records, laid out by another version of coordpath")
    for each in past:
        say(visible(f"Note: {each}"))
    for words in red:
        say(visible(f"Red: {words}"))
    say(visible(result.conclusion))
    return 0 if result.intact else EXIT_NO
