"""decision.json, .html and .md beside the report: after a promotion, and after a rejection by whoever has the key."""

import json
import stat
from functools import cache
from pathlib import Path

import pytest
from helpers.office import Office

from coordpath_governance.attestation.attest import DECISION_ATTESTATION
from coordpath_governance.models import model_digest
from coordpath_governance.registry.attachments import folder_name

FILES = {"decision.json", "decision.html", "decision.md", DECISION_ATTESTATION}
HOSTILE = "<script>alert(1)</script> [x](javascript:alert) | **b** \u202e"


@cache
def _third(store):
    return store.fresh()


@pytest.fixture
def office(store, coordpath, tmp_path):
    made = Office(store, coordpath, tmp_path)
    store.register(made.name, store.first, store.second, _third(store))
    made.adopt_policy()
    return made


def decision_in(folder):
    present = {path.name for path in folder.iterdir()}
    assert present >= FILES
    return json.loads((folder / "decision.json").read_text(encoding="utf-8"))


def test_a_promotion_leaves_its_record_beside_the_report(office, coordpath):
    office.champion()
    folder = office.attached("1", "none-to-v1")
    told = decision_in(folder)
    assert (told["decision"], told["to_version"], told["from_version"]) == ("promoted", "1", None)
    assert [each["by"] for each in told["approvals"]] == ["Bob", "Cleo"]
    assert told["completed"] == "at once"
    assert office.events()[-3:] == ["intent", "promotion", "decision record"]
    assert "verdict" in office.events()
    audited = office.run("audit", "verify")
    assert audited.code == 0, audited.out
    logged = office.run("audit", "log", office.name)
    assert "decision record" in logged.plain
    verified = coordpath("verify", folder)
    assert verified.code == 0, verified.out
    assert verified.out.splitlines()[-1].endswith(
        "; the verdict's files were not checked; the decision's files were not checked"
    )
    exported = office.folder / "export.jsonl"
    assert office.run("audit", "export", "-o", exported).code == 0
    verified = coordpath("verify", folder, "--ledger", exported)
    assert verified.code == 0, verified.out
    assert "the decision's files are those that the ledger recorded, about this change" in verified.plain
    assert not verified.out.splitlines()[-1].endswith("were not checked")
    (folder / "decision.html").write_bytes(b"<p>All is well.</p>")
    changed = coordpath("verify", folder)
    assert changed.code == 1
    assert "decision.html was changed" in changed.plain


def test_the_record_changes_no_digest_and_the_sweep_puts_back_what_is_missing(office):
    office.champion()
    source = office.store.client.get_model_version(office.name, "1").source.removeprefix("models:/")
    place = office.store.client.get_logged_model(source).artifact_location.removeprefix("file://")
    from urllib.parse import unquote

    files = Path(unquote(place))
    before = office.ledger.entries(office.name)[0].facts.candidate_digest
    assert model_digest(files) == before
    folder = files / "coordpath" / folder_name(office.name) / "none-to-v1"
    content = (folder / "decision.md").read_bytes()
    (folder / "decision.md").unlink()
    count = len(office.ledger.entries())
    swept = office.run("sweep")
    assert swept.code == 0, swept.plain
    assert (folder / "decision.md").read_bytes() == content
    reports_of_others = sum(each.event in ("report", "verdict") for each in office.ledger.entries()[count:])
    assert len(office.ledger.entries()) - count == reports_of_others


def test_a_rejection_on_a_laptop_is_recorded_by_the_next_sweep(office, monkeypatch):
    office.champion()
    assert office.run("report", office.name, "--candidate", "2").code == 0
    key = office.folder / "coordpath-ledger.key"
    key = key if key.exists() else next(path for path in office.folder.glob("*.key"))
    content, mode = key.read_bytes(), stat.S_IMODE(key.stat().st_mode)
    key.unlink()
    rejected = office.run("review", office.name, "2", "--reject", "--comment", HOSTILE, "--key", office.key("Bob"))
    assert rejected.code == 0, rejected.err
    assert "Warning" not in rejected.plain
    assert office.store.tags(office.name, 2)["coordpath.decision"] == "rejected"
    assert office.events()[-1] == "rejection"
    key.write_bytes(content)
    key.chmod(mode)
    office.run("sweep")
    folder = office.attached("2", "v1-to-v2")
    told = decision_in(folder)
    assert (told["decision"], told["rejections"][0]["comment"]) == ("rejected", HOSTILE)
    page = (folder / "decision.html").read_text(encoding="utf-8")
    text = (folder / "decision.md").read_text(encoding="utf-8")
    for shown in (page, text):
        assert "<script" not in shown
        assert "\u202e" not in shown
    assert office.run("audit", "verify").code == 0
    exported = office.folder / "export.jsonl"
    assert office.run("audit", "export", "-o", exported).code == 0
    assert office.run("audit", "verify", exported).code == 0
