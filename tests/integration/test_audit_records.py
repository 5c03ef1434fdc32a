"""`coordpath audit log`, `show` and `keys`: what an auditor sees with an export and nothing else."""

import base64
import json
from pathlib import Path

import pytest
from helpers.offline import run_offline

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.ledger.events import KeyAdded, KeyFacts, KeyRevoked, Refusal
from coordpath_governance.signing.keys import new_key

GOLDEN = Path(__file__).parents[1] / "golden" / "governance-0.1"
EXPORT = GOLDEN / "ledger.jsonl"
ANCHOR = GOLDEN / "anchor.json"


def numbers(done):
    return [int(line.split()[0]) for line in done.out.splitlines() if line[:5].strip().isdigit()]


def entries(done):
    return [each["seq"] for each in json.loads(done.out)["entries"]]


@pytest.fixture
def damaged(tmp_path):
    """The export with the comment of entry 33 changed by somebody without a key."""
    lines = EXPORT.read_bytes().splitlines(keepends=True)
    envelope = json.loads(lines[33])
    payload = base64.b64decode(envelope["payload"]).replace(b"looked at it", b"looked at me")
    assert payload != base64.b64decode(envelope["payload"])
    lines[33] = json.dumps(envelope | {"payload": base64.b64encode(payload).decode()}).encode() + b"\n"
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(b"".join(lines))
    return path


@pytest.fixture
def ledger(place, monkeypatch):
    """A ledger with two people, of whom one left, and a hostile refusal."""
    monkeypatch.setenv("COORDPATH_LEDGER", place.url)
    opened = place.open()
    ann, bob = new_key(), new_key()
    for key, owner, role in ((ann, "Ann", "policy-admin"), (bob, "Bob\x1b", "validator")):
        facts = KeyFacts(id=key.public.id, public=key.public.text, owner=owner, roles=(role,))
        opened.append("key added", KeyAdded(key=facts), ann)
    opened.append("key revoked", KeyRevoked(key=bob.public.id, reason="left\nEntry: 1, forged"), ann)
    reason = "first line\nEntry: 9, approval\n\n\x1b[2Jlast"
    body = Refusal(operation="delete alias", alias="champion", version=None, actor="eve", reason=reason)
    opened.record("refusal", body, model="fraud")
    return opened


@pytest.mark.parametrize(
    "command",
    [("log",), ("log", "price", "--json"), ("show", "16"), ("show", "16", "--json"), ("keys",), ("keys", "--json")],
    ids=" ".join,
)
def test_an_export_is_read_without_mlflow_or_database(command):
    done = run_offline("audit", *command, "--export", EXPORT, "--anchor", ANCHOR)
    assert (done.returncode, done.stderr) == (0, "")
    if "--json" in command:
        document = json.loads(done.stdout)
        assert document["schema"] == f"coordpath.audit_{command[0]}/1"
        assert (document["intact"], document["conclusion"]) == (True, "intact, and anchored at entry 43")
    else:
        assert done.stdout.splitlines()[0].endswith(": intact, and anchored at entry 43")


def test_a_document_is_written_without_mlflow_or_database(tmp_path):
    done = run_offline("audit", "show", 16, "--export", EXPORT, "--document", tmp_path / "report.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "report.json").read_bytes())["schema"] == "coordpath.change_report/1"


def test_the_log_of_an_export_by_model_event_and_time(coordpath):
    everything = entries(coordpath("audit", "log", "--export", EXPORT, "--json"))
    assert everything == list(range(1, 45))
    assert len(numbers(coordpath("audit", "log", "--export", EXPORT))) == 44
    approvals = coordpath(
        "audit", "log", "price", "--export", EXPORT, "--event", "approval", "--event", "promotion", "--json"
    )
    assert {each["event"] for each in json.loads(approvals.out)["entries"]} == {"approval", "promotion"}
    assert {each["model"] for each in json.loads(approvals.out)["entries"]} == {"price"}
    some = coordpath("audit", "log", "--export", EXPORT, "--json", "--limit", 3)
    assert (entries(some), json.loads(some.out)["left_out"]) == ([42, 43, 44], 41)
    none = coordpath("audit", "log", "--export", EXPORT, "--event", "version retired")
    assert (none.code, none.out.splitlines()[1:]) == (0, ["no entry is like that"])
    assert coordpath("audit", "log", "other", "--export", EXPORT).out.splitlines()[1:] == ["nothing about 'other'"]


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        (("--since", "2026-11-18"), (1, 44)),
        (("--since", "2026-11-19"), None),
        (("--until", "2026-11-18"), (1, 44)),
        (("--until", "2026-11-17"), None),
        (("--since", "2026-11-18T15:52:23.267000Z"), (42, 44)),
        (("--since", "2026-11-18T15:52:23.267001Z"), (43, 44)),
        (("--until", "2026-11-18T15:52:20.289000"), (1, 2)),
        (("--until", "2026-11-18T15:52:20.288999"), (1, 1)),
        (("--since", "2026-11-18T16:52:23.267+01:00", "--until", "2026-11-18 15:52:23.299Z"), (42, 43)),
    ],
)
def test_both_ends_of_a_period_are_included(coordpath, period, expected):
    found = entries(coordpath("audit", "log", "--export", EXPORT, "--json", *period))
    assert found == ([] if expected is None else list(range(expected[0], expected[1] + 1)))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--since", "yesterday"), "--since: 'yesterday' is not a time; give a date such as"),
        (("--until", "20261118"), "--until: '20261118' is not a time"),
        (("--until", "2026-02-30"), "is not a time"),
        (("--since", "0001-01-01T00:00+05:00"), "is not a time"),
        (("--until", "9999-12-31T23:00-05:00"), "is not a time"),
        (("--since", "2026-11-19", "--until", "2026-11-18"), "--since 2026-11-19 is later than --until 2026-11-18"),
        (("--event", "coup"), "'outside move'"),
        (("--limit", "0"), "--limit"),
    ],
)
def test_wrong_use_of_the_log(coordpath, wrong, said):
    done = coordpath("audit", "log", "--export", EXPORT, *wrong)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_an_entry_in_full(coordpath):
    done = coordpath("audit", "show", 33, "--export", EXPORT)
    assert done.code == 0
    lines = [line.strip() for line in done.out.splitlines()]
    assert "Entry: 33, approval" in lines
    assert "When: 2026-11-18T15:52:22.813000Z (clock of the ledger's database, UTC)" in lines
    assert any(line.startswith("Signed by: Bob (validator), key f8844f052a635b9d") for line in lines)
    assert "comment: looked at it" in lines
    assert "from version: 2" in lines
    assert "to version: 4" in lines
    assert any(line.startswith("report: ") and line.endswith(", report)") for line in lines)
    assert any(line.startswith("policy: ") and line.endswith("(entry 9, policy adopted)") for line in lines)
    assert any(line.startswith("holds until: 2036-11-25T") for line in lines)
    assert done.out.index("comment:") > done.out.index("about:")


