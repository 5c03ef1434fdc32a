"""The parts of the document on the reference data: accuracy of both versions, shift of scores, flips and segments."""

from __future__ import annotations

from typing import ClassVar, Literal

from coordpath_governance.reports.parts import Count, Finite, Part, Share, Sparse, Spread

__all__ = [
    "CalibrationBin",
    "ClassBalance",
    "ClassFlip",
    "FlipStep",
    "Flips",
    "GlmFacts",
    "GlmMetrics",
    "GlmRowMetrics",
    "Impact",
    "ModelMetrics",
    "RowEvidence",
    "ScoreShift",
    "SegmentImpact",
]


class ModelMetrics(Part):
    """Accuracy of one model; ``bias`` is mean target minus mean score, ``r2`` is None for a constant target."""

    mse: Finite
    rmse: Spread
    r2: Finite | None
    bias: Finite
    mae: Spread | None

    @property
    def cost(self) -> float:
        """What the path is measured by."""
        return self.mse


class CalibrationBin(Part):
    """Rows with like predictions: how many, and the mean of what was expected of them and of what was observed."""

    rows: Count
    expected: Finite
    observed: Finite


class ClassBalance(Sparse):
    """One class: its share among the rows, and the mean of its predicted probability.

    Of several classes, if there are no more than 20: ``auc`` and ``calibration`` of that probability, the class against all
    others. The AUC is None where all rows, or none, are of the class.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("auc", "calibration"))

    label: str
    observed: Share
    expected: Share
    auc: Share | None = None
    calibration: tuple[CalibrationBin, ...] = ()


class GlmRowMetrics(Sparse):
    """What only rows can tell of one version of a generalised linear model.

    ``expected`` is the mean prediction, ``observed`` the mean target (None for several classes), ``calibration`` the same
    by tenths of the rows in order of the prediction. ``auc``: of two classes. ``gini``: 2·auc − 1 there, otherwise the
    area between the concentration curve of the target in order of the prediction and the diagonal, relative to that of
    a perfect order. ``accuracy``: of several classes, the share of the rows whose most probable class is the observed one.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("accuracy",))

    expected: Finite | None
    observed: Finite | None
    auc: Share | None
    gini: Finite | None
    calibration: tuple[CalibrationBin, ...]
    classes: tuple[ClassBalance, ...]
    accuracy: Share | None = None


class GlmMetrics(GlmRowMetrics):
    """Accuracy of one version; ``explained`` is 1 − cost/(cost of the best constant), None where that is zero."""

    cost: Finite
    explained: Finite | None
    mae: Spread


class ScoreShift(Part):
    """Candidate's score minus champion's score over the reference rows; quantiles need rows."""

    mean: Finite
    sd: Spread
    p05: Finite | None
    p50: Finite | None
    p95: Finite | None
    largest: Finite | None


class FlipStep(Part):
    """Shares of the rows whose decision flips at one step of the path; the last may be the threshold itself."""

    feature: str
    up: Share
    down: Share


class ClassFlip(Part):
    """The share of the rows that the champion decides for one class and the candidate for another."""

    before: str
    after: str
    flips: Share


class Flips(Sparse):
    """Shares of the rows whose decision "prediction ≥ threshold" differs between the two models.

    Of two classes the prediction is the probability of ``threshold_class``, or of the last class where none is named, and
    ``up`` is to the decision for it. Of several classes the most probable one is decided for: ``threshold`` is None, and
    every other decision counts as up. ``champion_threshold`` where the champion decides at another one. ``steps``: the path
    with the champion's threshold, then the move of the threshold, if it moves. ``classes``: which become which of several,
    in their order; the 400 most frequent. ``rows_up`` and ``rows_down`` count the rows without their weights;
    ``champion_yes`` and ``candidate_yes`` are the shares that each version decides so. The first edition has none of these.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(
        (
            *("champion_threshold", "steps", "classes", "threshold_class"),
            *("rows_up", "rows_down", "champion_yes", "candidate_yes"),
        )
    )

    threshold: Finite | None
    up: Share
    down: Share
    champion_threshold: Finite | None = None
    steps: tuple[FlipStep, ...] = ()
    classes: tuple[ClassFlip, ...] = ()
    threshold_class: str | None = None
    rows_up: Count | None = None
    rows_down: Count | None = None
    champion_yes: Share | None = None
    candidate_yes: Share | None = None


class SegmentImpact(Part):
    """The same figures within one named segment; small cells are merged, ``flips`` is a share of the rows."""

    segment: str
    value: str
    rows: Count
    champion_cost: Finite
    candidate_cost: Finite
    delta: Finite
    delta_se: Spread | None
    mean_shift: Finite
    flips: Share | None


class Impact(Part):
    """What the change does to predictions on ONE reference data set, for both versions."""

    champion: ModelMetrics | GlmMetrics
    candidate: ModelMetrics | GlmMetrics
    delta: Finite
    delta_se: Spread | None
    shift: ScoreShift
    flips: Flips | None
    segments: tuple[SegmentImpact, ...]


class RowEvidence(Sparse):
    """What only the rows can tell; recheckable with the data, not without them."""

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("champion_metrics", "candidate_metrics"))

    step_se: tuple[Spread, ...]
    total_se: Spread
    champion_mae: Spread
    candidate_mae: Spread
    shift_p05: Finite
    shift_p50: Finite
    shift_p95: Finite
    shift_largest: Finite
    flips: Flips | None
    segments: tuple[SegmentImpact, ...]
    champion_metrics: GlmRowMetrics | None = None
    candidate_metrics: GlmRowMetrics | None = None


class GlmFacts(Part):
    """What a cost that is not quadratic is: its family, how it is called, what the best constant costs.

    ``gram``: E[zzᵀ] of the exercised coordinates of one score, from which spreads of scores follow.
    """

    family: Literal["binomial", "multinomial", "poisson", "gamma", "tweedie"]
    link: Literal["logit", "softmax", "log"]
    power: Finite | None
    classes: tuple[str, ...]
    loss: str
    constant_cost: Finite
    gram: tuple[tuple[Finite, ...], ...]
