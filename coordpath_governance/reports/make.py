"""One report from two models and reference data: the flow of the product, without MLflow, files or a clock."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, asdict, dataclass, replace
from importlib.metadata import version as installed_version
from typing import Literal

import numpy as np
from pydantic import ValidationError

from coordpath_governance._version import __version__
from coordpath_governance.alignment.change import Change, align
from coordpath_governance.alignment.layout import ModelPair, lay_out
from coordpath_governance.alignment.rare_levels import merge_rare_levels
from coordpath_governance.alignment.row_columns import RowColumns, UnitColumns
from coordpath_governance.alignment.tree_units import align_trees
from coordpath_governance.costs.glm import GlmCost
from coordpath_governance.costs.squared_error import SquaredError
from coordpath_governance.errors import ProblemError, UnsupportedModelError, UsageError
from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.paths import PathProblem, Solution, solve_problem
from coordpath_governance.paths.patience import how_far
from coordpath_governance.reference.collect import CollectedRows, InputRange, collect_moments
from coordpath_governance.reference.decisions import CutOff
from coordpath_governance.reference.logged import LoggedMoments, Role, moments_for_design
from coordpath_governance.reference.measure_path import PathOnRows, UnitScores, measure_path
from coordpath_governance.reference.moments import Moments
from coordpath_governance.reference.plan import ReadingPlan
from coordpath_governance.reference.row_passes import RowPasses
from coordpath_governance.reference.sources import RowSource
from coordpath_governance.reports.compose import ReportInputs, compose
from coordpath_governance.reports.document import (
    ChangeFacts,
    ChangeReportDocument,
    DataFacts,
    InputFacts,
    Settings,
    Subject,
    VersionFacts,
)
from coordpath_governance.reports.editions import EDITION, Edition
from coordpath_governance.reports.glm import (
    check_thresholds,
    cost_on_rows,
    glm_facts,
    glm_path_on_rows,
    is_glm,
    thresholds,
)
from coordpath_governance.reports.impact import shift_moments
from coordpath_governance.reports.impact_parts import GlmFacts, RowEvidence
from coordpath_governance.reports.problem import problem_on_moments, problem_on_rows
from coordpath_governance.reports.row_evidence import row_evidence
from coordpath_governance.reports.steps import Labels, steps_as_units
from coordpath_governance.reports.transformed_target import predicted_function, score_threshold
from coordpath_governance.reports.trees import as_trees, compose_trees, measure_trees, tree_plan
from coordpath_governance.reports.version_parts import Environments

__all__ = [
    "DEFAULT_MAX_STEPS",
    "Progress",
    "ReferenceData",
    "Request",
    "Search",
    "make_report",
    "pose_problem",
    "settings_for",
    "version_facts",
]

Progress = Callable[[str, int | str], None]
"""Called with the name of a stage and the number of rows so far, or with a text on how far the search is."""

Search = Callable[[PathProblem, Labels], Solution]
"""What finds the order of a problem on rows."""

DEFAULT_MAX_STEPS = 10


@dataclass(frozen=True)
class ReferenceData:
    """The data on which a change is measured: rows, or moments that a training script logged; and facts about them.

    ``weight``, ``offset`` and ``exposure`` are names of columns. ``missing`` says whether rows with missing values that a
    model cannot score are an error (``fail``) or left out (``drop``).
    """

    data: RowSource | LoggedMoments
    target: str
    _: KW_ONLY
    weight: str | None = None
    role: Role = "not stated"
    period: str | None = None
    missing: Literal["fail", "drop"] = "fail"
    offset: str | None = None
    exposure: str | None = None


@dataclass(frozen=True)
class Request:
    """What is asked for: the subject, the facts that people state, the settings, and the versions' environment files.

    ``edition`` None is for a report as the first edition made it, to compare with one.
    """

    subject: Subject
    facts: ChangeFacts
    settings: Settings
    environments: Environments | None = None
    edition: Edition | None = EDITION


def settings_for(
    *,
    max_steps: int | None = DEFAULT_MAX_STEPS,
    gamma: float = 1.0,
    threshold: float | None = None,
    champion_threshold: float | None = None,
    threshold_class: str | None = None,
    segments: Sequence[str] = (),
    seed: int = 0,
) -> Settings:
    """Settings with the report's defaults.

    ``max_steps`` None makes every coefficient a step of its own; ``gamma`` is the weight of a step relative to the one
    before. Raises `UsageError` if a value is not a finite number, or if the class has no name.
    """
    for name, value in (("gamma", gamma), ("threshold", threshold), ("champion_threshold", champion_threshold)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value)):
            raise UsageError(f"{name}: {value!r} is not a finite number")
    if max_steps is not None and (isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1):
        raise UsageError(f"max_steps: {max_steps!r} is not a whole number of at least 1; None is for every step")
    if threshold_class is not None and not (isinstance(threshold_class, str) and threshold_class.strip()):
        raise UsageError(f"threshold_class: {threshold_class!r} is not the name of a class; give it as a text")
    return Settings(
        max_steps=max_steps,
        gamma=gamma,
        solver="auto",
        time_limit=None,
        seed=seed,
        threshold=threshold,
        champion_threshold=champion_threshold,
        threshold_class=threshold_class,
        segments=tuple(segments),
    )


def version_facts(model: LinearModel | DecisionTree, label: str, aliases: Sequence[str] = ()) -> VersionFacts:
    """One side of the subject: where ``model`` came from, and how it is called."""
    origin = model.provenance
    return VersionFacts(
        label=label,
        uri=origin.uri,
        name=origin.name,
        version=origin.version,
        digest=origin.digest,
        run_id=origin.run_id,
        aliases=tuple(aliases),
    )


def make_report(
    champion: LinearModel | DecisionTree | None,
    candidate: LinearModel | DecisionTree,
    reference: ReferenceData,
    request: Request,
    progress: Progress | None = None,
    search: Search | None = None,
) -> ChangeReportDocument:
    """The report on a change: align the models, solve, measure on the rows, compose.

    Without ``champion`` the candidate is explained from zero. ``progress`` is called as rows go by and while the solver
    works. ``search`` finds the order in place of the solver, for costs that only rows can tell.

    Raises `UsageError` where settings, reference data and models do not fit, `ReferenceDataError` for rows that cannot be
    used, and `ProblemError` if figures overflow double precision.
    """
    if isinstance(champion, DecisionTree) or isinstance(candidate, DecisionTree):
        with _figures_that_fit():
            trees = as_trees(champion, candidate)
            return _make_of_trees(*trees, reference, request, progress or (lambda _stage, _count: None))
    pair = ModelPair(champion, candidate)
    check_thresholds(pair, request.settings)
    with _figures_that_fit():
        flow = _Flow(pair, reference, request.settings, progress, counted=request.edition is not None)
        return _make(reference, request, flow, search)


def pose_problem(
    champion: LinearModel | DecisionTree | None,
    candidate: LinearModel | DecisionTree,
    reference: ReferenceData,
    settings: Settings,
    progress: Progress | None = None,
) -> tuple[PathProblem, Labels]:
    """The path problem that the report on a change solves, and what its steps are called.

    Raises what that would, and `UnsupportedModelError` for decision trees, whose steps are another problem.
    """
    if isinstance(champion, DecisionTree) or isinstance(candidate, DecisionTree):
        raise UnsupportedModelError(
            "only changes of coefficients can be explored, and a decision tree has none; "
            "`coordpath report` explains its change"
        )
    with _figures_that_fit():
        flow = _Flow(ModelPair(champion, candidate), reference, settings, progress, counted=True)
        if isinstance(reference.data, LoggedMoments):
            _, change, problem = flow.pose_on_moments(reference.data)
            return problem, Labels.of(change)
        aligned = flow.align_rows(reference.data)
        on_rows = is_glm(flow.pair)
        problem = flow.pose_on_rows(aligned)[2] if on_rows else problem_on_moments(aligned.change, settings)
        return problem, Labels.of(aligned.change)


@contextmanager
def _figures_that_fit() -> Iterator[None]:
    """Raises `ProblemError` if a figure overflows meanwhile."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (ValidationError, OverflowError) as error:
        if isinstance(error, ValidationError) and any(detail["type"] != "finite_number" for detail in error.errors()):
            raise
        raise ProblemError(
            "figures of this report overflow double precision: check the coefficients and the scale of the columns"
        ) from error


