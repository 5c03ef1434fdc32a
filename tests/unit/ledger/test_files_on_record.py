"""Forged files beside a genuine report: an export of the ledger has the digests of all of them."""

import base64
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from helpers.governed_world import newest_decision

from coordpath_governance.attestation.attest import attest, attest_decision
from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.cli.verify_command import command
from coordpath_governance.governance.decision_files import record_decisions
from coordpath_governance.ledger.export import export_lines
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import Assessment
from coordpath_governance.signing.keys import new_key
from coordpath_governance.verification import folder as folders

NAME = "credit"
NOW = "2026-03-01T00:00:00Z"
REPORT = ("change_report.json", "change_report.html", "change_report.md")


@pytest.fixture
def case(world, tmp_path):
    """A folder of version 1 as it was attached, and how it verifies against an export."""
    world.register("1")
    world.report("1")
    world.approve("1")
    world.promote("1")
    record_decisions(world.ledger, NAME)
    files = {name: world.registry.files[NAME, None, "1"][name] for name in REPORT}
    document, decision = newest_decision(world.ledger, NAME, "1")

    def run(ledger=True):
        folder, export = tmp_path / "folder", tmp_path / "ledger.jsonl"
        folder.mkdir(exist_ok=True)
        for name in folder.iterdir():
            name.unlink()
        for name, content in made.files.items():
            (folder / name).write_bytes(content)
        export.write_bytes(b"".join(export_lines(world.ledger.id, world.ledger.entries(), world.ledger.blobs)))
        options = ("--ledger", str(export)) if ledger else ()
        done = CliRunner().invoke(command, [str(folder), *options], standalone_mode=False, catch_exceptions=False)
        return done.return_value, done.output

    report = ChangeReport.from_bytes(files["change_report.json"])
    made = SimpleNamespace(world=world, files=files | decision, document=document, report=report, run=run)
    made.attest = lambda key=None, digests=None, document=None, ledger=world.ledger.id: attest(
        document or report.document,
        digests or {name: sha256_hex(made.files[name]) for name in REPORT},
        key or world.ledger.service,
        made_at=NOW,
        assessment=Assessment(verdict="pass", reason="all is met", materiality=None),
        ledger=ledger,
    )
    return made


def verdict(case, **changes):
    digests = {name: sha256_hex(case.files[name]) for name in REPORT}
    said = {"verdict": "pass", "reason": "all is met", "materiality": None, "policy_sha256": None, "files": digests}
    return canonical_bytes(said | changes)


def attach_verdict(case, attested=None, **changes):
    """verdict.json and attestation.json of the newest recorded verdict, as a report leaves them."""
    given = [each.facts for each in case.world.ledger.entries(NAME) if each.event == "verdict"][-1]
    told = Assessment(verdict=given.verdict, reason="all is met", materiality=given.materiality)
    policy, document = given.binding.policy, case.report.document
    said = {
        "verdict": given.verdict,
        "materiality": given.materiality,
        "policy_sha256": policy,
        "alias": given.binding.alias,
        "rules": [rule.model_dump(mode="json") for rule in given.rules],
        "missing": [],
        "subject": document.subject.model_dump(mode="json"),
        "made_at": NOW,
        "tool": document.tool.model_dump(mode="json"),
    }
    case.files["verdict.json"] = verdict(case, **said | changes)
    digests = {name: sha256_hex(case.files[name]) for name in REPORT}
    case.files["attestation.json"] = attest(
        document,
        digests,
        case.world.ledger.service,
        made_at=NOW,
        assessment=told.model_copy(update=attested or {}),
        policy=policy,
        ledger=case.world.ledger.id,
    )


NOT_CHECKED = "; the verdict's files were not checked"


