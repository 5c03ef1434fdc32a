"""MLflow's own databases: one that does not answer is told within seconds, before MLflow asks it.

MLflow tries ten times to reach a database, over a hundred seconds of pauses, and sets no time for any of them: a server that
accepts a connection and stays silent would hold a command for ever.
"""

from __future__ import annotations

import os

from sqlalchemy import NullPool, create_engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from coordpath_governance.errors import RegistryError
from coordpath_governance.ledger.address import Address
from coordpath_governance.registry.stores import GUARDED_SCHEME

__all__ = ["CONNECT_SECONDS", "check_answers"]

CONNECT_SECONDS = 10
"""How long a PostgreSQL or MySQL server may take to accept a connection."""

_BACKENDS = ("postgresql", "mysql")
_SHOWN = 300


def check_answers(uri: str) -> None:
    """Connect once to the database at ``uri``, if it is PostgreSQL or MySQL; of other stores nothing is asked.

    Raises `RegistryError`, which names the store without its password, if it does not accept the connection in time. Later
    connections to PostgreSQL are given as long, unless PGCONNECT_TIMEOUT says otherwise.
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
        said = " ".join(str(getattr(error, "orig", None) or error).split())
        raise RegistryError(
            f"MLflow's database '{address.shown}' does not answer: {address.without_secrets(said)[:_SHOWN]}"
        ) from None
