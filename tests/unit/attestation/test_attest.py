"""What an attestation says, that anything changed in it is refused, and that verifiers which are not ours accept it."""

import base64
import copy
import hashlib
import json
import subprocess

import pytest
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement as InTotoStatement

from coordpath_governance.attestation.attest import IN_TOTO_TYPE, PREDICATE_TYPE, attest, read_attestation
from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.errors import SignatureError, UsageError
from coordpath_governance.reports.document import Assessment
from coordpath_governance.signing.envelope import seal
from coordpath_governance.signing.keys import new_key

NOW = "2026-01-02T03:04:05+00:00"
POLICY, LEDGER = "c" * 64, "d" * 32
GATE = Assessment(verdict="review", reason="one rule asks for a person", materiality="major")


@pytest.fixture
def digests(contents):
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


@pytest.fixture
def content(document, digests, key):
    return attest(document, digests, key, made_at=NOW, assessment=GATE, policy=POLICY, ledger=LEDGER)


@pytest.fixture
def keys(key):
    return {key.public.id: key.public}


@pytest.fixture
def statement(content, keys):
    return read_attestation(content, keys)


def with_payload(content, change):
    """The envelope with another payload under the old signature."""
    envelope = json.loads(content)
    inner = json.loads(base64.b64decode(envelope["payload"]))
    change(inner)
    envelope["payload"] = base64.b64encode(canonical_bytes(inner)).decode()
    return canonical_bytes(envelope)


def signed_by(key, statement, payload_type=IN_TOTO_TYPE):
    """Whatever it says, with a valid signature."""
    return canonical_bytes(seal(canonical_bytes(statement), payload_type, key))


def test_the_statement_names_the_bytes_and_what_was_said_of_them(statement, document, digests):
    assert statement == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": "price/2", "digest": {"sha256": "b" * 64}},
            *({"name": name, "digest": {"sha256": digests[name]}} for name in sorted(digests)),
        ],
        "predicateType": "urn:coordpath:change-verdict:v1",
        "predicate": {
            "champion": {"name": "price", "version": "1", "digest": {"sha256": "a" * 64}},
            "verdict": "review",
            "reason": "one rule asks for a person",
            "materiality": "major",
            "policy": {"sha256": POLICY},
            "reference": {"digest": {"sha256": document.data.sha256}, "role": "holdout"},
            "made_at": NOW,
            "tool": {"name": "coordpath-governance", "version": document.tool.version},
            "ledger": LEDGER,
        },
    }


def test_without_a_gate_it_says_what_the_report_says(document, digests, key, keys):
    first = document.model_copy(update={"subject": document.subject.model_copy(update={"champion": None})})
    predicate = read_attestation(attest(first, digests, key, made_at=NOW), keys)["predicate"]
    assert predicate["champion"] is None
    assert predicate["policy"] is None
    assert predicate["ledger"] is None
    assert predicate["verdict"] == document.assessment.verdict == "not assessed"
    assert predicate["reason"] == document.assessment.reason


def test_the_same_facts_and_key_give_the_same_bytes(content, document, digests, key):
    shuffled = dict(reversed(digests.items()))
    again = attest(document, shuffled, key, made_at=NOW, assessment=GATE, policy=POLICY, ledger=LEDGER)
    assert again == content == canonical_bytes(json.loads(content))


def test_a_model_that_was_never_a_file_is_not_attested(document, digests, key):
    subject = document.subject
    bare = subject.model_copy(update={"candidate": subject.candidate.model_copy(update={"digest": None})})
    with pytest.raises(UsageError, match="no digest to attest"):
        attest(document.model_copy(update={"subject": bare}), digests, key, made_at=NOW)


def change_subject(statement):
    statement["subject"][0]["digest"]["sha256"] = "e" * 64


def change_verdict(statement):
    statement["predicate"]["verdict"] = "pass"


def change_type(statement):
    statement["predicateType"] = "https://slsa.dev/provenance/v1"


def add_subject(statement):
    statement["subject"].append({"name": "other", "digest": {"sha256": "e" * 64}})


@pytest.mark.parametrize("change", [change_subject, change_verdict, change_type, add_subject])
def test_a_changed_payload_is_refused(content, keys, change):
    with pytest.raises(SignatureError, match="not one of key"):
        read_attestation(with_payload(content, change), keys)


def test_any_changed_bit_of_the_signature_is_refused(content, keys):
    envelope = json.loads(content)
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    for place in range(len(signature)):
        changed = copy.deepcopy(envelope)
        flipped = bytes(byte ^ (index == place) for index, byte in enumerate(signature))
        changed["signatures"][0]["sig"] = base64.b64encode(flipped).decode()
        with pytest.raises(SignatureError, match="not one of key"):
            read_attestation(canonical_bytes(changed), keys)


