"""One report from two models and reference data: the flow of the product, without MLflow, files or a clock."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from typing import Literal

from coordpath_governance._version import __version__
from coordpath_governance.alignment.change import Change, align
from coordpath_governance.alignment.layout import ModelPair, lay_out
from coordpath_governance.alignment.rare_levels import merge_rare_levels
from coordpath_governance.alignment.unit_scores import UnitScores
from coordpath_governance.errors import UsageError
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.paths import PathProblem, Solution, parse_problem, solve_problem
from coordpath_governance.paths.how_far import how_far
from coordpath_governance.reference.collect import collect_moments
from coordpath_governance.reference.encode import ReadingPlan
from coordpath_governance.reference.logged import LoggedReference, Role, moments_for_design
from coordpath_governance.reference.moments import Moments
from coordpath_governance.reference.rows import PathOnRows, RowMeasures, measure_rows
from coordpath_governance.reference.sources import RowSource
from coordpath_governance.reports.change_report import ChangeReport
from coordpath_governance.reports.compose import ReportFacts, compose
from coordpath_governance.reports.document import (
    ChangeFacts,
    DataFacts,
    Flips,
    RowEvidence,
    SegmentImpact,
    Settings,
    Subject,
    VersionFacts,
)
from coordpath_governance.reports.impact import shift_moments
from coordpath_governance.reports.problem import problem_document
from coordpath_governance.reports.steps import Labels, steps_as_units

__all__ = ["DEFAULT_MAX_STEPS", "Progress", "Reference", "Request", "make_report", "settings_for", "version_facts"]

Progress = Callable[[str, int | str], None]
"""Told a stage and how many rows, or how far."""

DEFAULT_MAX_STEPS = 10


@dataclass(frozen=True)
class Reference:
    """The reference data: rows, or moments that a training script logged; and what is said about them."""

    data: RowSource | LoggedReference
    target: str
    weight: str | None = None
    role: Role = "not stated"
    period: str | None = None
    missing: Literal["fail", "drop"] = "fail"


@dataclass(frozen=True)
class Request:
    """What is asked: the subject, what people said about the change, and settings."""

    subject: Subject
    facts: ChangeFacts
    settings: Settings


def settings_for(
    *,
    max_steps: int | None = DEFAULT_MAX_STEPS,
    gamma: float = 1.0,
    threshold: float | None = None,
    segments: Sequence[str] = (),
    seed: int = 0,
) -> Settings:
    """Settings with the report's defaults."""
    return Settings(
        max_steps=max_steps,
        gamma=gamma,
        solver="auto",
        time_limit=None,
        seed=seed,
        threshold=threshold,
        segments=tuple(segments),
    )


def version_facts(model: LinearModel, label: str, aliases: Sequence[str] = ()) -> VersionFacts:
    """One side of the subject, from where the model came."""
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
    champion: LinearModel | None,
    candidate: LinearModel,
    reference: Reference,
    request: Request,
    progress: Progress | None = None,
) -> ChangeReport:
    """Align, solve, measure, compose. ``progress`` is told a stage and a count as rows go by."""
    pair = ModelPair(champion, candidate)
    design = lay_out(pair)
    told = progress or (lambda _stage, _count: None)
    source = reference.data
    plan = kept = None
    if isinstance(source, LoggedReference):
        if request.settings.threshold is not None or request.settings.segments:
            raise UsageError("a threshold or segments need rows; the reference data are logged moments only: give --data")
        moments = moments_for_design(source, design)
        dropped = source.document.rows_dropped
    else:
        plan = ReadingPlan(design, reference.target, reference.weight, request.settings.segments, reference.missing)
        collected = collect_moments(source, plan, lambda n: told("reading rows", n))
        moments, dropped, kept = collected.moments, collected.rows_dropped, collected.kept
    change = align(pair, merge_rare_levels(pair, moments))
    problem = parse_problem(problem_document(change, request.settings))
    told("finding the best order", len(problem.changed))
    solution = solve_problem(
        problem, progress=lambda stage, best, bound: told(f"finding the best order, {stage}", how_far(best, bound))
    )
    rows = None
    if plan is not None and not isinstance(source, LoggedReference):
        on_rows = _path_on_rows(change, problem, solution, request.settings.threshold)
        scores = UnitScores.of(pair, moments, change)
        measures = measure_rows(source, plan, scores, on_rows, lambda n: told("measuring rows", n), kept)
        rows = _row_evidence(measures, request.settings.threshold)
    facts = ReportFacts(
        subject=request.subject,
        facts=request.facts,
        data=_data_facts(reference, moments, dropped),
        settings=request.settings,
        versions={
            "coordpath-governance": __version__,
            "python": platform.python_version(),
            "numpy": installed_version("numpy"),
            "scipy": installed_version("scipy"),
        },
    )
    return ChangeReport(compose(facts, pair, change, problem, solution, rows))


def _path_on_rows(change: Change, problem: PathProblem, solution: Solution, threshold: float | None) -> PathOnRows:
    """The path in the form that the rows are measured along."""
    mean, sd = shift_moments(change, problem)
    return PathOnRows(
        steps=steps_as_units(solution.path, Labels.of(change)),
        deltas=tuple(step.delta for step in solution.path.steps),
        start_cost=solution.path.start_cost,
        shift_mean=mean,
        shift_sd=sd,
        threshold=threshold,
    )


def _row_evidence(measures: RowMeasures, threshold: float | None) -> RowEvidence:
    """Row measures as the part of the document that only rows can recheck."""
    flips = None
    if threshold is not None and measures.flips_up is not None and measures.flips_down is not None:
        flips = Flips(threshold=threshold, up=measures.flips_up, down=measures.flips_down)
    return RowEvidence(
        step_se=measures.step_se,
        total_se=measures.total_se,
        champion_mae=measures.champion_mae,
        candidate_mae=measures.candidate_mae,
        shift_p05=measures.shift_p05,
        shift_p50=measures.shift_p50,
        shift_p95=measures.shift_p95,
        shift_largest=measures.shift_largest,
        flips=flips,
        segments=tuple(SegmentImpact(**vars(segment)) for segment in measures.segments),
    )


def _data_facts(reference: Reference, moments: Moments, dropped: int) -> DataFacts:
    source = reference.data
    logged = isinstance(source, LoggedReference)
    return DataFacts(
        kind="moments" if isinstance(source, LoggedReference) else source.kind,
        name="moments logged with the run" if isinstance(source, LoggedReference) else source.name,
        sha256=source.sha256,
        target=reference.target,
        weight=reference.weight,
        role=reference.role,
        period=reference.period,
        rows=moments.rows,
        rows_dropped=dropped,
        missing="fail" if logged else reference.missing,
        weight_sum=moments.weight_sum,
        weight_square_sum=moments.weight_square_sum,
        target_mean=moments.target_mean,
        target_sd=max(moments.target_variance, 0.0) ** 0.5,
    )
