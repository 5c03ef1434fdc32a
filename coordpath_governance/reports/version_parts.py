"""The document's parts on each version besides its coefficients: how it came to be, and its environment files.

The registry and the runs record when a version was made and from which training data. Its environment files name packages,
of which a report shows what changed between the versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from coordpath_governance.models.environment import Environment
from coordpath_governance.reports.parts import Count, Part

__all__ = [
    "LAST_MOMENT",
    "DatasetFacts",
    "EnvironmentFacts",
    "Environments",
    "Moment",
    "PinChange",
    "TrainingFacts",
    "environments_of",
    "pin_changes",
]

LAST_MOMENT = 253_402_300_799_999
"""The last millisecond of the year 9999, counted from 1970 as MLflow counts."""

Moment = Annotated[int, Field(ge=0, le=LAST_MOMENT)]
"""Milliseconds since 1970, UTC, as MLflow recorded them."""

_PYTHON = "Python"


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


class PinFacts(Part):
    """A package and what is said of its version; empty if nothing is."""

    package: str
    version: str


class RemarkFacts(Part):
    """Something that a person should look at; ``line`` is None for a whole file."""

    file: str
    line: int | None
    what: str


class EnvironmentFacts(Part):
    """What the environment files of one version ask for; ``damaged``: why some of them could not be read."""

    files: tuple[str, ...]
    python: str | None
    pins: tuple[PinFacts, ...]
    channels: tuple[str, ...]
    remarks: tuple[RemarkFacts, ...]
    damaged: tuple[str, ...]


class Environments(Part):
    """Both versions; None for one without a folder of files."""

    champion: EnvironmentFacts | None
    candidate: EnvironmentFacts | None


@dataclass(frozen=True)
class PinChange:
    """A package whose version is another one; None where a side does not ask for it."""

    package: str
    old: str | None
    new: str | None


def environments_of(champion: Environment | None, candidate: Environment | None) -> Environments | None:
    """The part of the report; None if neither version has files that say anything."""
    if champion is None and candidate is None:
        return None
    return Environments(champion=_facts(champion), candidate=_facts(candidate))


def _facts(environment: Environment | None) -> EnvironmentFacts | None:
    if environment is None:
        return None
    return EnvironmentFacts(
        files=environment.files,
        python=environment.python,
        pins=tuple(PinFacts(package=pin.package, version=pin.version) for pin in environment.pins),
        channels=environment.channels,
        remarks=tuple(RemarkFacts(file=remark.file, line=remark.line, what=remark.what) for remark in environment.remarks),
        damaged=environment.damaged,
    )


def pin_changes(environments: Environments) -> tuple[PinChange, ...]:
    """Python and every package whose version differs, by name; nothing if there is no champion to compare with."""
    old, new = environments.champion, environments.candidate
    if old is None or new is None:
        return ()
    before, after = _versions(old), _versions(new)
    return tuple(
        PinChange(package, before.get(package), after.get(package))
        for package in sorted({*before, *after}, key=lambda package: (package != _PYTHON, package))
        if before.get(package) != after.get(package)
    )


def _versions(environment: EnvironmentFacts) -> dict[str, str]:
    """The versions that are versions_by_package for, in words, by package; an exact version is a bare number."""
    versions_by_package: dict[str, list[str]] = {} if environment.python is None else {_PYTHON: [environment.python]}
    for pin in environment.pins:
        versions_by_package.setdefault(pin.package, []).append(pin.version)
    return {package: _version_words(versions) for package, versions in versions_by_package.items()}


def _version_words(versions: Sequence[str]) -> str:
    if len(versions) == 1:
        version = versions[0]
        number = version.removeprefix("==") if version.startswith("==") and not version.startswith("===") else version
        return (version if "," in number else number) or "any version"
    return " and ".join(version or "any version" for version in versions)
