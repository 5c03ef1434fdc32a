"""`coordpath audit`: read, check, export, anchor; an export is checked where there is neither MLflow nor a database."""

import json
from datetime import datetime, timezone

import pytest
from helpers.offline import run_offline

from coordpath_governance.cli import audit_command
from coordpath_governance.cli import options as signing_options
from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.events import Promotion, Refusal
from coordpath_governance.policy.terms import Retention


def refusal(reason="no"):
    return Refusal(operation="delete alias", alias="champion", version=None, actor="eve", reason=reason)


@pytest.fixture
def ledger(place, monkeypatch):
    """A ledger with three entries that the commands find by the environment."""
    monkeypatch.setenv("COORDPATH_LEDGER", place.url)
    opened = place.open()
    monkeypatch.setenv("COORDPATH_SERVICE_KEY", str(place.key))
    opened.record("refusal", refusal(), model="fraud", blob=b"evidence")
    opened.record("refusal", refusal(), model="churn")
    return opened


def test_the_log_has_a_line_an_entry(coordpath, ledger):
    lines = coordpath("audit", "log").out.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "3"]
    assert "fraud: delete alias 'champion' by eve: no  [coordpath service]" in lines[1]
    assert [line.split()[0] for line in coordpath("audit", "log", "churn").out.splitlines()] == ["3"]
    assert coordpath("audit", "log", "other").out == "nothing about 'other'\n"


def test_the_log_shows_the_newest_and_says_what_it_leaves_out(coordpath, ledger):
    lines = coordpath("audit", "log", "--limit", 1).out.splitlines()
    assert lines[0] == "(2 earlier entries are not shown; see --limit)"
    assert [line.split()[0] for line in lines[1:]] == ["3"]


def test_hostile_names_are_harmless_in_the_log(coordpath, ledger):
    ledger.record("refusal", refusal("\x1b]0;owned\x07\u202e\nfake line"), model="\x1b[2Jfraud\n9999" + "x" * 5000)
    told = coordpath("audit", "log").out
    assert not set("\x1b\x07\u202e") & set(told)
    assert len(told.splitlines()) == 4
    assert len(told.splitlines()[3]) < 500


def test_an_intact_ledger_exits_0(coordpath, ledger):
    done = coordpath("audit", "verify")
    assert done.code == 0
    told = done.out.splitlines()
    assert told[0] == f"Ledger {ledger.id}: 3 entries, models: 2, keys: 1, 0 kept documents"
    assert told[-1] == "intact, tail not anchored"


def test_a_changed_ledger_exits_1_and_names_the_entries(coordpath, ledger, place):
    place.tamper("UPDATE coordpath_ledger SET signature = '' WHERE seq = 2")
    done = coordpath("audit", "verify")
    assert done.code == 1
    assert done.out.splitlines()[-1].startswith("NOT intact: entry 2: ")
    assert coordpath("audit", "log").code == 4
    assert coordpath("audit", "export", "-o", place.key.with_name("e.jsonl")).code == 4


def test_missing_triggers_are_told_but_break_nothing(coordpath, ledger, place):
    assert ledger.missing_triggers() == ()
    place.tamper("UPDATE coordpath_ledger SET seq = seq")
    done = coordpath("audit", "verify")
    assert done.code == 0
    *_, note, conclusion = done.out.splitlines()
    assert note.startswith("Note: the database itself would not refuse changes now")
    assert note.endswith(", ".join(ledger.missing_triggers()))
    assert conclusion == "intact, tail not anchored"
    assert len(ledger.missing_triggers()) == (6 if place.url.startswith("sqlite") else 2)


def test_who_only_reads_needs_no_service_key(coordpath, ledger, place, tmp_path, monkeypatch):
    broken = tmp_path / "broken.key"
    broken.write_bytes(b"\xff")
    for key in (broken, tmp_path / "none", tmp_path):
        monkeypatch.setenv("COORDPATH_SERVICE_KEY", str(key))
        assert coordpath("audit", "log").code == 0
        assert coordpath("audit", "verify").code == 0
        assert coordpath("audit", "export", "-o", tmp_path / f"{key.name}.jsonl").code == 0
        assert coordpath("audit", "anchor", "-o", tmp_path / "anchor.json").code == 2


