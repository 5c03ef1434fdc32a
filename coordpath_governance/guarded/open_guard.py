"""The guard of a registry, as its environment configures it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

from coordpath_governance.errors import RefusedError, UsageError
from coordpath_governance.ledger.location import ledger_url
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.review.guard import Guard
from coordpath_governance.review.policies import policy_for

if TYPE_CHECKING:
    from coordpath_governance.guarded.inner_registry import InnerRegistry

__all__ = ["REPORTS_VARIABLE", "open_guard"]

REPORTS_VARIABLE = "COORDPATH_REPORTS"
TRACKING_VARIABLE = "COORDPATH_TRACKING_URI"
_SERVER_BACKEND = "_MLFLOW_SERVER_FILE_STORE"
_TIMEOUT = 600
_TAIL = 500
_LOG = logging.getLogger(__name__)


def open_guard(inner_uri: str) -> Guard:
    """The guard of the registry at ``inner_uri``; `LedgerError` if nobody has begun its ledger, or somebody removed it.

    COORDPATH_REPORTS says when a new version gets its report: `inline` (default), before registering returns, or `sweep`,
    by a later `coordpath report`.
    """
    url = ledger_url(inner_uri, None)
    when = os.environ.get(REPORTS_VARIABLE) or "inline"
    if when not in ("inline", "sweep"):
        raise UsageError(f"{REPORTS_VARIABLE}={when}: reports are made 'inline' or left to the 'sweep'")
    ledger = Ledger.open(url, create=False)
    report = partial(_report, ledger, url, inner_uri) if when == "inline" else None
    return Guard(ledger, report, partial(_show, ledger))


def _show(ledger: Ledger, registry: InnerRegistry, name: str, version: str) -> None:
    """Let the registry itself show what was decided."""
    from coordpath_governance.governance.shown import show_after_promotion

    show_after_promotion(registry, ledger, name, version)


def _report(ledger: Ledger, url: str, inner_uri: str, name: str, version: str) -> None:
    """Make the report in a process of its own, so that neither its memory nor its faults are the registry's.

    URIs may hold passwords, which a command line would show to everybody.
    """
    try:
        adopted = policy_for(ledger, name)
    except RefusedError as error:
        _LOG.info("coordpath: no report on version %s of %r: %s", version, name, error)
        return
    if adopted.policy.reference.uri is None:
        _LOG.info("coordpath: no report on version %s of %r: its policy does not say where the data are", version, name)
        return
    tracking = os.environ.get(TRACKING_VARIABLE) or os.environ.get(_SERVER_BACKEND)
    if tracking is None:
        import mlflow

        tracking = mlflow.get_tracking_uri()
    command = [sys.executable, "-m", "coordpath_governance", "report", "--candidate", version, "--", name]
    places = {"MLFLOW_TRACKING_URI": tracking, "MLFLOW_REGISTRY_URI": inner_uri, "COORDPATH_LEDGER": url}
    environment = {**os.environ, **places}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_TIMEOUT, check=False)  # noqa: S603 - our own program
    if result.returncode:
        _LOG.warning("coordpath: no report on version %s of %r: %s", version, name, result.stderr.strip()[-_TAIL:])
