"""What takes two policy-admins: one alone, with one key and the service key, gets nothing past those who read the ledger."""

import pytest
from pydantic import ValidationError

from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.ledger.events import KeyAdded, KeyFacts, KeyRevoked, PolicyAdopted, PolicyRetired, Proposal
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.verify import audit
from coordpath_governance.signing.keys import new_key

LAX = {
    "schema": "coordpath.policy/1",
    "name": "retail",
    "models": ["fraud*"],
    "reference": {"sha256": "5" * 64, "role": "holdout", "target": "y"},
    "rules": {"gap": {"most": 0.9}},
    "materiality": [{"class": "minor", "approvals": [{"role": "risk", "count": 1}]}],
}


@pytest.fixture
def two(book):
    """Ada and Sue are policy-admins, and the policy asks for both."""
    book.add_people()
    book.sue = new_key()
    book.add_key(book.sue, "Sue", "policy-admin")
    adopt(book, {**LAX, "admins": 2}, book.admin)
    return book


def problems(book):
    return [str(problem) for problem in audit(book.entries, book.blobs).problems]


def key_of(key, owner, *roles):
    return KeyAdded(key=KeyFacts(id=key.public.id, public=key.public.text, owner=owner, roles=roles))


def lax(**changes):
    content = canonical_bytes({**LAX, **changes})
    admins = changes.get("admins", 1)
    return PolicyAdopted(policy=sha256_hex(content), name="retail", models=("fraud*",), admins=admins), content


def adopt(book, document, by):
    content = canonical_bytes(document)
    admins = document.get("admins", 1)
    body = PolicyAdopted(policy=sha256_hex(content), name=document["name"], models=("fraud*",), admins=admins)
    return book.add("policy adopted", body, by, blob=content)


def propose_key(book, owner="Tom", roles=("risk",), by=None):
    return book.propose("key added", key_of(new_key(), owner, *roles), by)


def test_one_proposes_and_another_seconds(two):
    keys = len(KeyRing.of(two.entries).keys)
    proposal = propose_key(two)
    assert len(KeyRing.of(two.entries).keys) == keys
    two.second(proposal, two.sue)
    body, content = lax()
    two.second(two.propose("policy adopted", body, two.sue, content), two.admin)
    assert problems(two) == []
    ring = KeyRing.of(two.entries)
    assert len(ring.keys) == keys + 1
    assert (ring.proposals.needed, ring.proposals.waiting) == (1, {})
    two.add_key(new_key(), "Uma", "risk")
    assert problems(two) == []


def test_a_key_or_policy_of_one_alone_is_found(two):
    two.add_key(new_key(), "Ada's friend", "policy-admin")
    body, content = lax()
    two.add("policy adopted", body, two.admin, blob=content)
    assert [said.partition(": ")[2].split(":")[0] for said in problems(two)] == [
        "the policies in force ask for 2 policy-admins"
    ] * 2


def test_the_strictest_policy_decides_for_all(two):
    body = PolicyAdopted(policy=lax()[0].policy, name="other", models=("churn",))
    two.second(two.propose("policy adopted", body, blob=lax()[1]), two.sue)
    assert problems(two) == []
    assert KeyRing.of(two.entries).proposals.needed == 2
    two.add_key(new_key(), "Tom", "risk")
    assert "ask for 2 policy-admins" in problems(two)[0]


@pytest.mark.parametrize("owner", ["Ada", " ADA ", "\uff21da"])
def test_nobody_seconds_their_own_proposal_with_another_key(two, owner):
    own = new_key()
    two.second(two.propose("key added", key_of(own, owner, "policy-admin")), two.sue)
    assert problems(two) == []
    two.second(propose_key(two), own)
    assert f"{owner} proposed it in entry" in problems(two)[0]
    assert "another person has to second it" in problems(two)[0]


