"""What registry and runs record of how a version came to be: when, and from which training data."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from coordpath_governance.reports.parts import Count, Part

__all__ = ["LAST_MOMENT", "DatasetFacts", "Moment", "TrainingFacts"]

LAST_MOMENT = 253_402_300_799_999
"""The last millisecond of the year 9999, counted from 1970 as MLflow counts."""

Moment = Annotated[int, Field(ge=0, le=LAST_MOMENT)]
"""Milliseconds since 1970, UTC, as MLflow recorded them."""


class DatasetFacts(Part):
    """A data set that a version was trained on.

    ``stated_by``: the run logged it as an input for training, the run logged it without a context, or tags name it. The
    digest of a logged input is MLflow's, over at most the first 10,000 rows.
    """

    stated_by: Literal["run input", "run input without context", "tags"]
    name: str | None
    source: str | None
    digest: str | None
    rows: Count | None


class TrainingFacts(Part):
    """What a version was trained on, as its author recorded it.

    ``more_datasets``: how many data sets the run logged besides those listed.
    """

    datasets: tuple[DatasetFacts, ...]
    more_datasets: Count
    period: str | None
    exclusions: str | None
