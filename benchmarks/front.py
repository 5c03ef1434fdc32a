"""`coordpath front` of 30 features to 10 steps, against `import mlflow`; and the size of its page.

Fitted to 20,000 rows and scored on as many others; timed as child processes, best of two.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from report import FEATURES, best_of, mark, prepare

STEPS, MUST_SECONDS, MUST_BYTES = 10, 10.0, 400_000


def main() -> None:
    """Train two versions, price the change, print a table."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{folder}/mlflow.db"
        prepare()
        lines = Path("rows.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        Path("fit.csv").write_text("".join(lines[:20_001]), encoding="utf-8")
        Path("other.csv").write_text("".join([lines[0], *lines[20_001:40_001]]), encoding="utf-8")
        coordpath = str(Path(sys.executable).with_name("coordpath"))
        asked = [
            "--champion",
            "1",
            "--fit-data",
            "fit.csv",
            "--data",
            "other.csv",
            "--target",
            "y",
            "--max-steps",
            str(STEPS),
        ]
        seconds = best_of([coordpath, "front", "bench", *asked, "--out", "out"], 2)
        mlflow = best_of([sys.executable, "-c", "import mlflow"], 2)
        size = Path("out/front.html").stat().st_size
        print(
            f"coordpath front, {FEATURES} features to {STEPS} steps: {seconds:.2f} s, of which import mlflow {mlflow:.2f} s"
        )
        print(
            f"  in all                  {seconds:6.2f} s   must reach ≤ {MUST_SECONDS} s   {mark(seconds <= MUST_SECONDS)}"
        )
        print(f"  front.html              {size:6,} B   must reach ≤ {MUST_BYTES:,} B   {mark(size <= MUST_BYTES)}")


if __name__ == "__main__":
    main()