def test_nobody_adds_a_second_person_of_their_own(two):
    """Eve is Ada under another name: Sue has to agree to her."""
    eve = new_key()
    proposal = two.propose("key added", key_of(eve, "Eve", "policy-admin"))
    two.second(proposal, eve)
    assert "is not known to this ledger" in problems(two)[0]
    assert eve.public.id not in KeyRing.of(two.entries[:-1]).keys


@pytest.mark.parametrize("who", ["service", "reviewer"])
def test_only_policy_admins_propose_and_second(two, who):
    key = getattr(two, who)
    two.second(propose_key(two), key)
    assert "lacks the role 'policy-admin'" in problems(two)[0]
    two.entries.pop()
    two.entries.pop()
    proposal = propose_key(two, by=key)
    two.second(proposal, two.sue)
    said = problems(two)
    assert "lacks the role 'policy-admin'" in said[0]
    assert "is not a proposal that waits" in said[1]


def test_a_revoked_key_seconds_nothing(two):
    two.second(two.propose("key added", key_of(new_key(), "Tom", "policy-admin")), two.sue)
    two.add("key revoked", KeyRevoked(key=two.sue.public.id, reason="stolen"), two.admin)
    assert problems(two) == []
    two.second(propose_key(two), two.sue)
    assert "of Sue was revoked" in problems(two)[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"key": key_of(new_key(), "Tom", "risk").key},
        {"proof": {"owner": None, "ledger": None, "at": "2026-01-01T00:00:00.000000Z", "signature": "x"}},
    ],
)
def test_what_is_seconded_is_what_was_proposed(two, changes):
    proposal = propose_key(two)
    facts = key_of(new_key(), "Tom", "risk").model_dump(mode="json") | proposal.body["body"] | {"proposal": proposal.hash}
    facts |= {name: value if isinstance(value, dict) else value.model_dump(mode="json") for name, value in changes.items()}
    two.add("key added", facts, two.sue)
    assert any(
        f"it is not what entry {proposal.seq} proposed" in said or "proof of the key" in said for said in problems(two)
    )


def test_a_proposed_policy_is_not_seconded_as_another(two):
    body, content = lax()
    proposal = two.propose("policy adopted", body, blob=content)
    laxer, more = lax(rules={"gap": {"most": 99}})
    two.add("policy adopted", laxer.model_copy(update={"proposal": proposal.hash}), two.sue, blob=more)
    assert f"it is not what entry {proposal.seq} proposed" in problems(two)[0]
    two.entries.pop()
    two.add("key added", key_of(new_key(), "Tom", "risk").model_copy(update={"proposal": proposal.hash}), two.sue)
    assert f"it is not what entry {proposal.seq} proposed" in problems(two)[0]


def test_a_proposal_is_used_once(two):
    proposal = two.propose("policy adopted", lax(admins=2)[0], blob=lax(admins=2)[1])
    two.second(proposal, two.sue)
    assert problems(two) == []
    two.second(proposal, two.sue)
    assert "is not a proposal that waits" in problems(two)[0]


def test_a_key_is_not_added_again_by_its_old_proposal(two):
    proposal = propose_key(two)
    two.second(proposal, two.sue)
    two.second(proposal, two.sue)
    assert "was added before" in problems(two)[0]


def test_a_proposal_ends_with_the_keys_and_policies_it_was_made_against(two):
    old = two.propose("policy adopted", lax()[0], blob=lax()[1])
    two.second(propose_key(two), two.sue)
    two.second(old, two.sue)
    assert "keys or policies have changed since" in problems(two)[0]
    two.entries.pop()
    key, policy = propose_key(two), two.propose("policy adopted", lax(admins=2)[0], blob=lax(admins=2)[1])
    two.add("key revoked", KeyRevoked(key=two.reviewer.public.id, reason="left"), two.admin)
    for each in (key, policy):
        two.second(each, two.sue)
        assert "keys or policies have changed since" in problems(two)[0]
        two.entries.pop()


def test_keys_that_were_proposed_together_are_seconded_one_after_the_other(two):
    for proposal in [propose_key(two, owner) for owner in ("Tom", "Uma", "Vic")]:
        two.second(proposal, two.sue)
    assert problems(two) == []


