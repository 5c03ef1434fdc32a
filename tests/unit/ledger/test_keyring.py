"""Keys come in and go out by entries, and each may sign only what is its own."""

import pytest

from coordpath_governance.ledger.events import KeyAdded, KeyFacts, KeyRevoked, LedgerCreated, PolicyAdopted
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.signing.keys import new_key


def last_objection(book):
    return KeyRing.of(book.entries[:-1]).objection(book.entries[-1])


def test_a_ledger_begins_once(book):
    again = LedgerCreated(
        ledger="0" * 32, key=KeyFacts(id="0" * 64, public=new_key().public.text, owner="x", roles=("service",))
    )
    book.add("ledger created", again)
    assert last_objection(book) == "the key's id is not the digest of the key"
    other = new_key()
    facts = KeyFacts(id=other.public.id, public=other.public.text, owner="x", roles=("service",))
    book.add("ledger created", LedgerCreated(ledger="0" * 32, key=facts), other)
    assert last_objection(book) == "a ledger begins once, signed by its own service key"


def test_the_first_person_is_a_policy_admin_who_signs_alone(book):
    book.add_key(book.reviewer, "Rob", "risk", by=book.reviewer)
    assert "is a policy-admin, who signs for itself" in last_objection(book)
    book.add_key(book.admin, "Ada", "policy-admin", by=book.service)
    assert "is a policy-admin, who signs for itself" in last_objection(book)


def test_a_key_is_added_once(book):
    book.add_people()
    book.add_key(book.reviewer, "Rob", "risk")
    assert "was added before" in last_objection(book)


def test_a_service_has_no_other_role(book):
    book.add_people()
    book.add_key(book.stranger, "Eve", "service", "risk")
    assert last_objection(book) == "the role 'service' does not go with others"


def test_a_second_service_key_signs_like_the_first(book):
    book.add_people()
    book.add_key(book.stranger, "other host", "service")
    assert last_objection(book) is None
    book.refuse(key=book.stranger)
    assert last_objection(book) is None


@pytest.mark.parametrize("twice", [False, True])
def test_what_cannot_be_revoked(book, twice):
    book.add_people()
    key = book.reviewer if twice else book.stranger
    for _ in range(2 if twice else 1):
        book.add("key revoked", KeyRevoked(key=key.public.id, reason="left"), book.admin)
    assert "is not one that could be revoked" in last_objection(book)


def test_a_key_counts_from_where_it_came_to_where_it_went(story):
    ring = KeyRing.of(story.entries)
    known = ring.keys[story.reviewer.public.id]
    revoked = next(entry.seq for entry in story.entries if entry.event == "key revoked")
    assert known.revoked == revoked
    assert [known.active(seq) for seq in (2, 3, revoked, revoked + 1)] == [False, True, True, False]


def test_the_revocation_of_an_unknown_key_changes_nothing(book):
    entry = book.add("key revoked", KeyRevoked(key="0" * 64, reason=""))
    assert KeyRing.of(book.entries[:1]).after(entry).keys.keys() == {book.service.public.id}


def test_only_a_policy_admin_adopts_policies(book):
    book.add_people()
    book.add("policy adopted", PolicyAdopted(policy="0" * 64, name="p", models=("*",)), book.reviewer)
    assert "lacks the role 'policy-admin'" in last_objection(book)


def test_an_added_key_must_be_its_ids(book):
    facts = KeyFacts(id="0" * 64, public=book.admin.public.text, owner="Ada", roles=("policy-admin",))
    book.add("key added", KeyAdded(key=facts), book.admin)
    assert last_objection(book) == "the key's id is not the digest of the key"
