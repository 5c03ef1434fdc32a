"""The ledger of one registry with the database of another, and a database that is not there: nothing is recorded or made."""

import mlflow
import pytest
import sqlalchemy
from helpers.mlflow_store import use
from helpers.office import Office
from mlflow.exceptions import MlflowException
from mlflow.tracking._model_registry.utils import _get_store

from coordpath_governance.errors import ForeignRegistryError
from coordpath_governance.governance.load_verified import load_verified
from coordpath_governance.guarded.inner_registry import InnerRegistry
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.registry.client_registry import ClientRegistry

NOT_OURS = "is not the one that the ledger"


@pytest.fixture(scope="module")
def _another(tmp_path_factory):
    """Another database of MLflow's, just created."""
    folder = tmp_path_factory.mktemp("another")
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    use(uri)
    mlflow.MlflowClient().search_registered_models()
    use(None)
    return uri


@pytest.fixture
def office(store, coordpath, tmp_path):
    made = Office(store, coordpath, tmp_path)
    store.two_versions(made.name)
    made.adopt_policy()
    store.client.set_registered_model_alias(made.name, "champion", "1")
    assert made.run("adopt", made.name, "--key", made.key("Ann"), "--reason", "was champion").code == 0
    assert made.run("report", made.name).code == 0
    return made


@pytest.fixture
def another(office, _another, monkeypatch):
    """The other database as the one that everybody asks, with a model of the same name and champion."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", _another)
    use(_another)
    client = mlflow.MlflowClient()
    yield client
    use(None)


def same_model(client, office):
    """The same files registered in another registry under the same name."""
    client.create_registered_model(office.name)
    source = office.store.path(office.store.first)
    for _ in range(2):
        client.create_model_version(office.name, source.as_uri())
    client.set_registered_model_alias(office.name, "champion", "2")


def commands(office):
    ann, bob = ("--key", office.key("Ann")), ("--key", office.key("Bob"))
    return {
        "sweep": ("sweep",),
        "adopt all": ("adopt", "--all", *ann),
        "gate": ("gate", office.name, "2"),
        "adopt": ("adopt", office.name, *ann),
        "report": ("report", office.name),
        "review": ("review", office.name, "2", "--approve", *bob),
        "waive": ("waive", office.name, "2", "gap", "--reason", "r", "--key", office.key("Rita")),
        "promote": ("promote", office.name, "2"),
        "dry run": ("promote", office.name, "2", "--dry-run"),
        "declare": ("declare", office.name, "2", *bob),
        "retire": ("retire", office.name, "2", "--reason", "r", *ann),
    }


def test_every_command_with_the_database_of_another_registry(office, another):
    same_model(another, office)
    before = office.ledger.head()
    for what, arguments in commands(office).items():
        done = office.run(*arguments)
        assert done.code == 4, (what, done.plain)
        assert NOT_OURS in done.err.replace("\n", " "), (what, done.err)
        assert str(another._registry_uri) in done.err, what
    assert office.ledger.head() == before
    assert another.get_registered_model(office.name).aliases == {"champion": 2}
    assert another.get_model_version(office.name, "2").tags == {}
    with pytest.raises(ForeignRegistryError):
        load_verified(f"models:/{office.name}@champion", ledger=office.ledger_url)
    with pytest.raises(ForeignRegistryError):
        load_verified(f"models:/{office.name}/2", ledger=office.ledger_url)


def test_the_database_of_another_registry_that_was_just_created(office, another):
    before = office.ledger.head()
    for what, arguments in commands(office).items():
        done = office.run(*arguments)
        assert done.code == 4, (what, done.plain)
        assert NOT_OURS in done.err.replace("\n", " "), (what, done.err)
    assert office.ledger.head() == before
    use(office.store.uri)
    assert office.run("gate", office.name, "2").code == 3
    assert office.run("sweep").code == 0


def test_inside_the_guarded_store(office, another, monkeypatch):
    same_model(another, office)
    monkeypatch.setenv("COORDPATH_LEDGER", office.ledger_url)
    before = office.ledger.head()
    store = _get_store(f"coordpath:{another._registry_uri}")
    operations = (
        lambda: store.set_registered_model_alias(office.name, "champion", "1"),
        lambda: store.delete_registered_model_alias(office.name, "champion"),
        lambda: store.delete_model_version(office.name, "1"),
        lambda: store.delete_registered_model(office.name),
        lambda: store.rename_registered_model(office.name, "away"),
    )
    for operation in operations:
        with pytest.raises(MlflowException, match=NOT_OURS) as error:
            operation()
        assert error.value.error_code == "TEMPORARILY_UNAVAILABLE"
        assert "cannot tell whether it is allowed" in str(error.value)
    assert office.ledger.head() == before
    assert another.get_registered_model(office.name).aliases == {"champion": 2}
    another.delete_registered_model(office.name)


def test_a_model_that_was_created_again_is_taken_by_a_policy_admin(office):
    office.store.client.delete_registered_model(office.name)
    assert office.run("sweep").code == 4
    office.store.two_versions(office.name)
    office.store.client.set_registered_model_alias(office.name, "champion", "1")
    done = office.run("gate", office.name, "2")
    assert done.code == 4
    assert "--created-again" in done.err
    taken = office.run("adopt", office.name, "--created-again", "--reason", "made anew", "--key", office.key("Ann"))
    assert taken.code == 0
    assert office.run("sweep").code == 0
    assert office.run("audit", "verify").code == 0


@pytest.mark.server
def test_times_of_creation_are_the_same_over_http_and_in_the_database(server, remote, tmp_path_factory):
    name = remote.two_versions()
    database = next(tmp_path_factory.getbasetemp().glob("mlflow server*/mlflow.db"))
    inner = InnerRegistry(_get_store(f"sqlite:///{database}"))
    over_http = ClientRegistry(remote.client)
    assert over_http.place == f"the registry {server}"
    for version in ("1", "2"):
        created = over_http.created(name, version)
        assert created == inner.created(name, version)
        assert isinstance(created.model, int)
        assert isinstance(created.version, int)
    assert over_http.created(name, "9") == inner.created(name, "9")
    assert over_http.created(name, "9").version is None
    assert over_http.created(name) == inner.created(name)
    assert over_http.created("no such model") is inner.created("no such model") is None


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """An empty folder to work in, and no MLflow setting at all."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    use(None)
    return folder


