"""Sample documents of generalised linear models as plain dictionaries; conftest.py loads this by path."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from coordpath_governance.reports.document import Counts, DataFacts, PathFacts
from coordpath_governance.reports.impact_parts import GlmFacts, Impact
from coordpath_governance.reports.summary import summarise
from helpers import samples
from helpers.sample_glm import CREDIT, FREQUENCY, ROUTING, ROWS, GlmEvidence, Story

__all__ = ["CREDIT", "FREQUENCY", "ROUTING", "build_glm"]

NAMES = {
    "binomial": ("credit-default", "default", "log loss", "logit", "logistic"),
    "poisson": ("motor-frequency", "claims", "mean Poisson deviance", "log", "poisson"),
    "multinomial": ("complaint-routing", "desk", "log loss", "softmax", "multinomial"),
}
THRESHOLDS = (0.3, 0.25)


def tenths(predicted: list[float], target: list[int]) -> list[dict[str, Any]]:
    order = sorted(range(ROWS), key=lambda i: predicted[i])
    size = ROWS // 10
    parts = [order[k : k + size] for k in range(0, ROWS, size)]
    mean = lambda values, part: sum(values[i] for i in part) / size  # noqa: E731
    return [{"rows": size, "expected": mean(predicted, part), "observed": mean(target, part)} for part in parts]


def area(order: list[int], target: list[int]) -> float:
    """Between the concentration curve and the diagonal."""
    sums, seen = 0.0, 0
    for i in order:
        seen += target[i]
        sums += seen
    return 0.5 - sums / seen / ROWS


def gini(predicted: list[float], target: list[int]) -> float:
    own, best = (sorted(range(ROWS), key=lambda i: by[i]) for by in (predicted, target))
    return area(own, target) / area(best, target)


def against_the_rest(predicted: list[float], target: list[int]) -> dict[str, Any]:
    """AUC, by counting pairs, and calibration of one class."""
    own, other = ([p for p, y in zip(predicted, target, strict=True) if y == of] for of in (1, 0))
    above = sum((a > b) + (a == b) / 2 for a in own for b in other)
    return {"auc": above / len(own) / len(other), "calibration": tenths(predicted, target)}


def row_metrics(evidence: GlmEvidence, predictions: list[list[float]]) -> dict[str, Any]:
    target, classes = evidence.target, evidence.story.classes
    made: dict[str, Any] = {"expected": None, "observed": None, "auc": None, "gini": None, "calibration": []}
    probabilities = predictions if evidence.scores > 1 else [[1 - p[0], p[0]] for p in predictions]
    made["classes"] = [
        {"label": label, "observed": target.count(c) / ROWS, "expected": sum(p[c] for p in probabilities) / ROWS}
        for c, label in enumerate(classes)
    ]
    if evidence.scores > 1:
        for c, each in enumerate(made["classes"]):
            each |= against_the_rest([p[c] for p in predictions], [int(y == c) for y in target])
        return made | {"accuracy": sum(p[y] == max(p) for p, y in zip(predictions, target, strict=True)) / ROWS}
    predicted = [p[0] for p in predictions]
    made |= {"expected": sum(predicted) / ROWS, "observed": sum(target) / ROWS, "calibration": tenths(predicted, target)}
    made["gini"] = gini(predicted, target)
    return made | ({"auc": (made["gini"] + 1) / 2} if classes else {})


def absolute_error(evidence: GlmEvidence, predictions: list[list[float]]) -> float:
    if evidence.scores > 1:
        return sum(1 - p[y] for p, y in zip(predictions, evidence.target, strict=True)) / ROWS
    return sum(abs(p[0] - y) for p, y in zip(predictions, evidence.target, strict=True)) / ROWS


def flips(evidence: GlmEvidence, order: list[int]) -> dict[str, Any]:
    """At the champion's threshold along the path, then the threshold itself; of several classes the most probable one."""
    old, new = THRESHOLDS
    names = [evidence.units[u] for u in order]
    along = [evidence.predictions(evidence.model(frozenset(order[:k]))) for k in range(len(order) + 1)]
    if evidence.scores > 1:
        decided = [[p.index(max(p)) for p in predictions] for predictions in along]
        shares = [{"up": changed(*both, lambda a, b: a != b), "down": 0.0} for both in neighbours(decided)]
        told = {"threshold": None, "steps": named(names, shares), "classes": class_flips(evidence, decided)}
        return told | counted(shares[-1]) | shares[-1]
    decided = [[p[0] >= old for p in predictions] for predictions in along]
    decided.append([p[0] >= new for p in along[-1]])
    shares = [
        {"up": changed(*both, lambda a, b: b > a), "down": changed(*both, lambda a, b: b < a)}
        for both in neighbours(decided)
    ]
    told = {"threshold": new, "champion_threshold": old, "steps": named([*names, "(threshold)"], shares)}
    yes = {"champion_yes": sum(decided[0]) / ROWS, "candidate_yes": sum(decided[-1]) / ROWS}
    return told | counted(shares[-1]) | yes | shares[-1]


