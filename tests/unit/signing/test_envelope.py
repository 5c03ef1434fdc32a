"""Envelopes: what is signed, as what, by whom; nothing else passes."""

import base64

import pytest

from coordpath_governance.errors import SignatureError
from coordpath_governance.signing.envelope import check_signature, open_envelope, seal, sign
from coordpath_governance.signing.keys import new_key

TYPE = "application/x.test"


@pytest.fixture
def key():
    return new_key()


def test_what_was_sealed_opens(key):
    envelope = seal(b"payload", TYPE, key)
    assert open_envelope(envelope, TYPE, {key.public.id: key.public}) == (b"payload", key.public.id)


def test_every_byte_of_payload_type_and_signature_counts(key):
    signature = sign(b"payload", TYPE, key)
    check_signature(b"payload", TYPE, signature, key.public)
    for position in range(len(signature)):
        other = "B" if signature[position] == "A" else "A"
        with pytest.raises(SignatureError):
            check_signature(b"payload", TYPE, signature[:position] + other + signature[position + 1 :], key.public)
    for payload, kind in ((b"Payload", TYPE), (b"payload", TYPE + "x"), (b"", TYPE)):
        with pytest.raises(SignatureError):
            check_signature(payload, kind, signature, key.public)


def test_the_unused_bits_of_base64_count_too(key):
    signature = sign(b"payload", TYPE, key)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    twin = signature[:-3] + alphabet[alphabet.index(signature[-3]) + 1] + "=="
    assert base64.b64decode(twin) == base64.b64decode(signature)
    with pytest.raises(SignatureError, match="the one base64 text"):
        check_signature(b"payload", TYPE, twin, key.public)


def test_another_key_and_no_base64(key):
    with pytest.raises(SignatureError, match="is not one of key"):
        check_signature(b"x", TYPE, sign(b"x", TYPE, new_key()), key.public)
    with pytest.raises(SignatureError, match="not base64"):
        check_signature(b"x", TYPE, "ä", key.public)


@pytest.mark.parametrize(
    "change",
    [{"signatures": []}, {"signatures": "ab"}, {"payload": "%"}, {"payload": None}, {"signatures": [{}]}],
)
def test_what_is_no_envelope(key, change):
    with pytest.raises(SignatureError, match="not an envelope"):
        open_envelope({**seal(b"x", TYPE, key), **change}, TYPE, {key.public.id: key.public})


def test_two_signatures_are_not_one(key):
    envelope = seal(b"x", TYPE, key)
    with pytest.raises(SignatureError, match="not an envelope"):
        open_envelope({**envelope, "signatures": envelope["signatures"] * 2}, TYPE, {key.public.id: key.public})


def test_another_type_and_an_unknown_key(key):
    envelope = seal(b"x", TYPE, key)
    with pytest.raises(SignatureError, match="expected 'other'"):
        open_envelope(envelope, "other", {key.public.id: key.public})
    with pytest.raises(SignatureError, match="not known here"):
        open_envelope(envelope, TYPE, {})
