"""A folder of ours: its pages are those that were attested, and those that the report gives."""

import json

import pytest

from coordpath_governance.attestation import folder as folders
from coordpath_governance.attestation.attest import attest
from coordpath_governance.attestation.folder import check_folder, read_folder
from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.errors import NotFoundError, UsageError
from coordpath_governance.reports.change_report import ChangeReport
from coordpath_governance.review.pages import rendered_pages
from coordpath_governance.signing.keys import new_key

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
    checks, _ = check_folder(files, report)
    return [finding for check in checks for finding in check.findings]


def test_an_untouched_folder_holds_and_says_what_was_not_looked_at(files, report, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "other.txt").write_text("not ours")
    assert read_folder(tmp_path) == files
    checks, open_points = check_folder(files, report)
    assert [check.what for check in checks] == [
        "the report's files are those of verdict.json",
        "the report's files are those of attestation.json",
        "the pages are laid out from the report",
    ]
    assert all(check.passed and check.level == "pages" for check in checks)
    assert open_points == ("who signed attestation.json (compare its keyid with `coordpath key list`)",)


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
    checks, open_points = check_folder(files, report)
    assert len(checks) == 2
    assert open_points[-1].startswith("whether the pages are laid out from the report: version ")
    assert open_points[-1].endswith(", this is 9.9")


def test_without_verdict_and_attestation_that_is_said(files, report):
    del files["verdict.json"], files["attestation.json"]
    checks, open_points = check_folder(files, report)
    assert len(checks) == 1
    assert [point.rpartition(" ")[2] for point in open_points] == ["verdict.json", "attestation.json"]


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
