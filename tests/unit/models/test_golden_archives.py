"""Archives that older scikit-learn and skops versions have written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coordpath_governance.models import fold_stored, read_archive

FOLDER = Path(__file__).parents[2] / "golden" / "skops"
GLMS = sorted(FOLDER.glob("*-glm-*.skops"))
ARCHIVES = [path for path in sorted(FOLDER.glob("*.skops")) if path not in GLMS]


def test_there_are_archives_of_two_versions_each():
    assert {path.name.split("-")[1] for path in ARCHIVES} == {"1.4", "1.5"}
    assert {path.name.split("-")[1] for path in GLMS} == {"1.5", "1.7"}


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
def test_old_archive_predicts_as_it_did(path, score):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = fold_stored(read_archive(path))
    assert model.library.startswith(f"scikit-learn {path.name.split('-')[1]}.")
    found = [score(model, row) for row in expected["rows"]]
    assert found == [None if number is None else pytest.approx(number, rel=1e-9) for number in expected["predictions"]]


@pytest.mark.parametrize("path", GLMS, ids=lambda path: path.stem)
def test_old_classifier_or_rate_predicts_as_it_did(path, predict):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = fold_stored(read_archive(path))
    assert model.library.startswith(f"scikit-learn {path.name.split('-')[1]}.")
    found = [predict(model, row) for row in expected["rows"]]
    assert found == [pytest.approx(row, rel=1e-9) for row in expected["predictions"]]
    if model.threshold is not None:
        decided = [model.classes[int(row[1] >= model.threshold)] for row in found]
        assert decided == expected["decisions"]


@pytest.mark.parametrize("version", ["1.5", "1.7"])
def test_old_penalties(version):
    facts = {
        path.stem.split("-glm-")[1]: dict(fold_stored(read_archive(path)).regularisation)
        for path in GLMS
        if path.name.startswith(f"sklearn-{version}-")
    }
    assert facts["logistic"] == {"kind": "lasso", "C": 1.0, "class_weight": "balanced"}
    assert facts["softmax"] == {"kind": "ridge", "C": 0.5}
    assert facts["logistic-cv"]["chosen_by"] == "cross-validation"
    assert facts["tweedie"] == {"kind": "ridge", "alpha": 0.1}
