"""`coordpath key`: the first policy-admin, those he adds, and those he takes out again."""

import io
import stat
import sys

import pytest

from coordpath_governance.ledger.store import Ledger
from coordpath_governance.signing.keys import PrivateKey


@pytest.fixture
def url(tmp_path, monkeypatch):
    """A ledger that the commands find by the environment."""
    found = f"sqlite:///{tmp_path / 'coordpath-ledger.db'}"
    monkeypatch.setenv("COORDPATH_LEDGER", found)
    return found


@pytest.fixture
def new(coordpath, tmp_path, url):
    """Make a key for somebody; the file of the private key."""

    def make(owner, *roles, by=None):
        out = tmp_path / f"{owner}.pem"
        options = [option for role in roles for option in ("--role", role)]
        signer = ("--key", by) if by else ()
        done = coordpath("key", "new", owner, *options, "--out", out, "--no-passphrase", *signer)
        assert done.code == 0, done.err
        return out

    return make


def key_id(path):
    return PrivateKey.load(path).public.id


def test_a_policy_admin_begins_and_adds_others(coordpath, new, url):
    ada = new("Ada", "policy-admin")
    rob = new("Rob", "risk", "model-owner", by=ada)
    listed = coordpath("key", "list").out.splitlines()
    assert [line.split()[0] for line in listed[1:]] == [key_id(ada)[:12], key_id(rob)[:12]]
    assert listed[2].split() == [key_id(rob)[:12], "risk,", "model-owner", "since", "entry", "3", "Rob"]
    assert stat.S_IMODE(rob.stat().st_mode) == 0o600
    known = Ledger.open(url).keyring().keys[key_id(rob)]
    assert known.facts.roles == ("risk", "model-owner")


def test_the_first_key_must_be_a_policy_admins(coordpath, tmp_path, url):
    done = coordpath("key", "new", "Rob", "--role", "risk", "--out", tmp_path / "rob.pem", "--no-passphrase")
    assert done.code == 2
    assert "is a policy-admin's, who signs for itself" in done.plain
    assert not list(tmp_path.glob("*.*"))


def test_later_keys_need_a_policy_admin(coordpath, new, tmp_path):
    ada = new("Ada", "policy-admin")
    rob = new("Rob", "risk", by=ada)
    out = tmp_path / "eve.pem"
    nobody = coordpath("key", "new", "Eve", "--role", "risk", "--out", out, "--no-passphrase")
    assert (nobody.code, "say who signs: --key FILE" in nobody.plain) == (2, True)
    not_admin = coordpath("key", "new", "Eve", "--role", "risk", "--out", out, "--no-passphrase", "--key", rob)
    assert (not_admin.code, "lacks the role 'policy-admin'" in not_admin.plain) == (2, True)
    assert not out.exists()


def test_the_new_keys_passphrase_and_the_signers_have_each_their_own_variable(coordpath, tmp_path, url, monkeypatch):
    ada, rob = tmp_path / "ada.pem", tmp_path / "rob.pem"
    monkeypatch.setenv("COORDPATH_NEW_KEY_PASSPHRASE", "open sesame")
    assert coordpath("key", "new", "Ada", "--role", "policy-admin", "--out", ada).code == 0
    assert b"ENCRYPTED" in ada.read_bytes()
    monkeypatch.setenv("COORDPATH_KEY", str(ada))
    monkeypatch.setenv("COORDPATH_KEY_PASSPHRASE", "open sesame")
    monkeypatch.setenv("COORDPATH_NEW_KEY_PASSPHRASE", "Rob's own")
    assert coordpath("key", "new", "Rob", "--role", "risk", "--out", rob).code == 0
    monkeypatch.setenv("COORDPATH_KEY_PASSPHRASE", "wrong")
    assert coordpath("key", "revoke", key_id_of(rob, "Rob's own"), "--reason", "left").code == 2


def test_a_signer_whose_key_is_not_encrypted_needs_no_passphrase_but_may_have_one(coordpath, new, monkeypatch):
    monkeypatch.setenv("COORDPATH_KEY_PASSPHRASE", "of another key")
    ada = new("Ada", "policy-admin")
    assert new("Rob", "risk", by=ada).exists()


def key_id_of(path, passphrase):
    return PrivateKey.load(path, passphrase).public.id


def test_a_key_that_its_owner_made(coordpath, tmp_path, url):
    """Nobody but Bob ever has Bob's private key."""
    ada, bob = tmp_path / "ada.pem", tmp_path / "bob.pem"
    assert coordpath("key", "new", "Ada", "--role", "policy-admin", "--out", ada, "--no-passphrase").code == 0
    made = coordpath("key", "make", "Bob", "--out", bob, "--no-passphrase", "--proof", tmp_path / "bob.proof")
    assert made.code == 0
    public = made.out.split("Public key: ")[1].strip()
    proof = ("--proof", tmp_path / "bob.proof")
    added = coordpath("key", "new", "Bob", "--role", "risk", "--public", public, *proof, "--key", ada)
    assert added.code == 0
    assert Ledger.open(url).keyring().keys[PrivateKey.load(bob, None).public.id].facts.owner == "Bob"
    listed = coordpath("key", "list", "--public")
    assert public in listed.out
    assert listed.out.count("-----BEGIN PUBLIC KEY-----") == 3
    assert coordpath("key", "new", "Eve", "--role", "risk", "--public", "nonsense", "--key", ada).code == 2
    assert coordpath("key", "new", "Eve", "--role", "risk", "--public", public, "--key", ada).code == 2


