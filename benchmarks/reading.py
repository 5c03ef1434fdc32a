"""How long model files take to read: a pickle beside ``pickle.loads``, a large archive, and forged files."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import statistics
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

_SLOWER, _SECONDS = 20.0, 0.010
_NODES, _NODES_SECONDS = 300_000, 2.0
_HOSTILE_SECONDS, _HOSTILE_MEGABYTES = 2.0, 300.0


def thirty_steps() -> bytes:
    """A pipeline of thirty steps on six columns."""
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    rows = np.random.default_rng(0).normal(size=(50, 6))
    kinds = (StandardScaler, MinMaxScaler)
    steps = [(f"s{i}", kinds[i % 2]()) for i in range(29)]
    return pickle.dumps(Pipeline([*steps, ("model", Ridge())]).fit(rows, rows[:, 0]))


def archives_of(nodes: int) -> Iterator[bytes]:
    """Archives whose schema is a list of so many plain values, of lists, of types, and of lists with one and the same id."""

    def node(loader: str, class_name: str, identity: int, **content: object) -> dict[str, object]:
        return {"__class__": class_name, "__module__": "builtins", "__loader__": loader, "__id__": identity, **content}

    kinds: tuple[Callable[[int], dict[str, object]], ...] = (
        lambda i: node("JsonNode", "str", i, content="1"),
        lambda i: node("ListNode", "list", i, content=[]),
        lambda i: node("TypeNode", "int", i),
        lambda _: node("ListNode", "list", 1, content=[]),
    )
    for kind in kinds:
        schema = {**node("ListNode", "list", 0, content=[kind(i + 1) for i in range(nodes)]), "protocol": 2}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("schema.json", json.dumps(schema, separators=(",", ":")))
        yield buffer.getvalue()


def hostile_archives() -> Iterator[bytes]:
    """Small archives that unpack to much: values just within the limit and beyond it, long text, and arrays of zeros."""
    node = '{"protocol":2,"__class__":"list","__module__":"builtins","__loader__":"ListNode","content":[%s]}'
    schemas = [
        node % ",".join([part] * count) for part in ("[]", "{}", '"ab"', "1.5") for count in (2_900_000 // 2, 9_000_000)
    ]
    for schema in (*schemas, node % f'"{"a" * 30_000_000}"', node % ("[" * 200_000 + "]" * 200_000), node % ""):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("schema.json", schema)
            archive.writestr("zeros.npy", bytes(100_000_000))
        yield buffer.getvalue()


def seconds(run: Callable[[], object], times: int) -> float:
    """The median of some runs."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def against_loads() -> tuple[str, bool]:
    """Ours and Python's, turn by turn."""
    from coordpath_governance.models.pickle_objects import read_pickle_bytes
    from coordpath_governance.models.sklearn_folding import fold_stored

    data = thirty_steps()
    ways = (lambda: read_pickle_bytes(data), lambda: pickle.loads(data), lambda: fold_stored(read_pickle_bytes(data)))
    turns = [[seconds(way, 1) for way in ways] for _ in range(50)]
    ours, theirs, folded = (statistics.median(taken) for taken in zip(*turns, strict=True))
    reached = ours <= _SLOWER * theirs and folded <= _SECONDS
    told = f"{ours * 1e3:.2f} ms read, {folded * 1e3:.2f} ms with folding; pickle.loads {theirs * 1e3:.2f} ms"
    return f"a pickle of thirty steps: {told}, ratio {ours / theirs:.1f}   must reach ≤ {_SLOWER:g}, ≤ 10 ms", reached


def large_archive() -> tuple[str, bool]:
    """Many nodes: the slowest of several kinds."""
    from coordpath_governance.models.archive import read_archive_bytes

    taken = max(seconds(partial(read_archive_bytes, data), 3) for data in archives_of(_NODES))
    return f"an archive of {_NODES:,} nodes: {taken:.2f} s   must reach ≤ {_NODES_SECONDS:g} s", taken <= _NODES_SECONDS


def hostile() -> tuple[str, bool]:
    """The slowest and the largest of forged pickles and archives, each read in a process of its own."""
    from helpers.hostile_pickles import endless_pickles, hostile_pickles
    from helpers.hostile_results import hostile_results

    worst = {"seconds": 0.0, "megabytes": 0.0}
    forged = [(data, "sklearn") for _, data in (*hostile_pickles(), *endless_pickles())]
    forged += [(data, "statsmodels") for _, data in hostile_results()]
    forged += [(data, "skops") for data in (*hostile_archives(), *archives_of(_NODES))]
    for data, library in forged:
        run = subprocess.run([sys.executable, __file__, "--one", library], input=data, capture_output=True, check=True)
        for key, value in json.loads(run.stdout).items():
            worst[key] = max(worst[key], value)
    reached = worst["seconds"] <= _HOSTILE_SECONDS and worst["megabytes"] <= _HOSTILE_MEGABYTES
    told = f"{worst['seconds']:.2f} s, {worst['megabytes']:.0f} MB beyond the start"
    return f"the worst of {len(forged)} forged files: {told}   must reach ≤ {_HOSTILE_SECONDS:g} s, ≤ 300 MB", reached


def one() -> None:
    """Read what comes in, and tell what that took."""
    from coordpath_governance.errors import ModelReadError
    from coordpath_governance.models.archive import read_archive_bytes
    from coordpath_governance.models.pickle_objects import read_pickle_bytes
    from coordpath_governance.models.sklearn_folding import fold_stored
    from coordpath_governance.models.statsmodels_folding import fold_result

    fold = fold_result if "statsmodels" in sys.argv else fold_stored
    read = read_archive_bytes if "skops" in sys.argv else read_pickle_bytes
    data = sys.stdin.buffer.read()
    before, begin = peak_megabytes(), time.perf_counter()
    with contextlib.suppress(ModelReadError):
        fold(read(data))
    taken = time.perf_counter() - begin
    print(json.dumps({"seconds": taken, "megabytes": peak_megabytes() - before}))


def peak_megabytes() -> float:
    """The most memory that this process has held; what getrusage says includes the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1e3


def main() -> None:
    """A line each; 1 if one of them misses."""
    if "--one" in sys.argv:
        one()
        return
    missed = False
    for measure in (against_loads, large_archive, hostile):
        told, reached = measure()
        print(f"{told}   {'reached' if reached else 'MISSED'}", flush=True)
        missed |= not reached
    sys.exit(missed)


if __name__ == "__main__":
    main()
