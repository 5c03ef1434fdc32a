"""A registry that is down, slow or broken: bounded patience, exit 4, one line, and nothing half-done."""

import hashlib
import http.client
import http.server
import itertools
import json
import os
import tempfile
import threading
import time
import uuid
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import mlflow
import pytest
from mlflow.tracking._tracking_service.utils import _artifact_repos_cache

from coordpath_governance.errors import AttachError, RegistryError, RegistryMissingError, UsageError
from coordpath_governance.governance.attach import REPORT_FILES, attach
from coordpath_governance.governance.shown import BEGIN
from coordpath_governance.governance.version_report import report_on_versions
from coordpath_governance.reference.sources import open_source
from coordpath_governance.registry.connection import connect, registry_errors
from coordpath_governance.registry.versions import point_at
from coordpath_governance.reports.document import ChangeFacts
from coordpath_governance.reports.make import ReferenceData, settings_for

NOW = "2026-01-02T03:04:05+00:00"
COMPLETE = "coordpath.report_sha256"
SETTINGS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
}
pytestmark = [pytest.mark.server, pytest.mark.no_cover]


def fine(handler):
    handler.forward()


def error_500(handler):
    handler.answer(500, b'{"error_code": "INTERNAL_ERROR", "message": "out of order"}')


def busy_for_an_hour(handler):
    handler.answer(503, b"busy", {"Retry-After": "3600"})


def not_json(handler):
    handler.answer(200, b"<html>\x1b[31mwelcome</html>")


def hang_up(handler):
    """Close before anything was done."""
    handler.close_connection = True


def done_but_untold(handler):
    """Do what was asked, and close without an answer."""
    handler.upstream()
    handler.close_connection = True


