"""Keys: written once, for their owner only, and read back or told why not."""

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from coordpath_governance.errors import SigningKeyError
from coordpath_governance.signing.keys import PrivateKey, PublicKey, new_key


@pytest.mark.parametrize("passphrase", [None, "open sesame ü"])
def test_a_key_reads_back(tmp_path, passphrase):
    key, path = new_key(), tmp_path / "keys" / "mine.pem"
    key.save(path, passphrase)
    assert PrivateKey.load(path, passphrase).public == key.public
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (b"ENCRYPTED" in path.read_bytes()) == (passphrase is not None)


def test_a_private_key_shows_nothing_of_itself():
    key = new_key()
    assert repr(key) == f"<PrivateKey {key.public.id[:12]}>"


def test_a_key_is_never_overwritten(tmp_path):
    path = tmp_path / "mine.pem"
    new_key().save(path)
    before = path.read_bytes()
    with pytest.raises(SigningKeyError, match="never overwritten"):
        new_key().save(path)
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_written():
    with pytest.raises(SigningKeyError, match="cannot write"):
        new_key().save(Path("/proc/none/mine.pem"))


def test_a_passphrase_that_nobody_needs_is_not_used(tmp_path):
    key = new_key()
    key.save(tmp_path / "plain")
    assert PrivateKey.load(tmp_path / "plain", "of another key").public == key.public


def test_what_cannot_be_loaded(tmp_path):
    locked, other, text = (tmp_path / name for name in ("locked", "other", "text"))
    new_key().save(locked, "secret")
    other.write_bytes(X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    text.write_text("hello")
    for path, passphrase, said in (
        (tmp_path / "none", None, "see `coordpath key new`"),
        (locked, None, "is encrypted: set COORDPATH_KEY_PASSPHRASE"),
        (locked, "wrong", "the passphrase is wrong"),
        (other, None, "is not an Ed25519 key"),
        (text, None, "is not a private key we can read"),
    ):
        with pytest.raises(SigningKeyError, match=said):
            PrivateKey.load(path, passphrase)


def test_a_public_key_is_text_and_back():
    key = new_key().public
    assert PublicKey.from_text(key.text) == key
    assert len(key.id) == 64


@pytest.mark.parametrize("text", ["", "AAAA", "not base64!", "ä"])
def test_texts_that_are_no_public_key(text):
    with pytest.raises(SigningKeyError):
        PublicKey.from_text(text)
