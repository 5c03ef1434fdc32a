"""An attestation of a report on two registered versions, checked with the commands of docs/attestation.md alone."""

import base64
import hashlib
import json
import re
import subprocess
import uuid
from pathlib import Path

import mlflow
import pytest

from coordpath_governance.attestation.attest import ATTESTATION_FILE, attest, read_attestation
from coordpath_governance.governance.version_report import report_on_versions
from coordpath_governance.reference.sources import open_source
from coordpath_governance.registry.versions import point_at
from coordpath_governance.reports.document import ChangeFacts
from coordpath_governance.reports.make import ReferenceData, settings_for
from coordpath_governance.signing.keys import new_key

GUIDE = Path(__file__).parents[2] / "docs" / "attestation.md"
SIGNED, MANIFEST = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def sh(script, folder):
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.fixture
def attested(store, tmp_path):
    """A folder with a report, its attestation and the public key; and the name of the model."""
    name = store.register(f"attested {uuid.uuid4().hex}", store.first, store.second)
    champion, candidate = (point_at(store.client, name, version) for version in "12")
    reference = ReferenceData(open_source(store.rows.csv), "price", role="holdout")
    report = report_on_versions(store.client, champion, candidate, reference, facts=ChangeFacts(), settings=settings_for())
    files = {
        "change_report.json": report.to_bytes(),
        "change_report.html": report.to_html().encode(),
        "change_report.md": report.to_markdown().encode(),
    }
    key = new_key()
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    files[ATTESTATION_FILE] = attest(report.document, digests, key, made_at="2026-01-02T03:04:05+00:00")
    der = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + key.public.raw).decode()
    files["public.pem"] = f"-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n".encode()
    for file, content in files.items():
        (tmp_path / file).write_bytes(content)
    statement = read_attestation(files[ATTESTATION_FILE], {key.public.id: key.public})
    return tmp_path, name, statement


def test_the_guide_checks_signature_and_files(attested):
    folder, *_ = attested
    done = sh(SIGNED, folder)
    assert done.returncode == 0, done.stderr
    assert "Signature Verified Successfully" in done.stdout
    assert done.stdout.count(": OK") == 3


@pytest.mark.parametrize("file", ["change_report.json", "change_report.html", "change_report.md"])
def test_the_guide_finds_a_changed_file(attested, file):
    folder, *_ = attested
    (folder / file).write_bytes((folder / file).read_bytes() + b"\n")
    done = sh(SIGNED, folder)
    assert done.returncode == 1
    assert f"{file}: FAILED" in done.stdout


@pytest.mark.parametrize("field", ["payload", "payloadType"])
def test_the_guide_finds_a_changed_attestation(attested, field):
    folder, *_ = attested
    envelope = json.loads((folder / ATTESTATION_FILE).read_bytes())
    payload = base64.b64decode(envelope["payload"]).replace(b"not assessed", b"pass")
    changed = {"payload": base64.b64encode(payload).decode(), "payloadType": "application/json"}
    (folder / ATTESTATION_FILE).write_text(json.dumps(envelope | {field: changed[field]}), encoding="utf-8")
    assert sh(SIGNED, folder).returncode == 1


def test_the_guide_finds_the_models_digest(attested, store, tmp_path):
    _, name, statement = attested
    files = mlflow.artifacts.download_artifacts(artifact_uri=f"models:/{name}/2", dst_path=str(tmp_path / "model"))
    Path(files, "coordpath", "deep").mkdir(parents=True, exist_ok=True)
    Path(files, "coordpath", "deep", "added later").write_text("x", encoding="utf-8")
    subject = statement["subject"][0]
    assert subject["name"] == f"{name}/2"
    assert sh(MANIFEST, files).stdout.split()[0] == subject["digest"]["sha256"]
    assert statement["predicate"]["champion"]["version"] == "1"
    assert statement["predicate"]["reference"] == {
        "digest": {"sha256": hashlib.sha256(store.rows.csv.read_bytes()).hexdigest()},
        "role": "holdout",
    }
