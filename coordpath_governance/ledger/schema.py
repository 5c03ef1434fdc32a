"""The two tables of a ledger, and what makes the database itself refuse to change or remove a row.

The signed bytes of an entry are kept as they are. The columns beside them only carry the constraints: a model is known by
the digest of its name, because names may be longer than an index holds or contain what a database's text cannot.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import BigInteger, Column, Connection, Integer, LargeBinary, MetaData, String, Table, Text, UniqueConstraint

__all__ = ["BLOBS", "ENTRIES", "create_tables"]

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

_ENTRY_IS_THERE = (
    "WHEN EXISTS (SELECT 1 FROM coordpath_ledger WHERE seq >= NEW.seq OR hash = NEW.hash OR previous = NEW.previous "
    "OR (model_sha256 = NEW.model_sha256 AND model_seq = NEW.model_seq))"
)
_BLOB_IS_THERE = "WHEN EXISTS (SELECT 1 FROM coordpath_blobs WHERE sha256 = NEW.sha256)"


def _sqlite(table: Table) -> Iterator[str]:
    """INSERT OR REPLACE removes a row without firing the trigger on DELETE, so it has one of its own."""
    there = _ENTRY_IS_THERE if table is ENTRIES else _BLOB_IS_THERE
    for moment, when in (("UPDATE", ""), ("DELETE", ""), ("INSERT", there)):
        name = f"{table.name}_no_{'replace' if when else moment.lower()}"
        yield f"CREATE TRIGGER {name} BEFORE {moment} ON {table.name} {when} BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"


def _postgresql(table: Table) -> Iterator[str]:
    function = f"{table.name}_append_only"
    body = f"$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$"
    yield f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS {body}"
    moments = "UPDATE OR DELETE OR TRUNCATE"
    yield f"CREATE TRIGGER {function} BEFORE {moments} ON {table.name} FOR EACH STATEMENT EXECUTE FUNCTION {function}()"


_GUARDS = {"sqlite": _sqlite, "postgresql": _postgresql}


def create_tables(connection: Connection) -> None:
    """The tables and their triggers, in a database that has neither."""
    _METADATA.create_all(connection, checkfirst=False)
    for table in (ENTRIES, BLOBS):
        for statement in _GUARDS[connection.dialect.name](table):
            connection.exec_driver_sql(statement)