def asked(*key):
    return {
        "scan": ("scan",),
        "report": ("report", "price"),
        "gate": ("gate", "price", "1"),
        "sweep": ("sweep",),
        "adopt": ("adopt", "price", *key),
        "adopt all": ("adopt", "--all", *key),
        "promote": ("promote", "price", "1"),
        "review": ("review", "price", "1", "--approve", *key),
        "waive": ("waive", "price", "1", "gap", "--reason", "r", *key),
        "declare": ("declare", "price", "1", *key),
        "retire": ("retire", "price", "1", "--reason", "r", *key),
    }


@pytest.fixture
def key(tmp_path, coordpath):
    made = coordpath("key", "make", "--out", tmp_path / "ann.pem", "--no-passphrase")
    assert made.code == 0
    return ("--key", tmp_path / "ann.pem")


def test_without_any_setting_no_command_makes_a_database(nowhere, coordpath, key):
    for what, arguments in asked(*key).items():
        done = coordpath(*arguments)
        assert done.code == 4, (what, done.plain)
        assert "no MLflow store was named" in done.err, what
        assert "mlflow.db" in done.err, what
        assert list(nowhere.iterdir()) == [], what


def test_a_database_that_is_not_there_is_not_made(nowhere, coordpath, key, tmp_path):
    missing = (nowhere / "mlflow.db", nowhere / "deep" / "mlflow.db")
    for uri in (*(f"sqlite:///{file}" for file in missing), str(nowhere / "mlruns")):
        for what, arguments in asked(*key).items():
            done = coordpath(*arguments, "--tracking-uri", uri)
            assert done.code == 4, (what, done.plain)
            assert uri in done.err, what
            assert list(nowhere.iterdir()) == [], what
        use(None)
        registry = coordpath("scan", "--registry-uri", uri)
        assert (registry.code, list(nowhere.iterdir())) == (4, [])
        assert uri in registry.err
        use(None)


