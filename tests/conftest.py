"""Shared by all tests: a skip is a failure in CI, and hypothesis does not watch the clock."""

import os

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("helpers")
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")


def pytest_terminal_summary(terminalreporter, config):
    skipped = terminalreporter.stats.get("skipped", [])
    if os.environ.get("CI") and skipped:
        terminalreporter.write_line(f"CI: {len(skipped)} skipped tests count as failures", red=True)


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped") and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    """No test depends on the MLflow settings of whoever runs it."""
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI", "MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("LEDGER", "KEY", "KEY_PASSPHRASE", "SERVICE_KEY", "REPORTS", "TRACKING_URI"):
        monkeypatch.delenv(f"COORDPATH_{name}", raising=False)
