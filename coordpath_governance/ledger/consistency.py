"""Whether entries contradict each other: decisions belong to this ledger, are used once, and promotions match their intent.

Also when the models on record were created, by which a ledger recognises its registry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import (
    Adoption,
    Anchor,
    Approval,
    Body,
    Declaration,
    Emergency,
    EmergencyReview,
    Intent,
    LedgerCreated,
    Move,
    OutsideMove,
    PolicyAdopted,
    PolicyRetired,
    Promotion,
    Refusal,
    Waiver,
)

__all__ = ["CreationOnRecord", "after_entry", "contradictions", "creations_on_record", "ledger_name", "used_before"]

_EVENTS = ("intent", "adoption")


def ledger_name(entries: Sequence[Entry]) -> str:
    """The ledger's own name, as its first entry says; empty if it says nothing."""
    facts = entries[0].facts if entries else None
    return facts.ledger if isinstance(facts, LedgerCreated) else ""


def contradictions(entries: Iterable[Entry]) -> Iterator[tuple[int, str]]:
    """Numbers of entries that are well formed but contradict earlier ones, and how."""
    account = _Account()
    for entry in entries:
        for what in account.objections(entry, entry.facts):
            yield entry.seq, what
        account.take(entry)


def used_before(chain: Iterable[Entry], facts: Body) -> tuple[str, int] | None:
    """What an entry with these facts would use for the second time, and the entry that used it; None if nothing.

    ``chain`` are the earlier entries of its model: approvals, waivers, intents and requests are all about one model.
    """
    needed = set(_uses(facts))
    if needed:
        for entry in chain:
            for twice in needed.intersection(_uses(entry.facts)):
                return twice, entry.seq
    return None


