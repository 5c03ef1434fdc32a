"""The two tables of a ledger, and what makes the database itself refuse to change or remove a row.

The signed bytes of an entry are kept as they are. The columns beside them only carry the constraints: a model is known by
the digest of its name, because names may be longer than an index holds or contain what a database's text cannot.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import BigInteger, Column, Connection, Integer, LargeBinary, MetaData, String, Table, Text, UniqueConstraint

__all__ = ["BLOBS", "ENTRIES", "create_tables", "missing_triggers"]

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
    there = _ENTRY_IS_THERE if table is ENTRIES else _BLOB_IS_THERE
    for moment, when in (("UPDATE", ""), ("DELETE", ""), ("INSERT", there)):
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
    """The tables and their triggers, in a database that has neither."""
    _METADATA.create_all(connection, checkfirst=False)
    for table in (ENTRIES, BLOBS):
        sqlite = connection.dialect.name == "sqlite"
        for statement in (statement for _, statement in _sqlite(table)) if sqlite else _postgresql(table):
            connection.exec_driver_sql(statement)


def missing_triggers(connection: Connection) -> tuple[str, ...]:
    """Names of the triggers that are not there as `create_tables` made them."""
    if connection.dialect.name == "sqlite":
        wanted = [each for table in (ENTRIES, BLOBS) for each in _sqlite(table)]
        found = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    else:
        wanted = [(_postgresql_trigger(table), _POSTGRESQL_BODY) for table in (ENTRIES, BLOBS)]
        found = connection.exec_driver_sql(_PLACED_IN_POSTGRESQL)
    placed = {(name, how) for name, how in found}
    return tuple(name for name, how in wanted if (name, how) not in placed)
