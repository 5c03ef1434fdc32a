"""The guard of a registry, as its environment configures it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from coordpath_governance.errors import RefusedError, UsageError
from coordpath_governance.ledger.location import ledger_url
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.review.guard import Guard
from coordpath_governance.review.policies import policy_for

__all__ = ["REPORTS_VARIABLE", "open_guard"]

REPORTS_VARIABLE = "COORDPATH_REPORTS"
TRACKING_VARIABLE = "COORDPATH_TRACKING_URI"
_SERVER_BACKEND = "_MLFLOW_SERVER_FILE_STORE"
_PATIENCE = 2 / 3
"""How much of MLFLOW_HTTP_REQUEST_TIMEOUT registering waits for its report; a client that gives up registers once more."""
_TIMEOUT = 600.0
"""Seconds after which a report that is still being made is given up."""
_TAIL = 500
_LOG = logging.getLogger(__name__)
_NO_REPORT = "coordpath: no report on version %s of %r: %s"


def open_guard(inner_uri: str) -> Guard:
    """The guard of the registry at ``inner_uri``; `LedgerError` if nobody has begun its ledger, or somebody removed it.

    COORDPATH_REPORTS says when a new version gets its report: `inline` (default), before registering returns or, if it
    takes longer than a client waits, soon after; or `sweep`, by a later `coordpath report`.
    """
    url = ledger_url(inner_uri, None)
    how = os.environ.get(REPORTS_VARIABLE) or "inline"
    if how not in ("inline", "sweep"):
        raise UsageError(f"{REPORTS_VARIABLE}={how}: reports are made 'inline' or left to the 'sweep'")
    ledger = Ledger.open(url, create=False)
    report = partial(_report, ledger, url, inner_uri) if how == "inline" else None
    return Guard(ledger, report, partial(_show, ledger))


def _show(ledger: Ledger, registry: Any, name: str, version: str) -> None:  # noqa: ANN401 - a registry with MLflow behind it
    """Let the registry itself show what was decided."""
    from coordpath_governance.governance.shown import show_after_promotion

    show_after_promotion(registry, ledger, name, version)


def _report(ledger: Ledger, url: str, inner_uri: str, name: str, version: str) -> None:
    """Make the report in a process of its own, so that neither its memory nor its faults are the registry's.

    A report that takes long is finished after this returns. URIs may hold passwords, which a command line would show to
    everybody.
    """
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

    What it says goes to a file: whoever registers from a script of their own may be gone before the report is made, and a
    pipe would be closed then.
    """
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(  # noqa: S603 - our own program
                command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said
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
        said.seek(0)
        if code:
            _LOG.warning(_NO_REPORT, version, name, said.read().decode("utf-8", "replace").strip()[-_TAIL:])
