"""The ledger of a registry, if there is one."""

from __future__ import annotations

import os

from coordpath_governance.errors import UsageError
from coordpath_governance.ledger.location import LEDGER_VARIABLE, ledger_url
from coordpath_governance.ledger.store import Ledger

__all__ = ["find_ledger"]


def find_ledger(registry_uri: str | None, explicit: str | None = None) -> Ledger | None:
    """The ledger that somebody named, which must be there; else the one beside the registry, None if there is none.

    Raises `LedgerError` if a ledger that was named is not there or cannot be opened.
    """
    named = explicit or os.environ.get(LEDGER_VARIABLE)
    if named:
        return Ledger.open(ledger_url(registry_uri, named), create=False)
    try:
        url = ledger_url(registry_uri, None)
    except UsageError:
        return None
    return Ledger.open(url, create=False) if Ledger.exists(url) else None