def counted(shares: dict[str, float]) -> dict[str, int]:
    """The rows themselves."""
    return {f"rows_{way}": round(share * ROWS) for way, share in shares.items()}


def class_flips(evidence: GlmEvidence, decided: list[list[int]]) -> list[dict[str, Any]]:
    """From which class to which, from first to last."""
    pairs = list(zip(decided[0], decided[-1], strict=True))
    names = evidence.story.classes
    return [
        {"before": names[a], "after": names[b], "flips": pairs.count((a, b)) / ROWS} for a, b in sorted(set(pairs)) if a != b
    ]


def neighbours(decided: list[list[Any]]) -> list[tuple[list[Any], list[Any]]]:
    """From step to step, and from first to last."""
    return [*itertools.pairwise(decided), (decided[0], decided[-1])]


def changed(before: list[Any], after: list[Any], how: Callable[[Any, Any], bool]) -> float:
    return sum(how(a, b) for a, b in zip(before, after, strict=True)) / ROWS


def named(names: list[str], shares: list[dict[str, float]]) -> list[dict[str, Any]]:
    return [{"feature": name} | share for name, share in zip(names, shares, strict=False)]


def segments(evidence: GlmEvidence, with_flips: bool) -> list[dict[str, Any]]:
    before, after = evidence.losses(frozenset()), evidence.losses(frozenset(range(len(evidence.units))))
    made = []
    for value, part in (("branch", range(0, ROWS, 2)), ("online", range(1, ROWS, 2))):
        size = len(part)
        old, new = (sum(losses[i] for i in part) / size for losses in (before, after))
        spread = sum((after[i] - before[i] - new + old) ** 2 for i in part) / (size - 1) / size
        figures = {"rows": size, "champion_cost": old, "candidate_cost": new, "delta": new - old}
        figures |= {"delta_se": math.sqrt(spread), "mean_shift": 0.21, "flips": 0.05 if with_flips else None}
        made.append({"segment": "channel", "value": value} | figures)
    return made


def shift(evidence: GlmEvidence) -> dict[str, Any]:
    old, new = evidence.model(frozenset()), evidence.model(None)
    moved = sorted(evidence.score(row, new)[0] - evidence.score(row, old)[0] for row in evidence.rows)
    mean = sum(moved) / ROWS
    made = {"mean": mean, "sd": math.sqrt(sum((d - mean) ** 2 for d in moved) / ROWS)}
    made |= {"p05": moved[20], "p50": moved[200], "p95": moved[380], "largest": max(moved, key=abs)}
    return made | ({"mean": 0.0, "sd": 0.0} if evidence.scores > 1 else {})


def model_facts(story: Story, strength: float, threshold: float | None) -> dict[str, Any]:
    estimator = "PoissonRegressor" if story.family == "poisson" else "LogisticRegression"
    facts = samples.model_facts(strength) | {"estimator": estimator, "family": story.family}
    facts |= {"link": NAMES[story.family][3], "target": NAMES[story.family][1], "power": None}
    return facts | {"classes": list(story.classes), "threshold": threshold}


