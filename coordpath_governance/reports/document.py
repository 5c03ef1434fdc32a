"""The document of a change report: the truth, from which HTML and Markdown are laid out.

It holds the evidence (models, data facts, problem, means and counts of coordinates, row evidence) and what follows from it,
and is immutable. It holds no clock, no timing and no approval, so the same input gives the same bytes. ``digest`` is the
SHA-256 of the canonical JSON of everything else.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.reference.design import ColumnKind
from coordpath_governance.reports.editions import Edition
from coordpath_governance.reports.impact_parts import GlmFacts, Impact, RowEvidence
from coordpath_governance.reports.parts import Count, Finite, Part, Sparse, Spread
from coordpath_governance.reports.version_parts import Environments, Moment, TrainingFacts

__all__ = [
    "HTML_PAGE",
    "MARKDOWN_PAGE",
    "REPORT_FILE",
    "REPORT_SCHEMA",
    "Assessment",
    "ChangeFacts",
    "ChangeReportDocument",
    "ComparedOrder",
    "CoordinateFacts",
    "Counts",
    "DataFacts",
    "FunctionFacts",
    "FunctionPoint",
    "GateRule",
    "GateWord",
    "InputFacts",
    "Move",
    "PathFacts",
    "PolicyFacts",
    "RawChange",
    "Recheck",
    "RuleFacts",
    "Settings",
    "StepFacts",
    "Subject",
    "Summary",
    "Tool",
    "VersionFacts",
    "document_digest",
]

REPORT_SCHEMA = "coordpath.change_report/1"
REPORT_FILE, HTML_PAGE, MARKDOWN_PAGE = "change_report.json", "change_report.html", "change_report.md"

Role = Literal["training", "holdout", "out-of-time", "not stated"]

PathStatus = Literal["optimal", "bounded"]
KindOfStep = Literal["coordinate", "group", "function", "interaction", "baseline", "rest"]
"""What `paths` calls a path and a step. MLflow loads this module where the solvers must stay out, so they stand here too."""


class Tool(Part):
    """What made the report."""

    name: Literal["coordpath-governance"] = "coordpath-governance"
    version: str


class VersionFacts(Sparse):
    """One side of the change: which model it is, where it came from, when it was made, and from which training data.

    Times are MLflow's, in milliseconds since 1970 (UTC); None is not known. The end of a run is left out: a report made
    before it would differ from one made after it. ``run_remark`` says why nothing of the run is known.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("registered_ms", "run_started_ms", "run_remark", "training"))

    label: str
    uri: str | None
    name: str | None
    version: str | None
    digest: str | None
    run_id: str | None
    aliases: tuple[str, ...]
    registered_ms: Moment | None = None
    run_started_ms: Moment | None = None
    run_remark: Literal["not there", "not readable"] | None = None
    training: TrainingFacts | None = None


class Subject(Part):
    """The two versions; without a champion the candidate is explained from zero."""

    name: str
    champion: VersionFacts | None
    candidate: VersionFacts


class ChangeFacts(Sparse):
    """Facts that people state. None is shown as missing, never as a placeholder. Dates are written YYYY-MM-DD.

    ``tagged`` names the facts that come from the author's tags on the version or its run; ``unusable_tags`` those whose tag
    was not used, because it is too long, or is no date where a date is needed.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(
        ("monitoring", "rollback", "implementation_date", "notification_deadline", "tagged", "unusable_tags")
    )

    owner: str | None = None
    purpose: str | None = None
    tier: str | None = None
    developer: str | None = None
    validator: str | None = None
    reason: str | None = None
    change_type: str | None = None
    planned: str | None = None
    monitoring: str | None = None
    rollback: str | None = None
    implementation_date: str | None = None
    notification_deadline: str | None = None
    tagged: tuple[str, ...] = ()
    unusable_tags: tuple[str, ...] = ()


class PolicyFacts(Part):
    """The policy that was applied: its name, the SHA-256 of its canonical JSON, and all of it."""

    name: str
    sha256: str
    document: dict[str, Any]


class RuleFacts(Part):
    """One rule: what was observed, the limit, the result and the reason."""

    rule: str
    observed: str
    limit: str
    result: Literal["pass", "review", "fail", "unknown", "waived"]
    reason: str


class GateRule(Part):
    """The gate's result for a rule that a report alone cannot judge."""

    rule: str
    result: Literal["pass", "review", "fail", "unknown"]


class GateWord(Part):
    """What the gate knew when the report was made, before any approval or waiver.

    ``author_known``: whether somebody vouches for who registered the candidate. ``rules``: those that need the time, what
    was promoted before or who vouches for coefficients, without their figures, which change from day to day.
    """

    author_known: bool
    rules: tuple[GateRule, ...]


