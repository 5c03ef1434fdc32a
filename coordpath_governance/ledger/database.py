"""A ledger's database, SQLite or PostgreSQL: one writer at a time, its own clock, and errors without passwords."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from coordpath_governance.errors import LedgerError, UsageError
from coordpath_governance.ledger.location import Address

__all__ = ["Database"]

_PATIENCE = 30
"""Seconds that a writer waits for the others."""

_CONNECT_PATIENCE = 10
_LOCK = 0x636F6F72647061
"""The number of the advisory lock that writers of ledgers in one PostgreSQL database take."""

_SHOWN = 300
_CLOCKS = {
    "sqlite": "SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'",
    "postgresql": "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
}


class Database:
    """Connections are made anew for every transaction, so that a process may fork and a ledger may be shared by threads."""

    def __init__(self, url: str) -> None:
        self._address = Address.of(url)
        self._url = self._address.url
        self.shown = self._address.shown
        self._sqlite = self._url.get_backend_name() == "sqlite"
        self._engine = self._connectable()

    @property
    def file(self) -> Path | None:
        """The file of a SQLite database."""
        name = self._url.database or ""
        return Path(name) if self._sqlite and not name.startswith("file:") else None

    def time(self, connection: Connection) -> str:
        """Now, by the database's clock: UTC, with microseconds."""
        return str(connection.exec_driver_sql(_CLOCKS[connection.dialect.name]).scalar_one())

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state and changes nothing."""
        with self._errors(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that no other writer's overlaps; IntegrityError if one got in nevertheless."""
        with (
            self._errors(),
            self._engine.connect().execution_options(coordpath_writes=True) as connection,
            connection.begin(),
        ):
            if not self._sqlite:
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_PATIENCE}s'")
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            yield connection

    def _connectable(self) -> Engine:
        options: dict[str, Any] = (
            {"connect_args": {"timeout": _PATIENCE}}
            if self._sqlite
            else {
                "connect_args": {"connect_timeout": _CONNECT_PATIENCE},
                "isolation_level": "READ COMMITTED",
            }
        )
        try:
            engine = create_engine(self._url, poolclass=NullPool, hide_parameters=True, **options)
        except NoSuchModuleError as error:
            raise UsageError(f"the ledger '{self.shown}': no such driver; use postgresql+psycopg://") from error
        except ArgumentError as error:
            said = self._address.without_secrets(str(error))[:_SHOWN]
            raise UsageError(f"the ledger '{self.shown}': {said}") from None
        except ModuleNotFoundError as error:
            raise LedgerError(
                f"the ledger '{self.shown}' needs {error.name}: pip install 'coordpath-governance[postgres]'"
            ) from error
        if self._sqlite:
            event.listen(engine, "connect", _take_over_transactions)
            event.listen(engine, "begin", _begin)
        return engine

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """What the database says, as a `LedgerError` that tells no password."""
        try:
            yield
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            said = " ".join(str(getattr(error, "orig", None) or error).split())
            raise LedgerError(f"the ledger '{self.shown}': {self._address.without_secrets(said)[:_SHOWN]}") from None


def _take_over_transactions(connection: Any, _record: object) -> None:  # noqa: ANN401 - a DB-API connection
    """Transactions begin when we say; text that is not UTF-8 is somebody's damage and must still be readable."""
    connection.isolation_level = None
    connection.text_factory = _any_text


def _any_text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("coordpath_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
