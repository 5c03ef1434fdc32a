"""Entries and blobs as rows of the database's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, LargeBinary, Row, cast, func, insert, inspect, select

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.database import Database
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.reading import read_entry
from coordpath_governance.ledger.schema import BLOBS, ENTRIES

__all__ = [
    "StoredBlobs",
    "entry_of",
    "entry_or_damage",
    "has_blob",
    "has_tables",
    "insert_blob",
    "insert_entry",
    "stored_rows",
]


def has_tables(connection: Connection) -> bool:
    """Whether there is, or was, a ledger in this database."""
    return inspect(connection).has_table(ENTRIES.name)


def stored_rows(connection: Connection, since: int = 1) -> Iterator[Row[Any]]:
    """Rows from entry ``since`` on, in order."""
    columns = (
        *(column for column in ENTRIES.c if column.name != "payload"),
        cast(ENTRIES.c.payload, LargeBinary).label("payload"),
    )
    statement = select(*columns).where(ENTRIES.c.seq >= since).order_by(ENTRIES.c.seq)
    yield from connection.execute(statement)


def entry_of(row: Row[Any]) -> Entry:
    """The entry of a row; `LedgerError` if its bytes are no entry's or a column says something else than they do."""
    where = f"entry {row.seq} of the ledger"
    entry = read_entry(row.payload, row.signature, where)
    for column, value in _index(entry).items():
        if getattr(row, column) != value:
            raise LedgerError(f"{where}: the column '{column}' says something else than what was signed")
    return entry


def entry_or_damage(row: Row[Any]) -> Entry | tuple[int, str]:
    """The entry of a row, or its number and what is wrong with it."""
    try:
        return entry_of(row)
    except LedgerError as error:
        return row.seq, str(error)


def insert_entry(connection: Connection, entry: Entry) -> None:
    """Store a signed entry."""
    connection.execute(insert(ENTRIES).values(**_index(entry), payload=entry.payload, signature=entry.signature))


def _index(entry: Entry) -> dict[str, Any]:
    """The columns that carry the constraints."""
    return {
        "seq": entry.seq,
        "model_sha256": None if entry.model is None else sha256_hex(entry.model.encode()),
        "model_seq": entry.model_seq,
        "previous": entry.previous,
        "hash": entry.hash,
    }


def insert_blob(connection: Connection, content: bytes) -> str:
    """Keep bytes under their digest, once."""
    digest = sha256_hex(content)
    if not has_blob(connection, digest):
        connection.execute(insert(BLOBS).values(sha256=digest, content=content))
    return digest


def has_blob(connection: Connection, digest: str) -> bool:
    """Whether bytes are kept under this digest."""
    return connection.execute(select(BLOBS.c.sha256).where(BLOBS.c.sha256 == digest)).first() is not None


class StoredBlobs(Mapping[str, bytes]):
    """The kept bytes by digest, read when asked for, as they are: whoever asks checks the digest."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __getitem__(self, digest: str) -> bytes:
        with self._database.reading() as connection:
            content = cast(BLOBS.c.content, LargeBinary)
            found = connection.execute(select(content).where(BLOBS.c.sha256 == digest)).scalar_one_or_none()
        if found is None:
            raise KeyError(digest)
        return bytes(found)

    def __iter__(self) -> Iterator[str]:
        with self._database.reading() as connection:
            digests = connection.execute(select(BLOBS.c.sha256).order_by(BLOBS.c.sha256)).scalars().all()
        return iter(digests)

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return connection.execute(select(func.count()).select_from(BLOBS)).scalar_one()
