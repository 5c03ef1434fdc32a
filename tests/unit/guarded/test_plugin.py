"""The entry point: light to import, and `coordpath:` in front of any registry URI."""

import subprocess
import sys
import types

import pytest
from mlflow.exceptions import MlflowException
from mlflow.store.model_registry.file_store import FileStore
from mlflow.store.model_registry.rest_store import RestStore
from mlflow.tracking._model_registry.utils import _get_store_registry
from mlflow.tracking.registry import UnsupportedModelRegistryStoreURIException

from coordpath_governance.errors import UsageError
from coordpath_governance.guarded import inner_store
from coordpath_governance.guarded.inner_store import build_inner_store, inner_uri, primary_of, tell_if_advisory
from coordpath_governance.guarded.plugin import build_store
from coordpath_governance.guarded.store import GuardedStore


@pytest.fixture(autouse=True)
def _outside_a_server(monkeypatch):
    """Other tests may have imported MLflow's server into this process."""
    monkeypatch.delitem(sys.modules, "mlflow.server.handlers", raising=False)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    inner_store._tell_once.cache_clear()


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_the_entry_point_imports_nothing_heavy():
    code = "import coordpath_governance.guarded.plugin, sys; print(*sys.modules)"
    assert not {"mlflow", "jinja2", "pandas", "numpy", "scipy", "sqlalchemy", "pydantic", "cryptography"} & set(run(code))


def test_mlflow_loads_the_entry_point_and_nothing_else_of_ours():
    code = (
        "import mlflow, sys; from mlflow.tracking._model_registry.utils import _get_store_registry as known\n"
        "assert 'coordpath' in known()._registry\n"
        "print(*(name for name in sys.modules if name.startswith('coordpath_governance')))\n"
        "print('jinja2' in sys.modules, 'scipy.optimize' in sys.modules)"
    )
    *ours, jinja2, scipy = run(code)
    package = "coordpath_governance"
    assert set(ours) == {
        package,
        f"{package}._version",
        f"{package}.errors",
        f"{package}.guarded",
        f"{package}.guarded.plugin",
    }
    assert (jinja2, scipy) == ("False", "False")


def test_building_a_store_imports_neither_solver_nor_templates(tmp_path):
    code = (
        f"from coordpath_governance.guarded.plugin import build_store; build_store({'coordpath:' + str(tmp_path)!r})\n"
        "import sys; print(*(name for name in sys.modules))"
    )
    loaded = set(run(code))
    assert not {"jinja2", "coordpath_governance.paths", "coordpath_governance.rendering.render"} & loaded


@pytest.mark.parametrize(
    ("uri", "inner"),
    [
        ("coordpath:sqlite:////dir/mlflow.db", "sqlite:////dir/mlflow.db"),
        ("COORDPATH:http://host:5000", "http://host:5000"),
        ("coordpath:./mlruns", "./mlruns"),
        ("coordpath:/dir/mlruns", "/dir/mlruns"),
        ("coordpath:file:///dir", "file:///dir"),
        ("coordpath:databricks-uc", "databricks-uc"),
        ("coordpath:postgresql+psycopg2://user:pw@host/db?x=1", "postgresql+psycopg2://user:pw@host/db?x=1"),
    ],
)
def test_the_uri_behind_the_prefix(uri, inner):
    assert inner_uri(uri) == inner


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("coordpath:", "in front of a whole registry URI"),
        ("coordpath", "in front of a whole registry URI"),
        ("coordpath://host/path", "in front of a whole registry URI"),
        ("sqlite:///x", "in front of a whole registry URI"),
        ("coordpath:coordpath:sqlite:///x", "one coordpath: is enough"),
        ("coordpath:CoordPath:sqlite:///x", "one coordpath: is enough"),
    ],
)
def test_what_is_no_such_uri(uri, says):
    with pytest.raises(MlflowException, match=says) as error:
        build_store(uri)
    assert error.value.error_code == "INVALID_PARAMETER_VALUE"


