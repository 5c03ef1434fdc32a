"""The record of a decision: from the ledger's entries alone, the same bytes again, attested, and audited."""

import json

import pytest
from click.testing import CliRunner
from helpers.governed_world import newest_decision

from coordpath_governance.attestation.attest import DECISION_ATTESTATION, attest_decision, read_decision_attestation
from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.cli.audit_answers import verify_document
from coordpath_governance.cli.audit_command import command as audit_command
from coordpath_governance.errors import ReportFormatError, SignatureError
from coordpath_governance.governance.decision_files import record_decisions
from coordpath_governance.ledger.decision_documents import decision_of
from coordpath_governance.ledger.events import DecisionRecorded, Promotion, Rejection
from coordpath_governance.ledger.export import export_lines
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.ledger.verify import audit
from coordpath_governance.rendering.decision_view import DECISION_LAYOUT, render_decision_html, render_decision_markdown
from coordpath_governance.reports.decision import DecisionDocument
from coordpath_governance.review.ports import Actor
from coordpath_governance.signing.keys import new_key

NAME = "credit"
FILES = {"decision.json", "decision.html", "decision.md", DECISION_ATTESTATION}


@pytest.fixture
def decided_world(world):
    """Version 2 was promoted with a waiver and an approval."""
    world.first_champion()
    world.adopt_policy(rules={"steps": {"most": 1}})
    world.ready()
    world.waive("2", "steps", world.person("Rita", "risk"), reason="agreed with finance")
    world.approve("2", comment="figures rechecked")
    world.promote("2", actor=Actor("Olga", "key"))
    record_decisions(world.ledger, NAME)
    return world


def audited(world):
    entries, damaged = world.ledger.stored()
    return audit(entries, world.ledger.blobs, (), damaged)


def newest(world, kind):
    return [each for each in world.ledger.entries(NAME) if isinstance(each.facts, kind)][-1]


def test_a_promotion_is_told_in_full(decided_world):
    world = decided_world
    document, files = newest_decision(world.ledger, NAME, "2")
    promotion = newest(world, Promotion)
    assert set(files) == FILES
    assert files["decision.json"] == document.to_bytes()
    told = json.loads(files["decision.json"])
    assert (told["schema"], told["decision"]) == ("coordpath.decision/1", "promoted")
    assert (told["name"], told["alias"], told["from_version"], told["to_version"]) == (NAME, "champion", "1", "2")
    assert (told["actor"], told["authenticated_by"], told["completed"]) == ("Olga", "key", "at once")
    assert (told["at"], told["entry"], told["entry_sha256"]) == (promotion.at, promotion.seq, promotion.hash)
    (approval,), (waiver,) = told["approvals"], told["waivers"]
    assert (approval["by"], approval["roles"], approval["comment"]) == ("Bob", ["validator"], "figures rechecked")
    assert approval["key"] == world.bob.public.id
    assert (waiver["by"], waiver["rule"], waiver["reason"]) == ("Rita", "steps", "agreed with finance")
    assert waiver["expires"] > waiver["at"]
    assert told["verdict"]["verdict"] == "pass"
    assert {each["rule"]: each["result"] for each in told["verdict"]["rules"]}["steps"] == "waived"
    assert set(told["digests"]) == {"from_model", "to_model", "report", "policy", "pages"}
    assert set(told["digests"]["pages"]) == {"change_report.html", "change_report.md"}
    assert told["digests"]["policy"] == world.adopted.sha256
    assert told["ledger"] == world.ledger.id


def test_the_same_entries_give_the_same_bytes_and_nothing_is_recorded_twice(decided_world):
    world = decided_world
    count = len(world.ledger.entries())
    record_decisions(world.ledger, NAME)
    assert len(world.ledger.entries()) == count
    document, files = newest_decision(world.ledger, NAME, "2")
    assert render_decision_html(document).encode() == files["decision.html"]
    assert render_decision_markdown(document).encode() == files["decision.md"]
    digests = {name: sha256_hex(files[name]) for name in FILES - {DECISION_ATTESTATION}}
    assert attest_decision(document, digests, world.ledger.service) == files[DECISION_ATTESTATION]
    assert DecisionDocument.from_bytes(files["decision.json"]) == document


