"""Time, memory and gap of the path solvers, with what they must reach.

    python benchmarks/paths.py [--quick] [--only TEXT]

Every row is solved in a process of its own, so that peak memory is its own; a row of several problems shows the worst.
Gurobi solves the same problems in the same run, through the solver named `gurobi`.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from plain_gurobi import solve_plainly  # noqa: E402 - beside this file
from problems import (  # noqa: E402 - beside this file
    breast_cancer,
    breast_cancer_retrain,
    factors,
    free_end,
    integers,
    prestige,
    retrain,
)

Document = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """Problems of one kind and the figures that each of them must reach."""

    title: str
    documents: tuple[Document, ...]
    seconds: float
    gap: float = 1e-6
    gigabytes: float = 4.0


def cases(quick: bool) -> Iterator[Case]:
    """All rows, made one at a time."""
    seeds = range(1 if quick else 3)

    def retrains(size: int, **more: object) -> tuple[Document, ...]:
        return tuple(retrain(size, seed=seed, **more) for seed in seeds)

    yield Case("every unit once, D=20", retrains(20), 0.2)
    yield Case("every unit once, D=22", retrains(22), 0.4)
    yield Case("every unit once, D=24", retrains(24), 1.2, gigabytes=0.4)
    yield Case("every unit once, D=26", retrains(26), 4.0, gigabytes=0.8)
    for size, seconds in ((30, 10.0), (36, 20.0)):
        for design in ("AR 0.5", "AR 0.9", "equicorrelated", "one-hot"):
            yield Case(f"every unit once, D={size}, {design}", retrains(size, design=design), seconds)
    yield Case("every unit once, breast cancer, D=30", (breast_cancer(),), 60.0)
    real = tuple(breast_cancer_retrain(seed) for seed in seeds)
    yield Case("every unit once, breast cancer retrain, D=30", real, 60.0, gigabytes=2.0)
    for drift in (0.3, 0.5):
        drifting = tuple(factors(60, seed=seed, drift=drift, time_limit=10) for seed in range(1 if quick else 2))
        yield Case(f"every unit once, factors, drift {drift}, D=60, 10 s", drifting, kept(10), gap=0.05)
    yield Case("best 10 + rest, D=30", retrains(30, max_steps=10), 5.0)
    yield Case("best 10 + rest, D=50", retrains(50, max_steps=10), 20.0)
    yield Case("best 10 + rest, D=200", retrains(200, max_steps=10), 20.0, gap=0.05)
    for size, gap in ((50, 0.2), (200, 0.4)):
        for limit in (10, 30, 60):
            title = f"every unit once, D={size}, {limit} s"
            yield Case(title, (retrain(size, time_limit=limit),), kept(limit), gap=gap)
    for more in ({}, {"max_steps": 10}):
        title = f"{'best 10 + rest' if more else 'every unit once'}, D=300, 2 s"
        yield Case(title, (retrain(300, time_limit=2, **more), factors(300, time_limit=2, **more)), kept(2), gap=1.0)
    for size, gap in ((100, 0.01), (200, 0.03)):
        documents = tuple(factors(size, seed=seed, max_steps=10, time_limit=20) for seed in seeds)
        yield Case(f"best 10 + rest, factors, D={size}, 20 s", documents, kept(20), gap=gap)
    for size, spare, seconds in ((10, 1, 0.1), (8, 2, 0.5)):
        for name, more in (
            ("AR 0.9", {}),
            ("AR 0.99", {"design": "AR 0.99"}),
            ("dependent columns", {"dependent": True}),
        ):
            yield Case(f"revisits, D={size}, r={spare}, {name}", retrains(size, steps=size + spare, **more), seconds)
    for size, terms, seconds in ((10, 10, 0.1), (20, 10, 0.5), (30, 6, 5.0)):
        for design in ("AR 0.5", "AR 0.9"):
            documents = tuple(free_end(size, terms, design=design, seed=seed) for seed in seeds)
            yield Case(f"free end, d={size}, K={terms}, {design}", documents, seconds)
    yield Case("integer steps within ±5, d=8, K=8", tuple(integers(8, 8, 5, seed=seed) for seed in range(3)), 5.0)


def kept(limit: float) -> float:
    """The seconds that a time limit may take at most."""
    return 1.05 * limit + 0.3


def measure(document: Document) -> dict[str, Any]:
    """Solve one document in this process: seconds, peak memory, certificate."""
    from coordpath_governance.paths import solve

    solve(retrain(4))
    solve(retrain(4, steps=5))
    begin = time.perf_counter()
    certificate = solve(document).certificate
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"seconds": seconds, "peak": peak, **vars(certificate)}


def measure_apart(document: Document) -> dict[str, Any]:
    """`measure` in a fresh process."""
    command = [sys.executable, __file__, "--measure"]
    run = subprocess.run(command, input=json.dumps(document), capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout))


def row_of(case: Case) -> tuple[str, str, str, str]:
    """The worst figures of a case, and whether they reach what they must."""
    seen = [measure_apart(document) for document in case.documents]
    seconds, gap, peak = (max(each[name] for each in seen) for name in ("seconds", "gap", "peak"))
    reached = seconds <= case.seconds and gap <= case.gap and peak <= case.gigabytes
    proved = sum(each["status"] == "optimal" for each in seen)
    figures = f"{seconds:6.3f} s  {peak:.2f} GB  gap {gap:7.2%}  proved {proved} of {len(seen)}"
    must = f"≤ {case.seconds:g} s, " + ("proved" if case.gap <= 1e-6 else f"gap ≤ {case.gap:.0%}")
    must += f", ≤ {case.gigabytes:g} GB" if case.gigabytes < 4 else ""
    return case.title, figures, must, "reached" if reached else "MISSED"


def against_gurobi(title: str, documents: list[Document], must: float | None = 0.01) -> tuple[str, str, str, str]:
    """Both solvers on the same problems, the second time each; objectives must agree."""
    from coordpath_governance.paths import solve

    ratios = []
    for document in documents:
        seconds, objectives, bounds = [], [], []
        for name in ("auto", "gurobi"):
            problem = {**document, "solver": name, "time_limit": 120}
            begin = time.perf_counter()
            certificate = solve(problem).certificate
            if name == "auto":
                begin = time.perf_counter()
                certificate = solve(problem).certificate
            seconds.append(time.perf_counter() - begin)
            objectives.append(certificate.objective)
            bounds.append(certificate.lower_bound)
        if max(bounds) > min(objectives) + 1e-5 * abs(min(objectives)):
            raise SystemExit(f"{title}: a bound of one solver is above the path of the other: {bounds}, {objectives}")
        ratios.append(seconds[0] / seconds[1])
    median = statistics.median(ratios)
    figures = f"{seconds[0]:.4f} s and {seconds[1]:.2f} s  ratio {median:.5f} (worst {max(ratios):.5f})"
    if must is None:
        return title, figures, "for comparison", ""
    return title, figures, f"ratio ≤ {must:g}", "reached" if median <= must else "MISSED"


def against_the_papers_model(title: str, document: Document) -> tuple[str, str, str, str]:
    """Ours, proved, against the paper's model as it is printed: medians of five turns, it once and ours five times."""
    from coordpath_governance.paths import solve

    solve(document)
    turns: list[tuple[float, float]] = []
    for _ in range(5):
        theirs, objective, bound = solve_plainly(document)
        ours = []
        for _ in range(5):
            begin = time.perf_counter()
            certificate = solve(document).certificate
            ours.append(time.perf_counter() - begin)
        turns.append((statistics.median(ours), theirs))
    mine, theirs = (statistics.median(times) for times in zip(*turns, strict=True))
    if (
        certificate.status != "optimal"
        or certificate.objective > objective * (1 + 1e-6)
        or bound > certificate.objective + 1e-6
    ):
        raise SystemExit(f"{title}: the two disagree: {certificate} and {objective}, {bound}")
    figures = f"{mine:.4f} s and {theirs:.2f} s  ratio {mine / theirs:.5f}"
    return title, figures, "ratio ≤ 0.01", "reached" if mine / theirs <= 0.01 else "MISSED"


