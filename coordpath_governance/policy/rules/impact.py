"""Rules about predictions: decisions that flip, and how far scores move."""

from __future__ import annotations

from typing import ClassVar

from coordpath_governance.policy.rules.base import Limit, LimitRule

__all__ = ["DecisionFlips", "MeanScoreShift"]


class DecisionFlips(LimitRule):
    """The share of rows whose decision at the threshold differs, overall and in any segment."""

    limits: ClassVar[dict[str, str]] = {"overall": "decision_flips", "by_segment": "segment_decision_flips"}

    overall: Limit | None = None
    by_segment: Limit | None = None


class MeanScoreShift(LimitRule):
    """How far the mean score may move, up or down, overall and in any segment."""

    limits: ClassVar[dict[str, str]] = {"overall": "mean_score_shift", "by_segment": "segment_mean_score_shift"}

    overall: Limit | None = None
    by_segment: Limit | None = None
