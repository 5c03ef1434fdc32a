"""Dates, training data and what an author says when registering, from a real registry into the report."""

import html
import json
import time
import uuid

import mlflow
import pytest

import coordpath_governance as cg


@pytest.fixture
def registered(store):
    """A registered model with two versions, the second from a run with tags and a logged training set of its own."""

    def make(version_tags=None, run_tags=None, log_input=True, source=None):
        frame = store.rows.frame
        fresh = store.fresh()
        if log_input:
            dataset = mlflow.data.from_pandas(frame, source=source or "s3://prices/2025.parquet", name=uuid.uuid4().hex)
            with mlflow.start_run(run_id=fresh.run_id):
                mlflow.log_input(dataset, context="training")
        for key, value in (run_tags or {}).items():
            store.client.set_tag(fresh.run_id, key, value)
        name = store.register(f"facts {uuid.uuid4().hex}", store.first)
        store.client.set_registered_model_alias(name, "champion", "1")
        store.client.create_model_version(name, fresh.uri, fresh.run_id, tags=version_tags, model_id=fresh.model_id)
        return name

    return make


@pytest.fixture
def made(store, coordpath, tmp_path):
    """The report's JSON, as text."""

    def report(name, *options):
        out = tmp_path / uuid.uuid4().hex
        outcome = coordpath("report", name, *store.rows.args, "--no-attach", "--out", out, *options)
        assert outcome.code == 0, outcome.err
        return (out / "change_report.json").read_text(encoding="utf-8")

    return report


def test_dates_and_training_data_come_from_the_registry(store, registered, made):
    name = registered(run_tags={"coordpath.training.period": "2025", "coordpath.training.exclusions": "test houses"})
    report = json.loads(made(name))
    champion, candidate = report["subject"]["champion"], report["subject"]["candidate"]
    versions = [store.client.get_model_version(name, number) for number in "12"]
    runs = [store.client.get_run(version.run_id) for version in versions]
    for side, version, run in zip((champion, candidate), versions, runs, strict=True):
        assert side["registered_ms"] == version.creation_timestamp
        assert side["run_started_ms"] == run.info.start_time
    (dataset,) = candidate["training"]["datasets"]
    logged = runs[1].inputs.dataset_inputs[0].dataset
    assert dataset == {
        "stated_by": "run input",
        "name": logged.name,
        "source": "s3://prices/2025.parquet",
        "digest": logged.digest,
        "rows": len(store.rows.frame),
    }
    assert (candidate["training"]["period"], candidate["training"]["exclusions"]) == ("2025", "test houses")
    assert "training" not in champion, "nobody recorded what the champion was trained on"


def test_the_same_registry_gives_the_same_bytes(registered, made):
    name = registered({"coordpath.reason": "newer rows"})
    first = made(name)
    time.sleep(1.1)
    assert made(name) == first


def test_python_gives_the_same_bytes(store, registered, made):
    name = registered({"coordpath.reason": "newer rows"})
    again = cg.explain_change(f"models:/{name}@champion", f"models:/{name}/2", data=store.rows.csv, target="price")
    assert again.to_json() == made(name)


def test_training_data_with_the_name_of_the_reference_data_are_remarked(store, registered, made):
    report = json.loads(made(registered(source=str(store.rows.csv)), "--role", "holdout"))
    assert any("have the name of the reference data, 'rows.csv', although" in limit for limit in report["limits"])


def test_an_authors_words_stand_in_for_options_and_options_win(registered, made):
    tags = {"coordpath.reason": "newer rows", "coordpath.planned": "yes", "coordpath.owner": "Mallory"}
    name = registered(tags, {"coordpath.reason": "of the run", "coordpath.monitoring": "monthly"})
    facts = json.loads(made(name))["facts"]
    assert (facts["reason"], facts["planned"], facts["monitoring"]) == ("newer rows", "yes", "monthly")
    assert facts["tagged"] == ["reason", "planned", "monitoring"]
    assert facts["owner"] is None
    facts = json.loads(made(name, "--reason", "by hand", "--implementation-date", "2026-12-31"))["facts"]
    assert (facts["reason"], facts["tagged"]) == ("by hand", ["planned", "monitoring"])
    assert facts["implementation_date"] == "2026-12-31"


def test_plans_and_dates_can_be_given(registered, made):
    name = registered(log_input=False)
    options = ("--monitoring", "monthly A/E", "--rollback-plan", "promote version 1", "--notify-by", "2027-01-15")
    facts = json.loads(made(name, *options))["facts"]
    assert (facts["monitoring"], facts["rollback"]) == ("monthly A/E", "promote version 1")
    assert facts["notification_deadline"] == "2027-01-15"


@pytest.mark.parametrize("option", ["--implementation-date", "--notify-by"])
def test_what_is_no_date_is_wrong_use(store, registered, coordpath, option):
    name = registered(log_input=False)
    outcome = coordpath("report", name, *store.rows.args, option, "next week")
    assert outcome.code == 2
    assert f"{option} is 'next week'; give a date such as 2026-12-31" in outcome.plain


def test_a_date_in_python_is_checked_too():
    with pytest.raises(cg.CoordpathError, match="implementation_date= is 'soon'; give a date"):
        cg.explain_change(None, None, implementation_date="soon")


def test_a_run_that_was_deleted_for_good_is_no_reason_to_have_no_report(store, registered, made):
    name = registered(run_tags={"coordpath.reason": "of the run"}, log_input=False)
    run_id = store.client.get_model_version(name, "2").run_id
    store.client.delete_run(run_id)
    mlflow.tracking._tracking_service.utils._get_store()._hard_delete_run(run_id)
    report = json.loads(made(name))
    candidate = report["subject"]["candidate"]
    assert (candidate["run_remark"], candidate.get("run_started_ms")) == ("not there", None)
    assert report["facts"]["reason"] is None


def test_the_page_and_verify_know_them(registered, made, coordpath, tmp_path):
    made(registered({"coordpath.reason": "<script>newer rows</script>\u202e"}))
    (folder,) = tmp_path.iterdir()
    page = (folder / "change_report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;newer rows&lt;/script&gt;⟨U+202E⟩" in page
    assert "author's words, from a tag" in html.unescape(page)
    assert page.count(" UTC<") >= 4
    outcome = coordpath("verify", folder / "change_report.json")
    assert outcome.code == 0
    assert "dates of registration and of the runs" in outcome.plain
