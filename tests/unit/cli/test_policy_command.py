"""`coordpath policy` from the outside: what it prints, what it writes, how it exits."""

import json
import re

import pytest
from click.testing import CliRunner

from coordpath_governance.cli.policy_command import command
from coordpath_governance.errors import NotFoundError, PolicyError, RefusedError, SigningKeyError, UsageError
from coordpath_governance.ledger.events import KeyAdded, KeyFacts
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.policy.load import policy_bytes, policy_schema, read_policy
from coordpath_governance.policy.starting_policy import KINDS
from coordpath_governance.reference.sources import open_source
from coordpath_governance.signing.keys import new_key


@pytest.fixture
def run():
    """A command: its exit code and its output, or the error it raises."""

    def ran(*arguments):
        result = CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        return result.return_value or 0, result.output

    return ran


@pytest.fixture
def policy_file(tmp_path, policy_text):
    def written(rules=None, **sections):
        path = tmp_path / "policy.yaml"
        path.write_text(json.dumps(policy_text(rules, **sections)))
        return path

    return written


@pytest.fixture
def report_file(tmp_path, report):
    path = tmp_path / "change_report.json"
    path.write_bytes(report.to_bytes())
    return path


@pytest.fixture
def admin(tmp_path):
    """A ledger's URL and the key file of its policy-admin."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    key = new_key()
    key.save(tmp_path / "admin.pem")
    facts = KeyFacts(id=key.public.id, public=key.public.text, owner="Ann", roles=("policy-admin",))
    Ledger.open(url).append("key added", KeyAdded(key=facts), key)
    return url, tmp_path / "admin.pem"


def test_init_pins_the_digest_that_reports_compute(run, tmp_path, data_file, document):
    out = tmp_path / "policy.yaml"
    code, said = run("init", "--model", "rents", "--data", data_file, "--target", "y", "--out", out)
    assert code == 0
    assert "policy check" in said
    policy = read_policy(out.read_bytes(), "p")
    assert policy.reference.sha256 == open_source(data_file).sha256 == document.data.sha256
    assert policy.reference.uri == str(data_file)
    assert run("check", out)[0] == 0


def test_init_without_data_prints_a_valid_policy_that_passes_nothing(run):
    policy = read_policy(run("init", "--model", "rents")[1], "p")
    assert policy.reference.sha256 == "0" * 64


def test_init_for_every_kind_of_models(run):
    texts = {kind: run("init", "--model", "rents", "--kind", kind)[1] for kind in KINDS}
    assert len(set(texts.values())) == len(KINDS)
    for kind, text in texts.items():
        assert read_policy(text, kind).rules.standardised_change is not None


def test_init_refuses_half_of_it_another_column_and_files_that_are_there(run, tmp_path, data_file):
    with pytest.raises(UsageError, match="together"):
        run("init", "--model", "rents", "--data", data_file)
    with pytest.raises(UsageError, match="together"):
        run("init", "--model", "rents", "--target", "y")
    with pytest.raises(UsageError, match=r"no column 'z'; it has: a, b"):
        run("init", "--model", "rents", "--data", data_file, "--target", "z")
    (tmp_path / "there").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        run("init", "--model", "rents", "--out", tmp_path / "there")
    assert (tmp_path / "there").read_text() == "mine"
    with pytest.raises(UsageError, match="cannot write"):
        run("init", "--model", "rents", "--out", tmp_path / "there" / "policy.yaml")


@pytest.mark.parametrize(
    ("rules", "code", "verdict"),
    [
        ({"steps": {"most": 100}, "report_age": {"days": 1}}, 0, "PASS, class 'minor'"),
        ({"steps": {"most": 1, "otherwise": "review"}}, 3, "REVIEW, class 'minor'"),
        ({"steps": {"most": 1}}, 1, "FAIL, class 'minor'"),
    ],
)
def test_check_prints_a_line_a_rule_and_exits_with_the_verdict(run, policy_file, report_file, rules, code, verdict):
    found, said = run("check", policy_file(rules), "--report", report_file)
    assert found == code
    lines = said.splitlines()
    assert lines[0].startswith("Valid: policy 'rents'")
    assert [line for line in lines if re.match(r"  (met|NOT MET|NEEDS REVIEW) +steps +\S", line)]
    assert any("reference data" in line for line in lines)
    assert ("checked at the gate" in said) == ("report_age" in rules)
    assert lines[-1].startswith(verdict)


def test_check_refuses_what_is_no_policy_no_report_or_another_model(run, policy_file, report_file, tmp_path):
    with pytest.raises(NotFoundError, match="there is no file"):
        run("check", tmp_path / "nothing")
    with pytest.raises(UsageError, match="cannot read"):
        run("check", tmp_path)
    with pytest.raises(PolicyError, match="there is no such key"):
        run("check", policy_file({"nonsense": {}}))
    big = tmp_path / "big.yaml"
    big.write_bytes(b"#" * 3_000_000)
    with pytest.raises(PolicyError, match="at most"):
        run("check", big)
    with pytest.raises(RefusedError, match="no policy matches"):
        run("check", policy_file(models=["other"]), "--report", report_file)


def test_names_in_a_policy_do_not_reach_the_terminal_raw(run, policy_file):
    _, said = run("check", policy_file(models=["a\x1b[31m\u202e\nFAKE LINE"]))
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert not any(line.startswith("FAKE") for line in said.splitlines())


def test_schema_is_the_policys(run):
    assert json.loads(run("schema")[1]) == policy_schema()


def test_adopt_records_the_policy_once_and_says_what_it_replaces(run, policy_file, admin):
    url, key = admin
    path = policy_file()
    _, said = run("adopt", path, "--key", key, "--ledger", url)
    policy = read_policy(path.read_bytes(), "p")
    entry = Ledger.open(url).entries()[-1]
    assert entry.event == "policy adopted"
    assert entry.facts.name == "rents"
    assert Ledger.open(url).blob(entry.facts.policy) == policy_bytes(policy)
    assert entry.facts.policy in said
    assert "already" in run("adopt", path, "--key", key, "--ledger", url)[1]
    assert Ledger.open(url).entries()[-1] == entry
    _, said = run("adopt", policy_file({"gap": {}}), "--key", key, "--ledger", url)
    assert f"replaces the one with SHA-256 {entry.facts.policy}" in said


def test_adopt_warns_of_policies_for_the_same_models(run, policy_file, admin):
    url, key = admin
    run("adopt", policy_file(), "--key", key, "--ledger", url)
    assert (
        "policy 'rents' may match the same models"
        in run("adopt", policy_file(name="b", models=["*"]), "--key", key, "--ledger", url)[1]
    )
    assert "may match" not in run("adopt", policy_file(name="b", models=["x"]), "--key", key, "--ledger", url)[1]


def test_adopt_tells_what_will_not_work_as_things_are(run, policy_file, admin):
    url, key = admin
    said = run("adopt", policy_file(), "--key", key, "--ledger", url)[1]
    assert "Note: nobody has the role" in said


def test_only_a_policy_admin_adopts(run, policy_file, admin, tmp_path):
    url, _ = admin
    with pytest.raises(UsageError, match="say who signs"):
        run("adopt", policy_file(), "--ledger", url)
    stranger = new_key()
    stranger.save(tmp_path / "stranger.pem")
    before = Ledger.open(url).entries()
    with pytest.raises(SigningKeyError, match="not known"):
        run("adopt", policy_file(), "--key", tmp_path / "stranger.pem", "--ledger", url)
    assert Ledger.open(url).entries() == before
