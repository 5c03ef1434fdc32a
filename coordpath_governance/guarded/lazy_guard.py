"""The guard of one registry, opened when it is first needed, and asked on behalf of the current user.

That is the user whom MLflow's server has authenticated, or the owner of this process's key, or nobody. A refusal is an
exception of MLflow's: an error code that becomes an HTTP status, and a message with reason and remedy.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR, PERMISSION_DENIED, TEMPORARILY_UNAVAILABLE

from coordpath_governance.errors import CoordpathError, LedgerError, NotFoundError, RefusedError, RegistryError, UsageError
from coordpath_governance.guarded.inline_report import report_on_registration
from coordpath_governance.registry.client_registry import EXIT_FIELD, ask_to_promote, registry_guard
from coordpath_governance.review.ports import Actor
from coordpath_governance.review.requests import REQUEST_TAG, sign_request
from coordpath_governance.signing import KEY_VARIABLE, PASSPHRASE_VARIABLE
from coordpath_governance.text import shorten, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordpath_governance.guarded.inner_registry import InnerRegistry
    from coordpath_governance.ledger.keyring import KeyRing
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.guard import Guard
    from coordpath_governance.review.ports import AliasRegistry
    from coordpath_governance.signing.keys import PrivateKey

__all__ = [
    "REPORTS_VARIABLE",
    "LazyGuard",
    "current_actor",
    "open_guard",
    "own_key",
    "refusals",
]

REPORTS_VARIABLE = "COORDPATH_REPORTS"
_AUTHENTICATION = "mlflow.server.auth"

_LOG = logging.getLogger(__name__)
_LONGEST = 4000


def current_actor(keyring: Callable[[], KeyRing]) -> Actor:
    """Who asks: in a request the authenticated user or nobody, elsewhere the key's owner or nobody.

    The server's own key never speaks for a request.
    """
    flask = _flask_in_request()
    if flask is not None:
        name = _authenticated_user(flask)
        return Actor(name, "server") if name else Actor()
    owner = _key_owner(keyring)
    return Actor(owner, "key") if owner else Actor()


def _flask_in_request() -> ModuleType | None:
    flask = sys.modules.get("flask")
    return flask if flask is not None and flask.has_request_context() else None


def _authenticated_user(flask: ModuleType) -> str | None:
    """The user's name, if MLflow's authentication checks every request of this app; a Basic header alone proves nothing."""
    authentication = sys.modules.get(_AUTHENTICATION)
    if authentication is None:
        return None
    gates = flask.current_app.before_request_funcs.get(None, ())
    if getattr(authentication, "_before_request", None) not in gates:
        return None
    name = flask.g.get("mlflow_authenticated_user")
    if name is None:
        name = getattr(authentication.authenticate_request(), "username", None)
    return str(name) if name else None


def own_key() -> PrivateKey | None:
    """The key that this process's environment names; None during a request, because that comes from somebody else."""
    file = os.environ.get(KEY_VARIABLE)
    if not file or _flask_in_request() is not None:
        return None
    from coordpath_governance.signing.keys import PrivateKey

    return PrivateKey.load(Path(file), os.environ.get(PASSPHRASE_VARIABLE))


def _key_owner(keyring: Callable[[], KeyRing]) -> str | None:
    key = own_key()
    if key is None:
        return None
    known_key = keyring().keys.get(key.public.id)
    return known_key.facts.owner if known_key is not None and known_key.revoked is None else None


