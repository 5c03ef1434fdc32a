"""What a registry shows of a version agrees with the gate, after every decision; and a person's own words stay."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import mlflow
import pytest
from helpers.office import Office

from coordpath_governance.governance.shown import BEGIN, END
from coordpath_governance.registry.attachments import folder_between


@cache
def _third(store):
    return store.fresh()


@pytest.fixture
def office(store, coordpath, tmp_path):
    made = Office(store, coordpath, tmp_path)
    store.register(made.name, store.first, store.second, _third(store))
    made.adopt_policy()
    return made


def beside(office, version):
    """The folder of a version's files in the artifact store."""
    source = office.store.client.get_model_version(office.name, version).source.removeprefix("models:/")
    return Path(unquote(office.store.client.get_logged_model(source).artifact_location.removeprefix("file://")))


def shown(office, version):
    """Verdict tag, decision tag and the first line of our block."""
    stored = office.store.client.get_model_version(office.name, version)
    block = re.search(f"{BEGIN}\n(.*?)\n", stored.description or "")
    return stored.tags.get("coordpath.verdict"), stored.tags.get("coordpath.decision"), block and block[1]


def test_tags_description_report_terminal_and_gate_agree_after_every_decision(office):
    name, client = office.name, office.store.client
    client.update_model_version(name, "1", description="Mine, before.")
    first = office.run("report", name, "--candidate", "1")
    assert "1 version 1 → champion: REVIEW".replace("1 ", f"{name} ", 1) in first.plain
    assert "Verdict:" not in first.plain
    verdict, decision, line = shown(office, "1")
    assert (verdict, decision) == ("review", None)
    assert line.startswith("**◆ Needs review.** Still needed: 2 approvals by validator.")
    office.approve("1", "Bob")
    assert shown(office, "1")[2].startswith(
        "**◆ Needs review.** Approved by 1 of 2: Bob (validator). Still needed: 1 approval"
    )
    office.approve("1", "Cleo")
    assert shown(office, "1")[0] == "pass"
    assert "Not promoted yet." in shown(office, "1")[2]
    assert office.run("promote", name, "1", "--key", office.key("Bob")).code == 0
    day = office.ledger.now()[:10]
    promoted = f"**✔ Promoted to champion on {day}.** By Bob; approved by Bob (validator), Cleo (validator)."
    assert shown(office, "1") == ("pass", "promoted", promoted)
    assert client.get_model_version(name, "1").description.startswith("Mine, before.\n\n")
    assert office.run("report", name, "--candidate", "2").code == 0
    rejected = office.run("review", name, "2", "--reject", "--comment", "data *too* old @all", "--key", office.key("Bob"))
    assert rejected.code == 0
    verdict, decision, line = shown(office, "2")
    assert (verdict, decision) == ("fail", "rejected")
    assert line == "**✖ Fail.** Rejected by Bob: data \\*too\\* old @&#8203;all."
    office.run("report", name, "--candidate", "2", "--reason", "once more")
    assert shown(office, "2")[:2] == ("review", "none")
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", name, "2").code == 0
    assert shown(office, "2")[1] == "promoted"
    assert shown(office, "1")[2].endswith(f"Version 2 has been in its place since {day}.")


def test_a_promotion_is_told_of_the_other_candidates_too(office):
    """What was explained from the version before cannot be promoted any more, whoever approved it."""
    name = office.name
    office.champion()
    office.store.register(name, _third(office.store))
    assert office.run("report", name, "--candidate", "2").code == 0
    office.approve("2", "Bob", "Cleo")
    assert shown(office, "2")[0] == "pass"
    for version in ("3", "4"):
        assert office.run("report", name, "--candidate", version).code == 0
    office.approve("3", "Bob", "Cleo")
    office.store.client.delete_model_version(name, "4")
    promoted = office.run("promote", name, "3")
    assert (promoted.code, "Warning" in promoted.plain) == (0, False), promoted.plain
    gate = office.run("gate", name, "2")
    assert gate.code == 1
    verdict, _, line = shown(office, "2")
    assert verdict == "fail"
    said = "The report on version 2 of"
    assert line.startswith(f"**✖ Fail.** {said}")
    assert said in gate.plain
    assert office.run("report", name, "--candidate", "1").code == 0
    office.approve("1", "Bob", "Cleo")
    assert office.run("promote", name, "1").code == 0
    assert shown(office, "2")[0] == "review"
    assert office.run("gate", name, "2").code == 3


