"""`load_verified` loads what was promoted or adopted, byte for byte, and nothing else."""

import gc
import hashlib
import json
import shutil
import sqlite3
import tempfile
import uuid
from pathlib import Path

import mlflow
import pytest
import yaml

from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.errors import LedgerError, NotFoundError, RefusedError, RegistryError, UsageError
from coordpath_governance.governance import load_verified as verified
from coordpath_governance.governance.load_verified import load_verified
from coordpath_governance.ledger.events import (
    Adoption,
    Binding,
    Declaration,
    Intent,
    KeyAdded,
    KeyFacts,
    OutsideMove,
    PolicyAdopted,
    Promotion,
    Registration,
    ReportMade,
)
from coordpath_governance.ledger.export import make_anchor
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.models.coefficients_json import declared_bytes, to_document
from coordpath_governance.models.formats import plugin_source
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.models.manifest import model_digest
from coordpath_governance.signing.keys import new_key

POLICY = canonical_bytes(
    {
        "schema": "coordpath.policy/1",
        "name": "anything",
        "models": ["*"],
        "reference": {"sha256": "5" * 64, "role": "holdout", "target": "price"},
        "rules": {"gap": {"most": 0.1}},
        "materiality": [{"class": "ordinary"}],
    }
)
REPORT = b"a report on this change"
COEFFICIENTS = declared_bytes(LinearModel(1.0, numeric=(NumericTerm("area", 2.0),)))


class Guarded:
    """A registered model with two versions, and a ledger that says what was promoted."""

    def __init__(self, store, folder):
        self.store = store
        self.models = {"1": store.fresh(), "2": store.log(other_model(store))}
        self.name = store.register(f"guarded {uuid.uuid4().hex}", *self.models.values())
        self.file = folder / "ledger.db"
        self.ledger = Ledger.open(f"sqlite:///{self.file}")
        self.admin = new_key()
        facts = KeyFacts(id=self.admin.public.id, public=self.admin.public.text, owner="Ann", roles=("policy-admin",))
        self.ledger.append("key added", KeyAdded(key=facts), self.admin)
        adopted = PolicyAdopted(policy=sha256_hex(POLICY), name="anything", models=("*",))
        self.ledger.append("policy adopted", adopted, self.admin, blob=POLICY)

    def adopt_policy(self, **sections):
        """The same policy with sections added."""
        content = canonical_bytes({**json.loads(POLICY), **sections})
        adopted = PolicyAdopted(policy=sha256_hex(content), name="anything", models=("*",))
        self.ledger.append("policy adopted", adopted, self.admin, blob=content)

    def person(self, owner, *roles):
        key = new_key()
        facts = KeyFacts(id=key.public.id, public=key.public.text, owner=owner, roles=roles)
        self.ledger.append("key added", KeyAdded(key=facts), self.admin)
        return key

    def declare(self, which, key, **changed):
        facts = {"registry": self.ledger.id, "name": self.name, "version": which, "reason": "compared"}
        facts |= {"digest": model_digest(self.files(which)), "coefficients": sha256_hex(COEFFICIENTS)}
        self.ledger.append("declaration", Declaration(**{**facts, **changed}), key, model=self.name, blob=COEFFICIENTS)

    def files(self, version):
        return self.store.path(self.models[version])

    def set(self, version, alias="champion"):
        self.store.client.set_registered_model_alias(self.name, alias, version)

    def begin(self, version, alias, before):
        """A version whose author is known, the report on the change, and the intent to promote."""
        binding = Binding(
            registry=self.ledger.id,
            name=self.name,
            alias=alias,
            from_version=before,
            to_version=version,
            from_digest=model_digest(self.files(before)) if before else None,
            to_digest=model_digest(self.files(version)),
            report=sha256_hex(REPORT),
            policy=sha256_hex(POLICY),
        )
        came = Registration(version=version, digest=binding.to_digest, author="Joe", authenticated_by="server")
        self.ledger.record("registration", came, model=self.name)
        made = ReportMade(
            version=version,
            champion=before,
            champion_digest=binding.from_digest,
            candidate_digest=binding.to_digest,
            report=binding.report,
        )
        self.ledger.record("report", made, model=self.name, blob=REPORT)
        nobody = {"actor": None, "authenticated_by": None, "approvals": (), "waivers": ()}
        intent = Intent(binding=binding, **nobody, materiality="ordinary", full_validation=False)
        return self.ledger.record("intent", intent, model=self.name)

    def promote(self, version, alias="champion", before=None):
        intent = self.begin(version, alias, before)
        self.set(version, alias)
        body = Promotion(
            intent=intent.hash,
            alias=alias,
            from_version=before,
            to_version=version,
            to_digest=model_digest(self.files(version)),
            completed="at once",
        )
        return self.ledger.record("promotion", body, model=self.name)

    def adopt(self, version, alias="champion"):
        body = Adoption(alias=alias, version=version, digest=model_digest(self.files(version)), reason="as it is")
        self.ledger.append("adoption", body, self.admin, model=self.name)

    def found_moved(self, alias="champion"):
        body = OutsideMove(alias=alias, expected="1", found="2", reason="'champion' stands at version 2")
        self.ledger.record("outside move", body, model=self.name)

    def load(self, which="@champion", **options):
        return load_verified(f"models:/{self.name}{which}", ledger=self.ledger, **options)

    def predicts_as(self, model, version):
        rows = self.store.rows.frame.drop(columns="price")
        return (model.predict(rows) == mlflow.pyfunc.load_model(self.models[version].uri).predict(rows)).all()


