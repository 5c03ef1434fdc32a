"""The report that a version gets when it is registered: made in a process of its own, and never waited for too long."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from coordpath_governance.errors import RefusedError

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger

__all__ = ["report_on_registration"]

TRACKING_VARIABLE = "COORDPATH_TRACKING_URI"
_SERVER_BACKEND = "_MLFLOW_SERVER_FILE_STORE"
_PATIENCE = 2 / 3
"""How much of MLFLOW_HTTP_REQUEST_TIMEOUT registering waits for its report; a client that gives up registers once more."""
_TIMEOUT = 600.0
"""Seconds after which a report that is still being made is given up."""
_TAIL = 500
_LOG = logging.getLogger(__name__)
_NO_REPORT = "coordpath: no report on version %s of %r: %s"


def report_on_registration(ledger: Ledger, url: str, inner_uri: str, name: str, version: str) -> None:
    """Make the report in a separate process, so that its memory and its errors do not affect the registry.

    A report that takes long is finished after this returns. URIs may hold passwords, so they are passed in the environment,
    not on the command line.
    """
    from coordpath_governance.review.policies import policy_for

    try:
        adopted = policy_for(ledger, name)
    except RefusedError as error:
        _LOG.info(_NO_REPORT, version, name, error)
        return
    if adopted.policy.reference.uri is None:
        _LOG.info(_NO_REPORT, version, name, "its policy does not say where the data are")
        return
    from mlflow.environment_variables import MLFLOW_HTTP_REQUEST_TIMEOUT

    tracking = os.environ.get(TRACKING_VARIABLE) or os.environ.get(_SERVER_BACKEND)
    if tracking is None:
        import mlflow

        tracking = mlflow.get_tracking_uri()
    command = [sys.executable, "-m", "coordpath_governance", "report", "--candidate", version, "--", name]
    places = {"MLFLOW_TRACKING_URI": tracking, "MLFLOW_REGISTRY_URI": inner_uri, "COORDPATH_LEDGER": url}
    environment = {**os.environ, **places}
    making = threading.Thread(
        target=_run, args=(command, environment, name, version), name=f"coordpath report on {name} {version}", daemon=True
    )
    making.start()
    making.join(_PATIENCE * MLFLOW_HTTP_REQUEST_TIMEOUT.get())
    if making.is_alive():
        _LOG.info("coordpath: the report on version %s of %r is still being made", version, name)


def _run(command: Sequence[str], environment: Mapping[str, str], name: str, version: str) -> None:
    """Run ``command`` to its end, and log why there is no report if it fails.

    Its output goes to a file: a script that registers a version may end before the report is made, which would close a pipe.
    """
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(  # noqa: S603 - our own program
                command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output
            )
        except OSError as error:
            _LOG.warning(_NO_REPORT, version, name, error)
            return
        try:
            code = process.wait(_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            _LOG.warning(_NO_REPORT, version, name, f"it took longer than {_TIMEOUT:g} seconds")
            return
        output.seek(0)
        if code:
            _LOG.warning(_NO_REPORT, version, name, output.read().decode("utf-8", "replace").strip()[-_TAIL:])