def _make(reference: ReferenceData, request: Request, flow: _Flow, search: Search | None) -> ChangeReportDocument:
    if isinstance(reference.data, LoggedMoments):
        measured = flow.on_logged_moments(reference.data)
    else:
        measured = flow.on_rows(reference.data, search)
    predicted = predicted_function(flow.pair.candidate, reference.target)
    data = _data_facts(reference, measured.moments, measured.rows_dropped, predicted, measured.inputs)
    return compose(
        _report_inputs(request, data, measured.glm),
        pair=flow.pair,
        change=measured.change,
        problem=measured.problem,
        solution=measured.solution,
        rows=measured.rows,
    )


def _make_of_trees(
    champion: DecisionTree | None, candidate: DecisionTree, reference: ReferenceData, request: Request, told: Progress
) -> ChangeReportDocument:
    if isinstance(reference.data, LoggedMoments):
        raise UsageError("decision trees need rows; the reference data are logged moments only: give --data")
    if reference.offset is not None or reference.exposure is not None:
        raise UsageError("decision trees have no score that an offset or an exposure is added to; leave it out")
    change = align_trees(champion, candidate)
    plan = tree_plan(change, reference.target, reference.weight, request.settings.segments, reference.missing)
    collected = collect_moments(reference.data, plan, lambda n: told("reading rows", n))
    found = measure_trees(change, reference.data, plan, collected, request.settings, told)
    data = _data_facts(reference, collected.moments, collected.rows_dropped, None)
    return compose_trees(_report_inputs(request, data), champion is not None, change, found)