def test_the_sweep_puts_right_what_somebody_wrote_and_keeps_a_persons_text(office):
    office.champion()
    name, client = office.name, office.store.client
    assert office.run("sweep").code == 0
    before = shown(office, "1"), shown(office, "2")
    client.set_model_version_tag(name, "2", "coordpath.verdict", "pass")
    client.set_model_version_tag(name, "1", "coordpath.decision", "none")
    description = client.get_model_version(name, "2").description
    forged = description.replace("Needs review", "Pass") + "\n\nMine, after."
    client.update_model_version(name, "2", description=forged)
    entries = len(office.ledger.entries())
    assert office.run("sweep").code == 0
    assert (shown(office, "1"), shown(office, "2")) == before
    assert client.get_model_version(name, "2").description == description + "\n\nMine, after."
    assert len(office.ledger.entries()) == entries


def test_tags_that_lead_to_another_report_are_put_right(office):
    """Whoever may edit a version could lead its reviewers to a page of their own: the next decision or sweep leads back."""
    office.champion()
    name, client = office.name, office.store.client
    assert office.run("report", name, "--candidate", "2").code == 0
    before = {version: office.store.tags(name, version) for version in (1, 2)}
    forged = {
        "coordpath.report_path": "coordpath/mine",
        "coordpath.champion_version": "7",
        "coordpath.status": "bounded",
        "coordpath.steps": "1",
        "coordpath.subject": "another/7@sha256:0",
        "coordpath.report_sha256": "0" * 64,
    }

    def forge(version):
        for key, value in forged.items():
            client.set_model_version_tag(name, version, key, value)

    for version in ("1", "2"):
        forge(version)
    assert office.run("sweep").code == 0
    assert {version: office.store.tags(name, version) for version in (1, 2)} == before
    forge("2")
    office.approve("2", "Bob", "Cleo")
    assert {key: office.store.tags(name, 2)[key] for key in forged} == {key: before[2][key] for key in forged}


def test_tags_do_not_name_a_report_that_is_not_whole(office):
    """The digest in the tags says that the report beside the version is whole."""
    office.champion()
    name, client = office.name, office.store.client
    assert office.run("report", name, "--candidate", "2").code == 0
    (beside(office, "2") / folder_between(name, "1", "2") / "change_report.html").unlink()
    client.set_model_version_tag(name, "2", "coordpath.report_sha256", "being replaced")
    assert office.run("sweep").code == 1
    assert office.store.tags(name, 2)["coordpath.report_sha256"] == "being replaced"


def test_waiving_and_adopting_are_shown(office):
    office.adopt_policy(rules={"steps": {"most": 1}})
    office.store.client.set_registered_model_alias(office.name, "champion", "1")
    assert office.run("adopt", office.name, "--reason", "as it was", "--key", office.key("Ann")).code == 0
    verdict, decision, line = shown(office, "1")
    day = office.ledger.now()[:10]
    assert (verdict, decision) == (None, "adopted")
    assert line == f"**▷ Taken under guard as champion on {day}.** By Ann; no rule was checked. Reason: as it was."
    assert office.run("report", office.name, "--candidate", "2").code == 0
    assert shown(office, "2")[0] == "fail"
    waived = office.run("waive", office.name, "2", "steps", "--reason", "agreed", "--key", office.key("Rita"))
    assert waived.code == 0
    assert shown(office, "2")[0] == "review"
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    assert shown(office, "2")[2].endswith("; waived: steps (Rita: agreed).")
    assert office.run("report", office.name, "--candidate", "3").code == 0
    office.store.client.set_registered_model_alias(office.name, "champion", "1")
    assert office.run("adopt", office.name, "--reason", "back", "--key", office.key("Ann")).code == 0
    assert office.run("gate", office.name, "3").code == 1
    assert shown(office, "3")[2].startswith("**✖ Fail.** The report on version 3 of")
    assert shown(office, "2")[2].endswith(f"Version 1 has been in its place since {day}.")


@pytest.mark.parametrize("refused", ["set_model_version_tag", "update_model_version"])
def test_a_registry_that_refuses_to_show_it_is_a_warning_and_no_error(office, monkeypatch, refused):
    assert office.run("report", office.name, "--candidate", "1").code == 0

    def no(*_, **__):
        raise mlflow.MlflowException("read only")

    monkeypatch.setattr(mlflow.MlflowClient, refused, no)
    approved = office.run("review", office.name, "1", "--approve", "--key", office.key("Bob"))
    assert approved.code == 0
    if refused == "update_model_version":
        assert "Warning: what the registry shows of version 1 is out of date" in approved.plain
    office.approve("1", "Cleo")
    promoted = office.run("promote", office.name, "1")
    assert promoted.code == 0
    assert "Warning: what the registry shows of version 1 is out of date" in promoted.plain
    assert office.alias() == "1"
    swept = office.run("sweep")
    assert swept.code == 4
    assert "what the registry shows of version 1 is out of date" in swept.plain


def test_no_block_ends_before_it_begins(office):
    office.champion()
    description = office.store.client.get_model_version(office.name, "1").description
    assert description.count(BEGIN) == description.count(END) == 1
