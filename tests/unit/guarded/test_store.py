"""The guarded methods ask first; everything else is the inner store's."""

import inspect
import pickle
import threading
import types

import pytest
from mlflow.entities.model_registry import ModelVersionTag, RegisteredModelTag
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST
from mlflow.store._unity_catalog.registry.rest_store import UcModelRegistryStore
from mlflow.store.model_registry.file_store import FileStore
from mlflow.store.model_registry.rest_store import RestStore
from mlflow.store.model_registry.sqlalchemy_store import SqlAlchemyStore
from mlflow.store.model_registry.sqlalchemy_workspace_store import WorkspaceAwareSqlAlchemyStore

from coordpath_governance.errors import LedgerError, RefusedError
from coordpath_governance.guarded.store import GuardedStore, put_behind_guard
from coordpath_governance.registry.client_registry import GUARD_ALIAS, GUARD_FIELD
from coordpath_governance.review.ports import Actor
from coordpath_governance.signing.keys import new_key

IS_PROMPT = "mlflow.prompt.is_prompt"
NOBODY = Actor()
HIDING = RegisteredModelTag(IS_PROMPT, "true")
METHODS = [name for name, member in vars(GuardedStore).items() if inspect.isfunction(member) and not name.startswith("_")]

ASKED = [
    (("rename_registered_model", "price", "cost"), ("rename model", {"new_name": "cost"})),
    (("delete_registered_model", "price"), ("delete model", {})),
    (("delete_prompt", "price"), ("delete model", {})),
    (("create_registered_model", "price", [HIDING]), ("set tag", {"tag": IS_PROMPT})),
    (("set_registered_model_tag", "price", HIDING), ("set tag", {"tag": IS_PROMPT})),
    (("set_prompt_tag", "price", IS_PROMPT, "true"), ("set tag", {"tag": IS_PROMPT})),
    (("delete_registered_model_tag", "price", IS_PROMPT), ("delete tag", {"tag": IS_PROMPT})),
    (("delete_prompt_tag", "price", IS_PROMPT), ("delete tag", {"tag": IS_PROMPT})),
    (("create_model_version", "price", "s", None, [HIDING]), ("set tag", {"tag": IS_PROMPT})),
    (("create_prompt_version", "price", "text"), ("set tag", {"tag": IS_PROMPT})),
    (("transition_model_version_stage", "price", 1, "Production", False), ("transition stage", {"version": "1"})),
    (("delete_model_version", "price", "01"), ("delete version", {"version": "1"})),
    (("delete_prompt_version", "price", "1"), ("delete version", {"version": "1"})),
    (("set_model_version_tag", "price", 1, HIDING), ("set tag", {"version": "1", "tag": IS_PROMPT})),
    (("set_prompt_version_tag", "price", 1, IS_PROMPT, "x"), ("set tag", {"version": "1", "tag": IS_PROMPT})),
    (("delete_model_version_tag", "price", 1, IS_PROMPT), ("delete tag", {"version": "1", "tag": IS_PROMPT})),
    (
        ("delete_model_version_tag", "price", 1, "coordpath.report"),
        ("delete tag", {"version": "1", "tag": "coordpath.report"}),
    ),
    (("delete_prompt_version_tag", "price", 1, IS_PROMPT), ("delete tag", {"version": "1", "tag": IS_PROMPT})),
    (("delete_registered_model_alias", "price", "champion"), ("delete alias", {"alias": "champion"})),
    (("delete_prompt_alias", "price", "champion"), ("delete alias", {"alias": "champion"})),
]


def test_as_many_methods_are_tried_as_are_guarded():
    tried = {call[0] for call, _ in ASKED}
    assert set(METHODS) - tried == {"set_registered_model_alias", "get_model_version_by_alias"}


@pytest.mark.parametrize(("call", "question"), ASKED, ids=lambda value: str(value[0]))
def test_what_is_refused_does_not_happen(memory, guard, call, question):
    guard.error = RefusedError("no; do this instead")
    method, *args = call
    with pytest.raises(MlflowException, match=f"coordpath refuses '{question[0]}': no; do this instead") as refused:
        getattr(memory, method)(*args)
    assert refused.value.error_code == "PERMISSION_DENIED"
    assert refused.value.get_http_status_code() == 403
    assert guard.asked == [(question[0], "price", question[1], NOBODY)]
    assert memory.calls == []


