"""Which keys a ledger knows, what each may sign, and from where to where; replayed from the entries themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import ADMIN, SERVICE, SIGNERS, KeyAdded, KeyFacts, KeyRevoked, LedgerCreated
from coordpath_governance.signing.keys import PublicKey

__all__ = ["KeyRing", "KnownKey"]


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
    """All keys by their id."""

    keys: dict[str, KnownKey] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> KeyRing:
        """The keys after these entries."""
        ring = cls()
        for entry in entries:
            ring = ring.after(entry)
        return ring

    def after(self, entry: Entry) -> KeyRing:
        """The keys after one more entry; most entries change nothing."""
        if entry.event not in ("ledger created", "key added", "key revoked"):
            return self
        facts = entry.facts
        if isinstance(facts, LedgerCreated | KeyAdded):
            known = KnownKey(facts.key, PublicKey.from_text(facts.key.public), entry.seq)
            return KeyRing({**self.keys, facts.key.id: known})
        if isinstance(facts, KeyRevoked) and facts.key in self.keys:
            return KeyRing({**self.keys, facts.key: replace(self.keys[facts.key], revoked=entry.seq)})
        return self

    @property
    def has_admin(self) -> bool:
        """Whether there is, or ever was, a policy-admin."""
        return any(ADMIN in known.facts.roles for known in self.keys.values())

    def objection(self, entry: Entry) -> str | None:
        """Why the signer of ``entry`` may not sign it, from the keys known before it; None if it may."""
        if entry.event in ("ledger created", "key added", "key revoked"):
            problem = self._about_keys(entry)
            if problem is not None:
                return problem
            if entry.event == "ledger created" or (entry.event == "key added" and not self.has_admin):
                return None
        known = self.keys.get(entry.key)
        if known is None:
            return f"the key {entry.key[:12]} is not known to this ledger"
        if known.revoked is not None:
            return f"the key {entry.key[:12]} of {known.facts.owner} was revoked by entry {known.revoked}"
        needed = SIGNERS[entry.event]
        if needed is None and known.facts.roles == (SERVICE,):
            return f"a '{entry.event}' is a person's to sign, not the service's"
        if needed is not None and needed not in known.facts.roles:
            return f"the key of {known.facts.owner} lacks the role '{needed}' that a '{entry.event}' needs"
        return None

    def _about_keys(self, entry: Entry) -> str | None:
        """What is wrong with an entry that brings a key in or out."""
        facts = entry.facts
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
        elif isinstance(facts, KeyRevoked):
            known = self.keys.get(facts.key)
            if known is None or known.revoked is not None:
                return f"the key {facts.key[:12]} is not one that could be revoked"
        return None
