"""`mlflow server --app-name basic-auth` with the guarded registry: who the ledger says it was is whom MLflow let in."""

import json
import secrets
import uuid
from datetime import timedelta

import mlflow
import pytest
import requests
from helpers.mlflow_server import mlflow_server
from helpers.mlflow_store import Store, use
from mlflow.exceptions import MlflowException
from mlflow.tracking._model_registry.utils import _get_store

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import RefusedError
from coordpath_governance.guarded.inner_registry import InnerRegistry
from coordpath_governance.ledger.events import Approval, KeyAdded, KeyFacts, PolicyAdopted
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.ledger.times import moment
from coordpath_governance.policy.load import policy_bytes, policy_sha256, read_policy
from coordpath_governance.review.decisions import approve
from coordpath_governance.review.gate import ask_gate
from coordpath_governance.review.policies import policy_for
from coordpath_governance.signing.keys import new_key

pytestmark = [pytest.mark.server, pytest.mark.no_cover]
DIALECTS = ("api", "ajax-api")
ROOT = "root"
AUTHOR, READER, RELEASER = "Ann", "Ron", "Rita"
AUTHOR_SHOUTED, COLLEAGUE = "ANN", "Bea"
POLICY = {
    "schema": "coordpath.policy/1",
    "name": "prices",
    "models": ["guarded *"],
    "rules": {"steps": {"most": 100}},
    "materiality": [{"class": "any", "approvals": [{"role": "owner"}]}],
}


class Accounts:
    """The users of one server: the ini that sets up its authentication, and a password for each of them."""

    def __init__(self, folder):
        self.passwords = {name: secrets.token_urlsafe(16) for name in (ROOT, AUTHOR, READER, RELEASER)}
        ini = folder / "auth.ini"
        ini.write_text(
            "[mlflow]\n"
            "default_permission = READ\n"
            f"database_uri = sqlite:///{folder / 'auth.db'}\n"
            f"admin_username = {ROOT}\n"
            f"admin_password = {self.passwords[ROOT]}\n",
            encoding="utf-8",
        )
        self.environment = {
            "MLFLOW_AUTH_CONFIG_PATH": str(ini),
            "MLFLOW_AUTH_ADMIN_USERNAME": ROOT,
            "MLFLOW_AUTH_ADMIN_PASSWORD": self.passwords[ROOT],
            "MLFLOW_FLASK_SERVER_SECRET_KEY": secrets.token_hex(16),
        }

    def create(self, uri):
        """Through the API, as an administrator does it."""
        for name in (AUTHOR, READER, RELEASER):
            self._ask(requests.post, f"{uri}/api/2.0/mlflow/users/create", username=name, password=self.passwords[name])
        self._ask(requests.patch, f"{uri}/api/2.0/mlflow/users/update-admin", username=RELEASER, is_admin=True)

    def _ask(self, method, url, **body):
        answer = method(url, json=body, auth=(ROOT, self.passwords[ROOT]), timeout=60)
        assert answer.status_code == 200, answer.text

    def log_in(self, monkeypatch, name):
        """Whom MLflow's clients in this process say they are."""
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", name)
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", self.passwords[name])


