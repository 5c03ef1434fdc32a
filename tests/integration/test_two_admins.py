"""Two policy-admins for keys and policies, and keys with proof, from the command line."""

import json

import pytest
from helpers.office import Office

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.ledger.events import PolicyAdopted, Proposal
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.ledger.verify import audit
from coordpath_governance.signing.keys import PrivateKey

POLICY = {
    "schema": "coordpath.policy/1",
    "name": "prices",
    "models": ["price*"],
    "reference": {"sha256": "5" * 64, "role": "holdout", "target": "y"},
    "rules": {"gap": {"most": 0.1}},
    "materiality": [{"class": "minor", "approvals": [{"role": "validator", "count": 1}]}],
}


class Desk:
    """Keys and policies of one ledger, found by the environment."""

    def __init__(self, run, folder):
        self.run, self.folder = run, folder
        self.url = f"sqlite:///{folder / 'coordpath-ledger.db'}"

    def file(self, owner):
        return self.folder / f"{owner}.pem"

    def new(self, owner, role, by=None):
        signer = ("--key", self.file(by)) if by else ()
        return self.run("key", "new", owner, "--role", role, "--out", self.file(owner), "--no-passphrase", *signer)

    def adopt(self, by, **changes):
        path = self.folder / "policy.json"
        path.write_text(json.dumps({**POLICY, **changes}))
        return self.run("policy", "adopt", path, "--key", self.file(by))

    def second(self, entry, by, *options):
        return self.run("second", entry, "--key", self.file(by), *options)

    @property
    def ledger(self):
        return Ledger.open(self.url)

    def people(self):
        return [known.facts.owner for known in self.ledger.keyring().keys.values()][1:]


@pytest.fixture
def desk(coordpath, tmp_path, monkeypatch):
    made = Desk(coordpath, tmp_path)
    monkeypatch.setenv("COORDPATH_LEDGER", made.url)
    return made


@pytest.fixture
def two(desk):
    """Ann and Sue, and a policy that asks for both."""
    desk.new("Ann", "policy-admin")
    desk.new("Sue", "policy-admin", by="Ann")
    desk.adopt("Ann", admins=2)
    return desk


def proposed(outcome):
    """The number of the proposal, as the command says it."""
    assert outcome.code == 3, outcome.plain
    assert "It counts when another policy-admin has seconded it: coordpath second" in outcome.plain
    return outcome.plain.split("Proposed as entry ")[1].split(".")[0]


def test_a_key_counts_when_another_admin_has_seconded_it(two):
    entry = proposed(two.new("Bob", "validator", by="Ann"))
    assert two.people() == ["Ann", "Sue"]
    assert two.file("Bob").exists()
    listed = two.run("second")
    assert (listed.code, f"Entry {entry} of " in listed.out, "of Bob, with the roles validator" in listed.out) == (
        0,
        True,
        True,
    )
    looked = two.run("second", entry)
    assert (looked.code, "without proof that its owner has it" in looked.out) == (3, True)
    own = two.second(entry, "Ann")
    assert (own.code, f"Ann proposed it in entry {entry}; another person has to second it" in own.plain) == (2, True)
    done = two.second(entry, "Sue")
    assert (done.code, "Seconded: 'key added' is entry 6" in done.plain) == (0, True)
    assert two.people() == ["Ann", "Sue", "Bob"]
    again = two.second(entry, "Sue")
    assert (again.code, f"entry 6 has seconded the proposal of entry {entry} already" in again.plain) == (1, True)
    assert two.run("second").out == "Nothing waits for a second policy-admin.\n"
    logged = two.run("audit", "log").out
    assert "of Bob (validator); waits for a second policy-admin" in logged
    assert "seconding the proposal" in logged


def test_a_policy_is_shown_with_what_it_changes(two):
    entry = proposed(two.adopt("Ann", rules={"gap": {"most": 99}}, waivers={"roles": ["risk"]}))
    shown = two.second(entry, "Sue").out
    assert "policy 'prices', SHA-256" in shown
    for line in ("rules.gap.most: 0.1 → 99", "admins: 2 → (not set)", 'waivers.roles: (not set) → ["risk"]'):
        assert line in shown
    assert two.ledger.keyring().proposals.needed == 1
    assert two.new("Bob", "validator", by="Ann").code == 0


def test_a_new_policy_is_shown_whole(two):
    entry = proposed(two.adopt("Sue", name="others", models=["other*"]))
    shown = two.run("second", entry).out
    assert "a new policy; what it changes:" in shown
    assert "materiality[0].approvals[0].role: " in shown
    assert two.second(entry, "Ann").code == 0


def test_a_policy_is_not_retired_by_one(two):
    entry = proposed(two.run("policy", "retire", "prices", "--reason", "too strict", "--key", two.file("Ann")))
    assert two.ledger.keyring().proposals.needed == 2
    done = two.second(entry, "Sue")
    assert (done.code, "policy 'prices', SHA-256" in done.out, "goes out of force: too strict" in done.out) == (
        0,
        True,
        True,
    )
    assert two.ledger.keyring().proposals.needed == 1
    found = audit(two.ledger.entries(), two.ledger.blobs)
    assert found.intact
    assert found.alone[0].startswith("One policy-admin (Ann or Sue) alone could add keys")


