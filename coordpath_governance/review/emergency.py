"""Emergency rollback: one person puts the previous champion back at once; it is shown until others have reviewed it.

Nothing is judged and nobody approves beforehand. The version was promoted or adopted before and has exactly the files of
that time. The alias moves as in any promotion: record, set, read back, record.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from coordpath_governance.errors import (
    FilesGoneError,
    LedgerConflictError,
    RefusedError,
    SigningKeyError,
    UsageError,
)
from coordpath_governance.ledger.adoption import kept_policy
from coordpath_governance.ledger.emergencies import (
    PastStanding,
    emergencies,
    open_emergencies,
    rejected_since,
    reviewers,
    standing_before,
)
from coordpath_governance.ledger.events import Emergency, EmergencyReview, Move, Promotion
from coordpath_governance.ledger.quorum import person
from coordpath_governance.ledger.times import moment
from coordpath_governance.review.policies import AdoptedPolicy, policy_for
from coordpath_governance.review.promotion import busy, complete, reconcile, stands_already

if TYPE_CHECKING:
    from coordpath_governance.ledger.emergencies import EmergencyState
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.keyring import KnownKey
    from coordpath_governance.ledger.promotion_requests import EmergencyWish
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.policy.document import EmergencyTerms
    from coordpath_governance.review.history import ModelHistory
    from coordpath_governance.review.ports import AliasRegistry
    from coordpath_governance.review.requests import SignedRequest
    from coordpath_governance.signing.keys import PrivateKey

__all__ = ["emergency_words", "open_under", "review_emergency", "roll_back", "under_review"]

_TURNS = 5


def roll_back(ledger: Ledger, registry: AliasRegistry, signed: SignedRequest, wish: EmergencyWish) -> None:
    """Give the alias back to the version that had it before. Raises `RefusedError` with the reason if that is not allowed.

    If the version has the alias already, that is refused too, unless this person's own rollback put it there.
    The rollback is recorded only if neither policies nor keys nor anything about the model changed since it was looked at.
    """
    request = signed.request
    name, alias, version = request.name, request.alias, request.version
    for _ in range(_TURNS):
        head = ledger.head()
        history = reconcile(ledger, registry, name, alias, signed.actor)
        if stands_already(registry, history, name, alias, version):
            if _rolled_back_by(history, alias, signed.signer.facts.owner):
                return
            raise RefusedError(f"version {version} of '{name}' is '{alias}' already; there is nothing to roll back")
        adopted = policy_for(ledger, name)
        terms = _terms(adopted, signed.signer, alias)
        before = _previous(ledger, registry, history, alias=request.alias, version=version, wish=wish, name=name)
        standing = history.standing(alias)
        body = Emergency(
            binding=Move(
                registry=ledger.id,
                name=name,
                alias=alias,
                from_version=standing.version,
                to_version=version,
                from_digest=standing.digest,
                to_digest=str(before.digest),
                policy=adopted.sha256,
            ),
            actor=signed.signer.facts.owner,
            retention=adopted.policy.retention,
            reason=wish.reason,
            request=request.nonce,
            envelope=signed.envelope,
            review_by=(moment(ledger.now()) + timedelta(days=terms.days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        )
        try:
            entry = ledger.record("emergency", body, model=name, since=head)
        except LedgerConflictError:
            continue
        complete(ledger, registry, name, entry, body, "at once")
        return
    raise busy(name)


def _rolled_back_by(history: ModelHistory, alias: str, owner: str) -> bool:
    """Whether an emergency rollback of this person, and nothing since, gave the version its alias."""
    rollbacks = {entry.hash for entry, facts in history.of(Emergency) if person(facts.actor) == person(owner)}
    newest = [entry.facts for entry in history.entries if entry.seq == history.last_move(alias)]
    return any(isinstance(facts, Promotion) and facts.intent in rollbacks for facts in newest)


def _terms(adopted: AdoptedPolicy, signer: KnownKey, alias: str) -> EmergencyTerms:
    """The policy's terms for emergencies. Raises `RefusedError` if they do not allow this key."""
    policy = adopted.policy
    if policy.emergency is None:
        raise RefusedError(
            f"policy '{policy.name}' allows no emergency rollbacks; add emergency: {{roles: [ROLE], days: N}} to it and "
            "adopt it again, or promote through the gate"
        )
    if alias not in policy.aliases:
        raise RefusedError(f"'{alias}' is not an alias that policy '{policy.name}' guards")
    if set(signer.facts.roles).isdisjoint(policy.emergency.roles):
        raise RefusedError(
            f"policy '{policy.name}' lets only {', '.join(policy.emergency.roles)} roll back in an emergency "
            f"(emergency.roles); the key of {signer.facts.owner} has the roles {', '.join(signer.facts.roles)}"
        )
    return policy.emergency


