"""What people sign: approvals, rejections, waivers, and taking an alias as it stands."""

from __future__ import annotations

import secrets
from datetime import timedelta
from shlex import quote
from typing import TYPE_CHECKING

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import FilesGoneError, LedgerConflictError, RefusedError, SigningKeyError, UsageError
from coordpath_governance.ledger.declarations import vouched
from coordpath_governance.ledger.events import (
    Adoption,
    Approval,
    Binding,
    Declaration,
    Intent,
    Promotion,
    Rejection,
    ReportMade,
    VersionRetired,
    Waiver,
)
from coordpath_governance.ledger.kept_models import kept_models
from coordpath_governance.ledger.quorum import person
from coordpath_governance.ledger.times import moment
from coordpath_governance.policy.built_in import BUILT_IN, PAGES
from coordpath_governance.review.belonging import check_belongs
from coordpath_governance.review.emergency import under_review
from coordpath_governance.review.history import ModelHistory, Standing
from coordpath_governance.review.ports import Created

if TYPE_CHECKING:
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.keyring import KnownKey
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.policy.document import Policy
    from coordpath_governance.review.ports import AliasRegistry
    from coordpath_governance.review.readiness import Readiness
    from coordpath_governance.signing.keys import PrivateKey

__all__ = ["adopt_standing", "approve", "check_declarer", "declare", "reject", "retire", "waive"]


def approve(
    ledger: Ledger, readiness: Readiness, policy: Policy, key: PrivateKey, *, comment: str, days: int | None
) -> Entry:
    """Approve exactly this change, for so many days (default: as long as the policy allows).

    Raises `RefusedError` for the author, and while the attached report is not the recorded one: nobody approves what they
    were not shown.
    """
    signer = _signer(ledger, key)
    roles_asked = {need.role for each in policy.materiality for need in each.approvals}
    if roles_asked.isdisjoint(signer.facts.roles):
        roles = ", ".join(sorted(roles_asked)) or "none"
        raise SigningKeyError(
            f"the key of {signer.facts.owner} has none of the roles that policy '{policy.name}' asks: {roles}"
        )
    author = readiness.author
    if author is not None and person(author) == person(signer.facts.owner):
        raise RefusedError(f"{signer.facts.owner} registered this version; somebody else has to approve it")
    shown = next((each for each in readiness.judgement.results if each.rule == PAGES), None)
    if shown is not None and shown.result == "fail":
        raise RefusedError(f"the attached report is not the one that would be approved ({shown.observed}). {shown.reason}")
    body = Approval(
        binding=readiness.binding,
        comment=comment,
        nonce=secrets.token_hex(16),
        expires=_expiry(ledger, days, policy.approvals.longest_days),
    )
    return ledger.append("approval", body, key, model=readiness.binding.name)


def reject(ledger: Ledger, binding: Binding, key: PrivateKey, comment: str) -> Entry:
    """Reject exactly this change. Raises `UsageError` without a comment."""
    if not comment.strip():
        raise UsageError("a rejection needs a --comment that says why")
    _signer(ledger, key)
    return ledger.append("rejection", Rejection(binding=binding, comment=comment), key, model=binding.name)


def waive(
    ledger: Ledger, readiness: Readiness, policy: Policy, key: PrivateKey, *, rule: str, reason: str, days: int | None
) -> Entry:
    """Waive one rule that is not met, for this change.

    Raises `SigningKeyError` if the policy does not let this person, `UsageError` without a reason or for another rule.
    """
    signer = _signer(ledger, key)
    if set(signer.facts.roles).isdisjoint(policy.waivers.roles):
        roles = ", ".join(policy.waivers.roles) or "nobody"
        raise SigningKeyError(f"policy '{policy.name}' lets only {roles} waive rules; {signer.facts.owner} has no such role")
    if not reason.strip():
        raise UsageError("a waiver needs a --reason")
    open_rules = [each.rule for each in readiness.judgement.results if each.result in ("fail", "review", "unknown")]
    if rule in BUILT_IN:
        raise UsageError(f"'{rule}' is a check of the report itself, which nobody can waive")
    if rule not in open_rules:
        raise UsageError(f"there is no unmet rule '{rule}' here; unmet rules: {', '.join(open_rules) or 'none'}")
    body = Waiver(
        binding=readiness.binding,
        rule=rule,
        reason=reason,
        nonce=secrets.token_hex(16),
        expires=_expiry(ledger, days, policy.waivers.longest_days),
    )
    return ledger.append("waiver", body, key, model=readiness.binding.name)


def check_declarer(ledger: Ledger, policy: Policy, name: str, version: str, key: PrivateKey) -> KnownKey:
    """The signer of a declaration; `SigningKeyError` or `RefusedError` if the policy does not let this person vouch.

    Where nobody knows who registered the version, anybody of the roles may, but one person is not enough (`vouched`).
    """
    signer = _signer(ledger, key)
    if set(signer.facts.roles).isdisjoint(policy.declarations.roles):
        roles = ", ".join(policy.declarations.roles)
        if not roles:
            raise SigningKeyError(
                f"policy '{policy.name}' lets nobody vouch for coefficients; add declarations: {{roles: [ROLE]}} to "
                "it and adopt it again"
            )
        raise SigningKeyError(
            f"policy '{policy.name}' lets only {roles} vouch for declared coefficients (declarations.roles); "
            f"{signer.facts.owner} has no such role"
        )
    author = ModelHistory(ledger.entries(name)).author(version)
    if author is not None and person(author) == person(signer.facts.owner):
        raise RefusedError(f"{signer.facts.owner} registered this version; somebody else has to vouch for it")
    return signer


