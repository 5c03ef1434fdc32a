"""A ledger's database, SQLite or PostgreSQL: one writer at a time, its own clock, and errors without passwords.

Its URL is read once, and never shown with what is secret in it. Only here is SQLAlchemy needed to read a ledger: an export
is read without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from coordpath_governance.errors import LedgerError, UsageError

__all__ = ["Address", "Database"]

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

_HIDDEN = "***"
_SECRET = ("pass", "secret", "token")
"""Parts of the names of parameters whose values are nobody's business."""

_LARGEST_PORT = 65535
_FORMS = "use sqlite:////folder/file.db or postgresql://…"


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
            reason = self._address.without_secrets(str(error))[:_SHOWN]
            raise UsageError(f"the ledger '{self.shown}': {reason}") from None
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
            reason = " ".join(str(getattr(error, "orig", None) or error).split())
            raise LedgerError(f"the ledger '{self.shown}': {self._address.without_secrets(reason)[:_SHOWN]}") from None


def _take_over_transactions(connection: Any, _record: object) -> None:  # noqa: ANN401 - a DB-API connection
    """Transactions begin when we say; text that is not UTF-8 is somebody's damage and must still be readable."""
    connection.isolation_level = None
    connection.text_factory = _any_text


def _any_text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("coordpath_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@dataclass(frozen=True)
class Address:
    """A URL of a kind that we can write to. It has no representation of its own that could tell a password."""

    url: URL

    @classmethod
    def of(cls, text: str) -> Address:
        """`UsageError`, which repeats nothing of it, if the URL is malformed or of another kind."""
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise UsageError(f"the ledger's URL cannot be read; {_FORMS}") from None
        if url.get_backend_name() == "sqlite":
            _check_sqlite(url)
        elif url.get_backend_name() == "postgresql":
            _check_postgresql(url)
        else:
            raise UsageError(f"a ledger is kept in SQLite or PostgreSQL, not in '{url.get_backend_name()}'")
        return cls(url)

    def __repr__(self) -> str:
        return f"<Address {self.shown}>"

    @property
    def shown(self) -> str:
        """The URL without what is secret."""
        hidden = {name: _HIDDEN for name in self.url.query if _is_secret(name)}
        return self.url.update_query_dict(hidden).render_as_string(hide_password=True).replace(quote_plus(_HIDDEN), _HIDDEN)

    def without_secrets(self, text: str) -> str:
        """Somebody's words about this database, with what is secret hidden in every spelling."""
        for secret in self._secrets():
            for form in {secret, quote(secret), quote_plus(secret)}:
                text = text.replace(form, _HIDDEN)
        return text

    def _secrets(self) -> Iterator[str]:
        if isinstance(self.url.password, str) and self.url.password:
            yield self.url.password
        for name, values in self.url.normalized_query.items():
            yield from (value for value in values if value and _is_secret(name))


def _is_secret(name: str) -> bool:
    return any(part in name.lower() for part in _SECRET)


def _check_sqlite(url: URL) -> None:
    if url.host or url.username or url.password:
        raise UsageError("the ledger's URL names a host, but SQLite is a file; use sqlite:////folder/file.db")
    if not url.database or ":memory:" in url.database:
        raise UsageError("a ledger in memory would be gone with the process; use sqlite:////folder/file.db")


def _check_postgresql(url: URL) -> None:
    """What a password with a bare '@' or '/' in it turns into must not be taken for a host or a database, and shown."""
    if "@" in (url.host or "") or "@" in (url.database or ""):
        raise UsageError("the ledger's URL has more than one '@': write one that belongs to a password as %40, a '/' as %2F")
    ports = [str(url.port)] if url.port is not None else []
    ports += [port for listed in url.normalized_query.get("port", ()) for port in listed.split(",") if port]
    if not all(port.isdecimal() and 1 <= int(port) <= _LARGEST_PORT for port in ports):
        raise UsageError(f"the ledger's URL names what is not a port: give a number from 1 to {_LARGEST_PORT}")
