"""Which keys a ledger knows, what each may sign, and from which entry to which; replayed from the entries.

A key may come with a proof that its owner has it: a DSSE envelope that the key itself signed over its public half, a name
and a time. Whoever adds a public key with such a proof adds a key that somebody can sign with, made under this name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from coordpath_governance.canonical import canonical_bytes, read_json
from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.errors import SignatureError
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import (
    SIGNERS,
    Body,
    KeyAdded,
    KeyFacts,
    KeyProof,
    KeyRevoked,
    LedgerCreated,
    PolicyAdopted,
    Proposal,
)
from coordpath_governance.ledger.quorum import Proposals, Seconded, person
from coordpath_governance.ledger.times import Time
from coordpath_governance.policy.terms import ADMIN, SERVICE
from coordpath_governance.signing.envelope import check_signature, open_envelope, seal
from coordpath_governance.signing.keys import PrivateKey, PublicKey

__all__ = [
    "PROOF_SCHEMA",
    "PROOF_TYPE",
    "KeyRecord",
    "KeyRing",
    "KnownKey",
    "key_records",
    "make_proof",
    "objection_to_proof",
    "read_proof",
]

PROOF_SCHEMA = "coordpath.key_proof/1"
PROOF_TYPE = "application/vnd.coordpath.key-proof+json"
_MAX_BYTES = 16 * 1024

_ABOUT_KEYS = ("ledger created", "key added", "key revoked")
_FOR_ADMINS = (*_ABOUT_KEYS, "policy adopted", "policy retired", "proposal")


class _ProofDocument(ClosedDocument, strict=True):
    """What is signed."""

    schema_: Literal["coordpath.key_proof/1"] = Field(alias="schema")
    public: str
    owner: Annotated[str, Field(min_length=1, max_length=200)] | None
    ledger: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None
    at: Time


def make_proof(key: PrivateKey, *, owner: str | None, ledger: str | None, now: datetime) -> bytes:
    """The content of a proof file. ``owner`` and ``ledger`` (its own name) limit what it counts for; ``now`` is UTC."""
    at = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return canonical_bytes(seal(_payload(key.public.text, owner, ledger, at), PROOF_TYPE, key))


def read_proof(content: bytes, where: str, public: PublicKey, *, owner: str, ledger: str) -> KeyProof:
    """What the ledger keeps of a proof that ``owner`` has the key ``public``.

    Raises `SignatureError` if the file is damaged, signed by another key, or made for another owner or ledger.
    """
    try:
        envelope: Any = read_json(content, where, SignatureError, max_bytes=_MAX_BYTES)
        payload, _ = open_envelope(envelope, PROOF_TYPE, {public.id: public})
        document = _ProofDocument.model_validate(read_json(payload, where, SignatureError, max_bytes=_MAX_BYTES))
    except SignatureError as error:
        raise SignatureError(f"{where} does not prove that {owner} has this key: {error}; {_remedy(owner)}") from error
    except ValidationError as error:
        raise SignatureError(f"{where}: its payload is not of schema {PROOF_SCHEMA}; {_remedy(owner)}") from error
    signature = str(envelope["signatures"][0]["sig"])
    proof = KeyProof(owner=document.owner, ledger=document.ledger, at=document.at, signature=signature)
    objection = objection_to_proof(proof, KeyFacts(id=public.id, public=public.text, owner=owner, roles=("",)), ledger)
    if objection is not None:
        raise SignatureError(f"{where}: {objection}; {_remedy(owner)}")
    return proof


def objection_to_proof(proof: KeyProof, key: KeyFacts, ledger: str) -> str | None:
    """Why a proof does not show that the owner of ``key`` has it; None if it does."""
    if proof.owner is not None and person(proof.owner) != person(key.owner):
        return f"the proof of the key is for '{proof.owner}', not for '{key.owner}'"
    if proof.ledger not in (None, ledger):
        return f"the proof of the key is for the ledger {proof.ledger}, not for this one"
    payload = _payload(key.public, proof.owner, proof.ledger, proof.at)
    try:
        check_signature(payload, PROOF_TYPE, proof.signature, PublicKey.from_text(key.public))
    except SignatureError as error:
        return f"the proof of the key is not signed with it: {error}"
    return None


def _payload(public: str, owner: str | None, ledger: str | None, at: str) -> bytes:
    return canonical_bytes({"schema": PROOF_SCHEMA, "public": public, "owner": owner, "ledger": ledger, "at": at})


def _remedy(owner: str) -> str:
    return f"{owner} makes key and proof with `coordpath key make OWNER --out FILE --proof FILE`"


@dataclass(frozen=True)
class KnownKey:
    """A key and the entries that brought it in and, perhaps, out."""

    facts: KeyFacts
    public: PublicKey
    added: int
    revoked: int | None = None

    def active(self, seq: int) -> bool:
        """Whether the key counts at entry ``seq``."""
        return self.added <= seq and (self.revoked is None or seq <= self.revoked)


@dataclass(frozen=True)
class KeyRing:
    """All keys by their id, the ledger's own name, and what waits for a second policy-admin."""

    keys: dict[str, KnownKey] = field(default_factory=dict)
    ledger: str = ""
    proposals: Proposals = field(default_factory=Proposals)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> KeyRing:
        """The keys after these entries."""
        ring = cls()
        for entry in entries:
            ring = ring.after(entry)
        return ring

    def after(self, entry: Entry) -> KeyRing:
        """The keys after one more entry; most entries change nothing."""
        if entry.event not in _FOR_ADMINS:
            return self
        facts, proposals = entry.facts, self.proposals.after(entry)
        if isinstance(facts, LedgerCreated | KeyAdded):
            keys = {**self.keys, facts.key.id: KnownKey(facts.key, PublicKey.from_text(facts.key.public), entry.seq)}
            name = facts.ledger if isinstance(facts, LedgerCreated) else self.ledger
            return KeyRing(keys, name, proposals)
        if isinstance(facts, KeyRevoked) and facts.key in self.keys:
            keys = {**self.keys, facts.key: replace(self.keys[facts.key], revoked=entry.seq)}
            return replace(self, keys=keys, proposals=proposals)
        return replace(self, proposals=proposals)

    @property
    def has_admin(self) -> bool:
        """Whether there is, or ever was, a policy-admin."""
        return any(ADMIN in key.facts.roles for key in self.keys.values())

    @property
    def admins(self) -> tuple[str, ...]:
        """The people who have a policy-admin's key now, one name each, in the order of their keys."""
        active = [each.facts for each in self.keys.values() if each.revoked is None and ADMIN in each.facts.roles]
        return tuple({person(facts.owner): facts.owner for facts in reversed(active)}.values())[::-1]

    @property
    def services(self) -> tuple[KnownKey, ...]:
        """The service keys that may sign now."""
        return tuple(each for each in self.keys.values() if each.revoked is None and SERVICE in each.facts.roles)

    def objection(self, entry: Entry) -> str | None:
        """Why the signer of ``entry`` may not sign it, from the keys known before it; None if it may."""
        if entry.event in _FOR_ADMINS:
            facts = entry.facts
            problem = self._about(facts.proposed if isinstance(facts, Proposal) else facts, entry)
            if problem is not None:
                return problem
            if entry.event == "ledger created" or (entry.event == "key added" and not self.has_admin):
                return None
        signer = self.keys.get(entry.key)
        if signer is None:
            return f"the key {entry.key[:12]} is not known to this ledger"
        if signer.revoked is not None:
            return f"the key {entry.key[:12]} of {signer.facts.owner} was revoked by entry {signer.revoked}"
        needed = SIGNERS[entry.event]
        if needed is None and signer.facts.roles == (SERVICE,):
            return f"a '{entry.event}' is a person's to sign, not the service's"
        if needed is not None and needed not in signer.facts.roles:
            return f"the key of {signer.facts.owner} lacks the role '{needed}', which the event '{entry.event}' needs"
        return self._lacks_a_second(entry, signer)

    def _lacks_a_second(self, entry: Entry, signer: KnownKey) -> str | None:
        """Why one policy-admin, or this one, is not enough for an entry."""
        facts = entry.facts if entry.event in _FOR_ADMINS else None
        if not isinstance(facts, Seconded):
            return None
        proposal = self.proposals.waiting.get(facts.proposal or "")
        proposer = None if proposal is None else self.keys[proposal.key].facts.owner
        return self.proposals.objection(facts, signer.facts.owner, proposer)

    def _about(self, facts: Body, entry: Entry) -> str | None:
        """What is wrong with what an entry does, or proposes to do, whoever signs it."""
        if isinstance(facts, PolicyAdopted):
            if facts.admins == 1 or facts.admins <= len(self.admins):
                return None
            return (
                f"the policy asks for {facts.admins} policy-admins, and there {_are(self.admins)}: add another person's key "
                f"first (`coordpath key new OWNER --role {ADMIN}`)"
            )
        return self._about_keys(facts, entry)

    def _about_keys(self, facts: Body, entry: Entry) -> str | None:
        """What is wrong with bringing a key in or out."""
        if isinstance(facts, LedgerCreated | KeyAdded):
            if PublicKey.from_text(facts.key.public).id != facts.key.id:
                return "the key's id is not the digest of the key"
            if facts.key.id in self.keys:
                return f"the key {facts.key.id[:12]} was added before"
            if isinstance(facts, LedgerCreated):
                if entry.seq != 1 or entry.key != facts.key.id or facts.key.roles != (SERVICE,):
                    return "a ledger begins once, signed by its own service key"
                return None
            if not self.has_admin and (entry.key != facts.key.id or ADMIN not in facts.key.roles):
                return "the first key after the service's is a policy-admin, who signs for itself"
            if SERVICE in facts.key.roles and len(facts.key.roles) > 1:
                return "the role 'service' does not go with others"
            return None if facts.proof is None else objection_to_proof(facts.proof, facts.key, self.ledger)
        if isinstance(facts, KeyRevoked):
            key = self.keys.get(facts.key)
            if key is None or key.revoked is not None:
                return f"the key {facts.key[:12]} is not one that could be revoked"
            left = replace(self, keys={**self.keys, facts.key: replace(key, revoked=entry.seq)}).admins
            if ADMIN in key.facts.roles and len(left) < self.proposals.needed > 1:
                return (
                    f"the policies in force ask for {self.proposals.needed} policy-admins, and without this key there "
                    f"{_are(left)}: add another person's key first"
                )
        return None


def _are(admins: tuple[str, ...]) -> str:
    if not admins:
        return "is none"
    return f"is only {admins[0]}" if len(admins) == 1 else f"are only {', '.join(admins)}"


@dataclass(frozen=True)
class KeyRecord:
    """A key, the entry that added it and the one that revoked it; ``…_by`` is the owner of the key that signed it."""

    facts: KeyFacts
    added: Entry
    added_by: str
    revoked: Entry | None = None
    revoked_by: str | None = None
    reason: str | None = None


def key_records(entries: Iterable[Entry]) -> tuple[KeyRecord, ...]:
    """The keys in the order in which they came. The entries have to be sound (`Audit.sound`, or those of an open ledger)."""
    records: dict[str, KeyRecord] = {}
    for entry in entries:
        facts = entry.facts
        if isinstance(facts, LedgerCreated | KeyAdded):
            signer = facts.key if entry.key == facts.key.id else records[entry.key].facts
            records[facts.key.id] = KeyRecord(facts.key, entry, signer.owner)
        elif isinstance(facts, KeyRevoked):
            by = records[entry.key].facts.owner
            records[facts.key] = replace(records[facts.key], revoked=entry, revoked_by=by, reason=facts.reason)
    return tuple(records.values())
