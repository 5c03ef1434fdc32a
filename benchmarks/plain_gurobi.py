"""The paper's model as it is printed, with Gurobi's own settings: min Σ c(βₖ) s.t. SOS-1(βₖ₊₁ − βₖ)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np


def solve_plainly(document: dict[str, Any], limit: float = 120.0) -> tuple[float, float, float]:
    """Seconds from the document to the answer, objective and bound for a free end with equal weights."""
    import gurobipy

    cost, terms = document["cost"], document["steps"]
    gram, linear = np.array(cost["gram"]), np.array(cost["linear"])
    size = len(linear)
    with gurobipy.Env(params={"OutputFlag": 0}) as env:
        begin = time.perf_counter()
        model = gurobipy.Model(env=env)
        model.Params.MIPGap = 1e-6
        model.Params.TimeLimit = limit
        beta = model.addMVar((terms, size), lb=-gurobipy.GRB.INFINITY)
        step = model.addMVar((terms, size), lb=-gurobipy.GRB.INFINITY)
        model.addConstr(step[0] == beta[0])
        model.addConstr(step[1:] == beta[1:] - beta[:-1])
        for k in range(terms):
            model.addSOS(gurobipy.GRB.SOS_TYPE1, step[k].tolist(), list(range(1, size + 1)))
        model.setObjective(sum(beta[k] @ gram @ beta[k] - 2 * linear @ beta[k] + cost["constant"] for k in range(terms)))
        model.optimize()
        return time.perf_counter() - begin, float(model.ObjVal), float(model.ObjBound)
