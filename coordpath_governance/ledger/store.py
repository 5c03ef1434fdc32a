"""The ledger in its database: entries are appended and read, and never changed.

Every process checks each entry once, when it first reads it: chain, signature, and whether the key was allowed to sign it.
If an entry is not sound, nothing can be read or recorded; `coordpath audit verify` says more.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import (
    LedgerConflictError,
    LedgerError,
    LedgerMissingError,
    SigningKeyError,
    UsageError,
    UsedError,
)
from coordpath_governance.ledger import tables as rows
from coordpath_governance.ledger.chain import Chain, named_blobs
from coordpath_governance.ledger.consistency import ledger_name, used_before
from coordpath_governance.ledger.database import Database
from coordpath_governance.ledger.entries import NOTHING_BEFORE, Entry, sign_entry
from coordpath_governance.ledger.events import EVENTS, Body, KeyFacts, LedgerCreated, weighs
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.location import (
    LEDGER_VARIABLE,
    SERVICE_KEY_VARIABLE,
    ledger_url,
    named_service_key,
    service_key_beside,
)
from coordpath_governance.ledger.tables import create_tables, missing_triggers
from coordpath_governance.policy.terms import SERVICE
from coordpath_governance.signing.keys import PrivateKey, new_key

__all__ = ["Ledger", "find_ledger"]

_ATTEMPTS = 5
_SERVICE_OWNER = "coordpath service"


class Ledger:
    """One ledger, open. ``service`` signs what machines record; None if this process does not have that key."""

    def __init__(self, database: Database, service: PrivateKey | None) -> None:
        self._database = database
        self._known = Chain()
        self.service = service
        self.blobs: Mapping[str, bytes] = rows.StoredBlobs(database)

    def __repr__(self) -> str:
        return f"<Ledger {self.url}>"

    @classmethod
    def open(
        cls, url: str, *, service_key: Path | None = None, create: bool = True, with_service_key: bool = True
    ) -> Ledger:
        """The ledger at ``url``; if there is none it is made, unless ``create`` is false.

        The service key is the file ``service_key``, else that of COORDPATH_SERVICE_KEY, else, for SQLite, the file beside
        the ledger's; it is made together with the ledger. ``with_service_key=False`` is for callers that only read.
        """
        database = Database(url)
        key_file = named_service_key(service_key)
        if not _exists(database):
            if not create:
                raise LedgerMissingError(f"there is no ledger at '{database.shown}'; `coordpath key new` begins one")
            _create(database, key_file)
        return cls(database, _service_key(database, key_file) if with_service_key else None)

    @staticmethod
    def exists(url: str) -> bool:
        """Whether there is a ledger at ``url``; `LedgerError` if its database cannot be asked."""
        return _exists(Database(url))

    @property
    def url(self) -> str:
        """Where the ledger is, without its password."""
        return self._database.shown

    @property
    def id(self) -> str:
        """The ledger's own name, 32 hexadecimal digits."""
        return ledger_name((self._known if self._known.entries else self._current()).entries)

    def append(
        self,
        event: str,
        body: Body,
        key: PrivateKey,
        *,
        model: str | None = None,
        blob: bytes | Sequence[bytes] | None = None,
        after: int | None = None,
        since: int | None = None,
    ) -> Entry:
        """Sign an event and record it; ``blob``, one document or several, is kept under its SHA-256.

        ``after`` is the ``model_seq`` of the model's newest entry that the caller has seen (0: none): `LedgerConflictError`
        if there are newer ones. ``since`` is the ``seq`` that the caller has seen: `LedgerConflictError` if a policy, a key
        or anything that weighs for this model came later; refusals and verdicts do not count. `SigningKeyError` if the key
        may not sign this, `UsedError` if the event uses what another has used already, `LedgerError` if the database's
        clock is behind the newest entry.
        """
        if not isinstance(body, EVENTS.get(event, ())):
            raise UsageError(f"a '{event}' is recorded with the body of one, not with {type(body).__name__}")
        for _ in range(_ATTEMPTS):
            try:
                with self._database.writing() as connection:
                    chain = self._caught_up(connection)
                    entry = self._next(connection, chain, event, body, key.public.id, model)
                    _check_seen(chain, entry, after, since)
                    _check_used(chain, entry)
                    self._keep(connection, body, blob)
                    signed = sign_entry(entry, key)
                    rows.insert_entry(connection, signed)
            except IntegrityError:
                continue
            return signed
        raise LedgerError(f"the ledger '{self.url}': others were faster {_ATTEMPTS} times; try again")

    def signing_key(self) -> PrivateKey | None:
        """The service key; None if this process does not have it. Raises `LedgerError` if it was revoked."""
        service = None if self.service is None else self.keyring().keys[self.service.public.id]
        if service is not None and service.revoked is not None:
            raise LedgerError(
                f"the key {service.facts.id[:12]} was the service key of '{self.url}'; entry {service.revoked} revoked it: "
                f"set {SERVICE_KEY_VARIABLE} to the file of the new one and start again"
            )
        return self.service

    def record(
        self,
        event: str,
        body: Body,
        *,
        model: str | None = None,
        blob: bytes | Sequence[bytes] | None = None,
        after: int | None = None,
        since: int | None = None,
    ) -> Entry:
        """Append with the service key; raises `LedgerError` if this process does not have it or it was revoked."""
        key = self.signing_key()
        if key is None:
            raise LedgerError(
                f"to record a '{event}' in '{self.url}' the service key is needed: set {SERVICE_KEY_VARIABLE} to its file"
            )
        return self.append(event, body, key, model=model, blob=blob, after=after, since=since)

    def entries(self, model: str | None = None) -> tuple[Entry, ...]:
        """All entries in order; with ``model`` those of its chain."""
        chain = self._current()
        return chain.entries if model is None else tuple(entry for entry in chain.entries if entry.model == model)

    def head(self) -> int:
        """The ``seq`` of the newest entry, after checking what came since."""
        return self._current().entries[-1].seq

    def keyring(self) -> KeyRing:
        """The keys after the newest entry."""
        return self._current().keys

    def blob(self, sha256: str) -> bytes:
        """The bytes kept under a digest."""
        try:
            content = self.blobs[sha256]
        except KeyError:
            raise LedgerError(f"the ledger '{self.url}' keeps no bytes of SHA-256 {sha256}") from None
        if sha256_hex(content) != sha256:
            raise LedgerError(f"what the ledger '{self.url}' keeps under SHA-256 {sha256} has another digest")
        return content

    def now(self) -> str:
        """The database's time."""
        with self._database.reading() as connection:
            return self._database.time(connection)

    def stored(self) -> tuple[tuple[Entry, ...], tuple[tuple[int, str], ...]]:
        """Everything that can be read as an entry, unchecked, and what is wrong with the other rows."""
        with self._database.reading() as connection:
            read = [rows.entry_or_damage(row) for row in rows.stored_rows(connection)]
        return tuple(e for e in read if isinstance(e, Entry)), tuple(d for d in read if not isinstance(d, Entry))

    def missing_triggers(self) -> tuple[str, ...]:
        """Names of the triggers by which the database itself refuses changes, and that somebody removed or changed."""
        with self._database.reading() as connection:
            return missing_triggers(connection)

    def _current(self) -> Chain:
        with self._database.reading() as connection:
            return self._caught_up(connection)

    def _caught_up(self, connection: Connection) -> Chain:
        """The chain with the entries that were added since it was last read; each new one is checked."""
        checked = self._known
        newer = map(rows.entry_of, rows.stored_rows(connection, since=checked.head.seq if checked.head else 1))
        if checked.head is not None and next(newer, None) != checked.head:
            raise LedgerError(
                f"entry {checked.head.seq} of the ledger is not what it was before; see `coordpath audit verify`"
            )
        chain = self._known = checked.extended(newer)
        if not chain.entries:
            raise LedgerError(f"the ledger '{self.url}' has no entries: somebody emptied it; restore it from a copy")
        if self.service is not None and self.service.public.id not in chain.keys.keys:
            raise LedgerError(f"{self.service!r} is not a key of the ledger '{self.url}'; see {SERVICE_KEY_VARIABLE}")
        return chain

    def _next(self, connection: Connection, chain: Chain, event: str, body: Body, key: str, model: str | None) -> Entry:
        """The next entry, unsigned."""
        head, now = chain.entries[-1], self._database.time(connection)
        if now < head.at:
            raise LedgerError(
                f"the clock of the ledger's database says {now}, which is before its newest entry's {head.at}: "
                "set the clock right; nothing was recorded"
            )
        before = None if model is None else chain.heads.get(model)
        entry = Entry(
            seq=head.seq + 1,
            at=now,
            event=event,
            model=model,
            model_seq=None if model is None else (before.model_seq or 0) + 1 if before else 1,
            previous=head.hash,
            model_previous=None if model is None else before.hash if before else NOTHING_BEFORE,
            body=body.model_dump(mode="json"),
            key=key,
        )
        _check_body(entry)
        objection = chain.keys.objection(entry)
        if objection is not None:
            raise SigningKeyError(f"'{event}' cannot be recorded: {objection}")
        return entry

    def _keep(self, connection: Connection, body: Body, blob: bytes | Sequence[bytes] | None) -> None:
        """Store the documents. Raises `LedgerError` if a document that the entry names is not stored."""
        documents = () if blob is None else (blob,) if isinstance(blob, bytes) else blob
        stored = {rows.insert_blob(connection, document) for document in documents}
        for digest in named_blobs(body):
            if digest not in stored and not rows.has_blob(connection, digest):
                raise LedgerError(f"the bytes of SHA-256 {digest} are neither given nor kept; nothing was recorded")