class Assessment(Sparse):
    """The gate's verdict when the report was made, before any decision; "not assessed" where no policy was applied.

    Rules that need the time or what was promoted before are not among ``rules``: the gate looks at them, and ``gate`` tells
    what it found. Older reports have no ``gate``: their verdict is that of the rules alone. ``materiality_reason`` names the
    conditions that set the class.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("policy", "rules", "gate", "materiality_reason"))

    verdict: Literal["not assessed", "pass", "review", "fail"]
    reason: str
    materiality: str | None
    policy: PolicyFacts | None = None
    rules: tuple[RuleFacts, ...] = ()
    gate: GateWord | None = None
    materiality_reason: str | None = None


class InputFacts(Part):
    """A raw column that functions read as numbers: its 5th, 50th and 95th percentile."""

    column: str
    p05: Finite
    p50: Finite
    p95: Finite


class DataFacts(Sparse):
    """The reference data: which bytes, how many rows, in which role.

    ``offset`` is a column that is added to the score, ``exposure`` one whose logarithm is. The target of a classifier is
    1 for the class it predicts (of several classes: their position), and so are mean and standard deviation.
    ``predicted`` is the function of the target that the models predict, such as log1p(price), where it is not the target:
    costs, mean and standard deviation are of that function.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("offset", "exposure", "inputs", "predicted"))

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
    inputs: tuple[InputFacts, ...] = ()
    predicted: str | None = None


class Settings(Sparse):
    """The settings of the solver and of the impact section.

    ``threshold`` is for both versions, unless ``champion_threshold`` gives another one for the champion; None stands for
    each version's own. Both are compared with the probability of ``threshold_class``, by default the last of two classes.
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("champion_threshold", "threshold_class"))

    max_steps: int | None
    gamma: Finite
    solver: str
    time_limit: Finite | None
    seed: int
    threshold: Finite | None
    segments: tuple[str, ...]
    champion_threshold: Finite | None = None
    threshold_class: str | None = None


class CoordinateFacts(Part):
    """One coefficient in the common coordinates of both models.

    ``old`` or ``new`` is None where that model cannot score such a row at all. ``standardised_*`` is coefficient × sd: the
    change of score for one standard deviation.
    """

    label: str
    unit: str
    kind: Literal["baseline"] | ColumnKind
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


class FunctionPoint(Part):
    """What a function adds to the score at one place, old and new, minus its mean where coordinates are centred.

    ``at`` is a number or a level for each of the function's columns; None where a model cannot be computed there.
    """

    at: tuple[float | str, ...]
    old: Finite | None
    new: Finite | None


class FunctionFacts(Part):
    """A function of one column, or an interaction of several, which a step replaces as a whole.

    ``label`` is the class whose score it belongs to, where there are several classes.
    """

    unit: str
    label: str | None
    kind: Literal["function", "interaction"]
    columns: tuple[str, ...]
    in_champion: bool
    in_candidate: bool
    changed: bool
    points: tuple[FunctionPoint, ...]


class RawChange(Part):
    """One number of the models' own coefficient vectors, without scaling; None where a model does not have it."""

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


class Move(Part, serialize_by_alias=True):
    """One coefficient from → to within a step."""

    feature: str
    from_: Finite = Field(alias="from")
    to: Finite


class StepFacts(Part, serialize_by_alias=True):
    """One step: what moves, the cost after it, and how sure the data make us of its effect.

    ``share`` of the total gain, only where the total exceeds two standard errors. ``shapley``: the average effect over all
    orders. ``worsens``: this step raises the cost. ``bracket``: number of the run of steps that only together pay off.
    """

    k: int
    kind: KindOfStep
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


class PathFacts(Part, serialize_by_alias=True):
    """The path and its certificate: the fields of `coordpath.path/1`, with standard errors, shares and Shapley values."""

    schema_: Literal["coordpath.path/1"] = Field(alias="schema")
    objective: Finite
    lower_bound: Finite
    gap: Finite
    gap_per_step: Finite
    status: PathStatus
    solver: str
    start_cost: Finite
    minimum_cost: Finite
    steps: tuple[StepFacts, ...]


class ComparedOrder(Part):
    """One order of the same change: its steps, their costs, and how much worse than ours it is per step on average."""

    name: Literal["ours", "greedy", "direct"]
    title: str
    order: tuple[str, ...]
    costs: tuple[Finite, ...]
    objective: Finite
    worse_per_step: Finite


class Summary(Part):
    """What a reviewer reads first: a headline and sentences."""

    direction: Literal["better", "worse", "no difference", "not known", "no change"]
    headline: str
    sentences: tuple[str, ...]


class Recheck(Part):
    """How to recheck the report: the command, the versions and the seed."""

    command: str
    versions: dict[str, str]
    seed: int


class ChangeReportDocument(Sparse, serialize_by_alias=True):
    """The whole report; ``glm`` where the cost is not the squared error, ``environments`` of versions that have files.

    ``edition``: which wording of the sentences, and which judgement of the rules, it was made with (see `editions`).
    """

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset(("glm", "functions", "environments", "edition"))

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
    functions: tuple[FunctionFacts, ...] = ()
    environments: Environments | None = None
    edition: Edition | None = None


def document_digest(document: ChangeReportDocument) -> str:
    """SHA-256 of the canonical JSON of everything but the digest itself."""
    content = document.model_dump(mode="json", by_alias=True)
    content.pop("digest")
    return sha256_hex(canonical_bytes(content))
