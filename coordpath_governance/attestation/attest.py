"""Sign a statement into an envelope, and read it back only if everything about it is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from coordpath_governance.attestation.statement import Statement
from coordpath_governance.canonical import canonical_bytes, read_json
from coordpath_governance.errors import SignatureError
from coordpath_governance.reports.document import Assessment, ChangeReportDocument
from coordpath_governance.signing.envelope import open_envelope, seal
from coordpath_governance.signing.keys import PrivateKey, PublicKey

__all__ = ["ATTESTATION_FILE", "IN_TOTO_TYPE", "VERDICT_FILE", "attest", "read_attestation"]

ATTESTATION_FILE = "attestation.json"
VERDICT_FILE = "verdict.json"
IN_TOTO_TYPE = "application/vnd.in-toto+json"
_MAX_BYTES = 1024 * 1024
_SHOWN = 3


def attest(
    document: ChangeReportDocument,
    files: Mapping[str, str],
    key: PrivateKey,
    *,
    made_at: str,
    assessment: Assessment | None = None,
    policy: str | None = None,
    ledger: str | None = None,
) -> bytes:
    """The bytes of attestation.json: a DSSE envelope around the in-toto statement, both canonical JSON.

    ``files`` maps the names of the report's files to their SHA-256; ``assessment`` is the gate's verdict, by default what
    the report itself says; ``policy`` is the SHA-256 of the policy behind it and ``ledger`` the id of the ledger that holds
    the entries. Same facts, same key: same bytes.
    """
    statement = Statement.about(document, files, assessment or document.assessment, policy, made_at, ledger)
    return canonical_bytes(seal(canonical_bytes(statement.to_dict()), IN_TOTO_TYPE, key))


def read_attestation(content: bytes, keys: Mapping[str, PublicKey]) -> dict[str, Any]:
    """The statement of an attestation that one of ``keys`` (by id) signed; anything else is a `SignatureError`.

    It says what the signer stated, not that files at hand are those files: compare digests with the subjects.
    """
    envelope = read_json(content, "the attestation", SignatureError, max_bytes=_MAX_BYTES)
    payload, _ = open_envelope(envelope, IN_TOTO_TYPE, keys)
    raw = read_json(payload, "the attestation's statement", SignatureError)
    try:
        return Statement.model_validate(raw).to_dict()
    except ValidationError as error:
        where = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:_SHOWN])
        raise SignatureError(f"the attestation holds no statement on a change that we know: {where}") from error