def test_verify_as_json(coordpath, ledger, place):
    document = json.loads(coordpath("audit", "verify", "--json").out)
    assert (document["schema"], document["ledger"]) == ("coordpath.audit_verify/1", ledger.id)
    assert (document["intact"], document["exit_code"], document["problems"]) == (True, 0, [])
    assert (document["conclusion"], document["anchored"]) == ("intact, tail not anchored", None)
    assert document["head"]["hash"] == ledger.entries()[-1].hash
    place.tamper("UPDATE coordpath_ledger SET signature = ''")
    done = coordpath("audit", "verify", "--json")
    document = json.loads(done.out)
    assert done.code == document["exit_code"] == 1
    assert [each["entry"] for each in document["problems"]] == [1, 2, 3]
    assert len(document["missing_triggers"]) == len(ledger.missing_triggers())
    place.tamper("DELETE FROM coordpath_ledger")
    assert json.loads(coordpath("audit", "verify", "--json").out)["head"] is None


def test_what_is_past_its_retention_is_information_and_no_problem(coordpath, ledger, monkeypatch):
    """The years are the policy's; here the audit looks at them from the year 2099."""
    kept = Retention(**{"class": "model\x1b change", "years": 7})
    body = Promotion(
        intent="0" * 64, alias="champion", from_version=None, to_version="2", to_digest="2" * 64,
        completed="at once", retention=kept,
    )  # fmt: skip
    entry = ledger.record("promotion", body, model="fraud")
    monkeypatch.setattr(audit_command, "utc_moment", lambda: datetime(2099, 1, 1, tzinfo=timezone.utc))
    done = coordpath("audit", "verify")
    assert (
        f"Note: 1 promotion of 'fraud' is past its retention of 7 years (class 'model⟨U+001B⟩ change'), the oldest of "
        f"{entry.at[:10]}; nothing is deleted by us"
    ) in done.out.splitlines()
    (past,) = json.loads(coordpath("audit", "verify", "--json").out)["past_retention"]
    assert past == {"model": "fraud", "class": "model\x1b change", "years": 7, "promotions": 1, "oldest": entry.at}
    monkeypatch.undo()


def test_an_emptied_ledger_exits_1(coordpath, ledger, place):
    place.tamper("DELETE FROM coordpath_ledger")
    done = coordpath("audit", "verify")
    assert (done.code, done.out.splitlines()[-1]) == (1, "NOT intact: there are no entries")


def test_only_so_many_problems_are_listed(coordpath, ledger, place):
    for _ in range(20):
        ledger.record("refusal", refusal())
    place.tamper("UPDATE coordpath_ledger SET signature = ''")
    done = coordpath("audit", "verify")
    assert done.out.count("  entry ") == 20
    assert "  and " in done.out


def test_an_anchor_finds_a_cut_tail(coordpath, ledger, place, tmp_path):
    anchor = tmp_path / "anchor.json"
    assert coordpath("audit", "anchor", "-o", anchor).code == 0
    assert [entry.event for entry in ledger.entries()][-1] == "anchor"
    assert coordpath("audit", "verify", "--anchor", anchor).out.endswith("intact, and anchored at entry 3\n")
    ledger.record("refusal", refusal())
    assert coordpath("audit", "verify", "--anchor", anchor).out.endswith("intact, tail not anchored after entry 3\n")
    place.tamper("DELETE FROM coordpath_ledger WHERE seq > 2")
    assert coordpath("audit", "verify").code == 0
    done = coordpath("audit", "verify", "--anchor", anchor)
    assert done.code == 1
    assert "the ledger ends at 2: it was cut" in done.plain


