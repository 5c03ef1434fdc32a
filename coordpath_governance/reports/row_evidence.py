"""What was measured on the rows, as the part of the document that only rows can recheck."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from coordpath_governance.reference.decisions import FlipMeasures
from coordpath_governance.reference.glm_rows import GlmPathOnRows, GlmRowMeasures
from coordpath_governance.reference.rows import RowMeasures
from coordpath_governance.reports.impact_parts import ClassFlip, Flips, FlipStep, GlmRowMetrics, RowEvidence, SegmentImpact

__all__ = ["glm_row_evidence", "row_evidence"]


def row_evidence(measures: RowMeasures, threshold: float | None, *, counted: bool = True) -> RowEvidence:
    """Of a path under the squared error; both versions decide at ``threshold``.

    ``counted``: with the rows themselves and each version's share, which reports of the first edition do not have.
    """
    flips = None
    if threshold is not None and measures.flips is not None:
        flips = Flips(threshold=threshold, **_shares(measures.flips, counted=counted))
    return _evidence(measures, flips)


def glm_row_evidence(
    measures: GlmRowMeasures,
    path: GlmPathOnRows,
    thresholds: tuple[float | None, float | None],
    threshold_class: str | None,
    *,
    counted: bool = True,
) -> RowEvidence:
    """Of a path under another loss; each version decides at its own threshold, and has figures of its own.

    ``thresholds`` are the champion's and the candidate's, both of ``threshold_class``.
    """
    flips = None
    champion, candidate = thresholds
    if measures.flips is not None:
        flips = Flips(
            threshold=None if len(path.classes) > 2 else candidate,
            **_shares(measures.flips, counted=counted),
            champion_threshold=champion if champion != candidate else None,
            steps=tuple(FlipStep(**asdict(step)) for step in measures.flips.steps),
            classes=tuple(
                ClassFlip(before=path.classes[flip.before], after=path.classes[flip.after], flips=flip.flips)
                for flip in measures.flips.classes
            ),
            threshold_class=threshold_class,
        )
    observed = measures.champion_metrics.observed
    sides = (
        GlmRowMetrics(**asdict(metrics) | {"observed": observed})
        for metrics in (measures.champion_metrics, measures.candidate_metrics)
    )
    return _evidence(measures, flips, *sides)


def _shares(flips: FlipMeasures, *, counted: bool) -> dict[str, Any]:
    shares = {"up": flips.up, "down": flips.down}
    if not counted:
        return shares
    names = ("rows_up", "rows_down", "champion_yes", "candidate_yes")
    return shares | {name: getattr(flips, name) for name in names}


def _evidence(
    measures: RowMeasures,
    flips: Flips | None,
    champion_metrics: GlmRowMetrics | None = None,
    candidate_metrics: GlmRowMetrics | None = None,
) -> RowEvidence:
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
        segments=tuple(SegmentImpact(**asdict(segment)) for segment in measures.segments),
        champion_metrics=champion_metrics,
        candidate_metrics=candidate_metrics,
    )
