"""A page that somebody changed beside a version: gate, review, promotion and sweep name it, and the report mends it."""

import shutil
from functools import cache

import pytest
from helpers.office import Office

from coordpath_governance.registry.attachments import folder_name

HTML = "change_report.html"


@cache
def _third(store):
    return store.fresh()


class Pages(Office):
    """An office with version 1 as champion and version 2 reported, and hands on the artifact store."""

    def folder_of(self, version, between):
        source = self.store.client.get_model_version(self.name, version).source.removeprefix("models:/")
        place = self.store.client.get_logged_model(source).artifact_location.removeprefix("file://")
        from pathlib import Path
        from urllib.request import url2pathname

        return Path(url2pathname(place)) / "coordpath" / folder_name(self.name) / between

    def reports(self):
        return [each for each in self.ledger.entries(self.name) if each.event == "report"]


@pytest.fixture
def office(store, coordpath, tmp_path):
    made = Pages(store, coordpath, tmp_path)
    store.register(made.name, store.first, store.second, _third(store))
    made.adopt_policy()
    made.champion()
    assert made.run("report", made.name, "--candidate", "2").code == 0
    return made


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name.startswith("change_report")}


def test_a_changed_page_is_named_by_everybody_and_mended_and_approvals_stay(office):
    office.approve("2", "Bob", "Cleo")
    folder = office.folder_of("2", "v1-to-v2")
    before = files(folder)
    (folder / HTML).write_bytes(before[HTML].replace(b"<body>", b"<body><p>All is well.</p>"))
    gate = office.run("gate", office.name, "2")
    assert gate.code == 1
    assert f"{HTML}: changed" in gate.plain
    review = office.run("review", office.name, "2", "--approve", "--key", office.key("Bob"))
    assert review.code == 1
    assert f"({HTML}: changed)" in review.err
    promoted = office.run("promote", office.name, "2")
    assert promoted.code == 1
    assert "pages" in promoted.err
    swept = office.run("sweep")
    assert swept.code == 1
    assert (
        f"changed {office.name}: the attached report on version 2 is not the recorded one ({HTML}: changed)" in swept.plain
    )
    count = len(office.reports())
    mended = office.run("report", office.name, "--candidate", "2", "--gate")
    assert mended.code == 0, mended.out
    assert "Other files were in its place. Attached again to" in mended.plain
    assert files(folder) == before
    assert len(office.reports()) == count
    assert office.run("sweep").code == 0
    assert office.run("promote", office.name, "2").code == 0
    assert office.run("audit", "verify").code == 0


def test_verify_rechecks_a_folder_as_it_was_attached(office, coordpath):
    folder = office.attached("2", "v1-to-v2")
    held = coordpath("verify", folder, "--data", office.store.rows.csv)
    assert held.code == 0, held.out
    assert held.out.splitlines()[-1].startswith("verified"), held.out
    assert "ok pages: the pages are laid out from the report" in held.plain
    assert "not rechecked: who signed attestation.json" in held.plain
    (folder / HTML).write_bytes((folder / HTML).read_bytes() + b" ")
    changed = coordpath("verify", folder)
    assert changed.code == 1
    assert f"{HTML} was changed: attestation.json says SHA-256" in changed.plain
    (folder / "change_report.json").unlink()
    assert coordpath("verify", folder).code == 2


def test_missing_pages_are_mended_and_another_report_is_made_if_it_is_asked_for(office):
    folder = office.folder_of("2", "v1-to-v2")
    before = files(folder)
    shutil.rmtree(folder)
    gate = office.run("gate", office.name, "2")
    assert gate.code == 1
    assert f"{HTML}: missing" in gate.plain
    assert office.run("report", office.name, "--candidate", "2").code == 0
    assert files(folder) == before
    assert sorted(path.name for path in folder.iterdir()) == [
        "attestation.json",
        *sorted(before),
        "verdict.json",
    ]
    assert office.run("gate", office.name, "2").code == 3
    (folder / HTML).unlink()
    out = office.folder / "out"
    assert office.run("report", office.name, "--candidate", "2", "--out", out).code == 0
    assert files(out) == before
    (folder / HTML).unlink()
    again = office.run("report", office.name, "--candidate", "2", "--reason", "drift")
    assert "Attached to" in again.plain
    assert files(folder)["change_report.json"] != before["change_report.json"]


