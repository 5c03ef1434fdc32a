"""The ledger in a real database, SQLite and PostgreSQL alike: append, read, refuse to change."""

import stat
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import LedgerConflictError, LedgerError, SigningKeyError, UsageError
from coordpath_governance.ledger import database
from coordpath_governance.ledger import tables as rows
from coordpath_governance.ledger.events import (
    KeyAdded,
    KeyFacts,
    KeyRevoked,
    PolicyAdopted,
    Refusal,
    Registration,
    ReportMade,
)
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.ledger.verify import audit
from coordpath_governance.signing.keys import new_key

HOSTILE = (
    "'; DROP TABLE coordpath_ledger; --",
    "nul \x00 inside",
    "\u202egnp.exe \x1b[31m",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "",
    "😀" * 5000,
)


def refusal(reason="no"):
    return Refusal(operation="delete alias", alias=None, version=None, actor=None, reason=reason)


def add_admin(ledger):
    key = new_key()
    facts = KeyFacts(id=key.public.id, public=key.public.text, owner="Ada", roles=("policy-admin",))
    ledger.append("key added", KeyAdded(key=facts), key)
    return key


def test_a_new_ledger_has_a_name_a_key_and_one_entry(place):
    ledger = place.open()
    assert len(ledger.id) == 32
    assert [entry.event for entry in ledger.entries()] == ["ledger created"]
    assert ledger.service.public.id in ledger.keyring().keys
    assert stat.S_IMODE(place.key.stat().st_mode) == 0o600
    assert place.open().id == ledger.id
    assert place.open(create=False).entries() == ledger.entries()


def test_entries_come_back_as_they_were_written(place):
    ledger = place.open()
    written = [ledger.record("refusal", refusal(str(at)), model=f"m{at % 2}") for at in range(6)]
    assert place.open().entries()[1:] == tuple(written)
    assert ledger.entries("m1") == tuple(written[1::2])
    assert [entry.model_seq for entry in ledger.entries("m0")] == [1, 2, 3]
    assert ledger.entries("other") == ()
    entries, damaged = ledger.stored()
    assert damaged == ()
    assert audit(entries, ledger.blobs).intact


def test_time_is_the_databases_with_microseconds(place):
    ledger = place.open()
    entry = ledger.record("refusal", refusal())
    assert ledger.entries()[0].at <= entry.at <= ledger.now()
    assert len(entry.at) == len("2026-01-01T00:00:00.000000Z")


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_is_only_a_name(place, name):
    ledger = place.open()
    ledger.record("refusal", refusal(name[:4000]), model=name)
    ledger.record("refusal", refusal(), model=name, after=1)
    assert [(entry.model, entry.model_seq) for entry in place.open().entries(name)] == [(name, 1), (name, 2)]


def test_text_without_utf8_is_refused(place):
    with pytest.raises(LedgerError, match="not valid Unicode"):
        place.open().record("refusal", refusal(), model="\ud800")


def test_a_body_that_would_not_read_back_is_refused(place):
    ledger = place.open()
    facts = registration().model_dump() | {"version": "0"}
    with pytest.raises(LedgerError, match="a 'registration' cannot be recorded like this: version: "):
        ledger.record("registration", Registration.model_construct(**facts), model="fraud")
    assert ledger.head() == 1


def test_a_caller_who_has_not_seen_the_newest_entry_is_told(place):
    ledger, other = place.open(), place.open()
    ledger.record("refusal", refusal(), model="fraud", after=0)
    other.record("refusal", refusal(), model="churn", after=0)
    with pytest.raises(LedgerConflictError, match=r"about 'fraud' since we looked \(entry 1 of its chain, seen: 0\)"):
        other.record("refusal", refusal(), model="fraud", after=0)
    other.record("refusal", refusal(), model="fraud", after=1)
    with pytest.raises(LedgerConflictError):
        ledger.record("refusal", refusal(), model="fraud", after=7)


def registration(version="1"):
    return Registration(version=version, digest=None, author=None, authenticated_by=None)


