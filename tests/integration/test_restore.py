"""Backup and restore as docs/governance.md says: that one is older than the other is noticed, and there is a way back."""

import shutil
import sqlite3
from contextlib import closing

import pytest
from helpers.ledger_place import LedgerPlace
from helpers.mlflow_store import use
from helpers.office import Office

from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.events import Refusal

REFUSAL = Refusal(operation="delete alias", alias="champion", version="1", actor="eve", reason="no")


def copy_sqlite(source, to):
    """What `sqlite3 FILE ".backup COPY"` does: a consistent copy while others write."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(to)) as other:
        one.backup(other)


@pytest.fixture
def backup(place, request, tmp_path):
    """Copy the ledger as it is now; returns the place of the copy, restored."""

    def copy():
        if place.url.startswith("sqlite"):
            copy_sqlite(place.url.removeprefix("sqlite:///"), tmp_path / "restored.db")
            return LedgerPlace(f"sqlite:///{tmp_path / 'restored.db'}", place.key)
        server = request.getfixturevalue("postgresql")
        as_owner = ("-h", server.folder, "-U", "coordpath")
        name, dump = place.url.split("/")[3].split("?")[0], server.folder / "ledger.sql"
        server._run("pg_dump", *as_owner, "-f", dump, name)
        url = server.fresh()
        server._run("psql", *as_owner, "-v", "ON_ERROR_STOP=1", "-f", dump, url.split("/")[3].split("?")[0])
        return LedgerPlace(url, place.key)

    return copy


def test_a_restored_ledger_is_whole_and_an_anchor_says_what_is_missing(coordpath, place, backup, tmp_path, monkeypatch):
    monkeypatch.setenv("COORDPATH_SERVICE_KEY", str(place.key))
    ledger = place.open()
    ledger.record("refusal", REFUSAL, model="fraud", blob=b"evidence")
    older, newer = tmp_path / "older.json", tmp_path / "newer.json"
    assert coordpath("audit", "anchor", "--ledger", place.url, "-o", older).code == 0
    restored = backup()
    ledger.record("refusal", REFUSAL, model="fraud")
    assert coordpath("audit", "anchor", "--ledger", place.url, "-o", newer).code == 0
    monkeypatch.setenv("COORDPATH_LEDGER", restored.url)
    assert coordpath("audit", "verify", "--anchor", older).code == 0
    cut = coordpath("audit", "verify", "--anchor", newer)
    assert (cut.code, "the ledger ends at 3: it was cut" in cut.plain) == (1, True)
    again = restored.open()
    assert (again.id, again.missing_triggers()) == (ledger.id, ())
    assert again.blob(next(iter(again.blobs))) == b"evidence"
    assert again.record("refusal", REFUSAL, model="fraud").seq == 4


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_process_that_saw_more_stops(place, backup):
    ledger = place.open()
    older = backup()
    ledger.record("refusal", REFUSAL)
    assert ledger.head() == 2
    shutil.copy(older.url.removeprefix("sqlite:///"), place.url.removeprefix("sqlite:///"))
    with pytest.raises(LedgerError, match="entry 2 of the ledger is not what it was before"):
        ledger.entries()
    assert place.open().head() == 1


@pytest.fixture
def office(store, coordpath, tmp_path):
    """Version 1 is champion, version 2 is approved."""
    made = Office(store, coordpath, tmp_path)
    store.register(made.name, store.first, store.second)
    made.adopt_policy()
    made.champion()
    assert made.run("report", made.name, "--candidate", "2").code == 0
    made.approve("2", "Bob", "Cleo")
    return made


def promotable(office, version):
    """Whether the way goes on: report, approvals, promotion."""
    assert office.run("report", office.name, "--candidate", version).code == 0
    office.approve(version, "Bob", "Cleo")
    done = office.run("promote", office.name, version)
    assert done.code == 0, done.plain
    assert office.run("audit", "verify").code == 0


def test_an_older_ledger_takes_a_later_promotion_for_an_outside_move(office, tmp_path):
    anchor = tmp_path / "anchor.json"
    copy_sqlite(tmp_path / "ledger.db", tmp_path / "backup.db")
    assert office.run("promote", office.name, "2").code == 0
    assert office.run("audit", "anchor", "-o", anchor).code == 0
    (tmp_path / "ledger.db").unlink()
    shutil.copy(tmp_path / "backup.db", tmp_path / "ledger.db")
    assert office.run("audit", "verify").code == 0
    assert office.run("audit", "verify", "--anchor", anchor).code == 1
    swept = office.run("sweep")
    assert (swept.code, "the ledger knows version 1 under 'champion', the registry had version 2" in swept.plain) == (
        1,
        True,
    )
    reason = "promoted before the ledger was restored, see the export of March"
    assert office.run("adopt", office.name, "--reason", reason, "--key", office.key("Ann")).code == 0
    assert office.run("gate", office.name, "2").code == 0
    promotable(office, "1")


def test_an_older_registry_is_found_and_put_right(office, tmp_path, monkeypatch):
    copy_sqlite(office.store.uri.removeprefix("sqlite:///"), tmp_path / "restored.db")
    assert office.run("promote", office.name, "2").code == 0
    uri = f"sqlite:///{tmp_path / 'restored.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    use(uri)
    swept = office.run("sweep")
    assert (swept.code, "the ledger knows version 2 under 'champion', the registry had version 1" in swept.plain) == (
        1,
        True,
    )
    import mlflow

    mlflow.MlflowClient().set_registered_model_alias(office.name, "champion", "2")
    assert office.run("adopt", office.name, "--reason", "registry restored", "--key", office.key("Ann")).code == 0
    assert office.run("gate", office.name, "2").code == 0
    promotable(office, "1")
