"""The command line in processes of its own: solve, verify, help, interruption, and what may not be imported."""

import json
import os
import signal
import subprocess
import sys
from functools import reduce
from operator import getitem

import numpy as np
import pytest
from helpers.forging import changed, forge, leaves, reread

import coordpath_governance as cg
from coordpath_governance.cli import main as command_line
from coordpath_governance.cli import solve_command

PROBLEM = {
    "schema": "coordpath.problem/1",
    "features": ["a", "b"],
    "cost": {"kind": "quadratic", "gram": [[1, 0.9], [0.9, 1]], "linear": [1.274, 0.968], "constant": 2.04096},
    "start": [0, 0],
    "target": [2.12, -0.94],
    "steps": {"min": 2, "max": 4},
}


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(PROBLEM), encoding="utf-8")
    return path


def test_solve_a_file_and_standard_input_and_into_a_file(spawn, problem, tmp_path):
    direct = spawn("solve", problem)
    assert direct.code == 0
    path = json.loads(direct.out)
    assert path["schema"] == "coordpath.path/1"
    assert path["objective"] == pytest.approx(1.275742, abs=1e-6)
    assert path == cg.solve(PROBLEM).to_dict()
    assert spawn("solve", "-", stdin=b"\xef\xbb\xbf" + problem.read_bytes()).out == direct.out
    assert path["lower_bound"] <= path["objective"] + 1e-9
    written = spawn("solve", problem, "-o", tmp_path / "path.json")
    assert (written.code, written.out) == (0, "")
    assert (tmp_path / "path.json").read_text(encoding="utf-8") == direct.out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not JSON: line 1"),
        ("", "not JSON"),
        ("[]", "give an object"),
        ("{}", "features: is missing"),
        ('{"features": [], "features": []}', "is there twice"),
        ('{"features": ["a"], "cost": NaN}', "cost: is NaN; give a finite number"),
        ('{"features": ["a"], "cost": {"gram": [[1]], "linear": [1]}, "steps": 1, "solver": "direct"}', "solver: 'direct'"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        (b"\xff\xfe", "not UTF-8"),
        ('{"features": ["\\u001b[31mred"], "oops\\u001b[31m": 1}', "oops"),
    ],
)
def test_a_bad_problem_is_wrong_use(coordpath, tmp_path, content, says):
    path = tmp_path / "bad.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    outcome = coordpath("solve", path)
    assert outcome.code == 2
    assert says in outcome.err
    assert "\x1b" not in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("solve", "{folder}/none.json"), "there is no file"),
        (("solve", "{folder}"), "cannot read"),
        (("solve",), "Missing argument"),
        (("solve", "{problem}", "-o", "{folder}"), "is a directory"),
        (("solve", "{problem}", "-o", "{folder}/no/such/path.json"), "cannot write"),
        (("verify", "{folder}/none.json"), "there is no file"),
        (("verify", "{folder}"), "there is no change_report.json in"),
        (("verify", "{problem}"), "not a change report: its schema is 'coordpath.problem/1'"),
        (("sovle",), "No such command"),
        (("solve", "--nope"), "No such option"),
        (("report",), "Missing argument 'NAME'"),
        (("report", "x", "--role", "nobody"), "nobody"),
    ],
)
def test_wrong_use_is_2(coordpath, problem, tmp_path, args, says):
    outcome = coordpath(*(arg.format(folder=tmp_path, problem=problem) for arg in args))
    assert outcome.code == 2
    assert says in outcome.err


@pytest.mark.parametrize("command", [(), ("demo",), ("report",), ("solve",), ("verify",)])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(coordpath, command, flag):
    outcome = coordpath(*command, flag)
    assert outcome.code == 0
    assert outcome.out.startswith("Usage: coordpath")
    assert outcome.err == ""


def test_version(spawn):
    assert spawn("--version").out.strip() == f"coordpath, version {cg.__version__}"