def test_a_caller_is_told_of_what_weighs_for_its_model_since_it_looked(place):
    ledger, other = place.open(), place.open()
    seen = ledger.head()
    other.record("refusal", refusal(), model="fraud")
    other.record("registration", registration(), model="churn")
    assert ledger.record("refusal", refusal(), model="fraud", since=seen).seq == seen + 3
    other.record("registration", registration(), model="fraud")
    with pytest.raises(
        LedgerConflictError, match=rf"a 'registration' was .* \(entry {seen + 4}, seen: {seen}\); look again"
    ):
        ledger.record("refusal", refusal(), model="fraud", since=seen)
    assert ledger.head() == seen + 4
    assert ledger.record("refusal", refusal(), model="fraud", since=ledger.head()).seq == seen + 5
    with pytest.raises(LedgerConflictError, match="the ledger ends before entry 99"):
        ledger.record("refusal", refusal(), model="fraud", since=99)


def test_a_caller_is_told_of_keys_and_policies_since_it_looked(place):
    ledger, other = place.open(), place.open()
    admin = add_admin(other)
    adopted = PolicyAdopted(policy=sha256_hex(b"p"), name="p", models=("*",))
    other.append("policy adopted", adopted, admin, blob=b"p")
    other.append("key revoked", KeyRevoked(key=admin.public.id, reason="left"), admin)
    for seen, event in ((1, "key added"), (2, "policy adopted"), (3, "key revoked")):
        for model in ("fraud", None):
            with pytest.raises(LedgerConflictError, match=f"a '{event}' was recorded since we looked"):
                ledger.append("refusal", refusal(), ledger.service, model=model, since=seen)
    assert ledger.record("refusal", refusal(), model="fraud", since=4).seq == 5


def test_bytes_are_kept_once_under_their_digest(place):
    ledger = place.open()
    content = bytes(range(256)) * 100
    digest = sha256_hex(content)
    made = ReportMade(version="1", champion=None, champion_digest=None, candidate_digest="0" * 64, report=digest)
    for _ in range(2):
        ledger.record("report", made, model="fraud", blob=content)
    ledger.record("report", made, model="fraud")
    assert ledger.blob(digest) == content
    assert list(ledger.blobs) == [digest]
    assert len(ledger.blobs) == 1
    with pytest.raises(LedgerError, match="keeps no bytes of SHA-256 1111"):
        ledger.blob("1" * 64)


def test_an_entry_may_not_name_bytes_that_are_not_kept(place):
    ledger = place.open()
    admin = add_admin(ledger)
    body = PolicyAdopted(policy="0" * 64, name="p", models=("*",))
    for blob in (None, b"other"):
        with pytest.raises(LedgerError, match="neither given nor kept"):
            ledger.append("policy adopted", body, admin, blob=blob)
    assert len(ledger.entries()) == 2
    assert len(ledger.blobs) == 0


def test_changed_bytes_are_not_given_out(place):
    ledger = place.open()
    ledger.record("refusal", refusal(), blob=b"evidence")
    place.tamper("UPDATE coordpath_blobs SET content = :content", content=b"other")
    with pytest.raises(LedgerError, match="has another digest"):
        ledger.blob(sha256_hex(b"evidence"))


def test_keys_may_sign_only_what_is_theirs(place):
    ledger = place.open()
    with pytest.raises(SigningKeyError, match="is not known to this ledger"):
        ledger.append("refusal", refusal(), new_key())
    admin = add_admin(ledger)
    with pytest.raises(SigningKeyError, match="lacks the role 'service'"):
        ledger.append("refusal", refusal(), admin)
    assert len(ledger.entries()) == 2


