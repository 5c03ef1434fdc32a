"""Is a report the one that a ledger recorded, where whoever has the service key may have lied?"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coordpath_governance import explain_change
from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.cli.verify_command import LedgerCheck, show_recorded
from coordpath_governance.ledger.export import export_lines
from coordpath_governance.ledger.recorded_report import recorded_report
from coordpath_governance.ledger.records import read_records
from coordpath_governance.models.coefficients_json import declared_bytes
from coordpath_governance.models.formats import DECLARED, vouched_source
from coordpath_governance.models.linear_model import LinearModel, NumericTerm, Provenance
from coordpath_governance.policy.judge import assess
from coordpath_governance.policy.load import read_policy
from coordpath_governance.rendering.change_report import ChangeReport


def model(version, slope, source="read from the model's files"):
    origin = Provenance(name="fraud", version=version, digest=version * 64)
    return LinearModel(1.0, numeric=(NumericTerm("a", slope),), source=source, provenance=origin)


def report_on(candidate, champion=None):
    rows = pd.DataFrame({"a": np.arange(30.0), "y": np.arange(30.0) * 2})
    return explain_change(champion or model("1", 1.0), candidate, data=rows, target="y")


@pytest.fixture
def look(book, tmp_path):
    """What an export of the book says of a report."""

    def ask(report):
        path = tmp_path / "ledger.jsonl"
        path.write_bytes(b"".join(export_lines("ab" * 16, book.entries, book.blobs)))
        return recorded_report(read_records(path), report.sha256, report.document)

    return ask


@pytest.fixture
def recorded(book):
    """A book that has recorded a report."""
    book.add_people()
    book.adopt()
    book.register()
    report = report_on(model("2", 2.0))
    book.report = report.to_bytes()
    book.make_report()
    return report


def wrong(found):
    return [finding for check in found.checks for finding in check.findings]


def test_the_recorded_report_and_what_was_decided_by_it(book, recorded, look):
    book.add_key(book.stranger, "Lea", "risk")
    approval, waiver = book.approve(), book.waive(book.stranger)
    done = book.promote(book.intend([approval], [waiver]))
    book.approve(report="9" * 64)
    found = look(recorded)
    assert wrong(found) == []
    assert (found.entry.event, found.entry.seq, found.newer) == ("report", 6, None)
    assert [entry.event for entry in found.naming] == ["approval", "waiver", "intent", "promotion"]
    assert found.naming[-1].hash == done.hash


def test_a_newer_report_on_the_same_change_is_named(book, recorded, look):
    book.report = report_on(model("2", 2.0), model("1", 1.5)).to_bytes()
    newer = book.make_report()
    assert look(recorded).newer.hash == newer.hash
    book.report = recorded.to_bytes()
    again = book.make_report()
    found = look(recorded)
    assert (found.entry.hash, found.newer) == (again.hash, None)


def test_what_people_are_told_of_it(book, recorded, tmp_path, capsys):
    book.report = report_on(model("2", 2.0), model("1", 1.5)).to_bytes()
    newer = book.make_report()
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b"".join(export_lines("ab" * 16, book.entries, book.blobs)))
    records = read_records(path)
    show_recorded(LedgerCheck(records, recorded_report(records, recorded.sha256, recorded.document)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Ledger {'ab' * 16}: intact, tail not anchored"
    assert lines[1].startswith("  recorded as entry 6 at 2026-01-01T00:00:06.000000Z, signed by service (service), key ")
    assert lines[2:] == [
        f"  a newer report on this change is entry 7 of {newer.at}",
        "  no verdict, approval, waiver, rejection or promotion names it",
    ]


def test_a_report_that_nobody_recorded(book, recorded, look):
    found = look(report_on(model("2", 3.0)))
    assert found.entry is None
    assert wrong(found)[0].startswith(f"no entry of ledger {'ab' * 16} records a report of SHA-256 ")
    assert wrong(found)[1].startswith("the newest report on this version is entry 6, SHA-256 ")
    assert len(wrong(look(report_on(model("3", 3.0))))) == 1


@pytest.mark.parametrize(
    ("changed", "finding"),
    [
        ({"version": "3"}, "version: the report says '2', entry 7 says '3'"),
        ({"candidate_digest": "9" * 64}, "files of the candidate: the report says '2222"),
        ({"champion": None, "champion_digest": None}, "champion: the report says '1', entry 7 says None"),
    ],
)
def test_a_report_recorded_under_the_name_of_another_change(book, recorded, look, changed, finding):
    book.make_report(**changed)
    assert any(each.startswith(finding) for each in wrong(look(recorded)))


def test_an_entry_that_is_not_sound_records_nothing(book, recorded, look):
    forged = book.entries.pop()
    book.entries.append(replace(forged, signature=book.entries[0].signature))
    found = look(recorded)
    assert found.entry is None
    assert wrong(found)[0].startswith("entry 6: ")
    assert found.checks[0].claim == "the export is NOT intact"


def test_the_policy_in_the_report_had_been_adopted(book, recorded, look):
    policy = read_policy(book.policy, "the policy")
    report = ChangeReport(assess(recorded.document, policy))
    book.report = report.to_bytes()
    book.make_report()
    assert wrong(look(report)) == []
    other = read_policy(
        canonical_bytes({**policy.model_dump(mode="json", by_alias=True, exclude_unset=True), "name": "x"}), "it"
    )
    report = ChangeReport(assess(recorded.document, other))
    book.report = report.to_bytes()
    book.make_report()
    assert [each.partition("…")[2] for each in wrong(look(report))] == [" had been adopted before entry 8"]


@pytest.mark.parametrize("declared", [2.0, 5.0, None])
def test_coefficients_that_somebody_is_said_to_vouch_for(book, recorded, look, declared):
    candidate = model("2", 2.0, vouched_source("Rob"))
    if declared is not None:
        book.declare(coefficients=declared_bytes(model("2", declared, DECLARED)))
    report = report_on(candidate)
    book.report = report.to_bytes()
    entry = book.make_report()
    assert wrong(look(report)) == ([] if declared == 2.0 else [f"nobody had declared them before entry {entry.seq}"])


def test_coefficients_that_only_the_author_states_need_no_declaration(book, recorded, look):
    report = report_on(model("2", 2.0, DECLARED))
    book.report = report.to_bytes()
    book.make_report()
    assert wrong(look(report)) == []
