"""The front as a document: fitted on one set of data, scored on another (`coordpath.front/1`)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from coordpath_governance.paths.certificate import Status
from coordpath_governance.reports.document import Move, Role, Subject
from coordpath_governance.reports.parts import Count, Finite, Part, Share, Spread

__all__ = [
    "ArcFacts",
    "ChosenFacts",
    "ChosenStep",
    "CurveFacts",
    "DataSide",
    "FrontDocument",
    "ModelFacts",
    "PointFacts",
    "RecalibrationRow",
    "SampleFacts",
    "SequenceRow",
    "UpdateRow",
    "WholeFacts",
    "front_schema",
]


class DataSide(Part):
    """What the models were fitted to, or scored on."""

    kind: str
    name: str
    sha256: str
    rows: Count
    target: str
    weight: str | None
    role: Role
    period: str | None


class ModelFacts(Part):
    """What a model costs on both sides, and against the champion on the reference data.

    ``difference_se`` is paired on rows, None where only moments are known. ``share`` is of the candidate's gain.
    """

    fit_cost: Finite
    reference_cost: Finite
    difference: Finite
    difference_se: Spread | None
    share: Finite | None
    share_se: Spread | None


class UpdateRow(ModelFacts):
    """The best model known that differs from the champion in at most ``steps`` units.

    ``moved``, ``changes`` and ``costs`` (on the fit data) are in the best order of its steps.

    ``status``, ``gap`` and ``lower_bound`` are of its fit cost among all such models; ``order_status`` is that of the order.
    """

    steps: Count
    moved: tuple[str, ...]
    changes: tuple[Move, ...]
    costs: tuple[Finite, ...]
    status: Status
    gap: Finite
    lower_bound: Finite
    order_status: Status | None


class SequenceRow(ModelFacts):
    """The model of a greedy or LASSO sequence after so many units."""

    steps: Count
    moved: tuple[str, ...]


class RecalibrationRow(ModelFacts):
    """The champion with another intercept, or with another intercept and slope of its score."""

    name: Literal["intercept", "intercept and slope", "slope"]
    changes: tuple[Move, ...]


class ChosenStep(ModelFacts):
    """One step of the path for a person who chooses the number of steps, and the LASSO model of the same size."""

    k: Count
    probability: Share
    moved: tuple[str, ...]
    changes: tuple[Move, ...]
    lasso: ModelFacts


class ChosenFacts(Part):
    """The path with the least expected cost Σ pₖ c(βₖ), and how many numbers tell it and the LASSO sequence."""

    steps: tuple[ChosenStep, ...]
    status: Status
    gap: Finite
    fit_expected: Finite
    reference_expected: Finite
    numbers: Count
    lasso_fit_expected: Finite
    lasso_reference_expected: Finite
    lasso_numbers: Count


class SampleFacts(Part):
    """A model of an arc: see docs/paths.md."""

    loss: Finite
    cost: Finite
    supported: bool
    coefficients: tuple[Finite, ...]
    steps: tuple[dict[str, Any], ...]


class ArcFacts(Part):
    """Models that one sequence of units reaches."""

    units: tuple[str, ...]
    terms: Count
    samples: tuple[SampleFacts, ...]


class WholeFacts(Part):
    """The least cost at every loss."""

    method: Literal["all sequences", "neighbours"]
    sequences: Count
    shortfall: Finite
    status: Status
    arcs: tuple[ArcFacts, ...]


class PointFacts(Part):
    """A model that a weighted sum finds."""

    lambda_: dict[Literal["from", "to"], Finite | None] = Field(alias="lambda")
    solved_at: Finite | None
    terms: Count
    cost: Finite
    loss: Finite
    coefficients: tuple[Finite, ...]
    status: Status
    gap: Finite
    steps: tuple[dict[str, Any], ...]


class CurveFacts(Part):
    """The front of the fit data between loss and cost, as `cg.pareto_front` gives it."""

    schema_: Literal["coordpath.front/1"] = Field(alias="schema")
    features: tuple[str, ...]
    start: tuple[Finite, ...]
    weights: dict[str, Any]
    max_terms: Count
    resolution: Finite
    shortfall: Finite
    status: Status
    points: tuple[PointFacts, ...]
    whole: WholeFacts | None


class FrontDocument(CurveFacts):
    """The whole document: the front of the fit data, and updates of the champion that are scored on the reference data."""

    subject: Subject
    loss: str
    fit: DataSide
    reference: DataSide
    in_sample: bool
    champion: ModelFacts
    candidate: ModelFacts
    updates: tuple[UpdateRow, ...]
    greedy: tuple[SequenceRow, ...]
    lasso: tuple[SequenceRow, ...]
    recalibrations: tuple[RecalibrationRow, ...]
    chosen: ChosenFacts | None


def front_schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    return FrontDocument.model_json_schema(by_alias=True)
