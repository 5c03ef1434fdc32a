"""Time, memory and gap of the path solvers, with what they must reach.

    python benchmarks/paths.py [--quick]

Features are AR(ρ); the change is a retrain: start and target are least-squares fits on two samples. Every measured row
runs in a process of its own, so that peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def retrain(size: int, *, correlation: float = 0.9, seed: int = 0, rows: int = 1000, **more: object) -> dict[str, Any]:
    """A problem document: champion and candidate fitted on two samples, cost on the second."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(correlation ** np.abs(np.subtract.outer(np.arange(size), np.arange(size))))
    truth = rng.standard_normal(size)
    fits, moments = [], ()
    for drift in (0.0, 0.1):
        features = rng.standard_normal((rows, size)) @ root.T
        y = features @ (truth + drift * rng.standard_normal(size)) + 2.0 * rng.standard_normal(rows)
        fits.append(np.linalg.lstsq(features, y, rcond=None)[0])
        moments = features.T @ features / rows, features.T @ y / rows, float(y @ y / rows)
    gram, linear, constant = moments
    return {
        "features": [f"x{i}" for i in range(size)],
        "cost": {"gram": gram.tolist(), "linear": linear.tolist(), "constant": constant},
        "start": fits[0].tolist(),
        "target": fits[1].tolist(),
        **more,
    }


def solve_by_gurobi(document: dict[str, Any]) -> tuple[float, float]:
    """Seconds and excess objective of the 0/1 chain model: indicators that only grow, level k has k ones."""
    import gurobipy

    from coordpath_governance.paths import parse_problem
    from coordpath_governance.paths.set_function import build_set_function

    function = build_set_function(parse_problem(document))
    size, linear, quadratic = function.size, function.linear, function.quadratic
    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        model.Params.MIPGap = 1e-6
        model.Params.TimeLimit = 60
        x = model.addMVar((size - 1, size), vtype="B")
        for k in range(size - 1):
            model.addConstr(x[k].sum() == k + 1)
            if k:
                model.addConstr(x[k] >= x[k - 1])
        model.setObjective(sum(linear @ x[k] + x[k] @ quadratic @ x[k] for k in range(size - 1)))
        begin = time.perf_counter()
        model.optimize()
        seconds = time.perf_counter() - begin
        total = model.ObjVal + (size - 1) * function.e0 + function.excess(range(size))
    return seconds, float(np.ldexp(total, function.exponent))


def compare_with_gurobi(seeds: int) -> list[tuple[str, str, str, str]]:
    """Both solvers on the same problems of D = 13, in one run."""
    from coordpath_governance.paths import solve

    ratios, ours_all, theirs_all = [], [], []
    for seed in range(seeds):
        document = retrain(13, seed=seed)
        solve(document)
        begin = time.perf_counter()
        solution = solve(document)
        ours = time.perf_counter() - begin
        theirs, excess = solve_by_gurobi(document)
        own = solution.certificate.objective - 13 * solution.problem.cost.minimum()
        if own > excess * (1 + 1e-5) or (theirs < 59 and own < excess * (1 - 1e-5)):
            raise SystemExit(f"seed {seed}: the two disagree: {own} and {excess}")
        ratios.append(ours / theirs)
        ours_all.append(ours)
        theirs_all.append(theirs)
    return [
        (
            f"D=13 against Gurobi's 0/1 chain, median of {seeds}",
            f"{statistics.median(ours_all):.4f} s and {statistics.median(theirs_all):.2f} s",
            f"ratio {statistics.median(ratios):.5f} (worst {max(ratios):.5f})",
            "ratio ≤ 0.01",
        )
    ]


def measure(document: dict[str, Any]) -> dict[str, Any]:
    """Solve one document in this process: seconds, what the solving added to peak memory, certificate."""
    from coordpath_governance.paths import solve

    solve(retrain(4))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    certificate = solve(document).certificate
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": seconds,
        "peak": peak / 1e6,
        "added": (peak - before) / 1e6,
        "gap": certificate.gap,
        "status": certificate.status,
    }


def measure_apart(size: int, **more: object) -> dict[str, Any]:
    """`measure` in a fresh process."""
    request = json.dumps({"size": size, **more})
    command = [sys.executable, __file__, "--measure", request]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout))


CASES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("D=20, every unit once", {"size": 20}, "≤ 0.2 s"),
    ("D=22, every unit once", {"size": 22}, "≤ 0.4 s"),
    ("D=24, every unit once", {"size": 24}, "≤ 1.2 s, ≤ 0.4 GB"),
    ("D=30, best 10 + rest", {"size": 30, "max_steps": 10}, "optimal in about 5 s"),
    ("D=50, best 10 + rest", {"size": 50, "max_steps": 10}, "a stated gap"),
    ("D=200, best 10 + rest", {"size": 200, "max_steps": 10}, "a stated gap"),
    ("D=30, every unit once", {"size": 30}, "a stated gap"),
    ("D=50, every unit once", {"size": 50}, "a stated gap"),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="three seeds against Gurobi instead of five")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(retrain(**json.loads(arguments.measure)))))
        return
    rows = compare_with_gurobi(3 if arguments.quick else 5)
    for title, request, must in CASES:
        seen = measure_apart(**request)
        figures = f"{seen['peak']:.2f} GB peak, gap {seen['gap']:.2%} ({seen['status']})"
        rows.append((title, f"{seen['seconds']:.2f} s", figures, must))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in [("problem", "time", "measured", "must reach"), *rows]:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)))


if __name__ == "__main__":
    main()
