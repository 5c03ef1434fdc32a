"""`coordpath audit log`, `show` and `keys`: the ledger, or an export of it, as people and scripts read it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import click

from coordpath_governance.cli.answers import print_json
from coordpath_governance.cli.audit_answers import (
    keys_document,
    log_document,
    open_words,
    read_anchors,
    show_document,
    write_evidence,
)
from coordpath_governance.cli.options import Command, ledger_options, read_ledger
from coordpath_governance.cli.screen import say, say_warning
from coordpath_governance.errors import EXIT_NO, LedgerError, NotFoundError, UsageError
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import EVENTS
from coordpath_governance.ledger.keyring import KeyRecord, key_records
from coordpath_governance.ledger.records import Records, read_records
from coordpath_governance.ledger.words import account, entry_line
from coordpath_governance.text import visible

__all__ = ["first_moment", "keys", "last_moment", "log", "show"]

_NEWEST = 50

_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_LENGTH_OF_A_DATE = 10
_DAY = timedelta(days=1) - timedelta(microseconds=1)


def records_options(function: Command) -> Command:
    """Where the records are: the options of `ledger_options`, --export and --anchor, and --json as ``as_json``."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="The answer as one JSON document."),
        click.option(
            "--anchor", "anchors", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
            help="An anchor to check the export against; repeatable.",
        ),
        click.option(
            "--export", type=click.Path(path_type=Path), metavar="FILE",
            help="Read this file of `coordpath audit export` in place of the ledger: without MLflow, without a database.",
        ),
    ):  # fmt: skip
        function = option(function)
    return ledger_options(function)


@click.command("log")
@click.argument("name", required=False)
@click.option("--since", metavar="TIME", help="Only entries of this time or later.")
@click.option("--until", metavar="TIME", help="Only entries of this time or earlier; a date is the whole day.")
@click.option(
    "--event", "events", multiple=True, type=click.Choice(tuple(EVENTS)), metavar="EVENT", help="Only these; repeatable."
)
@click.option("--limit", type=click.IntRange(min=1), help=f"Only the newest so many; default: {_NEWEST}, with --json all.")
@records_options
def log(
    name: str | None,
    since: str | None,
    until: str | None,
    events: tuple[str, ...],
    limit: int | None,
    export: Path | None,
    anchors: tuple[Path, ...],
    as_json: bool,
    **where: str | None,
) -> int:
    """One line per entry, oldest first; with NAME only those about that model.

    TIME is a date or a date and time, in UTC unless it says otherwise. Both ends are included: --since 2026-01-01 --until
    2026-03-31 is the first quarter. An export is audited first; one that is not intact is shown with a warning, and exits 1.
    """
    selection = _Selection(name, events, *_period(since, until))
    records = _records(export, anchors, where)
    entries = [entry for entry in records.entries if selection.has(entry)]
    most = limit or (len(entries) if as_json else _NEWEST)
    shown = entries[max(0, len(entries) - most) :]
    if as_json:
        print_json(log_document(records, shown, len(entries) - len(shown)))
        return _exit_code(records)
    _say_source(records)
    if len(entries) > len(shown):
        say(f"({len(entries) - len(shown)} earlier entries are not shown; see --limit)")
    for entry in shown:
        _say_line(entry, records)
    if not entries:
        say("no entry is like that" if since or until or events else f"nothing about '{visible(name or '')}'")
    for words in open_words(records.entries, records.blobs, name) if records.intact else ():
        say(visible(f"Red: {words}"))
    return _exit_code(records)


@click.command("show")
@click.argument("seq", type=click.IntRange(min=1), metavar="NUMBER")
@click.option(
    "-o", "--document", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write the document that is kept with the entry (a report, a policy, coefficients) to this new file.",
)  # fmt: skip
@records_options
def show(
    seq: int,
    document: Path | None,
    export: Path | None,
    anchors: tuple[Path, ...],
    as_json: bool,
    **where: str | None,
) -> int:
    """All of entry NUMBER: who signed what and when, comments and reasons in full, what it is bound to.

    An export is audited first; an entry of one that is not intact is shown with a warning, and exits 1.
    """
    records = _records(export, anchors, where)
    entry = _numbered(records, seq)
    if document is not None:
        kept_document = records.document(entry)
        if kept_document is None:
            raise UsageError(f"no document is kept with entry {seq}, a '{visible(entry.event)}'; leave --document out")
        write_evidence(document, [records.content(kept_document)])
    if as_json:
        print_json(show_document(records, entry, None if document is None else str(document)))
        return _exit_code(records)
    _say_source(records)
    for depth, label, text in account(entry, records):
        _say_field(depth, label, text)
    if document is not None:
        say(f"The document is in {document}.")
    return _exit_code(records)


@click.command("keys")
@records_options
def keys(export: Path | None, anchors: tuple[Path, ...], as_json: bool, **where: str | None) -> int:
    """Every key that the ledger knows or knew: whose, with which roles, who added it, who revoked it and why.

    An export is audited first; the keys of one that is not intact are shown with a warning, and exits 1.
    """
    records = _records(export, anchors, where)
    listed = key_records(entry for entry in records.entries if records.is_sound(entry))
    if as_json:
        print_json(keys_document(records, listed))
        return _exit_code(records)
    _say_source(records)
    for record in listed:
        _say_key(record)
    return _exit_code(records)