def local_against_auto(title: str, document: Document) -> tuple[str, str, str, str]:
    """The paper's Algorithm 1 against what proves its result, turn by turn: medians of fifteen."""
    from coordpath_governance.paths import solve

    seconds: dict[str, list[float]] = {"auto": [], "local": []}
    for _ in range(15):
        for name, times in seconds.items():
            begin = time.perf_counter()
            solve({**document, "solver": name})
            times.append(time.perf_counter() - begin)
    proved, local = (statistics.median(times) for times in seconds.values())
    figures = f"{local:.4f} s and {proved:.4f} s  ratio {local / proved:.2f}"
    return title, figures, "ratio ≤ 5", "reached" if local <= 5 * proved else "MISSED"


def walked(title: str, documents: list[Document]) -> tuple[str, str, str, str]:
    """A person who walks paths: the worst time from a choice to the rest solved again, and how many answers are proved."""
    from coordpath_governance.one_thread import one_thread
    from coordpath_governance.paths import parse_problem
    from coordpath_governance.paths.exploring import Exploration

    Exploration.begin(parse_problem(retrain(4)))
    seconds, proved = [], []

    def timed(choose: Callable[[], Exploration]) -> Exploration:
        begin = time.perf_counter()
        exploration = choose()
        seconds.append(time.perf_counter() - begin)
        proved.append(exploration.solution.status == "optimal")
        return exploration

    with one_thread():
        for document in documents:
            walk = timed(partial(Exploration.begin, parse_problem(document)))
            steps = [step.label for step in walk.solution.path.steps if step.kind != "rest"]
            walk = timed(partial(walk.pin, steps[-1], 4))
            walk = timed(partial(walk.order, steps[5], steps[1]))
            walk = timed(partial(walk.forbid, steps[2]))
            for _ in range(8):
                walk = timed(walk.accept)
            walk = timed(partial(walk.pin, walk.solution.path.steps[-2].label))
            timed(walk.stop)
            timed(walk.rest)
    figures = f"{max(seconds):.3f} s (median {statistics.median(seconds):.3f} s)  proved {sum(proved)} of {len(proved)}"
    return title, figures, "≤ 0.5 s", "reached" if max(seconds) <= 0.5 else "MISSED"