def _report_inputs(request: Request, data: DataFacts, glm: GlmFacts | None = None) -> ReportInputs:
    return ReportInputs(
        subject=request.subject,
        facts=request.facts,
        data=data,
        settings=request.settings,
        versions={
            "coordpath-governance": __version__,
            "python": platform.python_version(),
            "numpy": installed_version("numpy"),
            "scipy": installed_version("scipy"),
        },
        glm=glm,
        environments=request.environments,
        edition=request.edition,
    )


@dataclass(frozen=True)
class _Measured:
    """What the reference data say of the change."""

    moments: Moments
    rows_dropped: int
    change: Change
    problem: PathProblem
    solution: Solution
    rows: RowEvidence | None = None
    glm: GlmFacts | None = None
    inputs: tuple[InputRange, ...] = ()


@dataclass(frozen=True)
class _Aligned:
    """A change on rows: how they are read, and what a first pass found."""

    source: RowSource
    plan: ReadingPlan
    collected: CollectedRows
    change: Change


class _Flow:
    """Align, solve, measure: on rows, or on moments that somebody logged."""

    def __init__(
        self, pair: ModelPair, reference: ReferenceData, settings: Settings, progress: Progress | None, *, counted: bool
    ) -> None:
        self.pair, self.reference, self.settings = pair, reference, settings
        self.progress: Progress = progress or (lambda _stage, _count: None)
        self._counted = counted

    def on_logged_moments(self, logged: LoggedMoments) -> _Measured:
        """Everything that moments tell under the squared error; raises `UsageError` for what needs rows."""
        moments, change, problem = self.pose_on_moments(logged)
        return _Measured(moments, logged.document.rows_dropped, change, problem, self._solve(problem))

    def pose_on_moments(self, logged: LoggedMoments) -> tuple[Moments, Change, PathProblem]:
        """The moments of the design, the change and its problem; raises `UsageError` for what needs rows."""
        needing_rows = (self.settings.threshold, self.settings.segments, self.reference.offset, self.reference.exposure)
        if any(value not in (None, ()) for value in needing_rows):
            raise UsageError(
                "a threshold, segments, an offset or an exposure need rows; the reference data are logged moments only: "
                "give --data"
            )
        if is_glm(self.pair):
            raise UsageError(
                f"the {self.pair.candidate.family} loss needs rows; the reference data are logged moments only: give --data"
            )
        if self.pair.candidate.target_map:
            predicted = predicted_function(self.pair.candidate, self.reference.target)
            raise UsageError(
                f"the models predict {predicted}, whose error needs rows; the reference data are logged moments of the "
                "target itself: give --data"
            )
        design = lay_out(self.pair)
        if design.functions:
            raise UsageError(
                f"'{design.functions[0].name}' is a function that needs rows; the reference data are logged moments only: "
                "give --data"
            )
        moments = moments_for_design(logged, design)
        change = align(self.pair, merge_rare_levels(self.pair, moments))
        return moments, change, problem_on_moments(change, self.settings)

    def align_rows(self, source: RowSource) -> _Aligned:
        """One pass over the rows, and another where their weights count for the models."""
        reference, model = self.reference, self.pair.candidate
        plan = ReadingPlan(
            lay_out(self.pair),
            reference.target,
            reference.weight,
            self.settings.segments,
            reference.missing,
            classes=model.classes,
            family=model.family,
            offset=reference.offset,
            exposure=reference.exposure,
            target_map=model.target_map,
        )
        collected = collect_moments(source, plan, lambda n: self.progress("reading rows", n))
        weighted = self.pair.weighted(merge_rare_levels(self.pair, collected.moments))
        if weighted is not self.pair:
            self.pair = weighted
            plan = replace(plan, design=lay_out(weighted))
            collected = collect_moments(source, plan, lambda n: self.progress("reading rows once more", n))
        change = align(self.pair, merge_rare_levels(self.pair, collected.moments))
        return _Aligned(source, plan, collected, change)

    def pose_on_rows(self, aligned: _Aligned) -> tuple[RowPasses, GlmCost, PathProblem]:
        """The rows, the cost that only they can tell, and the problem under it."""
        columns = RowColumns.of(self.pair, aligned.collected.moments, aligned.change)
        rows = RowPasses(aligned.source, aligned.plan, columns, aligned.collected.kept)
        cost = cost_on_rows(self.pair, aligned.change, rows, aligned.plan.target)
        return rows, cost, problem_on_rows(aligned.change, self.settings, cost)

    def on_rows(self, source: RowSource, search: Search | None) -> _Measured:
        """Two passes over the rows under the squared error; under other losses as many as the proof takes."""
        aligned = self.align_rows(source)
        plan, collected, change = aligned.plan, aligned.collected, aligned.change
        if is_glm(self.pair):
            return self._generalised(aligned, search)
        problem = problem_on_moments(change, self.settings)
        solution = self._solve(problem)
        columns = UnitColumns.of(self.pair, collected.moments, change)
        rows = RowPasses(source, plan, columns, collected.kept, once=True)
        path = _path_of_units(change, problem, solution, columns.units, score_threshold(self.pair, self.settings))
        measures = measure_path(rows, SquaredError(), path, lambda n: self.progress("measuring rows", n))
        threshold = self.settings.threshold
        evidence = row_evidence(measures, path, (threshold, threshold), counted=self._counted)
        return _Measured(
            collected.moments, collected.rows_dropped, change, problem, solution, evidence, inputs=collected.inputs
        )

    def _generalised(self, aligned: _Aligned, search: Search | None) -> _Measured:
        pair, settings, collected, change = self.pair, self.settings, aligned.collected, aligned.change
        rows, cost, problem = self.pose_on_rows(aligned)
        labels = Labels.of(change)
        solution = self._solve(problem) if search is None else search(problem, labels)
        path = glm_path_on_rows(pair, problem, solution, labels, settings)
        measures = measure_path(rows, cost.family, path, lambda n: self.progress("measuring rows", n))
        glm = glm_facts(pair, cost.constant_cost(), change.gram.tolist())
        evidence = row_evidence(measures, path, thresholds(pair, settings), settings.threshold_class, counted=self._counted)
        return _Measured(
            collected.moments, collected.rows_dropped, change, problem, solution, evidence, glm, collected.inputs
        )

    def _solve(self, problem: PathProblem) -> Solution:
        self.progress("finding the best order", len(problem.changed))
        return solve_problem(
            problem,
            progress=lambda stage, best, bound: self.progress(f"finding the best order, {stage}", how_far(best, bound)),
        )


