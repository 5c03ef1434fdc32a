"""Readers that other distributions bring: found by their entry points, asked last, named, and never silently skipped."""

import json
import sys
from textwrap import dedent

import pytest

from coordpath_governance.errors import ModelReadError, ReaderPluginError, UnsupportedModelError
from coordpath_governance.models import LinearModel, NumericTerm, read_model, to_document
from coordpath_governance.models.readers import plugin_readers

GOOD = """
    from coordpath_governance.models import LinearModel, NumericTerm

    class Reader:
        def can_read(self, files):
            return "mine" in files.flavours

        def read(self, files):
            return LinearModel(1.0, numeric=(NumericTerm("a", 2.0),), source="read from the model's files")

    reader = Reader()
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution: its modules and its dist-info, in a folder of its own on the path."""
    made = []

    def installed(code, *entry_points, name="my-readers", version="1.2"):
        site = tmp_path / f"site{len(made)}"
        module = f"my_readers_{len(made)}"
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (site / f"{module}.py").write_text(dedent(code))
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = "".join(f"{point.format(module=module)}\n" for point in entry_points or ("mine = {module}:Reader",))
        (info / "entry_points.txt").write_text(f"[coordpath_governance.readers]\n{lines}")
        monkeypatch.syspath_prepend(str(site))
        made.append(module)
        plugin_readers.cache_clear()
        return module

    plugin_readers.cache_clear()
    yield installed
    plugin_readers.cache_clear()
    for module in made:
        sys.modules.pop(module, None)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "model"
    path.mkdir()
    (path / "MLmodel").write_text("flavors: {mine: {}}")
    return path


@pytest.mark.parametrize("target", ["Reader", "reader"], ids=["a class", "an object"])
def test_a_plugin_reads_what_nobody_here_does_and_is_named(install, folder, target):
    install(GOOD, f"mine = {{module}}:{target}")
    model = read_model(folder)
    assert model.numeric == (NumericTerm("a", 2.0),)
    assert model.source == "read by my-readers 1.2 (plugin mine)"


def test_it_is_imported_only_when_a_flavour_is_not_ours(install, folder):
    module = install(GOOD)
    assert [each.name for each in plugin_readers()] == ["mine"]
    (folder / "MLmodel").write_text("flavors: {sklearn: {pickled_model: model.pkl}}")
    with pytest.raises(ModelReadError):
        read_model(folder)
    (folder / "MLmodel").unlink()
    with pytest.raises(UnsupportedModelError):
        read_model(folder)
    assert module not in sys.modules


def test_it_cannot_take_over_a_flavour_of_ours(install, folder):
    install(GOOD.replace('"mine" in files.flavours', "True"))
    (folder / "MLmodel").write_text("flavors: {mine: {}, sklearn: {pickled_model: model.pkl, serialization_format: joblib}}")
    (folder / "model.pkl").write_bytes(b"")
    with pytest.raises(UnsupportedModelError, match="joblib"):
        read_model(folder)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise RuntimeError('no licence')", "it cannot be loaded (RuntimeError: no licence)"),
        ("import sys; sys.exit(3)", "it cannot be loaded (SystemExit: 3)"),
        ("import a_module_that_is_not_there", "it cannot be loaded (ModuleNotFoundError"),
        ("x = 1", "it cannot be loaded (AttributeError"),
        ("class Reader:\n def __init__(self, x): pass", "it cannot be loaded (TypeError"),
        ("class Reader:\n def can_read(self, files): return True", "it has no method 'read'"),
        ("class Reader:\n def can_read(self, f): 1/0\n def read(self, f): pass", "its 'can_read' failed (ZeroDivisionError"),
        ("class Reader:\n def can_read(self, f): return 1\n def read(self, f): 1/0", "its 'read' failed (ZeroDivisionError"),
        (
            "class Reader:\n def can_read(self, f): return 1\n def read(self, f): raise SystemExit",
            "its 'read' failed (SystemExit",
        ),
        ("class Reader:\n def can_read(self, f): return 1\n def read(self, f): return 7", "its 'read' returns int"),
        (
            GOOD.replace("2.0", "float('nan')"),
            "'numeric[0].coefficient' has nan where a finite number belongs",
        ),
        (GOOD.replace('NumericTerm("a", 2.0),', 'NumericTerm("a", 2.0), NumericTerm("a", 1.0),'), "has 'a' twice"),
        (GOOD.replace("1.0, numeric", "'x', numeric"), "where a finite number belongs"),
        (GOOD.replace('(NumericTerm("a", 2.0),)', "7"), "what it read cannot be used (TypeError"),
    ],
)
def test_a_plugin_that_fails_or_lies_is_an_error_that_names_it(install, folder, code, message):
    install(code)
    with pytest.raises(ModelReadError) as caught:
        read_model(folder)
    assert message in str(caught.value)
    if isinstance(caught.value, ReaderPluginError):
        assert "the reader plugin 'mine' of my-readers 1.2 does not work" in str(caught.value)


def test_its_own_refusal_is_passed_on(install, folder):
    install(
        """
        from coordpath_governance.errors import UnsupportedModelError

        class Reader:
            def can_read(self, files): return True
            def read(self, files): raise UnsupportedModelError("it is a forest.\\x1b[2J")
        """
    )
    with pytest.raises(UnsupportedModelError, match="it is a forest") as caught:
        read_model(folder)
    assert str(caught.value).isprintable()


def test_one_that_fails_does_not_stop_another(install, folder):
    install("raise RuntimeError", "a = {module}:Reader", name="broken")
    install(GOOD, "b = {module}:Reader")
    assert read_model(folder).source == "read by my-readers 1.2 (plugin b)"


def test_the_first_that_knows_the_model_reads_it(install, folder):
    install(GOOD, "b = {module}:Reader", "a = {module}:Reader")
    assert read_model(folder).source.endswith("(plugin a)")


def test_a_name_that_could_be_taken_for_another_format_is_refused(install, folder):
    install(GOOD, "mine) (plugin pickle = {module}:Reader")
    with pytest.raises(ReaderPluginError, match="its name has other characters"):
        read_model(folder)


def test_declared_coefficients_count_where_a_plugin_fails_too(install, folder):
    install("raise RuntimeError")
    (folder / "coefficients.json").write_text(json.dumps(to_document(LinearModel(1.0, numeric=(NumericTerm("a", 1.0),)))))
    assert read_model(folder).source == "declared by the author in coefficients.json"
