"""When both versions and their runs were made, and what they were trained on; what nobody recorded is shown as missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from coordpath_governance.numbers import count
from coordpath_governance.rendering.caps import Caps
from coordpath_governance.reports.document import VersionFacts
from coordpath_governance.reports.version_parts import DatasetFacts, TrainingFacts

__all__ = ["DIGEST_NOTE", "SideRow", "has_mlflow_digest", "moment_text", "origin_rows"]

DIGEST_NOTE = (
    "Digests of training data are those that MLflow computed when the run logged them, over at most the first 10,000 rows, "
    "unless they come from a tag."
)
_REMARKS = {"not there": "The run is not there any more", "not readable": "The run could not be read"}


@dataclass(frozen=True)
class SideRow:
    """One fact of both versions; None is missing."""

    name: str
    old: str | None
    new: str | None
    code: bool


def moment_text(moment: int | None) -> str | None:
    """A time in UTC, to the second."""
    return None if moment is None else f"{datetime.fromtimestamp(moment // 1000, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def origin_rows(champion: VersionFacts | None, candidate: VersionFacts, caps: Caps) -> tuple[SideRow, ...]:
    """Dates and training data of both versions."""
    facts: tuple[tuple[str, Callable[[VersionFacts], str | None]], ...] = (
        ("Registered", lambda side: moment_text(side.registered_ms)),
        ("Run started", lambda side: _of_run(side, side.run_started_ms)),
        ("Training data", lambda side: _per_dataset(side, caps, _called)),
        ("Training data, source", lambda side: _per_dataset(side, caps, lambda dataset: dataset.source)),
        ("Training data, digest", lambda side: _per_dataset(side, caps, lambda dataset: dataset.digest)),
        ("Training data, rows", lambda side: _per_dataset(side, caps, _rows)),
        ("Training data, period", lambda side: _label(side.training.period if side.training else None, caps)),
        ("Training data, exclusions", lambda side: _label(side.training.exclusions if side.training else None, caps)),
    )
    return tuple(
        SideRow(name, None if champion is None else read(champion), read(candidate), code=False) for name, read in facts
    )


def has_mlflow_digest(*sides: VersionFacts | None) -> bool:
    """Whether a digest is shown that MLflow computed."""
    trainings = [side.training for side in sides if side is not None and side.training is not None]
    return any(dataset.digest and dataset.stated_by != "tags" for training in trainings for dataset in training.datasets)


def _of_run(side: VersionFacts, moment: int | None) -> str | None:
    return _REMARKS[side.run_remark] if side.run_remark else moment_text(moment)


def _label(text: str | None, caps: Caps) -> str | None:
    return caps.label(text) if text else None


def _per_dataset(side: VersionFacts, caps: Caps, read: Callable[[DatasetFacts], str | None]) -> str | None:
    """What ``read`` finds in each data set; numbered if there are several."""
    training = side.training
    if training is None:
        return None
    datasets = training.datasets[: caps.entries]
    values = [(number, value) for number, dataset in enumerate(datasets, 1) if (value := read(dataset))]
    if not values:
        return None
    several = len(datasets) > 1
    texts = [f"({number}) {caps.label(value)}" if several else caps.label(value) for number, value in values]
    return "; ".join([*texts, *_left_out(training, len(datasets))])


def _left_out(training: TrainingFacts, listed: int) -> list[str]:
    more = training.more_datasets + len(training.datasets) - listed
    return [f"and {count(more)} more"] if more else []


def _called(dataset: DatasetFacts) -> str:
    """The name of a data set, and who says that it is training data."""
    source = {
        "run input": "logged by the run for training",
        "run input without context": "logged by the run; whether for training is not said",
        "tags": "the author's words, from tags",
    }[dataset.stated_by]
    return f"{dataset.name} ({source})" if dataset.name else source


def _rows(dataset: DatasetFacts) -> str | None:
    return None if dataset.rows is None else count(dataset.rows)
