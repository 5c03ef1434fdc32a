"""`coordpath:<uri>` beside `<uri>`: every registry operation of MLflow's client, through both, compared field by field."""

import functools
import shutil
import types
from dataclasses import dataclass, field

import mlflow
import pytest
from mlflow.entities.webhook import WebhookEvent
from mlflow.store.model_registry.abstract_store import AbstractStore
from mlflow.tracking._model_registry.utils import _get_store

from coordpath_governance.ledger.keyring import KeyRing

NOT_COMPARED = (
    "timestamp",
    "last_updated",
    "creation_time",
    "webhook_id",
    "_mlflow_experiment_ids",
)  # the last is set by a thread
GUARDED = "coordpath:"


class Unseen(str):
    """An argument that differs from run to run."""

    __slots__ = ()

    def __eq__(self, other):
        return isinstance(other, Unseen)

    __hash__ = str.__hash__


class Yes:
    """A guard that allows everything, and remembers what it was asked."""

    def __init__(self):
        self.ledger = types.SimpleNamespace(keyring=KeyRing)
        self.asked = []
        self.digests = []

    def set_alias(self, registry, name, alias, version, actor, take_request=None):
        self.asked.append("set alias")
        registry.set_alias(name, alias, version)
        assert registry.aliases(name)[alias] == version

    def forbid(self, registry, operation, name, actor, **what):
        self.asked.append(operation)

    def registered(self, registry, name, version, actor):
        self.asked.append("registered")
        self.digests.append(registry.digest(name, version))


@dataclass
class Played:
    """What a script saw, step by step, and which methods of the store it reached."""

    steps: list = field(default_factory=list)
    reached: set = field(default_factory=set)


def plain(found):
    """A result as comparable values; times aside."""
    if found is None or isinstance(found, str | int | float | bool):
        return found
    if isinstance(found, dict):
        return {str(key): plain(value) for key, value in found.items() if not any(word in str(key) for word in NOT_COMPARED)}
    if isinstance(found, list | tuple | set):
        listed = [plain(each) for each in found]
        return {"listed": listed, "token": bool(getattr(found, "token", None))}
    return {"type": type(found).__name__, **plain(vars(found))} if hasattr(found, "__dict__") else repr(found)


