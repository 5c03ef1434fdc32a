"""Our errors as MLflow's: which code, which status, which words."""

import pytest
from mlflow.exceptions import MlflowException

from coordpath_governance.errors import (
    LedgerConflictError,
    LedgerError,
    NotFoundError,
    PolicyError,
    RefusedError,
    RegistryError,
    ReviewNeededError,
    SigningKeyError,
    UsageError,
)
from coordpath_governance.guarded.lazy_guard import refusals


def told(error, cause=None):
    with pytest.raises(MlflowException) as caught, refusals("delete model"):
        raise error from cause
    return caught.value


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RefusedError("why"), 403),
        (ReviewNeededError("why"), 403),
        (UsageError("why"), 403),
        (PolicyError("why"), 403),
        (SigningKeyError("why"), 403),
        (NotFoundError("why"), 403),
        (LedgerError("why"), 503),
        (LedgerConflictError("why"), 503),
        (RegistryError("why"), 503),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_of_ours_stops_the_operation_and_says_why(error, status):
    found = told(error)
    assert found.get_http_status_code() == status
    assert found.message.startswith("coordpath refuses 'delete model'")
    assert found.message.endswith(": why")


def test_what_mlflow_said_stays_as_it_was():
    said = MlflowException("no such version", error_code=1)
    assert told(said) is said
    assert told(NotFoundError("looking: no such version"), said) is said
    assert told(RegistryError("looking: no such version"), said) is said
    assert told(LedgerError("a ledger's trouble"), said) is not said


def test_a_fault_of_ours_is_refused_without_its_secrets(caplog):
    found = told(KeyError("postgresql://user:password@host"))
    assert found.get_http_status_code() == 500
    assert "KeyError" in found.message
    assert "password" not in found.message
    assert "password" in caplog.text


def test_hostile_names_are_harmless_and_bounded():
    found = told(RefusedError("'\x1b[31m\u202eevil" + "x" * 9000 + "' is guarded; promote another"))
    assert "\x1b" not in found.message
    assert "⟨U+202E⟩" in found.message
    assert len(found.message) < 4200
    assert found.message.endswith("promote another")


def test_nothing_wrong_is_nothing():
    with refusals("delete model"):
        pass