def test_an_old_proposal_no_longer_counts(two):
    entry = proposed(two.adopt("Ann", rules={"gap": {"most": 0.2}}))
    assert two.second(proposed(two.new("Bob", "validator", by="Sue")), "Ann").code == 0
    old = two.second(entry, "Sue")
    assert (old.code, "because keys or policies have changed since; propose it again" in old.plain) == (1, True)


@pytest.mark.parametrize("entry", ["1", "99"])
def test_what_is_no_proposal(two, entry):
    done = two.second(entry, "Sue")
    assert (done.code, f"entry {entry} is not a proposal" in done.plain) == (2, True)


def test_two_are_asked_for_only_where_there_are_two(desk):
    first = desk.new("Ann", "policy-admin")
    assert "Make two: add another with" in first.out
    done = desk.adopt("Ann", admins=2)
    assert (done.code, "asks for 2 policy-admins, and there is only Ann: add another" in done.plain) == (2, True)
    assert desk.adopt("Ann", admins=3).code == 2
    listed = desk.run("key", "list")
    assert "Note: Only Ann is a policy-admin." in listed.err
    assert "Note" not in listed.out
    assert "Note" not in desk.new("Sue", "policy-admin", by="Ann").out


def test_one_revokes_but_not_down_below_two(two):
    refused = two.run("key", "revoke", PrivateKey.load(two.file("Sue")).public.id, "--reason", "x", "--key", two.file("Ann"))
    assert (refused.code, "without this key there is only Ann: add another" in refused.plain) == (2, True)
    assert two.second(proposed(two.new("Bob", "validator", by="Sue")), "Ann").code == 0
    bob = PrivateKey.load(two.file("Bob")).public.id
    assert two.run("key", "revoke", bob, "--reason", "stolen", "--key", two.file("Ann")).code == 0


