"""What the guard sees of the inner store, and where a version's files are."""

import sys
import types

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR, RESOURCE_DOES_NOT_EXIST

from coordpath_governance.errors import NotFoundError, RefusedError, RegistryError
from coordpath_governance.guarded import inner_registry, inner_store
from coordpath_governance.guarded.inner_registry import InnerRegistry
from coordpath_governance.models.manifest import model_digest
from coordpath_governance.registry.own_artifacts import own_location, same_place

LOGGED = "m-" + "0" * 32


class Registry:
    """Versions of `price` by their sources; ``fixed`` is where their files are, if their sources do not say."""

    def __init__(self, fixed=None, **sources):
        self.fixed = fixed
        self.sources = sources
        self.aliases = {"champion": 1}
        self.error = None

    def get_registered_model(self, name):
        if self.error is not None:
            raise self.error
        if name != "price":
            raise MlflowException("absent", error_code=RESOURCE_DOES_NOT_EXIST)
        return types.SimpleNamespace(name=name, aliases=self.aliases, latest_versions=[], creation_timestamp=1000)

    def get_model_version(self, name, version):
        if f"v{version}" not in self.sources:
            raise MlflowException("absent", error_code=RESOURCE_DOES_NOT_EXIST)
        source = self.sources[f"v{version}"]
        return types.SimpleNamespace(
            version=int(version), source=source, run_id=None, description=None, creation_timestamp=1234
        )

    def get_model_version_download_uri(self, name, version):
        return self.fixed or self.sources[f"v{version}"]

    def set_registered_model_alias(self, name, alias, version):
        self.get_registered_model(name)
        self.aliases[alias] = version


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "a folder" / "model"
    folder.mkdir(parents=True)
    (folder / "MLmodel").write_text("flavors: {}\n")
    (folder / "registered_model_meta").write_text("changes nothing")
    return folder


@pytest.fixture
def tracking(monkeypatch, model):
    asked = []

    def get_logged_model(model_id):
        asked.append(model_id)
        return types.SimpleNamespace(artifact_location=model.as_uri())

    store = types.SimpleNamespace(get_logged_model=get_logged_model, asked=asked)
    monkeypatch.setattr(inner_registry, "tracking_store", lambda uri: asked.append(uri) or store)
    return store


@pytest.fixture
def served(monkeypatch, tmp_path):
    """As in a worker of `mlflow server --serve-artifacts`, its destination a folder."""
    destination = tmp_path / "destination"
    destination.mkdir()
    monkeypatch.setenv("_MLFLOW_SERVER_SERVE_ARTIFACTS", "true")
    monkeypatch.setenv("_MLFLOW_SERVER_ARTIFACT_DESTINATION", str(destination))
    return destination


def test_aliases_are_texts():
    assert InnerRegistry(Registry()).aliases("price") == {"champion": "1"}


def test_a_model_that_is_not_there_has_no_aliases():
    assert InnerRegistry(Registry()).aliases("absent") == {}


def test_a_registry_that_does_not_answer_is_not_one_without_aliases():
    store = Registry()
    for error in (MlflowException("down", error_code=INTERNAL_ERROR), OSError("broken pipe")):
        store.error = error
        with pytest.raises(RegistryError, match="looking up the registered model 'price'"):
            InnerRegistry(store).aliases("price")


def test_an_alias_is_set():
    store = Registry()
    InnerRegistry(store).set_alias("price", "champion", "2")
    assert store.aliases == {"champion": "2"}
    with pytest.raises(NotFoundError, match="setting the alias 'champion' of 'absent' to version 2"):
        InnerRegistry(store).set_alias("absent", "champion", "2")


def test_the_digest_of_files_in_a_folder(model):
    assert InnerRegistry(Registry(v1=str(model))).digest("price", "1") == model_digest(model)
    assert InnerRegistry(Registry(v1=model.as_uri())).digest("price", "1") == model_digest(model)


@pytest.mark.parametrize("spelled", ["file:", "path", "path/", "logged"])
def test_the_digest_of_a_logged_model_and_of_its_copy(model, tracking, spelled):
    fixed = {"file:": model.as_uri(), "path": str(model), "path/": f"{model}/", "logged": f"models:/{LOGGED}"}[spelled]
    registry = InnerRegistry(Registry(fixed, v1=f"models:/{LOGGED}", v2="models:/price/1"), "sqlite:///tracking")
    assert registry.digest("price", "1") == model_digest(model)
    assert registry.digest("price", "2") == model_digest(model)
    assert set(tracking.asked) == {"sqlite:///tracking", LOGGED}