def test_one_alone_does_not_retire_what_asks_for_two(two):
    policy = next(entry.body["policy"] for entry in two.entries if entry.event == "policy adopted")
    retired = PolicyRetired(policy=policy, name="retail", reason="in my way")
    two.add("policy retired", retired, two.admin)
    assert "ask for 2 policy-admins" in problems(two)[0]
    two.entries.pop()
    two.second(two.propose("policy retired", retired), two.sue)
    assert problems(two) == []
    assert KeyRing.of(two.entries).proposals.needed == 1


def test_one_alone_does_not_lower_what_is_asked(two):
    body, content = lax()
    two.add("policy adopted", body, two.admin, blob=content)
    two.add_key(new_key(), "Eve", "risk")
    assert ["ask for 2 policy-admins" in said for said in problems(two)] == [True, True]


def test_two_are_not_asked_for_where_there_is_one(book):
    book.add_people()
    own = new_key()
    book.add_key(own, "ada", "policy-admin")
    adopt(book, {**LAX, "admins": 2}, book.admin)
    assert "asks for 2 policy-admins, and there is only Ada: add another person's key first" in problems(book)[0]
    book.entries.pop()
    book.propose("policy adopted", lax(admins=2)[0], blob=lax(admins=2)[1])
    assert "asks for 2 policy-admins, and there is only Ada" in problems(book)[0]


def test_one_may_revoke_but_not_down_below_two_people(two):
    """A stolen key is taken out at once; nobody takes the others out to be alone."""
    two.add("key revoked", KeyRevoked(key=two.reviewer.public.id, reason="stolen"), two.admin)
    assert problems(two) == []
    two.add("key revoked", KeyRevoked(key=two.sue.public.id, reason="in my way"), two.admin)
    assert "ask for 2 policy-admins, and without this key there is only Ada" in problems(two)[0]


def test_a_second_key_of_one_person_may_go(two):
    spare = new_key()
    two.second(two.propose("key added", key_of(spare, "sue", "policy-admin")), two.sue)
    two.add("key revoked", KeyRevoked(key=two.sue.public.id, reason="lost"), two.admin)
    assert problems(two) == []
    assert KeyRing.of(two.entries).admins == ("Ada", "sue")


def test_an_entry_that_asks_for_fewer_than_its_policy_is_found(two):
    body, content = lax(admins=2)
    lie = body.model_copy(update={"admins": 1})
    two.second(two.propose("policy adopted", lie, blob=content), two.sue)
    assert problems(two) == [
        f"entry {len(two.entries)}: it says admins: 1, but the policy that it adopts asks for 2",
    ]


def test_what_is_proposed_is_what_could_be_recorded(two):
    two.propose("key added", key_of(two.reviewer, "Rob", "risk"))
    assert "was added before" in problems(two)[0]
    two.entries.pop()
    two.propose("policy adopted", PolicyAdopted(policy="7" * 64, name="p", models=("*",)))
    assert "the bytes of SHA-256 777777777777… that it names are missing" in problems(two)[0]


def test_a_proposal_is_about_a_key_or_a_policy_and_names_no_other():
    facts = key_of(new_key(), "Tom", "risk")
    with pytest.raises(ValidationError, match="names no proposal"):
        Proposal(event="key added", body=facts.model_copy(update={"proposal": "0" * 64}).model_dump(mode="json"))
    with pytest.raises(ValidationError):
        Proposal(event="policy adopted", body=facts.model_dump(mode="json"))
    with pytest.raises(ValidationError):
        Proposal(event="key revoked", body={"key": "0" * 64, "reason": ""})


def test_two_may_agree_where_one_is_enough(book):
    book.add_people()
    sue = new_key()
    book.add_key(sue, "Sue", "policy-admin")
    book.second(propose_key(book), sue)
    assert problems(book) == []
    book.second(propose_key(book), book.admin)
    assert "Ada proposed it" in problems(book)[0]