def test_a_database_without_tables_of_mlflows_is_left_as_it_is(nowhere, coordpath, store):
    use(None)
    (nowhere / "mlflow.db").touch()
    ledger = Ledger.open(f"sqlite:///{nowhere / 'ledger.db'}")
    assert ledger.id
    for file in ("mlflow.db", "ledger.db"):
        before = (nowhere / file).read_bytes()
        done = coordpath("scan", "--tracking-uri", f"sqlite:///{nowhere / file}")
        assert done.code == 4
        assert "it has no tables of MLflow's" in done.err
        assert (nowhere / file).read_bytes() == before


def test_keys_and_policies_need_no_registry(nowhere, coordpath, tmp_path):
    uri = f"sqlite:///{nowhere / 'mlflow.db'}"
    ann = tmp_path / "ann.pem"
    made = coordpath("key", "new", "Ann", "--role", "policy-admin", "--out", ann, "--no-passphrase", "--registry-uri", uri)
    assert made.code == 0, made.err
    (nowhere / "rows.csv").write_text("a,y\n1,2\n2,3\n")
    policy = ("policy", "init", "--model", "price", "--out", "policy.yaml", "--data", "rows.csv", "--target", "y")
    assert coordpath(*policy).code == 0
    for where in (("--registry-uri", uri), ("--ledger", nowhere / "coordpath-ledger.db")):
        assert coordpath("policy", "adopt", "policy.yaml", "--key", ann, *where).code == 0
        assert coordpath("key", "list", *where).code == 0
        assert coordpath("audit", "verify", *where).code == 0
    assert not (nowhere / "mlflow.db").exists()
    assert not (nowhere / "mlruns").exists()


def test_a_model_that_is_not_there_is_told_with_the_store(store, coordpath):
    for arguments in (("report", "no such model"), ("promote", "no such model", "1")):
        done = coordpath(*arguments)
        assert done.code == 2
        assert f"'no such model' in {store.uri}" in done.err.replace("\n", " ")


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("coordpath:postgresql://ada:p@ss/w@db:5432/mlflow?password=x", "postgresql://***@db:5432/mlflow"),
        ("https://host:5000", "https://host:5000"),
        ("sqlite:////home/a@b/mlflow.db", "sqlite:////home/a@b/mlflow.db"),
        ("mlruns", "mlruns"),
    ],
)
def test_a_store_is_shown_without_its_password(uri, shown):
    from coordpath_governance.registry.connection import shown_store

    assert shown_store(uri) == shown


def test_a_database_server_without_tables_of_mlflows(postgresql):
    from coordpath_governance.errors import RegistryMissingError
    from coordpath_governance.registry.connection import check_store

    url = postgresql.fresh()
    with pytest.raises(RegistryMissingError, match="it has no tables of MLflow's"):
        check_store(f"coordpath:{url}", "MLflow registry")
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        assert sqlalchemy.inspect(connection).get_table_names() == []
        connection.execute(sqlalchemy.text("CREATE TABLE registered_models (name TEXT)"))
    engine.dispose()
    check_store(url, "MLflow registry")
    check_store(f"{url}-which-is-not-there", "MLflow registry")
    for elsewhere in ("https://host:5000", "databricks", "sqlite://", "sqlite:///:memory:", "mysql+nosuchdriver://host/db"):
        check_store(elsewhere, "MLflow registry")
