"""What follows if a version's training data bear the digest or the name of the reference data."""

from __future__ import annotations

from collections.abc import Iterator

from coordpath_governance.reports.document import DataFacts, Subject, VersionFacts
from coordpath_governance.reports.version_parts import DatasetFacts
from coordpath_governance.text import shorten

__all__ = ["training_remarks"]

_NAME = 60


def training_remarks(subject: Subject, data: DataFacts) -> tuple[str, ...]:
    """One remark for each version whose training data look like the reference data.

    The same SHA-256 says that they are the same bytes. A same name only asks for a look. MLflow's own digests are not
    comparable with the SHA-256 of a file.
    """
    return tuple(
        remark
        for who, version in (("champion", subject.champion), ("candidate", subject.candidate))
        if version is not None and version.training is not None
        for remark in _remarks(who, version, data)
    )


def _remarks(who: str, version: VersionFacts, data: DataFacts) -> Iterator[str]:
    datasets = version.training.datasets if version.training is not None else ()
    although = f", although their role is said to be {data.role}" if data.role in ("holdout", "out-of-time") else ""
    if any(_digest(dataset.digest) == _digest(data.sha256) for dataset in datasets):
        yield (
            f"The {who} names the reference data as its training data (the same SHA-256){although}: accuracy on them "
            "flatters it."
        )
    elif any(_same_name(dataset, data) for dataset in datasets):
        yield (
            f"The training data of the {who} have the name of the reference data, '{shorten(data.name, _NAME)}'{although}: "
            "check that they are not the same rows."
        )


def _digest(text: str | None) -> str:
    return (text or "").strip().lower().removeprefix("sha256:")


def _same_name(dataset: DatasetFacts, data: DataFacts) -> bool:
    """Only files and folders have names of their own."""
    if data.kind not in ("file", "folder"):
        return False
    last = (dataset.source or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    return data.name in (dataset.name, last)
