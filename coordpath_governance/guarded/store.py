"""MLflow's own store with the guarded methods in front: everything else is the inner store's, untouched."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import cast

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST
from mlflow.store.model_registry.abstract_store import AbstractStore
from mlflow.utils.validation import _validate_model_version

from coordpath_governance.guarded.inner_registry import InnerRegistry
from coordpath_governance.guarded.inner_store import RegistryStore, primary_of
from coordpath_governance.guarded.lazy_guard import LazyGuard
from coordpath_governance.registry.client_registry import GUARD_ALIAS, GUARD_FIELD
from coordpath_governance.registry.ports import Tag
from coordpath_governance.review.guard import OWN_TAGS
from coordpath_governance.review.requests import REQUEST_TAG

__all__ = ["GuardedStore", "put_behind_guard"]

_MAY_HIDE = "mlflow.prompt."
"""MLflow tells prompts from models by a tag of this family; the guard knows which of them hide a model."""

_IS_PROMPT = ("mlflow.prompt.is_prompt", "true")
"""The one tag by which MLflow takes a version for a prompt's."""


def put_behind_guard(store: RegistryStore, uri: str, tracking_uri: str | None) -> RegistryStore:
    """The same store, with a class that puts the guard in front of its own class; ``uri`` is the store's own URI."""
    reads = primary_of(store)
    store.__class__ = _guarded_class(type(store))
    vars(store).update(_lazy_guard=LazyGuard(uri), _guard_reads=reads, _guard_tracking=tracking_uri)
    return store


@cache
def _guarded_class(inner: type) -> type:
    """The guarded class of a store's class, with the same name, because MLflow's messages show it."""
    return type(inner.__name__, (GuardedStore, inner), {"_inner_class": inner, "__doc__": inner.__doc__})


def _blank(inner: type) -> RegistryStore:
    """A guarded store without state, for unpickling."""
    blank: RegistryStore = object.__new__(_guarded_class(inner))
    return blank


