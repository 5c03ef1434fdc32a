"""Stores that do not answer: every command ends in bounded time, with exit code 4 and the store's name."""

import socket
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from helpers.mlflow_store import use
from helpers.office import Office

from coordpath_governance.errors import RegistryError
from coordpath_governance.registry.connection import check_answers

PATIENCE = 20.0
NAME = ("a model", "1")
COMMANDS = {
    "scan": ("scan",),
    "report": ("report", "a model"),
    "gate": ("gate", *NAME),
    "gate as JSON": ("gate", *NAME, "--json"),
    "review": ("review", *NAME, "--approve", "--key", "{Bob}"),
    "waive": ("waive", *NAME, "steps", "--reason", "known", "--key", "{Rita}"),
    "promote": ("promote", *NAME),
    "promote as JSON": ("promote", *NAME, "--json"),
    "adopt": ("adopt", "a model", "--reason", "as it is", "--key", "{Ann}"),
    "retire": ("retire", *NAME, "--reason", "old", "--key", "{Ann}"),
    "declare": ("declare", *NAME, "--key", "{Bob}", "--reason", "compared"),
    "sweep": ("sweep",),
}
NOTED = {
    "policy list": ("policy", "list"),
    "policy check": ("policy", "check", "{policy}"),
    "policy adopt": ("policy", "adopt", "{policy}", "--key", "{Ann}"),
    "policy init": ("policy", "init", "--model", "a model"),
}
"""Commands that go on without a registry, and say that they did."""


class Broken(BaseHTTPRequestHandler):
    """A server that answers everything with 500."""

    def do_GET(self):
        self.send_response(500)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"no")

    def do_POST(self):
        self.do_GET()

    def log_message(self, *_):
        """Nothing."""


@pytest.fixture(scope="module")
def addresses():
    """Ports at which nobody listens, somebody accepts and stays silent, and somebody answers 500."""
    silent = socket.create_server(("127.0.0.1", 0), backlog=200)
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        nobody = gone.getsockname()[1]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Broken)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"nobody": nobody, "silent": silent.getsockname()[1], "broken": server.server_port}
    server.shutdown()
    silent.close()


@pytest.fixture
def office(store, coordpath, tmp_path, monkeypatch):
    made = Office(store, coordpath, tmp_path)
    made.adopt_policy(pattern="a model")
    for name, value in (("TIMEOUT", "1"), ("MAX_RETRIES", "0")):
        monkeypatch.setenv(f"MLFLOW_HTTP_REQUEST_{name}", value)
    yield made
    use(store.uri)


def run(office, command, uri):
    files = {owner: office.key(owner) for owner in ("Ann", "Bob", "Rita")} | {"policy": office.write_policy(name="other")}
    arguments = [part.format(**files) for part in command]
    begun = time.monotonic()
    call = office.without_ledger if "init" in command else office.run
    outcome = call(*arguments, "--tracking-uri", uri, "--registry-uri", uri)
    assert time.monotonic() - begun < PATIENCE
    return outcome


@pytest.mark.parametrize("how", ["nobody", "silent", "broken"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_that_does_not_answer(office, addresses, how, command):
    port = addresses[how]
    outcome = run(office, COMMANDS[command], f"http://127.0.0.1:{port}")
    assert (outcome.code, outcome.out) == (4, "")
    assert outcome.err.startswith("coordpath: error: ")
    assert str(port) in outcome.err
    assert "unexpected" not in outcome.err


@pytest.mark.parametrize("how", ["nobody", "silent", "broken"])
@pytest.mark.parametrize("command", NOTED)
def test_commands_about_policies_go_on_and_say_so(office, addresses, how, command):
    port = addresses[how]
    outcome = run(office, NOTED[command], f"http://127.0.0.1:{port}")
    assert outcome.code == 0
    assert str(port) in outcome.out


@pytest.mark.parametrize("how", ["nobody", "silent"])
@pytest.mark.parametrize("command", ["scan", "gate", "promote", "sweep"])
def test_a_database_that_does_not_answer(office, addresses, how, command, monkeypatch):
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "2")
    outcome = run(office, COMMANDS[command], f"postgresql+psycopg://ann:secret@127.0.0.1:{addresses[how]}/mlflow")
    assert (outcome.code, outcome.out) == (4, "")
    assert f"postgresql+psycopg://ann:***@127.0.0.1:{addresses[how]}/mlflow" in outcome.err
    assert "secret" not in outcome.err


@pytest.mark.parametrize("how", ["nobody", "silent"])
def test_a_ledger_that_does_not_answer(store, coordpath, addresses, how, monkeypatch):
    monkeypatch.setattr("coordpath_governance.ledger.database._CONNECT_PATIENCE", 2)
    begun = time.monotonic()
    outcome = coordpath("audit", "log", "--ledger", f"postgresql://ann:secret@127.0.0.1:{addresses[how]}/ledger")
    assert time.monotonic() - begun < PATIENCE
    assert outcome.code == 4
    assert f"127.0.0.1:{addresses[how]}" in outcome.err
    assert "secret" not in outcome.err


@pytest.mark.parametrize(
    "uri", ["http://127.0.0.1:1", "sqlite:////no/such/file.db", "file:///tmp", "mlruns", "postgresql+none://x/y"]
)
def test_of_other_stores_nothing_is_asked(uri):
    assert check_answers(uri) is None


def test_a_guarded_database_is_asked_too(addresses):
    with pytest.raises(RegistryError, match="does not answer"):
        check_answers(f"coordpath:postgresql+psycopg://127.0.0.1:{addresses['nobody']}/mlflow")