def test_solve_and_help_import_nothing_heavy(problem):
    script = f"""
import sys
from coordpath_governance.cli.main import _run
for args in (["--help"], ["solve", {str(problem)!r}]):
    sys.argv = ["coordpath", *args]
    assert _run() == 0
heavy = {{"mlflow", "pandas", "gurobipy", "sklearn", "pyarrow", "jinja2", "pydantic", "requests"}} & set(sys.modules)
sys.exit(", ".join(sorted(heavy)) or 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_terminal_that_cannot_show_a_character_stops_nothing(spawn, tmp_path, encoding):
    path = tmp_path / "problem.json"
    path.write_text(json.dumps({**PROBLEM, "features": ["→ β", "b"]}), encoding="utf-8")
    outcome = spawn("solve", path, env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
    assert outcome.code == 0
    assert spawn("solve", tmp_path / "→.json", env={"PYTHONIOENCODING": encoding}).code == 2


def slow_problem(tmp_path):
    """Far more steps than can be proved at once, and nearly all the time in the world."""
    rng = np.random.default_rng(1)
    n = 300
    root = rng.normal(size=(n, n)) + 2.0
    document = {
        "features": [f"f{i}" for i in range(n)],
        "cost": {"gram": (root.T @ root).tolist(), "linear": rng.normal(size=n).tolist(), "constant": 1e6},
        "start": rng.normal(size=n).tolist(),
        "target": rng.normal(size=n).tolist(),
        "solver": "exact",
        "time_limit": 3600,
    }
    path = tmp_path / "slow.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def long_gurobi_problem(tmp_path):
    """Small enough for any Gurobi licence, and many seconds of work for it."""
    rng = np.random.default_rng(1)
    n = 8
    gram = 0.9 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    best = rng.normal(size=n)
    document = {
        "features": [f"f{i}" for i in range(n)],
        "cost": {"gram": gram.tolist(), "linear": (gram @ best).tolist(), "constant": float(best @ gram @ best) + 1},
        "target": rng.normal(size=n).tolist(),
        "steps": n + 4,
        "solver": "gurobi",
    }
    path = tmp_path / "long.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def interrupt(*args, at):
    """Run `coordpath solve` and press Ctrl-C when its progress tells of a stage that begins with ``at``.

    The process says when it is there, so no clock is needed to interrupt it.
    """
    script = f"""
import sys
import coordpath_governance.cli.solve_command as command
original, told = command.solve, []
def solve(*args, progress, **kwargs):
    def show(stage, best, bound):
        if stage.startswith({at!r}) and not told:
            told.append(stage)
            print("there", flush=True)
        progress(stage, best, bound)
    return original(*args, progress=show, **kwargs)
command.solve = solve
from coordpath_governance.cli.main import main
sys.argv = ["coordpath", "solve", *{list(map(str, args))!r}]
main()
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "there\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "Traceback" not in err
    return process.returncode, out, err.splitlines()


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    ("problem", "at", "moved"), [(slow_problem, "a first order", 300), (long_gurobi_problem, "Gurobi", 8)]
)
def test_ctrl_c_gives_the_best_so_far_and_130(tmp_path, problem, at, moved):
    code, out, said = interrupt(problem(tmp_path), at=at)
    assert code == 130
    best = json.loads(out)
    told = f"interrupted; the best path so far (gap {100 * best['gap']:.3g} %) was written to standard output"
    assert said[-1] == f"coordpath: error: {told}"
    assert best["status"] == "bounded"
    assert best["lower_bound"] <= best["objective"]
    assert 0 < best["gap"] <= 1
    assert len({step["feature"] for step in best["steps"]}) == moved


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_after_ctrl_c_it_says_where_the_path_is(tmp_path):
    code, out, said = interrupt(slow_problem(tmp_path), "-o", tmp_path / "path.json", at="a first order")
    best = json.loads((tmp_path / "path.json").read_text(encoding="utf-8"))
    assert (code, out) == (130, "")
    assert said[-1].endswith(f"(gap {100 * best['gap']:.3g} %) was written to {tmp_path / 'path.json'}")


