from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_info

from coordpath_governance.one_thread import one_thread


def threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_linear_algebra_has_one_thread_within():
    assert np.eye(2) @ np.eye(2) is not None
    before = threads()
    with one_thread():
        assert threads() == {1}
        with one_thread():
            assert threads() == {1}
    assert threads() == before
