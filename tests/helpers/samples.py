"""Sample documents as plain dictionaries, from the cost in ``sample_cost.py``; conftest.py loads both by path."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from helpers.sample_cost import NOISE, RENT, ROWS, Coefficient, Evidence, correlation, long_correlation, many

__all__ = ["RENT", "Evidence", "build", "correlation", "long_correlation", "many", "replace"]


def raw(c: Coefficient, value: float) -> float:
    return value if c.kind == "baseline" or not c.sd else value / c.sd


def step_facts(evidence: Evidence, order: list[int]) -> list[dict[str, Any]]:
    names = evidence.units
    chunks = [[unit] for unit in order]
    rest = [unit for unit in range(len(names)) if unit not in order]
    if rest:
        chunks.append(rest)
    costs = evidence.costs([*order, *rest])
    steps: list[dict[str, Any]] = []
    before, moved = evidence.start, 0
    total = evidence.start - costs[-1] if costs else 0.0
    for k, chunk in enumerate(chunks, 1):
        moved += len(chunk)
        after = costs[moved - 1]
        members = [c for unit in chunk for c in evidence.coefficients if c.unit == names[unit] and c.old != c.new]
        moves = [{"feature": c.label, "from": raw(c, c.old), "to": raw(c, c.new)} for c in members]
        single = len(moves) == 1 and len(chunk) == 1
        kind = (
            "rest"
            if len(chunk) > 1
            else "baseline"
            if members[0].kind == "baseline"
            else "coordinate"
            if single
            else "group"
        )
        steps.append(
            {
                "k": k,
                "kind": kind,
                "feature": f"all the rest ({len(chunk)} coefficients)" if kind == "rest" else names[chunk[0]],
                "from": moves[0]["from"] if single else None,
                "to": moves[0]["to"] if single else None,
                "moves": moves,
                "cost": after,
                "delta": after - before,
                "delta_se": evidence.error(chunk),
                "share": (before - after) / total,
                "shapley": sum(evidence.shapley[unit] for unit in chunk),
                "worsens": after > before,
                "bracket": None,
            }
        )
        before = after
    number = 0
    for index, step in enumerate(steps):
        if step["worsens"] and index + 1 < len(steps):
            number += 1
            step["bracket"] = steps[index + 1]["bracket"] = number
    return steps


def coordinate(c: Coefficient) -> dict[str, Any]:
    column, _, level = c.label.partition("=")
    standard = c.kind != "baseline" and c.sd > 0
    return {
        "label": c.label,
        "unit": c.unit,
        "kind": c.kind,
        "column": None if c.kind == "baseline" else column,
        "level": level or None,
        "merged": [],
        "old": raw(c, c.old),
        "new": raw(c, c.new),
        "standardised_old": c.old if standard else None,
        "standardised_new": c.new if standard else None,
        "mean": 0.0,
        "sd": c.sd if c.kind != "baseline" else 0.0,
        "rows": 1400 if c.kind == "level" else None,
        "changed": c.old != c.new,
        "exercised": c.exercised,
        "flips": c.old * c.new < 0,
    }


def metrics(cost: float) -> dict[str, Any]:
    return {"mse": cost, "rmse": math.sqrt(cost), "r2": 1 - cost / 17.6, "bias": cost - 9.2, "mae": 0.79 * math.sqrt(cost)}


def version(number: str, alias: str | None) -> dict[str, Any]:
    return {
        "label": f"v{number}",
        "uri": f"models:/apartment-rent/{number}",
        "name": "apartment-rent",
        "version": number,
        "digest": (number + "c41f09be77d2a3") * 5 if len(number) > 1 else (number + "e1b07d93a5c2f84") * 4,
        "run_id": (number + "0f3a9c1d2e4b5768") * 2,
        "aliases": [alias] if alias else [],
    }


def model_facts(alpha: float) -> dict[str, Any]:
    return {
        "estimator": "Ridge",
        "regularisation": {"alpha": alpha, "fit_intercept": True},
        "library": "scikit-learn 1.7.2",
        "family": "gaussian",
        "link": "identity",
        "has_intercept": True,
        "target": "rent_per_m2",
        "source": "read from the model's files",
    }


def summary(coefficients: int, changed: int, costs: list[float], error: float) -> dict[str, Any]:
    where = f"On {ROWS:,} rows (holdout data, said not to be used to train either version, 2025-10-01 to 2025-12-31)"
    change = f"{costs[-1] - costs[0]:+.3f} ± {error:.3f}".replace("-", "−")
    first = f"{where} mean squared error goes from {costs[0]:.3f} to {costs[-1]:.3f} ({change}): better."
    return {
        "direction": "better",
        "headline": "v4 is more accurate than v3 on these data.",
        "sentences": [
            first,
            f"{changed} of {coefficients} coefficients differ; {len(costs) - 1} steps reach {costs[-1]:.3f}.",
            "No other order of these steps keeps the in-between models more accurate (proved).",
        ],
    }


def counts(coefficients: tuple[Coefficient, ...]) -> dict[str, Any]:
    changed = sum(c.old != c.new for c in coefficients)
    return {
        "coefficients": len(coefficients),
        "changed": changed,
        "raw_coefficients": len(coefficients),
        "raw_changed": changed,
        "sign_flips": sum(c.old * c.new < 0 for c in coefficients),
        "columns_added": [],
        "columns_dropped": [],
        "levels_added": ["district = Harbour"],
        "levels_dropped": [],
        "not_exercised": sum(not c.exercised for c in coefficients),
    }


def data_facts() -> dict[str, Any]:
    facts = {"kind": "file", "name": "rents_2025q4.parquet", "sha256": "9b1c3d5e7f02468a" * 4, "target": "rent_per_m2"}
    facts |= {"weight": None, "role": "holdout", "period": "2025-10-01 to 2025-12-31", "rows": ROWS, "rows_dropped": 37}
    facts |= {"missing": "drop", "weight_sum": ROWS, "weight_square_sum": ROWS, "target_mean": 14.6}
    return facts | {"target_sd": math.sqrt(17.6)}


def problem(evidence: Evidence) -> dict[str, Any]:
    coefficients = evidence.coefficients
    gram = [[round(g, 4) for g in row] for row in getattr(evidence, "gram", [])]
    return {
        "schema": "coordpath.problem/1",
        "features": [c.label for c in coefficients],
        "cost": {"kind": "quadratic", "gram": gram, "scale": "1/n"},
        "start": [round(raw(c, c.old), 6) for c in coefficients],
        "target": [round(raw(c, c.new), 6) for c in coefficients],
        "max_steps": 10,
    }


def compared(evidence: Evidence, ours: list[int]) -> list[dict[str, Any]]:
    best = sum(evidence.costs(ours))
    orders = (
        ("ours", "This report's order", ours),
        ("greedy", "Greedy: at each step the coefficient that lowers the cost most", evidence.greedy_order(999)),
        ("direct", "Direct: in the order in which the coefficients are listed", sorted(ours)),
    )
    made = []
    for name, title, units in orders:
        costs = evidence.costs(units)
        order = {"name": name, "title": title, "order": [evidence.units[u] for u in units], "costs": costs}
        made.append(order | {"objective": sum(costs), "worse_per_step": (sum(costs) - best) / max(len(units), 1)})
    return made


def impact(start: float, end: float, error: float) -> dict[str, Any]:
    segment = {"segment": "district", "rows": 3120, "delta_se": 0.021, "mean_shift": 0.38, "flips": 0.051}
    figures = (("Centre", 9.91, 9.42, -0.49), ("Harbour", 9.52, 9.58, 0.06), ("(small cells)", 9.7, 9.5, -0.2))
    names = ("value", "champion_cost", "candidate_cost", "delta")
    return {
        "champion": metrics(start),
        "candidate": metrics(end),
        "delta": end - start,
        "delta_se": error,
        "shift": {"mean": 0.42, "sd": 0.51, "p05": -0.41, "p50": 0.4, "p95": 1.23, "largest": -3.91},
        "flips": {
            "threshold": 15.0,
            "up": 0.0312,
            "down": 0.0107,
            "rows_up": 250,
            "rows_down": 86,
            "champion_yes": 0.41,
            "candidate_yes": 0.4305,
        },
        "segments": [segment | dict(zip(names, row, strict=True)) for row in figures],
    }


def build(evidence: Evidence, choose: Callable[[Evidence], list[int]]) -> dict[str, Any]:
    """A whole document; units that ``choose`` does not name are the rest."""
    coefficients = evidence.coefficients
    order = choose(evidence)
    steps = step_facts(evidence, order)
    full = [*order, *(u for u in range(len(evidence.units)) if u not in order)]
    costs = [evidence.start, *(step["cost"] for step in steps)]
    own = sum(evidence.costs(full))
    error = evidence.error(list(range(len(evidence.units))))
    settings = {"max_steps": 10, "gamma": 1.0, "solver": "auto", "time_limit": 60.0, "seed": 0, "threshold": 15.0}
    path = {"schema": "coordpath.path/1", "objective": own, "lower_bound": own, "gap": 0.0, "gap_per_step": 0.0}
    path |= {"status": "optimal", "solver": "lattice", "start_cost": costs[0], "minimum_cost": NOISE, "steps": steps}
    reason = "No policy was applied to this change, so nothing here is an approval."
    told = "Yearly refit on the contracts of 2025.\nThe Harbour district is new."
    return {
        "schema": "coordpath.change_report/1",
        "tool": {"version": "0.1.0"},
        "subject": {"name": "apartment-rent", "champion": version("3", "champion"), "candidate": version("4", None)},
        "assessment": {"verdict": "not assessed", "reason": reason, "materiality": None},
        "facts": {"owner": "Rental analytics", "reason": told, "change_type": "recalibration"},
        "summary": summary(len(coefficients), sum(c.old != c.new for c in coefficients), costs, error),
        "counts": counts(coefficients),
        "data": data_facts(),
        "settings": settings | {"segments": ["district"]},
        "models": {"champion": model_facts(1.0), "candidate": model_facts(0.5)},
        "coordinates": [coordinate(c) for c in coefficients],
        "raw": [
            {"name": c.label, "old": raw(c, c.old), "new": raw(c, c.new), "differs": c.old != c.new} for c in coefficients
        ],
        "problem": problem(evidence),
        "path": path,
        "comparison": compared(evidence, full),
        "impact": impact(costs[0], costs[-1], error),
        "rows": None,
        "limits": [
            "These figures hold for the reference data named here. They say nothing about other populations or the future.",
            "A coefficient is not a cause: correlated features share their effect, in another way in another model.",
            "1 coefficient is not exercised by this data: what a change of it does is unknown.",
        ],
        "recheck": {
            "command": "coordpath verify change_report.json --data rents_2025q4.parquet",
            "versions": {"coordpath-governance": "0.1.0", "numpy": "2.3.4", "python": "3.11"},
            "seed": 0,
        },
        "digest": "5a0f" * 16,
        "edition": 3,
    }
