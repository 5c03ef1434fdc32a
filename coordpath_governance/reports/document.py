"""ChangeReport: the document that is the truth, from which HTML and Markdown are laid out.

Evidence (models, data facts, problem, coordinates' means and counts, row evidence) and what follows from it stand in one
immutable document. It holds no clock, no timing and no approval, so the same input gives the same bytes. ``digest`` is the
SHA-256 of the canonical JSON of everything else.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

__all__ = [
    "REPORT_SCHEMA",
    "Assessment",
    "CalibrationBin",
    "ChangeFacts",
    "ChangeReportDocument",
    "ClassBalance",
    "ComparedOrder",
    "CoordinateFacts",
    "Counts",
    "DataFacts",
    "FlipStep",
    "Flips",
    "GlmFacts",
    "GlmMetrics",
    "GlmRowMetrics",
    "Impact",
    "ModelMetrics",
    "Move",
    "PathFacts",
    "PolicyFacts",
    "RawChange",
    "Recheck",
    "RowEvidence",
    "RuleFacts",
    "ScoreShift",
    "SegmentImpact",
    "Settings",
    "StepFacts",
    "Subject",
    "Summary",
    "Tool",
    "VersionFacts",
]

REPORT_SCHEMA = "coordpath.change_report/1"

Finite = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1 + 1e-9, allow_inf_nan=False)]
Spread = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Role = Literal["training", "holdout", "out-of-time", "not stated"]


class Part(BaseModel):
    """Frozen, and closed: a key we do not know is an error, not something to pass over."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Sparse(Part):
    """A part in which keys that say nothing are left out: what came later changes no digest of what there was before."""

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_blanks(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = serialise(self)
        return {
            key: value
            for key, value in content.items()
            if value not in (None, [], ()) or key not in self.left_out_when_blank
        }


class Tool(Part):
    """What made the report."""

    name: Literal["coordpath-governance"] = "coordpath-governance"
    version: str


class VersionFacts(Part):
    """One side of the change: which model, from where, byte for byte."""

    label: str
    uri: str | None
    name: str | None
    version: str | None
    digest: str | None
    run_id: str | None
    aliases: tuple[str, ...]


class Subject(Part):
    """What changed into what; no champion means the candidate is explained from zero."""

    name: str
    champion: VersionFacts | None
    candidate: VersionFacts


class ChangeFacts(Part):
    """What only people know. None is shown as missing, never as a placeholder."""

    owner: str | None = None
    purpose: str | None = None
    tier: str | None = None
    developer: str | None = None
    validator: str | None = None
    reason: str | None = None
    change_type: str | None = None
    planned: str | None = None


class PolicyFacts(Part):
    """The policy that was applied: its name, the SHA-256 of its canonical JSON, and all of it."""

    name: str
    sha256: str
    document: dict[str, Any]


class RuleFacts(Part):
    """One rule: what was observed, its limit, what came of it and why."""

    rule: str
    observed: str
    limit: str
    result: Literal["pass", "review", "fail", "unknown", "waived"]
    reason: str


class Assessment(Sparse):
    """The verdict at the time of the report; "not assessed" where no policy was applied.

    Rules that need the time or what was promoted before are not among ``rules``: the gate looks at them.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("policy", "rules"))

    verdict: Literal["not assessed", "pass", "review", "fail"]
    reason: str
    materiality: str | None
    policy: PolicyFacts | None = None
    rules: tuple[RuleFacts, ...] = ()


class DataFacts(Sparse):
    """The reference data: which bytes, how many rows, in which role.

    ``offset`` is a column that is added to the score, ``exposure`` one whose logarithm is. The target of a classifier is
    1 for the class it predicts (of several classes: their position), and so are mean and standard deviation.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("offset", "exposure"))

    kind: Literal["file", "folder", "table", "moments"]
    name: str
    sha256: str
    target: str
    weight: str | None
    role: Role
    period: str | None
    rows: Count
    rows_dropped: Count
    missing: Literal["fail", "drop"]
    weight_sum: Spread
    weight_square_sum: Spread
    target_mean: Finite
    target_sd: Spread
    offset: str | None = None
    exposure: str | None = None


class Settings(Sparse):
    """What was asked of the solver and of the impact section.

    ``threshold`` is for both versions, unless ``champion_threshold`` says another one for the champion; None: each
    version's own, if it has one.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("champion_threshold",))

    max_steps: int | None
    gamma: Finite
    solver: str
    time_limit: Finite | None
    seed: int
    threshold: Finite | None
    segments: tuple[str, ...]
    champion_threshold: Finite | None = None


class CoordinateFacts(Part):
    """One coefficient in the common coordinates of both models.

    ``old`` or ``new`` is None where that model cannot score such a row at all. ``standardised_*`` is coefficient × sd: the
    change of score for one standard deviation.
    """

    label: str
    unit: str
    kind: Literal["baseline", "numeric", "missing", "level", "other", "rare", "rare-champion", "rare-candidate"]
    column: str | None
    level: str | None
    merged: tuple[str, ...]
    old: Finite | None
    new: Finite | None
    standardised_old: Finite | None
    standardised_new: Finite | None
    mean: Finite
    sd: Spread
    rows: Count | None
    changed: bool
    exercised: bool
    flips: bool


class RawChange(Part):
    """One number of the models' own coefficient vectors, unscaled; None where a model does not have it."""

    name: str
    old: Finite | None
    new: Finite | None
    differs: bool