@dataclass(frozen=True)
class _Selection:
    """Which entries of a log are asked for; times as the ledger writes them, both ends included."""

    name: str | None
    events: tuple[str, ...]
    since: str | None
    until: str | None

    def has(self, entry: Entry) -> bool:
        """Whether an entry is one of them."""
        return (
            (self.name is None or entry.model == self.name)
            and (not self.events or entry.event in self.events)
            and (self.since is None or entry.at >= self.since)
            and (self.until is None or entry.at <= self.until)
        )


def _period(since: str | None, until: str | None) -> tuple[str | None, str | None]:
    first = None if since is None else first_moment("--since", since)
    last = None if until is None else last_moment("--until", until)
    if first is not None and last is not None and first > last:
        raise UsageError(f"--since {since} is later than --until {until}")
    return first, last


def _records(export: Path | None, anchors: Iterable[Path], where: dict[str, Any]) -> Records:
    files = read_anchors(tuple(anchors))
    if export is not None:
        return read_records(export, files)
    if files:
        raise UsageError("--anchor is for --export FILE; `coordpath audit verify --anchor FILE` checks the ledger itself")
    ledger = read_ledger(**where)
    return Records(ledger.url, ledger.id, ledger.entries(), ledger.keyring(), ledger.blobs)


def _numbered(records: Records, seq: int) -> Entry:
    """The entry of that number. Raises `LedgerError` if it cannot be read, `NotFoundError` if there is none."""
    numbered = [entry for entry in records.entries if entry.seq == seq]
    if numbered:
        return numbered[0]
    problems = records.audit.problems if records.audit is not None else ()
    for problem in problems:
        if problem.seq == seq:
            raise LedgerError(f"{records.where}: entry {seq} cannot be read: {problem.what}")
    last = max((entry.seq for entry in records.entries), default=0)
    raise NotFoundError(f"there is no entry {seq}; the newest is {last}")


def _exit_code(records: Records) -> int:
    """What is shown of an export that is not intact may be false: that is said last, and does not count as fine."""
    if records.audit is None or records.intact:
        return 0
    say_warning(
        f"this export is {records.audit.conclusion}; what it shows may be false. "
        f"`coordpath audit verify {records.where}` lists all that is wrong"
    )
    return EXIT_NO


def _say_source(records: Records) -> None:
    if records.audit is not None:
        say(visible(f"Export {records.where} of ledger {records.ledger or 'without a name'}: {records.audit.conclusion}"))


def _say_line(entry: Entry, records: Records) -> None:
    if records.is_sound(entry):
        say(entry_line(entry, records.keys))
    else:
        say(visible(f"{entry.seq:>5}  {entry.at}  {entry.event[:80]}  is not to be believed"))
    for problem in records.problems(entry):
        say(visible(f"       NOT as it should be: {problem}"))


def _say_field(depth: int, label: str, text: str) -> None:
    """A label and its text; a text of several lines, or what a person wrote, is set apart line by line."""
    indent = "  " * depth
    lines = text.splitlines()
    if len(lines) > 1:
        say(f"{indent}{visible(label)}:")
        for line in lines:
            say(f"{indent}  | {visible(line) if line.strip() else ''}".rstrip())
    else:
        say(f"{indent}{visible(label)}: {visible(text) if text else ''}".rstrip())


def _say_key(record: KeyRecord) -> None:
    facts = record.facts
    say(visible(f"{facts.owner} ({', '.join(facts.roles)})"))
    say(f"    key {facts.id}")
    say(visible(f"    added {record.added.at} by {record.added_by} (entry {record.added.seq})"))
    if record.revoked is not None:
        why = f": {record.reason}" if record.reason else ", without a reason"
        say(visible(f"    revoked {record.revoked.at} by {record.revoked_by} (entry {record.revoked.seq}){why}"))


def first_moment(option: str, text: str) -> str:
    """The first moment that is meant, as the ledger writes times. Raises `UsageError` if ``text`` is not a time."""
    return _written(option, text, timedelta(0))


def last_moment(option: str, text: str) -> str:
    """The last moment that is meant: of a date, the end of that day. Raises `UsageError` if ``text`` is not a time."""
    return _written(option, text, _DAY)


def _written(option: str, text: str, of_a_date: timedelta) -> str:
    wrong = UsageError(
        f"{option}: '{text[:80]}' is not a time; give a date such as 2026-03-31, or 2026-03-31T17:00:00 (UTC)"
    )
    if not _TIME.fullmatch(text):
        raise wrong
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if len(text) == _LENGTH_OF_A_DATE:
            moment += of_a_date
        utc = moment if moment.tzinfo is None else moment.astimezone(timezone.utc).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise wrong from None
    return utc.isoformat(timespec="microseconds") + "Z"