class Guarded:
    """A guarded server that asks for a password; ``store`` is its database, which only those who run it reach."""

    def __init__(self, store, uri, ledger, accounts):
        self.store = store
        self.uri = uri
        self.ledger = ledger
        self.accounts = accounts
        self.keys = {}
        self._add_key("admin", "policy-admin")
        for owner in (AUTHOR_SHOUTED, COLLEAGUE):
            self._add_key(owner, "owner")
        pinned = {"sha256": sha256_hex(store.rows.csv.read_bytes()), "role": "holdout", "target": "price"}
        policy = read_policy(json.dumps({**POLICY, "reference": pinned}), "test")
        facts = PolicyAdopted(policy=policy_sha256(policy), name=policy.name, models=policy.models)
        ledger.append("policy adopted", facts, self.keys["admin"], blob=policy_bytes(policy))

    def _add_key(self, owner, *roles):
        key = new_key()
        facts = KeyFacts(id=key.public.id, public=key.public.text, owner=owner, roles=roles)
        self.ledger.append("key added", KeyAdded(key=facts), self.keys.get("admin", key))
        self.keys[owner] = key

    def model(self):
        """A guarded model without versions, which its author has created and so may manage."""
        name = f"guarded {uuid.uuid4().hex}"
        answer = self.call(AUTHOR, "POST", "registered-models/create", {"name": name})
        assert answer.status_code == 200, answer.text
        return name

    def version(self):
        """A guarded model with version 1, which its author has registered."""
        name = self.model()
        answer = self.register(name, AUTHOR)
        assert answer.status_code == 200, answer.text
        return name

    def register(self, name, who, **how):
        first = self.store.first
        body = {"name": name, "source": first.uri, "run_id": first.run_id, "model_id": first.model_id}
        return self.call(who, "POST", "model-versions/create", body, **how)

    def promote(self, name, who):
        body = {"name": name, "alias": "champion", "version": "1"}
        return self.call(who, "POST", "registered-models/alias", body)

    def call(self, who, method, path, body, *, password=None, dialect="api", headers=None):
        auth = (who, password or self.accounts.passwords[who]) if who else None
        url = f"{self.uri}/{dialect}/2.0/mlflow/{path}"
        content = {"params" if method == "GET" else "json": body}
        return requests.request(method, url, **content, auth=auth, headers=headers, timeout=60)

    def inner(self):
        """The registry as only those who run the server reach it."""
        return InnerRegistry(_get_store(self.store.uri), self.store.uri)

    def versions(self, name):
        return [str(each.version) for each in self.store.client.search_model_versions(f"name = '{name}'")]

    def ask(self, name):
        return ask_gate(self.ledger, self.inner(), policy_for(self.ledger, name), name=name, alias="champion", version="1")

    def newest(self, name, event):
        return next(entry for entry in reversed(self.ledger.entries(name)) if entry.event == event)


@pytest.fixture(scope="module")
def _guarded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded server with users")
    registry = f"sqlite:///{folder / 'mlflow.db'}"
    ledger = Ledger.open(f"sqlite:///{folder / 'coordpath-ledger.db'}")
    accounts = Accounts(folder)
    options = ("--app-name", "basic-auth", "--backend-store-uri", registry, "--no-serve-artifacts")
    environment = {**accounts.environment, "COORDPATH_REPORTS": "sweep"}
    guard = ("--registry-store-uri", f"coordpath:{registry}")
    with mlflow_server(folder, *options, *guard, environment=environment) as uri:
        accounts.create(uri)
        store = Store(registry, folder, (folder / "artifacts").as_uri())
        yield Guarded(store, uri, ledger, accounts)


