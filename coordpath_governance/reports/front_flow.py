"""The price of interpretability of a change: fitted on one set of data, scored on another, without MLflow or files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from coordpath_governance.alignment.change import Change, align
from coordpath_governance.alignment.layout import ModelPair, lay_out
from coordpath_governance.alignment.rare_levels import merge_rare_levels
from coordpath_governance.alignment.row_columns import RowColumns
from coordpath_governance.costs.families import Family
from coordpath_governance.costs.squared_error import SquaredError
from coordpath_governance.errors import ProblemError, UnsupportedModelError, UsageError
from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.one_thread import one_thread
from coordpath_governance.paths import PathProblem
from coordpath_governance.paths.front import trace_front
from coordpath_governance.paths.patience import FOREVER
from coordpath_governance.paths.problem import StepRange
from coordpath_governance.paths.updates.chosen_steps import ChosenSteps, best_for_choices, check_choices
from coordpath_governance.paths.updates.updates import Updates, find_updates, lasso_sequence
from coordpath_governance.reference.collect import CollectedRows, collect_moments
from coordpath_governance.reference.encode import EncodedRows, Tally, encode_rows
from coordpath_governance.reference.logged import LoggedMoments, moments_for_design
from coordpath_governance.reference.moments import Moments
from coordpath_governance.reference.plan import ReadingPlan
from coordpath_governance.reference.row_passes import RowPasses
from coordpath_governance.reports.document import Settings, Subject
from coordpath_governance.reports.front_document import DataSide, FrontDocument
from coordpath_governance.reports.front_rows import FrontModels, lay_rows_out
from coordpath_governance.reports.front_scores import DesignScores, Scored, score_on_moments, score_on_rows
from coordpath_governance.reports.glm import cost_on_rows, family_of_models, is_glm
from coordpath_governance.reports.make import Progress, ReferenceData
from coordpath_governance.reports.problem import free_problem

__all__ = ["DEFAULT_STEPS", "FrontRequest", "make_front"]

Array = NDArray[np.float64]

DEFAULT_STEPS = 10

_FRONT_STEPS, _SEQUENCES = 5, 3e7
"""Most steps of the front between loss and cost, and most sequences of units: beyond, it takes too long to be waited for."""

_RESOLUTION = 0.01
_SAME = 1e-9
"""Part of their size by which the moments of the same rows may differ."""


@dataclass(frozen=True)
class FrontRequest:
    """What is asked: the subject, the most steps, the settings of reports, and how likely each number of steps is."""

    subject: Subject
    max_steps: int
    settings: Settings
    chosen: Mapping[int, float] | None = None


def make_front(
    champion: LinearModel | DecisionTree | None,
    candidate: LinearModel | DecisionTree,
    fit: ReferenceData,
    reference: ReferenceData,
    request: FrontRequest,
    progress: Progress | None = None,
) -> FrontDocument:
    """Fit updates of the champion to ``fit``, and score them on ``reference``.

    Raises `UsageError` if the two have other targets, or if a loss needs rows where there are moments only, and
    `UnsupportedModelError` for decision trees.
    """
    if isinstance(champion, DecisionTree) or isinstance(candidate, DecisionTree):
        raise UnsupportedModelError(
            "a front is over updates of coefficients, and a decision tree has none; "
            "`coordpath report` explains a change of trees"
        )
    told = progress or (lambda _stage, _count: None)
    if request.max_steps < 1:
        raise UsageError(f"max_steps: {request.max_steps} is too few; give at least 1")
    if fit.target != reference.target:
        raise UsageError(
            f"the fit data are of the target '{fit.target}', the reference data of '{reference.target}'; they must be one"
        )
    chances = None if request.chosen is None else check_choices(request.chosen)
    try:
        with np.errstate(over="ignore", invalid="ignore"), one_thread():
            return _Flow(ModelPair(champion, candidate), fit, reference, request, told).run(chances)
    except (ValidationError, OverflowError) as error:
        if isinstance(error, ValidationError) and any(each["type"] != "finite_number" for each in error.errors()):
            raise
        raise ProblemError(
            "figures of this front overflow double precision: check the coefficients and the scale of the columns"
        ) from error


@dataclass(frozen=True)
class _Read:
    """One side's data as read: its moments, and its rows if there are any."""

    data: ReferenceData
    plan: ReadingPlan
    moments: Moments
    collected: CollectedRows | None

    def rows(self) -> Iterator[EncodedRows]:
        """Its rows, once more; they are not kept afterwards."""
        kept = None if self.collected is None else self.collected.kept
        if kept is not None:
            yield from kept
        elif not isinstance(self.data.data, LoggedMoments):
            yield from encode_rows(self.data.data, self.plan, Tally())


