"""What a person sees in the terminal; text from models and data is made harmless first."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from coordpath_governance.text import visible

__all__ = ["progress_line", "say", "say_error"]

_PATIENCE = 2.0
_REFRESH = 0.2


def say(text: str = "") -> None:
    """A line on standard output."""
    click.echo("\n".join(visible(line) if line else "" for line in text.split("\n")))


def say_error(text: str) -> None:
    """An error on standard error, on one line."""
    click.echo(f"coordpath: error: {visible(text)}", err=True)


class ProgressLine:
    """One line on standard error, shown only past two seconds and rewritten in place on a terminal."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._shown = False
        self._stage = ""

    def __call__(self, stage: str, count: int) -> None:
        """Tell where we are."""
        now = time.monotonic()
        if now - self._start < _PATIENCE or now - self._last < _REFRESH:
            return
        self._last = now
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[K{stage}: {count:,}", nl=False, err=True)
            self._shown = True
        elif stage != self._stage:
            click.echo(f"{stage} …", err=True)
        self._stage = stage

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