def _check_seen(chain: Chain, entry: Entry, after: int | None, since: int | None) -> None:
    """`LedgerConflictError` if the caller decided without knowing something that was recorded before ``entry``."""
    newest = (entry.model_seq or 1) - 1
    if after is not None and newest != after:
        raise LedgerConflictError(
            f"something else was recorded about '{entry.model}' since we looked "
            f"(entry {newest} of its chain, seen: {after}); look again"
        )
    if since is None:
        return
    if since > chain.entries[-1].seq:
        raise LedgerConflictError(f"the ledger ends before entry {since}, which was seen; look again")
    for later in chain.entries[since:]:
        if weighs(later.event, of_the_model=later.model == entry.model):
            raise LedgerConflictError(
                f"a '{later.event}' was recorded since we looked (entry {later.seq}, seen: {since}); look again"
            )


def _check_used(chain: Chain, entry: Entry) -> None:
    """`UsedError` if the entry uses an approval, waiver, intent or request for the second time.

    The caller has checked this before; only inside the writing transaction can nobody else be faster.
    """
    consumed = used_before((each for each in chain.entries if each.model == entry.model), entry.facts)
    if consumed is not None:
        raise UsedError(f"it uses {consumed[0][:12]}, which entry {consumed[1]} has used already")


def _check_body(entry: Entry) -> None:
    """It must read back as what it is; lone surrogates have no UTF-8, so nothing could be signed."""
    try:
        entry.facts, entry.payload  # noqa: B018 - made here, used by whoever signs and reads
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise LedgerError(f"a '{entry.event}' cannot be recorded like this: {place}: {first['msg']}") from error
    except UnicodeEncodeError as error:
        raise LedgerError("a name or text is not valid Unicode and cannot be recorded") from error