def recorded(evidence: GlmEvidence, order: list[int]) -> dict[str, Any]:
    """The cost as it was evaluated along the path."""
    cost = {"kind": NAMES[evidence.story.family][4]} | ({"classes": evidence.scores} if evidence.scores > 1 else {})
    listed = [
        {"moved": sorted(order[:k]), "value": evidence.cost(frozenset(order[:k])), "slopes": [0.0] * len(order)}
        for k in range(len(order) + 1)
    ]
    size = len(order)
    return cost | {"record": {"minimum": 0.0, "curvature": [[0.0] * size] * size, "evaluations": listed}}


def build_glm(story: Story) -> dict[str, Any]:
    """A whole document."""
    evidence = GlmEvidence(story)
    order = evidence.best_order()
    made = samples.build(evidence, lambda _: order)
    name, target, loss, link, _ = NAMES[story.family]
    for side in ("champion", "candidate"):
        made["subject"][side] |= {"name": name, "uri": f"models:/{name}/{made['subject'][side]['version']}"}
    made["subject"]["name"] = name
    for k, step in enumerate(made["path"]["steps"]):
        step["delta_se"] = evidence.error([order[k]], frozenset(order[:k]))
    end = made["path"]["steps"][-1]["cost"]
    made["path"] |= {"solver": "cuts", "minimum_cost": 0.995 * end}
    made["counts"] |= {"levels_added": []}
    made["facts"] = {"owner": "Model owners", "reason": "Yearly refit.", "change_type": "recalibration"}
    made["recheck"]["command"] = f"coordpath verify change_report.json --data {name}.parquet"
    made["limits"] = [*made["limits"][:2], "Moving a slope leaves the average score where it is."]
    made["data"] |= {"name": f"{name}.parquet", "target": target, "rows": ROWS, "rows_dropped": 0}
    made["data"] |= {"weight_sum": ROWS, "weight_square_sum": ROWS, "target_mean": sum(evidence.target) / ROWS}
    made["data"] |= {"target_sd": 0.4} | ({"exposure": "years_insured"} if story.exposed else {})
    own = THRESHOLDS if story.family == "binomial" else (None, None)
    made["settings"] |= {"threshold": None, "segments": ["channel"]}
    made["models"] = {"champion": model_facts(story, 1.0, own[0]), "candidate": model_facts(story, 0.5, own[1])}
    made["problem"]["cost"] = recorded(evidence, order)
    size = len(story.columns)
    made["glm"] = {"family": story.family, "link": link, "power": None, "classes": list(story.classes), "loss": loss}
    made["glm"] |= {
        "constant_cost": evidence.constant_cost(),
        "gram": [[float(i == j) for j in range(size)] for i in range(size)],
    }
    predictions = [evidence.predictions(evidence.model(moved)) for moved in (frozenset(), None)]
    costs = (evidence.start, end)
    sides = [
        row_metrics(evidence, predicted)
        | {"cost": cost, "explained": 1 - cost / evidence.constant_cost(), "mae": absolute_error(evidence, predicted)}
        for cost, predicted in zip(costs, predictions, strict=True)
    ]
    error = evidence.error(list(range(len(order))))
    made["impact"] = {"champion": sides[0], "candidate": sides[1], "delta": end - evidence.start, "delta_se": error}
    made["impact"] |= {"shift": shift(evidence), "segments": segments(evidence, bool(story.classes))}
    made["impact"]["flips"] = flips(evidence, order) if story.classes else None
    parts = (DataFacts, Counts, PathFacts, Impact, GlmFacts)
    keys = ("data", "counts", "path", "impact", "glm")
    figures = {key: part.model_validate(made[key]) for part, key in zip(parts, keys, strict=True)}
    made["summary"] = summarise(("v3", "v4"), **figures).model_dump()
    return made
