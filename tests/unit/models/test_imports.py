"""Reading models needs neither scikit-learn nor skops nor MLflow, and imports nothing that a model names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
ARCHIVE = ROOT / "tests" / "golden" / "skops" / "sklearn-1.5-selectors.skops"
HEAVY = ("sklearn", "skops", "mlflow", "pandas", "jinja2", "gurobipy", "scipy")


def test_heavy_packages_are_not_imported():
    script = (
        "import sys; from pathlib import Path; import coordpath_governance.models as m; "
        f"m.fold_stored(m.read_archive(Path({str(ARCHIVE)!r}))); "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_everything_exported_exists():
    import coordpath_governance.models as models

    assert all(hasattr(models, name) for name in models.__all__)
