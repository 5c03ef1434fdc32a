"""`coordpath report` on a real SQLite registry: which models are meant, which data, and how it refuses."""

import json
import uuid

import mlflow
import numpy as np
import pytest

import coordpath_governance as cg
from coordpath_governance.models import from_estimator, to_document

TARGET = "price"


@pytest.fixture(scope="module")
def _name(_sqlite_store):
    return f"houses {uuid.uuid4().hex[:8]}"


@pytest.fixture
def name(store, _name):
    """A registered model with three versions; the first is the champion, the second also has the alias 'shadow'."""
    try:
        store.client.get_registered_model(_name)
    except mlflow.MlflowException:
        store.register(_name, store.first, store.second, store.first)
        store.client.set_registered_model_alias(_name, "champion", "1")
        store.client.set_registered_model_alias(_name, "shadow", "2")
    return _name


def subject_of(report_json):
    subject = json.loads(report_json)["subject"]
    champion = subject["champion"]
    return champion and (champion["name"], champion["version"]), (
        subject["candidate"]["name"],
        subject["candidate"]["version"],
    )


@pytest.fixture
def report(store, coordpath, tmp_path):
    """Make a report without attaching it; champion and candidate as the report names them."""

    def make(name, *args, data=True):
        out = tmp_path / uuid.uuid4().hex
        outcome = coordpath("report", name, *args, *(store.rows.args if data else ()), "--no-attach", "--out", out)
        assert outcome.code == 0, outcome.err
        return (out / "change_report.json").read_text(encoding="utf-8")

    return make


@pytest.mark.parametrize(
    ("champion", "candidate", "versions"),
    [
        (None, "2", ("1", "2")),
        ("champion", "shadow", ("1", "2")),
        ("shadow", "1", ("2", "1")),
        ("1", None, ("1", "3")),
        ("2", "latest", ("2", "3")),
        ("models:/{name}/1", "models:/{name}/2", ("1", "2")),
        ("models:/{name}@champion", "models:/{name}@shadow", ("1", "2")),
        ("models:/{name}/2", "models:/{name}/latest", ("2", "3")),
        ("01", "0002", ("1", "2")),
    ],
)
def test_versions_can_be_named_in_every_way(name, report, champion, candidate, versions):
    args = [] if champion is None else ["--champion", champion.format(name=name)]
    args += [] if candidate is None else ["--candidate", candidate.format(name=name)]
    old, new = versions
    assert subject_of(report(name, *args)) == ((name, old), (name, new))


def test_without_a_champion_the_first_version_is_explained_from_zero(store, coordpath):
    name = store.register(f"first {uuid.uuid4().hex}", store.first)
    outcome = coordpath("report", name, *store.rows.args)
    assert outcome.code == 0
    assert "no alias 'champion' yet" in outcome.plain
    assert store.tags(name, 1)["coordpath.champion_version"] == "none"
    assert store.tags(name, 1)["coordpath.report_path"].endswith("/none-to-v1")
    assert f"{name}: zero → v1" in outcome.plain


def test_none_as_champion_explains_from_zero_even_if_there_is_one(name, report):
    assert subject_of(report(name, "--champion", "none", "--candidate", "2")) == (None, (name, "2"))


def test_an_alias_says_what_to_compare_with(name, report, store, coordpath):
    assert subject_of(report(name, "--alias", "shadow", "--candidate", "1")) == ((name, "2"), (name, "1"))
    outcome = coordpath("report", store.two_versions(), "--alias", "shadow", *store.rows.args)
    assert outcome.code == 0
    assert "has no alias 'shadow' yet: explaining v2 from zero" in outcome.plain


def test_two_registered_models_of_different_names(store, coordpath, name):
    other = store.register(f"other {uuid.uuid4().hex}", store.second)
    outcome = coordpath("report", other, "--champion", f"models:/{name}/1", *store.rows.args)
    assert outcome.code == 0
    tags = store.tags(other, 1)
    assert tags["coordpath.report_path"].split("/")[-1] == f"v1@{name.replace(' ', '=20')}-to-v1"
    assert tags["coordpath.champion_version"] == "1"


