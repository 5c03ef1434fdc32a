"""One thread for linear algebra while a problem is solved.

More threads save no time at these sizes. On a busy machine they wait for each other at every product, ten times as long as
the product takes, so no time limit could be kept. Sums would also depend on the number of threads.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

__all__ = ["one_thread"]


def one_thread() -> AbstractContextManager[Any]:
    """A context in which products of matrices use one thread."""
    limiter: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limiter


@cache
def _controller() -> Any:  # noqa: ANN401 - threadpoolctl has no types
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