def test_ctrl_c_at_the_very_end_and_at_the_very_beginning(coordpath, problem, monkeypatch):
    original = solve_command.solve

    def pressed_late(*args, **kwargs):
        solution = original(*args, **kwargs)
        signal.raise_signal(signal.SIGINT)
        return solution

    monkeypatch.setattr(solve_command, "solve", pressed_late)
    late = coordpath("solve", problem)
    assert (late.code, json.loads(late.out)["status"]) == (130, "optimal")
    assert late.err == "coordpath: error: interrupted; the path, proved optimal, was written to standard output\n"

    def pressed_twice(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(solve_command, "solve", pressed_twice)
    early = coordpath("solve", problem)
    assert (early.code, early.out) == (130, "")
    assert early.err == "coordpath: error: interrupted before a path was found; nothing was written\n"


def test_progress_tells_once_what_ctrl_c_does(coordpath, problem, monkeypatch):
    problem.write_text(json.dumps({**PROBLEM, "solver": "local"}), encoding="utf-8")
    assert coordpath("solve", problem).err == ""
    monkeypatch.setattr(solve_command, "_HINT_AFTER", 0.0)
    monkeypatch.setattr("coordpath_governance.cli.screen._PATIENCE", 0.0)
    hint, *lines = coordpath("solve", problem).err.splitlines()
    assert hint == "Ctrl-C keeps the best path so far"
    assert lines[0] == "a first order: no bound yet"
    assert lines[-1].startswith("paths of 4 steps, local improvement: within ")
    assert hint not in lines


def test_a_reader_that_went_away_is_not_a_verdict(problem):
    """Exit code 1 means that a check failed; a closed pipe is 4."""
    script = f"{{ {sys.executable} -m coordpath_governance solve {problem}; echo $? >&2; }} | true"
    closed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120)
    assert closed.stderr.split()[-1] in ("0", "4")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_4(problem, coordpath, unbuffered):
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", "coordpath_governance", "solve", str(problem)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 4
    assert "cannot write standard output: No space left" in done.stderr
    assert "a fault of coordpath" not in done.stderr
    outcome = coordpath("solve", problem, "-o", "/dev/full")
    assert outcome.code == 4
    assert "cannot write '/dev/full': No space left" in outcome.err


@pytest.mark.skipif(os.name == "nt", reason="pipes are those of POSIX")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_is_no_error(problem, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "coordpath_governance", "solve", str(problem)],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


class UnexpectedError(Exception):
    """What nobody thought of."""


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (
            UnexpectedError("with \x1b[31m colour"),
            4,
            "unexpected UnexpectedError: with ⟨U+001B⟩[31m colour. This is a fault of coordpath",
        ),
        (MemoryError(), 4, "unexpected MemoryError"),
        (RecursionError("too deep"), 4, "unexpected RecursionError"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (EOFError(), 130, "interrupted"),
        (SystemExit(0), 4, ""),
        (BrokenPipeError(32, "gone"), 4, ""),
    ],
)
def test_nothing_unexpected_counts_as_fine(coordpath, problem, monkeypatch, error, code, says):
    def fail(_):
        raise error

    monkeypatch.setattr("coordpath_governance.cli.solve_command.parse_json", fail)
    outcome = coordpath("solve", problem)
    assert outcome.code == code
    assert says in outcome.err