def test_a_version_of_another_name_is_explained_under_its_own(store, coordpath, name, report):
    other = store.two_versions()
    outcome = coordpath("report", other, "--champion", "1", "--candidate", f"models:/{name}/2", *store.rows.args)
    assert outcome.code == 2
    assert f"is not a version of '{other}'" in outcome.err
    assert f"`coordpath report '{name}' --candidate 2`" in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert "coordpath.report_sha256" not in store.tags(other, 1) | store.tags(other, 2)
    assert subject_of(report(other, "--champion", "1", "--candidate", f"models:/{name}/2"))[1] == (name, "2")
    assert coordpath("report", other, "--candidate", f"models:/{other}/2", *store.rows.args).code == 0


def test_a_logged_model_as_champion(store, name, report):
    document = json.loads(report(name, "--champion", store.first.uri, "--candidate", "2"))
    assert document["subject"]["champion"]["uri"] == store.first.uri
    assert document["subject"]["champion"]["label"] == store.first.uri


def test_a_local_folder_with_coefficients_as_champion(store, name, report, tmp_path):
    declared = tmp_path / "declared"
    declared.mkdir()
    (declared / "coefficients.json").write_text(json.dumps(coefficients()), encoding="utf-8")
    document = json.loads(report(name, "--champion", f"{declared}", "--candidate", "2"))
    assert document["subject"]["champion"]["uri"] == str(declared)
    assert document["models"]["champion"]["source"] == "declared by the author in coefficients.json"


def test_a_logged_candidate_can_be_explained_but_not_attached(store, name, report, coordpath):
    assert json.loads(report(name, "--candidate", store.second.uri))["subject"]["candidate"]["uri"] == store.second.uri
    outcome = coordpath("report", name, "--candidate", store.second.uri, *store.rows.args)
    assert outcome.code == 2
    assert "not a registered version" in outcome.plain
    assert "--no-attach --out" in outcome.plain


def test_the_same_function_gives_an_empty_path(name, report):
    document = json.loads(report(name, "--champion", "1", "--candidate", "3"))
    assert document["path"]["steps"] == []
    assert document["summary"]["direction"] == "no change"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("{name}", "--champion", "2", "--candidate", "2"), "nothing changed between them"),
        (("{name}", "--champion", "02", "--candidate", "2"), "nothing changed between them"),
        (("{name}", "--champion", "nobody"), "has no alias 'nobody'; its aliases are: champion, shadow"),
        (("{name}", "--champion", "²"), "has no alias '²'"),
        (("{name}", "--candidate", "99"), "version=99"),
        (("{name}", "--candidate", "9" * 5000), "has no version 9999"),
        (("no such model",), "no such model"),
        (("",), "looking up the registered model"),
        (("{name}", "--champion", "models:/{name}"), "names no version"),
        (("{name}", "--champion", "models:/{name}/Production"), "'Production' is not a version"),
        (("{name}", "--champion", "models:/m-" + "0" * 32), "not found"),
        (("{name}", "--champion", "./no/such/folder"), "there is no model at './no/such/folder'"),
        (("{name}", "--champion", "runs:/nothing/model"), "nothing"),
        (("{name}", "--champion", "1", "--gamma", "nan"), "not a finite number"),
        (("{name}", "--champion", "1", "--threshold", "inf"), "not a finite number"),
        (("{name}", "--champion", "1", "--max-steps", "0"), "--max-steps"),
        (("{name}", "--champion", "1", "--reason", "\udcff"), "not valid UTF-8"),
        (("{name}", "--champion", "1", "--segment", "nowhere"), "lacks 'nowhere'"),
        (("{name}", "--champion", "1", "--no-attach"), "--no-attach without --out"),
    ],
)
def test_wrong_use_is_2_and_says_what_is_wrong(store, coordpath, name, args, says):
    outcome = coordpath("report", *(arg.format(name=name) for arg in args), *store.rows.args)
    assert outcome.code == 2
    assert says in outcome.plain


def test_a_registered_model_without_versions(store, coordpath):
    name = store.register(f"empty {uuid.uuid4().hex}")
    outcome = coordpath("report", name, *store.rows.args)
    assert outcome.code == 2
    assert "has no versions yet; register one first" in outcome.plain


def random_forest(rows):
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=2, max_depth=2).fit(rows[["area"]], rows[TARGET])


