"""What was measured on the rows, as the part of the document that only rows can recheck."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from coordpath_governance.reference.decisions import FlipMeasures
from coordpath_governance.reference.measure_path import PathOnRows, RowMeasures
from coordpath_governance.reference.versions import VersionMeasures
from coordpath_governance.reports.impact_parts import ClassFlip, Flips, FlipStep, GlmRowMetrics, RowEvidence, SegmentImpact

__all__ = ["row_evidence"]


def row_evidence(
    measures: RowMeasures,
    path: PathOnRows,
    thresholds: tuple[float | None, float | None],
    threshold_class: str | None = None,
    *,
    counted: bool = True,
) -> RowEvidence:
    """The evidence of a measured path; each version decides at its own threshold.

    ``thresholds`` are the champion's and the candidate's, both of ``threshold_class``. ``counted``: with the rows that flip
    and each version's share, which reports of the first edition do not have.
    """
    flips = None
    champion, candidate = thresholds
    if measures.flips is not None:
        flips = Flips(
            threshold=None if len(path.classes) > 2 else candidate,
            **_shares(measures.flips, counted=counted),
            champion_threshold=champion if champion != candidate else None,
            steps=tuple(FlipStep(**asdict(step)) for step in measures.flips.steps) if path.by_version else (),
            classes=tuple(
                ClassFlip(before=path.classes[flip.before], after=path.classes[flip.after], flips=flip.flips)
                for flip in measures.flips.classes
            ),
            threshold_class=threshold_class,
        )
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
        champion_metrics=_metrics(measures.champion_metrics, measures.champion_metrics),
        candidate_metrics=_metrics(measures.candidate_metrics, measures.champion_metrics),
    )


def _metrics(version: VersionMeasures | None, champion: VersionMeasures | None) -> GlmRowMetrics | None:
    """The figures of a version; what was observed is the same for both, so it is taken from the champion's."""
    if version is None or champion is None:
        return None
    return GlmRowMetrics(**asdict(version) | {"observed": champion.observed})


def _shares(flips: FlipMeasures, *, counted: bool) -> dict[str, Any]:
    shares = {"up": flips.up, "down": flips.down}
    if not counted:
        return shares
    names = ("rows_up", "rows_down", "champion_yes", "candidate_yes")
    return shares | {name: getattr(flips, name) for name in names}