@pytest.fixture
def guarded(_guarded, monkeypatch):
    """The guarded server's store, as MLflow's current one while the test runs, with the author logged in."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", _guarded.uri)
    _guarded.accounts.log_in(monkeypatch, AUTHOR)
    use(_guarded.uri)
    yield _guarded
    use(None)


def test_whoever_registers_with_mlflows_own_client_is_the_author(guarded):
    name, first = guarded.model(), guarded.store.first
    mlflow.MlflowClient().create_model_version(name, first.uri, first.run_id, model_id=first.model_id)
    (entry,) = guarded.ledger.entries(name)
    assert (entry.event, entry.body["version"]) == ("registration", "1")
    assert (entry.body["author"], entry.body["authenticated_by"]) == (AUTHOR, "server")
    assert entry.body["digest"] == guarded.inner().digest(name, "1")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_author_is_whose_password_it_was_whatever_else_the_request_says(guarded, dialect):
    name = guarded.model()
    headers = {"X-Forwarded-User": COLLEAGUE, "Remote-User": COLLEAGUE, "X-MLflow-User": COLLEAGUE}
    for who in (AUTHOR, RELEASER):
        answer = guarded.register(name, who, dialect=dialect, headers=headers)
        assert answer.status_code == 200, answer.text
        registered = guarded.newest(name, "registration").body
        assert registered["version"] == answer.json()["model_version"]["version"]
        assert (registered["author"], registered["authenticated_by"]) == (who, "server")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_the_right_password_nothing_is_registered(guarded, dialect):
    name = guarded.model()
    before = guarded.ledger.entries()
    for who, password in (
        (AUTHOR, "not her password"),
        (ROOT, "not its password"),
        ("Nobody", "whatever it is"),
        (None, None),
    ):
        assert guarded.register(name, who, password=password, dialect=dialect).status_code == 401, who
    assert guarded.versions(name) == []
    assert guarded.ledger.entries() == before


WRITES = {
    "create version": ("POST", "model-versions/create", {"source": "dummy-source"}),
    "set alias": ("POST", "registered-models/alias", {"alias": "champion", "version": "1"}),
    "delete alias": ("DELETE", "registered-models/alias", {"alias": "champion"}),
    "stage": ("POST", "model-versions/transition-stage", {"version": "1", "stage": "Production"}),
    "delete version": ("DELETE", "model-versions/delete", {"version": "1"}),
    "delete model": ("DELETE", "registered-models/delete", {}),
    "rename": ("POST", "registered-models/rename", {"new_name": "elsewhere"}),
    "tag": ("POST", "registered-models/set-tag", {"key": "mlflow.prompt.is_prompt", "value": "true"}),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_who_may_only_read_is_refused_by_mlflow_before_our_guard(guarded, dialect):
    name = guarded.version()
    before = guarded.ledger.entries()
    assert guarded.call(READER, "GET", "registered-models/get", {"name": name}, dialect=dialect).status_code == 200
    for what, (method, path, body) in WRITES.items():
        answer = guarded.call(READER, method, path, {"name": name, **body}, dialect=dialect)
        assert answer.status_code == 403, (what, answer.text)
        assert "coordpath" not in answer.text, what
    assert guarded.register(name, READER, dialect=dialect).status_code == 403
    assert guarded.versions(name) == ["1"]
    assert guarded.ledger.entries() == before


def test_who_may_write_is_refused_by_our_guard_and_recorded_by_name(guarded, monkeypatch):
    name = guarded.version()
    for who in (AUTHOR, RELEASER):
        guarded.accounts.log_in(monkeypatch, who)
        with pytest.raises(MlflowException, match="coordpath refuses 'set alias'") as caught:
            mlflow.MlflowClient().set_registered_model_alias(name, "champion", "1")
        assert caught.value.error_code == "PERMISSION_DENIED"
        refusal = guarded.newest(name, "refusal").body
        assert (refusal["operation"], refusal["actor"]) == ("set alias", who)


def test_the_author_in_other_capitals_does_not_approve_another_person_does_and_whoever_promotes_is_recorded(
    guarded, coordpath
):
    name = guarded.version()
    made = coordpath("report", name, "--tracking-uri", guarded.store.uri, "--data", guarded.store.rows.csv)
    assert made.code == 0, made.err
    asked, policy = guarded.ask(name), policy_for(guarded.ledger, name).policy
    assert asked.readiness.missing == ("1 approval by owner",)

    with pytest.raises(RefusedError, match=f"{AUTHOR_SHOUTED} registered this version; somebody else"):
        approve(guarded.ledger, asked.readiness, policy, guarded.keys[AUTHOR_SHOUTED], comment="fine", days=None)
    tomorrow = (moment(guarded.ledger.now()) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    by_hand = Approval(binding=asked.readiness.binding, comment="", nonce="0" * 32, expires=tomorrow)
    guarded.ledger.append("approval", by_hand, guarded.keys[AUTHOR_SHOUTED], model=name)
    refused = guarded.promote(name, RELEASER)
    assert refused.status_code == 403
    assert "1 approval by owner" in refused.json()["message"]
    assert f"{AUTHOR_SHOUTED} registered the version and cannot approve it" in refused.json()["message"]
    assert guarded.inner().aliases(name) == {}

    counted = approve(guarded.ledger, asked.readiness, policy, guarded.keys[COLLEAGUE], comment="fine", days=None)
    promoted = guarded.promote(name, RELEASER)
    assert promoted.status_code == 200, promoted.text
    assert guarded.inner().aliases(name) == {"champion": "1"}
    assert [entry.event for entry in guarded.ledger.entries(name)][-3:] == ["intent", "promotion", "decision record"]
    intent = guarded.newest(name, "intent").body
    assert (intent["actor"], intent["authenticated_by"]) == (RELEASER, "server")
    assert list(intent["approvals"]) == [counted.hash]