def test_the_page_of_a_promoted_version_is_found_by_the_sweep_and_put_back(office):
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    assert office.run("sweep").code == 0
    for version, champion, between in (("1", "none", "none-to-v1"), ("2", "1", "v1-to-v2")):
        folder = office.folder_of(version, between)
        before = files(folder)
        verdict = (folder / "verdict.json").read_bytes()
        (folder / "change_report.md").write_text("# All is well\n", encoding="utf-8")
        swept = office.run("sweep")
        assert swept.code == 1
        assert f"`coordpath report '{office.name}' --candidate {version} --champion {champion}`" in swept.plain
        assert office.run("report", office.name, "--candidate", version, "--champion", champion).code == 0
        assert files(folder) == before
        assert (folder / "verdict.json").read_bytes() == verdict
        assert office.run("sweep").code == 0
    assert office.run("audit", "verify").code == 0


def test_making_the_report_again_keeps_it_although_the_gate_knows_more_by_now(office):
    """What the gate knew when the report was made is part of it; the same evidence gives the same report."""
    office.approve("2", "Bob", "Cleo")
    before = files(office.folder_of("2", "v1-to-v2"))
    again = office.run("report", office.name, "--candidate", "2", "--gate")
    assert again.code == 0
    assert "Already attached" in again.plain or "Attached to" in again.plain
    assert files(office.folder_of("2", "v1-to-v2")) == before


def test_a_store_that_cannot_be_reached_is_unknown_not_fine(office, monkeypatch):
    from coordpath_governance.errors import RegistryError
    from coordpath_governance.registry import client_registry

    def unreachable(*_):
        raise RegistryError("the artifact store does not answer")

    office.approve("2", "Bob", "Cleo")
    monkeypatch.setattr(client_registry, "present_attachments", unreachable)
    gate = office.run("gate", office.name, "2")
    assert "NOT KNOWN" in gate.plain
    swept = office.run("sweep")
    assert swept.code == 4
    assert "the report attached to version 2 cannot be reached" in swept.plain


def test_a_changed_decision_is_named_by_the_sweep_and_put_back(office):
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    page = office.folder_of("2", "v1-to-v2") / "decision.html"
    before = page.read_bytes()
    page.write_bytes(b"<h1>Approved by everybody</h1>")
    swept = office.run("sweep")
    assert swept.code == 1
    said = f"changed {office.name}: the attached decision on version 2 is not the recorded one (decision.html: changed)"
    assert said in swept.plain
    assert page.read_bytes() == before
    assert office.run("sweep").code == 0
    page.unlink()
    assert office.run("sweep").code == 0
    assert page.read_bytes() == before


def test_a_decision_that_nobody_took_is_named_by_the_sweep_until_it_is_removed(office):
    page = office.folder_of("2", "v1-to-v2") / "decision.html"
    page.write_bytes(b"<h1>Approved by everybody</h1>")
    said = (
        f"changed {office.name}: version 2 has attached files of a decision that is not on record (decision.html); "
        "find out who put them there, and remove them"
    )
    for _ in range(2):
        swept = office.run("sweep")
        assert (swept.code, said in swept.plain) == (1, True), swept.plain
    assert page.exists()
    page.unlink()
    assert office.run("sweep").code == 0


def test_the_record_of_an_earlier_change_is_put_back_too_and_is_no_record_of_another(office):
    reject = ("review", office.name, "2", "--reject", "--comment", "not on these data", "--key", office.key("Bob"))
    assert office.run(*reject).code == 0
    page = office.folder_of("2", "v1-to-v2") / "decision.html"
    before = page.read_bytes()
    assert office.run("report", office.name, "--candidate", "3").code == 0
    office.approve("3", "Bob", "Cleo")
    assert office.run("promote", office.name, "3").code == 0
    assert office.run("report", office.name, "--candidate", "2").code == 0
    elsewhere = office.folder_of("2", "v3-to-v2") / "decision.html"
    elsewhere.write_bytes(before)
    swept = office.run("sweep")
    assert (swept.code, "that is not on record (decision.html)" in swept.plain) == (1, True), swept.plain
    elsewhere.unlink()
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    page.write_bytes(b"<h1>Approved by everybody</h1>")
    swept = office.run("sweep")
    assert (swept.code, "(decision.html: changed); the recorded one replaces it" in swept.plain) == (1, True), swept.plain
    assert page.read_bytes() == before
    assert office.run("sweep").code == 0


