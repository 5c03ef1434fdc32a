"""What one person could have done alone is said in plain sentences, of every ledger, and is not a problem."""

import pytest

from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.ledger.alone import few_admins
from coordpath_governance.ledger.events import Adoption, KeyAdded, KeyFacts, KeyRevoked, PolicyAdopted
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.verify import audit
from coordpath_governance.signing.keys import new_key


def alone(book):
    found = audit(book.entries, book.blobs)
    assert found.intact, found.problems
    return found.alone


def facts(key, owner, *roles):
    return KeyFacts(id=key.public.id, public=key.public.text, owner=owner, roles=roles)


def test_a_new_ledger_says_only_who_could_record(book):
    (said,) = alone(book)
    assert said.startswith(f"Whoever has the service key ({book.service.public.id[:12]}) alone could record reports")
    assert said.endswith("but not approve, add keys or adopt policies.")
    assert audit([], {}).alone == ()


def test_one_admin_could_do_everything_and_may_be_lost(book):
    book.add_people()
    book.adopt()
    first, last, approval, rollback, _, keys = alone(book)
    assert first.startswith("One policy-admin (Ada) alone could add keys and adopt policies")
    assert first.endswith("no policy in force asks for two (`admins: 2`).")
    assert last.startswith("Only Ada is a policy-admin. If this person's key is lost, nobody can ever add a key")
    assert "Make two: add another with `coordpath key new OWNER --role policy-admin`." in last
    assert approval.startswith("Under policy 'retail' a change of class 'minor' takes one approval, by Rob, if it is known")
    assert rollback.startswith("Under policy 'retail' Rob alone could put the previous champion back in an emergency")
    assert keys.startswith("Whoever added the keys of Rob could sign with them too")


def test_two_admins_where_one_is_enough(book):
    book.add_people()
    book.add_key(new_key(), "Sue", "policy-admin", "risk")
    book.add_key(new_key(), "SUE", "policy-admin")
    book.adopt()
    said = alone(book)
    assert said[0].startswith("One policy-admin (Ada or Sue) alone could")
    assert "Sue is a policy-admin and may also approve or waive under policy 'retail'." in said
    assert "by Rob or Sue, if" in " ".join(said)
    assert not any(line.startswith("Only") for line in said)


def test_who_could_roll_back_in_an_emergency(book):
    book.add_people()
    book.add_key(new_key(), "Olga", "operations")
    book.adopt(emergency={"roles": ["operations"], "days": 2})
    assert (
        "Under policy 'retail' Olga alone could put the previous champion back in an emergency, without report and "
        "approvals; others are to review it within 2 days."
    ) in alone(book)
    book.adopt(emergency={"roles": ["nobody"], "days": 1})
    assert not any("emergency" in line for line in alone(book))


def test_classes_that_take_nobody_or_more_than_one(book):
    book.add_people()
    book.adopt(materiality=[{"class": "any"}], waivers={})
    assert (
        "Under policy 'retail' a change of class 'any' that meets every rule takes nobody's approval if it is known who "
        "registered the version."
    ) in alone(book)
    book.adopt(materiality=[{"class": "any", "approvals": [{"role": "risk", "count": 2}]}])
    assert not any("a change of class" in line for line in alone(book))
    book.adopt(materiality=[{"class": "any", "approvals": [{"role": "nobody has it"}]}])
    assert not any("a change of class" in line for line in alone(book))


def test_since_when_two_are_asked_for_and_what_one_did_before(book):
    book.add_people()
    sue = new_key()
    book.add_key(sue, "Sue", "policy-admin")
    content = canonical_bytes(
        {
            "schema": "coordpath.policy/1",
            "name": "strict",
            "models": ["x"],
            "reference": {"sha256": "5" * 64, "role": "holdout", "target": "y"},
            "rules": {"gap": {"most": 0.1}},
            "materiality": [{"class": "minor"}],
            "admins": 2,
        }
    )
    body = PolicyAdopted(policy=sha256_hex(content), name="strict", models=("x",), admins=2)
    entry = book.add("policy adopted", body, book.admin, blob=content)
    said = alone(book)
    assert said[0] == (
        f"Since entry {entry.seq} it takes two policy-admins to add a key or adopt a policy. Keys added by one alone: 3, "
        "policies adopted by one alone: 1."
    )
    assert said[1].startswith("Only Ada and Sue are policy-admins, and both are needed.")
    assert "Make three" in said[1]
    third = new_key()
    book.second(book.propose("key added", KeyAdded(key=facts(third, "Uma", "policy-admin"))), sue)
    assert not any(line.startswith("Only") for line in alone(book))
    book.add("key revoked", KeyRevoked(key=third.public.id, reason="left"), book.admin)
    assert alone(book)[0].startswith(f"Since entry {entry.seq} ")


def test_adoptions_are_named(book):
    book.add_people()
    for _ in range(2):
        book.add("adoption", Adoption(alias="champion", version="1", digest="1" * 64, reason=""), book.admin, "fraud")
    assert "One policy-admin alone took what stood under an alias as it was, without any rule: entries 4, 5." in alone(book)
    book.entries.pop()
    assert "One policy-admin alone took what stood under an alias as it was, without any rule: entry 4." in alone(book)


@pytest.mark.parametrize("policy", [b"not a policy", None])
def test_a_policy_that_cannot_be_read_says_nothing(book, policy):
    book.add_people()
    body = PolicyAdopted(policy=sha256_hex(b"not a policy"), name="odd", models=("x",))
    book.add("policy adopted", body, book.admin, blob=policy)
    assert not any("odd" in line for line in audit(book.entries, book.blobs).alone)


def test_nobody_is_left(book):
    book.add_people()
    for key in (book.service, book.admin):
        book.add("key revoked", KeyRevoked(key=key.public.id, reason="left"), book.admin)
    said = "No policy-admin is left, so nobody can ever add a key or adopt a policy again."
    assert list(few_admins(KeyRing.of(book.entries))) == [said]
    assert alone(book)[0] == said
    assert not any("the service key" in line for line in alone(book))
