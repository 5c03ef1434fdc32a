"""A ledger made in memory: every kind of event, signed and chained as the store would."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest
from helpers.governed_world import world

from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.governance.decision_files import decision_record
from coordpath_governance.ledger.decision_documents import decision_of
from coordpath_governance.ledger.entries import NOTHING_BEFORE, Entry, sign_entry
from coordpath_governance.ledger.events import (
    Adoption,
    Anchor,
    Approval,
    Binding,
    Declaration,
    Emergency,
    EmergencyReview,
    Intent,
    KeyAdded,
    KeyFacts,
    KeyRevoked,
    LedgerCreated,
    Move,
    OutsideMove,
    PolicyAdopted,
    PolicyRetired,
    Promotion,
    Proposal,
    Refusal,
    Registration,
    Rejection,
    ReportMade,
    VerdictGiven,
    VersionRetired,
    VersionUnreadable,
    Waiver,
)
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.promotion_requests import open_request
from coordpath_governance.models.coefficients_json import declared_bytes
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.reports.document import RuleFacts
from coordpath_governance.review.requests import sign_request
from coordpath_governance.signing.keys import new_key

__all__ = ["book", "story", "world"]

NAME = "ab" * 16
NONCE = "cd" * 16
COEFFICIENTS = declared_bytes(LinearModel(1.0, numeric=(NumericTerm("a", 2.0),)))
WISH = ("2", "it fails in production")
LATER = "2026-01-21T00:00:00.000000Z"
POLICY = {
    "schema": "coordpath.policy/1",
    "name": "retail",
    "models": ["fraud*"],
    "reference": {"sha256": "5" * 64, "role": "holdout", "target": "y"},
    "rules": {"gap": {"most": 0.1}},
    "materiality": [{"class": "minor", "approvals": [{"role": "risk", "count": 1}]}],
    "waivers": {"roles": ["risk"]},
    "emergency": {"roles": ["risk"], "days": 5},
}


def facts_of(key, owner, *roles):
    return KeyFacts(id=key.public.id, public=key.public.text, owner=owner, roles=roles)


class Book:
    """Entries as they come, and the keys behind them."""

    def __init__(self):
        self.entries: list[Entry] = []
        self.blobs: dict[str, bytes] = {}
        self.policy = canonical_bytes(POLICY)
        self.report = b"report"
        self.service, self.admin, self.reviewer, self.stranger = (new_key() for _ in range(4))
        self.add(
            "ledger created", LedgerCreated(ledger=NAME, key=facts_of(self.service, "service", "service")), self.service
        )

    def add(self, event, body, key=None, model=None, blob=None, **changed):
        """Append what follows; ``changed`` fields are wrong on purpose, and signed."""
        key = key or self.service
        before = self.entries[-1] if self.entries else None
        own = [entry for entry in self.entries if model is not None and entry.model == model]
        seq = len(self.entries) + 1
        entry = Entry(
            seq=seq,
            at=f"2026-01-01T00:00:{seq:02}.000000Z",
            event=event,
            model=model,
            model_seq=None if model is None else len(own) + 1,
            previous=before.hash if before else NOTHING_BEFORE,
            model_previous=None if model is None else own[-1].hash if own else NOTHING_BEFORE,
            body=body if isinstance(body, dict) else body.model_dump(mode="json"),
            key=key.public.id,
        )
        signed = sign_entry(replace(entry, **changed), key)
        self.entries.append(signed)
        if blob is not None:
            self.blobs[sha256_hex(blob)] = blob
        return signed

    def refuse(self, model=None, **changed):
        body = Refusal(operation="delete alias", alias="champion", version=None, actor="eve", reason="no")
        return self.add("refusal", body, model=model, **changed)

    def add_key(self, key, owner, *roles, by=None, **changed):
        return self.add("key added", KeyAdded(key=facts_of(key, owner, *roles)), by or self.admin, **changed)

    def propose(self, event, body, by=None, blob=None, **changed):
        proposal = Proposal(event=event, body=body.model_dump(mode="json"))
        return self.add("proposal", proposal, by or self.admin, blob=blob, **changed)

    def second(self, proposal, by, **changes):
        """What another policy-admin signs, with ``changes`` to what was proposed."""
        body = proposal.facts.proposed.model_copy(update={"proposal": proposal.hash, **changes})
        return self.add(proposal.body["event"], body, by)

    def add_people(self, *more):
        """Ada, with ``more`` roles than that of a policy-admin, and Rob."""
        self.add_key(self.admin, "Ada", "policy-admin", *more)
        self.add_key(self.reviewer, "Rob", "risk")

    def binding(self, **changed):
        facts = {
            "registry": NAME,
            "name": "fraud",
            "alias": "champion",
            "from_version": "1",
            "to_version": "2",
            "from_digest": "1" * 64,
            "to_digest": "2" * 64,
            "report": sha256_hex(self.report),
            "policy": sha256_hex(self.policy),
        }
        return Binding(**{**facts, **changed})

    def adopt(self, **sections):
        """Adopt the policy, with sections of it changed."""
        self.policy = canonical_bytes(POLICY | sections)
        name = (POLICY | sections)["name"]
        adopted = PolicyAdopted(policy=sha256_hex(self.policy), name=name, models=("fraud*",))
        return self.add("policy adopted", adopted, self.admin, blob=self.policy)

    def register(self, author="joe", authenticated_by="server"):
        came = Registration(version="2", digest="2" * 64, author=author, authenticated_by=authenticated_by)
        return self.add("registration", came, model="fraud")

    def make_report(self, **changed):
        facts = {"version": "2", "champion": "1", "champion_digest": "1" * 64, "candidate_digest": "2" * 64}
        body = ReportMade(**{**facts, "report": sha256_hex(self.report), **changed})
        return self.add("report", body, model="fraud", blob=self.report)

    def approve(self, key=None, expires=LATER, **changed):
        body = Approval(binding=self.binding(**changed), comment="fine", nonce=NONCE, expires=expires)
        return self.add("approval", body, key or self.reviewer, "fraud")

    def waive(self, key=None, expires=LATER):
        body = Waiver(binding=self.binding(), rule="gap", reason="known", nonce=NONCE, expires=expires)
        return self.add("waiver", body, key or self.reviewer, "fraud")

    def tell(self, verdict, about=None, **results):
        """What the gate said: a verdict, with the result of each rule, ``about`` another change than the usual one."""
        rules = tuple(
            RuleFacts(rule=rule, observed="?", limit="?", result=result, reason="") for rule, result in results.items()
        )
        bound = self.binding(**(about or {}))
        return self.add(
            "verdict", VerdictGiven(binding=bound, verdict=verdict, materiality="minor", rules=rules), model="fraud"
        )

    def declare(self, key=None, coefficients=COEFFICIENTS, model="fraud", **changed):
        facts = {"registry": NAME, "name": "fraud", "version": "2", "digest": "2" * 64, "reason": "compared on rows"}
        body = Declaration(**{**facts, "coefficients": sha256_hex(coefficients), **changed})
        return self.add("declaration", body, key or self.reviewer, model, blob=coefficients)

    def reject(self, key=None):
        return self.add("rejection", Rejection(binding=self.binding(), comment="not yet"), key or self.reviewer, "fraud")

    def intend(
        self, approvals=(), waivers=(), materiality="minor", full_validation=False, at=None, retention=None, **changed
    ):
        body = Intent(
            binding=self.binding(**changed),
            actor="rob",
            authenticated_by="server",
            approvals=tuple(entry.hash for entry in approvals),
            waivers=tuple(entry.hash for entry in waivers),
            materiality=materiality,
            full_validation=full_validation,
            retention=retention,
        )
        return self.add("intent", body, model="fraud", **({"at": at} if at else {}))

    def promote(self, intent, model="fraud", **changed):
        facts = {"intent": intent.hash, "alias": "champion", "from_version": "1", "to_version": "2", "to_digest": "2" * 64}
        facts |= {"completed": "at once", "actor": "rob", "authenticated_by": "server", **changed}
        return self.add("promotion", Promotion(**facts), model=model)

    def roll_back(self):
        """Version 1 again, as Rob asked."""
        signed = sign_request(
            registry=NAME,
            name="fraud",
            version="1",
            alias="champion",
            key=self.reviewer,
            now=datetime(2026, 1, 1, tzinfo=timezone.utc),
            emergency=WISH,
        )
        request, _ = open_request(signed, "the request", {self.reviewer.public.id: self.reviewer.public})
        move = self.binding(from_version="2", from_digest="2" * 64, to_version="1", to_digest="1" * 64)
        body = Emergency(
            binding=Move(**move.model_dump(exclude={"report"})),
            actor="Rob",
            reason=WISH[1],
            request=request.nonce,
            envelope=signed,
            review_by="2026-01-05T00:00:00.000000Z",
        )
        done = {"from_version": "2", "to_version": "1", "to_digest": "1" * 64, "actor": "Rob", "authenticated_by": "key"}
        return self.promote(self.add("emergency", body, model="fraud"), **done)

    def record_decision(self):
        """Of the newest entry, a promotion or a rejection."""
        keys = KeyRing()
        for entry in self.entries:
            keys = keys.after(entry)
        chain = [entry for entry in self.entries if entry.model == "fraud"]
        facts, files = decision_record(decision_of(chain[-1], chain, keys, NAME), self.service)
        self.blobs |= {sha256_hex(content): content for content in files.values()}
        return self.add("decision record", facts, model="fraud")

    def tell_everything(self):
        """One entry at least of every kind of event."""
        self.add_people("risk")
        self.adopt()
        bound = self.binding()
        standing = Adoption(alias="champion", version="1", digest="1" * 64, reason="as found")
        self.add("adoption", standing, self.admin, "fraud")
        self.register()
        unknown = Registration(version="1", digest=None, author=None, authenticated_by=None)
        self.add("registration", unknown, model="churn")
        self.make_report()
        rule = RuleFacts(rule="gap", observed="0.2", limit="0.1", result="review", reason="above")
        told = VerdictGiven(binding=bound, verdict="review", materiality="minor", rules=(rule,))
        self.add("verdict", told, model="fraud")
        self.reject()
        self.declare()
        waived = self.waive(self.admin)
        self.promote(self.intend([self.approve()], [waived]))
        self.record_decision()
        self.refuse("fraud")
        back = self.roll_back()
        said = EmergencyReview(emergency=back.body["intent"], decision="approve", comment="it was right")
        self.add("emergency review", said, self.admin, "fraud")
        moved = OutsideMove(alias="champion", expected="1", found=None, reason="gone")
        self.add("outside move", moved, model="fraud")
        self.add("version retired", VersionRetired(version="1", reason="withdrawn"), self.admin, "fraud")
        withdrawn = PolicyRetired(policy=sha256_hex(self.policy), name="retail", reason="superseded")
        self.add("policy retired", withdrawn, self.admin)
        unread = VersionUnreadable(version="3", champion="2", digest="3" * 64, reason="a tree")
        self.add("version unreadable", unread, model="fraud")
        left = KeyRevoked(key=self.reviewer.public.id, reason="left")
        self.add("key revoked", left, self.admin)
        self.propose("key added", KeyAdded(key=facts_of(self.stranger, "Tom", "risk")))
        head = self.entries[-1]
        self.add("anchor", Anchor(seq=head.seq, hash=head.hash))
        return self

    def without(self, keep):
        """What somebody who can write to the database but has no key can make of the kept entries: renumbered, rehashed."""
        forged: list[Entry] = []
        for entry in (each for each in self.entries if keep(each)):
            own = [each for each in forged if each.model is not None and each.model == entry.model]
            forged.append(
                replace(
                    entry,
                    seq=len(forged) + 1,
                    previous=forged[-1].hash if forged else NOTHING_BEFORE,
                    model_seq=None if entry.model is None else len(own) + 1,
                    model_previous=None if entry.model is None else own[-1].hash if own else NOTHING_BEFORE,
                )
            )
        return forged


@pytest.fixture
def book():
    """A ledger that was just created."""
    return Book()


@pytest.fixture
def story():
    """A ledger in which everything has happened."""
    return Book().tell_everything()


@pytest.fixture(autouse=True)
def _nobodys_ledger(monkeypatch):
    for name in ("COORDPATH_LEDGER", "COORDPATH_SERVICE_KEY"):
        monkeypatch.delenv(name, raising=False)
