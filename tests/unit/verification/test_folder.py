"""A folder of ours: its pages are those that were attested, and those that the report gives."""

import base64
import json

import pytest

from coordpath_governance.attestation.attest import attest
from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.errors import NotFoundError, UsageError
from coordpath_governance.rendering.change_report import ChangeReport, rendered_pages
from coordpath_governance.signing.keys import new_key
from coordpath_governance.verification import folder as folders
from coordpath_governance.verification.folder import check_folder, read_folder

PAGES = ("change_report.html", "change_report.md")


@pytest.fixture(scope="module")
def report(document):
    return ChangeReport(document)


@pytest.fixture
def files(report):
    made = {"change_report.json": report.to_bytes(), **rendered_pages(report)}
    digests = {name: sha256_hex(content) for name, content in made.items()}
    verdict = canonical_bytes({"schema": "coordpath.verdict/1", "files": digests})
    signed = attest(report.document, digests, new_key(), made_at="2026-01-02T03:04:05Z")
    return made | {"verdict.json": verdict, "attestation.json": signed}


def findings(files, report):
    return [finding for check in check_folder(files, report).checks for finding in check.findings]


def test_an_untouched_folder_holds_and_says_what_was_not_looked_at(files, report, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "other.txt").write_text("not ours")
    assert read_folder(tmp_path) == files
    checked = check_folder(files, report)
    assert [(check.claim, check.passed) for check in checked.checks] == [("the pages are laid out from the report", True)]
    assert [point.partition(",")[0] for point in checked.not_rechecked] == [
        "who signed attestation.json (compare its keyid with `coordpath key list`",
        "what verdict.json says: nobody signs it (give --ledger EXPORT)",
    ]
    assert checked.unchecked == ("the verdict's files",)


@pytest.mark.parametrize("page", PAGES)
def test_a_changed_page_is_named_by_every_check(files, report, page):
    told = findings(files | {page: files[page] + b" "}, report)
    assert len(told) == 3
    assert all(finding.startswith(page) for finding in told)
    assert told[2] == f"{page} is not what change_report.json gives"


def test_a_missing_page_is_named(files, report):
    del files["change_report.md"]
    assert findings(files, report) == ["change_report.md is missing"] * 3


def test_a_page_and_the_files_that_name_it_changed_together_are_found_by_laying_it_out_again(files, report):
    page = b"<!doctype html><p>All is well."
    verdict = json.loads(files["verdict.json"])
    verdict["files"]["change_report.html"] = sha256_hex(page)
    files |= {"change_report.html": page, "verdict.json": canonical_bytes(verdict)}
    del files["attestation.json"]
    assert findings(files, report) == ["change_report.html is not what change_report.json gives"]


def test_pages_of_another_version_of_the_program_are_not_laid_out_again_and_that_is_said(files, report, monkeypatch):
    monkeypatch.setattr(folders, "__version__", "9.9")
    checked = check_folder(files | {"change_report.html": b"<h1>Forged</h1>"}, report)
    assert any("change_report.html was changed" in finding for check in checked.checks for finding in check.findings)
    alone = check_folder({"change_report.json": b"", "change_report.html": b"<h1>Forged</h1>"}, report)
    assert (alone.checks, alone.unchecked) == ((), ("the pages",))
    assert alone.not_rechecked[-1].startswith("whether the pages are laid out from the report: the report names version ")
    assert alone.not_rechecked[-1].endswith(", this is 9.9")


def test_files_that_name_a_forged_page_do_not_vouch_for_it(files, report, monkeypatch):
    """Whoever forges the page writes them too, and names another version so that nothing is laid out again."""
    monkeypatch.setattr(folders, "__version__", "9.9")
    files |= {"change_report.html": b"<h1>Forged</h1>"}
    digests = {name: sha256_hex(files[name]) for name in ("change_report.json", *PAGES)}
    statement = {"subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()]}
    payload = base64.b64encode(canonical_bytes(statement)).decode()
    files["verdict.json"] = canonical_bytes({"files": digests})
    files["attestation.json"] = canonical_bytes({"payload": payload, "signatures": []})
    checked = check_folder(files, report)
    assert (checked.checks, checked.unchecked) == ((), ("the pages", "the verdict's files"))


def test_without_verdict_and_attestation_that_is_said(files, report):
    del files["verdict.json"], files["attestation.json"]
    checked = check_folder(files, report)
    assert len(checked.checks) == 1
    assert "there is no attestation.json" in checked.not_rechecked[0]


def test_pages_of_a_decision_without_its_document_are_a_mismatch(files, report):
    told = findings(files | {"decision.html": b"<h1>Approved</h1>", "decision.md": b"# Approved"}, report)
    assert told == ["decision.html is there without decision.json", "decision.md is there without decision.json"]


@pytest.mark.parametrize(
    ("name", "content", "finding"),
    [
        ("verdict.json", b"{", "verdict.json is not what we write"),
        ("verdict.json", b"[]", "verdict.json is not what we write"),
        ("verdict.json", b'{"files": {}}', "verdict.json names no change_report.html"),
        ("attestation.json", b'{"payload": "%%"}', "attestation.json is not what we write"),
        ("attestation.json", b'{"payload": "e30="}', "attestation.json is not what we write"),
    ],
)
def test_damaged_files_of_ours_are_findings(files, report, name, content, finding):
    assert findings(files | {name: content}, report)[0].startswith(finding)


def test_a_folder_without_a_report_and_files_too_large(tmp_path, monkeypatch):
    with pytest.raises(NotFoundError, match=r"no change_report\.json"):
        read_folder(tmp_path)
    (tmp_path / "change_report.json").write_text("{}")
    monkeypatch.setattr(folders, "_MAX_BYTES", 1)
    with pytest.raises(UsageError, match="no file of ours"):
        read_folder(tmp_path)
