"""A little world: a registry of dictionaries, a ledger, three people and a policy (tests of review and guard)."""

import json
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coordpath_governance.errors import FilesGoneError
from coordpath_governance.governance.decision_files import recorded_decisions
from coordpath_governance.ledger.events import KeyAdded, KeyFacts, PolicyAdopted, Registration
from coordpath_governance.ledger.kept_models import kept_models
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.models.coefficients_json import declared_bytes
from coordpath_governance.models.formats import recalled_source
from coordpath_governance.models.linear_model import LinearModel, NumericTerm, RawCoefficient
from coordpath_governance.policy.judge import assess
from coordpath_governance.policy.load import policy_bytes, policy_sha256, read_policy
from coordpath_governance.reference.sources import TableSource
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import ChangeFacts, Subject, VersionFacts
from coordpath_governance.reports.make import ReferenceData, Request, make_report, settings_for
from coordpath_governance.review.decisions import approve, declare, reject, waive
from coordpath_governance.review.gate import ask_gate, record_report
from coordpath_governance.review.guard import Guard
from coordpath_governance.review.policies import policy_for
from coordpath_governance.review.ports import Actor, Created
from coordpath_governance.review.readiness import gate_word
from coordpath_governance.review.requests import sign_request
from coordpath_governance.signing.keys import new_key

NAME = "credit"


@pytest.fixture(autouse=True)
def a_crash_is_seen_at_once(monkeypatch):
    monkeypatch.setattr("coordpath_governance.review.promotion._GRACE", timedelta(0))


POLICY = {
    "schema": "coordpath.policy/1",
    "name": "credit models",
    "models": ["credit*"],
    "reference": {"role": "holdout", "target": "y"},
    "rules": {"final_cost_increase": {"absolute": 0.05}},
    "materiality": [{"class": "ordinary", "approvals": [{"role": "validator", "count": 1}]}],
    "waivers": {"roles": ["risk"], "longest_days": 5},
    "approvals": {"longest_days": 10},
}


@cache
def rows():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 120))
    return TableSource(pd.DataFrame({"a": a, "b": b, "y": a - b + rng.normal(size=120)}))


CREATED = 1_700_000_000_000

FILES = "read from the model's files"


def model(version, source=FILES):
    slopes = {"a": 1.0 + 0.02 * int(version), "b": -1.0 + 0.01 * int(version)}
    return LinearModel(
        intercept=0.0,
        numeric=tuple(NumericTerm(name, value) for name, value in slopes.items()),
        categorical=(),
        raw=tuple(RawCoefficient(name, value) for name, value in slopes.items()),
        estimator="LinearRegression",
        regularisation={},
        source=source,
    )


def digest(version):
    return f"{int(version):064x}"


def facts(name, version):
    return VersionFacts(
        label=f"v{version}", uri=None, name=name, version=version, digest=digest(version), run_id=None, aliases=()
    )


@cache
def plain_document(name, champion, version, sources=(FILES, FILES)):
    subject = Subject(name=name, champion=facts(name, champion) if champion else None, candidate=facts(name, version))
    request = Request(subject, ChangeFacts(), settings_for())
    before = model(champion, sources[0]) if champion else None
    return make_report(before, model(version, sources[1]), ReferenceData(rows(), "y", role="holdout"), request)


class Registry:
    """What a registry does, and what can go wrong: ``broken`` is raised by the next call of that name."""

    break_after_setting = None

    def __init__(self):
        self.set = {}
        self.digests = {}
        self.models = {}
        self.versions = {}
        self.files = {}
        self.broken = {}
        self.gone = set()
        self.calls = []

    def _call(self, name):
        self.calls.append(name)
        error = self.broken.pop(name, None)
        if error is not None:
            raise error

    place = "the registry of this test"

    def created(self, name, version=None):
        """A model is there once a version was registered or an alias set; tests may say when it was created."""
        self._call("created")
        model = self.models.get(name, CREATED if name in self.set else None)
        at = self.versions.get((name, version), CREATED + int(version) if version else None)
        return None if model is None else Created(model, at)

    def aliases(self, name):
        self._call("aliases")
        return dict(self.set.get(name, {}))

    def set_alias(self, name, alias, version):
        self._call("set_alias")
        self.set.setdefault(name, {})[alias] = version
        if self.break_after_setting is not None:
            self.broken["aliases"], self.break_after_setting = self.break_after_setting, None

    def digest(self, name, version):
        self._call("digest")
        if (name, version) in self.gone:
            raise FilesGoneError(f"the registry lists version {version} of '{name}', but its files are gone")
        return self.digests.get((name, version), digest(version))

    def attached(self, name, champion, version, files):
        self._call("attached")
        beside = self.files.get((name, champion, version), {})
        return {file: beside[file] for file in files if file in beside}


