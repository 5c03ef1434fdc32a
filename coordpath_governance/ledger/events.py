"""What the ledger records: one closed document per kind of event, and which keys may sign it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.ledger.times import LAST_MILLISECOND, Time
from coordpath_governance.policy.terms import ADMIN, MOST_ADMINS, SERVICE, Retention
from coordpath_governance.reports.document import RuleFacts

__all__ = [
    "EVENTS",
    "LONGEST_WORDS",
    "SIGNERS",
    "Adoption",
    "Anchor",
    "Approval",
    "Binding",
    "Body",
    "DecisionRecorded",
    "Declaration",
    "Emergency",
    "EmergencyReview",
    "Intent",
    "KeyAdded",
    "KeyFacts",
    "KeyProof",
    "KeyRevoked",
    "LedgerCreated",
    "Move",
    "Nonce",
    "OutsideMove",
    "PolicyAdopted",
    "PolicyRetired",
    "Promotion",
    "Proposal",
    "Refusal",
    "Registration",
    "Rejection",
    "ReportMade",
    "VerdictGiven",
    "VersionRetired",
    "VersionUnreadable",
    "Waiver",
    "weighs",
]


Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Version = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,8}$")]
LONGEST_WORDS = 4000
Text = Annotated[str, Field(max_length=LONGEST_WORDS)]
Nonce = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Words = Annotated[str, Field(min_length=1, max_length=LONGEST_WORDS)]
PageName = Annotated[str, Field(pattern=r"^change_report\.(html|md)$")]
DecisionPage = Annotated[str, Field(pattern=r"^decision\.(html|md)$")]


class Body(ClosedDocument):
    """What an entry records of one event."""


class KeyFacts(Body):
    """A public key, whose it is, and what it may do: `policy-admin`, `service`, or roles that policies name."""

    id: Sha256
    public: str
    owner: Annotated[str, Field(min_length=1, max_length=200)]
    roles: Annotated[tuple[str, ...], Field(min_length=1)]


class LedgerCreated(Body):
    """The first entry: the ledger's own name, and the key that signs what machines record."""

    ledger: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    key: KeyFacts


class KeyProof(Body):
    """What the owner of a key signed with it, to show that they have it: for whom, for which ledger, and when.

    ``owner`` and ``ledger`` are None where the proof names none. The signed document follows from this and the key
    (`coordpath_governance.ledger.keyring`).
    """

    owner: Annotated[str, Field(min_length=1, max_length=200)] | None
    ledger: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None
    at: Time
    signature: Annotated[str, Field(max_length=200)]


class KeyAdded(Body):
    """Signed by a policy-admin; the first policy-admin signs for itself.

    ``proof`` is there if the key's owner showed that they have the private key. ``proposal`` is the hash of the entry by
    which another policy-admin proposed the same (`Proposal`). Entries from before there were such fields lack them.
    """

    key: KeyFacts
    proof: KeyProof | None = None
    proposal: Sha256 | None = None


class KeyRevoked(Body):
    """From here on the key signs nothing."""

    key: Sha256
    reason: Text


class PolicyAdopted(Body):
    """The policy's canonical JSON is kept as a blob of this digest. It replaces an earlier one of the same name.

    ``admins``: so many policy-admins have to agree to keys and policies while it is in force. ``proposal`` as in `KeyAdded`.
    """

    policy: Sha256
    name: str
    models: tuple[str, ...]
    admins: Annotated[int, Field(ge=1, le=MOST_ADMINS)] = 1
    proposal: Sha256 | None = None


class Proposal(Body):
    """One policy-admin proposes an event that takes two. It counts for nothing until another signs that event and names it.

    ``body`` is the event's, without a proposal. It holds until a policy is adopted or retired or a key revoked; one about a
    policy also ends when a key is added.
    """

    event: Literal["key added", "policy adopted", "policy retired"]
    body: dict[str, Any]

    @property
    def proposed(self) -> KeyAdded | PolicyAdopted | PolicyRetired:
        """The body as the document of its event."""
        if self.event == "key added":
            return KeyAdded.model_validate(self.body)
        kind = PolicyAdopted if self.event == "policy adopted" else PolicyRetired
        return kind.model_validate(self.body)

    @model_validator(mode="after")
    def _is_of_its_event(self) -> Proposal:
        if self.proposed.proposal is not None:
            raise ValueError("what is proposed names no proposal")
        return self


class PolicyRetired(Body):
    """From here on the policy is not in force. ``policy`` is the digest of the one that was, under this name.

    ``proposal`` as in `KeyAdded`.
    """

    policy: Sha256
    name: str
    reason: Words
    proposal: Sha256 | None = None


