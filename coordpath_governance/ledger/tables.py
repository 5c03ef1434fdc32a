"""The two tables of a ledger, the triggers by which the database refuses to change or remove a row, and how a row is read.

The signed bytes of an entry are kept as they are. The columns beside them only carry the constraints: a model is known by
the digest of its name, because names may be longer than an index holds or contain what a database's text cannot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    String,
    Table,
    Text,
    UniqueConstraint,
    cast,
    func,
    insert,
    inspect,
    select,
)

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.database import Database
from coordpath_governance.ledger.entries import Entry, read_entry

__all__ = [
    "BLOBS",
    "ENTRIES",
    "StoredBlobs",
    "create_tables",
    "entry_of",
    "entry_or_damage",
    "has_blob",
    "has_tables",
    "insert_blob",
    "insert_entry",
    "missing_triggers",
    "stored_rows",
]

_METADATA = MetaData()
_DIGEST = String(64)

ENTRIES = Table(
    "coordpath_ledger",
    _METADATA,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("model_sha256", _DIGEST),
    Column("model_seq", BigInteger),
    Column("previous", _DIGEST, nullable=False, unique=True),
    Column("hash", _DIGEST, nullable=False, unique=True),
    Column("payload", LargeBinary, nullable=False),
    Column("signature", Text, nullable=False),
    UniqueConstraint("model_sha256", "model_seq"),
)

BLOBS = Table(
    "coordpath_blobs",
    _METADATA,
    Column("sha256", _DIGEST, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

_REFUSAL = "a ledger is append-only"

_POSTGRESQL_BODY = f" BEGIN RAISE EXCEPTION '{_REFUSAL}'; END "

_ENTRY_IS_THERE = (
    "WHEN EXISTS (SELECT 1 FROM coordpath_ledger WHERE seq >= NEW.seq OR hash = NEW.hash OR previous = NEW.previous "
    "OR (model_sha256 = NEW.model_sha256 AND model_seq = NEW.model_seq))"
)
_BLOB_IS_THERE = "WHEN EXISTS (SELECT 1 FROM coordpath_blobs WHERE sha256 = NEW.sha256)"

_PLACED_IN_POSTGRESQL = """
SELECT t.tgname, p.prosrc FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
WHERE pg_table_is_visible(c.oid) AND c.relname LIKE 'coordpath%%' AND t.tgenabled IN ('O', 'A') AND t.tgtype = 58
"""
"""Triggers that are on and run before UPDATE, DELETE and TRUNCATE (58), with the body of what they run."""


def _sqlite(table: Table) -> Iterator[tuple[str, str]]:
    """INSERT OR REPLACE removes a row without firing the trigger on DELETE, so it has one of its own."""
    is_there = _ENTRY_IS_THERE if table is ENTRIES else _BLOB_IS_THERE
    for moment, when in (("UPDATE", ""), ("DELETE", ""), ("INSERT", is_there)):
        name = f"{table.name}_no_{'replace' if when else moment.lower()}"
        yield (
            name,
            f"CREATE TRIGGER {name} BEFORE {moment} ON {table.name} {when} BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END",
        )


def _postgresql(table: Table) -> Iterator[str]:
    function = _postgresql_trigger(table)
    yield f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $${_POSTGRESQL_BODY}$$"
    moments = "UPDATE OR DELETE OR TRUNCATE"
    yield f"CREATE TRIGGER {function} BEFORE {moments} ON {table.name} FOR EACH STATEMENT EXECUTE FUNCTION {function}()"


def _postgresql_trigger(table: Table) -> str:
    return f"{table.name}_append_only"


def create_tables(connection: Connection) -> None:
    """Create the tables and their triggers in a database that has neither."""
    _METADATA.create_all(connection, checkfirst=False)
    for table in (ENTRIES, BLOBS):
        sqlite = connection.dialect.name == "sqlite"
        for statement in (statement for _, statement in _sqlite(table)) if sqlite else _postgresql(table):
            connection.exec_driver_sql(statement)


def missing_triggers(connection: Connection) -> tuple[str, ...]:
    """Names of the triggers that are not there as `create_tables` made them."""
    if connection.dialect.name == "sqlite":
        expected = [each for table in (ENTRIES, BLOBS) for each in _sqlite(table)]
        rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    else:
        expected = [(_postgresql_trigger(table), _POSTGRESQL_BODY) for table in (ENTRIES, BLOBS)]
        rows = connection.exec_driver_sql(_PLACED_IN_POSTGRESQL)
    installed = {(name, definition) for name, definition in rows}
    return tuple(name for name, definition in expected if (name, definition) not in installed)


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
            stored = connection.execute(select(content).where(BLOBS.c.sha256 == digest)).scalar_one_or_none()
        if stored is None:
            raise KeyError(digest)
        return bytes(stored)

    def __iter__(self) -> Iterator[str]:
        with self._database.reading() as connection:
            digests = connection.execute(select(BLOBS.c.sha256).order_by(BLOBS.c.sha256)).scalars().all()
        return iter(digests)

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return connection.execute(select(func.count()).select_from(BLOBS)).scalar_one()