def other_model(store):
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    rows = store.rows.frame
    numbers = make_column_transformer(("passthrough", ["area", "age"]))
    return make_pipeline(numbers, Ridge()).fit(rows.drop(columns="price"), rows["price"])


@pytest.fixture
def guarded(store, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    yield Guarded(store, tmp_path)
    gc.collect()
    assert not list(temporary.glob("coordpath-*")), "files of ours were left behind"


def test_what_was_promoted_is_loaded_under_its_alias_and_by_its_number(guarded):
    guarded.promote("1")
    assert guarded.predicts_as(guarded.load(), "1")
    assert guarded.predicts_as(guarded.load("/1"), "1")
    guarded.promote("2", before="1")
    assert guarded.predicts_as(guarded.load(), "2")
    with pytest.raises(RefusedError, match="it is version 1, digest"):
        guarded.load("/1")


def test_what_was_adopted_is_loaded(guarded):
    guarded.set("2")
    with pytest.raises(RefusedError, match="knows of nothing promoted to 'champion' of"):
        guarded.load()
    guarded.adopt("2")
    assert guarded.predicts_as(guarded.load(), "2")


def test_each_alias_has_its_own_version(guarded):
    guarded.promote("1")
    guarded.promote("2", alias="canary")
    assert guarded.predicts_as(guarded.load("@champion"), "1")
    assert guarded.predicts_as(guarded.load("@canary"), "2")
    assert guarded.predicts_as(guarded.load("/1"), "1")
    assert guarded.predicts_as(guarded.load("/latest"), "2")
    guarded.set("1", "canary")
    with pytest.raises(RefusedError, match="'canary' is to be version 2"):
        guarded.load("@canary")


def test_an_alias_that_was_moved_outside_is_refused_with_what_was_expected_and_found(guarded):
    guarded.promote("1")
    guarded.set("2")
    with pytest.raises(RefusedError) as refused:
        guarded.load()
    found, expected = (model_digest(guarded.files(version))[:12] for version in "21")
    assert f"it is version 2, digest {found}, and the ledger says: 'champion' is to be version 1, digest {expected}" in str(
        refused.value
    )


def test_an_alias_that_was_found_moved_is_not_trusted_until_somebody_decides(guarded):
    guarded.promote("1")
    guarded.found_moved()
    for which in ("@champion", "/1"):
        with pytest.raises(RefusedError, match="was found moved: 'champion' stands at version 2"):
            guarded.load(which)
    guarded.adopt("1")
    assert guarded.predicts_as(guarded.load(), "1")


def test_a_promotion_that_was_only_begun_does_not_count(guarded):
    guarded.promote("1")
    guarded.begin("2", "champion", "1")
    guarded.set("2")
    for which in ("@champion", "/2"):
        with pytest.raises(RefusedError, match="it is version 2, digest"):
            guarded.load(which)
    assert guarded.predicts_as(guarded.load("/1"), "1")


@pytest.mark.parametrize("how", ["changed", "added", "removed"])
def test_any_change_to_the_promoted_files_is_refused(guarded, how):
    guarded.promote("1")
    file = guarded.files("1") / "requirements.txt"
    if how == "changed":
        file.write_bytes(file.read_bytes() + b"\n")
    elif how == "added":
        file.with_name("more.py").write_text("print()", encoding="utf-8")
    else:
        file.unlink()
    with pytest.raises(RefusedError, match="was not loaded: it is version 1"):
        guarded.load()


def test_a_file_that_the_digest_does_not_cover_is_not_loaded(guarded):
    """A model that reads from coordpath/ could be exchanged after its promotion: there is no such folder when it loads."""
    folder = guarded.files("1")
    (folder / "coordpath").mkdir()
    shutil.move(folder / "model.skops", folder / "coordpath" / "model.skops")
    lines = (folder / "MLmodel").read_text(encoding="utf-8").replace("model.skops", "coordpath/model.skops")
    (folder / "MLmodel").write_text(lines, encoding="utf-8")
    mlflow.pyfunc.load_model(str(folder))
    guarded.promote("1")
    with pytest.raises(RefusedError, match=r"names 'coordpath/model.skops', a file outside of what was promoted"):
        guarded.load()


@pytest.mark.parametrize("path", ["{folder}/elsewhere.skops", "../elsewhere.skops", "./CoordPath/elsewhere.skops"])
def test_a_model_that_sends_mlflow_elsewhere_is_refused(guarded, tmp_path, path):
    folder = guarded.files("1")
    meta = yaml.safe_load((folder / "MLmodel").read_text(encoding="utf-8"))
    meta["flavors"]["python_function"]["model_path"] = path.format(folder=tmp_path)
    (folder / "MLmodel").write_text(yaml.safe_dump(meta), encoding="utf-8")
    guarded.promote("1")
    with pytest.raises(RefusedError, match=r"elsewhere.skops', a file outside of what was promoted"):
        guarded.load()


def test_what_a_model_was_made_from_may_be_anywhere(guarded):
    folder = guarded.files("1")
    meta = yaml.safe_load((folder / "MLmodel").read_text(encoding="utf-8"))
    meta["flavors"]["other"] = {
        "artifacts": [{"uri": "/home/ann/rows.csv", "path": "rows.csv"}],
        "model_config": {"a": "/b"},
    }
    (folder / "MLmodel").write_text(yaml.safe_dump(meta), encoding="utf-8")
    guarded.promote("1")
    assert guarded.predicts_as(guarded.load(), "1")


@pytest.mark.parametrize("content", [None, b"{", b"[]", b"a: 1"])
def test_a_version_without_a_readable_mlmodel_is_refused(guarded, content):
    file = guarded.files("1") / "MLmodel"
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    guarded.promote("1")
    with pytest.raises(RefusedError, match="no MLmodel file that can be read"):
        guarded.load()


def test_a_version_whose_files_are_gone_is_an_error(guarded):
    guarded.promote("1")
    shutil.rmtree(guarded.files("1"))
    with pytest.raises(RegistryError):
        guarded.load()


def test_the_bytes_that_were_hashed_are_those_that_are_loaded(guarded, monkeypatch):
    """Whoever exchanges the files in the store right after they were downloaded changes nothing."""
    guarded.promote("1")
    rows = guarded.store.rows.frame.drop(columns="price")
    before = guarded.load().predict(rows)
    download, calls = mlflow.artifacts.download_artifacts, []

    def exchanged(*args, **kwargs):
        local = download(*args, **kwargs)
        shutil.copyfile(guarded.files("2") / "model.skops", guarded.files("1") / "model.skops")
        calls.append(local)
        return local

    monkeypatch.setattr(mlflow.artifacts, "download_artifacts", exchanged)
    assert (guarded.load().predict(rows) == before).all()
    assert len(calls) == 1
    with pytest.raises(RefusedError):
        guarded.load()


def test_a_ledger_in_which_an_entry_was_changed_is_not_trusted(guarded):
    """Somebody with the database puts another digest into the promotion, with all hashes as they should be."""
    entry = guarded.promote("1")
    guarded.set("2")
    old, new = (model_digest(guarded.files(version)).encode() for version in "12")
    payload = entry.payload.replace(old, new)
    assert payload != entry.payload
    with sqlite3.connect(guarded.file) as connection:
        connection.execute("DROP TRIGGER coordpath_ledger_no_update")
        changed = (payload, hashlib.sha256(payload).hexdigest(), entry.seq)
        connection.execute("UPDATE coordpath_ledger SET payload = ?, hash = ? WHERE seq = ?", changed)
    with pytest.raises(RefusedError, match=f"is NOT intact: entry {entry.seq}: the signature"):
        load_verified(f"models:/{guarded.name}@champion", ledger=str(guarded.file))


def test_a_promotion_without_an_intent_is_not_trusted(guarded):
    guarded.set("2")
    digest = model_digest(guarded.files("2"))
    body = Promotion(
        intent="0" * 64, alias="champion", from_version=None, to_version="2", to_digest=digest, completed="at once"
    )
    guarded.ledger.record("promotion", body, model=guarded.name)
    with pytest.raises(RefusedError, match="it names no earlier intent"):
        guarded.load()


def anchor(guarded, folder):
    path = folder / "anchor.json"
    path.write_bytes(
        make_anchor(guarded.ledger.id, guarded.ledger.entries()[-1], guarded.ledger.now(), guarded.ledger.service)
    )
    return path


def test_a_ledger_that_was_cut_back_is_found_with_an_anchor(guarded, tmp_path):
    guarded.promote("1")
    cut = tmp_path / "cut.db"
    with sqlite3.connect(guarded.file) as source, sqlite3.connect(cut) as copy:
        source.backup(copy)
    guarded.promote("2", before="1")
    anchored = anchor(guarded, tmp_path)
    assert guarded.predicts_as(guarded.load(anchors=[anchored]), "2")
    guarded.set("1")
    guarded.ledger = Ledger.open(f"sqlite:///{cut}")
    assert guarded.predicts_as(guarded.load(), "1"), "without an anchor nobody can tell"
    with pytest.raises(RefusedError, match="it was cut"):
        guarded.load(anchors=[anchored])


def test_another_ledger_is_found_with_an_anchor(guarded, tmp_path):
    guarded.promote("1")
    anchored = anchor(guarded, tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    guarded.ledger = Ledger.open(f"sqlite:///{other / 'ledger.db'}")
    guarded.promote("2")
    with pytest.raises(RefusedError, match=r"NOT intact: the anchor .* not known here"):
        guarded.load(anchors=[anchored])
    with pytest.raises(LedgerError, match="cannot read the anchor"):
        guarded.load(anchors=[tmp_path / "no such anchor"])


def test_the_ledger_is_found_by_its_variable_or_beside_the_registry(guarded, monkeypatch):
    guarded.promote("1")
    uri = f"models:/{guarded.name}@champion"
    with pytest.raises(LedgerError, match="there is no ledger at"):
        load_verified(uri)
    assert not (guarded.store.folder / "coordpath-ledger.db").exists()
    monkeypatch.setenv("COORDPATH_LEDGER", str(guarded.file))
    assert guarded.predicts_as(load_verified(uri), "1")


@pytest.mark.parametrize("which", ["", "@nobody", "/9", "/x"])
def test_a_version_that_does_not_exist(guarded, which):
    with pytest.raises((NotFoundError, UsageError)):
        guarded.load(which)


def test_only_registered_versions_can_be_verified(guarded, tmp_path):
    for uri in (guarded.models["1"].uri, str(tmp_path), f"runs:/{guarded.models['1'].run_id}/model"):
        with pytest.raises(UsageError, match="is not a registered version"):
            load_verified(uri, ledger=guarded.ledger)


def test_names_with_an_at_sign(guarded):
    name = f"a@b {uuid.uuid4().hex}"
    guarded.name = guarded.store.register(name, *guarded.models.values())
    guarded.promote("2")
    assert guarded.predicts_as(guarded.load(), "2")
    assert guarded.predicts_as(guarded.load("/2"), "2")
    with pytest.raises(RefusedError):
        guarded.load("/1")


def test_the_files_are_there_as_long_as_the_model_is(guarded):
    guarded.promote("1")
    model = guarded.load()
    (folder,) = Path(tempfile.gettempdir()).glob("coordpath-*")
    assert folder.stat().st_mode & 0o077 == 0
    assert model_digest(folder / "model") == model_digest(guarded.files("1"))
    del model
    gc.collect()
    assert not folder.exists()


def test_a_version_whose_source_leads_elsewhere_by_now_is_refused(guarded):
    client, other = guarded.store.client, f"origin {uuid.uuid4().hex}"
    guarded.store.register(other, guarded.models["1"])
    copy = str(client.copy_model_version(f"models:/{other}/1", guarded.name).version)
    guarded.models[copy] = guarded.models["1"]
    guarded.promote(copy)
    assert guarded.predicts_as(guarded.load(), "1")
    client.delete_registered_model(other)
    guarded.store.register(other, guarded.models["2"])
    with pytest.raises(RefusedError, match="is loaded from other files"):
        guarded.load()


@pytest.mark.parametrize("kind", ["code of its own", "not linear"])
def test_a_model_that_cannot_be_read_is_not_loaded(guarded, kind):
    """What nobody could explain is not served either, adopted or not."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import Ridge

    rows = guarded.store.rows.frame
    if kind == "not linear":
        model = RandomForestRegressor(n_estimators=2).fit(rows[["area", "age"]], rows["price"])
    else:
        model = type("Mine", (Ridge,), {"__module__": "__main__"})().fit(rows[["area", "age"]], rows["price"])
    logged = guarded.store.log(model, serialization_format="cloudpickle")
    guarded.store.client.create_model_version(guarded.name, logged.uri)
    guarded.models["3"] = logged
    guarded.adopt("3")
    guarded.set("3")
    with pytest.raises(RefusedError, match=r"was not loaded: .*not a linear model that we read"):
        guarded.load()


@pytest.fixture
def unreadable(guarded):
    """Version 2 is a forest in a pickle, beside it what its author declares; it is champion all the same."""
    from sklearn.ensemble import RandomForestRegressor

    rows = guarded.store.rows.frame
    forest = RandomForestRegressor(n_estimators=2, random_state=0).fit(rows[["area", "age"]], rows["price"])
    guarded.models["2"] = guarded.store.log(forest, serialization_format="cloudpickle")
    guarded.name = guarded.store.register(f"unreadable {uuid.uuid4().hex}", *guarded.models.values())
    return guarded


@pytest.mark.parametrize("authored", [False, True])
@pytest.mark.parametrize("allow_declared", [False, True])
def test_what_cannot_be_read_is_not_loaded_unless_somebody_vouches_and_the_caller_says_so(
    unreadable, authored, allow_declared
):
    """What an author declares makes no difference: a pickle that nobody can read runs what it likes."""
    if authored:
        content = json.dumps(to_document(LinearModel(1.0, numeric=(NumericTerm("area", 2.0),))))
        (unreadable.files("2") / "coefficients.json").write_text(content)
    unreadable.promote("2")
    unreadable.adopt_policy(declarations={"roles": ["validator"]})
    with pytest.raises(RefusedError, match=r"What it runs is not known; nobody vouches for it"):
        unreadable.load(allow_declared=allow_declared)
    unreadable.declare("2", unreadable.person("Bob", "validator"))
    if allow_declared:
        assert unreadable.load(allow_declared=True) is not None
    else:
        with pytest.raises(RefusedError, match="allow_declared=True"):
            unreadable.load()


@pytest.mark.parametrize("forged", [{"version": "1"}, {"digest": "0" * 64}], ids=["of another version", "of other files"])
def test_a_declaration_of_something_else_loads_nothing(unreadable, forged):
    unreadable.promote("2")
    unreadable.adopt_policy(declarations={"roles": ["validator"]})
    unreadable.declare("2", unreadable.person("Bob", "validator"), **forged)
    with pytest.raises(RefusedError, match="nobody vouches for it"):
        unreadable.load(allow_declared=True)


def test_one_person_is_not_enough_where_nobody_vouches_for_who_registered_it(unreadable):
    unreadable.promote("2")
    digest = model_digest(unreadable.files("2"))
    again = Registration(version="2", digest=digest, author="Bob", authenticated_by=None)
    unreadable.ledger.record("registration", again, model=unreadable.name)
    unreadable.adopt_policy(declarations={"roles": ["validator"]})
    unreadable.declare("2", unreadable.person("Bob", "validator"))
    with pytest.raises(
        RefusedError, match="one more person has to vouch for it, since nobody vouches for who registered it"
    ):
        unreadable.load(allow_declared=True)
    unreadable.declare("2", unreadable.person("Cleo", "validator"))
    assert unreadable.load(allow_declared=True) is not None


def test_a_declaration_by_somebody_the_policy_does_not_name_loads_nothing(unreadable):
    unreadable.promote("2")
    unreadable.declare("2", unreadable.person("Bob", "validator"))
    with pytest.raises(RefusedError, match="nobody vouches for it"):
        unreadable.load(allow_declared=True)


def test_a_declaration_replayed_from_another_ledger_stops_everything(unreadable):
    unreadable.promote("2")
    unreadable.adopt_policy(declarations={"roles": ["validator"]})
    unreadable.declare("2", unreadable.person("Bob", "validator"), registry="cd" * 16)
    with pytest.raises(RefusedError, match=r"NOT intact.*it is about the registry of ledger cdcd"):
        unreadable.load(allow_declared=True)


def test_a_format_that_the_policy_does_not_list_is_not_loaded(guarded):
    guarded.promote("1")
    guarded.adopt_policy(formats=["pickle"])
    with pytest.raises(RefusedError, match="it was read as 'skops', and its policy does not list that in 'formats'"):
        guarded.load()
    guarded.adopt_policy(formats=["skops"])
    assert guarded.predicts_as(guarded.load(), "1")


def test_what_a_plugin_reads_is_loaded_only_where_the_policy_lists_it(guarded, monkeypatch):
    source = plugin_source("mine", "my-readers 1.2")
    monkeypatch.setattr(verified, "read_version", lambda _: LinearModel(1.0, source=source))
    guarded.promote("1")
    with pytest.raises(RefusedError, match="it was read as 'plugin:mine'"):
        guarded.load()
    guarded.adopt_policy(formats=["plugin:mine"])
    assert guarded.predicts_as(guarded.load(), "1")
