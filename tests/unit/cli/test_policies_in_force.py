"""`coordpath policy list`, `show` and `retire` from the outside, without a registry."""

import hashlib
import json

import pytest
from click.testing import CliRunner

from coordpath_governance.cli.policy_command import command
from coordpath_governance.errors import LedgerMissingError, NotFoundError, RefusedError, SigningKeyError, UsageError
from coordpath_governance.ledger.events import KeyAdded, KeyFacts
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.ledger.verify import audit
from coordpath_governance.policy.load import policy_sha256, read_policy
from coordpath_governance.signing.keys import new_key


@pytest.fixture(autouse=True)
def _no_registry(monkeypatch):
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"):
        monkeypatch.delenv(name, raising=False)


class Desk:
    """A ledger, its policy-admin Ann, and Bob who is none."""

    def __init__(self, folder, policy_text):
        self.folder, self.policy_text = folder, policy_text
        self.url = f"sqlite:///{folder / 'ledger.db'}"
        admin = new_key()
        for owner, role in (("Ann", "policy-admin"), ("Bob", "validator")):
            key = admin if owner == "Ann" else new_key()
            key.save(folder / f"{owner}.pem")
            facts = KeyFacts(id=key.public.id, public=key.public.text, owner=owner, roles=(role,))
            self.ledger.append("key added", KeyAdded(key=facts), admin)

    @property
    def ledger(self):
        return Ledger.open(self.url)

    def run(self, *arguments, signer=None):
        options = ["--ledger", self.url, *(["--key", str(self.folder / f"{signer}.pem")] if signer else [])]
        result = CliRunner().invoke(command, [*map(str, arguments), *options], standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        return result.stdout_bytes

    def adopt(self, rules=None, **sections):
        path = self.folder / "policy.json"
        path.write_text(json.dumps(self.policy_text(rules, **sections)))
        self.run("adopt", path, signer="Ann")
        return policy_sha256(read_policy(path.read_bytes(), "p"))

    def listed(self):
        return json.loads(self.run("list", "--json"))["policies"]


@pytest.fixture
def desk(tmp_path, policy_text):
    return Desk(tmp_path, policy_text)


def test_the_list_tells_what_is_in_force_since_when_and_by_whom(desk):
    first, second = desk.adopt(), desk.adopt({"gap": {"most": 0.1}})
    third = desk.adopt(name="others", models=["x", "y*"])
    desk.run("retire", "others", "--reason", "merged", signer="Ann")
    adopted = {entry.facts.policy: entry for entry in desk.ledger.entries() if entry.event == "policy adopted"}
    retired = desk.ledger.entries()[-1]
    assert [(each["name"], each["sha256"], each["state"]) for each in desk.listed()] == [
        ("rents", first, "replaced"),
        ("rents", second, "in force"),
        ("others", third, "retired"),
    ]
    replaced, standing, gone = desk.listed()
    assert standing["adopted"] == {"entry": adopted[second].seq, "at": adopted[second].at, "by": "Ann"}
    assert standing["ended"] is None
    assert replaced["ended"] == standing["adopted"]
    assert gone["ended"] == {"entry": retired.seq, "at": retired.at, "by": "Ann"}
    assert gone["models"] == ["x", "y*"]
    assert [each["registered"] for each in desk.listed()] == [None] * 3
    assert json.loads(desk.run("list", "--json"))["registry"] == "no registry was named, or there is none yet"
    lines = desk.run("list").decode().splitlines()
    assert [line.split()[0] for line in lines if " for " in line] == ["replaced", "in", "retired"]
    assert any(f"adopted by Ann, {adopted[second].at}, entry {adopted[second].seq}" in line for line in lines)
    assert lines[-1] == "Registered models are not listed: no registry was named, or there is none yet"


def test_a_ledger_without_policies_and_no_ledger(desk, tmp_path):
    assert desk.run("list").decode().startswith("No policy was adopted")
    assert desk.listed() == []
    desk.url = f"sqlite:///{tmp_path / 'nothing.db'}"
    with pytest.raises(LedgerMissingError):
        desk.run("list")


def test_show_gives_back_the_bytes_of_the_digest(desk):
    first, second = desk.adopt(), desk.adopt({"gap": {"most": 0.1}})
    for which, digest in (("rents", second), (first, first), (first[:8].upper(), first)):
        assert hashlib.sha256(desk.run("show", which)).hexdigest() == digest
    assert policy_sha256(read_policy(desk.run("show", first, "--yaml"), "p")) == first


def test_the_yaml_of_values_that_yaml_could_misread_has_the_same_digest(desk):
    digest = desk.adopt(
        {"final_cost_increase": {"absolute": 1e-7}},
        name="yes",
        models=["null", "1e3", "2024-01-01", "*"],
        facts={"tier": "2"},
    )
    assert policy_sha256(read_policy(desk.run("show", "yes", "--yaml"), "p")) == digest


def test_show_names_what_is_not_there(desk):
    desk.adopt()
    for which in ("nobody", "000000", "rent"):
        with pytest.raises(NotFoundError, match=f"no policy '{which}' was adopted"):
            desk.run("show", which)


def test_digests_that_begin_alike_need_more_digits(desk, monkeypatch):
    monkeypatch.setattr("coordpath_governance.cli.policies_in_force._SHORTEST", 0)
    desk.adopt()
    desk.adopt({"gap": {"most": 0.1}})
    with pytest.raises(UsageError, match="2 adopted policies"):
        desk.run("show", "")


def test_retire_takes_a_policy_out_of_force_and_it_can_come_back(desk):
    desk.adopt()
    said = desk.run("retire", "rents", "--reason", "superseded", signer="Ann").decode()
    assert "is retired (entry 5)" in said
    assert desk.listed()[0]["state"] == "retired"
    assert desk.run("show", "rents")
    with pytest.raises(RefusedError, match="no policy 'rents' is in force"):
        desk.run("retire", "rents", "--reason", "again", signer="Ann")
    desk.adopt()
    assert [each["state"] for each in desk.listed()] == ["retired", "in force"]
    assert audit(desk.ledger.entries(), desk.ledger.blobs).intact


def test_only_a_policy_admin_with_a_reason_retires(desk):
    desk.adopt()
    with pytest.raises(SigningKeyError, match="policy-admin"):
        desk.run("retire", "rents", "--reason", "mine", signer="Bob")
    with pytest.raises(UsageError, match="say who signs"):
        desk.run("retire", "rents", "--reason", "mine")
    with pytest.raises(UsageError, match="needs a --reason"):
        desk.run("retire", "rents", "--reason", " ", signer="Ann")
    with pytest.raises(UsageError, match="--reason has 5000 characters"):
        desk.run("retire", "rents", "--reason", "x" * 5000, signer="Ann")
    assert desk.listed()[0]["state"] == "in force"