class _Flow:
    """Read both sides, align on the fit data, fit, score."""

    def __init__(
        self, pair: ModelPair, fit: ReferenceData, reference: ReferenceData, request: FrontRequest, told: Progress
    ) -> None:
        self.pair, self.fit, self.reference, self.request, self.told = pair, fit, reference, request, told

    def run(self, chances: tuple[float, ...] | None) -> FrontDocument:
        """The document."""
        fitted = self._read(self.fit, "fit data")
        if fitted.collected is not None:
            self.pair = self.pair.weighted(merge_rare_levels(self.pair, fitted.moments))
            fitted = fitted if lay_out(self.pair) == fitted.plan.design else self._read(self.fit, "fit data once more")
        scored = self._read(self.reference, "reference data")
        in_sample = _same_contents(fitted, scored)
        change = align(self.pair, merge_rare_levels(self.pair, fitted.moments))
        coordinates = RowColumns.of(self.pair, fitted.moments, change)
        problem = self._problem(fitted, change, coordinates)
        self.told("finding the best updates", self.request.max_steps)
        updates = find_updates(problem, self.request.max_steps, FOREVER)
        chosen = None if chances is None else self._chosen(problem, chances, updates)
        most = _front_steps(len(problem.units), self.request.max_steps)
        self.told("tracing the front", most)
        front = trace_front(replace(problem, steps=StepRange(1, most)), _RESOLUTION, FOREVER)
        target = np.array([c.new for c in change.exercised], dtype=np.float64)
        models = FrontModels.of(updates, chosen, target)
        design = DesignScores.of(self.pair, fitted.plan.design.columns, coordinates, models.betas - problem.start)
        self.told("scoring", len(models.betas))
        return lay_rows_out(
            models,
            self._scores(design, scored, shares=not in_sample),
            front,
            subject=self.request.subject,
            loss=self._family.loss_name,
            sides=(_side(fitted), _side(scored)),
            in_sample=in_sample,
        )

    @property
    def _family(self) -> Family:
        return family_of_models(self.pair) if is_glm(self.pair) else SquaredError()

    def _read(self, data: ReferenceData, what: str) -> _Read:
        model = self.pair.candidate
        plan = ReadingPlan(
            lay_out(self.pair),
            data.target,
            data.weight,
            (),
            data.missing,
            classes=model.classes,
            family=model.family,
            offset=data.offset,
            exposure=data.exposure,
            target_map=model.target_map,
        )
        if not isinstance(data.data, LoggedMoments):
            collected = collect_moments(data.data, plan, lambda n: self.told(f"reading {what}", n))
            return _Read(data, plan, collected.moments, collected)
        if is_glm(self.pair) or model.target_map or plan.design.functions:
            raise UsageError(
                f"the {what} are logged moments only, and these models need rows (their loss, a function of the target or "
                "of a column); give --fit-data and --data"
            )
        return _Read(data, plan, moments_for_design(data.data, plan.design), None)

    def _problem(self, fitted: _Read, change: Change, coordinates: RowColumns) -> PathProblem:
        settings, most = self.request.settings, self.request.max_steps
        if not is_glm(self.pair) or isinstance(fitted.data.data, LoggedMoments):
            return free_problem(change, settings, None, most)
        kept = None if fitted.collected is None or fitted.collected.kept is None else list(fitted.collected.kept)
        rows = RowPasses(fitted.data.data, fitted.plan, coordinates, kept)
        return free_problem(change, settings, cost_on_rows(self.pair, change, rows, fitted.plan.target), most)

    def _chosen(self, problem: PathProblem, chances: tuple[float, ...], updates: Updates) -> ChosenSteps:
        lasso = updates.lasso
        if len(lasso) <= len(chances):
            lasso = lasso_sequence(problem, len(chances), FOREVER)
        return best_for_choices(problem, chances, lasso, FOREVER)

    def _scores(self, design: DesignScores, scored: _Read, *, shares: bool) -> tuple[Scored, ...]:
        if isinstance(scored.data.data, LoggedMoments):
            return score_on_moments(design, scored.moments)
        found = score_on_rows(design, scored.rows(), self._family, shares=shares)
        scored.data.data.check_unchanged()
        return found


def _front_steps(units: int, asked: int) -> int:
    """How many steps the front has: a count of sequences decides, so that every machine decides alike."""
    return max(k for k in range(1, min(asked, _FRONT_STEPS) + 1) if k == 1 or units**k <= _SEQUENCES)


def _same_contents(first: _Read, second: _Read) -> bool:
    """Whether both sides are the same data: the same bytes, or rows with the same moments."""
    if first.data.data.sha256 == second.data.data.sha256:
        return True
    mine, other = first.moments, second.moments
    if (mine.rows, mine.columns) != (other.rows, other.columns):
        return False
    sizes = np.sqrt(np.outer(np.diag(mine.covariance), np.diag(mine.covariance)))
    spread = np.sqrt(np.diag(mine.covariance)) + np.abs(mine.mean)
    return bool(
        np.all(np.abs(mine.mean - other.mean) <= _SAME * spread)
        and np.all(np.abs(mine.covariance - other.covariance) <= _SAME * sizes)
    )


def _side(read: _Read) -> DataSide:
    data, source = read.data, read.data.data
    return DataSide(
        kind="moments" if isinstance(source, LoggedMoments) else source.kind,
        name="moments logged with the run" if isinstance(source, LoggedMoments) else source.name,
        sha256=source.sha256,
        rows=read.moments.rows,
        target=data.target,
        weight=data.weight,
        role=data.role,
        period=data.period,
    )
