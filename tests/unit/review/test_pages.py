"""What people read is what was recorded: the gate looks at the attached pages, and a changed one stops a promotion."""

from datetime import timedelta

import pytest

from coordpath_governance.errors import LedgerError, NotFoundError, RefusedError, RegistryError, UsageError
from coordpath_governance.ledger.events import ReportMade
from coordpath_governance.review.decisions import waive
from coordpath_governance.review.gate import record_report
from coordpath_governance.review.pages import changed_pages, page_states, recorded_files

NAME = "credit"
HTML = "change_report.html"
MARKDOWN = "change_report.md"
JSON = "change_report.json"


def pages_of(readiness):
    return next((each for each in readiness.judgement.results if each.rule == "pages"), None)


def beside(world, version="2", champion="1"):
    return world.registry.files[NAME, champion, version]


def newest_report(world):
    return [each for each in world.ledger.entries(NAME) if each.event == "report"][-1]


def test_the_entry_names_the_pages_and_the_ledger_keeps_their_bytes(champion_world):
    made = newest_report(champion_world).facts
    files = recorded_files(champion_world.ledger, made)
    assert set(made.pages) == {HTML, MARKDOWN}
    assert files == beside(champion_world)
    assert files[HTML].startswith(b"<!doctype html>")
    assert champion_world.ledger.blob(made.pages[MARKDOWN]) == files[MARKDOWN]
    assert page_states(champion_world.registry, NAME, made) == dict.fromkeys((JSON, HTML, MARKDOWN), "as recorded")


@pytest.mark.parametrize("file", [HTML, MARKDOWN, JSON])
def test_a_changed_page_fails_the_gate_by_name_and_nothing_is_promoted(champion_world, file):
    world = champion_world
    world.approve("2")
    beside(world)[file] += b" "
    answer = world.ask("2")
    assert (answer.verdict, answer.exit_code) == ("fail", 1)
    rule = pages_of(answer.readiness)
    assert (rule.result, rule.observed, rule.limit) == ("fail", f"{file}: changed", "as recorded")
    assert "coordpath report" in rule.reason
    assert "pages" in answer.reason
    with pytest.raises(RefusedError, match="pages"):
        world.promote("2")
    assert world.registry.set[NAME]["champion"] == "1"


def test_nobody_approves_a_page_that_is_not_the_recorded_one(champion_world):
    beside(champion_world)[HTML] += b" "
    with pytest.raises(RefusedError, match=f"the attached report is not the one that would be approved .{HTML}: changed"):
        champion_world.approve("2")
    assert champion_world.reject("2").event == "rejection"


def test_a_missing_page_is_told_too(champion_world):
    del beside(champion_world)[HTML]
    del beside(champion_world)[MARKDOWN]
    rule = pages_of(champion_world.ask("2").readiness)
    assert rule.observed == f"{HTML}: missing, {MARKDOWN}: missing"
    assert rule.reason.startswith(f"The recorded {HTML}, {MARKDOWN} are not beside the version")


@pytest.mark.parametrize("error", [RegistryError("the store is down"), NotFoundError("no such place")])
def test_pages_that_cannot_be_reached_are_unknown_and_a_person_is_needed(champion_world, error):
    world = champion_world
    world.approve("2")
    assert world.ask("2").verdict == "pass"
    world.registry.broken["attached"] = error
    answer = world.ask("2")
    rule = pages_of(answer.readiness)
    assert rule.result == "unknown"
    assert rule.observed == f"{JSON}: not known, {HTML}: not known, {MARKDOWN}: not known"
    assert "ask again" in rule.reason


def test_without_anybody_to_decide_unreachable_pages_do_not_pass(champion_world):
    world = champion_world
    world.adopt_policy(materiality=[{"class": "any"}])
    world.report("2", "1")
    assert world.ask("2").verdict == "pass"
    world.registry.broken["attached"] = RegistryError("the store is down")
    assert world.ask("2").verdict == "fail"


def test_nobody_waives_it(champion_world):
    rita = champion_world.person("Rita", "risk")
    beside(champion_world)[HTML] += b" "
    with pytest.raises(UsageError, match="nobody can waive"):
        waive(
            champion_world.ledger,
            champion_world.ask("2").readiness,
            champion_world.adopted.policy,
            rita,
            rule="pages",
            reason="so",
            days=None,
        )


def test_recording_again_gives_back_the_recorded_bytes_and_approvals_stay(champion_world, monkeypatch):
    """Also where this program lays pages out in another way by now, and where the hour is over."""
    world = champion_world
    report = world.report("2", "1")
    recorded = dict(beside(world))
    world.approve("2")
    report._html = report._html.replace("<title>", "<title>new ")
    assert record_report(world.ledger, report) == recorded
    assert world.events().count("report") == 2
    monkeypatch.setattr("coordpath_governance.review.gate._FRESH", timedelta(days=-1))
    assert record_report(world.ledger, report) == recorded
    assert world.events().count("report") == 3
    assert newest_report(world).facts.pages == [each.facts for _, each in _reports(world)][-2].pages
    assert world.ask("2").verdict == "pass"
    world.promote("2")


def _reports(world):
    return [(each.seq, each) for each in world.ledger.entries(NAME) if each.event == "report"]


def test_an_older_report_without_pages_is_not_asked_for_them_and_gets_them_when_made_again(champion_world):
    world = champion_world
    report = world.report("2", "1")
    old = newest_report(world).facts.model_copy(update={"pages": None})
    world.ledger.record("report", old, model=NAME)
    beside(world)[HTML] = b"anything"
    assert pages_of(world.ask("2").readiness) is None
    assert recorded_files(world.ledger, old) is None
    assert page_states(world.registry, NAME, old) is None
    assert changed_pages(None) == {}
    world.approve("2")
    world.registry.files[NAME, "1", "2"] = record_report(world.ledger, report)
    assert newest_report(world).facts.pages is not None
    assert world.ask("2").verdict == "pass"


def test_a_report_is_not_recorded_without_the_bytes_of_its_pages(champion_world):
    made = newest_report(champion_world).facts
    with pytest.raises(LedgerError, match="neither given nor kept"):
        champion_world.ledger.record("report", made.model_copy(update={"pages": {HTML: "0" * 64}}), model=NAME)


def test_only_pages_of_ours_are_pages():
    facts = {"version": "1", "champion": None, "champion_digest": None, "candidate_digest": "0" * 64, "report": "0" * 64}
    assert ReportMade(**facts).pages is None
    with pytest.raises(ValueError, match="pages"):
        ReportMade(**facts, pages={"../verdict.json": "0" * 64})


def test_the_gate_finds_a_changed_page_of_what_stands_already(champion_world):
    world = champion_world
    world.approve("2")
    world.promote("2")
    assert world.ask("2").verdict == "pass"
    beside(world)[HTML] += b" "
    answer = world.ask("2")
    assert (answer.verdict, answer.exit_code) == ("fail", 1)
    assert f"pages: {HTML}: changed" in answer.reason
    assert "--candidate 2 --champion 1` attaches it again" in answer.reason