def test_the_files_as_they_were_attached_hold(case):
    attach_verdict(case)
    code, out = case.run()
    assert code == 0, out
    for said in (
        "the pages are those that the ledger recorded",
        "the decision's files are those that the ledger recorded, about this change",
        "the ledger's service signed attestation.json, about these files",
        "verdict.json says what the service attested",
    ):
        assert f"ok        ledger: {said}\n" in out
    assert out.splitlines()[-1].endswith("the data were not rechecked")
    assert "who signed" not in out
    assert "nobody signs" not in out
    del case.files["verdict.json"]
    assert case.run()[1].splitlines()[-1].endswith("the data were not rechecked")
    del case.files["attestation.json"]
    assert case.run()[1].splitlines()[-1].endswith("the data were not rechecked")


@pytest.mark.parametrize(
    "changes",
    [
        {"rules": []},
        {"missing": ["1 approval by the board"]},
        {"subject": {}},
        {"made_at": "2020-01-01T00:00:00Z"},
        {"alias": "other"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_nobody_signed_of_a_verdict_is_compared_with_the_ledger(case, changes):
    attach_verdict(case, **changes)
    code, out = case.run()
    assert (code, out.splitlines()[-1].endswith(NOT_CHECKED)) == (0, True), out
    assert "not rechecked: the rules and what is missing in verdict.json" in out


def test_a_verdict_that_the_gate_did_not_give_is_not_said_to_be_checked(case):
    """Whoever has an old key of the service can attest one."""
    attach_verdict(case, attested={"materiality": "minor"})
    del case.files["verdict.json"]
    code, out = case.run()
    assert (code, out.splitlines()[-1].endswith(NOT_CHECKED)) == (0, True), out
    assert "not rechecked: the verdict in attestation.json" in out


def test_the_approvals_that_a_verdict_asks_for_are_those_that_were_attested(case):
    world = case.world
    world.register("2")
    world.report("2", "1")
    world.ask("2")
    files = {name: world.registry.files[NAME, "1", "2"][name] for name in REPORT}
    case.files, case.report = files, ChangeReport.from_bytes(files["change_report.json"])
    missing = ["1 approval by validator"]
    attach_verdict(case, {"reason": "Still needed: 1 approval by validator. One more."}, missing=missing)
    attested = {"reason": "Still needed: 1 approval by validator. One more."}
    for said, checked in ((missing, True), ([], False)):
        attach_verdict(case, attested, reason=attested["reason"], missing=said)
        code, out = case.run()
        assert (code, out.splitlines()[-1].endswith(NOT_CHECKED)) == (0, not checked), out


def test_the_next_report_lies_beside_the_record_of_a_rejection(case):
    """That is how a folder is when people want another report; nothing in it is wrong."""
    world = case.world
    world.register("2")
    world.report("2", "1")
    world.reject("2", comment="no")
    record_decisions(world.ledger, NAME)
    rejection = newest_decision(world.ledger, NAME, "2")[1]
    world.report("2", "1", sources=("read from the model's files (a pickle, as data)", "read from the model's files"))
    case.files = {name: world.registry.files[NAME, "1", "2"][name] for name in REPORT} | rejection
    for ledger in (True, False):
        code, out = case.run(ledger)
        assert code == 0, out
        assert "not rechecked: what was decided about this report: decision.json is about another one on this change" in out
    world.approve("2")
    world.promote("2")
    record_decisions(world.ledger, NAME)
    code, out = case.run()
    newest = [each.seq for each in world.ledger.entries(NAME) if each.event == "decision record"][-1]
    assert f"not rechecked: what was decided since: entry {newest} records a newer decision on this change" in out
    case.files |= newest_decision(world.ledger, NAME, "2")[1]
    code, out = case.run()
    assert (code, "what was decided" in out) == (0, False), out


def test_an_entry_that_is_not_what_its_event_says_is_a_mismatch(case, monkeypatch):
    """Entries that are not sound are not read at all."""
    first, *others = case.world.ledger.entries()
    forged = replace(first, body={**first.body, "ledger": "not a name"})
    monkeypatch.setattr(type(case.world.ledger), "entries", lambda *_: (forged, *others))
    refused(case, "NOT intact")


def test_without_the_ledger_the_last_line_says_that_the_decision_was_not_checked(case):
    code, out = case.run(ledger=False)
    assert code == 0, out
    assert out.splitlines()[-1].endswith("; the decision's files were not checked")
    case.files |= {"attestation.json": case.attest(), "verdict.json": verdict(case, verdict="fail")}
    last = case.run(ledger=False)[1].splitlines()[-1]
    assert last.endswith("; the verdict's files were not checked; the decision's files were not checked")
    assert "not rechecked: who signed the decision" in out


def refused(case, *findings):
    code, out = case.run()
    assert code == 1, out
    for finding in findings:
        assert finding in out
    return out


def test_a_decision_that_a_stranger_attested_is_a_mismatch(case):
    approval = case.document.approvals[0]
    changes = {"actor": "Chief Risk Officer", "approvals": (approval, approval.model_copy(update={"by": "The Board"}))}
    forged = case.document.model_copy(update=changes)
    pages = {"decision.json": forged.to_bytes(), "decision.html": b"<h1>Approved by the board</h1>", "decision.md": b"#"}
    digests = {name: sha256_hex(content) for name, content in pages.items()}
    case.files |= pages | {"decision.attestation.json": attest_decision(forged, digests, new_key())}
    refused(case, "no entry of ledger ", "records a decision.json of SHA-256")


@pytest.mark.parametrize("name", ["decision.html", "decision.md", "decision.attestation.json"])
def test_a_changed_file_of_a_recorded_decision_is_a_mismatch(case, name):
    case.files[name] += b" "
    refused(case, f"{name} is not the file that entry ")


def test_a_decision_about_another_change_is_a_mismatch(case):
    world = case.world
    world.register("2")
    world.report("2", "1")
    world.reject("2", comment="no")
    record_decisions(world.ledger, NAME)
    case.files |= newest_decision(world.ledger, NAME, "2")[1]
    refused(case, "decision.json is about another change than the report")


def test_a_forged_page_of_an_older_version_is_a_mismatch_whatever_names_it(case, monkeypatch):
    monkeypatch.setattr(folders, "__version__", "9.9")
    assert case.run()[0] == 0
    case.files["change_report.html"] = b"<h1>Pass. Nothing changed.</h1>"
    digests = {name: sha256_hex(case.files[name]) for name in REPORT}
    statement = {"subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()]}
    payload = base64.b64encode(canonical_bytes(statement)).decode()
    case.files["verdict.json"] = canonical_bytes({"files": digests})
    case.files["attestation.json"] = canonical_bytes({"payload": payload, "signatures": []})
    refused(case, "change_report.html has SHA-256", "not an envelope with payload")


def test_an_attestation_counts_only_from_the_service_and_about_these_files(case):
    for signed, finding in (
        (case.attest(new_key()), "not known here"),
        (case.attest(digests=dict.fromkeys(REPORT, "0" * 64)), "change_report.html is not the file that was attested"),
        (case.attest(ledger="0" * 32), "it names another ledger"),
        (case.attest(document=_of_version(case.report.document, "7")), "it is about 'credit/7'"),
    ):
        case.files["attestation.json"] = signed
        refused(case, finding)


def _of_version(document, version):
    candidate = document.subject.candidate.model_copy(update={"version": version})
    return document.model_copy(update={"subject": document.subject.model_copy(update={"candidate": candidate})})


def test_a_verdict_says_what_was_attested_or_is_not_rechecked(case):
    case.files["verdict.json"] = verdict(case)
    code, out = case.run()
    assert code == 0, out
    assert "not rechecked: the verdict in verdict.json" in out
    case.files["attestation.json"] = case.attest()
    case.files["verdict.json"] = verdict(case, verdict="fail")
    refused(case, "verdict: verdict.json says 'fail', attestation.json says 'pass'")
    case.files["verdict.json"] = canonical_bytes({"files": {}})
    refused(case, "verdict.json is not what we write")
