"""MLflow's stores: what messages call them, whether they exist and answer, the client of them, and their errors as ours.

MLflow creates a store that does not exist when it is asked. It tries ten times to reach a database, with pauses of a hundred
seconds in all and without a time limit: a server that accepts a connection and stays silent would hold a command for ever.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from sqlalchemy import NullPool, create_engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from coordpath_governance.errors import CoordpathError, NotFoundError, RegistryError, RegistryMissingError
from coordpath_governance.ledger.database import Address
from coordpath_governance.registry.ports import RegistryClient, VersionClient

__all__ = [
    "CONNECT_SECONDS",
    "GUARDED_SCHEME",
    "check_answers",
    "check_store",
    "connect",
    "in_this_store",
    "registry_errors",
    "registry_uri_in_use",
    "shown_store",
    "without_credentials",
]

_LONGEST_MESSAGE = 400

_PATIENCE = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
}
"""How long one request to a server may take where the user says nothing: four attempts, each of which waits at most 30
seconds for the next byte, with pauses of 0, 2 and 4 seconds and a little chance. That is 10 seconds for a server that is
down or answers 500 and two minutes for one that is silent; MLflow by itself takes 4 and 20 minutes, and pauses for as long
as a server asks it to. MLflow reads these settings anew for every request.
"""


_NO_BARS = ("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
"""MLflow draws a bar for every download, in which errors drown."""

GUARDED_SCHEME = "coordpath:"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_SQLITE = re.compile(r"sqlite(\+\w+)?://", re.IGNORECASE)
_SQL = re.compile(r"(postgresql|mysql|mssql)(\+\w+)?://", re.IGNORECASE)
_TABLE = "registered_models"
"""A table that every database of MLflow's has, whether it serves as tracking store or as registry."""

CONNECT_SECONDS = 10
"""How long a PostgreSQL or MySQL server may take to accept a connection."""

_BACKENDS = ("postgresql", "mysql")
_LONGEST_REASON = 300


def shown_store(uri: str) -> str:
    """A store's URI for messages: without ``coordpath:``, user name, password and query."""
    bare = uri.removeprefix(GUARDED_SCHEME).partition("?")[0]
    scheme, separator, rest = bare.partition("://")
    if not separator or _SQLITE.match(bare) or scheme == "file":
        return bare
    return f"{scheme}://***@{rest.rpartition('@')[2]}" if "@" in rest else bare


def without_credentials(text: str) -> str:
    """A text without the user names and passwords that URIs in it may hold."""
    return _CREDENTIALS.sub("***@", text)


def in_this_store(client: VersionClient) -> str:
    """' in sqlite:///…', the registry that a client asks; empty if it does not say which that is."""
    uri = getattr(client, "_registry_uri", None)
    return f" in {shown_store(uri)}" if isinstance(uri, str) else ""


def check_store(uri: str, what: str, *, was_set: bool = True) -> None:
    """Raise `RegistryMissingError` if there is no store at ``uri``, so that MLflow would create one.

    Nothing is created here. Servers, and stores that cannot be looked at, are left to MLflow. ``what`` names the store in
    the message. Without ``was_set`` the message says that nobody named a store.
    """
    bare = uri.removeprefix(GUARDED_SCHEME)
    if _SQLITE.match(bare):
        files = _sqlite_files(bare)
        absent, empty = _none_of(files), any(_is_empty_sqlite(file) for file in files if file.is_file())
    else:
        absent, empty = _none_of(_folders(bare)), _SQL.match(bare) is not None and _is_empty_database(bare)
    if absent:
        reason = f"there is no {what} at {shown_store(uri)}"
    elif empty:
        reason = f"the database {shown_store(uri)} is no {what}: it has no tables of MLflow's"
    else:
        return
    if not was_set:
        reason = f"no MLflow store was named, and {reason}, which is MLflow's default here"
    raise RegistryMissingError(
        f"{reason}; coordpath makes none. Set MLFLOW_TRACKING_URI (or --tracking-uri, --registry-uri) to the right one"
    )


def _none_of(paths: tuple[Path, ...]) -> bool:
    """Whether a store is on this machine's disk and not there."""
    return bool(paths) and not any(path.exists() for path in paths)


def _sqlite_files(uri: str) -> tuple[Path, ...]:
    """The file of a SQLite database, as written and with %20 as a space: MLflow writes both. None for one in memory."""
    path = uri.partition("://")[2].partition("?")[0].removeprefix("/")
    return () if not path or ":memory:" in uri else (Path(path), Path(unquote(path)))