def test_another_payload_type_is_refused_even_if_validly_signed(content, keys, key, statement):
    other = "application/vnd.coordpath.ledger-entry+json"
    with pytest.raises(SignatureError, match="the envelope holds 'application"):
        read_attestation(signed_by(key, statement, other), keys)
    relabelled = json.loads(signed_by(key, statement, other)) | {"payloadType": IN_TOTO_TYPE}
    with pytest.raises(SignatureError, match="not one of key"):
        read_attestation(canonical_bytes(relabelled), keys)


def test_another_key_is_refused_under_its_own_name_and_under_ours(statement, keys, key):
    stranger = new_key()
    with pytest.raises(SignatureError, match="not known here"):
        read_attestation(signed_by(stranger, statement), keys)
    posing = json.loads(signed_by(stranger, statement))
    posing["signatures"][0]["keyid"] = key.public.id
    with pytest.raises(SignatureError, match="not one of key"):
        read_attestation(canonical_bytes(posing), keys)


def replaced(path, value):
    """The change that puts ``value`` at a place of the statement."""

    def change(statement):
        *way, last = path
        for part in way:
            statement = statement[part]
        statement[last] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        replaced(("_type",), "https://in-toto.io/Statement/v0.1"),
        replaced(("predicateType",), "urn:coordpath:change-verdict:v2"),
        replaced(("subject",), []),
        replaced(("subject", 0, "digest"), {}),
        replaced(("subject", 0, "digest", "sha256"), "B" * 64),
        replaced(("subject", 0, "name"), ""),
        replaced(("predicate", "verdict"), "approved"),
        replaced(("predicate", "made_at"), "yesterday"),
        replaced(("predicate", "extra"), 1),
        replaced(("predicate", "ledger"), "a ledger"),
        replaced(("predicate",), None),
    ],
)
def test_a_validly_signed_statement_of_another_shape_is_refused(statement, key, keys, change):
    change(statement)
    with pytest.raises(SignatureError, match="no statement on a change"):
        read_attestation(signed_by(key, statement), keys)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not JSON"),
        (b"\xff", "is not UTF-8"),
        (b"[]", "not an envelope"),
        (b'{"payload": "", "payload": ""}', "twice"),
        (b'{"payload":"","payloadType":"application/vnd.in-toto+json","signatures":[]}', "not an envelope"),
        (b" " * (1024 * 1024 + 1), "at most"),
    ],
)
def test_what_is_no_envelope_is_refused(content, says, keys):
    with pytest.raises(SignatureError, match=says):
        read_attestation(content, keys)


def test_a_payload_that_is_no_json_is_refused_though_signed(key, keys):
    with pytest.raises(SignatureError, match="the attestation's statement: is not JSON"):
        read_attestation(canonical_bytes(seal(b"{", IN_TOTO_TYPE, key)), keys)


def test_in_toto_finds_it_valid(content):
    payload = base64.b64decode(json.loads(content)["payload"])
    parsed = json_format.Parse(payload, statement_pb2.Statement())
    statement = InTotoStatement.copy_from_pb(parsed)
    statement.validate()
    for subject in statement.pb.subject:
        ResourceDescriptor.copy_from_pb(subject).validate()
    assert statement.pb.predicate_type == PREDICATE_TYPE
    assert statement.pb.subject[0].digest["sha256"] == "b" * 64
    assert statement.pb.predicate["verdict"] == "review"


def pre_authentication_encoding(payload_type, payload):
    """PAE of the DSSE protocol, version 1, written from its text."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def openssl_accepts(folder, public, signed, signature):
    """Whether the openssl command finds an Ed25519 signature good; the key in the DER form of RFC 8410."""
    files = {"key.der": bytes.fromhex("302a300506032b6570032100") + public, "signed": signed, "signature": signature}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    done = subprocess.run(
        [
            *("openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", folder / "key.der"),
            *("-rawin", "-in", folder / "signed", "-sigfile", folder / "signature"),
        ],
        capture_output=True,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0


def test_openssl_finds_the_signature_good_and_nothing_else(content, key, tmp_path):
    envelope = json.loads(content)
    payload, (signature,) = base64.b64decode(envelope["payload"]), envelope["signatures"]
    raw = base64.b64decode(signature["sig"])
    good = pre_authentication_encoding("application/vnd.in-toto+json", payload)
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert signature["keyid"] == hashlib.sha256(key.public.raw).hexdigest()
    assert openssl_accepts(tmp_path, key.public.raw, good, raw)
    changed = payload.replace(b'"verdict":"review"', b'"verdict":"pass"')
    assert changed != payload
    assert not openssl_accepts(tmp_path, key.public.raw, pre_authentication_encoding(IN_TOTO_TYPE, changed), raw)
    assert not openssl_accepts(tmp_path, key.public.raw, pre_authentication_encoding("text/plain", payload), raw)
    assert not openssl_accepts(tmp_path, key.public.raw, good, bytes([raw[0] ^ 1]) + raw[1:])
    assert not openssl_accepts(tmp_path, new_key().public.raw, good, raw)