def test_debugging_shows_where_it_happened(problem, monkeypatch):
    def fail(_):
        raise UnexpectedError

    monkeypatch.setattr("coordpath_governance.cli.solve_command.parse_json", fail)
    monkeypatch.setenv("COORDPATH_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["coordpath", "solve", str(problem)])
    with pytest.raises(UnexpectedError):
        command_line._run()


def test_the_console_script_is_installed(tmp_path):
    from importlib.metadata import entry_points

    (script,) = [point for point in entry_points(group="console_scripts") if point.name == "coordpath"]
    assert script.load() is command_line.main


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small report, its rows and other rows."""
    import pandas as pd
    from sklearn.linear_model import LinearRegression

    folder = tmp_path_factory.mktemp("verify")
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    frame["y"] = frame["a"] - 2 * frame["b"] + rng.normal(size=60)
    frame.to_csv(folder / "rows.csv", index=False)
    frame[::-1].to_csv(folder / "reversed.csv", index=False)
    frame[1:].to_csv(folder / "fewer.csv", index=False)
    frame.drop(columns="b").to_csv(folder / "narrower.csv", index=False)
    old, new = (LinearRegression().fit(rows[["a", "b"]], rows["y"]) for rows in (frame[:30], frame))
    report = cg.explain_change(old, new, data=folder / "rows.csv", target="y", threshold=0.5)
    (folder / "report.json").write_bytes(report.to_bytes())
    return folder


def test_verify_a_good_report(spawn, made):
    outcome = spawn("verify", made / "report.json")
    assert outcome.code == 0
    assert outcome.out.endswith("arithmetic and certificate hold; the data were not rechecked\n")
    assert "not rechecked: the data" in outcome.out
    outcome = spawn("verify", made / "report.json", "--data", made / "rows.csv")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].startswith("verified against the data; ")
    assert "MISMATCH" not in outcome.out


@pytest.mark.parametrize("rows", ["reversed.csv", "fewer.csv", "narrower.csv"])
def test_other_rows_are_a_mismatch(coordpath, made, rows):
    outcome = coordpath("verify", made / "report.json", "--data", made / rows)
    assert outcome.code == 1
    assert "these are the data that the report names" in outcome.out
    assert outcome.out.splitlines()[-1].startswith("NOT verified")


def test_rows_that_are_not_there_are_wrong_use(coordpath, made):
    outcome = coordpath("verify", made / "report.json", "--data", made / "none.csv")
    assert outcome.code == 2
    assert "there is no reference data" in outcome.err


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"null", b'{"schema": "coordpath.change_report/9"}', b"[" * 100_000, b"1e999"]
)
def test_what_is_no_report_is_wrong_use(coordpath, tmp_path, content):
    (tmp_path / "other.json").write_bytes(content)
    outcome = coordpath("verify", tmp_path / "other.json")
    assert outcome.code == 2
    assert outcome.out == ""


def numbers(document):
    """Where every number of a document stands."""
    return [where for where, value in leaves(document) if isinstance(value, int | float) and not isinstance(value, bool)]


def increased(document, where):
    value = reduce(getitem, where, document)
    return changed(document, where, value * 1.01 + 1 if isinstance(value, float) else value + 1)


def found_out(document, rows):
    """Whether verify sees that something is wrong: as it is, and with a digest that a forger has computed afresh."""
    from coordpath_governance.errors import CoordpathError
    from coordpath_governance.verification.verify import verify_report

    try:
        return not verify_report(reread(document)).passed, not verify_report(forge(document), rows).passed
    except CoordpathError:
        return True, True


@pytest.mark.no_cover
def test_any_number_changed_is_a_mismatch(made):
    document = json.loads((made / "report.json").read_bytes())
    assert found_out(document, made / "rows.csv") == (False, False)
    places = numbers(document)
    assert len(places) > 100
    unseen = [where for where in places if found_out(increased(document, where), made / "rows.csv") != (True, True)]
    assert unseen == []


def test_a_changed_number_is_1_on_the_command_line(spawn, made, tmp_path):
    document = json.loads((made / "report.json").read_bytes())
    (tmp_path / "forged.json").write_text(json.dumps(increased(document, ("impact", "delta"))), encoding="utf-8")
    outcome = spawn("verify", tmp_path / "forged.json")
    assert outcome.code == 1
    assert "MISMATCH  arithmetic" in outcome.out
    assert "impact.delta" in outcome.out