def test_every_entry_can_be_shown_and_names_all_of_its_digests(coordpath):
    for entry in json.loads(coordpath("audit", "log", "--export", EXPORT, "--json").out)["entries"]:
        done = coordpath("audit", "show", entry["seq"], "--export", EXPORT)
        assert done.code == 0
        text = json.dumps(entry["body"])
        for digest in (part for part in text.split('"') if len(part) == 64):
            assert digest in done.out
        assert entry["hash"] in done.out


def test_an_entry_as_json_says_who_named_it(coordpath):
    document = json.loads(coordpath("audit", "show", 16, "--export", EXPORT, "--json").out)
    assert (document["entry"]["event"], document["document"]["name"]) == ("report", "change_report.json")
    assert document["entry"]["signed_by"]["owner"] == "coordpath service"
    assert document["document"]["written_to"] is None
    assert {"approval", "verdict", "intent"} <= {each["event"] for each in document["named_by"]}
    assert "Named by: entry 17" in coordpath("audit", "show", 16, "--export", EXPORT).out


@pytest.mark.parametrize(("seq", "name"), [(9, "policy.json"), (16, "change_report.json"), (43, "coefficients.json")])
def test_the_kept_document_is_written_once(coordpath, tmp_path, seq, name):
    target = tmp_path / "kept"
    done = coordpath("audit", "show", seq, "--export", EXPORT, "-o", target)
    assert done.code == 0
    digest = sha256_hex(target.read_bytes())
    assert f"Kept document: {name}, {target.stat().st_size} bytes, SHA-256 {digest}" in done.out
    again = coordpath("audit", "show", seq, "--export", EXPORT, "-o", target)
    assert (again.code, "never overwritten" in again.plain) == (2, True)
    written = json.loads(coordpath("audit", "show", seq, "--export", EXPORT, "-o", tmp_path / "two", "--json").out)
    assert written["document"] == {
        "name": name, "sha256": digest, "bytes": target.stat().st_size, "written_to": str(tmp_path / "two"),
    }  # fmt: skip


def test_entries_that_are_not_there_and_documents_that_are_not_kept(coordpath, tmp_path):
    done = coordpath("audit", "show", 45, "--export", EXPORT)
    assert (done.code, "there is no entry 45; the newest is 44" in done.plain) == (2, True)
    done = coordpath("audit", "show", 33, "--export", EXPORT, "-o", tmp_path / "x")
    assert (done.code, "no document is kept with entry 33" in done.plain) == (2, True)
    assert not (tmp_path / "x").exists()
    assert coordpath("audit", "show", 0, "--export", EXPORT).code == 2
    assert coordpath("audit", "log", "--export", tmp_path / "none").code == 2
    assert coordpath("audit", "keys", "--export", GOLDEN / "price.yaml").code == 4


