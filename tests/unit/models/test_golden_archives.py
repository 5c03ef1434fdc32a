"""Archives that older scikit-learn and skops versions have written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coordpath_governance.models import fold_model, read_archive

FOLDER = Path(__file__).parents[2] / "golden" / "skops"
ARCHIVES = sorted(FOLDER.glob("*.skops"))


def test_there_are_archives_of_two_versions():
    assert {path.name.split("-")[1] for path in ARCHIVES} == {"1.4", "1.5"}


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
def test_old_archive_predicts_as_it_did(path, score):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = fold_model(read_archive(path))
    assert model.library.startswith(f"scikit-learn {path.name.split('-')[1]}.")
    found = [score(model, row) for row in expected["rows"]]
    assert found == [None if number is None else pytest.approx(number, rel=1e-9) for number in expected["predictions"]]
