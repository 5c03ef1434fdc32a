"""A real `mlflow server` on loopback, in a process group of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.commands import PATIENCE
from helpers.mlflow_store import MLFLOW_SETTINGS

_TO_STOP = 10.0
PATIENT = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "180"}
"""For server and client: a machine that does much else takes long to make a report while a version is registered."""


@contextlib.contextmanager
def mlflow_server(
    folder: Path, *options: object, workers: int = 1, environment: dict[str, str] | None = None
) -> Iterator[str]:
    """The URI of a server that runs in ``folder`` until it is no longer needed."""
    port = _free_port()
    settings = {name: value for name, value in os.environ.items() if name not in MLFLOW_SETTINGS}
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", port, "--workers", workers]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*map(str, command), *map(str, options)],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
            env={**settings, **PATIENT, **(environment or {})},
        )
        try:
            uri = f"http://127.0.0.1:{port}"
            _wait_until_it_answers(f"{uri}/health", process, f"mlflow server, see {folder / 'log'}")
            yield uri
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=_TO_STOP)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_answers(url: str, process: subprocess.Popen[bytes], what: str) -> None:
    """A process that ends, or endless patience, is a failure."""
    deadline = time.monotonic() + PATIENCE
    while not _answers(url):
        if process.poll() is not None:
            pytest.fail(f"{what}: the process ended with {process.returncode}")
        if time.monotonic() > deadline:
            pytest.fail(f"{what}: not within {PATIENCE:.0f} s")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