class Script:
    """Every registry operation of MLflow's client, also with what is wrong; one after the other on one store."""

    def __init__(self, client, store, model, played):
        self.client = client
        self.store = store
        self.model = model
        self.played = played

    def do(self, call, *args, **options):
        owner = call.__self__.__class__.__name__ if hasattr(call, "__self__") else ""
        try:
            found = call(*args, **options)
            seen = plain(found)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
            found = None
            seen = (type(error).__name__, getattr(error, "error_code", None), str(error))
        self.played.steps.append((owner, call.__name__, args, plain(options), seen))
        return found

    def play(self):
        self.models()
        self.versions()
        self.aliases()
        self.stages()
        self.searches()
        self.prompts()
        self.links()
        self.webhooks()
        self.ends()

    def models(self):
        do, client = self.do, self.client
        do(client.create_registered_model, "price", tags={"team": "risk"}, description="first")
        do(client.create_registered_model, "price")
        do(client.create_registered_model, "")
        do(client.create_registered_model, None)
        do(client.create_registered_model, "a/b")
        do(client.create_registered_model, "veiled", tags={"mlflow.prompt.is_prompt": "true"})
        do(client.create_registered_model, "veiled")
        do(client.get_registered_model, "price")
        do(client.get_registered_model, "absent")
        do(client.update_registered_model, "price", description="second")
        do(client.set_registered_model_tag, "price", "coordpath.verdict", "pass")
        do(client.set_registered_model_tag, "absent", "k", "v")
        do(client.set_registered_model_tag, "veiled", "mlflow.prompt.is_prompt", "true")
        do(client.get_registered_model, "veiled")
        do(client.delete_registered_model_tag, "veiled", "mlflow.prompt.is_prompt")
        do(self.store.delete_registered_model_tag, "veiled", "mlflow.prompt.is_prompt")
        do(client.get_registered_model, "veiled")
        do(client.delete_registered_model_tag, "price", "team")
        do(client.delete_registered_model_tag, "price", "never there")
        do(client.rename_registered_model, "price", "cost")
        do(client.rename_registered_model, "absent", "other")
        do(client.rename_registered_model, "cost", "veiled")
        do(client.rename_registered_model, "cost", "")
        do(client.rename_registered_model, "cost", "price")
        do(client.get_registered_model, "price")

    def versions(self):
        do, client, model = self.do, self.client, self.model
        do(client.create_model_version, "price", model.uri, model.run_id, model_id=model.model_id)
        do(
            client.create_model_version,
            "price",
            model.uri,
            model.run_id,
            tags={"a": "1"},
            description="d",
            run_link="http://l",
        )
        do(client.create_model_version, "absent", model.uri)
        do(client.create_model_version, "price", "models:/absent/1")
        do(client.create_model_version, "price", model.uri, tags={"mlflow.prompt.is_prompt": "false"})
        do(client.copy_model_version, "models:/price/2", "copy")
        do(client.copy_model_version, "models:/price/1", "copy")
        do(client.copy_model_version, "models:/absent/1", "copy")
        do(client.get_model_version, "price", "2")
        do(client.get_model_version, "copy", 1)
        do(client.get_model_version, "price", "99")
        do(client.get_model_version_download_uri, "copy", "1")
        do(client.update_model_version, "price", "1", description="changed")
        do(client.set_model_version_tag, "price", "1", "b", "2")
        do(client.set_model_version_tag, "price", "1", "mlflow.prompt.text", "x")
        do(client.set_model_version_tag, "price", "99", "b", "2")
        do(client.set_model_version_tag, "price", "no number", "mlflow.prompt.is_prompt", "2")
        do(client.delete_model_version_tag, "price", "1", "b")
        do(client.delete_model_version_tag, "price", "1", "mlflow.prompt.text")
        do(client.get_latest_versions, "price")
        do(client.get_latest_versions, "price", ["None", "Production"])
        do(client.get_model_version_stages, "price", "1")

    def aliases(self):
        do, client = self.do, self.client
        do(client.set_registered_model_alias, "price", "champion", "1")
        do(client.set_registered_model_alias, "price", "champion", 2)
        do(client.set_registered_model_alias, "price", "challenger", "1")
        do(client.set_registered_model_alias, "price", "champion", "99")
        do(client.set_registered_model_alias, "price", "champion", "no number")
        do(client.set_registered_model_alias, "price", "latest", "1")
        do(client.set_registered_model_alias, "price", "v1", "1")
        do(client.set_registered_model_alias, "price", "a b", "1")
        do(client.set_registered_model_alias, "price", "", "1")
        do(client.set_registered_model_alias, "absent", "champion", "1")
        do(client.get_model_version_by_alias, "price", "champion")
        do(client.get_model_version_by_alias, "price", "latest")
        do(client.get_model_version_by_alias, "price", "absent")
        do(client.get_registered_model, "price")
        do(client.delete_registered_model_alias, "price", "challenger")
        do(client.delete_registered_model_alias, "price", "challenger")
        do(client.delete_registered_model_alias, "absent", "champion")

    def stages(self):
        do, client = self.do, self.client
        do(client.transition_model_version_stage, "price", "1", "Production")
        do(client.transition_model_version_stage, "price", "2", "Production", archive_existing_versions=True)
        do(client.transition_model_version_stage, "price", "2", "Nowhere")
        do(client.transition_model_version_stage, "price", "99", "Staging")
        do(client.get_latest_versions, "price", ["Production", "Archived"])

    def searches(self):
        do, client = self.do, self.client
        do(client.search_registered_models, "name LIKE 'p%'", order_by=["name DESC"])
        do(client.search_registered_models, "tags.`coordpath.verdict` = 'pass'")
        page = do(client.search_registered_models, max_results=1, order_by=["name ASC"])
        do(client.search_registered_models, max_results=50, order_by=["name ASC"], page_token=page.token)
        do(client.search_registered_models, "nonsense ~ 1")
        do(client.search_registered_models, max_results=0)
        do(client.search_model_versions, "name = 'price'", order_by=["version_number ASC"])
        do(client.search_model_versions, "name = 'price' AND tags.a = '1'")
        page = do(client.search_model_versions, "name = 'copy'", max_results=1, order_by=["version_number DESC"])
        do(client.search_model_versions, "name = 'copy'", order_by=["version_number DESC"], page_token=page.token)
        do(client.search_model_versions, "nonsense = 1")

    def prompts(self):
        do, client = self.do, self.client
        do(client.create_prompt, "greeting", "says hello", {"lang": "en"})
        do(client.create_prompt_version, "greeting", "Hello {{name}}", "first", {"tone": "warm"})
        do(client.register_prompt, "greeting", "Good day, {{name}}", "second")
        do(client.register_prompt, "price", "not a prompt")
        do(client.get_prompt, "greeting")
        do(client.get_prompt, "price")
        do(client.get_prompt_version, "greeting", 1)
        do(client.load_prompt, "greeting", 2)
        do(client.set_prompt_alias, "greeting", "champion", 1)
        do(client.set_prompt_alias, "greeting", "polite", 2)
        do(client.get_prompt_version_by_alias, "greeting", "polite")
        do(client.load_prompt, "prompts:/greeting@champion")
        do(client.delete_prompt_alias, "greeting", "polite")
        do(client.set_prompt_tag, "greeting", "lang", "de")
        do(client.delete_prompt_tag, "greeting", "lang")
        do(client.set_prompt_version_tag, "greeting", 1, "tone", "cold")
        do(client.delete_prompt_version_tag, "greeting", 1, "tone")
        do(client.search_prompts)
        do(client.search_prompts, "name = 'greeting'")
        do(client.search_prompt_versions, "greeting")
        do(self.store.search_prompt_versions, "greeting")
        do(client.search_registered_models, "name = 'greeting'")

    def links(self):
        do, client, model = self.do, self.client, self.model
        do(client.link_prompt_version_to_run, model.run_id, "prompts:/greeting/1")
        do(client.link_prompt_version_to_model, "greeting", "1", model.model_id)
        do(client.list_logged_prompts, model.run_id)
        do(client.link_prompt_versions_to_trace, [], "tr-absent")
        do(client.delete_prompt_version, "greeting", "2")
        do(client.delete_prompt, "greeting")

    def webhooks(self):
        do, client = self.do, self.client
        made = do(client.create_webhook, "hook", "https://127.0.0.1:9/h", ["model_version.created"], "d", "secret", "ACTIVE")
        do(client.create_webhook, "", "https://127.0.0.1:9/h", ["model_version.created"])
        do(client.list_webhooks)
        do(self.store.list_webhooks_by_event, WebhookEvent.from_str("model_version.created"), 10)
        known = made.webhook_id if made is not None else "absent"
        do(client.get_webhook, Unseen(known))
        do(client.update_webhook, Unseen(known), description="e", status="DISABLED")
        do(client.test_webhook, Unseen(known))
        do(client.delete_webhook, Unseen(known))
        do(client.get_webhook, "absent")
        do(client.list_webhooks)

    def ends(self):
        do, client = self.do, self.client
        do(client.delete_model_version, "price", "2")
        do(client.delete_model_version, "price", "99")
        do(client.get_registered_model, "price")
        do(client.delete_registered_model, "price")
        do(client.delete_registered_model, "price")
        do(client.create_registered_model, "price")
        do(client.get_registered_model, "price")
        do(client.search_registered_models, "name = 'copy'")
        self.do(lambda: self.store.supports_workspaces)


