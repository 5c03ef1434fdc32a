"""The reader table and what lies around a model: MLmodel, coefficients.json, paths."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyRegressor

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import LinearModel, NumericTerm, Provenance, read_model, register_reader, to_document
from coordpath_governance.models import readers as readers_module

MODEL = LinearModel(1.5, numeric=(NumericTerm("a", 2.0),))
DECLARED = "declared by the author in coefficients.json"


@pytest.fixture
def declared(tmp_path):
    (tmp_path / "coefficients.json").write_text(json.dumps(to_document(MODEL)))
    return tmp_path


def test_folder_with_coefficients_only(declared):
    model = read_model(declared, Provenance(name="m"))
    assert (model.intercept, model.source, model.provenance.name) == (1.5, DECLARED, "m")
    assert read_model(declared / "coefficients.json").numeric == MODEL.numeric


def test_coefficients_beside_a_pickle(declared):
    """They count if the pickle is of something that is not read, and not if it is damaged or missing."""
    (declared / "MLmodel").write_text("flavors: {sklearn: {pickled_model: model.pkl, serialization_format: pickle}}")
    (declared / "model.pkl").write_bytes(pickle.dumps(DummyRegressor().fit([[1.0]], [1.0])))
    assert read_model(declared).source == DECLARED
    (declared / "model.pkl").write_bytes(b"\x80\x05.")
    with pytest.raises(ModelReadError, match="damaged or forged"):
        read_model(declared)


def test_registered_reader(declared, monkeypatch):
    class MyReader:
        def can_read(self, files):
            return "mine" in files.flavours

        def read(self, files):
            return MODEL

    monkeypatch.setattr(readers_module, "_READERS", list(readers_module._READERS))
    reader = MyReader()
    register_reader(reader)
    register_reader(reader)
    assert readers_module._READERS.count(reader) == 1
    (declared / "MLmodel").write_text("flavors: {mine: {}}")
    assert read_model(declared).source == "read from the model's files"


def test_a_reader_that_fails_unforeseen_is_no_traceback(declared, monkeypatch):
    class Broken:
        def can_read(self, files):
            return True

        def read(self, files):
            raise IndexError("out\x1b[31m of range")

    monkeypatch.setattr(readers_module, "_READERS", [Broken()])
    with pytest.raises(ModelReadError, match=r"did not foresee \(IndexError: out.\[31m of range\)"):
        read_model(declared)


def test_nothing_to_read(tmp_path):
    with pytest.raises(UnsupportedModelError, match="neither an MLmodel file nor a coefficients"):
        read_model(tmp_path)
    with pytest.raises(ModelReadError, match="no such model folder"):
        read_model(tmp_path / "absent")
    (tmp_path / "model.pkl").write_bytes(b"")
    with pytest.raises(ModelReadError, match="neither a model's folder"):
        read_model(tmp_path / "model.pkl")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "flavors",
        "flavors: []",
        "flavors: {a: 3}",
        "{",
        "a: !!python/object:os.system {}",
        "2026-99-99",
        "flavors: {sklearn: {serialization_format: skops, pickled_model: 3}}",
        "flavors: {a: {}}\nflavors: {b: {}}",
        "flavors: {? [a] : {}}",
        "a: 0x",
        "? {}\n: 1",
        "[" * 3000,
        "&a [*a]",
        "a: &a {x: 1}\nb: {<<: [*a, *a]}",
        "flavors: {sklearn: {serialization_format: skops}}",
        "\x00",
        "a: b: c",
    ],
)
def test_damaged_mlmodel(text, tmp_path):
    (tmp_path / "MLmodel").write_text(text)
    with pytest.raises(ModelReadError):
        read_model(tmp_path)


@settings(max_examples=60, deadline=None)
@given(text=st.text(alphabet=":{}[]-&*!?|>'\"#\n \t0a~=%@`,", max_size=30))
def test_any_mlmodel_is_read_or_refused(text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "MLmodel").write_text(text)
    with pytest.raises(ModelReadError):
        read_model(folder)


def test_an_mlmodel_of_very_many_parts(tmp_path):
    (tmp_path / "MLmodel").write_text("flavors: {a: [" + "1," * 100_000 + "]}")
    with pytest.raises(ModelReadError, match="more parts than we read"):
        read_model(tmp_path)


def test_oversized_mlmodel(tmp_path, monkeypatch):
    monkeypatch.setattr("coordpath_governance.models.model_files._MAX_MLMODEL_BYTES", 10)
    (tmp_path / "MLmodel").write_text("flavors: {a: {}}")
    with pytest.raises(ModelReadError, match="more than the 10 bytes"):
        read_model(tmp_path)


def test_mlmodel_that_is_a_folder_or_a_loop(tmp_path):
    (tmp_path / "MLmodel").mkdir()
    with pytest.raises(ModelReadError, match="cannot be read"):
        read_model(tmp_path)
    (tmp_path / "MLmodel").rmdir()
    (tmp_path / "coefficients.json").symlink_to("/etc/hostname")
    with pytest.raises(ModelReadError, match="not a file of this model"):
        read_model(tmp_path)


@pytest.mark.parametrize("signature", ["3", '{"inputs": 3}', "{inputs: '[3]'}", "{inputs: '{}', outputs: '[{}, {}]'}"])
def test_odd_signatures_are_no_names(signature, declared):
    (declared / "MLmodel").write_text(f"flavors: {{other: {{}}}}\nsignature: {signature}")
    assert read_model(declared).intercept == 1.5


def test_unreadable_signature(declared):
    (declared / "MLmodel").write_text("flavors: {other: {}}\nsignature: {inputs: '['}")
    with pytest.raises(ModelReadError, match="signature: is not JSON"):
        read_model(declared)


def test_messages_are_safe_to_print(tmp_path):
    names = ["\\e[31mred\\n", *(f"{number}" + "x" * 500 for number in range(9))]
    (tmp_path / "MLmodel").write_text("flavors:\n" + "".join(f'  "{name}": {{}}\n' for name in names))
    with pytest.raises(UnsupportedModelError) as caught:
        read_model(tmp_path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1100
