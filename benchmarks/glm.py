"""Paths of logistic and Poisson models: evaluations, time and memory, with what they must reach.

    python benchmarks/glm.py [--quick]

Every figure is of this run, each case in a process of its own: the proof against evaluating all sets one by one on the same
rows, and a whole report on a million rows from a parquet file. The time of a proof includes the least cost over all models.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

KINDS = ("logistic", "poisson")
PROOF_ROWS, PROOF_UNITS, MUST_EVALUATIONS, MUST_RATIO = 100_000, 12, 150, 1 / 20
MUST_AGREE = 1e-12
LARGE_ROWS, LARGE_UNITS, MUST_SECONDS, MUST_GIGABYTES = 1_000_000, 10, 10.0, 2.0


def main() -> None:
    """Run every case as a child, print a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        name, kind, seed = options.case.split(",")
        print(json.dumps({"proof": _proof, "solve": _solve, "report": _report}[name](kind, int(seed))))
        return
    reached = []
    for kind in KINDS:
        large = f"{kind}, {LARGE_ROWS:,} rows, D={LARGE_UNITS}"
        seeds = range(1 if options.quick else 3)
        reached += [_tell_proof(kind, seed, _child("proof", kind, seed)) for seed in seeds]
        reached.append(_tell_large(f"{large}, path from arrays", _child("solve", kind, 0)))
        reached.append(_tell_large(f"{large}, whole report from parquet", _child("report", kind, 0)))
    if not all(reached):
        raise SystemExit(1)


def _tell_proof(kind: str, seed: int, found: dict[str, Any]) -> bool:
    ratio = found["seconds"] / found["one_by_one"]
    proved = found["status"] == "optimal" and abs(found["too_much"]) <= MUST_AGREE
    reached = proved and found["evaluations"] <= MUST_EVALUATIONS and ratio <= MUST_RATIO
    print(
        f"{kind}, {PROOF_ROWS:,} rows, D={PROOF_UNITS}, seed {seed}: {found['status']} from {found['evaluations']} "
        f"evaluations, {found['seconds']:.2f} s; all {1 << PROOF_UNITS:,} sets one by one {found['one_by_one']:.1f} s: "
        f"ratio {ratio:.4f}, their best order is {'the same' if proved else 'NOT the same'}   "
        f"must reach ≤ {MUST_EVALUATIONS}, ≤ {MUST_RATIO}   {_mark(reached)}",
        flush=True,
    )
    return reached


def _tell_large(title: str, found: dict[str, Any]) -> bool:
    reached = found["status"] == "optimal" and found["seconds"] <= MUST_SECONDS and found["gigabytes"] <= MUST_GIGABYTES
    print(
        f"{title}: {found['status']} from {found['evaluations']} evaluations, {found['seconds']:.2f} s, "
        f"{found['gigabytes']:.2f} GB   must reach ≤ {MUST_SECONDS} s, ≤ {MUST_GIGABYTES} GB   {_mark(reached)}",
        flush=True,
    )
    return reached


