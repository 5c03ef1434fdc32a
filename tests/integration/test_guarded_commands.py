"""Every command against a guarded server: who reads and decides opens the ledger, who promotes asks the registry."""

import io
import json
import uuid

import pytest
from helpers.mlflow_server import mlflow_server
from helpers.mlflow_store import Store, use
from mlflow.tracking._model_registry.utils import _get_store
from sklearn.ensemble import RandomForestRegressor

import coordpath_governance as cg
from coordpath_governance.canonical import sha256_hex
from coordpath_governance.cli.main import _COMMANDS
from coordpath_governance.guarded.inner_registry import InnerRegistry
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.models import LinearModel, NumericTerm

pytestmark = [pytest.mark.server, pytest.mark.no_cover]

PEOPLE = {"Ann": "policy-admin", "Bob": "validator", "Olga": "owner", "Bea": "owner", "Rita": "risk", "Sue": "policy-admin"}
NO_REGISTRY = {"demo", "solve", "verify", "key"}
"""Commands that never ask a registry."""


@pytest.fixture(scope="module")
def _place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("every command")
    registry = f"sqlite:///{folder / 'mlflow.db'}"
    options = ("--backend-store-uri", registry, "--registry-store-uri", f"coordpath:{registry}")
    proxied = ("--serve-artifacts", "--artifacts-destination", folder / "artifacts")
    with mlflow_server(folder, *options, *proxied, environment={"COORDPATH_REPORTS": "sweep"}) as uri:
        yield folder, Store(uri, tmp_path_factory.mktemp("client of every command"), None)


class Shell:
    """Commands of people whose MLflow is the guarded server, with its ledger or without."""

    def __init__(self, folder, store, run, monkeypatch):
        self.folder, self.store, self._run, self._monkeypatch = folder, store, run, monkeypatch
        self.used = set()

    def key(self, owner):
        return self.folder / f"{owner}.pem"

    @property
    def ledger_url(self):
        return f"sqlite:///{self.folder / 'coordpath-ledger.db'}"

    def __call__(self, *arguments, code=0, ledger=True):
        self.used.add(arguments[0])
        if ledger:
            self._monkeypatch.setenv("COORDPATH_LEDGER", self.ledger_url)
        else:
            self._monkeypatch.delenv("COORDPATH_LEDGER", raising=False)
        outcome = self._run(*arguments)
        assert outcome.code == code, outcome.plain
        return outcome

    def types(self, text):
        """What a person types at the next command's prompt."""
        self._monkeypatch.setattr("sys.stdin", io.StringIO(text))

    def policy(self, name, **changes):
        """A policy file for ``name`` and its unreadable neighbour."""
        document = {
            "schema": "coordpath.policy/1",
            "name": "prices",
            "models": [name, f"{name} unread"],
            "reference": {
                "sha256": sha256_hex(self.store.rows.csv.read_bytes()),
                "uri": str(self.store.rows.csv),
                "role": "holdout",
                "target": "price",
            },
            "rules": {"steps": {"most": 1}},
            "materiality": [{"class": "any", "approvals": [{"role": "validator"}, {"role": "owner"}]}],
            "waivers": {"roles": ["risk"]},
            "declarations": {"roles": ["validator", "owner"]},
            **changes,
        }
        path = self.folder / "policy.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    def coefficients(self):
        """Coefficients of a model that cannot be read, as a file."""
        path = self.folder / "coefficients.json"
        cg.to_coefficients(LinearModel(1.0, (NumericTerm("area", 3.0),)), path)
        return path

    def set_behind_the_guard(self, name, version):
        """Move the alias in the database itself."""
        InnerRegistry(_get_store(f"sqlite:///{self.folder / 'mlflow.db'}"), self.store.uri).set_alias(
            name, "champion", version
        )


@pytest.fixture
def shell(_place, coordpath, monkeypatch):
    folder, store = _place
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.uri)
    use(store.uri)
    yield Shell(folder, store, coordpath, monkeypatch)
    use(None)


def test_every_command_does_its_work_against_a_guarded_server(shell):
    store, name = shell.store, f"price {uuid.uuid4().hex[:8]}"
    keys = {owner: ("--key", shell.key(owner)) for owner in PEOPLE}
    for owner, role in PEOPLE.items():
        signer = () if owner == "Ann" else keys["Ann"]
        shell("key", "new", owner, "--role", role, "--out", shell.key(owner), "--no-passphrase", *signer)
    shell("policy", "adopt", shell.policy(name), *keys["Ann"])
    shell("second")
    store.register(name, store.first)
    assert name in shell("scan", ledger=False).plain
    shell("report", name, "--reason", "first")
    shell("waive", name, "1", "steps", "--reason", "explained from zero", *keys["Rita"])
    assert "Still needed" in shell("gate", name, "1", code=3).plain
    for owner in ("Bob", "Olga", "Bea"):
        shell("review", name, "1", "--approve", "--comment", "agreed", *keys[owner])
    store.register(name, store.second)
    shell("report", name, "--candidate", "2", "--reason", "also from zero")
    answered = json.loads(shell("promote", name, "1", "--json", ledger=False).out)
    assert (answered["promoted"], answered["exit_code"], answered["actor"]) == (True, 0, None)
    assert "the registry let it" in answered["reason"]
    assert str(store.client.get_model_version_by_alias(name, "champion").version) == "1"

    explained = f"The report on version 2 of '{name}' explains the change from nothing, but version 1 has the alias"
    assert explained in store.description(name, "2")

    assert "version 2 has its report now" in shell("sweep").plain
    fitted = shell("front", name, "--candidate", "2", "--fit-data", store.rows.csv, "--max-steps", 2, "--json")
    assert json.loads(fitted.out)["in_sample"] is True
    shell.types("accept\n")
    walked = json.loads(shell("explore", name, "--candidate", "2", *store.rows.args, "--json").out)
    assert len(walked["choices"]["done"]) == 1
    shell("review", name, "2", "--reject", "--comment", "not now", *keys["Bob"])
    assert "Rejected by Bob" in shell("promote", name, "2", code=1, ledger=False).plain
    shell("retire", name, "2", "--reason", "rejected", *keys["Ann"])

    shell.set_behind_the_guard(name, "2")
    shell("gate", name, "1", code=1)
    shell("adopt", name, "--reason", "looked into", *keys["Ann"])

    forest = store.log(_forest(store.rows.frame), serialization_format="cloudpickle")
    store.register(f"{name} unread", forest)
    assert "coordpath declare" in shell("report", f"{name} unread", code=4).plain
    shell("declare", f"{name} unread", "1", "--coefficients", shell.coefficients(), "--reason", "compared", *keys["Bob"])
    shell("report", f"{name} unread")

    shell("policy", "adopt", shell.policy(name, admins=2), *keys["Ann"])
    shell("key", "new", "Rob", "--role", "validator", "--out", shell.key("Rob"), "--no-passphrase", *keys["Ann"], code=3)
    proposal = len(Ledger.open(shell.ledger_url).entries())
    assert f"Entry {proposal} of" in shell("second").plain
    shell("second", proposal, *keys["Sue"])

    assert "promotion" in shell("audit", "log", name).out
    shell("audit", "export", "-o", shell.folder / "ledger.jsonl")
    assert "intact" in shell("audit", "verify", shell.folder / "ledger.jsonl", ledger=False).out
    assert set(_COMMANDS) - NO_REGISTRY <= shell.used


def _forest(frame):
    return RandomForestRegressor(n_estimators=2, random_state=0).fit(frame[["area", "age"]], frame["price"])
