"""`coordpath solve`: the solver alone, without importing MLflow."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from coordpath_governance.cli.main import EXIT_INTERRUPTED
from coordpath_governance.cli.screen import ProgressLine, progress_line, say_error
from coordpath_governance.errors import CoordpathError, NotFoundError, UsageError
from coordpath_governance.files import write_file
from coordpath_governance.paths import Solution, parse_json, solve
from coordpath_governance.paths.patience import heeding_interrupts, how_far

__all__ = ["command"]

_HINT_AFTER = 2.0
"""Seconds after which it is worth saying what Ctrl-C does; progress is not shown sooner either."""


@click.command("solve")
@click.argument("problem", type=click.Path(path_type=Path, allow_dash=True), metavar="PROBLEM.json")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the path here instead of to standard output.",
)
def command(problem: Path, output: Path | None) -> None:
    """Find the best coordinate path of PROBLEM.json ("-": standard input) and print it as JSON.

    The input is a `coordpath.problem/1` document, the output a `coordpath.path/1` document; docs/formats.md describes both.
    Past its time limit, or on Ctrl-C, it is the best path so far with its gap; after Ctrl-C the exit code is 130.
    """
    try:
        solution, interrupted = _solve(problem)
    except KeyboardInterrupt:
        say_error("interrupted before a path was found; nothing was written")
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None
    _write(output, json.dumps(solution.to_dict(), indent=2, allow_nan=False) + "\n")
    if interrupted:
        say_error(f"interrupted; {_what(solution)} was written to {output or 'standard output'}")
        raise click.exceptions.Exit(EXIT_INTERRUPTED)


def _solve(problem: Path) -> tuple[Solution, bool]:
    """The best path, and whether Ctrl-C ended the search for a better one."""
    document = parse_json(_read(problem))
    with heeding_interrupts() as interrupted, progress_line() as line:
        solution = solve(document, progress=_showing(line), interrupted=interrupted)
    return solution, interrupted()


def _showing(line: ProgressLine) -> Callable[[str, float, float], None]:
    """Progress on the line, with a word on Ctrl-C before the first of it."""
    begun, hinted = time.monotonic(), False

    def show(stage: str, best: float, bound: float) -> None:
        nonlocal hinted
        if not hinted and time.monotonic() - begun >= _HINT_AFTER:
            click.echo("Ctrl-C keeps the best path so far", err=True)
            hinted = True
        if hinted:
            line(stage, how_far(best, bound))

    return show


def _what(solution: Solution) -> str:
    certificate = solution.certificate
    if certificate.status == "optimal":
        return "the path, proved optimal,"
    return f"the best path so far (gap {100 * certificate.gap:.3g} %)"


def _write(output: Path | None, text: str) -> None:
    """A reader of a pipe that went away is left to click."""
    if output is not None:
        write_file(output, text.encode())
        return
    try:
        click.echo(text, nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CoordpathError(f"cannot write standard output: {error.strerror}") from error


def _read(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{path}'") from None
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