@pytest.mark.parametrize(
    "uri",
    [
        "coordpath:coordpath:postgresql://u:hunter2@h/db",
        "coordpath://u:hunter2@h/db",
        "coordpath://[::1:hunter2",
        "postgresql://u:p@hunter2@h/db?password=hunter2",
    ],
)
def test_what_is_no_such_uri_is_not_repeated(uri):
    with pytest.raises(MlflowException) as error:
        build_store(uri)
    assert "hunter2" not in str(error.value)
    assert inner_uri("coordpath:http://[::1") == "http://[::1"


def test_mlflow_builds_it_without_asking_for_a_ledger(tmp_path, opening):
    opening.error = UsageError("no ledger")
    store = _get_store_registry().get_store(f"coordpath:{tmp_path / 'files'}", "http://tracking")
    assert isinstance(store, GuardedStore)
    assert isinstance(store, FileStore)
    store.create_registered_model("price")
    with pytest.raises(MlflowException, match="no ledger") as refused:
        store.delete_registered_model("price")
    assert refused.value.error_code == "PERMISSION_DENIED"
    assert store.get_registered_model("price").name == "price"


@pytest.mark.parametrize("value", ["true", "True", "1"])
def test_a_registry_with_workspaces_is_not_guarded_by_name(tmp_path, monkeypatch, value):
    monkeypatch.setenv("MLFLOW_ENABLE_WORKSPACES", value)
    with pytest.raises(MlflowException, match="cannot guard a registry with workspaces") as refused:
        build_store(f"coordpath:{tmp_path / 'files'}")
    assert refused.value.error_code == "INVALID_PARAMETER_VALUE"
    monkeypatch.setenv("MLFLOW_ENABLE_WORKSPACES", "false")
    assert isinstance(build_store(f"coordpath:{tmp_path / 'files'}"), GuardedStore)


def test_a_builder_that_wants_the_tracking_uri_gets_it(monkeypatch):
    monkeypatch.setitem(_get_store_registry()._registry, "other", lambda store_uri, tracking_uri: (store_uri, tracking_uri))
    assert build_inner_store("other://x", "http://tracking") == ("other://x", "http://tracking")


def test_around_a_server_it_is_the_client_that_guards(opening):
    store = build_store("coordpath:https://127.0.0.1:9", tracking_uri="https://127.0.0.1:9")
    assert isinstance(store, RestStore)
    assert store.get_host_creds().host == "https://127.0.0.1:9"


def test_a_scheme_that_nobody_knows_is_mlflows_error():
    with pytest.raises(UnsupportedModelRegistryStoreURIException):
        build_store("coordpath:gopher://host")


def test_a_client_is_told_once_that_its_guard_is_advisory(caplog):
    for uri in ("https://a", "https://b", "./files"):
        tell_if_advisory(uri)
    told = [record.getMessage() for record in caplog.records]
    assert [text.partition("(")[2].partition(")")[0] for text in told] == ["https", "files"]
    assert all("others can bypass it" in text for text in told)


def test_a_server_is_told_nothing(caplog, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow.server.handlers", types.SimpleNamespace())
    tell_if_advisory("sqlite:///x")
    assert not caplog.records


def test_a_server_builds_as_servers_do(monkeypatch, tmp_path):
    """They know a read replica; what only clients know is built as clients do."""

    class Servers:
        def get_store_builder(self, uri):
            if not uri.startswith("sqlite"):
                raise UnsupportedModelRegistryStoreURIException(uri, [])
            return lambda store_uri: ("of a server", store_uri)

    handlers = types.SimpleNamespace(_model_registry_store_registry=Servers())
    monkeypatch.setitem(sys.modules, "mlflow.server.handlers", handlers)
    assert build_inner_store("sqlite:///x", None) == ("of a server", "sqlite:///x")
    assert isinstance(build_inner_store("http://127.0.0.1:9", None), RestStore)


class Replicated:
    def __init__(self, db_uri, read_engine=None):
        self.db_uri = db_uri
        self.read_engine = read_engine


def test_decisions_are_read_where_they_are_written():
    found = primary_of(Replicated("sqlite:///primary", "replica"))
    assert (found.db_uri, found.read_engine) == ("sqlite:///primary", None)
    assert primary_of(Replicated("sqlite:///primary")) is None
    assert primary_of(object()) is None
