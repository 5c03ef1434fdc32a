"""The mathematics is pure: it imports numpy and scipy, and nothing that reads, stores, renders or trains."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("mlflow", "pandas", "pyarrow", "jinja2", "gurobipy", "sklearn", "pydantic", "sqlalchemy", "yaml")

SCRIPT = """
import importlib, pkgutil, sys
package = importlib.import_module("coordpath_governance.{package}")
names = [package.__name__] + [m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
for name in names:
    importlib.import_module(name)
print(len(names), [name for name in {heavy!r} if name in sys.modules])
"""


@pytest.mark.parametrize("package", ["alignment", "costs", "paths"])
def test_the_mathematics_imports_nothing_heavy(package):
    script = SCRIPT.format(package=package, heavy=HEAVY)
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    count, heavy = found.stdout.strip().split(" ", 1)
    assert int(count) > 1
    assert heavy == "[]"


def test_reading_rows_imports_pyarrow_only_when_there_are_rows():
    script = SCRIPT.format(package="alignment", heavy=HEAVY).replace(
        "for name in names",
        "names += ['coordpath_governance.reference.' + name for name in ('encode', 'measure_path')]\nfor name in names",
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip().endswith("[]")