def declare(
    ledger: Ledger, policy: Policy, key: PrivateKey, *, name: str, version: str, digest: str, content: bytes, reason: str
) -> tuple[Entry, bool]:
    """Vouch that a version with files of this digest predicts by the coefficients ``content`` (`declared_bytes`).

    Returns the entry, and whether it is new: a person who declares the same again gets the earlier entry.
    """
    signer = check_declarer(ledger, policy, name, version, key)
    body = Declaration(
        registry=ledger.id,
        name=name,
        version=version,
        digest=digest,
        coefficients=sha256_hex(content),
        reason=reason,
    )
    standing = vouched(
        ledger.entries(name),
        ledger.keyring(),
        policy.declarations.roles,
        registry=ledger.id,
        name=name,
        version=version,
        digest=digest,
    )
    if standing is not None and standing.coefficients == body.coefficients:
        for owner, entry in standing.signed:
            if person(owner) == person(signer.facts.owner):
                return entry, False
    return ledger.append("declaration", body, key, model=name, blob=content), True


def adopt_standing(
    ledger: Ledger,
    registry: AliasRegistry,
    name: str,
    alias: str,
    key: PrivateKey,
    *,
    reason: str,
    created_again: bool = False,
) -> Entry:
    """Accept the version that has an alias in the registry as it is, so that the next change is explained from it.

    Where its files are gone, it is taken for what the newest report in the ledger says it was; without one, for something
    unknown (no digest), so that the next change is explained from zero. With ``created_again`` the person vouches that the
    model is to be taken although it was created at another time than the ledger says, or that it is gone; otherwise that
    raises `ForeignRegistryError`.
    """
    head = ledger.head()
    if not created_again:
        check_belongs(ledger, registry, name)
    version = registry.aliases(name).get(alias)
    standing = ModelHistory(ledger.entries(name)).standing(alias)
    if version is None and standing.version is None and standing.doubt is None:
        raise RefusedError(f"'{name}' has no alias '{alias}' that could be taken under guard; promote a version instead")
    try:
        digest = None if version is None else registry.digest(name, version)
    except FilesGoneError:
        digest = _last_known(ledger, name, str(version), standing)
    created = registry.created(name, version) or Created(None)
    body = Adoption(
        alias=alias,
        version=version,
        digest=digest,
        reason=reason,
        model_created_at=created.model,
        version_created_at=created.version,
    )
    try:
        return ledger.append("adoption", body, key, model=name, since=head)
    except LedgerConflictError as error:
        raise RefusedError(f"something else was recorded for '{name}' meanwhile; look again, then adopt") from error


def _last_known(ledger: Ledger, name: str, version: str, standing: Standing) -> str | None:
    """The digest of a version whose files are gone: as promoted or adopted, else as reported; None if it is not known.

    Only a digest with recorded coefficients helps: the next change is explained from those.
    """
    chain = ledger.entries(name)
    promoted = [standing.digest] if standing.version == version else []
    reported = [facts.candidate_digest for _, facts in ModelHistory(chain).of(ReportMade) if facts.version == version]
    for digest in (*promoted, *reversed(reported)):
        if any(True for _ in kept_models(chain, ledger.blobs, version, digest)):
            return digest
    return None


def retire(ledger: Ledger, registry: AliasRegistry, name: str, version: str, key: PrivateKey, reason: str) -> Entry:
    """Let a version that was promoted once be deleted from the registry, and its tags with it; signed by a policy-admin.

    Raises `RefusedError` if the version has a guarded alias, a promotion of it was begun, or an emergency rollback to it is
    not settled; `UsageError` without a reason, or if nothing keeps the version from being deleted; `ForeignRegistryError`
    if the ledger belongs to another registry.
    """
    if not reason.strip():
        raise UsageError("retiring a version needs a --reason")
    check_belongs(ledger, registry, name)
    history = ModelHistory(ledger.entries(name))
    promoted = [facts.alias for _, facts in history.of(Promotion)]
    adopted = [facts.alias for _, facts in history.of(Adoption)]
    begun = [facts.binding.alias for _, facts in history.of(Intent)]
    for alias in sorted({*promoted, *adopted, *begun}):
        waiting = history.open_intent(alias)
        held = (registry.aliases(name).get(alias), history.standing(alias).version)
        if version in held or (waiting is not None and waiting[1].binding.to_version == version):
            raise RefusedError(f"version {version} of '{name}' is '{alias}' now; promote another version first")
    rollback = under_review(ledger, name, None, version)
    if rollback is not None:
        raise RefusedError(
            f"version {version} of '{name}' cannot be retired: the {rollback.words(ledger.now())}, comes first; others "
            f"review it with `coordpath review {quote(name)} {version}`"
        )
    if history.retired(version):
        raise UsageError(f"version {version} of '{name}' is retired already")
    if history.kept(version) is None and not any(facts.version == version for _, facts in history.of(ReportMade)):
        raise UsageError(f"version {version} of '{name}' was never promoted or reported on; nothing keeps it")
    return ledger.append("version retired", VersionRetired(version=version, reason=reason), key, model=name)


def _signer(ledger: Ledger, key: PrivateKey) -> KnownKey:
    signer = ledger.keyring().keys.get(key.public.id)
    if signer is None:
        raise SigningKeyError(
            f"the key {key.public.id[:12]} is not in this ledger; a policy-admin adds it with `coordpath key new`"
        )
    if signer.revoked is not None:
        raise SigningKeyError(f"the key {key.public.id[:12]} of {signer.facts.owner} was revoked")
    return signer


def _expiry(ledger: Ledger, days: int | None, longest: float) -> str:
    if days is not None and not 0 < days <= longest:
        raise UsageError(f"--days {days}: the policy allows at most {longest:g}")
    until = moment(ledger.now()) + timedelta(days=longest if days is None else days)
    return until.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
