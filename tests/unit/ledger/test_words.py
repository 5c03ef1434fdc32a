"""An entry in one line."""

from coordpath_governance.ledger.events import KeyRevoked, OutsideMove, Refusal, Registration
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.words import entry_line


def lines(book):
    ring = KeyRing.of(book.entries)
    return {entry.event: entry_line(entry, ring) for entry in book.entries}


def test_every_event_has_its_words(story):
    told = lines(story)
    assert told["approval"].split("  ")[-2:] == [
        "fraud: version 1 → 2 as 'champion', until 2026-01-21T00:00:00.000000Z: fine",
        "[Rob]",
    ]
    promoted = [entry_line(entry, KeyRing.of(story.entries)) for entry in story.entries if entry.event == "promotion"]
    assert "version 2 is 'champion' (at once), promoted by rob (server login)  [service]" in promoted[0]
    assert "version 1 is 'champion' (at once)" in promoted[1]
    assert "version 1 → 2 as 'champion' by rob (server login), approvals: 1" in told["intent"]
    assert "rollback version 2 → 1 as 'champion' by Rob, to be reviewed by 2026-01-05: it fails" in told["emergency"]
    assert "approve of the rollback " in told["emergency review"]
    assert "approvals: 1, waivers: 1" in told["intent"]
    assert "'gap' for version 1 → 2" in told["waiver"]
    assert "review for version 1 → 2" in told["verdict"]
    assert "version 2, files 222222222222, predicts by the coefficients " in told["declaration"]
    assert told["declaration"].endswith(": compared on rows  [Rob]")
    assert "'retail'" in told["policy adopted"]
    assert "of Rob (risk)" in told["key added"]
    assert "key added: " in told["proposal"]
    assert "of Tom (risk); waits for a second policy-admin" in told["proposal"]
    assert told["key revoked"].endswith(": left  [Ada]")
    assert "should be version 1, is nothing: gone" in told["outside move"]
    assert "delete alias 'champion' by eve: no" in told["refusal"]
    assert "version 1 as 'champion': as found" in told["adoption"]
    assert "somebody unknown (unverified)" in told["registration"]
    assert told["ledger created"].startswith("    1  2026-01-01T00:00:01.000000Z  ledger created")


def test_long_texts_are_cut_and_what_is_missing_is_left_out(book):
    book.add(
        "refusal",
        Refusal(operation="x" * 4000, alias=None, version="7" * 900, actor=None, reason="y" * 4000),
        model="m" * 9000,
    )
    assert len(lines(book)["refusal"]) < 500
    book.add("registration", Registration(version="1", digest=None, author="joe", authenticated_by="key"), model="m")
    assert "version 1 by joe  [" in lines(book)["registration"]
    book.add("key revoked", KeyRevoked(key="0" * 64, reason=""))
    assert "000000000000  [" in lines(book)["key revoked"]
    book.add("outside move", OutsideMove(alias="a", expected=None, found="2", reason=""), model="m")
    assert "should be nothing, is version 2  [" in lines(book)["outside move"]


def test_who_promoted(book):
    intent = book.intend()
    book.promote(intent, actor=None, authenticated_by=None)
    assert "(at once), promoted by nobody who is known (unverified)  [" in lines(book)["promotion"]
    book.promote(intent, actor="bob", authenticated_by="key", completed="after a crash", completed_by="eve\n")
    assert "(after a crash), promoted by bob (signed with a key), finished by eve↵  [" in lines(book)["promotion"]
    book.promote(intent, actor="bob", authenticated_by=None)
    assert "promoted by bob (unverified)  [" in lines(book)["promotion"]
    body = {name: value for name, value in book.entries[-1].body.items() if name != "actor"}
    book.add("promotion", body, model="fraud")
    assert lines(book)["promotion"].endswith("version 2 is 'champion' (at once)  [service]")


def test_an_unknown_signer_is_told_by_the_key(book):
    entry = book.refuse(key=book.stranger)
    assert entry_line(entry, KeyRing()).endswith(f"[key {book.stranger.public.id[:12]}]")
