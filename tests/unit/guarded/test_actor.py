"""Who asks: only a name that somebody vouches for."""

import sys
import types

import flask
import pytest

from coordpath_governance.errors import SigningKeyError
from coordpath_governance.guarded.lazy_guard import KEY_VARIABLE, PASSPHRASE_VARIABLE, current_actor, own_key
from coordpath_governance.ledger.events import KeyFacts
from coordpath_governance.ledger.keyring import KeyRing, KnownKey
from coordpath_governance.review.ports import Actor
from coordpath_governance.signing.keys import new_key

BASIC = {"Authorization": "Basic bWFsbG9yeTpzZWNyZXQ="}  # mallory:secret


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    for name in (KEY_VARIABLE, PASSPHRASE_VARIABLE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def app():
    return flask.Flask("registry")


@pytest.fixture
def authentication(monkeypatch, app):
    """MLflow's module, with a gate that lets `ann` in."""

    def _before_request():
        flask.g.mlflow_authenticated_user = "ann"

    module = types.SimpleNamespace(
        _before_request=_before_request, authenticate_request=lambda: types.SimpleNamespace(username="checked again")
    )
    monkeypatch.setitem(sys.modules, "mlflow.server.auth", module)
    return module


def ring(key, revoked=None):
    facts = KeyFacts(id=key.public.id, public=key.public.text, owner="bea", roles=("owner",))
    return lambda: KeyRing({key.public.id: KnownKey(facts, key.public, 2, revoked)})


@pytest.fixture
def key(tmp_path, monkeypatch):
    made = new_key()
    made.save(tmp_path / "key.pem", "word")
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "key.pem"))
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "word")
    return made


def test_nobody_is_known():
    assert current_actor(KeyRing) == Actor()


def test_a_header_alone_proves_nothing(app, monkeypatch):
    monkeypatch.delitem(sys.modules, "mlflow.server.auth", raising=False)
    with app.test_request_context(headers=BASIC):
        assert current_actor(KeyRing) == Actor()


def test_a_header_proves_nothing_where_authentication_is_imported_but_not_in_front(app, authentication):
    with app.test_request_context(headers=BASIC):
        assert current_actor(KeyRing) == Actor()


def test_the_authenticated_user(app, authentication):
    app.before_request(authentication._before_request)
    with app.test_request_context(headers=BASIC):
        app.preprocess_request()
        assert current_actor(KeyRing) == Actor("ann", "server")


def test_where_the_gate_leaves_no_name_the_request_is_checked_again(app, authentication):
    app.before_request(authentication._before_request)
    with app.test_request_context(headers=BASIC):
        assert current_actor(KeyRing) == Actor("checked again", "server")
        authentication.authenticate_request = lambda: flask.Response(status=401)
        assert current_actor(KeyRing) == Actor()


def test_the_owner_of_a_known_key(key):
    assert current_actor(ring(key)) == Actor("bea", "key")


def test_a_request_never_borrows_the_servers_key(app, key):
    with app.test_request_context():
        assert current_actor(ring(key)) == Actor()
        assert own_key() is None
    assert own_key() is not None


def test_an_unknown_or_revoked_key_is_nobodys(key):
    assert current_actor(KeyRing) == Actor()
    assert current_actor(ring(key, revoked=5)) == Actor()


def test_a_key_that_cannot_be_read_is_an_error(key, monkeypatch):
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "wrong")
    with pytest.raises(SigningKeyError):
        current_actor(ring(key))
