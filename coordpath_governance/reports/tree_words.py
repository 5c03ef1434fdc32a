"""Sentences of a report on decision trees: what differs from one on linear models."""

from __future__ import annotations

from coordpath_governance.numbers import count, difference, is_within_noise, significant
from coordpath_governance.paths.splits.tree_change import TreeChange
from coordpath_governance.reports.document import Counts, DataFacts, PathFacts, TreeFacts
from coordpath_governance.reports.impact_parts import Impact

__all__ = ["BRIER_SCORE", "SQUARED_ERROR", "among_these_steps", "tree_counts", "tree_limits"]

SQUARED_ERROR, BRIER_SCORE = "mean squared error", "Brier score"


def among_these_steps(path: PathFacts, tree: TreeFacts | None) -> str:
    """What the certificate of a path between trees is about; "" where there is none."""
    if tree is None or not path.steps:
        return ""
    what = "Optimal" if path.status == "optimal" else "Bounded"
    return f"{what} among these steps, not over all edits of a tree."


def tree_counts(counts: Counts, path: PathFacts, tree: TreeFacts) -> str:
    """How many splits and leaves differ, and how far the single steps reach."""
    sizes = f"{count(tree.champion_leaves)} leaves before, {count(tree.candidate_leaves)} after"
    differ = f"{count(counts.changed)} of {count(counts.coefficients)} splits and leaves differ ({sizes})"
    if not path.steps:
        return f"{differ}."
    if path.steps[-1].kind != "rest":
        steps = "the one step reaches" if len(path.steps) == 1 else f"{len(path.steps)} steps reach"
        return f"{differ}; {steps} {significant(path.steps[-1].cost)}."
    rest, singles = path.steps[-1], len(path.steps) - 1
    noise = ", which is within noise" if is_within_noise(rest.delta, rest.delta_se) else ""
    others = (
        f"the other {count(counts.changed - singles)} together change it by {difference(rest.delta, rest.delta_se)}{noise}"
    )
    return f"{differ}; the first {singles} steps reach {significant(path.steps[-2].cost)}, {others}."


def tree_limits(change: TreeChange, data: DataFacts, impact: Impact, has_champion: bool) -> tuple[str, ...]:
    """What a report on two trees cannot tell."""
    out = [
        "These figures hold for the reference data named here. They say nothing of other populations or the future.",
        "A split is not a cause: correlated columns stand in for each other, and another tree may split by other ones.",
        (
            "Orders are compared among these steps, not over all edits of a tree: nodes at the same place that compare the "
            "same column are one node, whose threshold moves; elsewhere the new subtree replaces the old one."
        ),
        "The figures of a step on few rows come close to those rows: treat this report like the reference data themselves.",
    ]
    if not has_champion:
        out.append("The path starts from one leaf with the value of the tree's root: the mean of what it was trained on.")
    if data.role == "training":
        out.append("The reference data were used for training: accuracy on new data will be worse, for either version.")
    if data.role == "not stated":
        out.append("Nobody stated whether the reference data were used for training.")
    if data.rows_dropped:
        told = f"{count(data.rows_dropped)} rows with a missing value were left out"
        out.append(f"{told}; the models were not judged on such rows, even if they predict for them.")
    if not data.target_sd:
        out.append("The target is constant in the reference data: no share of its variation can be explained.")
    r2 = (impact.champion.r2, impact.candidate.r2) if has_champion else (impact.candidate.r2,)  # type: ignore[union-attr]
    if all(share is not None and share < 0 for share in r2):
        who = "Both versions predict" if has_champion else "The candidate predicts"
        out.append(f"{who} these data worse than their mean would: check that the target column is right.")
    for who, tree in (("champion", change.old), ("candidate", change.new)):
        weighted = (tree.settings or {}).get("class_weight") is not None
        if weighted and (has_champion or who == "candidate"):
            out.append(f"The {who} was trained with class weights, which shift its probabilities.")
    return tuple(out)
