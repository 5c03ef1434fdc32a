"""`coordpath explore`: commands from a pipe and from a terminal, on problem documents and on registered models."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import coordpath_governance as cg
from coordpath_governance.cli import screen

PROBLEM = {
    "features": ["age", "debt", "income of both"],
    "cost": {"gram": [[2, 0.9, 0.3], [0.9, 1, 0.2], [0.3, 0.2, 1]], "linear": [1.3, 1, 0.6], "constant": 3},
    "start": [0, 0.5, 1],
    "target": [1, -0.9, 0.4],
}


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(PROBLEM), encoding="utf-8")
    return path


@pytest.fixture
def explore(coordpath, monkeypatch):
    """Run the command in this process with some lines typed."""

    def run(what, *lines, options=()):
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
        return coordpath("explore", what, *options)

    return run


def test_the_guide_word_for_word(spawn, tmp_path):
    root = Path(__file__).parents[2]
    session = (root / "docs" / "exploring.md").read_text(encoding="utf-8").partition("```console\n")[2].partition("\n```")[0]
    command, _, expected = session.partition("\n")
    lines = [line.removeprefix("explore> ") for line in expected.splitlines() if line.startswith("explore> ")]
    assert len(lines) > 4
    problem = root / command.removeprefix("$ coordpath explore ")
    outcome = spawn("explore", problem, stdin="\n".join(lines) + "\n", cwd=tmp_path)
    assert outcome.out.strip("\n") == expected
    assert (tmp_path / "chosen.json").exists()


def best():
    return [step.label for step in cg.solve(PROBLEM).path.steps]


def test_a_walk_through_a_pipe(spawn, problem, tmp_path):
    saved = tmp_path / "saved.json"
    last = best()[-1]
    lines = f"help\npin '{last}'\naccept\nsave '{saved}'\n"
    outcome = spawn("explore", problem, stdin=lines)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Proved: no path is better.\n" in outcome.out
    assert "explore> accept\n" in outcome.out
    assert "pin NAME [K]" in outcome.out
    assert "Price of your choices: " in outcome.out
    assert f"Pinned: {last} at step 1" in outcome.out
    written = json.loads(saved.read_text(encoding="utf-8"))
    assert written["constraints"] == {"place": {last: 1}}
    assert cg.solve(written).path.steps[0].label == last
    assert json.loads(spawn("solve", saved).out)["steps"][0]["feature"] == last
    again = spawn("explore", saved, stdin="accept 3\n")
    assert again.out.count(" done ") == 3


def test_wrong_input_is_told_and_asked_again(explore, problem, tmp_path):
    outcome = explore(
        problem,
        "",
        "acept",
        "fly away",
        "pin",
        "pin x",
        "pin age 0",
        "accept many",
        "forbid 'age",
        "rest",
        "undo",
        f"save {tmp_path}/no/such/folder.json",
        "pin age 9",
        "show",
        "order age debt",
        "reset",
        "quit",
        "accept",
    )
    assert outcome.code == 0
    for says in (
        "'acept' is no command; did you mean `accept`?",
        "'fly' is no command; `help` lists them",
        "write it as `pin NAME [K]`",
        "'x' is not one of the features; name one of the steps",
        "'0' is not the number of a step; give 1 or more",
        "'many' is not the number of a step",
        "A quotation mark is not closed",
        "the rest comes after at least one single step",
        "there is nothing to undo",
        "cannot write",
        "place age 9, but there are 3 single steps",
        "Order: age before debt",
    ):
        assert says in outcome.out, says
    assert "explore> accept\n" not in outcome.out


def test_every_choice_is_shown(explore, problem):
    first = best()[0]
    outcome = explore(problem, f"forbid '{first}'", "accept", "rest", "undo", "stop", "reset", "stop")
    assert f"Forbidden, moved with the rest: {first}" in outcome.out
    assert f"Forbidden, not moved: {first}" in outcome.out
    assert "all the rest (1)" in outcome.out
    assert "all the rest (2)" in outcome.out
    assert "The path ends here." in outcome.out
    assert "No step: the path ends where it starts." in outcome.out


def test_a_price_that_is_nothing(explore, tmp_path):
    """Where every single step makes the model worse, staying is cheaper than any order."""
    asked = {
        "features": ["a", "b"],
        "cost": {"gram": [[1, 1], [1, 1.1]], "linear": [0, 0], "constant": 0},
        "start": [3, -3],
        "target": [0, 0],
    }
    (tmp_path / "p.json").write_text(json.dumps(asked), encoding="utf-8")
    assert "Your choices cost nothing: the costs add up to" in explore(tmp_path / "p.json", "accept").out
    assert "against the best path of single steps" in explore(tmp_path / "p.json", "stop").out


def test_what_is_not_proved_is_said(explore, problem, monkeypatch, tmp_path):
    monkeypatch.setattr("coordpath_governance.paths.exploring.QUICK", "direct")
    outcome = explore(problem, "forbid debt", f"save {tmp_path / 'open.json'}")
    assert "Not proved: a path might be better, by at most " in outcome.out
    assert "Not proved: a path that keeps to your choices might be better" in outcome.out
    assert "Price of your choices: between " in outcome.out or "against the best path" in outcome.out
    assert "finds a path that is as good or better" in outcome.out


def test_the_final_state_is_one_document(explore, problem):
    outcome = explore(problem, "accept", "forbid debt", options=["--json"])
    document = json.loads(outcome.out)
    assert document["schema"] == "coordpath.exploration/1"
    assert document["choices"]["done"] == best()[:1]
    assert "explore> accept" in outcome.err
    assert explore(problem, "accept", "forbid debt", options=["--json"]).out == outcome.out


def test_a_document_says_all_itself(explore, problem, tmp_path):
    outcome = explore(problem, options=["--champion", "2"])
    assert outcome.code == 2
    assert "--champion is for a registered model" in outcome.err
    assert explore(tmp_path / "none.json").code == 2
    free = tmp_path / "free.json"
    free.write_text(json.dumps({**PROBLEM, "target": None, "steps": 2}), encoding="utf-8")
    outcome = explore(free)
    assert (outcome.code, "every changed unit moves once" in outcome.err) == (2, True)


def test_names_cannot_play_with_the_terminal(explore, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({**PROBLEM, "features": ["\x1b[31mred", "b\nc", "d"]}), encoding="utf-8")
    outcome = explore(bad, "accept", "pin \x1b[31mblue", "order d '\x1b[31mred'")
    assert outcome.code == 0
    assert "\x1b" not in outcome.out + outcome.err


def test_a_registered_model(store, explore, tmp_path):
    name = store.register(f"walked {uuid.uuid4().hex[:8]}", store.first, store.second)
    store.client.set_registered_model_alias(name, "champion", "1")
    saved = tmp_path / "walk.json"
    outcome = explore(name, "accept", "pin area", f"save {saved}", options=[*store.rows.args, "--all-steps"])
    assert outcome.code == 0, outcome.err
    assert f"{name}: " in outcome.out
    assert cg.solve(json.loads(saved.read_text(encoding="utf-8"))).status == "optimal"
    assert (store.tags(name, 2), store.description(name, 2)) == ({}, "")


def test_a_registered_classifier_keeps_its_rows_to_itself(store, explore, tmp_path):
    rng = np.random.default_rng(0)
    frame = store.rows.frame[["area", "age"]].assign(sold=rng.random(len(store.rows.frame)) < 0.5)
    frame.to_csv(tmp_path / "sold.csv", index=False)
    parts = np.array_split(np.arange(len(frame)), 2)
    fits = [LogisticRegression().fit(frame.iloc[part][["area", "age"]], frame.iloc[part]["sold"]) for part in parts]
    name = store.register(f"sold {uuid.uuid4().hex[:8]}", *(store.log(fit) for fit in fits))
    store.client.set_registered_model_alias(name, "champion", "1")
    saved = tmp_path / "walk.json"
    data = ["--data", tmp_path / "sold.csv", "--target", "sold"]
    outcome = explore(name, "pin area", f"save {saved}", options=data)
    assert outcome.code == 0, outcome.err
    written = json.loads(saved.read_text(encoding="utf-8"))
    assert "rows" not in written["cost"]
    assert cg.solve(written).path.steps[0].label == "area"


def test_ctrl_c_is_130(problem):
    process = subprocess.Popen(
        [sys.executable, "-m", "coordpath_governance", "explore", str(problem)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"show\n")
    process.stdin.flush()
    while b"explore> show" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"interrupted" in error


class Terminal:
    """The command on a pseudo-terminal."""

    def __init__(self, *args, out=None):
        self.master, slave = pty.openpty()
        command = [sys.executable, "-m", "coordpath_governance", "explore", *map(str, args)]
        env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=out or slave, stderr=slave, env=env, start_new_session=True
        )
        os.close(slave)
        self.seen = self.all = ""

    def expect(self, text):
        deadline = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.master], [], [], 0.2)[0]:
                read = os.read(self.master, 4096).decode("utf-8", "replace")
                self.seen, self.all = self.seen + read, self.all + read
        self.seen = self.seen.partition(text)[2]

    def type(self, keys):
        os.write(self.master, keys)

    def wait(self):
        code = self.process.wait(timeout=60)
        os.close(self.master)
        return code


def test_a_terminal(problem):
    """A prompt, an edited line, and Ctrl-D at the end."""
    terminal = Terminal(problem)
    terminal.expect("explore> ")
    terminal.type(b"accepz\x7ft\n")
    terminal.expect("done")
    terminal.expect("explore> ")
    assert "⟨U+" not in terminal.all
    terminal.type(b"\x04")
    assert terminal.wait() == 0


def test_a_terminal_whose_answer_goes_to_a_file(problem, tmp_path):
    with (tmp_path / "out.json").open("wb") as out:
        terminal = Terminal(problem, "--json", out=out)
        terminal.expect("explore> ")
        terminal.type(b"accept\n")
        terminal.expect("explore> ")
        terminal.type(b"\x04")
        assert terminal.wait() == 0
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["choices"]["done"] == best()[:1]


class _Tty(io.StringIO):
    def isatty(self):
        return True


def test_lines_from_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", _Tty("one\n"))
    assert screen.ask("> ") == "one\n"
    assert screen.ask("> ") is None
    assert capsys.readouterr().err == "> > "
    monkeypatch.setattr(sys, "stdin", _Tty())
    monkeypatch.setattr(sys, "stdout", _Tty())
    lines = iter(["two"])

    def typed(_prompt):
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", typed)
    assert screen.ask("> ") == "two"
    assert screen.ask("> ") is None
