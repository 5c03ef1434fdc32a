"""How a version came to be, as registry and tracking server recorded it: dates, tags, training data.

All of it is the author's to write, and none of it decides anything; a report shows it with where it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from coordpath_governance.errors import NotFoundError, RegistryError
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.training_data import training_facts
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.reports.document import VersionFacts
from coordpath_governance.reports.origin_parts import LAST_MOMENT, TrainingFacts

__all__ = ["Origin", "origin_of"]


@dataclass(frozen=True)
class Origin:
    """Times in milliseconds since 1970; ``run_remark`` says why nothing of the version's run is known."""

    registered_ms: int | None = None
    run_started_ms: int | None = None
    run_remark: Literal["not there", "not readable"] | None = None
    training: TrainingFacts | None = None
    version_tags: Mapping[str, str] = field(default_factory=dict)
    run_tags: Mapping[str, str] = field(default_factory=dict)

    def added_to(self, facts: VersionFacts) -> VersionFacts:
        """``facts`` with everything that a report shows of this origin."""
        return facts.model_copy(
            update={
                "registered_ms": self.registered_ms,
                "run_started_ms": self.run_started_ms,
                "run_remark": self.run_remark,
                "training": self.training,
            }
        )


def origin_of(client: Any, pointer: ModelPointer) -> Origin:  # noqa: ANN401 - MlflowClient
    """The origin of a registered version; nothing is known of a model that is not registered.

    A run that is gone, or that one may not read, leaves its part unknown: it is no reason to have no report.
    Raises `RegistryError` if the registry or the tracking server does not answer, `NotFoundError` if the version is gone.
    """
    if pointer.name is None or pointer.version is None:
        return Origin()
    with registry_errors(f"reading version {pointer.version} of '{pointer.name}'"):
        version = client.get_model_version(pointer.name, pointer.version)
    run, remark = _run(client, pointer)
    version_tags, run_tags = dict(version.tags or {}), {} if run is None else dict(run.data.tags)
    datasets = () if run is None or run.inputs is None else tuple(run.inputs.dataset_inputs)
    return Origin(
        registered_ms=_moment(version.creation_timestamp),
        run_started_ms=None if run is None else _moment(run.info.start_time),
        run_remark=remark,
        training=training_facts(datasets, version_tags, run_tags),
        version_tags=version_tags,
        run_tags=run_tags,
    )


def _run(client: Any, pointer: ModelPointer) -> tuple[Any, Literal["not there", "not readable"] | None]:  # noqa: ANN401 - MlflowClient, Run
    if pointer.run_id is None:
        return None, None
    try:
        with registry_errors(f"reading run {pointer.run_id}"):
            return client.get_run(pointer.run_id), None
    except NotFoundError:
        return None, "not there"
    except RegistryError as error:
        if getattr(error.__cause__, "error_code", None) != "PERMISSION_DENIED":
            raise
        return None, "not readable"


def _moment(value: object) -> int | None:
    """A time that a calendar has; who logs a run may write any number."""
    return value if isinstance(value, int) and 0 <= value <= LAST_MOMENT else None
