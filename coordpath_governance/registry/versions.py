"""Which model is meant: alias, version number, "latest" or URI, down to its files and its run; and what a registry lists.

A listing goes page by page: a filter by name cannot be written for every name that MLflow allows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from coordpath_governance.errors import NotFoundError, NoVersionError, RefusedError, UsageError
from coordpath_governance.registry.connection import in_this_store, registry_errors
from coordpath_governance.registry.own_artifacts import own_location, same_place
from coordpath_governance.registry.ports import ModelVersion, Page, RegisteredModel, RegistryClient, VersionClient

__all__ = [
    "CHAMPION_ALIAS",
    "ListedVersion",
    "ModelPointer",
    "find_champion",
    "point_at",
    "point_at_version",
    "register_version",
    "registered_model",
    "registered_names",
    "registered_versions",
]

CHAMPION_ALIAS = "champion"
_MODEL_URI = re.compile(r"models:/(?P<name>[^/]+?)(?:@(?P<alias>[^/@]+)|/(?P<version>[^/]+))?")
_LOGGED_MODEL = re.compile(r"models:/(?P<id>m-[0-9a-f]{32})")
_MOST_DIGITS = 9
_MAX_COPIES = 20

_PAGE = 200
_Entity = TypeVar("_Entity")


@dataclass(frozen=True)
class ModelPointer:
    """One model: a registered version, or any URI that MLflow can download.

    ``location`` is where MLflow loads a registered version from, as it was fixed when the version was registered.
    ``model_id`` is the LoggedModel that holds these files; None for a 2.x-style version, whose files belong to ``run_id``.
    ``gone`` is why a registered version has no files that could be downloaded, such as a deleted LoggedModel.
    """

    uri: str
    name: str | None = None
    version: str | None = None
    run_id: str | None = None
    model_id: str | None = None
    aliases: tuple[str, ...] = ()
    description: str | None = None
    location: str | None = None
    gone: str | None = None

    @property
    def label(self) -> str:
        """How sentences call it."""
        return f"v{self.version}" if self.version is not None else self.uri

    @property
    def registered(self) -> tuple[str, str]:
        """Name and number of a registered version. Raises `UsageError` for any other model."""
        if self.name is None or self.version is None:
            raise UsageError(f"'{self.uri}' is not a registered version; use models:/NAME/VERSION or models:/NAME@ALIAS")
        return self.name, self.version


def point_at(client: RegistryClient, name: str | None, which: str) -> ModelPointer:
    """Resolve alias, version number, "latest" or URI; the first three are of the registered model ``name``."""
    match = _MODEL_URI.fullmatch(which)
    if match and match["version"] is None and match["alias"] is None:
        logged = _LOGGED_MODEL.fullmatch(which)
        if logged is None:
            raise UsageError(
                f"'{which}' names no version; use models:/{match['name']}/VERSION or models:/{match['name']}@ALIAS"
            )
        return ModelPointer(uri=which, model_id=logged["id"])
    if match:
        return _registered(client, match["name"], match["alias"] or match["version"], is_alias=bool(match["alias"]))
    if "/" in which or "\\" in which or ":" in which:
        return ModelPointer(uri=which)
    if name is None:
        raise UsageError(f"'{which}' needs a registered model's name; use a URI such as models:/NAME/{which}")
    return _registered(client, name, which, is_alias=not (_is_number(which) or which == "latest"))


def point_at_version(client: VersionClient, name: str, number: str) -> ModelPointer:
    """The version ``number``, a decimal text, of the registered model ``name``.

    Raises `NotFoundError` if there is no such version.
    """
    return _version(client, name, registered_model(client, name), number)


def register_version(model_uri: str, name: str, tags: Mapping[str, object], seconds: int) -> str:
    """Register the model at ``model_uri``, and wait at most ``seconds`` for it. Returns the number of the new version.

    Raises what `mlflow.register_model` raises.
    """
    import mlflow

    return str(mlflow.register_model(model_uri, name, await_registration_for=seconds, tags=dict(tags)).version)


def find_champion(client: RegistryClient, name: str, alias: str) -> ModelPointer | None:
    """The version that has the alias; None if no version has it."""
    model = registered_model(client, name)
    version = model.aliases.get(alias)
    return None if version is None else _version(client, name, model, str(version))


def registered_model(client: VersionClient, name: str) -> RegisteredModel:
    """The registered model; `NotFoundError` says which registry was asked."""
    with registry_errors(f"looking up the registered model '{name}'{in_this_store(client)}"):
        return client.get_registered_model(name)


def _registered(client: RegistryClient, name: str, which: str, *, is_alias: bool) -> ModelPointer:
    model = registered_model(client, name)
    number = which
    if is_alias:
        aliases = _aliases(model)
        if which not in aliases:
            existing = ", ".join(sorted(aliases)) or "none"
            raise NotFoundError(f"the registered model '{name}' has no alias '{which}'; its aliases are: {existing}")
        number = aliases[which]
    elif which == "latest":
        number = _latest(client, model)
    elif not _is_number(which):
        raise UsageError(f"'{which}' is not a version of '{name}'; give a number, 'latest' or an alias")
    return _version(client, name, model, number)


def _aliases(model: RegisteredModel) -> dict[str, str]:
    return {str(alias): str(version) for alias, version in model.aliases.items()}


def _version(client: VersionClient, name: str, model: RegisteredModel, number: str) -> ModelPointer:
    number = number.lstrip("0") or "0"
    if len(number) > _MOST_DIGITS:
        raise NotFoundError(f"the registered model '{name}' has no version {number}")
    with registry_errors(f"looking up version {number} of '{name}'{in_this_store(client)}"):
        version = client.get_model_version(name, number)
    number = str(version.version)
    try:
        gone, (location, model_id) = None, _files(client, version.source, name, number)
    except NotFoundError as error:
        gone, location, model_id = str(error), None, None
    return ModelPointer(
        uri=f"models:/{name}/{number}",
        name=name,
        version=number,
        run_id=version.run_id or None,
        model_id=model_id,
        aliases=tuple(sorted(alias for alias, target in _aliases(model).items() if target == number)),
        description=version.description or None,
        location=location,
        gone=gone,
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _files(client: VersionClient, source: str, name: str, number: str) -> tuple[str, str | None]:
    """Where a version's files are, and the LoggedModel that holds them.

    The logged model that ``source`` names can be deleted and created again, but MLflow still loads the first one. Raises
    `NotFoundError` if it does not exist.
    """
    model_id = _logged_model(client, source, name, number)
    with registry_errors(f"locating the files of version {number} of '{name}'"):
        loaded = str(client.get_model_version_download_uri(name, number))
        logged = _LOGGED_MODEL.fullmatch(loaded)
        if logged:
            loaded = str(client.get_logged_model(logged["id"]).artifact_location)
        if model_id is not None and not same_place(loaded, str(client.get_logged_model(model_id).artifact_location)):
            raise RefusedError(
                f"version {number} of '{name}' is loaded from other files than those of {model_id}, the logged model that "
                f"its source {source} now leads to; register it again from the logged model that is meant"
            )
    return own_location(loaded), model_id


def _latest(client: RegistryClient, model: RegisteredModel) -> str:
    """The highest version number: the model knows the latest of every stage, and a registry without stages is searched."""
    newest: Iterable[ModelVersion] = model.latest_versions
    if not newest:
        quote = "'" if '"' in model.name else '"'
        with registry_errors(f"listing the versions of '{model.name}'"):
            newest = client.search_model_versions(
                f"name = {quote}{model.name}{quote}", max_results=1, order_by=["version_number DESC"]
            )
    if not newest:
        raise NoVersionError(f"the registered model '{model.name}' has no versions yet; register one first")
    return str(max(int(version.version) for version in newest))


def _logged_model(client: VersionClient, source: str, name: str, number: str) -> str | None:
    """Follow copies (models:/name/version) to the LoggedModel that holds the files, None for a 2.x-style version."""
    for _ in range(_MAX_COPIES):
        logged = _LOGGED_MODEL.fullmatch(source or "")
        if logged:
            return logged["id"]
        match = _MODEL_URI.fullmatch(source or "")
        if match is None or match["version"] is None:
            return None
        with registry_errors(f"following the copy {name} version {number} to {source}"):
            source = client.get_model_version(match["name"], match["version"]).source
    raise NotFoundError(
        f"version {number} of '{name}' is a copy of a copy more than {_MAX_COPIES} times over; this is a loop"
    )


@dataclass(frozen=True, order=True)
class ListedVersion:
    """A version's number, and when the registry created it (milliseconds since 1970)."""

    number: int
    created_at: int


def registered_names(client: RegistryClient) -> list[str]:
    """The names of all registered models, sorted. Raises `RegistryError` if the registry does not answer."""
    return sorted(str(model.name) for model in _pages(client.search_registered_models, "listing the registered models"))


def registered_versions(client: RegistryClient) -> dict[str, list[ListedVersion]]:
    """All versions of all models, the oldest first."""
    found: defaultdict[str, list[ListedVersion]] = defaultdict(list)
    for version in _pages(client.search_model_versions, "listing the registered versions"):
        found[str(version.name)].append(ListedVersion(int(version.version), int(version.creation_timestamp or 0)))
    return {name: sorted(versions) for name, versions in found.items()}


def _pages(search: Callable[..., Page[_Entity]], doing: str) -> Iterator[_Entity]:
    """All results of a search of MLflow, page by page."""
    token = None
    while True:
        with registry_errors(doing):
            page = search(max_results=_PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return