def test_an_older_report_that_is_put_back_says_nothing_of_the_version_now(office):
    assert office.run("report", office.name, "--candidate", "3").code == 0
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    assert office.run("report", office.name, "--candidate", "3").code == 0
    tags, description = office.store.tags(office.name, "3"), office.store.description(office.name, "3")
    assert tags["coordpath.champion_version"] == "2"
    folder = office.folder_of("3", "v1-to-v3")
    before = files(folder)
    (folder / HTML).write_bytes(b"<p>All is well.</p>")
    assert office.run("report", office.name, "--candidate", "3", "--champion", "1").code == 0
    assert files(folder) == before
    assert office.store.tags(office.name, "3") == tags
    assert office.store.description(office.name, "3") == description


def test_what_stands_keeps_the_report_by_which_it_was_promoted(office):
    """Another report in its place would make the gate red for good, and the one that people approved would be gone."""
    assert office.run("report", office.name, "--candidate", "2", "--reason", "new quarter").code == 0
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    folder, count = office.folder_of("2", "v1-to-v2"), len(office.reports())
    before = files(folder)
    command = ("report", office.name, "--candidate", "2", "--champion", "1")
    there = office.run(*command, "--gate")
    assert (there.code, "It stands by this report. Already attached to" in there.plain) == (0, True), there.plain
    other = office.run(*command, "--reason", "a typo")
    assert (other.code, "was promoted by another report on this change" in other.plain) == (2, True), other.plain
    assert office.run(*command, "--json").code == 2
    assert (files(folder), len(office.reports())) == (before, count)
    out = office.folder / "out"
    aside = ("--no-attach", "--out", out, "--data", office.store.rows.csv, "--target", "price")
    assert office.run(*command, "--reason", "a typo", *aside).code == 0
    for name, content in files(out).items():
        (folder / name).write_bytes(content)
    gate, swept = office.run("gate", office.name, "2"), office.run("sweep")
    assert (gate.code, swept.code) == (1, 1)
    assert f"{HTML}: changed" in gate.plain
    assert f"{HTML}: changed" in swept.plain
    assert office.store.tags(office.name, "2")["coordpath.verdict"] == "fail"
    assert "The gate says now: Version 2 is 'champion', but" in office.store.description(office.name, "2")
    mended = office.run(*command, "--gate")
    assert (mended.code, "Attached again to" in mended.plain) == (0, True), mended.plain
    assert office.store.tags(office.name, "2")["coordpath.verdict"] == "pass"
    assert "The gate says now" not in office.store.description(office.name, "2")
    assert files(folder) == before
    assert [office.run(*each).code for each in (("gate", office.name, "2"), ("sweep",), ("audit", "verify"))] == [0, 0, 0]


def test_a_later_report_on_what_stands_does_not_take_its_place(office):
    """Ledgers in which one was recorded, before that was refused."""
    from coordpath_governance.rendering.change_report import ChangeReport
    from coordpath_governance.review.gate import record_report

    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    folder, out = office.folder_of("2", "v1-to-v2"), office.folder / "out"
    before = files(folder)
    command = ("report", office.name, "--candidate", "2", "--champion", "1")
    aside = ("--no-attach", "--out", out, "--data", office.store.rows.csv, "--target", "price")
    assert office.run(*command, "--reason", "a typo", *aside).code == 0
    record_report(office.ledger, ChangeReport.from_bytes((out / "change_report.json").read_bytes()))
    for name, content in files(out).items():
        (folder / name).write_bytes(content)
    assert (office.run("gate", office.name, "2").code, office.run("sweep").code) == (1, 1)
    assert office.run(*command).code == 0
    assert files(folder) == before
    assert (office.run("gate", office.name, "2").code, office.run("sweep").code) == (0, 0)