def test_who_has_keys(coordpath):
    told = coordpath("audit", "keys", "--export", EXPORT).out.splitlines()
    at = told.index("Zoe (validator)")
    assert told[at + 2] == "    added 2026-11-18T15:52:20.309000Z by Ann (entry 7)"
    assert told[at + 3] == "    revoked 2026-11-18T15:52:20.316000Z by Ann (entry 8): left"
    keys = {each["owner"]: each for each in json.loads(coordpath("audit", "keys", "--export", EXPORT, "--json").out)["keys"]}
    assert keys["Zoe"]["revoked"] == {"entry": 8, "at": "2026-11-18T15:52:20.316000Z", "by": "Ann", "reason": "left"}
    assert (keys["Ann"]["added"]["by"], keys["Ann"]["revoked"]) == ("Ann", None)
    assert keys["coordpath service"]["roles"] == ["service"]


def test_an_anchor_finds_an_export_that_was_cut(coordpath, tmp_path):
    lines = EXPORT.read_bytes().splitlines(keepends=True)
    header = json.loads(lines[0])
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join([json.dumps(header | {"entries": 41}).encode() + b"\n", *lines[1:42], *lines[45:]]))
    assert coordpath("audit", "log", "--export", cut).code == 0
    done = coordpath("audit", "log", "--export", cut, "--anchor", ANCHOR)
    assert (done.code, "it was cut" in done.out, "it was cut" in done.err) == (1, True, True)
    assert coordpath("audit", "keys", "--export", EXPORT, "--anchor", tmp_path / "none").code == 2


@pytest.mark.parametrize("what", [("log",), ("show", "33"), ("show", "3"), ("keys",)], ids=" ".join)
def test_a_damaged_export_is_shown_with_a_warning_and_exits_1(coordpath, damaged, what):
    done = coordpath("audit", *what, "--export", damaged)
    assert done.code == 1
    assert "NOT intact: entry 33: " in done.out.splitlines()[0]
    assert "coordpath: warning: this export is NOT intact: entry 33: " in done.err
    as_json = coordpath("audit", *what, "--export", damaged, "--json")
    assert as_json.code == 1
    assert json.loads(as_json.out)["intact"] is False
    assert "warning" in as_json.err


def test_what_is_not_sound_is_not_believed(coordpath, damaged):
    lines = coordpath("audit", "log", "--export", damaged).out.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("   33  "))
    assert lines[at].endswith("approval  is not to be believed")
    assert lines[at + 1].startswith("       NOT as it should be: ")
    shown = coordpath("audit", "show", 33, "--export", damaged).out
    assert "NOT as it should be: " in shown
    assert "looked at me" in shown
    document = json.loads(coordpath("audit", "show", 33, "--export", damaged, "--json").out)
    assert (document["entry"]["sound"], document["document"]) == (False, None)


def test_a_line_that_is_no_entry_and_a_document_that_was_changed(coordpath, tmp_path):
    lines = EXPORT.read_bytes().splitlines(keepends=True)
    envelope = json.loads(lines[33])
    lines[33] = json.dumps(envelope | {"payload": "????"}).encode() + b"\n"
    blob = next(
        index
        for index in range(45, len(lines))
        if b"coordpath.change_report/1" in base64.b64decode(json.loads(lines[index])["content"])
    )
    document = json.loads(lines[blob])
    content = base64.b64decode(document["content"]).replace(b"0.1", b"0.2", 1)
    lines[blob] = json.dumps(document | {"content": base64.b64encode(content).decode()}).encode() + b"\n"
    path = tmp_path / "worse.jsonl"
    path.write_bytes(b"".join(lines))
    done = coordpath("audit", "show", 33, "--export", path)
    assert (done.code, "entry 33 cannot be read" in done.plain) == (4, True)
    listed = json.loads(coordpath("audit", "log", "--export", path, "--event", "report", "--json").out)["entries"]
    seq = next(each["seq"] for each in listed if each["body"]["report"] == document["sha256"])
    assert "Kept document: change_report.json, missing or changed" in coordpath("audit", "show", seq, "--export", path).out
    done = coordpath("audit", "show", seq, "--export", path, "-o", tmp_path / "report.json")
    assert (done.code, "have another digest; nothing was written" in done.plain) == (4, True)
    assert not (tmp_path / "report.json").exists()


def test_the_ledger_itself(coordpath, ledger):
    told = coordpath("audit", "keys").out
    assert "Bob⟨U+001B⟩ (validator)" in told.splitlines()
    assert "by Ann (entry 4): left↵Entry: 1, forged" in told
    shown = coordpath("audit", "show", 5)
    assert shown.code == 0
    assert not set("\x1b") & set(shown.out)
    at = shown.out.splitlines().index("  reason:")
    assert shown.out.splitlines()[at + 1 : at + 5] == [
        "    | first line", "    | Entry: 9, approval", "    |", "    | ⟨U+001B⟩[2Jlast",
    ]  # fmt: skip
    assert sum(line.startswith("Entry: ") for line in shown.out.splitlines()) == 1
    document = json.loads(coordpath("audit", "log", "fraud", "--json").out)
    assert (document["ledger"], document["intact"], document["conclusion"]) == (ledger.id, None, None)
    assert [each["seq"] for each in document["entries"]] == [5]
    done = coordpath("audit", "log", "--anchor", ANCHOR)
    assert (done.code, "--anchor is for --export" in done.plain) == (2, True)
