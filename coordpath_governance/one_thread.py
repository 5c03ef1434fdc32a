"""One thread for linear algebra while a problem is solved.

Threads bring nothing at these sizes. On a busy machine they wait for each other at every product, ten times as long as it
takes, so that no time limit could be kept; and sums would depend on their number.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

__all__ = ["one_thread"]


def one_thread() -> AbstractContextManager[Any]:
    """Within this, products of matrices use one thread."""
    limiter: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limiter


@cache
def _controller() -> Any:  # noqa: ANN401 - threadpoolctl has no types
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