def _exists(database: Database) -> bool:
    """Whether there is a ledger; looking for one makes no file."""
    if database.file is not None and not database.file.exists():
        return False
    with database.reading() as connection:
        return rows.has_tables(connection)


def _create(database: Database, key_file: Path | None) -> None:
    """Begin a ledger, unless another process just did."""
    with database.writing() as connection:
        if rows.has_tables(connection):
            return
        create_tables(connection)
        key = _made_service_key(database, key_file)
        facts = KeyFacts(id=key.public.id, public=key.public.text, owner=_SERVICE_OWNER, roles=(SERVICE,))
        entry = Entry(
            seq=1,
            at=database.time(connection),
            event="ledger created",
            model=None,
            model_seq=None,
            previous=NOTHING_BEFORE,
            model_previous=None,
            body=LedgerCreated(ledger=secrets.token_hex(16), key=facts).model_dump(mode="json"),
            key=key.public.id,
        )
        rows.insert_entry(connection, sign_entry(entry, key))


def _made_service_key(database: Database, key_file: Path | None) -> PrivateKey:
    """The key of a new ledger: the file's, or a new one in that file."""
    path = key_file or (service_key_beside(database.file) if database.file is not None else None)
    if path is None:
        raise LedgerError(
            f"to begin the ledger '{database.shown}' say where its service key is, or shall be: set {SERVICE_KEY_VARIABLE}"
        )
    if path.exists():
        return PrivateKey.load(path)
    key = new_key()
    key.save(path)
    return key


def _service_key(database: Database, key_file: Path | None) -> PrivateKey | None:
    """The service key, if this process may have it."""
    if key_file is not None:
        return PrivateKey.load(key_file)
    beside = service_key_beside(database.file) if database.file is not None else None
    return PrivateKey.load(beside) if beside is not None and os.access(beside, os.R_OK) else None


def find_ledger(registry_uri: str | None, explicit: str | None = None) -> Ledger | None:
    """The ledger that somebody named, which must be there; else the one beside the registry, None if there is none.

    Raises `LedgerError` if a ledger that was named is not there or cannot be opened.
    """
    configured = explicit or os.environ.get(LEDGER_VARIABLE)
    if configured:
        return Ledger.open(ledger_url(registry_uri, configured), create=False)
    try:
        url = ledger_url(registry_uri, None)
    except UsageError:
        return None
    return Ledger.open(url, create=False) if Ledger.exists(url) else None