def main() -> None:
    """Print the table, a row at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="one problem a row")
    parser.add_argument("--only", default="", help="rows whose title contains this text")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(json.loads(sys.stdin.read()))))
        return
    width = 50
    print(f"{'problem':{width}}  measured (worst)  |  must reach")
    chains = [retrain(13, seed=seed) for seed in range(1 if arguments.quick else 5)]
    real = [breast_cancer_retrain(seed, 13) for seed in range(1 if arguments.quick else 3)]
    walks = [retrain(30, design=design) for design in ("AR 0.5", "AR 0.9", "equicorrelated", "one-hot")]
    walks += [breast_cancer_retrain(0), breast_cancer_retrain(0, max_steps=10), factors(30), factors(30, drift=0.3)]
    rows = [
        ("against Gurobi's 0/1 chain, D=13", against_gurobi, chains),
        ("against Gurobi's 0/1 chain, breast cancer, D=13", against_gurobi, real),
        ("against Gurobi, Prestige, K=10, the paper's model", against_the_papers_model, prestige()),
        ("against Gurobi, Prestige, K=10, our model of it", partial(against_gurobi, must=None), [prestige()]),
        ("local against auto, Prestige, K=10", local_against_auto, prestige()),
        ("explore, 15 choices each, D=30", walked, walks),
    ]
    for title, compare, problems in rows:
        if arguments.only in title:
            name, *figures = compare(title, problems)
            print(f"{name:{width}}  {'  |  '.join(figures)}", flush=True)
    for case in cases(arguments.quick):
        if arguments.only in case.title:
            name, *figures = row_of(case)
            print(f"{name:{width}}  {'  |  '.join(figures)}", flush=True)


if __name__ == "__main__":
    main()
