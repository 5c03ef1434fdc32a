"""What was measured on the rows, as the part of the document that only rows can recheck."""

from __future__ import annotations

from dataclasses import asdict

from coordpath_governance.reference.glm_rows import GlmPathOnRows, GlmRowMeasures
from coordpath_governance.reference.rows import RowMeasures
from coordpath_governance.reports.impact_parts import ClassFlip, Flips, FlipStep, GlmRowMetrics, RowEvidence, SegmentImpact

__all__ = ["glm_row_evidence", "row_evidence"]


def row_evidence(measures: RowMeasures, threshold: float | None) -> RowEvidence:
    """Of a path under the squared error; both versions decide at ``threshold``."""
    flips = None
    if threshold is not None and measures.flips_up is not None and measures.flips_down is not None:
        flips = Flips(threshold=threshold, up=measures.flips_up, down=measures.flips_down)
    return _evidence(measures, flips)


def glm_row_evidence(measures: GlmRowMeasures, path: GlmPathOnRows) -> RowEvidence:
    """Of a path under another loss; each version decides at its own threshold, and has figures of its own."""
    flips = None
    if path.candidate_threshold is not None and measures.flips_up is not None and measures.flips_down is not None:
        moved = path.champion_threshold != path.candidate_threshold
        flips = Flips(
            threshold=None if len(path.classes) > 2 else path.candidate_threshold,
            up=measures.flips_up,
            down=measures.flips_down,
            champion_threshold=path.champion_threshold if moved else None,
            steps=tuple(FlipStep(**asdict(step)) for step in measures.flip_steps),
            classes=tuple(
                ClassFlip(before=path.classes[each.before], after=path.classes[each.after], flips=each.flips)
                for each in measures.class_flips
            ),
        )
    observed = measures.champion_metrics.observed
    champion, candidate = (
        GlmRowMetrics(**asdict(metrics) | {"observed": observed})
        for metrics in (measures.champion_metrics, measures.candidate_metrics)
    )
    return _evidence(measures, flips, champion, candidate)


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