@pytest.fixture
def yes(monkeypatch):
    guard = Yes()
    monkeypatch.setattr("coordpath_governance.guarded.lazy_guard.open_guard", lambda uri: guard)
    return guard


@pytest.fixture
def play(store, monkeypatch, tmp_path):
    """Play the script on a fresh copy of the session's store; ``registry`` makes the registry's URI of that copy's."""
    for name in ("MLFLOW_ALLOW_FILE_STORE", "MLFLOW_WEBHOOK_ALLOW_PRIVATE_IPS"):
        monkeypatch.setenv(name, "true")
    public = [name for name in dir(AbstractStore) if not name.startswith("_") and callable(getattr(AbstractStore, name))]

    def run(prefix, kind):
        folder = tmp_path / f"copy {bool(prefix)}"
        folder.mkdir()
        shutil.copy(store.folder / "mlflow.db", folder / "mlflow.db")
        tracking = f"sqlite:///{folder / 'mlflow.db'}"
        registry = prefix + (tracking if kind == "sqlite" else str(folder / "registry"))
        mlflow.set_tracking_uri(tracking)
        played = Played()
        opened = _get_store(registry, tracking)
        with monkeypatch.context() as patch:
            for name in public:
                patch.setattr(type(opened), name, recorded(getattr(type(opened), name), played.reached))
            client = mlflow.MlflowClient(tracking, registry)
            Script(client, opened, store.first, played).play()
        return played

    return run


def recorded(method, reached):
    @functools.wraps(method)
    def call(self, *args, **options):
        reached.add(method.__name__)
        return method(self, *args, **options)

    return call


@pytest.mark.parametrize("kind", ["sqlite", "files"])
def test_every_operation_is_as_it_was(play, yes, kind):
    bare, wrapped = play("", kind), play(GUARDED, kind)
    for before, after in zip(bare.steps, wrapped.steps, strict=True):
        assert after == before
    assert wrapped.reached == bare.reached
    assert len(bare.steps) > 110
    assert {"set alias", "delete alias", "transition stage", "delete version", "delete model"} <= set(yes.asked)
    assert {"rename model", "set tag", "delete tag", "registered"} <= set(yes.asked)
    assert len(yes.digests) == 4
    assert len(set(yes.digests)) == 1


def test_the_script_leaves_nothing_out(play, yes):
    public = {name for name in dir(AbstractStore) if not name.startswith("_") and callable(getattr(AbstractStore, name))}
    assert public - play(GUARDED, "sqlite").reached == set()