def hinge(rows):
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="hinge").fit(rows[["area"]], rows[TARGET] > rows[TARGET].median())


def ridge(rows):
    from sklearn.linear_model import Ridge

    return Ridge().fit(rows[["area", "age"]], rows[TARGET])


@pytest.mark.parametrize(
    ("make", "how", "says"),
    [
        (random_forest, {"serialization_format": "skops"}, "RandomForestRegressor"),
        (hinge, {"serialization_format": "skops"}, "SGDClassifier"),
        (random_forest, {"serialization_format": "cloudpickle"}, "a RandomForestRegressor and not a linear model"),
        (random_forest, {"serialization_format": "pickle"}, "a RandomForestRegressor and not a linear model"),
    ],
)
def test_what_cannot_be_explained_is_4_and_says_why(store, coordpath, make, how, says):
    trusted = ["numpy.dtype", "sklearn.tree._tree.Tree"] if how["serialization_format"] == "skops" else None
    model = store.log(make(store.rows.frame), **how, skops_trusted_types=trusted)
    name = store.register(f"other kind {uuid.uuid4().hex}", model)
    outcome = coordpath("report", name, *store.rows.args)
    assert outcome.code == 4
    assert says in outcome.plain
    assert not store.tags(name, 1)


def test_the_change_from_a_pickle_to_an_archive(store, coordpath):
    """A champion of an older MLflow and a candidate of this one: the same model is no change."""
    forms = ("cloudpickle", "skops")
    models = [store.log(ridge(store.rows.frame), serialization_format=form) for form in forms]
    name = store.register(f"pickled {uuid.uuid4().hex}", *models)
    store.client.set_registered_model_alias(name, "champion", "1")
    outcome = coordpath("report", name, *store.rows.args)
    assert outcome.code == 0
    assert "v1 and v2 are the same function." in outcome.plain


def coefficients(**changes):
    from sklearn.linear_model import LinearRegression

    frame = {"area": [1.0, 2.0, 4.0], "age": [1.0, 5.0, 2.0]}
    import pandas as pd

    model = from_estimator(LinearRegression().fit(pd.DataFrame(frame), np.array([1.0, 2.0, 3.0])))
    return {**to_document(model), **changes}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ({"target": "rent"}, {"target": TARGET}, "differ in target: the champion has 'rent', the candidate 'price'"),
        ({"family": "binomial", "link": "logit", "classes": ["no", "yes"]}, {}, "differ in family"),
        ({"family": "poisson", "link": "log"}, {"family": "gamma", "link": "log"}, "differ in family"),
        (
            {"family": "binomial", "link": "logit", "classes": ["no", "yes"]},
            {"family": "binomial", "link": "logit", "classes": ["yes", "no"]},
            "differ in classes",
        ),
    ],
)
def test_models_of_different_kinds_are_not_compared(store, name, coordpath, tmp_path, old, new, says):
    folders = []
    for which, changes in (("old", old), ("new", new)):
        folder = tmp_path / which
        folder.mkdir()
        (folder / "coefficients.json").write_text(json.dumps(coefficients(**changes)), encoding="utf-8")
        folders.append(str(folder))
    args = ("--champion", folders[0], "--candidate", folders[1], "--no-attach", "--out", tmp_path / "out")
    outcome = coordpath("report", name, *args, *store.rows.args)
    assert outcome.code == 4
    assert says in outcome.plain
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": "coordpath.coefficients/1"}', '{"schema": "other"}', ""])
def test_damaged_coefficients_are_4(store, name, coordpath, tmp_path, content):
    (tmp_path / "coefficients.json").write_text(content, encoding="utf-8")
    outcome = coordpath("report", name, "--champion", f"{tmp_path}/", "--candidate", "2", *store.rows.args)
    assert outcome.code == 4
    assert "coefficients.json" in outcome.plain


def test_a_version_whose_files_are_gone_is_4(store, coordpath):
    import shutil

    model = store.fresh()
    name = store.register(f"gone {uuid.uuid4().hex}", model)
    shutil.rmtree(store.path(model))
    outcome = coordpath("report", name, *store.rows.args)
    assert outcome.code == 4
    assert "its files are gone" in outcome.plain


