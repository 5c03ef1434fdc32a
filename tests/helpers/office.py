"""People with keys, a ledger and a policy: what governance takes, on a real registry."""

import json
import uuid
from pathlib import Path

from coordpath_governance.ledger.store import Ledger
from coordpath_governance.reference.sources import open_source

PEOPLE = {"Ann": "policy-admin", "Bob": "validator", "Cleo": "validator", "Rita": "risk"}


class Office:
    """A ledger of its own, people with keys, and a policy for one model.

    ``pinned`` is the policy's reference: house prices, or what a test puts in its place.
    """

    def __init__(self, store, coordpath, folder, data=None, **pinned):
        self.store, self._coordpath, self.folder = store, coordpath, folder
        data = store.rows.csv if data is None else data
        self.pinned = {"sha256": open_source(data).sha256, "uri": str(data), "role": "holdout", "target": "price", **pinned}
        self.ledger_url = f"sqlite:///{folder / 'ledger.db'}"
        self.name = f"price {uuid.uuid4().hex[:12]}"
        for owner, role in PEOPLE.items():
            signer = () if owner == "Ann" else ("--key", self.key("Ann"))
            made = self.run("key", "new", owner, "--role", role, "--out", self.key(owner), "--no-passphrase", *signer)
            assert made.code == 0, made.err

    def key(self, owner):
        return self.folder / f"{owner}.pem"

    def run(self, *arguments):
        """A command on this ledger; the option goes after the name of a command within a group."""
        at = 2 if arguments[0] in ("key", "policy", "audit") else 1
        return self._coordpath(*arguments[:at], "--ledger", self.ledger_url, *arguments[at:])

    def without_ledger(self, *arguments):
        """A command that takes no ledger."""
        return self._coordpath(*arguments)

    def write_policy(self, **changes):
        path = self.folder / f"policy-{uuid.uuid4().hex[:6]}.json"
        document = {
            "schema": "coordpath.policy/1",
            "name": "prices",
            "models": [changes.pop("pattern", self.name)],
            "facts": {"owner": "pricing"},
            "reference": self.pinned,
            "rules": {"final_cost_increase": {"absolute": 5.0, "otherwise": "review"}},
            "materiality": [{"class": "ordinary", "approvals": [{"role": "validator", "count": 1}]}],
            "waivers": {"roles": ["risk"]},
            **changes,
        }
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    def adopt_policy(self, **changes):
        outcome = self.run("policy", "adopt", str(self.write_policy(**changes)), "--key", self.key("Ann"))
        assert outcome.code == 0, outcome.err

    def approve(self, version, *owners):
        for owner in owners:
            outcome = self.run("review", self.name, version, "--approve", "--comment", "ok", "--key", self.key(owner))
            assert outcome.code == 0, outcome.err

    def champion(self):
        """Version 1 becomes champion; nobody vouched for who registered it, so two approve."""
        assert self.run("report", self.name, "--candidate", "1").code == 0
        self.approve("1", "Bob", "Cleo")
        assert self.run("promote", self.name, "1").code == 0

    @property
    def ledger(self):
        return Ledger.open(self.ledger_url)

    def events(self):
        return [entry.event for entry in self.ledger.entries(self.name)]

    def alias(self):
        return str(self.store.client.get_registered_model(self.name).aliases.get("champion"))

    def attached(self, version, folder):
        """The folder of a report, as it was stored."""
        import mlflow

        source = self.store.client.get_model_version(self.name, version).source
        location = self.store.client.get_logged_model(source.removeprefix("models:/")).artifact_location
        uri = f"{location}/coordpath/{self.name.replace(' ', '=20')}/{folder}"
        return Path(mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=str(self.folder / "copy")))