def _mark(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def _child(name: str, kind: str, seed: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--case", f"{name},{kind},{seed}"]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def _rows(kind: str, rows: int, units: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Columns with correlation 0.5 between neighbours, an old and a new model, and targets that the new one draws.

    The models are the same for any number of rows.
    """
    rng = np.random.default_rng(seed)
    size = units - 1
    start = np.append(-1.0, 0.4 * rng.normal(size=size))
    target = start + 0.3 * rng.normal(size=units)
    correlation = 0.5 ** np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    columns = rng.normal(size=(rows, size)) @ np.linalg.cholesky(correlation).T
    score = target[0] + columns @ target[1:]
    if kind == "logistic":
        outcome = (rng.random(rows) < 1.0 / (1.0 + np.exp(-score))).astype(float)
    else:
        outcome = rng.poisson(np.exp(score)).astype(float)
    return columns, outcome, start, target


def _problem(kind: str, rows: int, units: int, seed: int) -> Any:  # noqa: ANN401 - PathProblem
    from coordpath_governance.costs import GlmCost, RowsInMemory, family_of
    from coordpath_governance.paths import PathProblem

    columns, outcome, start, target = _rows(kind, rows, units, seed)
    cost = GlmCost(family_of(kind), RowsInMemory(np.column_stack([np.ones(rows), columns]), outcome))
    names = ("(baseline)", *(f"x{j}" for j in range(units - 1)))
    return PathProblem(features=names, cost=cost, start=start, target=target)


def _proof(kind: str, seed: int) -> dict[str, Any]:
    from coordpath_governance.paths import solve_problem

    problem = _problem(kind, PROOF_ROWS, PROOF_UNITS, seed)
    begin = time.perf_counter()
    solution = solve_problem(problem)
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    costs = [
        float(problem.cost.values(np.where(moved, problem.target, problem.start)[None, :])[0])
        for moved in itertools.product((False, True), repeat=PROOF_UNITS)
    ]
    one_by_one = time.perf_counter() - begin
    return {
        "status": solution.status,
        "evaluations": len(problem.sets.evaluations),
        "seconds": seconds,
        "one_by_one": one_by_one,
        "too_much": solution.objective / _least_sum(np.array(costs)) - 1.0,
    }


def _least_sum(costs: Any) -> float:  # noqa: ANN401 - an array
    """Σc along the best order, from the costs of all sets: the plain programme over them."""
    total = np.zeros(len(costs))
    for number in range(1, len(costs)):
        before = min(total[number ^ (1 << u)] for u in range(PROOF_UNITS) if number >> u & 1)
        total[number] = before + costs[number]
    return float(total[-1])


def _solve(kind: str, seed: int) -> dict[str, Any]:
    from coordpath_governance.paths import solve_problem

    problem = _problem(kind, LARGE_ROWS, LARGE_UNITS, seed)
    begin = time.perf_counter()
    solution = solve_problem(problem)
    return _large(solution.status, len(problem.sets.evaluations), time.perf_counter() - begin)


def _report(kind: str, seed: int) -> dict[str, Any]:
    """From two models and a file to the three documents; the file is written by another process, which took memory too."""
    import coordpath_governance as cg

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        subprocess.run([sys.executable, "-c", _WRITE, str(ROOT / "benchmarks"), kind, str(seed), str(path)], check=True)
        _, _, start, target = _rows(kind, 10, LARGE_UNITS, seed)
        family = {"logistic": ("binomial", "logit", ("0", "1"))}.get(kind, (kind, "log", ()))
        old, new = (
            cg.LinearModel(
                float(beta[0]),
                tuple(cg.NumericTerm(f"x{j}", float(value)) for j, value in enumerate(beta[1:])),
                family=family[0],
                link=family[1],
                classes=family[2],
            )
            for beta in (start, target)
        )
        begin = time.perf_counter()
        report = cg.explain_change(old, new, data=path, target="y", role="holdout")
        report.to_bytes(), report.to_html(), report.to_markdown()
        seconds = time.perf_counter() - begin
    document = report.document
    return _large(document.path.status, len(document.problem["cost"]["record"]["evaluations"]), seconds)


_WRITE = """
import sys
sys.path.insert(0, sys.argv[1])
import pandas as pd
from glm import LARGE_ROWS, LARGE_UNITS, _rows
columns, outcome, _, _ = _rows(sys.argv[2], LARGE_ROWS, LARGE_UNITS, int(sys.argv[3]))
frame = pd.DataFrame(columns, columns=[f"x{j}" for j in range(LARGE_UNITS - 1)]).assign(y=outcome.astype(int))
frame.to_parquet(sys.argv[4])
"""


def _large(status: str, evaluations: int, seconds: float) -> dict[str, Any]:
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    return {"status": status, "evaluations": evaluations, "seconds": seconds, "gigabytes": gigabytes}


if __name__ == "__main__":
    main()
