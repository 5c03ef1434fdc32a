"""Every error that a user can cause: one base class, and subclasses with their exit codes.

A message says what is wrong, where, and what to do. Exit codes of the command line: 1 the gate says no or a check found a
mismatch, 2 wrong use, 3 needs review, 4 anything that prevented an answer.
"""

from __future__ import annotations

__all__ = [
    "AlignmentError",
    "AttachError",
    "CoordpathError",
    "FilesGoneError",
    "ForeignRegistryError",
    "LedgerConflictError",
    "LedgerError",
    "LedgerMissingError",
    "ModelReadError",
    "NoVersionError",
    "NotFoundError",
    "PolicyError",
    "ProblemError",
    "ReaderPluginError",
    "ReferenceDataError",
    "RefusedError",
    "RegistryError",
    "RegistryMissingError",
    "ReportFormatError",
    "ReviewNeededError",
    "SignatureError",
    "SigningKeyError",
    "SolverUnavailableError",
    "StandingFilesGoneError",
    "UnguardedError",
    "UnknownSetError",
    "UnsupportedModelError",
    "UpdateError",
    "UsageError",
    "UsedError",
]

EXIT_NO = 1
EXIT_WRONG_USE = 2
EXIT_REVIEW = 3
EXIT_UNKNOWN = 4
VERDICT_EXIT_CODES = {"pass": 0, "review": EXIT_REVIEW, "fail": EXIT_NO}


class CoordpathError(Exception):
    """Base of all errors of this package; ``exit_code`` is what the command line returns."""

    exit_code: int = EXIT_UNKNOWN


class UsageError(CoordpathError, ValueError):
    """An argument or a combination of arguments that makes no sense."""

    exit_code = EXIT_WRONG_USE


class NotFoundError(CoordpathError, LookupError):
    """A model, version, alias or file that does not exist."""

    exit_code = EXIT_WRONG_USE


class NoVersionError(NotFoundError):
    """A registered model without any version yet."""


class ProblemError(CoordpathError, ValueError):
    """A path problem that is malformed, contradictory or cannot be computed in double precision."""

    exit_code = EXIT_WRONG_USE


class UnknownSetError(ProblemError):
    """The cost of a set of moves that is not in the record of a search, and for which there are no rows."""


class SolverUnavailableError(CoordpathError, RuntimeError):
    """The requested solver cannot run here, or cannot solve this kind of problem."""


class ReferenceDataError(CoordpathError, ValueError):
    """Reference data that cannot be used as they are."""

    exit_code = EXIT_WRONG_USE


class ModelReadError(CoordpathError, ValueError):
    """A model whose files are damaged, oversized or not what they claim to be."""


class UnsupportedModelError(ModelReadError):
    """A model that we can open but not explain, such as one of another flavour or one that is not linear."""


class UpdateError(UnsupportedModelError):
    """An update that cannot be written as a model of the champion's kind."""


class ReaderPluginError(ModelReadError):
    """A reader of another distribution that cannot be loaded, or that fails."""


class AlignmentError(CoordpathError, ValueError):
    """Two models that cannot be put on one set of coordinates."""


class ReportFormatError(CoordpathError, ValueError):
    """A file that is not a change report with a schema that we know."""

    exit_code = EXIT_WRONG_USE


class RegistryError(CoordpathError, RuntimeError):
    """The MLflow registry or its artifact store did not do what was asked."""


class FilesGoneError(NotFoundError, RegistryError):
    """A registered version whose files are not where the registry says: they, or its logged model, were deleted."""

    exit_code = EXIT_UNKNOWN


class RegistryMissingError(RegistryError):
    """There is no MLflow store at this address. We do not ask MLflow, because it would create an empty one."""


class ForeignRegistryError(RegistryError):
    """The ledger belongs to another registry, or the model is not the one that the ledger has under this name."""


class AttachError(RegistryError):
    """A report that could not be attached, or did not read back as it was written."""


class PolicyError(CoordpathError, ValueError):
    """A policy that is malformed, empty or contradicts itself."""

    exit_code = EXIT_WRONG_USE


class SigningKeyError(CoordpathError, ValueError):
    """A key that cannot be read or written, or that may not sign what it should sign."""

    exit_code = EXIT_WRONG_USE


class SignatureError(CoordpathError, ValueError):
    """A signature that does not match the content it should sign."""

    exit_code = EXIT_NO


class LedgerError(CoordpathError, RuntimeError):
    """A ledger that cannot be reached, or that cannot record an entry in its present state."""


class LedgerMissingError(LedgerError):
    """There is no ledger at this address."""


class LedgerConflictError(LedgerError):
    """Another entry was recorded since the ledger was read; read it again."""


class RefusedError(CoordpathError, PermissionError):
    """The gate says no: the request is not allowed in the present state."""

    exit_code = EXIT_NO


class UsedError(RefusedError):
    """An approval, a waiver, an intent or a request that is valid once, and was used before."""


class StandingFilesGoneError(RefusedError):
    """The files of the version that has a guarded alias are gone; the alias itself is where it should be."""


class UnguardedError(RefusedError):
    """A version has a guarded alias, but the ledger has no entry about it: it is not under guard yet."""

    def __init__(self, message: str, version: str) -> None:
        super().__init__(message)
        self.version = version


class ReviewNeededError(RefusedError):
    """The gate says "not yet": approvals are missing."""

    exit_code = EXIT_REVIEW