def _previous(
    ledger: Ledger,
    registry: AliasRegistry,
    history: ModelHistory,
    *,
    alias: str,
    version: str,
    wish: EmergencyWish,
    name: str,
) -> PastStanding:
    """The version that had the alias before. Raises `RefusedError` if it is not the one asked for, or not allowed."""
    standing = history.standing(alias)
    if standing.version != wish.from_version:
        raise RefusedError(
            f"the request is to leave version {wish.from_version}, but version {standing.version} is '{alias}' now; "
            "look again"
        )
    before = standing_before(history.entries, alias)
    if before is None or before.version != version:
        which = "there was none" if before is None else f"that is version {before.version}"
        raise RefusedError(
            f"an emergency rollback goes back to what version {standing.version} replaced as '{alias}', and {which}; "
            f"promote version {version} through the gate"
        )
    ring = ledger.keyring()
    states = emergencies(history.entries, ledger.blobs, ring)
    for state in states:
        if state.status == "to be reviewed":
            raise RefusedError(
                f"the {state.sentence(ledger.now())} (entry {state.entry.seq}), comes first: one person acts alone once, "
                "and then others look"
            )
    if history.retired(version):
        raise RefusedError(f"version {version} of '{name}' was retired; promote it through the gate")
    no = rejected_since(history.entries, states, ring, before)
    if no is not None:
        raise RefusedError(
            f"version {version} of '{name}' was rejected since it stood there, {no}; promote it through the gate"
        )
    try:
        digest = registry.digest(name, version)
    except FilesGoneError as error:
        raise RefusedError(f"version {version} of '{name}' cannot be served: {error}") from error
    if before.digest is None or digest != before.digest:
        raise RefusedError(
            f"the files of version {version} of '{name}' are not those that stood there before: their digest is "
            f"{digest[:12]}…, not {str(before.digest)[:12]}…; promote it through the gate"
        )
    return before


def under_review(ledger: Ledger, name: str, alias: str | None, version: str) -> EmergencyState | None:
    """The newest emergency rollback to a version that is not settled: to be reviewed, or rejected; None if all are settled.

    Of one ``alias``, or of any. Neither the registry nor a policy in force is asked: the version may be gone, or the policy.
    """
    states = [each for each in open_under(ledger, name, alias) if each.facts.binding.to_version == version]
    return states[-1] if states else None


def review_emergency(
    ledger: Ledger, state: EmergencyState, key: PrivateKey, decision: Literal["approve", "reject"], comment: str
) -> Entry:
    """Record whether an emergency rollback was right.

    Raises `SigningKeyError` if the policy of that time does not ask for this key, `RefusedError` for the person who rolled
    back.
    """
    ring = ledger.keyring()
    reviewer = ring.keys.get(key.public.id)
    if reviewer is None or reviewer.revoked is not None:
        raise SigningKeyError(f"the key {key.public.id[:12]} is not in this ledger, or was revoked")
    if decision == "reject" and not comment.strip():
        raise UsageError("a rejection needs a --comment that says why")
    if person(reviewer.facts.owner) == person(state.facts.actor):
        raise RefusedError(f"{reviewer.facts.owner} rolled back; somebody else has to review it")
    policy = kept_policy(ledger.blobs, state.facts.binding.policy)
    roles = {role for place in (() if policy is None else reviewers(policy)) for role in place.roles}
    if roles.isdisjoint(reviewer.facts.roles):
        raise SigningKeyError(
            f"the key of {reviewer.facts.owner} has none of the roles that review this: {', '.join(sorted(roles)) or 'none'}"
        )
    body = EmergencyReview(emergency=state.entry.hash, decision=decision, comment=comment)
    return ledger.append("emergency review", body, key, model=state.facts.binding.name)


def open_under(ledger: Ledger, name: str, alias: str | None = None) -> tuple[EmergencyState, ...]:
    """The emergency rollbacks of a model that are not settled, for one alias or for all."""
    states = open_emergencies(ledger.entries(name), ledger.blobs, ledger.keyring())
    return tuple(each for each in states if alias in (None, each.facts.binding.alias))


def emergency_words(ledger: Ledger, name: str, alias: str | None = None) -> tuple[str, ...]:
    """One sentence for each emergency rollback that is not settled."""
    now = ledger.now()
    return tuple(each.words(now) for each in open_under(ledger, name, alias))