def test_without_a_terminal_nobody_is_asked(coordpath, tmp_path, url, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    done = coordpath("key", "new", "Ada", "--role", "policy-admin", "--out", tmp_path / "ada.pem")
    assert done.code == 0
    assert "whoever has this file can sign" in done.plain
    assert PrivateKey.load(tmp_path / "ada.pem", None).public.id


def test_on_a_terminal_the_passphrase_is_asked_for(coordpath, tmp_path, url, monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    asked = []
    monkeypatch.setattr("click.prompt", lambda text, **options: asked.append(options) or "typed")
    assert coordpath("key", "new", "Ada", "--role", "policy-admin", "--out", tmp_path / "ada.pem").code == 0
    assert [(options["hide_input"], options["confirmation_prompt"]) for options in asked] == [(True, True)]
    PrivateKey.load(tmp_path / "ada.pem", "typed")


@pytest.mark.parametrize(("owner", "file"), [("Ada Lovelace", "ada-lovelace.pem"), ("../../é", None)])
def test_the_default_file_is_the_owners_in_the_home(coordpath, tmp_path, url, monkeypatch, owner, file):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert coordpath("key", "new", owner, "--role", "policy-admin", "--no-passphrase").code == 0
    (made,) = (tmp_path / "home/.config/coordpath/keys").iterdir()
    assert made.name == (file or f"{key_id(made)[:12]}.pem")


def test_a_private_key_is_not_overwritten_and_then_nothing_is_recorded(coordpath, new, tmp_path, url):
    ada = new("Ada", "policy-admin")
    done = coordpath("key", "new", "Ada", "--role", "risk", "--out", ada, "--no-passphrase", "--key", ada)
    assert (done.code, "never overwritten" in done.plain) == (2, True)
    assert len(Ledger.open(url).entries()) == 2


@pytest.mark.parametrize(
    ("owner", "role"), [("", "risk"), ("  ", "risk"), ("Ada", " "), ("x" * 201, "risk"), ("\ud800", "risk")]
)
def test_an_owner_and_roles_that_are_none(coordpath, url, owner, role):
    done = coordpath("key", "new", owner, "--role", role, "--no-passphrase")
    assert done.code == 2


def test_a_revoked_key_is_listed_as_such_and_signs_nothing(coordpath, new, tmp_path):
    ada = new("Ada", "policy-admin")
    bob = new("Bob", "policy-admin", by=ada)
    done = coordpath("key", "revoke", key_id(bob)[:8].upper(), "--reason", "left", "--key", ada)
    assert done.code == 0, done.err
    assert "revoked by entry 4" in coordpath("key", "list").out
    out = tmp_path / "eve.pem"
    refused = coordpath("key", "new", "Eve", "--role", "risk", "--out", out, "--no-passphrase", "--key", bob)
    assert (refused.code, "of Bob was revoked by entry 4" in refused.plain) == (2, True)
    again = coordpath("key", "revoke", key_id(bob), "--reason", "left", "--key", ada)
    assert (again.code, "not one that could be revoked" in again.plain) == (2, True)


def test_the_last_policy_admin_stays(coordpath, new):
    ada = new("Ada", "policy-admin")
    done = coordpath("key", "revoke", key_id(ada), "--reason", "left", "--key", ada)
    assert (done.code, "is the only policy-admin left" in done.plain) == (2, True)


def test_what_names_no_key(coordpath, new, monkeypatch):
    ada = new("Ada", "policy-admin")
    for text, said in (("abc", "is too short"), ("0" * 64, "no key of this ledger begins with")):
        done = coordpath("key", "revoke", text, "--reason", "left", "--key", ada)
        assert (done.code, said in done.plain) == (2, True)
    done = coordpath("key", "revoke", key_id(ada), "--reason", "x" * 4001, "--key", ada)
    assert (done.code, "--reason" in done.plain) == (2, True)
    monkeypatch.setattr("coordpath_governance.cli.key_command._SHORTEST_PREFIX", 0)
    done = coordpath("key", "revoke", "", "--reason", "left", "--key", ada)
    assert (done.code, "2 keys begin with ''" in done.plain) == (2, True)


def test_hostile_owners_are_harmless_in_the_terminal(coordpath, new):
    new("\x1b[31mAda\u202e\nfake", "policy-admin")
    listed = coordpath("key", "list").out
    assert len(listed.splitlines()) == 2
    assert "\x1b" not in listed
    assert "\u202e" not in listed


def test_there_is_nothing_to_list_or_revoke_without_a_ledger(coordpath, url, tmp_path):
    for command in (("list",), ("revoke", "0" * 12, "--reason", "x")):
        done = coordpath("key", *command)
        assert (done.code, "there is no ledger" in done.plain) == (4, True)
    assert list(tmp_path.iterdir()) == []


def test_the_ledger_is_found_beside_the_registry(coordpath, tmp_path):
    registry = f"coordpath:sqlite:///{tmp_path / 'mlflow.db'}"
    options = ("--role", "policy-admin", "--out", tmp_path / "ada.pem", "--no-passphrase", "--registry-uri", registry)
    assert coordpath("key", "new", "Ada", *options).code == 0
    assert (tmp_path / "coordpath-ledger.db").exists()
    assert not (tmp_path / "mlflow.db").exists()
    assert "Ada" in coordpath("key", "list", "--tracking-uri", f"sqlite:///{tmp_path / 'mlflow.db'}").out


def test_the_ledger_is_found_beside_what_mlflow_resolves(coordpath, tmp_path, monkeypatch):
    monkeypatch.setattr("mlflow.get_registry_uri", lambda: f"sqlite:///{tmp_path / 'mlflow.db'}")
    done = coordpath("key", "list")
    assert done.code == 4
    assert f"there is no ledger at 'sqlite:///{tmp_path / 'coordpath-ledger.db'}'" in done.plain
