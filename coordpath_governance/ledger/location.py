"""Where the ledger of a registry is, and the key that signs what its machines record."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from coordpath_governance.errors import UsageError

__all__ = ["LEDGER_VARIABLE", "SERVICE_KEY_VARIABLE", "ledger_url", "named_service_key", "service_key_beside"]

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


def ledger_url(registry_uri: str | None, explicit: str | None) -> str:
    """The ledger's URL: as given (or in COORDPATH_LEDGER), else beside the registry's own database or folder.

    `sqlite:////dir/mlflow.db` and the folder `/dir` have `sqlite:////dir/coordpath-ledger.db`; a PostgreSQL registry keeps
    the ledger in tables of its own. Behind a server nobody can tell: `UsageError`.
    """
    named = explicit or os.environ.get(LEDGER_VARIABLE)
    if named:
        return _with_driver(named) if "://" in named else _sqlite(_path(named))
    uri = (registry_uri or "").removeprefix(_GUARDED)
    if not uri:
        raise UsageError(f"which ledger? Give --ledger URL (or {LEDGER_VARIABLE}), or the registry's URI")
    scheme, separator, rest = uri.partition("://")
    if scheme.startswith("sqlite") and separator:
        database = rest.partition("?")[0].removeprefix("/")
        if rest.startswith("/") and database and ":memory:" not in database:
            return _sqlite(Path(database).parent / _FILE)
    elif scheme in _POSTGRESQL or scheme == _DRIVER_OF_OURS:
        return _with_driver(uri)
    elif uri.startswith("file:"):
        return _sqlite(Path(_path_of_file_uri(uri)) / _FILE)
    elif ":" not in uri and not uri.startswith(_DATABRICKS):
        return _sqlite(Path(uri) / _FILE)
    scheme_in_uri = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?=//)", uri)
    which = f"a registry at {scheme_in_uri[0]}" if scheme_in_uri else "such a registry"
    raise UsageError(
        f"this command opens the ledger itself, and where the ledger of {which} is cannot be told from its URI; "
        f"give --ledger URL (or {LEDGER_VARIABLE}): sqlite:////folder/file.db or postgresql://…"
    )


def named_service_key(explicit: Path | None = None) -> Path | None:
    """The file of the service key as somebody named it."""
    configured = os.environ.get(SERVICE_KEY_VARIABLE)
    return explicit or (Path(configured) if configured else None)


def service_key_beside(ledger_file: Path) -> Path:
    """Where a SQLite ledger's service key is unless somebody named another: `coordpath-ledger.key`."""
    return ledger_file.with_suffix(".key")


def _path(text: str) -> Path:
    """A file's path; what looks like a user and a password is a URL that lost its beginning, and not repeated."""
    if re.search(r":.*@", text):
        raise UsageError("the ledger's URL cannot be read; use sqlite:////folder/file.db or postgresql://…")
    return Path(text)


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
