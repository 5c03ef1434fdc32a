"""A report's document as the registry would give it: both versions registered, both with digests."""

import pandas as pd
import pytest

from coordpath_governance import LinearModel, NumericTerm, explain_change
from coordpath_governance.signing.keys import new_key

FILES = {
    "change_report.json": b"{}",
    "change_report.html": b"<html>",
    "change_report.md": b"# Report",
}


@pytest.fixture(scope="session")
def document():
    rows = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [0.0, 1.0, 0.0, 1.0], "y": [1.0, 3.0, 3.0, 6.0]})
    old, new = (
        LinearModel(intercept=0.0, numeric=(NumericTerm("a", a), NumericTerm("b", b))) for a, b in ((1, 0), (1.2, 1))
    )
    made = explain_change(old, new, data=rows, target="y", role="holdout", name="price").document
    sides = {
        side: getattr(made.subject, side).model_copy(update={"name": "price", "version": version, "digest": digit * 64})
        for side, version, digit in (("champion", "1", "a"), ("candidate", "2", "b"))
    }
    return made.model_copy(update={"subject": made.subject.model_copy(update=sides)})


@pytest.fixture(scope="session")
def contents():
    """The report's files."""
    return FILES


@pytest.fixture
def key():
    return new_key()
