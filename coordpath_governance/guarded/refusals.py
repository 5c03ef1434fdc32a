"""The guard's no in MLflow's words: an error code that becomes an HTTP status, and a message with reason and remedy."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR, PERMISSION_DENIED, TEMPORARILY_UNAVAILABLE

from coordpath_governance.errors import CoordpathError, LedgerError, NotFoundError, RefusedError, RegistryError
from coordpath_governance.registry.guarded_registry import EXIT_FIELD
from coordpath_governance.text import shorten, visible

__all__ = ["refusals"]

_LOG = logging.getLogger(__name__)
_LONGEST = 4000


@contextmanager
def refusals(operation: str) -> Iterator[None]:
    """Whatever goes wrong inside stops the operation.

    A refusal is PERMISSION_DENIED (403), and so is what somebody must set right first: clients do not try those again. A
    ledger or registry that is out of reach is TEMPORARILY_UNAVAILABLE (503), a fault of ours INTERNAL_ERROR (500). What the
    inner store itself said of a wrong argument, or of something that is not there, stays as it was.
    """
    try:
        yield
    except MlflowException:
        raise
    except (RegistryError, NotFoundError) as error:
        if isinstance(error.__cause__, MlflowException):
            raise error.__cause__ from None
        raise _told(operation, error) from error
    except CoordpathError as error:
        raise _told(operation, error) from error
    except Exception as error:
        _LOG.exception("coordpath: '%s' is refused because the guard failed", operation)
        message = f"coordpath refuses '{operation}': its guard failed with {type(error).__name__}; see the server's log"
        raise MlflowException(message, error_code=INTERNAL_ERROR) from error


def _told(operation: str, error: CoordpathError) -> MlflowException:
    reason = shorten(visible(str(error)), _LONGEST)
    told = {EXIT_FIELD: error.exit_code}
    if isinstance(error, RefusedError):
        return MlflowException(f"coordpath refuses '{operation}': {reason}", error_code=PERMISSION_DENIED, **told)
    code = TEMPORARILY_UNAVAILABLE if isinstance(error, LedgerError | RegistryError) else PERMISSION_DENIED
    message = f"coordpath refuses '{operation}', because it cannot tell whether it is allowed: {reason}"
    return MlflowException(message, error_code=code)