def test_a_source_that_now_leads_to_other_files_is_refused(tmp_path, tracking):
    registry = InnerRegistry(Registry(str(tmp_path / "another"), v1=f"models:/{LOGGED}", v2="models:/price/1"))
    for version in "12":
        with pytest.raises(RefusedError, match=f"version {version} of 'price' is loaded from other files"):
            registry.digest("price", version)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("file:///a%20folder/model", "/a folder/model/", True),
        ("/a/./model", "file:/a/model", True),
        ("/a/model", "/a/Model", False),
        ("mlflow-artifacts:/1/m", "mlflow-artifacts://host:5000/1/m/", True),
        ("mlflow-artifacts:/1/m", "https://host/base/api/2.0/mlflow-artifacts/artifacts/1/m", True),
        ("mlflow-artifacts:/1/m", "mlflow-artifacts:/1/n", False),
        ("mlflow-artifacts:/1/m", "/1/m", False),
        ("s3://bucket/m", "s3://bucket/m/", True),
        ("s3://bucket/m", "s3://other/m", False),
        ("https://host/m", "https://other/m", False),
    ],
)
def test_a_place_has_several_spellings(one, other, same):
    assert same_place(one, other) is same
    assert same_place(other, one) is same


def test_a_server_knows_its_own_artifacts_by_both_names(served):
    assert same_place("mlflow-artifacts:/1/m", str(served / "1" / "m"))


@pytest.mark.parametrize("place", ["nowhere", "empty"])
def test_files_that_are_not_there(tmp_path, place):
    """Older MLflow takes a folder that is not there for a failed download."""
    (tmp_path / "empty").mkdir()
    with pytest.raises((NotFoundError, RegistryError), match="version 1 of 'price'") as error:
        InnerRegistry(Registry(v1=str(tmp_path / place))).digest("price", "1")
    assert not isinstance(error.value.__cause__, MlflowException)


def test_files_that_cannot_be_reached(monkeypatch):
    def away(**_):
        raise MlflowException("the bucket is away", error_code=INTERNAL_ERROR)

    monkeypatch.setattr("mlflow.artifacts.download_artifacts", away)
    with pytest.raises(RegistryError, match="reading the files of version 1 of 'price': the bucket is away") as error:
        InnerRegistry(Registry(v1="s3://bucket/model")).digest("price", "1")
    assert not isinstance(error.value.__cause__, MlflowException)


@pytest.mark.parametrize(
    "location",
    [
        "mlflow-artifacts:/1/models/m/artifacts",
        "mlflow-artifacts://host:5000/1/models/m/artifacts",
        "http://host:5000/api/2.0/mlflow-artifacts/artifacts/1/models/m/artifacts",
    ],
)
def test_a_server_reads_its_own_artifacts_where_they_are(served, model, location):
    folder = served / "1" / "models" / "m"
    folder.mkdir(parents=True)
    model.rename(folder / "artifacts")
    assert InnerRegistry(Registry(v1=location)).digest("price", "1") == model_digest(folder / "artifacts")


@pytest.mark.parametrize("path", ["../secret", "1/%2e%2e/../secret", "%2Fetc", "", "1/..%2f..%2fsecret", "1/%252e%252e/x"])
def test_a_server_reads_nothing_outside_them(served, model, path):
    model.rename(served.parent / "secret")
    with pytest.raises((RegistryError, NotFoundError)):
        InnerRegistry(Registry(v1=f"mlflow-artifacts:/{path}")).digest("price", "1")


def test_a_server_leaves_other_places_to_mlflow(served, model):
    assert InnerRegistry(Registry(v1=str(model))).digest("price", "1") == model_digest(model)
    assert own_location("https://elsewhere/model") == "https://elsewhere/model"


def test_a_server_that_serves_no_artifacts_leaves_all_to_mlflow(served, monkeypatch):
    monkeypatch.setenv("_MLFLOW_SERVER_SERVE_ARTIFACTS", "false")
    assert own_location("mlflow-artifacts:/1") == "mlflow-artifacts:/1"


def test_mlflow_scopes_the_path_to_its_workspace(served, monkeypatch):
    from mlflow.server import handlers

    monkeypatch.setattr(handlers, "_get_workspace_scoped_repo_path_if_enabled", lambda path: f"workspaces/a/{path}")
    assert own_location("mlflow-artifacts:/1") == f"{served}/workspaces/a/1"
    monkeypatch.delattr(handlers, "_get_workspace_scoped_repo_path_if_enabled")
    assert own_location("mlflow-artifacts:/1") == f"{served}/1"


def test_the_store_of_logged_models(monkeypatch, tmp_path):
    uri = f"sqlite:///{tmp_path / 'tracking.db'}"
    handlers = types.SimpleNamespace(_get_tracking_store=lambda: "the server's")
    monkeypatch.setitem(sys.modules, "mlflow.server.handlers", handlers)
    monkeypatch.setattr("mlflow.tracking._tracking_service.utils._get_store", lambda given: given)
    monkeypatch.delenv("_MLFLOW_SERVER_FILE_STORE", raising=False)
    assert inner_store.tracking_store(uri) == uri
    monkeypatch.setenv("_MLFLOW_SERVER_FILE_STORE", uri)
    assert inner_store.tracking_store(uri) == "the server's"