@pytest.mark.parametrize(
    ("call", "question"), [each for each in ASKED if "prompt" not in each[0][0]], ids=lambda v: str(v[0])
)
def test_what_is_allowed_is_the_inner_stores(memory, guard, call, question):
    method, *args = call
    found = getattr(memory, method)(*args)
    assert guard.asked == [(question[0], "price", question[1], NOBODY)]
    assert [made[0] for made in memory.calls] == [method]
    assert found == method or found.version == 7


@pytest.mark.parametrize("method", ["set_registered_model_alias", "set_prompt_alias"])
@pytest.mark.parametrize("version", [12, "12", " 12", "0012", "1_2", "１２"])
def test_an_alias_is_set_by_the_guard_to_the_version_that_the_store_would_understand(memory, guard, method, version):
    assert getattr(memory, method)("price", "champion", version) is None
    assert guard.asked == [("set alias", "price", "champion", "12", NOBODY)]
    assert memory.calls == [("set_registered_model_alias", "price", "champion", "12")]


@pytest.mark.parametrize("method", ["set_registered_model_alias", "set_prompt_alias"])
def test_a_refused_alias_stays_where_it_is(memory, guard, method):
    guard.error = RefusedError("no report")
    with pytest.raises(MlflowException, match="no report"):
        getattr(memory, method)("price", "champion", 2)
    assert memory.aliases == {"champion": 1}


def test_what_is_no_version_is_the_callers_error(memory, guard):
    for call in (memory.set_registered_model_alias, memory.set_prompt_alias):
        with pytest.raises(MlflowException) as refused:
            call("price", "champion", "two")
        assert refused.value.error_code == "INVALID_PARAMETER_VALUE"
    assert guard.asked == []


def test_a_model_that_is_not_there_is_the_inner_stores_error(memory):
    with pytest.raises(MlflowException, match=r"^no model absent$") as refused:
        memory.set_registered_model_alias("absent", "other", "1")
    assert refused.value.error_code == "RESOURCE_DOES_NOT_EXIST"


@pytest.mark.parametrize("key", ["MLFLOW.Prompt.is_prompt", "mlflow.prompt.is_prompt ", IS_PROMPT])
def test_a_key_that_some_database_takes_for_the_hiding_one_is_asked_about_as_that(memory, guard, key):
    memory.set_registered_model_tag("price", RegisteredModelTag(key, "true"))
    memory.delete_model_version_tag("price", 1, key)
    assert [asked[2]["tag"] for asked in guard.asked] == [IS_PROMPT, IS_PROMPT]


def test_other_tags_are_nobodys_business(memory, guard, opening):
    opening.error = LedgerError("down")
    memory.set_registered_model_tag("price", RegisteredModelTag("coordpath.verdict", "pass"))
    memory.delete_registered_model_tag("price", "team")
    memory.set_model_version_tag("price", 1, ModelVersionTag("coordpath.subject", "x"))
    memory.delete_model_version_tag("price", 1, "a")
    memory.create_registered_model("other", [RegisteredModelTag("team", "risk")], "text", None)
    memory.update_model_version("price", 1, "text")
    assert len(memory.calls) == 6
    assert opening.uris == []


def test_a_new_version_is_told_to_the_guard(memory, guard):
    made = memory.create_model_version("price", "s", "r", [], "l", "d", local_model_path="p", model_id="m")
    assert made.version == 7
    assert memory.calls == [("create_model_version", "price", "s", "r", "l", "d", "p", "m")]
    assert guard.asked == [("registered", "price", "7", NOBODY)]


def test_a_new_prompt_version_is_no_registration(memory, guard):
    memory.create_model_version("greeting", "s", tags=[ModelVersionTag(IS_PROMPT, "true")])
    assert [asked[0] for asked in guard.asked] == ["set tag"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mlflow.prompt.note", "true"),
        ("mlflow.prompt.is_prompt_not", "true"),
        ("MLFLOW.prompt.is_prompt", "true"),
        (f"{IS_PROMPT} ", "true"),
        (IS_PROMPT, "false"),
    ],
)
def test_no_other_tag_keeps_a_registration_out_of_the_record(memory, guard, key, value):
    memory.create_model_version("price", "s", tags=[ModelVersionTag(key, value)])
    assert [asked[0] for asked in guard.asked] == ["set tag", "registered"]


@pytest.mark.parametrize("alias", ["champion", "Champion", "CHAMPION", " champion ", "ｃhampion", "champion\n"])
def test_deleting_an_alias_asks_about_it_as_the_client_wrote_it(memory, guard, alias):
    memory.delete_registered_model_alias("price", alias)
    assert guard.asked == [("delete alias", "price", {"alias": alias}, NOBODY)]
    assert memory.calls == [("delete_registered_model_alias", "price", alias)]


