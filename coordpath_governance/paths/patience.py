"""Patience: when a search should give up and tell what it has, because of the time or because someone asked."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["heeding_interrupts", "until"]


def until(
    clock: Callable[[], float] | None, seconds: float | None, interrupted: Callable[[], bool] | None
) -> Callable[[], bool] | None:
    """Whether to stop now: once ``seconds`` have passed on the clock, or when interrupted; None if nothing can stop it."""
    if clock is None or seconds is None:
        return interrupted
    end = clock() + seconds
    return lambda: clock() >= end or (interrupted is not None and interrupted())


@contextmanager
def heeding_interrupts() -> Iterator[Callable[[], bool]]:
    """Within this, a first Ctrl-C only sets a flag, which is given; a second one raises `KeyboardInterrupt` as ever.

    Only in the main thread, and only if nobody else handles the signal: otherwise the flag is never set.
    """
    seen = threading.Event()
    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield seen.is_set
        return

    def note(_number: int, _frame: object) -> None:
        seen.set()
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, note)
    try:
        yield seen.is_set
    finally:
        signal.signal(signal.SIGINT, usual)