def test_an_anchor_and_an_export_never_overwrite(coordpath, ledger, tmp_path):
    there = tmp_path / "there"
    there.write_text("evidence")
    for what in ("anchor", "export"):
        done = coordpath("audit", what, "-o", there)
        assert (done.code, "never overwritten" in done.plain) == (2, True)
        done = coordpath("audit", what, "-o", tmp_path / "no" / "folder")
        assert (done.code, "cannot write" in done.plain) == (2, True)
    assert there.read_text() == "evidence"
    assert len(ledger.entries()) == 3


def test_an_export_that_breaks_off_leaves_nothing(coordpath, ledger, tmp_path, monkeypatch):
    def break_off(*args):
        yield b"{}"
        raise LedgerError("the database went away")

    monkeypatch.setattr("coordpath_governance.cli.audit_command.export_lines", break_off)
    assert coordpath("audit", "export", "-o", tmp_path / "e.jsonl").code == 4
    assert not (tmp_path / "e.jsonl").exists()


def test_an_anchor_needs_the_service_key(coordpath, ledger, place, tmp_path, monkeypatch):
    monkeypatch.delenv("COORDPATH_SERVICE_KEY")
    place.key.unlink()
    done = coordpath("audit", "anchor", "-o", tmp_path / "anchor.json")
    assert (done.code, "set COORDPATH_SERVICE_KEY" in done.plain) == (4, True)


def test_an_export_is_the_same_each_time_and_is_checked_without_mlflow_or_database(coordpath, ledger, tmp_path):
    one, two, anchor = tmp_path / "one.jsonl", tmp_path / "two.jsonl", tmp_path / "anchor.json"
    assert coordpath("audit", "anchor", "-o", anchor).code == 0
    for path in (one, two):
        assert coordpath("audit", "export", "-o", path).code == 0
    assert one.read_bytes() == two.read_bytes()
    done = run_offline("audit", "verify", one, "--anchor", anchor)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("intact, and anchored at entry 3\n")
    lines = one.read_bytes().splitlines(keepends=True)
    header = lines[0].replace(b'"entries":4', b'"entries":2')
    two.write_bytes(b"".join([header, *lines[1:3], *lines[5:]]))
    assert run_offline("audit", "verify", two).returncode == 0
    cut = run_offline("audit", "verify", two, "--anchor", anchor)
    assert cut.returncode == 1
    assert "it was cut" in cut.stdout


def test_what_cannot_be_known_exits_4_and_what_is_not_a_file_2(coordpath, ledger, tmp_path):
    (tmp_path / "text").write_text("hello")
    assert coordpath("audit", "verify", tmp_path / "text").code == 4
    assert coordpath("audit", "verify", tmp_path).code == 2
    assert coordpath("audit", "verify", tmp_path / "none").code == 2
    assert coordpath("audit", "verify", "--anchor", tmp_path / "text").code == 4
    assert coordpath("audit", "verify", "--anchor", tmp_path / "none").code == 2
    assert coordpath("audit", "verify", "--anchor", tmp_path).code == 2


def test_an_unreachable_ledger_exits_4_without_its_password(coordpath):
    done = coordpath("audit", "verify", "--ledger", "postgresql://me:hunter2@127.0.0.1:1/db")
    assert done.code == 4
    assert "hunter2" not in done.plain


def test_a_ledger_is_found_only_where_there_is_one(tmp_path, place):
    registry = f"sqlite:///{tmp_path / 'mlflow.db'}"
    assert signing_options.find_ledger(None, "http://server", None) is None
    assert signing_options.find_ledger(None, None, registry.replace("mlflow.db", "sub/mlflow.db")) is None
    with pytest.raises(LedgerError, match="there is no ledger"):
        signing_options.find_ledger(place.url, None, None)
    opened = place.open()
    assert signing_options.find_ledger(place.url, None, None).id == opened.id
    if place.url.startswith("sqlite"):
        assert signing_options.find_ledger(None, None, registry).id == opened.id
