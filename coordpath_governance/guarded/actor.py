"""Who asks: the user that MLflow's server has authenticated, or the owner of this process's key. Nobody is guessed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coordpath_governance.review.ports import Actor
from coordpath_governance.signing.variables import KEY_VARIABLE, PASSPHRASE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordpath_governance.ledger.keyring import KeyRing
    from coordpath_governance.signing.keys import PrivateKey

__all__ = ["current_actor", "own_key"]

_AUTHENTICATION = "mlflow.server.auth"


def current_actor(keyring: Callable[[], KeyRing]) -> Actor:
    """In a request: the authenticated user or nobody, never the server's own key. Elsewhere: the key's owner or nobody."""
    flask = _flask_in_request()
    if flask is not None:
        name = _authenticated_user(flask)
        return Actor(name, "server") if name else Actor()
    owner = _key_owner(keyring)
    return Actor(owner, "key") if owner else Actor()


def _flask_in_request() -> Any | None:  # noqa: ANN401 - the module
    flask = sys.modules.get("flask")
    return flask if flask is not None and flask.has_request_context() else None


def _authenticated_user(flask: Any) -> str | None:  # noqa: ANN401 - the module
    """A Basic header proves nothing unless MLflow's authentication stands before every request of this app."""
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
    """The key that this process's environment names; None while it serves a request, which is somebody else's."""
    file = os.environ.get(KEY_VARIABLE)
    if not file or _flask_in_request() is not None:
        return None
    from coordpath_governance.signing.keys import PrivateKey

    return PrivateKey.load(Path(file), os.environ.get(PASSPHRASE_VARIABLE))


def _key_owner(keyring: Callable[[], KeyRing]) -> str | None:
    key = own_key()
    if key is None:
        return None
    known = keyring().keys.get(key.public.id)
    return known.facts.owner if known is not None and known.revoked is None else None
