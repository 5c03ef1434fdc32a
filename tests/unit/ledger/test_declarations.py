"""Who vouches for coefficients nobody could read: what counts, what does not, and what an audit finds."""

import json
from dataclasses import replace

import pytest

from coordpath_governance import explain_change
from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import ModelReadError
from coordpath_governance.ledger.declarations import declared_model, declared_sides, vouched, vouched_sides
from coordpath_governance.ledger.entitlement import unentitled
from coordpath_governance.ledger.events import EVENTS, KeyRevoked, weighs
from coordpath_governance.ledger.export import export_lines, read_export
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.verify import audit
from coordpath_governance.models.coefficients_json import declared_bytes, from_document
from coordpath_governance.models.formats import DECLARED, vouched_source
from coordpath_governance.models.linear_model import LinearModel, NumericTerm, Provenance
from coordpath_governance.signing.keys import new_key

LEDGER = "ab" * 16
VOUCH = {"declarations": {"roles": ["risk"]}}
FREE = [
    {"class": "major", "when": {"features_added": 1}, "approvals": [{"role": "risk", "count": 2}]},
    {"class": "minor"},
]


def model(version, slope, source=DECLARED):
    origin = Provenance(name="fraud", version=version, digest=version * 64)
    return LinearModel(1.0, numeric=(NumericTerm("a", slope),), source=source, provenance=origin)


def counts(book, version="2", digest="2" * 64, name="fraud", roles=("risk",), registry=LEDGER):
    chain = [entry for entry in book.entries if entry.model == "fraud"]
    return vouched(chain, KeyRing.of(book.entries), roles, registry=registry, name=name, version=version, digest=digest)


@pytest.fixture
def ready(book):
    book.add_people()
    book.adopt(**VOUCH)
    book.register()
    return book


def test_a_declaration_counts_for_its_version_and_files_alone(ready):
    entry = ready.declare()
    found = counts(ready)
    assert (found.signed, found.missing) == ((("Rob", entry),), 0)
    assert counts(ready, version="3") is None
    assert counts(ready, digest="3" * 64) is None
    assert counts(ready, roles=()) is None
    assert counts(ready, roles=("validator",)) is None
    assert counts(ready, registry="cd" * 16) is None


@pytest.mark.parametrize(
    "forged",
    [{"version": "3"}, {"digest": "3" * 64}, {"name": "churn"}, {"registry": "cd" * 16}],
    ids=["other version", "other files", "other model", "other ledger"],
)
def test_a_declaration_about_something_else_does_not_count(ready, forged):
    ready.declare(**forged)
    assert counts(ready) is None


def test_one_of_another_model_is_not_taken_for_ours_even_in_our_chain(ready):
    ready.declare(name="churn", model="fraud")
    assert counts(ready, name="churn") is None
    told = audit(ready.entries, ready.blobs)
    assert "it is about another model than the one it is recorded for" in told.conclusion


def test_one_of_another_ledger_is_found_by_an_audit(ready):
    ready.declare(registry="cd" * 16)
    assert "it is about the registry of ledger cdcd" in audit(ready.entries, ready.blobs).conclusion


def test_the_author_cannot_vouch(ready):
    ready.register("ＲＯＢ")
    ready.declare()
    assert counts(ready) is None


def second(book, owner="Zoe"):
    key = new_key()
    book.add_key(key, owner, "risk")
    return key


def test_where_nobody_knows_who_registered_it_two_people_vouch(ready):
    """The one who vouches may have registered it, without a key and without a password."""
    ready.register("Rob", None)
    first = ready.declare()
    assert (counts(ready).owners, counts(ready).missing) == (("Rob",), 1)
    ready.declare()
    ready.declare(second(ready, "ＲＯＢ"))
    assert counts(ready).missing == 1, "one person is one person, however many keys"
    zoe = second(ready)
    ready.declare(zoe, coefficients=declared_bytes(model("2", 9.0)))
    assert (counts(ready).owners, counts(ready).missing) == (("Zoe",), 1), "they say different things"
    other = ready.declare(zoe)
    found = counts(ready)
    assert (found.missing, [owner for owner, _ in found.signed]) == (0, ["ＲＯＢ", "Zoe"])
    assert found.signed[1][1] == other
    assert found.signed[0][1].seq > first.seq


