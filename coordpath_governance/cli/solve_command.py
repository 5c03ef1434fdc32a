"""`coordpath solve`: the solver alone, without importing MLflow."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from coordpath_governance.cli.screen import progress_line
from coordpath_governance.errors import NotFoundError, UsageError
from coordpath_governance.paths import parse_json, solve
from coordpath_governance.paths.how_far import how_far
from coordpath_governance.paths.patience import heeding_interrupts

__all__ = ["command"]


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
    document = parse_json(_read(problem))
    with heeding_interrupts() as interrupted, progress_line() as progress:

        def show(stage: str, best: float, bound: float) -> None:
            progress(stage, how_far(best, bound))

        solution = solve(document, progress=show, interrupted=interrupted)
    text = json.dumps(solution.to_dict(), indent=2, allow_nan=False) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text)
    if interrupted():
        raise click.Abort


def _write(output: Path, text: str) -> None:
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write '{output}': {error.strerror}") from error


def _read(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{path}'") from None
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
