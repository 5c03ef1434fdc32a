"""Settings of MLmodel and requirements, changed in their text."""

from __future__ import annotations

import pytest
import yaml

from coordpath_governance.errors import ModelReadError, UpdateError
from coordpath_governance.models.mlmodel_text import setting, with_requirement, with_settings

TEXT = """flavors:
  python_function:
    loader_module: mlflow.sklearn
    model_path: model.pkl
  sklearn:
    pickled_model: model.pkl
    skops_trusted_types:
    - a.B
    - c.D
    sklearn_version: 1.9.1
model_id: null
model_size_bytes: 12
signature:
  inputs: '[{"type": "double", "name":
    "a"}]'
empty:
last: x
"""


def test_settings_change_and_all_else_stays():
    changes = {
        ("flavors", "sklearn", "pickled_model"): "model.skops",
        ("flavors", "sklearn", "serialization_format"): "skops",
        ("flavors", "sklearn", "skops_trusted_types"): ("x.Y", "é"),
        ("model_id",): "m-1",
        ("model_size_bytes",): 15,
        ("empty",): None,
        ("last",): "y",
        ("added",): "z",
    }
    expected = yaml.safe_load(TEXT)
    expected["flavors"]["sklearn"] |= {
        "pickled_model": "model.skops",
        "serialization_format": "skops",
        "skops_trusted_types": ["x.Y", "é"],
    }
    expected |= {"model_id": "m-1", "model_size_bytes": 15, "last": "y", "added": "z"}
    text = with_settings(TEXT, changes, "MLmodel")
    assert yaml.safe_load(text) == expected
    assert with_settings(text, changes, "MLmodel") == text
    assert set(TEXT.splitlines()) - set(text.splitlines()) == {
        "    skops_trusted_types:",
        "    pickled_model: model.pkl",
        "    - a.B",
        "    - c.D",
        "model_id: null",
        "model_size_bytes: 12",
        "empty:",
        "last: x",
    }


def test_settings_are_read():
    assert (setting(TEXT, "model_size_bytes", "x"), setting(TEXT, "none", "x")) == ("12", None)


@pytest.mark.parametrize("text", ["{a: 1}\n", "- a\n", "", "a: 1\n"])
def test_another_layout_is_refused(text):
    with pytest.raises(UpdateError, match="MLmodel: it is not laid out as MLflow writes it"):
        with_settings(text, {("b", "c"): 1}, "MLmodel")


def test_aliases_are_refused():
    with pytest.raises(ModelReadError, match="aliases"):
        with_settings("a: &x 1\nb: *x\n", {("a",): 2}, "MLmodel")


@pytest.mark.parametrize(
    ("lines", "added"),
    [
        (["mlflow==3.1"], True),
        (["skops"], False),
        (["skops==0.13"], False),
        (["skops >= 0.13"], False),
        (["skops[all]"], False),
        (["skopsis", "skops-more", "skops.x"], True),
        ([], True),
    ],
)
def test_a_requirement_is_added_once(lines, added, tmp_path):
    (tmp_path / "requirements.txt").write_text("".join(f"{line}\n" for line in lines))
    listed = "".join(f"  - {line}\n" for line in lines)
    (tmp_path / "conda.yaml").write_text(f"dependencies:\n- python=3.11\n- pip:\n{listed}name: env\n")
    with_requirement(tmp_path, "skops")
    assert (tmp_path / "requirements.txt").read_text().split("\n")[:-1] == [*lines, *(["skops"] if added else [])]
    pip = yaml.safe_load((tmp_path / "conda.yaml").read_text())["dependencies"][1]["pip"]
    assert sorted(pip) == sorted([*lines, *(["skops"] if added else [])])


def test_a_folder_without_requirements_stays_without(tmp_path):
    (tmp_path / "conda.yaml").write_text("dependencies:\n- python=3.11\n")
    with_requirement(tmp_path, "skops")
    assert [path.name for path in tmp_path.iterdir()] == ["conda.yaml"]
    assert (tmp_path / "conda.yaml").read_text() == "dependencies:\n- python=3.11\n"
