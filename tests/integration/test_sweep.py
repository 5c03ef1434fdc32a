"""`coordpath sweep`: what lacks a report gets one, and what went round the guard is found."""

import json
import uuid

import pytest

from coordpath_governance.ledger.events import PolicyAdopted
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.policy.load import policy_bytes, policy_sha256
from coordpath_governance.reference.sources import open_source
from coordpath_governance.review.adopted import adopted_policies
from coordpath_governance.signing.keys import PrivateKey

PEOPLE = {"Ann": "policy-admin", "Bob": "validator", "Cleo": "validator"}


class Swept:
    """A ledger of its own for one model of the shared store."""

    def __init__(self, store, coordpath, folder):
        self.store, self._coordpath, self.folder = store, coordpath, folder
        self.url = f"sqlite:///{folder / 'ledger.db'}"
        self.name = f"swept {uuid.uuid4().hex[:12]}"
        for owner, role in PEOPLE.items():
            signer = () if owner == "Ann" else ("--key", self.key("Ann"))
            assert self.run("key", "new", owner, "--role", role, "--out", self.key(owner), *signer).code == 0

    def key(self, owner):
        return self.folder / f"{owner}.pem"

    def run(self, *arguments):
        at = 2 if arguments[0] in ("key", "policy", "audit") else 1
        return self._coordpath(*arguments[:at], "--ledger", self.url, *arguments[at:])

    def adopt_policy(self, name="swept", **reference):
        rows = self.store.rows.csv
        pinned = {"sha256": open_source(rows).sha256, "uri": str(rows), "role": "holdout", "target": "price"}
        path = self.folder / f"{uuid.uuid4().hex}.json"
        policy = {
            "schema": "coordpath.policy/1",
            "name": name,
            "models": [self.name],
            "reference": {**pinned, **reference},
            "rules": {"steps": {"most": 100}},
            "materiality": [{"class": "any", "approvals": [{"role": "validator"}]}],
        }
        path.write_text(json.dumps(policy), encoding="utf-8")
        assert self.run("policy", "adopt", path, "--key", self.key("Ann")).code == 0

    def champion(self):
        assert self.run("sweep").code == 0
        for owner in ("Bob", "Cleo"):
            assert self.run("review", self.name, "1", "--approve", "--key", self.key(owner)).code == 0
        assert self.run("promote", self.name, "1").code == 0

    def events(self):
        return [entry.event for entry in Ledger.open(self.url).entries(self.name)]


@pytest.fixture
def swept(store, coordpath, tmp_path):
    made = Swept(store, coordpath, tmp_path)
    store.register(made.name, store.first, store.second)
    made.adopt_policy()
    return made


def test_what_lacks_a_report_gets_one_and_only_once(swept):
    first = swept.run("sweep")
    assert first.code == 0
    assert first.out.splitlines() == [
        f"reported  {swept.name}: version {version} has its report now; the gate says review" for version in (1, 2)
    ]
    assert swept.store.tags(swept.name, 2)["coordpath.verdict"] == "review"
    assert swept.run("sweep").out == "No registered model is under an adopted policy, or has anything to look at.\n"
    assert swept.events().count("report") == 2


def test_what_comes_after_the_champion_is_explained_from_it(swept):
    swept.champion()
    said = swept.run("sweep")
    assert said.code == 0
    assert said.out.splitlines() == [
        f"stands    {swept.name}: 'champion' is version 1, with the files that were promoted",
        f"reported  {swept.name}: version 2 has its report now; the gate says review",
    ]
    assert swept.store.tags(swept.name, 2)["coordpath.report_path"].endswith("v1-to-v2")


def test_a_move_outside_is_found_and_nothing_is_explained_from_it(swept):
    swept.champion()
    swept.store.client.set_registered_model_alias(swept.name, "champion", "2")
    for _ in range(2):
        said = swept.run("sweep")
        assert said.code == 1
        assert "moved     " in said.out
        assert "the ledger knows version 1 under 'champion', the registry had version 2" in said.plain
    assert swept.events().count("outside move") == 1
    assert swept.events().count("report") == 2


def test_a_champion_whose_files_were_changed(store, coordpath, tmp_path):
    swept = Swept(store, coordpath, tmp_path)
    logged = store.fresh()
    store.register(swept.name, logged)
    swept.adopt_policy()
    swept.champion()
    (store.path(logged) / "python_env.yaml").write_text("python: 2.7\n")
    said = swept.run("sweep")
    assert said.code == 1
    assert "the files of version 1 are not those that were promoted" in said.plain


def test_a_model_that_was_deleted_is_missed(swept):
    swept.champion()
    swept.store.client.delete_registered_model(swept.name)
    said = swept.run("sweep")
    assert said.code == 1
    assert "the registry had nothing" in said.plain


def test_what_fails_does_not_stop_the_rest(swept, tmp_path):
    swept.adopt_policy(uri=str(tmp_path / "gone.csv"))
    said = swept.run("sweep")
    assert said.code == 4
    assert [line.split(":")[0] for line in said.out.splitlines()] == [f"failed    {swept.name}"] * 2
    assert "no report on version 2: " in said.out
    policy = adopted_policies(Ledger.open(swept.url))[0].policy.model_copy(update={"name": "another"})
    body = PolicyAdopted(policy=policy_sha256(policy), name="another", models=policy.models)
    key = PrivateKey.load(swept.key("Ann"))
    Ledger.open(swept.url).append("policy adopted", body, key, blob=policy_bytes(policy))
    said = swept.run("sweep")
    assert said.code == 4
    assert "2 policies match" in said.out


def test_files_that_cannot_be_had_now(swept, monkeypatch):
    from coordpath_governance.errors import RegistryError
    from coordpath_governance.registry import client_registry

    swept.champion()

    def down(*_):
        raise RegistryError("the artifact store does not answer")

    monkeypatch.setattr(client_registry, "download_files", down)
    said = swept.run("sweep")
    assert said.code == 4
    assert "the artifact store does not answer" in said.out
