"""Patience: when a search stops, because of the time or because someone asked, and how it reports how far it has come."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

__all__ = [
    "FOREVER",
    "NO_BOUND",
    "NeverWorse",
    "Patience",
    "heeding_interrupts",
    "how_far",
    "never",
    "reclaim_interrupts",
    "until",
]


def never() -> bool:
    """A deadline that does not come."""
    return False


def forever() -> float:
    """Seconds until a deadline that does not come."""
    return math.inf


@dataclass(frozen=True)
class Patience:
    """When a search stops, and where it reports how far it has come.

    ``expired`` returns True when the search should stop. ``timed``: a time limit is set, and the search goes on until then;
    otherwise it stops at an amount of work. ``left`` returns the seconds until the limit, so that a search does not begin
    something long that cannot be interrupted.
    """

    expired: Callable[[], bool] = never
    timed: bool = False
    progress: Callable[[str, float, float], None] | None = None
    left: Callable[[], float] = forever

    def telling(self, change: Callable[[str, float, float], tuple[str, float, float]]) -> Patience:
        """The same, except that ``change`` is applied to whatever is reported."""
        report = self.progress
        if report is None:
            return self
        return replace(self, progress=lambda stage, best, bound: report(*change(stage, best, bound)))

    def report(self, stage: str, value: float, bound: float) -> None:
        """Report a stage, the best value so far and a bound on all values, if anybody listens."""
        if self.progress is not None:
            self.progress(stage, value, bound)


FOREVER = Patience()


def until(
    clock: Callable[[], float] | None,
    seconds: float | None,
    *,
    interrupted: Callable[[], bool] | None = None,
    progress: Callable[[str, float, float], None] | None = None,
    began: float | None = None,
) -> Patience:
    """Patience until ``seconds`` have passed on the clock since it said ``began`` (now), or until interrupted."""
    stopped = interrupted or never
    if clock is None or seconds is None:
        return Patience(stopped, timed=False, progress=progress)
    end = (clock() if began is None else began) + seconds
    return Patience(lambda: clock() >= end or stopped(), timed=True, progress=progress, left=lambda: end - clock())


@contextmanager
def heeding_interrupts() -> Iterator[Callable[[], bool]]:
    """A context in which a first Ctrl-C only sets a flag, which it yields; a second one raises `KeyboardInterrupt` as usual.

    Only in the main thread, and only if nobody else handles the signal: otherwise the flag is never set.
    """
    pressed = threading.Event()
    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield pressed.is_set
        return

    def note(_number: int, _frame: object) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, usual)


def reclaim_interrupts() -> None:
    """Let Ctrl-C come to the handler that Python knows of, where a library has put its own below it."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


NO_BOUND = -math.inf
"""Reported while a path is looked for and nothing is proved of the whole problem."""


class NeverWorse:
    """Replaces a best sum and bound that say less than an earlier pair by that pair: what was proved stays proved."""

    def __init__(self) -> None:
        self._closest: tuple[float, float] | None = None

    def __call__(self, stage: str, best: float, bound: float) -> tuple[str, float, float]:
        """The stage, with the pair that is closest."""
        if bound > NO_BOUND and (self._closest is None or _gap(best, bound) <= _gap(*self._closest)):
            self._closest = best, bound
        return stage, *(self._closest or (best, bound))


def how_far(best: float, bound: float) -> str:
    """What separates the best sum found from the bound on all, as part of the sum."""
    if bound == NO_BOUND:
        return "no bound yet"
    return f"within {100 * _gap(best, bound):.3g} % of the best possible"


def _gap(best: float, bound: float) -> float:
    return min(max((best - bound) / best, 0.0), 1.0) if best > 0 else 0.0