class Counts(Part):
    """How many coefficients differ, in common and in raw terms, and what came and went."""

    coefficients: Count
    changed: Count
    raw_coefficients: Count
    raw_changed: Count
    sign_flips: Count
    columns_added: tuple[str, ...]
    columns_dropped: tuple[str, ...]
    levels_added: tuple[str, ...]
    levels_dropped: tuple[str, ...]
    not_exercised: Count


class Move(Part):
    """One coefficient from → to within a step."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)

    feature: str
    from_: Finite = Field(alias="from")
    to: Finite


class StepFacts(Part):
    """One step: what moves, the cost after it, and how sure the data make us of its effect.

    ``share`` of the total gain, only where the total exceeds two standard errors. ``shapley``: the average effect over all
    orders. ``worsens``: this step raises the cost. ``bracket``: number of the run of steps that only together pay off.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)

    k: int
    kind: Literal["coordinate", "group", "baseline", "rest", "preprocessing"]
    feature: str
    from_: Finite | None = Field(alias="from")
    to: Finite | None
    moves: tuple[Move, ...]
    cost: Finite
    delta: Finite
    delta_se: Spread | None
    share: Finite | None
    shapley: Finite
    worsens: bool
    bracket: int | None


class PathFacts(Part):
    """The path and its certificate, as design §4 defines them."""

    schema_: Literal["coordpath.path/1"] = Field(alias="schema")
    objective: Finite
    lower_bound: Finite
    gap: Finite
    gap_per_step: Finite
    status: Literal["optimal", "bounded", "heuristic"]
    solver: str
    start_cost: Finite
    minimum_cost: Finite
    steps: tuple[StepFacts, ...]

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)


class ComparedOrder(Part):
    """Another way of telling the same change, for comparison: its order, its costs, how much worse on average a step."""

    name: Literal["ours", "greedy", "direct"]
    title: str
    order: tuple[str, ...]
    costs: tuple[Finite, ...]
    objective: Finite
    worse_per_step: Finite


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


class ClassBalance(Part):
    """One class: its share among the rows, and the mean of its predicted probability."""

    label: str
    observed: Share
    expected: Share


class GlmRowMetrics(Part):
    """What only rows can tell of one version of a generalised linear model.

    ``expected`` is the mean prediction, ``observed`` the mean target (None for several classes), ``calibration`` the same
    by tenths of the rows in order of the prediction. ``auc``: of two classes. ``gini``: 2·auc − 1 there, otherwise the
    area between the concentration curve of the target in order of the prediction and the diagonal, relative to that of
    a perfect order.
    """

    expected: Finite | None
    observed: Finite | None
    auc: Share | None
    gini: Finite | None
    calibration: tuple[CalibrationBin, ...]
    classes: tuple[ClassBalance, ...]


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


class Flips(Sparse):
    """Shares of the rows whose decision "prediction ≥ threshold" differs between the two models.

    Of several classes the most probable one is decided for: ``threshold`` is None, and every other decision counts as up.
    ``champion_threshold`` where the champion decides at another one. ``steps``: the path with the champion's threshold, then
    the move of the threshold, if it moves.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("champion_threshold", "steps"))

    threshold: Finite | None
    up: Share
    down: Share
    champion_threshold: Finite | None = None
    steps: tuple[FlipStep, ...] = ()


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


class Summary(Part):
    """The reviewer's minute, in sentences."""

    direction: Literal["better", "worse", "no difference", "not known", "no change"]
    headline: str
    sentences: tuple[str, ...]


class Recheck(Part):
    """How to do it again."""

    command: str
    versions: dict[str, str]
    seed: int


class ChangeReportDocument(Sparse):
    """The whole report; ``glm`` where the cost is not the squared error."""

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("glm",))

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)

    schema_: Literal["coordpath.change_report/1"] = Field(alias="schema")
    tool: Tool
    subject: Subject
    assessment: Assessment
    facts: ChangeFacts
    summary: Summary
    counts: Counts
    data: DataFacts
    settings: Settings
    models: dict[Literal["champion", "candidate"], dict[str, Any] | None]
    coordinates: tuple[CoordinateFacts, ...]
    raw: tuple[RawChange, ...]
    problem: dict[str, Any]
    path: PathFacts
    comparison: tuple[ComparedOrder, ...]
    impact: Impact
    rows: RowEvidence | None
    limits: tuple[str, ...]
    recheck: Recheck
    digest: str
    glm: GlmFacts | None = None
