"""Reading models needs neither scikit-learn nor statsmodels nor skops nor MLflow, and imports nothing that a model names."""

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


def test_a_statsmodels_result_is_read_without_statsmodels():
    results = ROOT / "tests" / "golden" / "statsmodels" / "statsmodels-0.14.zip"
    script = (
        "import sys, zipfile; from coordpath_governance.models.pickle_objects import read_pickle_bytes; "
        "from coordpath_governance.models.statsmodels_folding import fold_result; "
        f"data = zipfile.ZipFile({str(results)!r}).read('f-ols-bare.5.pkl'); "
        "print(fold_result(read_pickle_bytes(data)).estimator); "
        f"print([name for name in ('statsmodels', 'patsy', 'formulaic', 'pyarrow', *{HEAVY!r}) if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["OLS", "[]"]


def test_everything_exported_exists():
    import coordpath_governance.models as models

    assert all(hasattr(models, name) for name in models.__all__)
