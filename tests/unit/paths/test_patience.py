"""When a search gives up, and what it tells on the way."""

from __future__ import annotations

import itertools
import signal
import threading

import pytest

from coordpath_governance.paths import solve
from coordpath_governance.paths.how_far import how_far
from coordpath_governance.paths.patience import heeding_interrupts, reclaim_interrupts, until


def test_until_the_time_has_come_or_someone_asks():
    for endless in (until(None, 5.0), until(lambda: 0.0, None)):
        assert not endless.timed
        assert not endless.expired()
    asked = until(None, 5.0, lambda: True)
    assert not asked.timed
    assert asked.expired()
    ticks = itertools.count()
    soon = until(lambda: float(next(ticks)), 2.0)
    assert soon.timed
    assert [soon.expired(), soon.expired(), soon.expired()] == [False, True, True]
    assert until(lambda: 0.0, 2.0, lambda: True).expired()


def test_a_first_interrupt_is_noted_and_a_second_raises():
    before = signal.getsignal(signal.SIGINT)
    with heeding_interrupts() as pressed:
        assert not pressed()
        signal.raise_signal(signal.SIGINT)
        assert pressed()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_whoever_handles_the_signal_already_goes_on_doing_so():
    noted = []
    before = signal.signal(signal.SIGINT, lambda *_: noted.append("mine"))
    try:
        with heeding_interrupts() as pressed:
            signal.raise_signal(signal.SIGINT)
            assert not pressed()
    finally:
        signal.signal(signal.SIGINT, before)
    assert noted == ["mine"]


def test_other_threads_leave_signals_alone(document):
    answers = []

    def work():
        with heeding_interrupts() as pressed:
            answers.append(pressed())
        answers.append(solve(document(1, 4)).certificate.status)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert answers == [False, "optimal"]


def test_a_handler_is_reclaimed_only_where_python_may_do_so(monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    reclaim_interrupts()
    assert signal.getsignal(signal.SIGINT) is before
    thread = threading.Thread(target=reclaim_interrupts)
    thread.start()
    thread.join()
    monkeypatch.setattr(signal, "getsignal", lambda _: None)
    monkeypatch.setattr(signal, "signal", lambda *_: pytest.fail("there is nothing to go back to"))
    reclaim_interrupts()


@pytest.mark.parametrize(
    "more", [{}, {"max_steps": 5}, {"steps": 33}, {"steps": {"min": 30, "max": 34}}, {"target": None, "steps": 12}]
)
@pytest.mark.parametrize("solver", ["auto", "exact", "local"])
def test_an_interrupt_returns_the_best_so_far(document, more, solver):
    """Asked to stop at once, every solver still gives a path to the end and an honest bound."""
    problem = {**document(3, 30), "solver": solver, **more}
    solution = solve(problem, interrupted=lambda: True)
    certificate = solution.certificate
    assert certificate.lower_bound <= certificate.objective
    assert 0.0 < certificate.gap <= 1.0
    assert certificate.status == "bounded"
    if problem["target"] is not None:
        reached = dict(zip(problem["features"], problem["start"], strict=True))
        for step in solution.path.steps:
            reached |= {move.feature: move.after for move in step.moves}
        assert list(reached.values()) == problem["target"]


def test_how_far_in_words():
    assert how_far(2.0, 1.0) == "within 50 % of the best possible"
    assert how_far(0.0, 0.0) == "within 0 % of the best possible"
    assert how_far(1.0, -3.0) == "within 100 % of the best possible"
