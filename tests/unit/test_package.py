"""The package's surface: light to import, everything exported is there, the laws of errors hold."""

import inspect
import subprocess
import sys

import pytest

import coordpath_governance as cg
from coordpath_governance import errors, models
from coordpath_governance.canonical import canonical_bytes, read_json

LATE = ("mlflow", "pandas", "pyarrow", "jinja2", "gurobipy", "sklearn", "pydantic", "scipy", "numpy")


@pytest.mark.parametrize("package", [cg, models])
def test_every_exported_name_is_there(package):
    assert [name for name in package.__all__ if getattr(package, name) is None] == []


@pytest.mark.parametrize("package", [cg, models])
def test_a_name_that_is_not_exported_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name


def test_dir_lists_what_is_exported():
    assert dir(cg) == sorted(cg.__all__)


def test_importing_the_package_loads_nothing_heavy():
    script = f"import sys, coordpath_governance; print([n for n in {LATE!r} if n in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_error_has_the_common_base_a_standard_class_and_an_exit_code():
    leaves = [e for _, e in inspect.getmembers(errors, inspect.isclass) if e is not errors.CoordpathError]
    assert len(leaves) == len(errors.__all__) - 1
    for leaf in leaves:
        assert issubclass(leaf, errors.CoordpathError)
        assert leaf.exit_code in (1, 2, 3, 4)
        assert any(base.__module__ == "builtins" and base is not object for base in leaf.__mro__[1:-3])


def test_canonical_json_has_one_form_and_no_nan():
    assert canonical_bytes({"b": 1.0, "a": ["ü", None]}) == '{"a":["ü",null],"b":1.0}\n'.encode()
    with pytest.raises(ValueError, match="Out of range"):
        canonical_bytes(float("nan"))


def test_canonical_json_reads_back():
    document = {"x": [0.1, 1e-300, 12345678901234567890], "y": {"z": "…"}}
    assert read_json(canonical_bytes(document), "it", errors.UsageError) == document