Milliseconds = Annotated[int, Field(ge=0, le=LAST_MILLISECOND)]


class Registration(Body):
    """A version was registered. ``author`` is known if the server or a key says so.

    ``model_created_at`` and ``version_created_at`` here, in an `Intent` and in an `Adoption` are when the registry says that
    it created the model and the version, in milliseconds since 1970: by them a ledger knows its registry. None where the
    registry did not say, and in entries from before they were recorded.
    """

    version: Version
    digest: Sha256 | None
    author: str | None
    authenticated_by: Literal["server", "key"] | None
    model_created_at: Milliseconds | None = None
    version_created_at: Milliseconds | None = None


class Move(Body):
    """From which version to which an alias goes, by which policy.

    ``registry`` is the ledger's own name: one ledger belongs to one registry.
    """

    registry: str
    name: str
    alias: str
    from_version: Version | None
    to_version: Version
    from_digest: Sha256 | None
    to_digest: Sha256
    policy: Sha256


class Binding(Move):
    """Everything that a decision is about; if any of it changes, the decision is void."""

    report: Sha256


class ReportMade(Body):
    """A change report; its JSON bytes are kept as a blob of digest ``report``.

    ``pages`` are the SHA-256 of what people read of it, by file name. Their bytes are kept too, since a later version of
    this program lays the same report out in other bytes. Older entries have no ``pages``.
    """

    version: Version
    champion: Version | None
    champion_digest: Sha256 | None
    candidate_digest: Sha256
    report: Sha256
    pages: dict[PageName, Sha256] | None = None


class VerdictGiven(Body):
    """What the gate said."""

    binding: Binding
    verdict: Literal["pass", "review", "fail"]
    materiality: str | None
    rules: tuple[RuleFacts, ...]


class Approval(Body):
    """A person says yes, once, until it expires."""

    binding: Binding
    comment: Text
    nonce: Nonce
    expires: Time


class Rejection(Body):
    """A person says no; that stands until somebody makes a new report."""

    binding: Binding
    comment: Words


class Waiver(Body):
    """A person takes responsibility for one rule that is not met."""

    binding: Binding
    rule: str
    reason: Words
    nonce: Nonce
    expires: Time


class Declaration(Body):
    """A person vouches that a version nobody can read predicts by these coefficients.

    It is about files of exactly this digest: if they change, it counts no longer. The canonical JSON of the coefficients
    (schema coordpath.coefficients/1) is kept as a blob of digest ``coefficients``. Who vouches is who signs.
    """

    registry: str
    name: str
    version: Version
    digest: Sha256
    coefficients: Sha256
    reason: Text


class Intent(Body):
    """A promotion that is about to happen; approvals and waivers (hashes of their entries) are consumed by it.

    ``request`` is the nonce of the request that the actor signed, if there was one. ``retention`` is that of the policy.
    """

    binding: Binding
    actor: str | None
    authenticated_by: Literal["server", "key"] | None
    approvals: tuple[Sha256, ...]
    waivers: tuple[Sha256, ...]
    materiality: str
    full_validation: bool
    request: Nonce | None = None
    retention: Retention | None = None
    model_created_at: Milliseconds | None = None
    version_created_at: Milliseconds | None = None


class Emergency(Body):
    """One person puts back what stood under an alias before, without report and approvals; others review it afterwards.

    It is what an `Intent` is for other promotions. ``envelope`` is the request as the person signed it (DSSE, JSON text),
    ``request`` its nonce, ``actor`` whose key signed it; ``review_by`` is when the policy wants it reviewed.
    """

    binding: Move
    actor: Annotated[str, Field(min_length=1, max_length=200)]
    authenticated_by: Literal["key"] = "key"
    reason: Words
    request: Nonce
    envelope: Annotated[str, Field(max_length=32 * 1024)]
    review_by: Time
    retention: Retention | None = None


class EmergencyReview(Body):
    """A person says whether an emergency rollback, named by its entry's hash, was right."""

    emergency: Sha256
    decision: Literal["approve", "reject"]
    comment: Text


class Promotion(Body):
    """The alias was set and read back. ``completed`` is by whom: the same call, or a later one after a crash.

    ``intent`` is the hash of its `Intent` or `Emergency`. ``actor``, ``authenticated_by`` and ``retention`` repeat that; an
    entry from before there were such fields lacks them. ``completed_by`` is who finished it after a crash, if the server or
    a key vouched for that person.
    """

    intent: Sha256
    alias: str
    from_version: Version | None
    to_version: Version
    to_digest: Sha256
    completed: Literal["at once", "after a crash"]
    actor: str | None = None
    authenticated_by: Literal["server", "key"] | None = None
    completed_by: str | None = None
    retention: Retention | None = None


