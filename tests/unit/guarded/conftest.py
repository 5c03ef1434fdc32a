"""A registry in memory behind the guard, and a guard that does as it is told."""

import types

import pytest
from helpers.governed_world import world
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST
from mlflow.store.model_registry.abstract_store import AbstractStore

from coordpath_governance.guarded.store import put_behind_guard
from coordpath_governance.ledger.keyring import KeyRing

__all__ = ["guard", "memory", "opening", "world"]


class Memory(AbstractStore):
    """Notes every call that reaches it; has one model, `price`, whose `champion` is version 1."""

    def __init__(self):
        super().__init__()
        self.calls = []
        self.aliases = {"champion": 1}

    def get_registered_model(self, name):
        if name != "price":
            raise MlflowException(f"no model {name}", error_code=RESOURCE_DOES_NOT_EXIST)
        return types.SimpleNamespace(name=name, aliases=self.aliases, latest_versions=[])

    def set_registered_model_alias(self, name, alias, version):
        self.get_registered_model(name)
        self.calls.append(("set_registered_model_alias", name, alias, version))
        self.aliases[alias] = int(version)

    def create_model_version(
        self, name, source, run_id=None, tags=None, run_link=None, description=None, local_model_path=None, model_id=None
    ):
        self.calls.append(("create_model_version", name, source, run_id, run_link, description, local_model_path, model_id))
        return types.SimpleNamespace(version=7)


def _noted(method):
    def call(self, *args):
        self.calls.append((method, *args))
        return method

    return call


for _method in (
    *("create_registered_model", "rename_registered_model", "delete_registered_model", "set_registered_model_tag"),
    *("delete_registered_model_tag", "transition_model_version_stage", "delete_model_version", "set_model_version_tag"),
    *("delete_model_version_tag", "delete_registered_model_alias", "update_model_version"),
):
    setattr(Memory, _method, _noted(_method))


class Told:
    """A guard that raises what it is given, and notes what it was asked."""

    def __init__(self):
        self.ledger = types.SimpleNamespace(keyring=KeyRing)
        self.error = None
        self.asked = []

    def _answer(self, *question):
        self.asked.append(question)
        if self.error is not None:
            raise self.error

    def set_alias(self, registry, name, alias, version, actor, take_request=None):
        self._answer("set alias", name, alias, version, actor)
        registry.set_alias(name, alias, version)

    def forbid(self, registry, operation, name, actor, **what):
        self._answer(operation, name, {key: value for key, value in what.items() if value is not None}, actor)

    def registered(self, registry, name, version, actor):
        self._answer("registered", name, version, actor)


@pytest.fixture
def opening(monkeypatch):
    """What opening the guard comes to: change ``opening.guard`` or set ``opening.error``."""
    state = types.SimpleNamespace(guard=Told(), error=None, uris=[])

    def open_guard(uri):
        state.uris.append(uri)
        if state.error is not None:
            raise state.error
        return state.guard

    monkeypatch.setattr("coordpath_governance.guarded.lazy_guard.open_guard", open_guard)
    return state


@pytest.fixture
def guard(opening):
    return opening.guard


@pytest.fixture
def memory(opening):
    """The guarded store in memory."""
    return put_behind_guard(Memory(), "sqlite:///memory", None)
