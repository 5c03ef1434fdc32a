"""Through a real `mlflow server`: registering, reporting and reading back over HTTP, artifacts by proxy."""

import hashlib
import json
import urllib.request
import uuid

import mlflow
import pytest

import coordpath_governance as cg
from coordpath_governance.governance.attach import REPORT_FILES

TARGET = "price"
pytestmark = [pytest.mark.server, pytest.mark.no_cover]


@pytest.fixture
def impatient(monkeypatch):
    for name, value in (("MAX_RETRIES", "0"), ("TIMEOUT", "5")):
        monkeypatch.setenv(f"MLFLOW_HTTP_REQUEST_{name}", value)


def test_a_report_over_http(remote, coordpath, tmp_path):
    name = f"remote model {uuid.uuid4().hex}"
    from sklearn.linear_model import Ridge

    frame = remote.rows.frame
    for rows in (frame[:100], frame):
        with mlflow.start_run(experiment_id=remote.experiment):
            model = Ridge().fit(rows[["area", "age"]], rows[TARGET])
            mlflow.sklearn.log_model(model, name="model", pip_requirements=[], registered_model_name=name)
    remote.client.set_registered_model_alias(name, "champion", "1")
    for how in ("Attached to", "Already attached to"):
        outcome = coordpath("report", name, *remote.rows.args, "--out", tmp_path)
        assert outcome.code == 0, outcome.err
        assert f"\n{how} models:/{name}/2 under coordpath/" in outcome.out
    tags = remote.tags(name, 2)
    assert tags["coordpath.report_path"] == f"coordpath/{name.replace(' ', '=20')}/v1-to-v2"
    for file in REPORT_FILES:
        uri = f"models:/{name}/2/{tags['coordpath.report_path']}/{file}"
        local = mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=str(tmp_path / "back"))
        with open(local, "rb") as stream:  # noqa: PTH123 - a path from MLflow
            content = stream.read()
        assert content == (tmp_path / file).read_bytes()
        if file.endswith(".json"):
            assert hashlib.sha256(content).hexdigest() == tags["coordpath.report_sha256"]
    assert tags["coordpath.champion_version"] == "1"
    assert tags["coordpath.subject"].startswith(f"{name}/2@sha256:")
    assert "coordpath:begin" in remote.description(name, 2)


def test_the_proxy_serves_the_page(remote, coordpath):
    model = remote.fresh()
    name = remote.register(f"served {uuid.uuid4().hex}", remote.first, model)
    assert coordpath("report", name, "--champion", "1", *remote.rows.args).code == 0
    path = remote.tags(name, 2)["coordpath.report_path"]
    url = f"{remote.uri}/ajax-api/2.0/mlflow/logged-models/{model.model_id}/artifacts/files"
    query = urllib.parse.urlencode({"artifact_file_path": f"{path}/change_report.html"})
    with urllib.request.urlopen(f"{url}?{query}", timeout=60) as answer:
        page = answer.read().decode()
    assert "<h1>" in page
    assert name in page


@pytest.mark.parametrize("odd", ["a b%20c", "a#b?c@d", "é" * 200, "%2e%2e"])
def test_odd_names_over_http(remote, coordpath, odd):
    name = remote.register(f"{odd}{uuid.uuid4().hex}", remote.first, remote.second)
    for how in ("Attached to", "Already attached to"):
        outcome = coordpath("report", name, "--champion", "1", *remote.rows.args)
        assert outcome.code == 0, outcome.err
        assert f"\n{how}" in outcome.out
    assert len(mlflow.sklearn.load_model(remote.second.uri).predict(remote.rows.frame)) > 0


def test_references_over_http(remote, coordpath):
    from sklearn.linear_model import Ridge

    frame = remote.rows.frame
    with mlflow.start_run(experiment_id=remote.experiment) as run:
        logged = mlflow.sklearn.log_model(
            Ridge().fit(frame[["area", "age"]], frame[TARGET]), name="model", pip_requirements=[]
        )
        cg.log_reference(frame[["area", "age"]], frame[TARGET])
    name = f"with moments {uuid.uuid4().hex}"
    remote.client.create_registered_model(name)
    remote.client.create_model_version(name, f"models:/{logged.model_id}", run.info.run_id, model_id=logged.model_id)
    assert coordpath("report", name).code == 0
    outcome = coordpath("report", remote.two_versions())
    assert outcome.code == 2
    for tried in ("log_reference was not called", "mlflow.log_input was not called"):
        assert tried in outcome.plain


def test_wrong_use_over_http(remote, coordpath):
    name = remote.two_versions()
    for args, says in (
        (("no such",), "no such"),
        ((name, "--champion", "9"), "version"),
        ((name, "--champion", "nobody"), "has no alias 'nobody'"),
        ((name, "--champion", "9" * 30), "has no version"),
    ):
        outcome = coordpath("report", *args, *remote.rows.args)
        assert outcome.code == 2, outcome.err
        assert says in outcome.plain


def test_another_client_sees_the_same_bytes(remote, coordpath, tmp_path):
    name = remote.two_versions()
    assert coordpath("report", name, "--champion", "1", *remote.rows.args, "--out", tmp_path).code == 0
    made = cg.explain_change(f"models:/{name}/1", f"models:/{name}/2", data=remote.rows.csv, target=TARGET)
    assert made.to_bytes() == (tmp_path / "change_report.json").read_bytes()
    assert json.loads(made.to_bytes())["subject"]["candidate"]["version"] == "2"


def test_a_server_that_is_not_there_is_4(store, coordpath, impatient):
    outcome = coordpath("report", "any", "--tracking-uri", "http://127.0.0.1:9", *store.rows.args)
    assert outcome.code == 4
    assert "looking up the registered model 'any'" in outcome.err
    assert "127.0.0.1" in outcome.err
    assert outcome.err.count("\n") == 1
    assert "fault of coordpath" not in outcome.err


def test_a_server_that_is_something_else_is_4(store, coordpath, impatient, tmp_path):
    import http.server
    import threading

    class Wrong(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>not MLflow \x1b[31m</html>")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Wrong) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        outcome = coordpath("report", "any", "--tracking-uri", f"http://127.0.0.1:{other.server_port}", *store.rows.args)
        other.shutdown()
    assert outcome.code == 4
    assert "fault of coordpath" not in outcome.err
    assert "\x1b" not in outcome.err


def test_a_server_that_goes_away_half_way_leaves_no_tag(remote, coordpath, monkeypatch, impatient):
    """The upload fails as it does when the proxy is gone: the version says nothing, and the next run repairs it."""
    import requests

    name = remote.two_versions()

    def gone(*_, **__):
        raise requests.exceptions.ConnectionError("connection reset")

    with monkeypatch.context() as patch:
        patch.setattr(mlflow.MlflowClient, "log_model_artifacts", gone)
        outcome = coordpath("report", name, "--champion", "1", *remote.rows.args)
    assert outcome.code == 4
    assert "connection reset" in outcome.plain
    assert not remote.tags(name, 2)
    assert coordpath("report", name, "--champion", "1", *remote.rows.args).code == 0
    assert "coordpath.report_sha256" in remote.tags(name, 2)
