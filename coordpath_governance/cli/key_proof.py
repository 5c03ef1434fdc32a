"""Files that prove that a key's owner has it: `coordpath key make --proof` writes one, `key new --public` reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coordpath_governance.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from coordpath_governance.ledger.events import KeyProof
    from coordpath_governance.signing.keys import PublicKey

__all__ = ["read_proof_file", "write_proof_file"]

_LONGEST = 100_000


def write_proof_file(path: Path, content: bytes) -> None:
    """Write a new file; `UsageError` if it is there already or cannot be written."""
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        raise UsageError(f"'{path}' is there already; name another file for the proof") from None
    except OSError as error:
        raise UsageError(f"cannot write the proof to '{path}': {error.strerror}") from error


def read_proof_file(path: Path | None, public: PublicKey, owner: str, ledger: str) -> KeyProof:
    """The proof in a file, checked: `UsageError` without one, `SignatureError` if it does not prove what it should."""
    from coordpath_governance.ledger.keyring import read_proof

    if path is None:
        raise UsageError(
            "a public key is added with proof that its owner has the private one: give --proof FILE. The owner makes key "
            "and proof with `coordpath key make OWNER --out KEY.pem --proof FILE`"
        )
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST)
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{path}'") from None
    except OSError as error:
        raise UsageError(f"cannot read the proof '{path}': {error.strerror}") from error
    return read_proof(content, f"'{path}'", public, owner, ledger)
