"""The guard of one registry, opened when it is first needed, asked on behalf of whoever is asking."""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING

from coordpath_governance.guarded.actor import current_actor, own_key
from coordpath_governance.guarded.refusals import refusals
from coordpath_governance.registry.guarded_registry import ask_to_promote, guard_behind
from coordpath_governance.review.requests import REQUEST_TAG, sign_request

if TYPE_CHECKING:
    from coordpath_governance.guarded.inner_registry import InnerRegistry
    from coordpath_governance.review.guard import Guard
    from coordpath_governance.review.ports import AliasRegistry

__all__ = ["Guarding"]

_LOG = logging.getLogger(__name__)


class Guarding:
    """While the ledger cannot be opened every question is answered with no, and the next one tries again."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._guard: Guard | None = None
        self._opening = threading.Lock()

    def __reduce__(self) -> tuple[type[Guarding], tuple[str]]:
        return Guarding, (self._uri,)

    def set_alias(self, registry: InnerRegistry, name: str, alias: str, version: str) -> None:
        """Set an alias, guarded or not; MLflow's exception if it is refused.

        Around a registry that guards itself, that one decides and records: of two guards, the one behind would find the
        promotion that the other has begun, and take it for one that a crash left.
        """
        with refusals("set alias"):
            behind = guard_behind(registry.client, name)
            if behind is not None:
                ask_to_promote(registry.client, name, version, alias, _request(behind.ledger, name, version, alias))
                return
            guard = self._open()
            actor = current_actor(guard.ledger.keyring)
            guard.set_alias(registry, name, alias, version, actor, partial(registry.take_tag, name, version, REQUEST_TAG))

    def introduce(self, name: str) -> dict[str, str]:
        """The ledger's own name, and the alias that is usual for a model; MLflow's exception if it cannot be opened."""
        with refusals("tell the ledger"):
            guard = self._open()
            return {"ledger": guard.ledger.id, "alias": guard.usual_alias(name)}

    def forbid(
        self,
        registry: AliasRegistry,
        operation: str,
        name: str,
        *,
        alias: str | None = None,
        version: str | None = None,
        new_name: str | None = None,
        tag: str | None = None,
    ) -> None:
        """MLflow's exception if the operation is refused."""
        with refusals(operation):
            guard = self._open()
            actor = current_actor(guard.ledger.keyring)
            guard.forbid(registry, operation, name, actor, alias=alias, version=version, new_name=new_name, tag=tag)

    def registered(self, registry: InnerRegistry, name: str, version: str) -> None:
        """Tell the guard of a new version. Registering never fails because of us: such a version is just not promoted.

        What a registry that guards itself has recorded is not recorded again, unless this process knows who registers.
        """
        try:
            recorded = guard_behind(registry.client, name) is not None
            if recorded and own_key() is None:
                return
            guard = self._open()
            actor = current_actor(guard.ledger.keyring)
            if not recorded or actor.name is not None:
                guard.registered(registry, name, version, actor)
        except Exception as error:  # noqa: BLE001 - whatever it is, the version has been registered
            _LOG.warning("coordpath: version %s of %r was registered without a record: %s", version, name, error)

    def _open(self) -> Guard:
        with self._opening:
            if self._guard is None:
                from coordpath_governance.guarded.open_guard import open_guard

                self._guard = open_guard(self._uri)
            return self._guard


def _request(ledger: str, name: str, version: str, alias: str) -> tuple[str, str] | None:
    """The tag that tells a registry which guards itself who asks, and its value; None without a key."""
    key = own_key()
    if key is None:
        return None
    return REQUEST_TAG, sign_request(ledger, name, version, alias, key, datetime.now(timezone.utc))
