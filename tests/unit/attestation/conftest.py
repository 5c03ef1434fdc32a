"""A report's document as the registry would give it: both versions registered, both with digests."""

import pytest
from helpers.little_reports import document

from coordpath_governance.signing.keys import new_key

__all__ = ["contents", "document", "key"]

FILES = {
    "change_report.json": b"{}",
    "change_report.html": b"<html>",
    "change_report.md": b"# Report",
}


@pytest.fixture(scope="session")
def contents():
    """The report's files."""
    return FILES


@pytest.fixture
def key():
    return new_key()