def cut_off(handler):
    """Promise a whole body, and send half of it."""
    status, headers, body = handler.upstream()
    handler.answer(status, body[: len(body) // 2], headers, length=len(body) + 2)
    handler.close_connection = True


def cut_short(handler):
    """The beginning of an answer, and no more."""
    handler.answer(200, b'{"registered_model": {"name": "an', length=100)
    handler.close_connection = True


def silent(handler):
    """Say nothing until the test is over."""
    handler.server.over.wait(60)
    handler.close_connection = True


class Handler(http.server.BaseHTTPRequestHandler):
    """Ask the server's plan what to do with each request."""

    protocol_version = "HTTP/1.1"

    def handle_request(self):
        """Whatever the method."""
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        with self.server.lock:
            self.server.requests.append(f"{self.command} {self.path}")
            number = len(self.server.requests)
        self.server.plan(number)(self)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_request  # noqa: N815 - the names that http.server looks for

    def upstream(self):
        """Status, headers and body of the real server's answer."""
        connection = http.client.HTTPConnection(self.server.behind, timeout=60)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
            connection.request(self.command, self.path, self.body, headers)
            answer = connection.getresponse()
            kept = {name: value for name, value in answer.getheaders() if name.lower() == "content-type"}
            return answer.status, kept, answer.read()
        finally:
            connection.close()

    def forward(self):
        status, headers, body = self.upstream()
        self.answer(status, body, headers)

    def answer(self, status, body, headers=None, length=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Proxy(http.server.ThreadingHTTPServer):
    """In front of a real server; ``plan`` says what happens to the n-th request."""

    daemon_threads = True

    def __init__(self, behind=""):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind = behind
        self.plan = lambda _: fine
        self.requests, self.lock, self.over = [], threading.Lock(), threading.Event()

    @property
    def uri(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_):
        """A client that went away is no news."""


@contextmanager
def serving(proxy):
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.over.set()
        proxy.shutdown()
        proxy.server_close()
        thread.join()


@pytest.fixture
def proxy(remote):
    """A proxy in front of the real server."""
    with serving(Proxy(remote.uri.removeprefix("http://"))) as started:
        yield started
    through(remote)


@pytest.fixture(autouse=True)
def _settings(monkeypatch):
    """Nobody has set anything but that a test does not pause, and every test leaves it as it was."""
    for name in SETTINGS:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_JITTER", "0")


def through(server):
    """A client that asks ``server``; MLflow remembers for each model where its files were, whoever is asked later."""
    _artifact_repos_cache.clear()
    return connect(server.uri)


def test_patience_is_bounded_unless_the_user_says_otherwise(store, monkeypatch):
    monkeypatch.delenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR")
    connect()
    assert {name: os.environ[name] for name in SETTINGS} == SETTINGS
    own = dict.fromkeys(SETTINGS, "7") | {"MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "true"}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    connect()
    assert {name: os.environ[name] for name in SETTINGS} == own


def test_a_client_asks_the_registry_it_is_given(store, tmp_path):
    other = f"sqlite:///{tmp_path / 'other.db'}"
    with pytest.raises(RegistryMissingError, match=r"there is no MLflow registry at .*other\.db"):
        connect(store.uri, other)
    assert connect(store.uri, other, create=True)._registry_uri == other


def test_our_own_errors_pass_as_they_are():
    with pytest.raises(UsageError, match=r"^mine$"), registry_errors("asking"):
        raise UsageError("mine")


@pytest.mark.parametrize("kind", [mlflow.MlflowException, OSError])
def test_an_error_tells_no_password(kind):
    with pytest.raises(RegistryError) as error, registry_errors("asking"):
        raise kind("API request to https://ada:se-cret@host:5000/api and postgresql://bob:other@db/mlflow failed")
    assert str(error.value).endswith("API request to https://***@host:5000/api and postgresql://***@db/mlflow failed")


FOUR_ATTEMPTS = [error_500, busy_for_an_hour, hang_up, silent]


@pytest.mark.parametrize("fault", [*FOUR_ATTEMPTS, not_json, cut_short])
def test_a_server_that_is_broken_is_4_after_few_attempts(store, coordpath, monkeypatch, tmp_path, fault):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    with serving(Proxy()) as broken:
        broken.plan = lambda _: fault
        outcome = coordpath("report", "any", "--tracking-uri", broken.uri, *store.rows.args, "--out", tmp_path / "out")
    assert outcome.code == 4
    assert outcome.out == ""
    assert outcome.err.startswith("coordpath: error: looking up the registered model 'any': ")
    assert outcome.err.count("\n") == 1
    assert "fault of coordpath" not in outcome.err
    assert "\x1b" not in outcome.err
    assert len(broken.requests) == (4 if fault in FOUR_ATTEMPTS else 1)
    assert not (tmp_path / "out").exists()


def test_a_server_that_is_not_there_is_4(store, coordpath, tmp_path):
    with serving(Proxy()) as gone:
        pass
    outcome = coordpath("report", "any", "--tracking-uri", gone.uri, *store.rows.args, "--out", tmp_path / "out")
    assert outcome.code == 4
    assert outcome.err.count("\n") == 1
    assert "Connection refused" in outcome.err
    assert not (tmp_path / "out").exists()


class Versions:
    """Two versions on a real server, the second on a logged model of its own."""

    def __init__(self, remote):
        self.remote = remote
        self.model = remote.fresh()
        self.name = remote.register(f"faults {uuid.uuid4().hex}", remote.first, self.model)

    @property
    def args(self):
        return ("report", self.name, "--champion", "1", *self.remote.rows.args)

    def tags(self):
        return dict(through(self.remote).get_model_version(self.name, "2").tags)

    def state(self):
        """Tags, description and report files, as another client sees them."""
        client = through(self.remote)
        version = client.get_model_version(self.name, "2")
        with tempfile.TemporaryDirectory() as folder:
            where = client.get_logged_model(self.model.model_id).artifact_location
            try:
                mlflow.artifacts.download_artifacts(artifact_uri=f"{where}/coordpath", dst_path=folder)
            except mlflow.MlflowException:
                assert "coordpath" not in [file.path for file in mlflow.artifacts.list_artifacts(artifact_uri=where)]
            paths = (path for path in Path(folder).rglob("*") if path.is_file())
            files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
        return dict(version.tags), version.description or "", files

    def check_whole(self):
        """One report, all of it, and everything says the same; its bytes.

        A listing made while the server moves a file into its place may lack it; a report that is half there stays so.
        """
        for _ in range(20):
            tags, description, files = self.state()
            folder = tags["coordpath.report_path"]
            if all(f"{folder}/{name}" in files for name in REPORT_FILES):
                break
            time.sleep(0.1)
        assert {str(PurePosixPath(path).parent) for path in files} == {folder}
        verdict = json.loads(files[f"{folder}/verdict.json"])
        digests = {name: hashlib.sha256(files[f"{folder}/{name}"]).hexdigest() for name in REPORT_FILES}
        assert verdict["files"] == digests
        assert tags[COMPLETE] == digests["change_report.json"]
        assert description.count(BEGIN) == 1
        return files[f"{folder}/change_report.json"]


def test_a_server_that_is_busy_now_and_then_is_asked_again(remote, proxy, coordpath):
    """Every request fails twice before it is answered."""
    versions = Versions(remote)
    proxy.plan = lambda _: busy_for_an_hour if proxy.requests.count(proxy.requests[-1]) <= 2 else fine
    through(proxy)
    outcome = coordpath(*versions.args, "--tracking-uri", proxy.uri)
    assert outcome.code == 0, outcome.err
    assert sum(request.startswith("PUT") for request in proxy.requests) >= 3 * len(REPORT_FILES)
    versions.check_whole()


FAULTS = [hang_up, error_500, done_but_untold, cut_off]


def failing_from(number):
    """Everything goes wrong from the n-th request on; in which way, depends on n."""
    return lambda n: fine if n < number else FAULTS[number % len(FAULTS)]


@pytest.fixture
def at_once(monkeypatch):
    """A fault is an error at once: asking again is another test's matter."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")


def test_a_server_that_fails_before_anything_is_written_leaves_nothing(remote, proxy, coordpath, at_once, tmp_path):
    """At every request of a report up to the first that changes something."""
    versions = Versions(remote)
    through(proxy)
    assert coordpath(*versions.args, "--tracking-uri", proxy.uri, "--no-attach", "--out", tmp_path).code == 0
    reads = sum("server-info" not in request for request in proxy.requests)
    assert reads > 15
    for number in range(1, reads + 1):
        proxy.requests.clear()
        proxy.plan = failing_from(number)
        through(proxy)
        outcome = coordpath(*versions.args, "--tracking-uri", proxy.uri, "--out", tmp_path / "out")
        assert outcome.code == 4, (number, outcome.plain)
        assert outcome.err.count("\n") == 1
        assert "fault of coordpath" not in outcome.err, (number, outcome.plain)
        assert all(request.startswith("GET") for request in proxy.requests)
    assert not (tmp_path / "out").exists()
    assert versions.state() == ({}, "", {})
    assert coordpath(*versions.args, "--tracking-uri", remote.uri).code == 0
    versions.check_whole()


def test_a_server_that_fails_while_attaching_leaves_no_half_report_that_looks_whole(remote, proxy, at_once):
    """At every request: another report is there, and the next run ends with the new one, whole."""
    versions = Versions(remote)
    sides = [point_at(remote.client, versions.name, version) for version in "12"]
    reference = ReferenceData(open_source(remote.rows.csv), "price")
    reports = [
        report_on_versions(remote.client, *sides, reference, facts=ChangeFacts(reason=why), settings=settings_for())
        for why in ("one", "two")
    ]
    attach(through(remote), *sides, reports[0], now=NOW)
    for number in itertools.count(1):
        new = reports[number % 2]
        proxy.requests.clear()
        proxy.plan = failing_from(number)
        client = through(proxy)
        try:
            attach(client, *sides, new, now=NOW)
        except AttachError:
            pass
        else:
            break
        if COMPLETE in versions.tags():
            assert versions.check_whole() in [report.to_bytes() for report in reports]
        attach(through(remote), *sides, new, now=NOW)
        assert versions.check_whole() == new.to_bytes(), number
    assert len(proxy.requests) < number
    assert versions.check_whole() == new.to_bytes()
    assert number > 25