def test_it_is_attested_by_the_service_over_all_three_files(decided_world):
    world = decided_world
    document, files = newest_decision(world.ledger, NAME, "2")
    keys = {world.ledger.service.public.id: world.ledger.service.public}
    statement = read_decision_attestation(files[DECISION_ATTESTATION], keys)
    assert {each.name: each.digest.sha256 for each in statement.subject} == {
        f"{NAME}/2": document.digests.to_model,
        **{name: sha256_hex(files[name]) for name in FILES - {DECISION_ATTESTATION}},
    }
    assert statement.predicate.decision == "promoted"
    assert statement.predicate.entry_sha256 == newest(world, Promotion).hash
    stranger = new_key()
    with pytest.raises(SignatureError, match="not known"):
        read_decision_attestation(files[DECISION_ATTESTATION], {stranger.public.id: stranger.public})


def test_a_rejection_of_somebody_without_the_service_key_is_recorded_by_the_next_who_has_it(champion_world):
    world = champion_world
    world.approve("2", world.person("Cleo", "validator"))
    world.reject("2", comment="the data are old")
    service, world.ledger.service = world.ledger.service, None
    record_decisions(world.ledger, NAME)
    assert newest_decision(world.ledger, NAME, "2") is None
    world.ledger.service = service
    record_decisions(world.ledger, NAME)
    document, files = newest_decision(world.ledger, NAME, "2")
    assert (document.decision, document.actor, document.completed) == ("rejected", "Bob", None)
    assert [each.comment for each in document.rejections] == ["the data are old"]
    assert [each.by for each in document.approvals] == ["Cleo"]
    assert document.verdict.verdict == "pass"
    assert "✖ Rejected." in files["decision.md"].decode()
    assert newest_decision(world.ledger, NAME, "1")[0].from_version is None
    assert audited(world).intact


def test_decisions_of_older_ledgers_are_recorded_from_their_entries(champion_world):
    """Neither pages nor a verdict need be on record."""
    world = champion_world
    binding = world.ask("2").readiness.binding.model_copy(update={"report": "9" * 64})
    world.ledger.append("rejection", Rejection(binding=binding, comment="no"), world.bob, model=NAME)
    record_decisions(world.ledger, NAME)
    document, files = newest_decision(world.ledger, NAME, "2")
    assert (document.verdict, document.digests.pages) == (None, {})
    assert "What the gate said then is not on record." in files["decision.md"].decode()


def test_the_audit_takes_honest_records(decided_world):
    result = audited(decided_world)
    assert result.intact, result.problems


def forged(world, document, key=None, about=None, version=None, layout=DECISION_LAYOUT, **pages):
    """What somebody with the service key could record."""
    files = {
        "decision.json": document.to_bytes(),
        "decision.html": pages.get("html", render_decision_html(document).encode()),
        "decision.md": pages.get("md", render_decision_markdown(document).encode()),
    }
    digests = {name: sha256_hex(content) for name, content in files.items()}
    signed = attest_decision(document, digests, key or world.ledger.service)
    facts = DecisionRecorded(
        version=version or document.to_version,
        about=about or document.entry_sha256,
        decision=digests["decision.json"],
        pages={name: digests[name] for name in ("decision.html", "decision.md")},
        attestation=sha256_hex(signed),
        layout=layout,
    )
    return facts, (*files.values(), signed)


def record(world, facts, blobs):
    world.ledger.record("decision record", facts, model=NAME, blob=blobs)
    result = audited(world)
    assert not result.intact
    return " ".join(str(problem) for problem in result.problems)


@pytest.mark.parametrize(
    "changes",
    [{"actor": "Ann"}, {"approvals": ()}, {"waivers": ()}, {"completed": "after a crash"}, {"verdict": None}, {"at": "x"}],
)
def test_the_audit_finds_a_record_that_says_something_else(decided_world, changes):
    document = newest_decision(decided_world.ledger, NAME, "2")[0].model_copy(update=changes)
    said = record(decided_world, *forged(decided_world, document))
    assert "says something else than entry" in said


