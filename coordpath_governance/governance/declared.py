"""Coefficients that a person vouches for, of a version that cannot be read: recorded in the ledger, and attached.

Only the ledger counts. The attached file is for people, and no decision reads it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import AttachError, NotFoundError, RefusedError, UnsupportedModelError, UsageError
from coordpath_governance.ledger.declarations import Vouched, declared_model, vouched
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.models import read_coefficients, read_model
from coordpath_governance.models.coefficients_json import declared_bytes, with_source
from coordpath_governance.models.formats import DECLARED, vouched_source
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.manifest import model_digest
from coordpath_governance.registry.attachments import folder_name, read_attachments, write_attachments
from coordpath_governance.registry.client_registry import ClientRegistry
from coordpath_governance.registry.download import DeclaredModel, download_files
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.review.belonging import check_belongs
from coordpath_governance.review.decisions import check_declarer, declare
from coordpath_governance.review.policies import AdoptedPolicy, policy_for
from coordpath_governance.signing.keys import PrivateKey

__all__ = ["DeclaredVersion", "declare_version", "declared_in", "vouched_in"]

_FILE = "coefficients.json"


@dataclass(frozen=True)
class DeclaredVersion:
    """What was recorded. ``new``: it was not there before. ``beside``: where it is attached; None: nowhere.

    ``missing``: how many more people have to vouch for the same.
    """

    entry: Entry
    new: bool
    owner: str
    digest: str
    coefficients: str
    beside: str | None
    missing: int


def declared_in(ledger: Ledger) -> DeclaredModel:
    """What a ledger says of versions that cannot be read, whether or not enough people say so: that is the gate's to ask."""

    def find(pointer: ModelPointer, digest: str) -> LinearModel | None:
        declared = vouched_in(ledger, pointer, digest)
        if declared is None:
            return None
        where = f"what entry {declared.signed[0][1].seq} declares of {pointer.uri}"
        return with_source(declared_model(ledger.blob(declared.coefficients), where), vouched_source(*declared.owners))

    return find


def vouched_in(ledger: Ledger, pointer: ModelPointer, digest: str) -> Vouched | None:
    """Who vouches for a version of these files, by the policy that it is under now; a person may be ``missing`` still."""
    if pointer.name is None or pointer.version is None:
        return None
    try:
        roles = policy_for(ledger, pointer.name).policy.declarations.roles
    except RefusedError:
        return None
    return vouched(
        ledger.entries(pointer.name),
        ledger.keyring(),
        roles,
        registry=ledger.id,
        name=pointer.name,
        version=pointer.version,
        digest=digest,
    )


def declare_version(
    client: RegistryClient,
    ledger: Ledger,
    adopted: AdoptedPolicy,
    pointer: ModelPointer,
    key: PrivateKey,
    *,
    file: Path | None,
    reason: str,
) -> DeclaredVersion:
    """Vouch for the coefficients of a registered version: those in ``file``, or those in the model's own files.

    Raises `RefusedError` for a version that can be read, `UsageError` if there are no coefficients to vouch for, and
    `ForeignRegistryError` if the ledger belongs to another registry.
    """
    name, version = str(pointer.name), str(pointer.version)
    check_belongs(ledger, ClientRegistry(client), name)
    signer = check_declarer(ledger, adopted.policy, name, version, key)
    written = None if file is None else _read_file(file)
    digest, authored = _unreadable(pointer)
    model = written or authored
    if model is None:
        raise UsageError(f"{pointer.uri} has no {_FILE} beside it; say what to vouch for with --coefficients FILE")
    content = declared_bytes(model)
    entry, new = declare(
        ledger, adopted.policy, key, name=name, version=version, digest=digest, content=content, reason=reason
    )
    beside = _lay_beside(client, pointer, content, entry)
    standing = vouched_in(ledger, pointer, digest)
    missing = 0 if standing is None else standing.missing
    return DeclaredVersion(entry, new, signer.facts.owner, digest, sha256_hex(content), beside, missing)


def _read_file(file: Path) -> LinearModel:
    if not file.is_file():
        raise NotFoundError(f"there is no file '{file}'; cg.to_coefficients(model, FILE) writes one")
    return read_coefficients(file)


def _unreadable(pointer: ModelPointer) -> tuple[str, LinearModel | None]:
    """The digest of a version that cannot be read, and what its author declares of it, if anything."""
    with tempfile.TemporaryDirectory(prefix="coordpath-", ignore_cleanup_errors=True) as folder:
        local = download_files(pointer, Path(folder))
        digest = model_digest(local)
        try:
            model = read_model(local)
        except UnsupportedModelError:
            return digest, None
    if model.source != DECLARED:
        raise RefusedError(
            f"{pointer.uri} can be read ({model.estimator or 'a linear model'}, {model.source}): its files speak for "
            "themselves, and nobody need vouch for it"
        )
    return digest, model


def _lay_beside(client: RegistryClient, pointer: ModelPointer, content: bytes, entry: Entry) -> str | None:
    """Write what is declared below ``coordpath/`` of the version, unless it lies there already."""
    if pointer.model_id is None and pointer.run_id is None:
        return None
    folder = f"coordpath/{folder_name(str(pointer.name))}/declared-v{pointer.version}"
    files = {_FILE: content}
    try:
        if read_attachments(pointer, folder, files) != files:
            write_attachments(client, pointer, folder, files)
    except AttachError as error:
        raise AttachError(
            f"the declaration is entry {entry.seq} of the ledger and counts, but it could not be laid beside the version: "
            f"{error}; run the same command again"
        ) from error
    return f"{folder}/{_FILE}"