def test_an_event_and_a_body_that_do_not_go_together(place):
    ledger = place.open()
    for event in ("approval", "party"):
        with pytest.raises(UsageError, match=f"a '{event}' is recorded with the body of one, not with Refusal"):
            ledger.record(event, refusal())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE coordpath_ledger SET signature = ''",
        "DELETE FROM coordpath_ledger WHERE seq = 2",
        "UPDATE coordpath_blobs SET sha256 = ''",
        "DELETE FROM coordpath_blobs",
    ],
)
def test_the_database_itself_refuses_to_change_or_remove(place, statement):
    ledger = place.open()
    ledger.record("refusal", refusal(), blob=b"evidence")
    engine = create_engine(place.url)
    with pytest.raises(DBAPIError, match="append-only"), engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()
    assert len(place.open().entries()) == 2


@pytest.mark.parametrize("table", ["coordpath_ledger", "coordpath_blobs"])
def test_the_database_itself_refuses_to_empty_or_replace(place, table):
    ledger = place.open()
    ledger.record("refusal", refusal(), blob=b"evidence")
    engine = create_engine(place.url)
    statement = (
        f"TRUNCATE {table}"
        if engine.dialect.name == "postgresql"
        else f"INSERT OR REPLACE INTO {table} SELECT * FROM {table} LIMIT 1"
    )
    with pytest.raises(DBAPIError, match="append-only"), engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_a_clock_set_back_is_refused_with_both_times(place, monkeypatch):
    ledger = place.open()
    with monkeypatch.context() as patch:
        patch.setattr(database, "_CLOCKS", dict.fromkeys(database._CLOCKS, "SELECT '2099-01-01T00:00:00.000000Z'"))
        ledger.record("refusal", refusal())
    with pytest.raises(LedgerError, match=r"says 20\d\d-.*, which is before its newest entry's 2099-01-01T00:00:00.000000Z"):
        ledger.record("refusal", refusal())
    assert len(ledger.entries()) == 2


def test_races_are_tried_again_and_then_given_up(place, monkeypatch):
    ledger = place.open()
    insert, failures = rows.insert_entry, [1, 1]

    def unlucky(connection, entry):
        if failures:
            failures.pop()
            raise IntegrityError("insert", {}, Exception("somebody was faster"))
        insert(connection, entry)

    monkeypatch.setattr(rows, "insert_entry", unlucky)
    assert ledger.record("refusal", refusal()).seq == 2
    failures.extend([1] * 5)
    with pytest.raises(LedgerError, match="others were faster 5 times"):
        ledger.record("refusal", refusal())


def test_no_ledger_is_made_by_looking(place):
    assert not Ledger.exists(place.url)
    with pytest.raises(LedgerError, match="there is no ledger at"):
        place.open(create=False)
    assert not Ledger.exists(place.url)
    assert not place.key.exists()
    place.open()
    assert Ledger.exists(place.url)


def test_without_the_service_key_machines_record_nothing_but_people_sign(place):
    place.open()
    place.key.unlink()
    ledger = Ledger.open(place.url)
    assert ledger.service is None
    with pytest.raises(LedgerError, match="set COORDPATH_SERVICE_KEY"):
        ledger.record("refusal", refusal())
    add_admin(ledger)
    assert len(ledger.entries()) == 2


def test_a_service_key_that_is_named_must_be_there_and_be_this_ledgers(place, tmp_path, monkeypatch):
    place.open()
    with pytest.raises(SigningKeyError, match="cannot read the private key"):
        place.open(service_key=tmp_path / "none")
    new_key().save(tmp_path / "other.key")
    monkeypatch.setenv("COORDPATH_SERVICE_KEY", str(tmp_path / "other.key"))
    ledger = Ledger.open(place.url)
    with pytest.raises(LedgerError, match="is not a key of the ledger"):
        ledger.entries()


def test_a_key_that_is_there_already_begins_the_ledger(place):
    key = new_key()
    key.save(place.key)
    assert place.open().service.public == key.public


def test_postgresql_is_not_begun_without_a_place_for_the_key(postgresql):
    url = postgresql.fresh()
    with pytest.raises(LedgerError, match="set COORDPATH_SERVICE_KEY"):
        Ledger.open(url)
    assert not Ledger.exists(url)


