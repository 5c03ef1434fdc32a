"""`coordpath audit`: read the ledger, check it, take it elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from coordpath_governance.cli.screen import say
from coordpath_governance.cli.signing_options import ledger_options, open_ledger, read_ledger
from coordpath_governance.errors import EXIT_NO, LedgerError, NotFoundError, UsageError
from coordpath_governance.ledger.anchor import AnchorFile, make_anchor, read_anchor
from coordpath_governance.ledger.events import Anchor
from coordpath_governance.ledger.export import export_lines, read_export
from coordpath_governance.ledger.location import SERVICE_KEY_VARIABLE
from coordpath_governance.ledger.verify import Audit, audit
from coordpath_governance.ledger.words import entry_line
from coordpath_governance.text import visible

__all__ = ["command"]

_SHOWN = 20
_OUT = click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", required=True)


@click.group("audit")
def command() -> None:
    """The ledger: what was registered, reported, decided and promoted, and that nobody changed it since."""


@command.command("log")
@click.argument("name", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Only the newest so many.")
@ledger_options
def log(name: str | None, limit: int, **where: Any) -> None:  # noqa: ANN401 - three strings
    """A line an entry, oldest first; with NAME only those about that model."""
    ledger = read_ledger(**where)
    entries, keys = ledger.entries(name), ledger.keyring()
    if len(entries) > limit:
        say(f"({len(entries) - limit} earlier entries are not shown; see --limit)")
    for entry in entries[-limit:]:
        say(entry_line(entry, keys))
    if not entries:
        say(f"nothing about '{visible(name or '')}'")


@command.command("verify")
@click.argument("path", required=False, type=click.Path(path_type=Path), metavar="[PATH]")
@click.option(
    "--anchor", "anchors", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="An anchor; repeatable."
)
@ledger_options
def verify(path: Path | None, anchors: tuple[Path, ...], **where: Any) -> int:  # noqa: ANN401 - three strings
    """Check the ledger, or an export of it at PATH: every entry, signature, chain, kept document, and the anchors given.

    Exits 0 if it is intact, 1 if not, 4 if we cannot know. PATH is checked without MLflow and without a database.
    """
    files = [_anchor(file) for file in anchors]
    if path is not None:
        exported = read_export(path)
        return _tell(audit(exported.entries, exported.blobs, files, exported.damaged))
    ledger = read_ledger(**where)
    entries, damaged = ledger.stored()
    found = audit(entries, ledger.blobs, files, damaged)
    return _tell(found, ledger.missing_triggers())


@command.command("export")
@_OUT
@ledger_options
def export(out: Path, **where: Any) -> None:  # noqa: ANN401 - three strings
    """Write the whole ledger to one file that `coordpath audit verify FILE` checks anywhere."""
    ledger = read_ledger(**where)
    entries = ledger.entries()
    _write(out, export_lines(ledger.id, entries, ledger.blobs))
    say(f"{len(entries)} entries of ledger {ledger.id} are in {out}; check them with: coordpath audit verify {out}")


@command.command("anchor")
@_OUT
@ledger_options
def anchor(out: Path, **where: Any) -> None:  # noqa: ANN401 - three strings
    """Write the signed head of the ledger to FILE, to be kept where nobody who writes to the ledger can change it."""
    ledger = open_ledger(**where, create=False)
    if ledger.service is None:
        raise LedgerError(f"an anchor is signed with the service key: set {SERVICE_KEY_VARIABLE} to its file")
    head = ledger.entries()[-1]
    _write(out, [make_anchor(ledger.id, head, ledger.now(), ledger.service)])
    ledger.record("anchor", Anchor(seq=head.seq, hash=head.hash))
    say(f"Entry {head.seq} is anchored in {out}; keep this file elsewhere, and check with: coordpath audit verify --anchor")


def _anchor(path: Path) -> AnchorFile:
    try:
        return read_anchor(path.read_bytes(), f"'{path}'")
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{path}'") from None
    except OSError as error:
        raise LedgerError(f"cannot read '{path}': {error.strerror}") from error


def _write(path: Path, lines: Iterable[bytes]) -> None:
    """A new file, whole or not at all: evidence is never overwritten."""
    try:
        with path.open("xb") as file:
            try:
                file.writelines(lines)
            except BaseException:
                path.unlink()
                raise
    except FileExistsError:
        raise UsageError(f"'{path}' is there already; evidence is never overwritten: name another file") from None
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error


def _tell(found: Audit, missing_triggers: Sequence[str] = ()) -> int:
    say(
        f"Ledger {found.ledger or 'without a name'}: {found.entries} entries, models: {found.models}, keys: {found.keys}, "
        f"{found.blobs} kept documents"
    )
    if found.head is not None:
        say(f"Head: entry {found.head.seq} of {found.head.at}, {found.head.hash}")
    for problem in found.problems[:_SHOWN]:
        say(f"  {visible(str(problem))}")
    if len(found.problems) > _SHOWN:
        say(f"  and {len(found.problems) - _SHOWN} more")
    if missing_triggers:
        say(
            "Note: the database itself would not refuse changes now, because somebody removed or changed triggers of the "
            f"ledger: {', '.join(missing_triggers)}"
        )
    say(visible(found.conclusion))
    return 0 if found.intact else EXIT_NO
