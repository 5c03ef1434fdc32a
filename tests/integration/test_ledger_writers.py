"""Many writers in several processes, and several that begin the ledger at once: one chain, no gap, no fork."""

import json
import subprocess
import sys
from collections import Counter

from coordpath_governance.ledger.verify import audit

PROCESSES, THREADS, EACH = 5, 10, 2

READY = """
import pathlib, sys, threading, time
from coordpath_governance.ledger.events import Refusal
from coordpath_governance.ledger.store import Ledger

url, key, folder, name = sys.argv[1:5]
folder = pathlib.Path(folder)
(folder / f"ready {name}").touch()
while not (folder / "go").exists():
    time.sleep(0.005)
"""

WRITE = (
    READY
    + """
threads, each = map(int, sys.argv[5:7])
ledger = Ledger.open(url, service_key=pathlib.Path(key))
failed = []

def write(thread):
    try:
        for at in range(each):
            body = Refusal(operation="x", alias=None, version=None, actor=None, reason=f"{name}-{thread}-{at}")
            ledger.record("refusal", body, model=f"model {thread % 4}")
    except BaseException as error:
        failed.append(repr(error))

workers = [threading.Thread(target=write, args=(thread,)) for thread in range(threads)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
sys.exit("; ".join(failed) or 0)
"""
)

OPEN = (
    READY
    + """
ledger = Ledger.open(url, service_key=pathlib.Path(key))
print(ledger.id, ledger.service.public.id, len(ledger.entries()))
"""
)


def together(script, place, folder, count, *args):
    """Run a script in several processes that begin at the same moment; what each printed."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, place.url, str(place.key), str(folder), str(name), *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in range(count)
    ]
    try:
        while len(list(folder.glob("ready *"))) < count:
            assert all(process.poll() in (None, 0) for process in processes), [p.communicate() for p in processes]
        (folder / "go").touch()
        outcomes = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [(process.returncode, err) for process, (_, err) in zip(processes, outcomes, strict=True)] == [(0, "")] * count
    return [out for out, _ in outcomes]


def test_fifty_writers_make_one_chain(place, tmp_path):
    place.open()
    together(WRITE, place, tmp_path, PROCESSES, THREADS, EACH)
    ledger = place.open()
    entries, damaged = ledger.stored()
    assert damaged == ()
    assert [entry.seq for entry in entries] == list(range(1, PROCESSES * THREADS * EACH + 2))
    found = audit(entries, ledger.blobs)
    assert found.conclusion == "intact, tail not anchored", json.dumps([str(problem) for problem in found.problems])
    told = Counter(entry.body["reason"] for entry in entries[1:])
    expected = {f"{p}-{t}-{e}" for p in range(PROCESSES) for t in range(THREADS) for e in range(EACH)}
    assert told == Counter(dict.fromkeys(expected, 1))
    for model in {entry.model for entry in entries[1:]}:
        assert [entry.model_seq for entry in ledger.entries(model)] == list(range(1, len(ledger.entries(model)) + 1))


def test_processes_that_begin_a_ledger_at_once_begin_one(place, tmp_path):
    told = together(OPEN, place, tmp_path, 4)
    assert len(set(told)) == 1
    assert told[0].split()[2] == "1"
    assert told[0].split()[0] == place.open().id