def test_the_audit_finds_records_of_nothing_of_others_and_with_foreign_attestations(decided_world):
    world = decided_world
    document = newest_decision(world.ledger, NAME, "2")[0]
    assert "names no earlier promotion or rejection" in record(world, *forged(world, document, about="1" * 64))
    assert "but entry" in record(world, *forged(world, document, version="1"))
    assert "does not count" in record(world, *forged(world, document, key=new_key()))
    facts, blobs = forged(world, document)
    other = b"<p>All is well.</p>"
    mixed = facts.model_copy(update={"pages": {**facts.pages, "decision.html": sha256_hex(other)}})
    assert "is about something else" in record(world, mixed, (*blobs, other))


@pytest.fixture
def undecided_record(champion_world):
    """A rejection of version 2 that has no record yet, and its document."""
    world = champion_world
    record_decisions(world.ledger, NAME)
    world.reject("2", comment="no")
    chain = world.ledger.entries(NAME)
    return world, decision_of(newest(world, Rejection), chain, world.ledger.keyring(), world.ledger.id)


@pytest.mark.parametrize("page", ["html", "md"])
def test_the_audit_lays_the_pages_out_again(undecided_record, page):
    world, document = undecided_record
    said = record(world, *forged(world, document, **{page: b"Approved by the whole board"}))
    assert f"the decision.{page} that it keeps is not what its decision gives" in said


@pytest.mark.parametrize("layout", [None, DECISION_LAYOUT + 1])
def test_pages_of_another_layout_are_counted_as_not_compared(undecided_record, layout, tmp_path):
    world, document = undecided_record
    assert audited(world).pages_not_compared == 0
    facts, blobs = forged(world, document, layout=layout, html=b"<p>In another look.")
    world.ledger.record("decision record", facts, model=NAME, blob=blobs)
    result = audited(world)
    assert result.intact, result.problems
    assert result.pages_not_compared == 1
    assert verify_document(result, (), (), ())["decision_pages_not_compared"] == 1
    export = tmp_path / "ledger.jsonl"
    export.write_bytes(b"".join(export_lines(world.ledger.id, world.ledger.entries(), world.ledger.blobs)))
    assert "Not compared: pages of 1 decision records" in CliRunner().invoke(audit_command, ["verify", str(export)]).output


def test_a_second_record_of_a_decision_is_a_problem_and_the_first_counts(decided_world):
    world = decided_world
    document, files = newest_decision(world.ledger, NAME, "2")
    facts, blobs = forged(world, document, layout=None, html=b"<h1>Approved by the whole board</h1>")
    assert " recorded the same decision before" in record(world, facts, blobs)
    assert newest_decision(world.ledger, NAME, "2") == (document, files)


def test_what_is_not_a_decision_is_refused():
    for content in (b"[]", b"{", canonical_bytes({"schema": "coordpath.decision/1"})):
        with pytest.raises(ReportFormatError):
            DecisionDocument.from_bytes(content)
    with pytest.raises(SignatureError):
        read_decision_attestation(b"{}", {})
    with pytest.raises(ValueError, match="pages"):
        DecisionRecorded(version="1", about="0" * 64, decision="0" * 64, pages={"x.html": "0" * 64}, attestation="0" * 64)


def test_another_process_that_was_faster_is_no_problem(champion_world, monkeypatch):
    world = champion_world
    other = Ledger.open(world.ledger.url)
    original, calls = Ledger.record, []

    def late(self, event, *args, **options):
        if self is world.ledger and not calls:
            calls.append(event)
            record_decisions(other, NAME)
        return original(self, event, *args, **options)

    monkeypatch.setattr(Ledger, "record", late)
    record_decisions(world.ledger, NAME)
    assert calls == ["decision record"]
    assert world.events().count("decision record") == 1
