"""Ed25519 keys. The id of a public key is the SHA-256 of its 32 bytes; a private key never leaves its file."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from securesystemslib.signer import CryptoSigner, SSlibKey

from coordpath_governance.errors import SigningKeyError

__all__ = ["PrivateKey", "PublicKey", "new_key"]

_RAW = 32
_OWNER_ONLY = 0o600
_ENCRYPTED = b"BEGIN ENCRYPTED"


@dataclass(frozen=True)
class PublicKey:
    """A public key: ``raw`` are its 32 bytes."""

    raw: bytes

    @property
    def id(self) -> str:
        """SHA-256 of the key, 64 hexadecimal digits."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def text(self) -> str:
        """The key as base64."""
        return base64.b64encode(self.raw).decode("ascii")

    @property
    def pem(self) -> str:
        """The key as other programs read it."""
        key = Ed25519PublicKey.from_public_bytes(self.raw)
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> PublicKey:
        """The key from base64, as `text` writes it; raises `SigningKeyError` for anything else."""
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise SigningKeyError(f"'{text[:80]}' is not a public key: it is not base64") from error
        if len(raw) != _RAW:
            raise SigningKeyError(f"'{text[:80]}' is not an Ed25519 public key: it has {len(raw)} bytes, not {_RAW}")
        return cls(raw)

    def for_dsse(self) -> SSlibKey:
        """The form in which securesystemslib checks envelopes."""
        return SSlibKey.from_crypto(Ed25519PublicKey.from_public_bytes(self.raw), self.id)


@dataclass(frozen=True)
class PrivateKey:
    """A private key; nothing shows its bytes."""

    _key: Ed25519PrivateKey

    def __repr__(self) -> str:
        return f"<PrivateKey {self.public.id[:12]}>"

    @property
    def public(self) -> PublicKey:
        """The public key that belongs to it."""
        return PublicKey(self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def for_dsse(self) -> CryptoSigner:
        """The form in which securesystemslib signs envelopes."""
        return CryptoSigner(self._key, self.public.for_dsse())

    def save(self, path: Path, passphrase: str | None = None) -> None:
        """Write a PEM file that only its owner may read, encrypted if there is a ``passphrase``.

        Raises `SigningKeyError` if the file exists or cannot be written.
        """
        encryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
        content = self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
        except FileExistsError as error:
            raise SigningKeyError(
                f"'{path}' is there already; a private key is never overwritten: name another file"
            ) from error
        except OSError as error:
            raise SigningKeyError(f"cannot write the private key to '{path}': {error.strerror}") from error
        with os.fdopen(handle, "wb") as file:
            file.write(content)

    @classmethod
    def load(cls, path: Path, passphrase: str | None = None) -> PrivateKey:
        """Read a PEM file; ``passphrase`` is used only if the file is encrypted.

        Raises `SigningKeyError` if it cannot be read, if the passphrase is wrong, or if the key is not an Ed25519 key.
        """
        try:
            content = path.read_bytes()
        except OSError as error:
            raise SigningKeyError(
                f"cannot read the private key '{path}': {error.strerror}; see `coordpath key new`"
            ) from error
        try:
            key = load_pem_private_key(content, passphrase.encode() if passphrase and _ENCRYPTED in content else None)
        except TypeError as error:
            raise SigningKeyError(f"the private key '{path}' is encrypted: set COORDPATH_KEY_PASSPHRASE") from error
        except (ValueError, UnsupportedAlgorithm) as error:
            raise SigningKeyError(f"'{path}' is not a private key we can read, or the passphrase is wrong") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise SigningKeyError(f"'{path}' is not an Ed25519 key; make one with `coordpath key new`")
        return cls(key)


def new_key() -> PrivateKey:
    """A new private key, from the randomness of the operating system."""
    return PrivateKey(Ed25519PrivateKey.generate())