def test_sqlite_has_its_key_beside_it(tmp_path):
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'team.db'}")
    assert (tmp_path / "team.key").exists()
    assert Ledger.open(f"sqlite:///{tmp_path / 'team.db'}").service.public == ledger.service.public
    assert repr(ledger) == f"<Ledger sqlite:///{tmp_path / 'team.db'}>"


def test_a_read_only_database_can_be_read_and_says_why_it_cannot_be_written(place):
    place.open().record("refusal", refusal())
    if place.url.startswith("sqlite"):
        url = f"sqlite:///file:{place.url.removeprefix('sqlite:///')}?mode=ro&uri=true"
    else:
        url = f"{place.url}&options=-c%20default_transaction_read_only%3Don"
    ledger = Ledger.open(url, service_key=place.key)
    assert len(ledger.entries()) == 2
    with pytest.raises(LedgerError, match=r"read-?only"):
        ledger.record("refusal", refusal())
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize("password", ["hunter2", "p%40ss+w%3Ard"])
def test_an_unreachable_server_is_told_without_the_password(password):
    with pytest.raises(LedgerError) as raised:
        Ledger.open(f"postgresql+psycopg://me:{password}@127.0.0.1:1/db")
    told = str(raised.value)
    assert "postgresql+psycopg://me:***@127.0.0.1:1/db" in told
    assert "hunter2" not in told
    assert "p@ss" not in told
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("mysql://u:secret@h/d", "not in 'mysql'"),
        ("u:secret@nowhere", "cannot be read"),
        ("postgresql+nodriver://u:secret@h/d", "no such driver"),
    ],
)
def test_what_is_no_place_for_a_ledger(url, said):
    with pytest.raises(UsageError, match=said) as raised:
        Ledger.open(url)
    assert "secret" not in str(raised.value)


def test_a_missing_driver_is_told(monkeypatch):
    def missing(*args, **options):
        raise ModuleNotFoundError("No module named 'psycopg'", name="psycopg")

    monkeypatch.setattr(database, "create_engine", missing)
    with pytest.raises(LedgerError, match=r"needs psycopg: pip install 'coordpath-governance\[postgres\]'"):
        Ledger.open("postgresql+psycopg://u:secret@h/d")


def test_what_sqlalchemy_does_not_like_about_a_url_is_told_without_the_password(monkeypatch):
    def refused(*args, **options):
        raise ArgumentError("no such argument in secret@h")

    monkeypatch.setattr(database, "create_engine", refused)
    with pytest.raises(UsageError, match=r"no such argument in \*\*\*@h"):
        Ledger.open("postgresql+psycopg://u:secret@h/d")


def test_files_that_are_no_database(tmp_path):
    (tmp_path / "text.db").write_text("hello " * 1000)
    for path in (tmp_path / "text.db", tmp_path, tmp_path / "none" / "l.db"):
        with pytest.raises(LedgerError, match=r"the ledger 'sqlite:///"):
            Ledger.open(f"sqlite:///{path}")


def test_a_database_that_stays_locked_is_given_up(tmp_path, monkeypatch):
    import sqlite3

    monkeypatch.setattr(database, "_PATIENCE", 0)
    path = Path(tmp_path / "l.db")
    ledger = Ledger.open(f"sqlite:///{path}")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="database is locked"):
        ledger.record("refusal", refusal())
    other.close()
    assert ledger.record("refusal", refusal()).seq == 2


def test_a_postgresql_writer_that_never_ends_is_not_waited_for_forever(postgresql, tmp_path, monkeypatch):
    import psycopg

    monkeypatch.setattr(database, "_PATIENCE", 1)
    url = postgresql.fresh()
    ledger = Ledger.open(url, service_key=tmp_path / "k")
    with psycopg.connect(f"host={postgresql.folder} user=coordpath dbname={url.split('/')[3].split('?')[0]}") as other:
        other.execute(f"SELECT pg_advisory_xact_lock({database._LOCK})")
        with pytest.raises(LedgerError, match="lock timeout"):
            ledger.record("refusal", refusal())
    assert ledger.record("refusal", refusal()).seq == 2