def test_a_version_that_was_never_registered_here_has_no_known_author(book):
    book.add_people()
    book.adopt(**VOUCH)
    book.declare()
    assert counts(book).missing == 1
    book.declare(second(book))
    assert counts(book).missing == 0


def test_the_last_word_of_a_person_is_theirs(ready):
    """Who declared something else since does not stand by the first any longer."""
    ready.register(None, None)
    ready.declare()
    ready.declare(coefficients=declared_bytes(model("2", 9.0)))
    ready.declare(second(ready))
    assert (counts(ready).owners, counts(ready).missing) == (("Zoe",), 1)


def test_everybody_who_counts_is_named_in_order(ready):
    for owner in ("Zoe", "Abe"):
        ready.declare(second(ready, owner))
    ready.declare()
    assert counts(ready).owners == ("Abe", "Rob", "Zoe")


def test_a_revoked_key_vouches_for_nothing_and_an_older_word_counts_again(ready):
    first = ready.declare(second(ready), coefficients=declared_bytes(model("2", 9.0)))
    ready.declare()
    assert counts(ready).owners == ("Rob",)
    ready.add("key revoked", KeyRevoked(key=ready.reviewer.public.id, reason="left"), ready.admin)
    assert counts(ready).signed == (("Zoe", first),)


def test_the_newest_word_that_counts_replaces_those_before(ready):
    ready.declare()
    newer = ready.declare(coefficients=declared_bytes(model("2", 9.0)))
    stranger = new_key()
    ready.add_key(stranger, "Max", "visitor")
    ready.declare(stranger)
    assert counts(ready).signed == (("Rob", newer),)


def test_the_service_cannot_vouch_nor_somebody_unknown(ready):
    ready.declare(ready.service)
    ready.declare(ready.stranger)
    problems = [str(each) for each in audit(ready.entries, ready.blobs).problems]
    assert any("a 'declaration' is a person's to sign, not the service's" in each for each in problems)
    assert any("is not known to this ledger" in each for each in problems)
    assert counts(ready) is None


def test_an_unsigned_one_is_found(ready):
    entry = ready.declare()
    ready.entries[-1] = replace(entry, signature="")
    assert not audit(ready.entries, ready.blobs).intact


def test_the_bytes_are_kept_checked_and_exported(ready, tmp_path):
    entry = ready.declare()
    (tmp_path / "ledger.jsonl").write_bytes(b"".join(export_lines(LEDGER, ready.entries, ready.blobs)))
    again = read_export(tmp_path / "ledger.jsonl")
    assert audit(again.entries, again.blobs).intact
    digest = entry.body["coefficients"]
    assert "are missing" in audit(ready.entries, {k: v for k, v in ready.blobs.items() if k != digest}).conclusion
    assert "another digest" in audit(ready.entries, {**ready.blobs, digest: b"{}"}).conclusion


def test_it_weighs_for_its_model():
    assert "declaration" in EVENTS
    assert weighs("declaration", of_the_model=True)
    assert not weighs("declaration", of_the_model=False)


def test_the_kept_document_is_read_back_or_refused():
    content = declared_bytes(model("2", 2.0))
    assert declared_model(content, "it").numeric == (NumericTerm("a", 2.0),)
    for wrong in (b"[]", b"{}", b"{", json.dumps(json.loads(content), indent=1).encode()):
        with pytest.raises(ModelReadError):
            declared_model(wrong, "it")


def test_the_same_model_has_the_same_bytes_whatever_it_is_called():
    document = json.loads(declared_bytes(model("2", 2.0)))
    turned = from_document(dict(reversed(document.items())))
    assert declared_bytes(replace(turned, source=vouched_source("Rob"))) == declared_bytes(model("2", 2.0, "elsewhere"))


@pytest.fixture(scope="module")
def table():
    import numpy as np
    import pandas as pd

    a = np.random.default_rng(1).normal(size=50)
    return pd.DataFrame({"a": a, "y": 2 * a})


def make(book, table, old=None, new=None):
    champion, candidate = old or model("1", 1.0, "read from the model's files"), new or model("2", 2.0)
    report = explain_change(champion, candidate, data=table, target="y", name="fraud")
    book.report = report.to_bytes()
    book.make_report()
    return report.document


