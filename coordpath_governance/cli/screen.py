"""What a person sees in the terminal; text from models and data is made harmless first."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

import click

from coordpath_governance.text import visible

__all__ = ["ask", "progress_line", "say", "say_error", "say_warning", "speaking_aside"]

_PATIENCE = 2.0
_REFRESH = 0.2


_ASIDE: ContextVar[bool] = ContextVar("_ASIDE", default=False)


@contextmanager
def speaking_aside() -> Iterator[None]:
    """Send messages to standard error meanwhile: standard output is for one JSON document."""
    token = _ASIDE.set(True)
    try:
        yield
    finally:
        _ASIDE.reset(token)


def say(text: str = "") -> None:
    """A line on standard output, or on standard error while `speaking_aside`."""
    click.echo("\n".join(visible(line) if line else "" for line in text.split("\n")), err=_ASIDE.get())


def ask(prompt: str) -> str | None:
    """A line from standard input, None at its end; without a terminal the line is repeated after the prompt."""
    stream = sys.stdin
    if isinstance(stream, io.TextIOWrapper):
        with suppress(io.UnsupportedOperation):  # before the first line only
            stream.reconfigure(errors="backslashreplace")
    if not stream.isatty():
        line = stream.readline()
        if line:
            say(visible(prompt + line.rstrip("\r\n")))
        return line or None
    if _ASIDE.get() or not sys.stdout.isatty():
        click.echo(prompt, nl=False, err=True)
        return stream.readline() or None
    with suppress(ImportError):
        import readline  # noqa: F401 - with it, `input` keeps a history
    try:
        return input(prompt)
    except EOFError:
        say()
        return None


def say_error(text: str) -> None:
    """An error on standard error, on one line."""
    click.echo(f"coordpath: error: {visible(text)}", err=True)


def say_warning(text: str) -> None:
    """A warning on standard error, on one line."""
    click.echo(f"coordpath: warning: {visible(text)}", err=True)


class ProgressLine:
    """Progress on standard error, past two seconds: one line rewritten in place on a terminal, else a line now and then."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._shown = False

    def __call__(self, stage: str, state: int | str) -> None:
        """Tell where we are: a stage, and how many rows or how far."""
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if now - self._start < _PATIENCE or now - self._last < (_REFRESH if terminal else _PATIENCE):
            return
        self._last = now
        line = f"{stage}: {state:,}" if isinstance(state, int) else f"{stage}: {state}"
        if terminal:
            click.echo(f"\r\x1b[K{line}", nl=False, err=True)
            self._shown = True
        else:
            click.echo(line, err=True)

    def close(self) -> None:
        """Wipe the line."""
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)


@contextmanager
def progress_line() -> Iterator[ProgressLine]:
    """Progress while something runs."""
    line = ProgressLine()
    try:
        yield line
    finally:
        line.close()