class World:
    def __init__(self, folder: Path):
        self.ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
        self.registry = Registry()
        self.guard = Guard(self.ledger)
        self.keys = {}
        self.admin = self.person("Ann", "policy-admin")
        self.bob = self.person("Bob", "validator")
        self.adopt_policy()

    def person(self, owner, *roles):
        key = new_key()
        admin = self.keys.get("Ann", key)
        body = KeyAdded(key=KeyFacts(id=key.public.id, public=key.public.text, owner=owner, roles=roles))
        self.ledger.append("key added", body, admin)
        self.keys[owner] = key
        return key

    def adopt_policy(self, **changes):
        document = {**POLICY, **changes}
        document["reference"] = {"sha256": rows().sha256, **POLICY["reference"], **changes.get("reference", {})}
        policy = read_policy(json.dumps(document), "the policy")
        body = PolicyAdopted(policy=policy_sha256(policy), name=policy.name, models=policy.models)
        self.ledger.append("policy adopted", body, self.admin, blob=policy_bytes(policy))
        return policy

    @property
    def adopted(self):
        return policy_for(self.ledger, NAME)

    def register(self, version, author="Eve", name=NAME):
        self.registry.set.setdefault(name, {})
        body = Registration(
            version=version, digest=digest(version), author=author, authenticated_by="server" if author else None
        )
        self.ledger.record("registration", body, model=name)

    def report_from_ledger(self, version, champion, told=None):
        """A report made after the champion's files were deleted; ``told``: the report that it says it took them from."""
        chain = self.ledger.entries(NAME)
        kept = next(kept_models(chain, self.ledger.blobs, champion, digest(champion)), None)
        report = told or kept.report
        return self.report(version, champion, sources=(recalled_source(report, FILES), FILES))

    def report(self, version, champion=None, name=NAME, sources=(FILES, FILES)):
        document, policy = plain_document(name, champion, version, sources), self.adopted.policy
        word = gate_word(self.ledger, document, policy, name=name, alias="champion", version=version)
        report = ChangeReport(assess(document, policy, word))
        self.registry.files[name, champion, version] = record_report(self.ledger, report)
        return report

    def ask(self, version, alias="champion"):
        return ask_gate(self.ledger, self.registry, self.adopted, name=NAME, alias=alias, version=version)

    def approve(self, version, key=None, days=None, comment="fine"):
        readiness = self.ask(version).readiness
        return approve(self.ledger, readiness, self.adopted.policy, key or self.bob, comment=comment, days=days)

    def reject(self, version, key=None, comment="no"):
        return reject(self.ledger, self.ask(version).readiness.binding, key or self.bob, comment)

    def waive(self, version, rule, key, reason="known", days=None):
        return waive(self.ledger, self.ask(version).readiness, self.adopted.policy, key, rule=rule, reason=reason, days=days)

    def declare(self, version, key=None, stated=None, files=None):
        """Vouch for what `model` says of a version, or of another that is ``stated``."""
        content = declared_bytes(model(stated or version))
        policy = self.adopted.policy
        return declare(
            self.ledger,
            policy,
            key or self.bob,
            name=NAME,
            version=version,
            digest=files or digest(version),
            content=content,
            reason="compared",
        )

    def promote(self, version, alias="champion", actor=None, name=NAME):
        self.guard.set_alias(self.registry, name, alias, version, actor or Actor())

    def roll_back(self, version, before, key=None, reason="it fails in production", text=None, **changes):
        """What `coordpath promote --emergency` asks; ``changes`` to what is signed."""
        asked = {"registry": self.ledger.id, "name": NAME, "version": version, "alias": "champion", **changes}
        if text is None:
            now = datetime.now(timezone.utc)
            text = sign_request(**asked, key=key or self.keys["Olga"], now=now, emergency=(before, reason))
        self.guard.set_alias(self.registry, NAME, "champion", version, Actor(), lambda: text)
        return text

    def first_champion(self):
        """Version 1 under the alias, as it should come there."""
        self.register("1")
        self.report("1")
        self.approve("1")
        self.promote("1")

    def ready(self, version="2", champion="1"):
        """A version that waits for nothing but its approval."""
        self.register(version)
        self.report(version, champion)

    def events(self, name=NAME):
        return [entry.event for entry in self.ledger.entries(name)]


def newest_decision(ledger, name, version):
    """The newest recorded decision about a version, and its files by name; None if there is none."""
    return next(recorded_decisions(ledger, name, version), None)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture
def champion_world(world):
    """Version 1 is champion, and version 2 waits for an approval."""
    world.first_champion()
    world.ready()
    return world