def test_what_a_report_states_is_compared_with_what_was_declared(ready, table):
    document = make(ready, table)
    assert declared_sides(document) == {"candidate": sha256_hex(declared_bytes(model("2", 2.0)))}
    chain, ring = ready.entries, KeyRing.of(ready.entries)
    assert vouched_sides(document, chain, ring, ("risk",), LEDGER) == {}
    ready.declare(coefficients=declared_bytes(model("2", 2.5)))
    assert vouched_sides(document, ready.entries, ring, ("risk",), LEDGER) == {}
    ready.declare(coefficients=declared_bytes(model("2", 2.0)))
    assert vouched_sides(document, ready.entries, ring, ("risk",), LEDGER)["candidate"].owners == ("Rob",)


def test_nothing_counts_for_a_side_without_a_digest_or_with_a_broken_account(ready, table):
    document = make(ready, table)
    ready.declare(coefficients=declared_bytes(model("2", 2.0)))
    ring = KeyRing.of(ready.entries)
    bare = document.subject.candidate.model_copy(update={"digest": None})
    nameless = document.model_copy(update={"subject": document.subject.model_copy(update={"candidate": bare})})
    assert vouched_sides(nameless, ready.entries, ring, ("risk",), LEDGER) == {}
    broken = document.model_copy(update={"models": {"champion": None, "candidate": {"source": DECLARED}}})
    assert declared_sides(broken) == {"candidate": ""}
    assert vouched_sides(broken, ready.entries, ring, ("risk",), LEDGER) == {}


def said(book):
    return [what for _, what in unentitled(book.entries, book.blobs)]


def test_a_promotion_of_declared_coefficients_needs_a_voucher_or_approvals(book, table):
    book.add_people()
    book.adopt(materiality=FREE, **VOUCH)
    book.register()
    make(book, table)
    book.intend()
    assert said(book) == ["it lacks approvals: its policy asks for 2, and 0 counted"]
    book.declare(coefficients=declared_bytes(model("2", 2.0)))
    book.intend()
    assert len(said(book)) == 1, "the second intent is entitled"


def test_a_promotion_that_nobody_vouched_for_and_nobody_could_approve(book, table):
    book.add_people()
    book.adopt(materiality=[{"class": "minor"}], **VOUCH)
    book.register()
    make(book, table)
    book.intend()
    assert said(book) == [
        "too few entitled vouched for the declared coefficients of the candidate, and nobody could approve"
    ]


def test_a_promotion_whose_author_nobody_knows_needs_two_who_vouch(book, table):
    book.add_people()
    book.adopt(materiality=FREE, **VOUCH)
    book.register("Rob", None)
    make(book, table)
    book.declare(coefficients=declared_bytes(model("2", 2.0)))
    book.intend()
    lacking = "it lacks approvals: its policy asks for 3, and 0 counted"
    assert said(book) == [lacking]
    book.declare(second(book), coefficients=declared_bytes(model("2", 2.0)))
    book.intend()
    assert said(book) == [lacking, "it lacks approvals: its policy asks for 1, and 0 counted"], "one more for the author"


def test_ledgers_of_policies_without_declarations_are_audited_as_before(book, table):
    book.add_people()
    book.adopt(materiality=FREE)
    book.register()
    make(book, table)
    book.intend()
    assert said(book) == []


def test_the_audit_takes_keys_as_they_were_at_the_time(book, table):
    book.add_people()
    book.adopt(materiality=FREE, **VOUCH)
    book.register()
    make(book, table)
    book.declare(coefficients=declared_bytes(model("2", 2.0)))
    book.intend()
    book.add("key revoked", KeyRevoked(key=book.reviewer.public.id, reason="left"), book.admin)
    assert said(book) == []
    book.intend()
    assert said(book) == ["it lacks approvals: its policy asks for 2, and 0 counted"]


def test_a_report_that_cannot_be_read_could_hide_declared_coefficients(book):
    book.add_people()
    book.adopt(materiality=[{"class": "minor"}], **VOUCH)
    book.register()
    book.make_report()
    book.intend()
    (told,) = said(book)
    assert "cannot be read" in told