def test_at_a_terminal_whoever_seconds_is_asked(two, monkeypatch):
    entry = proposed(two.new("Bob", "validator", by="Ann"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.confirm", lambda text: False)
    declined = two.second(entry, "Sue")
    assert (declined.code, "Nothing was signed." in declined.plain) == (3, True)
    assert two.people() == ["Ann", "Sue"]
    assert two.second(entry, "Sue", "--yes").code == 0


def test_a_proposal_that_misstates_its_policy_is_not_seconded(two):
    from coordpath_governance.ledger.events import PolicyAdopted, Proposal
    from coordpath_governance.policy.load import policy_bytes, policy_sha256, read_policy

    policy = read_policy(json.dumps({**POLICY, "models": ["*"]}), "p")
    said = PolicyAdopted(policy=policy_sha256(policy), name="prices", models=("price*",), admins=1)
    ann = PrivateKey.load(two.file("Ann"))
    proposal = Proposal(event="policy adopted", body=said.model_dump(mode="json"))
    entry = two.ledger.append("proposal", proposal, ann, blob=policy_bytes(policy))
    done = two.second(entry.seq, "Sue")
    assert (done.code, "the proposal says other models than the proposed policy" in done.plain) == (1, True)
    odd = said.model_copy(update={"policy": "2689367b205c16ce32ed4200942b8b8b1e262dfc70d9bc9fbc77c49699a4f1df"})
    entry = two.ledger.append(
        "proposal", Proposal(event="policy adopted", body=odd.model_dump(mode="json")), ann, blob=b"ok"
    )
    done = two.second(entry.seq, "Sue")
    assert (done.code, "cannot be read, so it cannot be seconded" in done.plain) == (1, True)


def test_the_audit_says_what_one_person_could_have_done(two, tmp_path):
    proposed(two.new("Bob", "validator", by="Ann"))
    export = tmp_path / "ledger.jsonl"
    assert two.run("audit", "export", "-o", export).code == 0
    for what in ((), (export,)):
        done = two.run("audit", "verify", *what)
        assert done.code == 0
        assert "What one person could have done alone:\n  Since entry 4 it takes two policy-admins" in done.out
        assert "Only Ann and Sue are policy-admins, and both are needed." in done.out
        assert done.out.splitlines()[-1] == "intact, tail not anchored"
    assert json.loads(two.run("audit", "verify", "--json").out)["alone"][0].startswith("Since entry 4 it takes two")


def test_the_gate_does_not_take_a_policy_whose_entry_asks_for_fewer(store, coordpath, tmp_path):
    """Ann records a policy that seems to ask for two, and goes on alone."""
    from coordpath_governance.ledger.events import PolicyAdopted
    from coordpath_governance.policy.load import policy_bytes, policy_sha256, read_policy

    office = Office(store, coordpath, tmp_path)
    store.register(office.name, store.first)
    policy = read_policy(office.write_policy(admins=2).read_bytes(), "p")
    lie = PolicyAdopted(policy=policy_sha256(policy), name=policy.name, models=policy.models)
    office.ledger.append("policy adopted", lie, PrivateKey.load(office.key("Ann")), blob=policy_bytes(policy))
    done = office.run("gate", office.name, "1")
    assert (done.code, "asks for 2 policy-admins, but the entry that adopted it says otherwise" in done.plain) == (4, True)
    ledger = office.ledger
    assert "it says admins: 1" in audit(ledger.entries(), ledger.blobs).conclusion
    office.adopt_policy()
    assert office.run("gate", office.name, "1").code == 1


@pytest.fixture
def made(desk):
    """Ann begins the ledger; Bob has made a key and a proof; its public half."""
    desk.new("Ann", "policy-admin")

    def make(*options, proof="bob.proof", out="bob.pem"):
        where = ("--proof", desk.folder / proof) if proof else ()
        done = desk.run("key", "make", *options, "--out", desk.folder / out, "--no-passphrase", *where)
        assert done.code == 0, done.plain
        return done.out.split("Public key: ")[1].strip()

    return make


def add(desk, public, owner="Bob", proof="bob.proof", role="validator"):
    where = ("--proof", desk.folder / proof) if proof else ()
    return desk.run("key", "new", owner, "--role", role, "--public", public, *where, "--key", desk.file("Ann"))


def test_a_public_key_is_added_with_proof(desk, made):
    assert add(desk, made("Bob", "--ledger-id", desk.ledger.id)).code == 0
    proof = desk.ledger.entries()[-1].facts.proof
    assert (proof.owner, proof.ledger) == ("Bob", desk.ledger.id)
    done = desk.run("audit", "verify")
    assert done.code == 0
    assert "Whoever added the keys" not in done.out


def test_a_proof_without_a_name_counts_for_any(desk, made):
    assert add(desk, made()).code == 0
    assert desk.ledger.entries()[-1].facts.proof.owner is None


def test_without_proof_a_public_key_is_not_added(desk, made):
    done = add(desk, made(proof=None), proof=None)
    assert done.code == 2
    assert "give --proof FILE. The owner makes key and proof with `coordpath key make OWNER --out" in done.plain
    assert desk.people() == ["Ann"]


def test_a_proof_of_something_else_is_refused(desk, made):
    public = made("Bob")
    for owner, said in (("Eve", "is for 'Bob', not for 'Eve'"),):
        done = add(desk, public, owner)
        assert (done.code, said in done.plain) == (1, True)
    other = made("Bob", proof="other.proof", out="other.pem")
    assert add(desk, other).code == 1
    foreign = made("Bob", "--ledger-id", "0" * 32, proof="foreign.proof", out="foreign.pem")
    assert add(desk, foreign, proof="foreign.proof").code == 1
    proof = desk.folder / "bob.proof"
    proof.write_bytes(proof.read_bytes().replace(b"payload", b"Payload", 1))
    assert add(desk, public).code == 1
    for path in ("none.proof", "."):
        assert add(desk, public, proof=path).code == 2
    assert desk.people() == ["Ann"]


def test_what_key_make_and_key_new_do_not_take(desk, made, tmp_path):
    made("Bob")
    for options, said in (
        (("Bob",), "stand in the proof: give --proof FILE, too"),
        (("Bob", "--proof", tmp_path / "bob.proof"), "name another file for the proof"),
        (("Bob", "--proof", tmp_path / "no folder" / "p"), "cannot write the proof"),
        ((" ", "--proof", tmp_path / "p"), "a name of 1 to 200 characters"),
        (("Bob", "--proof", tmp_path / "p", "--ledger-id", "12"), "32 hexadecimal digits"),
    ):
        done = desk.run("key", "make", *options, "--out", tmp_path / "new.pem", "--no-passphrase")
        assert (done.code, said in done.plain) == (2, True), done.plain
        assert not (tmp_path / "new.pem").exists()
    done = desk.run("key", "new", "Bob", "--role", "x", "--proof", tmp_path / "bob.proof", "--key", desk.file("Ann"))
    assert (done.code, "--proof goes with --public" in done.plain) == (2, True)


def test_a_key_with_proof_is_seconded_with_it(two):
    done = two.run("key", "make", "Bob", "--out", two.file("Bob"), "--no-passphrase", "--proof", two.folder / "bob.proof")
    entry = proposed(add(two, done.out.split("Public key: ")[1].strip()))
    shown = two.second(entry, "Sue")
    assert (shown.code, "with its owner's proof of 20" in shown.out, "naming nobody" in shown.out) == (0, True, False)
    assert two.ledger.entries()[-1].facts.proof.owner == "Bob"


def test_a_proposal_that_cannot_be_read_does_not_hide_the_others(two):
    body = PolicyAdopted(policy=sha256_hex(b"{}"), name="unreadable", models=("a",))
    proposal = Proposal(event="policy adopted", body=body.model_dump(mode="json"))
    bad = two.ledger.append("proposal", proposal, PrivateKey.load(two.file("Ann")), blob=b"{}").seq
    entry = proposed(two.new("Bob", "validator", by="Ann"))
    listed = two.run("second")
    assert listed.code == 1
    assert f"Do not second entry {bad}: the proposed policy " in listed.plain
    assert f"Entry {entry} of " in listed.plain
    assert "of Bob, with the roles validator" in listed.plain
