"""Problems whose columns are nearly equal, with coefficients of millions: where rounding is as large as what it hides."""

from __future__ import annotations

import numpy as np

__all__ = ["near_equal_problem"]


def near_equal_problem(seed, apart=None, most=4):
    """Two columns of 30 to 200 rows that are ``apart`` (1e-8 to 1e-6.5), or a column beside its own float32 copy.

    Start and target are fits to overlapping rows, or far out along the difference of the two columns.
    """
    rng = np.random.default_rng(seed)
    size, rows = int(rng.integers(2, most + 1)), int(rng.integers(30, 201))
    x = rng.standard_normal((rows, size))
    width = 10 ** rng.uniform(-8, -6.5) if apart is None else apart
    copied = apart is None and seed % 4 == 3
    x[:, 1] = x[:, 0].astype(np.float32) if copied else x[:, 0] + width * rng.standard_normal(rows)
    if size == 4 and seed % 4 == 1:
        x[:, 3] = x[:, 2] + width * rng.standard_normal(rows)
    true = rng.standard_normal(size)
    y = x @ true + 0.5 * rng.standard_normal(rows)
    if seed % 2:
        part = rows * 4 // 5
        start, target = (np.linalg.lstsq(x[some], y[some], rcond=None)[0] for some in (slice(part), slice(-part, None)))
    else:
        start, target = (true + 0.1 * rng.standard_normal(size) for _ in range(2))
        far = 1e6 * rng.standard_normal(2)
        for end, distance in ((start, far[0]), (target, far[0] if seed % 8 < 4 else far[1])):
            end[0] += distance
            end[1] -= distance
    cost = {
        "gram": (x.T @ x / rows).tolist(),
        "linear": (x.T @ y / rows).tolist(),
        "constant": float(y @ y / rows),
    }
    names = [f"x{i}" for i in range(size)]
    return {"features": names, "cost": cost, "start": start.tolist(), "target": target.tolist()}