class _Account:
    """The entries so far, and which decisions are used up."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._seen: dict[str, Entry] = {}
        self._by_seq: dict[int, Entry] = {}
        self._used: dict[str, int] = {}
        self._policies: dict[str, str] = {}
        self._created: dict[str, CreationOnRecord] = {}
        self._moved: dict[tuple[str | None, str], int] = {}

    def take(self, entry: Entry) -> None:
        facts = entry.facts
        if isinstance(facts, LedgerCreated):
            self._name = facts.ledger
        elif isinstance(facts, PolicyAdopted):
            self._policies[facts.name] = facts.policy
        elif isinstance(facts, PolicyRetired):
            self._policies.pop(facts.name, None)
        elif isinstance(facts, Promotion | OutsideMove | Adoption):
            self._moved[entry.model, facts.alias] = entry.seq
        self._seen[entry.hash] = self._by_seq[entry.seq] = entry
        for consumed in _uses(facts):
            self._used.setdefault(consumed, entry.seq)
        created = after_entry(self._created.pop(entry.model or "", None), entry)
        if created is not None:
            self._created[entry.model or ""] = created

    def objections(self, entry: Entry, facts: Body) -> Iterator[str]:
        about = facts if isinstance(facts, Declaration) else getattr(facts, "binding", None)
        if isinstance(about, Move | Declaration):
            if about.registry != self._name:
                yield f"it is about the registry of ledger {about.registry[:40]}, not of this one"
            if about.name != entry.model:
                yield "it is about another model than the one it is recorded for"
        for consumed in _uses(facts):
            if consumed in self._used:
                yield f"it uses {consumed[:12]}, which entry {self._used[consumed]} has used already"
        if isinstance(facts, Intent):
            yield from self._of_intent(facts)
            yield from self._of_creation(facts, self._created.get(entry.model or "", CreationOnRecord()))
        elif isinstance(facts, Promotion):
            yield from self._of_promotion(entry, facts)
        elif isinstance(facts, PolicyRetired):
            if self._policies.get(facts.name) != facts.policy:
                yield f"it retires policy '{facts.name[:80]}' {facts.policy[:12]}, which was not in force"
        elif isinstance(facts, EmergencyReview):
            reviewed = self._seen.get(facts.emergency)
            if reviewed is None or reviewed.event != "emergency" or reviewed.model != entry.model:
                yield "it reviews no earlier emergency rollback of this model"
        elif isinstance(facts, Anchor):
            anchored = self._by_seq.get(facts.seq)
            if anchored is None or anchored.hash != facts.hash:
                yield f"it says that entry {facts.seq} was anchored with a hash that this entry does not have"

    def _of_intent(self, facts: Intent) -> Iterator[str]:
        """The approvals and waivers of an intent must be about exactly the same change."""
        for kind, hashes in ((Approval, facts.approvals), (Waiver, facts.waivers)):
            if len(set(hashes)) != len(hashes):
                yield f"it counts the same {kind.__name__.lower()} twice"
            for digest in hashes:
                decision = self._seen.get(digest)
                if decision is None or not isinstance(decision.facts, kind):
                    yield f"it counts {digest[:12]}, which is no earlier {kind.__name__.lower()}"
                elif decision.facts.binding != facts.binding:
                    yield f"it counts the {kind.__name__.lower()} of entry {decision.seq}, which is about something else"

    def _of_creation(self, facts: Intent, record: CreationOnRecord) -> Iterator[str]:
        """It must be about the model that earlier entries are about, unless a policy-admin adopted another since."""
        if None not in (record.created_at, facts.model_created_at) and record.created_at != facts.model_created_at:
            yield "it is about a model that was created at another time than the one in earlier entries"
            return
        version = facts.binding.to_version
        if facts.version_created_at is not None and record.versions.get(version) not in (None, facts.version_created_at):
            yield f"it is about a version {version} that was created at another time than the one in earlier entries"

    def _of_promotion(self, entry: Entry, facts: Promotion) -> Iterator[str]:
        """A promotion must do what its intent said."""
        intent = self._seen.get(facts.intent)
        if intent is None or not isinstance(intent.facts, Intent | Emergency):
            yield "it names no earlier intent"
            return
        binding = intent.facts.binding
        move = (entry.model, facts.alias, facts.from_version, facts.to_version, facts.to_digest)
        if move != (intent.model, binding.alias, binding.from_version, binding.to_version, binding.to_digest):
            yield f"it is not what entry {intent.seq} intended"
        moved = self._moved.get((entry.model, facts.alias), 0)
        if moved > intent.seq and facts.intent not in self._used:
            yield f"entry {moved} had overtaken the intent of entry {intent.seq}"
        actor_fields = {"actor", "authenticated_by"} & facts.model_fields_set
        if actor_fields and (facts.actor, facts.authenticated_by) != (intent.facts.actor, intent.facts.authenticated_by):
            yield f"it names another actor than entry {intent.seq}, which it completes"
        if facts.completed_by is not None and facts.completed != "after a crash":
            yield "it was completed at once, and yet names somebody who finished it after a crash"
        if facts.retention != intent.facts.retention:
            yield f"it has another retention than entry {intent.seq}, which it completes"


def _uses(facts: Body) -> tuple[str, ...]:
    """Hashes of entries, and nonces of requests, that can serve only once and serve here."""
    nonce = facts.request if isinstance(facts, Intent | Emergency | Refusal) else None
    request = () if nonce is None else (nonce,)
    if isinstance(facts, Intent):
        return (*dict.fromkeys((*facts.approvals, *facts.waivers)), *request)
    if isinstance(facts, Refusal | Emergency):
        return request
    return (facts.intent,) if isinstance(facts, Promotion) else ()


@dataclass(frozen=True)
class CreationOnRecord:
    """A model that was to be put under a guarded alias: when it, and its versions, were created (milliseconds since 1970).

    ``newest`` is the version that the newest entry is about. Times are None, or not there, in ledgers from before them.
    """

    created_at: int | None = None
    newest: str | None = None
    versions: dict[str, int] = field(default_factory=dict)


def creations_on_record(entries: Iterable[Entry]) -> dict[str, CreationOnRecord]:
    """All models with an intent or adoption on record, those of the newest entries first."""
    records: dict[str, CreationOnRecord] = {}
    for entry in entries:
        if entry.event in _EVENTS and entry.model is not None:
            after = after_entry(records.pop(entry.model, None), entry)
            if after is not None:
                records[entry.model] = after
    return dict(reversed(records.items()))


def after_entry(before: CreationOnRecord | None, entry: Entry) -> CreationOnRecord | None:
    """When a model was created, after one more entry of its chain; None if nothing is known.

    An adoption without a version, where the registry has no such model, says that the model is gone. A model that was
    created again has new versions.
    """
    facts = entry.facts
    if not isinstance(facts, Intent | Adoption):
        return before
    version = facts.binding.to_version if isinstance(facts, Intent) else facts.version
    model_at, version_at = facts.model_created_at, facts.version_created_at
    if version is None and model_at is None:
        return None
    before = before or CreationOnRecord()
    is_new = model_at is not None and before.created_at not in (None, model_at)
    versions = {} if is_new else dict(before.versions)
    if version is not None and version_at is not None:
        versions[version] = version_at
    return CreationOnRecord(before.created_at if model_at is None else model_at, version or before.newest, versions)