@pytest.mark.parametrize("uri", ["nonsense://x", "sqlite:////dev/null/mlflow.db"])
def test_a_store_that_cannot_be_opened_is_no_fault_of_ours(store, coordpath, uri):
    outcome = coordpath("report", "any", "--tracking-uri", uri, "--registry-uri", uri, *store.rows.args)
    assert outcome.code in (2, 4)
    assert "fault of coordpath" not in outcome.plain


def figures(report_json):
    document = json.loads(report_json)
    return document["path"]["objective"], document["impact"]["delta"], document["data"]["rows"]


def test_the_same_rows_from_csv_parquet_and_a_folder(store, name, report):
    sources = [store.rows.csv, store.rows.parquet, store.rows.folder]
    made = [
        report(name, "--candidate", "2", "--data", source, "--target", TARGET, "--role", "holdout", data=False)
        for source in sources
    ]
    objective, delta, rows = figures(made[0])
    for other in made[1:]:
        assert figures(other) == (pytest.approx(objective, rel=1e-9), pytest.approx(delta, rel=1e-6), rows)
    assert [json.loads(each)["data"]["kind"] for each in made] == ["file", "file", "folder"]
    assert {json.loads(each)["data"]["role"] for each in made} == {"holdout"}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--data", "{csv}"), "--data needs --target"),
        (("--data", "{folder}/none.csv", "--target", TARGET), "there is no reference data at"),
        (("--data", "{csv}", "--target", "nowhere"), "no target column 'nowhere'"),
        (("--data", "{folder}", "--target", TARGET), "holds no .parquet file"),
        (("--data", "{binary}", "--target", TARGET), "cannot read the reference data 'noise.parquet'"),
        (("--data", "/dev/null", "--target", TARGET), "cannot read the reference data"),
    ],
)
def test_data_that_cannot_be_used(store, name, coordpath, tmp_path, args, says):
    (tmp_path / "empty").mkdir()
    (tmp_path / "noise.parquet").write_bytes(b"\x00" * 100)
    places = {"csv": store.rows.csv, "folder": tmp_path / "empty", "binary": tmp_path / "noise.parquet"}
    outcome = coordpath("report", name, "--candidate", "2", *(arg.format(**places) for arg in args))
    assert outcome.code == 2
    assert says in outcome.plain


def test_an_unseen_level_names_it_and_the_rows(store, name, coordpath, tmp_path):
    frame = store.rows.frame.copy()
    frame.loc[:2, "town"] = "Derry"
    frame.to_csv(tmp_path / "unseen.csv", index=False)
    outcome = coordpath("report", name, "--candidate", "2", "--data", tmp_path / "unseen.csv", "--target", TARGET)
    assert outcome.code == 2
    assert "Derry" in outcome.plain
    assert "3" in outcome.plain


@pytest.fixture
def train(store):
    """A version trained in a run that did something about reference data."""
    from sklearn.linear_model import Ridge

    def make(during):
        frame = store.rows.frame
        with mlflow.start_run(experiment_id=store.experiment) as run:
            model = Ridge().fit(frame[["area", "age"]], frame[TARGET])
            logged = mlflow.sklearn.log_model(model, name="model", pip_requirements=[])
            during(frame)
        name = f"trained {uuid.uuid4().hex}"
        store.client.create_registered_model(name)
        store.client.create_model_version(name, f"models:/{logged.model_id}", run.info.run_id, model_id=logged.model_id)
        return name

    return make


def test_moments_logged_in_the_training_run(train, report, coordpath):
    name = train(lambda frame: cg.log_reference(frame[["area", "age", "town"]], frame[TARGET], period="2024"))
    data = json.loads(report(name, data=False))["data"]
    assert (data["kind"], data["role"], data["period"], data["target"]) == ("moments", "training", "2024", TARGET)
    again = json.loads(report(name, "--role", "holdout", "--period", "2025", "--target", TARGET, data=False))["data"]
    assert (again["role"], again["period"]) == ("holdout", "2025")
    for args, says in ((("--target", "other"), "not 'other'"), (("--threshold", "5"), "need rows")):
        outcome = coordpath("report", name, *args)
        assert outcome.code == 2
        assert says in outcome.plain


def test_logged_moments_give_the_figures_of_their_rows(store, train, report):
    name = train(lambda frame: cg.log_reference(frame[["area", "age"]], frame[TARGET]))
    assert figures(report(name, data=False)) == pytest.approx(figures(report(name)), rel=1e-9)


