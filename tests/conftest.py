"""Shared by all tests: a skip is a failure in CI, hypothesis does not watch the clock, and `--quick` runs a part of each."""

import os

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("helpers")
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=3)
# The same examples in every run of CI: whether a floor of coverage is met must not be a matter of chance.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_addoption(parser):
    parser.addoption(
        "--quick", action="store_true", help="one case of every test, few examples of every property, no thorough tests"
    )


def pytest_configure(config):
    if config.getoption("--quick"):
        settings.load_profile("quick")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--quick"):
        return
    first, others = {}, []
    for item in items:
        key = (item.path, getattr(item, "cls", None), getattr(item, "originalname", item.name))
        chosen = first.setdefault(key, item) is item and item.get_closest_marker("thorough") is None
        if not chosen:
            others.append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in set(others)]


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