def _folders(uri: str) -> tuple[Path, ...]:
    """The folder of a file store; none for any other store."""
    if uri.startswith("file:"):
        return (Path(url2pathname(urlsplit(uri).path)),)
    return () if ":" in uri or uri.startswith("databricks") else (Path(uri),)


def _is_empty_sqlite(file: Path) -> bool:
    """Whether a SQLite file can be read and has no tables of MLflow's."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            table = database.execute("SELECT name FROM sqlite_master WHERE name = ?", (_TABLE,)).fetchone()
    except sqlite3.Error:
        return False
    return table is None


def _is_empty_database(uri: str) -> bool:
    """Whether a database server answers and has no tables of MLflow's."""
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import NullPool

    try:
        return not inspect(create_engine(uri, poolclass=NullPool)).has_table(_TABLE)
    except (SQLAlchemyError, ImportError):
        return False


def check_answers(uri: str) -> None:
    """Connect once to the database at ``uri``, if it is PostgreSQL or MySQL; other stores are not asked.

    Raises `RegistryError`, which names the store without its password, if it does not accept the connection in time. Later
    connections to PostgreSQL have the same limit, unless PGCONNECT_TIMEOUT says otherwise.
    """
    try:
        url = make_url(uri.removeprefix(GUARDED_SCHEME))
        if url.get_backend_name() not in _BACKENDS:
            return
        seconds = int(os.environ.setdefault("PGCONNECT_TIMEOUT", str(CONNECT_SECONDS)))
        engine = create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args={"connect_timeout": seconds})
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError):
        return
    try:
        engine.connect().close()
    except SQLAlchemyError as error:
        address = Address(url)
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise RegistryError(
            f"MLflow's database '{address.shown}' does not answer: {address.without_secrets(reason)[:_LONGEST_REASON]}"
        ) from None


def connect(tracking_uri: str | None = None, registry_uri: str | None = None, *, create: bool = False) -> RegistryClient:
    """A client of the given stores, by default those that MLflow's own settings name.

    The global URIs are set too: creating versions and reading artifacts use them whatever the client was given. So are
    bounds on how long a server is waited for, where MLflow's own settings say nothing. Where only a registry is named, it
    is the tracking store too unless MLflow's default one is there.

    Raises `RegistryMissingError` if MLflow would make one of the stores, which it does whenever it is asked; with
    ``create`` it may.
    """
    import mlflow

    for name, value in (*_PATIENCE.items(), _NO_BARS):
        os.environ.setdefault(name, value)

    if tracking_uri is not None:
        mlflow.set_tracking_uri(tracking_uri)
    if registry_uri is not None:
        mlflow.set_registry_uri(registry_uri)
    with registry_errors("finding MLflow's stores"):
        for uri in dict.fromkeys((mlflow.get_tracking_uri(), mlflow.get_registry_uri())):
            check_answers(uri)
    if not create:
        _check_stores()
    with registry_errors("connecting to MLflow"):
        client: RegistryClient = mlflow.MlflowClient()
    return client


def registry_uri_in_use() -> str:
    """The URI of the registry that MLflow asks where nobody names one."""
    import mlflow

    return str(mlflow.get_registry_uri())


def _check_stores() -> None:
    """Both stores must be there."""
    import mlflow

    was_set = mlflow.tracking.is_tracking_uri_set()
    with registry_errors("finding MLflow's stores"):
        tracking, registry = mlflow.get_tracking_uri(), mlflow.get_registry_uri()
    if registry != tracking:
        check_store(registry, "MLflow registry")
        if not was_set and not _is_there(tracking):
            mlflow.set_tracking_uri(registry.removeprefix(GUARDED_SCHEME))
            return
    check_store(tracking, "MLflow registry" if registry == tracking else "MLflow tracking store", was_set=was_set)


def _is_there(uri: str) -> bool:
    try:
        check_store(uri, "store")
    except RegistryMissingError:
        return False
    return True


@contextmanager
def registry_errors(doing: str) -> Iterator[None]:
    """Raise errors of MLflow, its stores and the network as `RegistryError`, or as `NotFoundError`.

    Stores are plugins over database drivers and cloud libraries, so any exception means that the registry did not answer.
    ``doing`` begins the message.
    """
    from mlflow.exceptions import MlflowException

    try:
        yield
    except CoordpathError:
        raise
    except MlflowException as error:
        message = f"{doing}: {_message(error)}"
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "NOT_FOUND"):
            raise NotFoundError(message) from error
        raise RegistryError(message) from error
    except Exception as error:
        raise RegistryError(f"{doing}: {type(error).__name__}: {_message(error)}") from error


def _message(error: Exception) -> str:
    """What an error says, without the user name and password that a URI may hold."""
    return without_credentials(str(error))[:_LONGEST_MESSAGE]
