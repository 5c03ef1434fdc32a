"""The examples run as their README says, and tell what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("retrain.py", ["v2 is more accurate than v1 on these data.", "area"]),
        ("point_score.py", ["from zero (optimal)", "point by point (optimal)", "more accurate"]),
        ("credit_score.py", ["The candidate is more accurate than the champion", "rate: ", "(threshold): "]),
    ],
)
def test_an_example_runs(script, says, tmp_path):
    done = subprocess.run([sys.executable, EXAMPLES / script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert all(text in done.stdout for text in says)
    assert script in (EXAMPLES / "README.md").read_text(encoding="utf-8")