@pytest.mark.parametrize("error", [RefusedError("no"), LedgerError("down"), RuntimeError("a fault")])
@pytest.mark.parametrize("where", ["guard", "opening"])
def test_registering_never_fails_because_of_us(memory, opening, error, where, caplog):
    (opening.guard if where == "guard" else opening).error = error
    assert memory.create_model_version("price", "s").version == 7
    assert f"version 7 of 'price' was registered without a record: {error}" in caplog.text


def test_without_a_ledger_the_guarded_is_refused_and_tried_again(memory, opening, guard):
    opening.error = LedgerError("the database is away")
    for call in (
        lambda: memory.set_registered_model_alias("price", "champion", 2),
        lambda: memory.delete_registered_model("price"),
    ):
        with pytest.raises(MlflowException, match="cannot tell whether it is allowed: the database is away") as refused:
            call()
        assert refused.value.error_code == "TEMPORARILY_UNAVAILABLE"
    assert memory.calls == []
    opening.error = None
    memory.set_registered_model_alias("price", "champion", 2)
    memory.set_registered_model_alias("price", "champion", 3)
    assert opening.uris == ["sqlite:///memory"] * 3
    assert memory.aliases == {"champion": 3}


def test_many_threads_open_one_guard(memory, opening):
    threads = [threading.Thread(target=memory.delete_registered_model, args=("price",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opening.uris) == 1
    assert len(memory.calls) == 8


@pytest.mark.parametrize(
    "inner", [SqlAlchemyStore, WorkspaceAwareSqlAlchemyStore, FileStore, RestStore, UcModelRegistryStore]
)
@pytest.mark.parametrize("method", METHODS)
def test_signatures_are_those_of_mlflow(inner, method):
    ours = inspect.signature(getattr(GuardedStore, method)).parameters
    theirs = inspect.signature(getattr(inner, method)).parameters
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [(p.name, p.kind, p.default) for p in theirs.values()]


def test_the_class_is_the_inner_stores_with_a_guard_in_front(memory):
    assert isinstance(memory, GuardedStore)
    inner = memory._inner_class
    assert isinstance(memory, inner)
    assert type(memory).__name__ == inner.__name__
    assert memory.supports_workspaces is inner.supports_workspaces.fget(memory)
    assert type(put_behind_guard(inner(), "sqlite:///other", None)) is type(memory)


def _credentials():
    return "http://127.0.0.1:9"


def test_a_pickled_store_is_guarded_too(opening):
    store = put_behind_guard(RestStore(_credentials), "http://127.0.0.1:9", "http://tracking")
    opening.guard.error = RefusedError("still no")
    again = pickle.loads(pickle.dumps(store))
    assert type(again) is type(store)
    assert again.get_host_creds is _credentials
    with pytest.raises(MlflowException, match="still no"):
        again.delete_registered_model("price")
    assert opening.uris == ["http://127.0.0.1:9"]
    assert again._unguarded().tracking_uri == "http://tracking"


@pytest.fixture
def around(memory, monkeypatch):
    """A guarded store whose own registry guards itself."""

    def by_alias(self, name, alias):
        if alias == GUARD_ALIAS:
            told = {GUARD_FIELD: {"ledger": "1" * 32, "alias": "champion"}}
            raise MlflowException("guarded", error_code=RESOURCE_DOES_NOT_EXIST, **told)
        return types.SimpleNamespace(version=self.aliases[alias])

    monkeypatch.setattr(memory._inner_class, "get_model_version_by_alias", by_alias, raising=False)
    return memory


def test_of_two_guards_the_one_behind_decides(around, guard, opening, tmp_path, monkeypatch):
    around.set_registered_model_alias("price", "champion", "2")
    assert around.calls == [("set_registered_model_alias", "price", "champion", "2")]
    new_key().save(tmp_path / "key.pem")
    monkeypatch.setenv("COORDPATH_KEY", str(tmp_path / "key.pem"))
    around.set_registered_model_alias("price", "champion", "3")
    (_, _, version, tag), setting = around.calls[1:]
    assert (version, tag.key, setting[-1]) == ("3", "coordpath.request", "3")
    assert (guard.asked, opening.uris) == ([], [])


def test_of_two_guards_the_one_in_front_records_no_registration_without_author(around, guard, tmp_path, monkeypatch):
    around.create_model_version("price", "s")
    new_key().save(tmp_path / "key.pem")
    monkeypatch.setenv("COORDPATH_KEY", str(tmp_path / "key.pem"))
    around.create_model_version("price", "s")
    assert guard.asked == []
