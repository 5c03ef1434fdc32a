"""A report on two decision trees: align, measure, solve, compose; the rest of the flow is that of linear models.

The prediction stands where the score of a linear model does. Of two classes it is the probability of the second one, whose
squared error is the Brier score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coordpath_governance._version import __version__
from coordpath_governance.costs.squared_error import SquaredError
from coordpath_governance.errors import AlignmentError, UnsupportedModelError, UsageError
from coordpath_governance.models.decision_tree import DecisionTree, leaf_of_rows, rows_as_compared
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.tree_document import tree_to_document
from coordpath_governance.paths.splits.measured import measure_splits
from coordpath_governance.paths.splits.row_losses import BRIER, SQUARED, RowLosses
from coordpath_governance.paths.splits.solve import SplitPath, solve_splits
from coordpath_governance.paths.splits.split_loss import SplitLoss
from coordpath_governance.paths.splits.tree_change import TreeChange
from coordpath_governance.paths.splits.tree_on_the_way import tree_on_the_way
from coordpath_governance.reference.collect import CollectedRows
from coordpath_governance.reference.decisions import CutOff
from coordpath_governance.reference.design import Design, NumericColumn
from coordpath_governance.reference.measure_path import PathOnRows, measure_path
from coordpath_governance.reference.plan import ReadingPlan
from coordpath_governance.reference.row_passes import RowPasses
from coordpath_governance.reference.sources import RowSource
from coordpath_governance.reports.compose import NO_SUMMARY, NOT_ASSESSED, ReportInputs, data_argument, summary_of
from coordpath_governance.reports.document import (
    REPORT_SCHEMA,
    ChangeReportDocument,
    Counts,
    DataFacts,
    PathFacts,
    Recheck,
    Settings,
    Tool,
    TreeFacts,
    document_digest,
)
from coordpath_governance.reports.impact import error_metrics
from coordpath_governance.reports.impact_parts import Impact, RowEvidence, ScoreShift
from coordpath_governance.reports.limits import training_remarks
from coordpath_governance.reports.row_evidence import row_evidence
from coordpath_governance.reports.tree_evidence import compared_orders, split_path_facts, step_titles, stored_splits
from coordpath_governance.reports.tree_words import BRIER_SCORE, SQUARED_ERROR, tree_limits

__all__ = ["TreeFindings", "as_trees", "compose_trees", "measure_trees", "tree_plan"]

Array = NDArray[np.float64]
_TWO = 2
_ROWS_AT_ONCE = 1 << 15


def as_trees(
    champion: LinearModel | DecisionTree | None, candidate: LinearModel | DecisionTree
) -> tuple[DecisionTree | None, DecisionTree]:
    """Both versions as trees. Raises `AlignmentError` if one of them is not a tree."""
    if isinstance(candidate, DecisionTree) and not isinstance(champion, LinearModel):
        return champion, candidate
    raise AlignmentError(
        "one version is a decision tree and the other a linear model, so that no steps lead from one to the other; explain "
        "the new one from zero (--champion none)."
    )


@dataclass(frozen=True, eq=False)
class _Raw:
    """The columns of the rows as they are."""

    width: int

    def columns(self, design: Array) -> Array:
        """The columns of every row."""
        return design


@dataclass(frozen=True, eq=False)
class _TreeScores:
    """The predictions of every tree on the path."""

    trees: Sequence[DecisionTree]

    @property
    def rows_at_once(self) -> int:
        """Every tree has one prediction of each row."""
        return _ROWS_AT_ONCE

    def along(self, columns: Array) -> Array:
        """Rows × 1 × trees."""
        compared = _compared(self.trees[0], columns)
        found = [tree.value[leaf_of_rows(tree, compared, len(columns)), -1] for tree in self.trees]
        return np.stack(found, axis=1)[:, None, :]


def _compared(tree: DecisionTree, columns: Array) -> NDArray[np.float32]:
    return rows_as_compared(list(columns.T), tree.names, takes_missing=False)


@dataclass(frozen=True)
class TreeFindings:
    """What the rows say of the steps between two trees."""

    loss: SplitLoss
    path: SplitPath
    rows: RowEvidence
    tree: TreeFacts


def tree_plan(
    change: TreeChange, target: str, weight: str | None, segments: tuple[str, ...], missing: Literal["fail", "drop"]
) -> ReadingPlan:
    """Which columns to read: those that a tree compares, as numbers that must be there."""
    if len(change.new.classes) > _TWO:
        raise UnsupportedModelError(
            f"the trees have {len(change.new.classes)} classes, and reports tell trees that predict numbers or two classes; "
            "fit one class against the others."
        )
    return ReadingPlan(
        Design(tuple(NumericColumn(name, "the tree") for name in change.columns), ()),
        target,
        weight,
        segments,
        missing,
        classes=change.new.classes,
        family="binomial" if change.new.classes else "gaussian",
    )


def measure_trees(
    change: TreeChange,
    source: RowSource,
    plan: ReadingPlan,
    collected: CollectedRows,
    settings: Settings,
    told: Callable[[str, int | str], None],
) -> TreeFindings:
    """Measure every step on the rows, find the best order, and measure that."""
    if settings.threshold_class not in (None, *change.new.classes[-1:]):
        raise UsageError(
            f"threshold_class: {settings.threshold_class!r} is not the last class of the trees, of which a threshold is the "
            "probability; leave it out, or give the threshold of that class"
        )
    rows = RowPasses(source, plan, _Raw(len(change.columns)), collected.kept)
    chunks = list(rows)
    columns, target, weight = (
        np.concatenate([getattr(chunk, part) for chunk in chunks]) for part in ("columns", "target", "weight")
    )
    kind = BRIER if change.new.classes else SQUARED
    losses = RowLosses(kind, target.astype(np.int64) if change.new.classes else target, weight / weight.sum())
    loss = measure_splits(change, _compared(change.old, columns), losses)
    told("finding the best order", len(change.units))
    path = solve_splits(loss, settings.gamma, settings.max_steps)
    stops = [path.order[:count] for count in range(len(path.order) + 1)]
    stops += [tuple(range(len(change.units)))] if path.rest else []
    scores = _TreeScores([tree_on_the_way(change, frozenset(stop)) for stop in stops])
    own = settings.threshold if settings.champion_threshold is None else settings.champion_threshold
    thresholds = (own, settings.threshold)
    old_cut, new_cut = (None if value is None else CutOff(value) for value in thresholds)
    on_rows = PathOnRows(
        scores=scores,
        costs=path.costs,
        deltas=tuple(after - before for before, after in pairwise(path.costs)),
        size=float(collected.moments.target_variance + collected.moments.target_mean**2),
        steps=step_titles(change, path),
        champion_cut=old_cut,
        candidate_cut=new_cut,
        by_version=False,
    )
    measures = measure_path(rows, SquaredError(), on_rows, lambda count: told("measuring rows", count))
    ends = scores.along(columns)[:, 0, [0, -1]]
    old_mean, new_mean = (losses.weight @ ends).tolist()
    shift = ends[:, 1] - ends[:, 0]
    return TreeFindings(
        loss,
        path,
        row_evidence(measures, on_rows, thresholds, settings.threshold_class),
        TreeFacts(
            loss=BRIER_SCORE if change.new.classes else SQUARED_ERROR,
            classes=change.new.classes,
            champion_leaves=change.old.leaves,
            candidate_leaves=change.new.leaves,
            champion_mean=old_mean,
            candidate_mean=new_mean,
            shift_sd=float(np.sqrt(losses.weight @ (shift - losses.weight @ shift) ** 2)),
        ),
    )


def compose_trees(told: ReportInputs, has_champion: bool, change: TreeChange, found: TreeFindings) -> ChangeReportDocument:
    """The whole document with its digest; a pure function of trees, recorded sums, row evidence and facts."""
    path = split_path_facts(change, found.loss, found.path, found.rows)
    impact = _impact(told.data, path, found)
    counts = _counts(change, has_champion=has_champion)
    models = {
        "champion": tree_to_document(change.old) if has_champion else None,
        "candidate": tree_to_document(change.new),
    }
    document = ChangeReportDocument(
        schema_=REPORT_SCHEMA,
        tool=Tool(version=__version__),
        subject=told.subject,
        assessment=NOT_ASSESSED,
        facts=told.facts,
        summary=NO_SUMMARY,
        counts=counts,
        data=told.data,
        settings=told.settings,
        models=models,
        coordinates=(),
        raw=(),
        problem=stored_splits(found.loss, told.settings),
        path=path,
        comparison=compared_orders(change, found.loss, found.path, told.settings.gamma),
        impact=impact,
        rows=found.rows,
        limits=(*tree_limits(change, told.data, impact, has_champion), *training_remarks(told.subject, told.data)),
        recheck=Recheck(
            command=f"coordpath verify change_report.json --data {data_argument(told.data)}",
            versions=told.versions,
            seed=told.settings.seed,
        ),
        digest="",
        environments=told.environments,
        edition=told.edition,
        tree=found.tree,
    )
    document = document.model_copy(update={"summary": summary_of(document)})
    return document.model_copy(update={"digest": document_digest(document)})


def _impact(data: DataFacts, path: PathFacts, found: TreeFindings) -> Impact:
    rows, tree = found.rows, found.tree
    costs = (path.start_cost, path.steps[-1].cost if path.steps else path.start_cost)
    champion, candidate = (
        error_metrics(cost, data.target_mean - mean, data.target_mean, data.target_sd, mae)
        for cost, mean, mae in zip(
            costs, (tree.champion_mean, tree.candidate_mean), (rows.champion_mae, rows.candidate_mae), strict=True
        )
    )
    return Impact(
        champion=champion,
        candidate=candidate,
        delta=costs[1] - costs[0],
        delta_se=rows.total_se,
        shift=ScoreShift(
            mean=tree.candidate_mean - tree.champion_mean,
            sd=tree.shift_sd,
            p05=rows.shift_p05,
            p50=rows.shift_p50,
            p95=rows.shift_p95,
            largest=rows.shift_largest,
        ),
        flips=rows.flips,
        segments=rows.segments,
    )


def _counts(change: TreeChange, *, has_champion: bool) -> Counts:
    """Splits and leaves in place of coefficients: how many there are at the places of both trees, and how many change."""
    alike = sum(place.unit is None and not place.collapse and not place.grow for place in change.places)
    old, new = set(change.old.columns) if has_champion else set(change.new.columns), set(change.new.columns)
    return Counts(
        coefficients=alike + len(change.units),
        changed=len(change.units),
        raw_coefficients=0,
        raw_changed=0,
        sign_flips=0,
        columns_added=tuple(sorted(new - old)),
        columns_dropped=tuple(sorted(old - new)),
        levels_added=(),
        levels_dropped=(),
        not_exercised=0,
    )