def test_moments_need_an_active_run(store):
    with pytest.raises(cg.CoordpathError, match="needs an active run"):
        cg.log_reference(store.rows.frame[["area"]], store.rows.frame[TARGET])


@pytest.mark.parametrize(("context", "role"), [("training", "training"), ("validation", "holdout"), ("other", "not stated")])
def test_a_dataset_input_that_is_a_file(store, train, report, coordpath, context, role):
    def log(frame):
        dataset = mlflow.data.from_pandas(frame, source=str(store.rows.csv), name=f"rows {uuid.uuid4().hex}")
        mlflow.log_input(dataset, context=context)

    name = train(log)
    data = json.loads(report(name, "--target", TARGET, data=False))["data"]
    assert (data["kind"], data["name"], data["role"]) == ("file", "rows.csv", role)
    outcome = coordpath("report", name)
    assert outcome.code == 2
    assert "'rows.csv' can be read, but MLflow does not record its target column; give --target" in outcome.plain


def test_the_first_dataset_that_can_be_loaded_is_used(store, train, report, tmp_path):
    def log(frame):
        gone = tmp_path / "gone.csv"
        for source in (None, str(gone), str(store.rows.parquet)):
            dataset = mlflow.data.from_pandas(frame[: 50 + len(str(source))], source=source, name=uuid.uuid4().hex)
            mlflow.log_input(dataset, context="test")

    name = train(log)
    assert json.loads(report(name, "--target", TARGET, data=False))["data"]["name"] == "rows.parquet"


def test_a_dataset_that_is_not_a_file_is_never_loaded(store, train, coordpath, monkeypatch):
    """A Hugging Face source can name code to run, so its load() must not be called."""
    from mlflow.data.huggingface_dataset_source import HuggingFaceDatasetSource
    from mlflow.data.meta_dataset import MetaDataset

    def refuse(self, **_):
        pytest.fail("a source that can run code was loaded")

    monkeypatch.setattr(HuggingFaceDatasetSource, "load", refuse)
    source = HuggingFaceDatasetSource(path="evil/rows", trust_remote_code=True)
    name = train(lambda _: mlflow.log_input(MetaDataset(source, name="evil", digest="1")))
    outcome = coordpath("report", name, "--target", TARGET)
    assert outcome.code == 2
    assert "dataset 'evil' is not a file" in outcome.plain


def test_what_was_tried_is_listed_when_there_are_no_data(store, train, coordpath):
    outcome = coordpath("report", store.two_versions())
    assert outcome.code == 2
    for tried in ("--data was not given", "log_reference was not called", "mlflow.log_input was not called", "What to do:"):
        assert tried in outcome.plain
    name = train(lambda frame: mlflow.log_input(mlflow.data.from_pandas(frame, name="in memory")))
    outcome = coordpath("report", name)
    assert outcome.code == 2
    assert "dataset 'in memory' is not a file" in outcome.plain


def test_damaged_moments_are_an_error_not_a_detour(store, train, coordpath):
    name = train(lambda _: mlflow.log_text('{"schema": "coordpath.reference/1"}', "coordpath/reference.json"))
    outcome = coordpath("report", name)
    assert outcome.code == 2
    assert "the logged reference moments cannot be read" in outcome.plain


def test_the_report_from_python_is_the_same_bytes(store, name, report):
    args = {"data": store.rows.csv, "target": TARGET, "reason": "more rows"}
    made = cg.explain_change(f"models:/{name}/1", f"models:/{name}/2", **args)
    assert made.to_json() == report(name, "--candidate", "2", "--reason", "more rows")


def test_out_writes_the_three_files_even_when_attaching(store, coordpath, tmp_path):
    name = store.two_versions()
    outcome = coordpath("report", name, "--champion", "1", *store.rows.args, "--out", tmp_path / "a" / "b")
    assert outcome.code == 0
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == [
        "change_report.html",
        "change_report.json",
        "change_report.md",
    ]
    outcome = coordpath("report", name, "--champion", "1", *store.rows.args, "--out", "/dev/null/x")
    assert outcome.code == 2
    assert "cannot write '/dev/null/x'" in outcome.plain
