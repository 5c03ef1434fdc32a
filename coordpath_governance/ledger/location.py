"""Where the ledger of a registry is, as a URL that is never shown with what is secret in it; and the key of its machines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_plus, urlsplit
from urllib.request import url2pathname

from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from coordpath_governance.errors import UsageError

__all__ = ["LEDGER_VARIABLE", "SERVICE_KEY_VARIABLE", "Address", "ledger_url", "named_service_key", "service_key_beside"]

_HIDDEN = "***"
_SECRET = ("pass", "secret", "token")
"""Parts of the names of parameters whose values are nobody's business."""

_LARGEST_PORT = 65535
_FORMS = "use sqlite:////folder/file.db or postgresql://…"

LEDGER_VARIABLE = "COORDPATH_LEDGER"
SERVICE_KEY_VARIABLE = "COORDPATH_SERVICE_KEY"

_FILE = "coordpath-ledger.db"
_GUARDED = "coordpath:"
_POSTGRESQL = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg2": "postgresql+psycopg",
}
_DRIVER_OF_OURS = "postgresql+psycopg"
_DATABRICKS = "databricks"


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
    ports += [port for given in url.normalized_query.get("port", ()) for port in given.split(",") if port]
    if not all(port.isdecimal() and 1 <= int(port) <= _LARGEST_PORT for port in ports):
        raise UsageError(f"the ledger's URL has a port that is none: give a number from 1 to {_LARGEST_PORT}")


def ledger_url(registry_uri: str | None, explicit: str | None) -> str:
    """The ledger's URL: as given (or in COORDPATH_LEDGER), else beside the registry's own database or folder.

    `sqlite:////dir/mlflow.db` and the folder `/dir` have `sqlite:////dir/coordpath-ledger.db`; a PostgreSQL registry keeps
    the ledger in tables of its own. Behind a server nobody can tell: `UsageError`.
    """
    given = explicit or os.environ.get(LEDGER_VARIABLE)
    if given:
        return _with_driver(given) if "://" in given else _sqlite(_path(given))
    uri = (registry_uri or "").removeprefix(_GUARDED)
    if not uri:
        raise UsageError(f"which ledger? Give --ledger URL (or {LEDGER_VARIABLE}), or the registry's URI")
    scheme, found, rest = uri.partition("://")
    if scheme.startswith("sqlite") and found:
        database = rest.partition("?")[0].removeprefix("/")
        if rest.startswith("/") and database and ":memory:" not in database:
            return _sqlite(Path(database).parent / _FILE)
    elif scheme in _POSTGRESQL or scheme == _DRIVER_OF_OURS:
        return _with_driver(uri)
    elif uri.startswith("file:"):
        return _sqlite(Path(_path_of_file_uri(uri)) / _FILE)
    elif ":" not in uri and not uri.startswith(_DATABRICKS):
        return _sqlite(Path(uri) / _FILE)
    known = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?=//)", uri)
    which = f"a registry at {known[0]}" if known else "such a registry"
    raise UsageError(
        f"this command opens the ledger itself, and where the ledger of {which} is cannot be told from its URI; "
        f"give --ledger URL (or {LEDGER_VARIABLE}): sqlite:////folder/file.db or postgresql://…"
    )


def named_service_key(explicit: Path | None = None) -> Path | None:
    """The file of the service key as somebody named it."""
    named = os.environ.get(SERVICE_KEY_VARIABLE)
    return explicit or (Path(named) if named else None)


def service_key_beside(ledger_file: Path) -> Path:
    """Where a SQLite ledger's service key is unless somebody named another: `coordpath-ledger.key`."""
    return ledger_file.with_suffix(".key")


def _path(given: str) -> Path:
    """A file's path; what looks like a user and a password is a URL that lost its beginning, and not repeated."""
    if re.search(r":.*@", given):
        raise UsageError("the ledger's URL cannot be read; use sqlite:////folder/file.db or postgresql://…")
    return Path(given)


def _path_of_file_uri(uri: str) -> str:
    try:
        return url2pathname(urlsplit(uri).path)
    except ValueError:
        raise UsageError("the registry's file: URI cannot be read; use file:///folder") from None


def _sqlite(path: Path) -> str:
    if "?" in str(path):
        raise UsageError(f"'{path}' cannot be written as a database URL because of the '?'; give --ledger another file")
    return f"sqlite:///{path}"


def _with_driver(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{_POSTGRESQL.get(scheme, scheme)}://{rest}"