class Refusal(Body):
    """Somebody tried what the guard does not allow; ``request`` as in an `Intent`."""

    operation: str
    alias: str | None
    version: str | None
    actor: str | None
    reason: Text
    request: Nonce | None = None


class OutsideMove(Body):
    """The registry does not stand where the ledger left it."""

    alias: str
    expected: Version | None
    found: Version | None
    reason: Text


class Adoption(Body):
    """A policy-admin takes what stands under an alias as it is; nothing, if nothing stands there.

    Only an adoption may say that a model was created at another time than earlier entries say: the person vouches that it
    was created again, or that the registry moved.
    """

    alias: str
    version: Version | None
    digest: Sha256 | None
    reason: Text
    model_created_at: Milliseconds | None = None
    version_created_at: Milliseconds | None = None


class VersionRetired(Body):
    """A version that was promoted once may be deleted from the registry, with its tags. The ledger keeps its record."""

    version: Version
    reason: Words


class VersionUnreadable(Body):
    """The sweep could not explain a version with these files from this champion. That is told once, and decides nothing."""

    version: Version
    champion: Version | None
    digest: Sha256 | None
    reason: Text


class DecisionRecorded(Body):
    """A decision as people read it. ``about`` is the hash of the promotion's or the rejection's entry.

    ``decision`` is the SHA-256 of decision.json, ``pages`` those of what is laid out from it, ``attestation`` that of what
    the service signed about all of them; their bytes are kept. ``layout`` says how the pages were laid out: whoever lays
    them out in the same way gets the same bytes. None: not known.
    """

    version: Version
    about: Sha256
    decision: Sha256
    pages: dict[DecisionPage, Sha256]
    attestation: Sha256
    layout: int | None = None


class Anchor(Body):
    """The head at the time was written outside."""

    seq: int
    hash: Sha256


EVENTS: dict[str, type[Body]] = {
    "ledger created": LedgerCreated,
    "key added": KeyAdded,
    "key revoked": KeyRevoked,
    "policy adopted": PolicyAdopted,
    "policy retired": PolicyRetired,
    "proposal": Proposal,
    "registration": Registration,
    "report": ReportMade,
    "verdict": VerdictGiven,
    "approval": Approval,
    "rejection": Rejection,
    "waiver": Waiver,
    "declaration": Declaration,
    "intent": Intent,
    "emergency": Emergency,
    "emergency review": EmergencyReview,
    "promotion": Promotion,
    "refusal": Refusal,
    "outside move": OutsideMove,
    "adoption": Adoption,
    "version retired": VersionRetired,
    "version unreadable": VersionUnreadable,
    "decision record": DecisionRecorded,
    "anchor": Anchor,
}
SIGNERS: dict[str, str | None] = {
    "ledger created": SERVICE,
    "key added": ADMIN,
    "key revoked": ADMIN,
    "policy adopted": ADMIN,
    "policy retired": ADMIN,
    "proposal": ADMIN,
    "registration": SERVICE,
    "report": SERVICE,
    "verdict": SERVICE,
    "approval": None,
    "rejection": None,
    "waiver": None,
    "declaration": None,
    "intent": SERVICE,
    "emergency": SERVICE,
    "emergency review": None,
    "promotion": SERVICE,
    "refusal": SERVICE,
    "outside move": SERVICE,
    "adoption": ADMIN,
    "version retired": ADMIN,
    "version unreadable": SERVICE,
    "decision record": SERVICE,
    "anchor": SERVICE,
}
"""The role a key needs for an event; None: any role but `service`, and the policy says which."""
_WEIGH_FOR_ALL = frozenset(("policy adopted", "policy retired", "key added", "key revoked"))
_WEIGH_FOR_THEIR_MODEL = frozenset(
    (
        "registration",
        "report",
        "approval",
        "rejection",
        "waiver",
        "declaration",
        "intent",
        "emergency",
        "emergency review",
        "promotion",
        "outside move",
        "adoption",
        "version retired",
    )
)


def weighs(event: str, of_the_model: bool) -> bool:
    """Whether an event can change what a model may do; others only tell what was said or seen."""
    return event in _WEIGH_FOR_ALL or (of_the_model and event in _WEIGH_FOR_THEIR_MODEL)