class LazyGuard:
    """Refuses every operation while the ledger cannot be opened, and tries to open it again at the next one."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._guard: Guard | None = None
        self._opening = threading.Lock()

    def __reduce__(self) -> tuple[type[LazyGuard], tuple[str]]:
        return LazyGuard, (self._uri,)

    def set_alias(self, registry: InnerRegistry, name: str, alias: str, version: str) -> None:
        """Set an alias, guarded or not. Raises MLflow's exception if it is refused.

        If the inner registry guards itself, that one decides and records. Two guards would conflict: the inner one would
        take the intent of the outer one for one that a crash left.
        """
        with refusals("set alias"):
            behind = registry_guard(registry.client, name)
            if behind is not None:
                ask_to_promote(registry.client, name, version, alias, request=_request(behind.ledger, name, version, alias))
                return
            guard = self._open()
            actor = current_actor(guard.ledger.keyring)
            guard.set_alias(registry, name, alias, version, actor, partial(registry.take_tag, name, version, REQUEST_TAG))

    def introduce(self, name: str) -> dict[str, str]:
        """The ledger's own name, and the usual alias of a model. Raises MLflow's exception if there is no ledger."""
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
        """Raise MLflow's exception if the operation is refused."""
        with refusals(operation):
            guard = self._open()
            actor = current_actor(guard.ledger.keyring)
            guard.forbid(registry, operation, name, actor, alias=alias, version=version, new_name=new_name, tag=tag)

    def registered(self, registry: InnerRegistry, name: str, version: str) -> None:
        """Tell the guard of a new version. Registering never fails because of the guard.

        A version that could not be recorded just cannot be promoted.
        What a registry that guards itself has recorded is not recorded again, unless this process knows who registers.
        """
        try:
            recorded = registry_guard(registry.client, name) is not None
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
                self._guard = open_guard(self._uri)
            return self._guard


def _request(ledger: str, name: str, version: str, alias: str) -> tuple[str, str] | None:
    """The tag with a signed request, for a registry that guards itself, and its value; None without a key."""
    key = own_key()
    if key is None:
        return None
    return REQUEST_TAG, sign_request(
        registry=ledger, name=name, version=version, alias=alias, key=key, now=datetime.now(timezone.utc)
    )


@contextmanager
def refusals(operation: str) -> Iterator[None]:
    """Whatever goes wrong inside stops the operation.

    A refusal is PERMISSION_DENIED (403), and so is what somebody must set right first: clients do not try those again. A
    ledger or registry that is out of reach is TEMPORARILY_UNAVAILABLE (503), a fault of ours INTERNAL_ERROR (500). What the
    inner store itself said of a wrong argument, or of something that is not there, stays as it was.
    """
    try:
        yield
    except MlflowException:
        raise
    except (RegistryError, NotFoundError) as error:
        if isinstance(error.__cause__, MlflowException):
            raise error.__cause__ from None
        raise _as_mlflow_error(operation, error) from error
    except CoordpathError as error:
        raise _as_mlflow_error(operation, error) from error
    except Exception as error:
        _LOG.exception("coordpath: '%s' is refused because the guard failed", operation)
        message = f"coordpath refuses '{operation}': its guard failed with {type(error).__name__}; see the server's log"
        raise MlflowException(message, error_code=INTERNAL_ERROR) from error


def _as_mlflow_error(operation: str, error: CoordpathError) -> MlflowException:
    reason = shorten(visible(str(error)), _LONGEST)
    fields = {EXIT_FIELD: error.exit_code}
    if isinstance(error, RefusedError):
        return MlflowException(f"coordpath refuses '{operation}': {reason}", error_code=PERMISSION_DENIED, **fields)
    code = TEMPORARILY_UNAVAILABLE if isinstance(error, LedgerError | RegistryError) else PERMISSION_DENIED
    message = f"coordpath refuses '{operation}', because it cannot tell whether it is allowed: {reason}"
    return MlflowException(message, error_code=code)


def open_guard(inner_uri: str) -> Guard:
    """The guard of the registry at ``inner_uri``. Raises `LedgerError` if its ledger does not exist.

    COORDPATH_REPORTS says when a new version gets its report: `inline` (default), before registering returns or, if it
    takes longer than a client waits, soon after; or `sweep`, by a later `coordpath sweep` or `coordpath report`.
    """
    from coordpath_governance.ledger.location import ledger_url
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.guard import Guard

    url = ledger_url(inner_uri, None)
    when = os.environ.get(REPORTS_VARIABLE) or "inline"
    if when not in ("inline", "sweep"):
        raise UsageError(f"{REPORTS_VARIABLE}={when}: reports are made 'inline' or left to the 'sweep'")
    ledger = Ledger.open(url, create=False)
    report = partial(report_on_registration, ledger, url, inner_uri) if when == "inline" else None
    return Guard(ledger, report, partial(_show, ledger))


def _show(ledger: Ledger, registry: InnerRegistry, name: str, version: str) -> None:
    """Refresh what the registry shows of a version."""
    from coordpath_governance.governance.shown import show_after_promotion

    show_after_promotion(registry, ledger, name, version)
