"""What we use of MLflow's client: its methods, and the attributes of what they return, with types.

MLflow's classes fit as they are. `VersionClient` is all that finding, reading and marking one version needs; the guarded
store offers as much of itself (`guarded.inner_registry`). `RegistryClient` also lists models and versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeVar

__all__ = [
    "Dataset",
    "DatasetInput",
    "LoggedModel",
    "ModelVersion",
    "Page",
    "RegisteredModel",
    "RegistryClient",
    "Run",
    "Tag",
    "VersionClient",
]

_Entity_co = TypeVar("_Entity_co", covariant=True)


class ModelVersion(Protocol):
    """A registered version. Its number is an int from SQL stores and a text from servers; times are in ms since 1970."""

    name: str
    version: int | str
    source: str
    run_id: str | None
    description: str | None
    tags: Mapping[str, str]
    creation_timestamp: int | None


class RegisteredModel(Protocol):
    """A registered model. ``aliases`` has the version of each; ``latest_versions`` the newest version of each stage."""

    name: str
    aliases: Mapping[str, int | str]
    latest_versions: Sequence[ModelVersion]
    creation_timestamp: int | None


class LoggedModel(Protocol):
    """A logged model: its id, its experiment, and where its files are."""

    model_id: str
    experiment_id: str
    artifact_location: str


class Tag(Protocol):
    """A tag, as an entity or as a message."""

    key: str
    value: str


class Dataset(Protocol):
    """A data set as a run describes it: ``source`` and ``profile`` are JSON texts that its author has written."""

    name: str
    digest: str
    source: str
    source_type: str
    profile: str | None


class DatasetInput(Protocol):
    """A data set that a run has used, and what for: its context is a tag."""

    dataset: Dataset
    tags: Sequence[Tag]


class RunInputs(Protocol):
    """The inputs of a run."""

    dataset_inputs: Sequence[DatasetInput]


class RunInfo(Protocol):
    """When a run began (ms since 1970), its experiment, and where its artifacts are."""

    start_time: int | None
    experiment_id: str
    artifact_uri: str


class RunData(Protocol):
    """The tags of a run."""

    tags: Mapping[str, str]


class Run(Protocol):
    """A run. Servers of earlier versions send no inputs."""

    info: RunInfo
    data: RunData
    inputs: RunInputs | None


class Page(Protocol[_Entity_co]):
    """A page of a listing; ``token`` asks for the next one, and is None or empty on the last."""

    @property
    def token(self) -> str | None:
        """What asks for the next page."""
        ...

    def __iter__(self) -> Iterator[_Entity_co]: ...

    def __len__(self) -> int: ...


class VersionClient(Protocol):
    """The methods that find, read and mark one version. Each raises `MlflowException`; see `connection.registry_errors`."""

    def get_registered_model(self, name: str) -> RegisteredModel:
        """The registered model of this name."""
        ...

    def get_model_version(self, name: str, version: str) -> ModelVersion:
        """A version, by its number."""
        ...

    def get_model_version_by_alias(self, name: str, alias: str) -> ModelVersion:
        """The version that has an alias."""
        ...

    def get_model_version_download_uri(self, name: str, version: str) -> str:
        """The URI that MLflow loads a version from."""
        ...

    def set_registered_model_alias(self, name: str, alias: str, version: str) -> None:
        """Give an alias to a version."""
        ...

    def set_model_version_tag(self, name: str, version: str, key: str, value: str) -> None:
        """Set a tag of a version."""
        ...

    def update_model_version(self, name: str, version: str, description: str) -> object:
        """Set the description of a version."""
        ...

    def get_logged_model(self, model_id: str) -> LoggedModel:
        """The logged model with this id."""
        ...

    def get_run(self, run_id: str) -> Run:
        """The run with this id."""
        ...

    def log_model_artifacts(self, model_id: str, local_dir: str) -> None:
        """Write the files below ``local_dir`` to a logged model."""
        ...

    def log_artifacts(self, run_id: str, local_dir: str) -> None:
        """Write the files below ``local_dir`` to a run."""
        ...


class RegistryClient(VersionClient, Protocol):
    """MLflow's client: a `VersionClient` that also lists, deletes tags, and logs single files and models."""

    def search_registered_models(
        self, filter_string: str | None = None, max_results: int = 100, *, page_token: str | None = None
    ) -> Page[RegisteredModel]:
        """A page of the registered models."""
        ...

    def search_model_versions(
        self,
        filter_string: str | None = None,
        max_results: int = 10000,
        order_by: list[str] | None = None,
        page_token: str | None = None,
    ) -> Page[ModelVersion]:
        """A page of the registered versions."""
        ...

    def delete_model_version_tag(self, name: str, version: str, key: str) -> None:
        """Delete a tag of a version."""
        ...

    def log_artifact(self, run_id: str, local_path: str, artifact_path: str | None = None) -> None:
        """Write one file into the folder ``artifact_path`` of a run."""
        ...

    def create_logged_model(self, experiment_id: str, name: str | None = None) -> LoggedModel:
        """A new logged model without files, which is not ready yet."""
        ...

    def finalize_logged_model(self, model_id: str, status: Literal["READY", "FAILED"]) -> object:
        """Say that a logged model is complete, or that it will never be."""
        ...
