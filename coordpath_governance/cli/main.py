"""`coordpath`: commands are loaded when they are called, and every ending has its exit code."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from coordpath_governance._version import __version__
from coordpath_governance.cli.screen import say_error
from coordpath_governance.errors import EXIT_UNKNOWN, EXIT_WRONG_USE, CoordpathError

__all__ = ["cli", "main"]

EXIT_INTERRUPTED = 130
_COLLECT_AFTER = 100_000
"""A command is short and importing MLflow makes no garbage: collecting less often saves a tenth of the whole."""

_COMMANDS = {
    "demo": "the whole story on an embedded store: train, register, retrain, report, gate, review, promote, audit, verify",
    "scan": "what of a registry can be read, and why not: reads, changes nothing",
    "declare": "vouch for the coefficients of a version that cannot be read, signed",
    "report": "explain what changed between two versions, and attach the report",
    "front": "what fewer changes would have brought: the best updates of the champion by 0, 1, 2, … coefficients",
    "solve": "the solver alone: PROBLEM.json in, the path out",
    "explore": "walk a path in the terminal: accept, stop, pin, forbid, order, and see the rest solved again",
    "verify": "recheck a report offline",
    "policy": "policies: init, check, schema, adopt, list, show, retire",
    "key": "who stands behind what is signed: new, make, list, revoke, rotate-service",
    "second": "agree to a key or policy that another policy-admin proposed",
    "adopt": "take an existing champion under guard",
    "gate": "may this version have this alias? One line per rule",
    "review": "approve or reject a change, signed",
    "waive": "a signed exception from one rule",
    "promote": "move the alias, if the gate lets it",
    "retire": "let a version that was promoted once be deleted, on record",
    "audit": "the ledger: log, show, keys, verify, export, anchor",
    "sweep": "find what lacks a report, and what bypassed the guard",
}


class PipeOutput(io.FileIO):
    """Standard output whose reader may leave, as in `coordpath audit log | head -1`: the rest is thrown away.

    The command goes on to its own end and exit code. Any other failure to write, such as a full disk, is raised.
    """

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - any buffer
        """Write, or switch to the null device once the pipe is closed."""
        try:
            return super().write(data)
        except BrokenPipeError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            return memoryview(data).nbytes


class LazyGroup(click.Group):
    """A group whose commands live in modules of the same name, imported only when one is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, without importing them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"coordpath_governance.cli.{cmd_name}_command").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, so that --help stays fast."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="coordpath")
def cli() -> None:
    """Proved, step-by-step explanations of what changed between two versions of a linear model.

    Exit codes: 0 fine · 1 the gate says no, or a check found a mismatch · 2 wrong use · 3 needs review · 4 something stopped
    us from knowing · 130 interrupted.
    """


def main() -> NoReturn:
    """Entry point: run a command and leave with its exit code; nothing unexpected ever counts as fine."""
    gc.set_threshold(_COLLECT_AFTER)
    _tolerate_closed_pipe()
    code = _run()
    sys.exit(code if _flushed() else code or EXIT_UNKNOWN)


def _tolerate_closed_pipe() -> None:
    """Put `PipeOutput` below standard output, where that is a file of the system."""
    stream = sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        raw = PipeOutput(stream.fileno(), "wb", closefd=False)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, line_buffering=stream.line_buffering
        )


def _flushed() -> bool:
    """Whether all output could be written; if not, Python does not try again at exit, which would end with code 120."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def _run() -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(prog_name="coordpath", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        say_error("interrupted")
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except CoordpathError as error:
        say_error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        say_error("interrupted")
        return EXIT_INTERRUPTED
    except SystemExit:
        return EXIT_UNKNOWN
    except Exception as error:
        if os.environ.get("COORDPATH_DEBUG"):
            raise
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            say_error(f"the path '{error.filename}' is longer than the system allows; name a shorter one")
            return EXIT_WRONG_USE
        say_error(
            f"unexpected {type(error).__name__}: {error}. This is a fault of coordpath; "
            "set COORDPATH_DEBUG=1 to see where it happened."
        )
        return EXIT_UNKNOWN
    return code if isinstance(code, int) else 0