class GuardedStore(AbstractStore):  # type: ignore[misc] # MLflow's classes have no types
    """The guarded methods, in front of a store's own class. Prompts are registered models, so they arrive here too."""

    _inner_class: type
    _lazy_guard: LazyGuard
    _guard_reads: RegistryStore | None
    _guard_tracking: str | None

    def __reduce__(self) -> tuple[object, ...]:
        return _blank, (self._inner_class,), self.__getstate__()

    def create_registered_model(
        self,
        name: str,
        tags: Iterable[Tag] | None = None,
        description: str | None = None,
        deployment_job_id: str | None = None,
    ) -> object:
        """Create a model, unless its tags would hide a guarded one."""
        self._refuse_hiding(name, tags)
        return super().create_registered_model(name, tags, description, deployment_job_id)

    def rename_registered_model(self, name: str, new_name: str) -> object:
        """Rename a model, unless away from or onto a guarded name."""
        self._forbid("rename model", name, new_name=str(new_name))
        return super().rename_registered_model(name, new_name)

    def delete_registered_model(self, name: str) -> object:
        """Delete a model, unless it is guarded and in use."""
        self._forbid("delete model", name)
        return super().delete_registered_model(name)

    def set_registered_model_tag(self, name: str, tag: Tag) -> object:
        """Tag a model, unless that would hide a guarded one."""
        self._refuse_hiding(name, (tag,))
        return super().set_registered_model_tag(name, tag)

    def delete_registered_model_tag(self, name: str, key: str) -> object:
        """Delete a model's tag, unless that would change what a guarded model is taken for."""
        if _may_hide(key):
            self._forbid("delete tag", name, tag=_plain(key))
        return super().delete_registered_model_tag(name, key)

    def create_model_version(
        self,
        name: str,
        source: str,
        run_id: str | None = None,
        tags: Iterable[Tag] | None = None,
        run_link: str | None = None,
        description: str | None = None,
        local_model_path: str | None = None,
        model_id: str | None = None,
    ) -> object:
        """Register a version and tell the guard about it, unless it is a prompt's.

        A version of a guarded model cannot be registered as a prompt. MLflow's client looks at the names of these arguments.
        """
        self._refuse_hiding(name, tags)
        created = super().create_model_version(
            name, source, run_id, tags, run_link, description, local_model_path=local_model_path, model_id=model_id
        )
        if not any((tag.key, tag.value) == _IS_PROMPT for tag in tags or ()):
            self._lazy_guard.registered(self._unguarded(), str(name), str(created.version))
        return created

    def transition_model_version_stage(
        self, name: str, version: str | int, stage: str, archive_existing_versions: bool
    ) -> object:
        """Move a version to a stage, unless the model is guarded."""
        self._forbid("transition stage", name, version=_number(version))
        return super().transition_model_version_stage(name, version, stage, archive_existing_versions)

    def delete_model_version(self, name: str, version: str | int) -> object:
        """Delete a version, unless it has or had a guarded alias."""
        self._forbid("delete version", name, version=_number(version))
        return super().delete_model_version(name, version)

    def set_model_version_tag(self, name: str, version: str | int, tag: Tag) -> object:
        """Tag a version, unless that would hide a guarded model's."""
        self._refuse_hiding(name, (tag,), version)
        return super().set_model_version_tag(name, version, tag)

    def delete_model_version_tag(self, name: str, version: str | int, key: str) -> object:
        """Delete a version's tag, unless that would change what the version is taken for, or it leads to its report."""
        if _may_hide(key) or (_plain(key).startswith(OWN_TAGS) and _plain(key) != REQUEST_TAG):
            self._forbid("delete tag", name, version=_number(version), tag=_plain(key))
        return super().delete_model_version_tag(name, version, key)

    def set_registered_model_alias(self, name: str, alias: str, version: str | int) -> None:
        """Set an alias; a guarded one only as a promotion that passes the gate."""
        self._lazy_guard.set_alias(self._unguarded(), str(name), str(alias), _number(version))

    def get_model_version_by_alias(self, name: str, alias: str) -> object:
        """The version that has an alias. For `GUARD_ALIAS` the error says which ledger guards this registry."""
        if alias != GUARD_ALIAS:
            return super().get_model_version_by_alias(name, alias)
        fields = {GUARD_FIELD: self._lazy_guard.introduce(str(name))}
        raise MlflowException("coordpath guards this registry", error_code=RESOURCE_DOES_NOT_EXIST, **fields)

    def delete_registered_model_alias(self, name: str, alias: str) -> object:
        """Delete an alias, unless it is guarded."""
        self._forbid("delete alias", name, alias=str(alias))
        return super().delete_registered_model_alias(name, alias)

    def _unguarded(self) -> InnerRegistry:
        """The registry without the guard, for the guard itself."""
        unguarded = cast(RegistryStore, super())
        return InnerRegistry(self._guard_reads or unguarded, self._guard_tracking)

    def _forbid(self, operation: str, name: str, **what: str | None) -> None:
        self._lazy_guard.forbid(self._unguarded(), operation, str(name), **what)

    def _refuse_hiding(self, name: str, tags: Iterable[Tag] | None, version: str | int | None = None) -> None:
        """Ask about each tag that might hide the model."""
        for key in [tag.key for tag in tags or () if _may_hide(tag.key)]:
            self._forbid("set tag", name, version=None if version is None else _number(version), tag=_plain(key))


def _number(version: str | int) -> str:
    """A version as the inner store understands it, which takes 007, 1_0 and full-width digits for numbers too."""
    _validate_model_version(version)
    return str(int(version))


def _plain(key: str) -> str:
    """A tag's key as a database compares it that ignores case and outer spaces."""
    return str(key).strip().lower()


def _may_hide(key: str) -> bool:
    return _plain(key).startswith(_MAY_HIDE)