def _path_of_units(
    change: Change, problem: PathProblem, solution: Solution, units: Sequence[str], threshold: float | None
) -> PathOnRows:
    """The path under the squared error, as it is measured on rows: which of the ``units`` each step moves."""
    labels, path = Labels.of(change), solution.path
    cut = None if threshold is None else CutOff(threshold)
    return PathOnRows(
        scores=UnitScores.of(units, steps_as_units(path, labels)),
        costs=(path.start_cost, *(step.cost for step in path.steps)),
        deltas=tuple(step.delta for step in path.steps),
        size=problem.quadratic.constant,
        steps=tuple(labels.title(step) for step in path.steps),
        champion_cut=cut,
        candidate_cut=cut,
        shift_grid=shift_moments(change, problem),
        by_version=False,
    )


def _data_facts(
    reference: ReferenceData,
    moments: Moments,
    rows_dropped: int,
    predicted: str | None,
    inputs: Sequence[InputRange] = (),
) -> DataFacts:
    source = reference.data
    logged = isinstance(source, LoggedMoments)
    return DataFacts(
        kind="moments" if isinstance(source, LoggedMoments) else source.kind,
        name="moments logged with the run" if isinstance(source, LoggedMoments) else source.name,
        sha256=source.sha256,
        target=reference.target,
        weight=reference.weight,
        role=reference.role,
        period=reference.period,
        rows=moments.rows,
        rows_dropped=rows_dropped,
        missing="fail" if logged else reference.missing,
        weight_sum=moments.weight_sum,
        weight_square_sum=moments.weight_square_sum,
        target_mean=moments.target_mean,
        target_sd=max(moments.target_variance, 0.0) ** 0.5,
        offset=reference.offset,
        exposure=reference.exposure,
        predicted=predicted,
        inputs=tuple(InputFacts(**asdict(column)) for column in inputs),
    )
