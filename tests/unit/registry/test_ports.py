"""The types that we write for MLflow's client are those of the installed MLflow."""

import inspect
from typing import get_type_hints

import mlflow
import pytest
from mlflow.entities import Dataset, DatasetInput, InputTag, LoggedModel, Run, RunData, RunInfo, RunInputs
from mlflow.entities.model_registry import ModelVersion, RegisteredModel
from mlflow.store.entities import PagedList
from mlflow.store.model_registry.abstract_store import AbstractStore
from mlflow.store.tracking.abstract_store import AbstractStore as AbstractTrackingStore

from coordpath_governance.guarded import inner_store
from coordpath_governance.registry import ports


def _methods(protocol):
    return {name: method for name, method in inspect.getmembers(protocol, inspect.isfunction) if not name.startswith("_")}


def _methods_of(protocol, real):
    return [pytest.param(real, name, method, id=f"{real.__name__}.{name}") for name, method in _methods(protocol).items()]


def _fits(real, ours):
    """Whether every call that ``ours`` allows is one that ``real`` takes."""
    theirs = list(inspect.signature(real).parameters.values())
    names = [parameter.name for parameter in theirs]
    for place, parameter in enumerate(inspect.signature(ours).parameters.values()):
        if parameter.name not in names:
            return False
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and names[place] != parameter.name:
            return False
        if parameter.default is not parameter.empty and theirs[names.index(parameter.name)].default is parameter.empty:
            return False
    allowed = set(inspect.signature(ours).parameters)
    return all(each.name in allowed or each.default is not each.empty or each.kind is each.VAR_KEYWORD for each in theirs)


@pytest.mark.parametrize(
    ("real", "name", "method"),
    [
        *_methods_of(ports.RegistryClient, mlflow.MlflowClient),
        *_methods_of(inner_store.RegistryStore, AbstractStore),
        *_methods_of(inner_store.TrackingStore, AbstractTrackingStore),
    ],
)
def test_mlflow_has_each_method_with_these_parameters(real, name, method):
    assert _fits(getattr(real, name), method), inspect.signature(getattr(real, name))


@pytest.mark.parametrize(
    ("real", "ours"),
    [
        (ModelVersion, ports.ModelVersion),
        (RegisteredModel, ports.RegisteredModel),
        (LoggedModel, ports.LoggedModel),
        (InputTag, ports.Tag),
        (Dataset, ports.Dataset),
        (DatasetInput, ports.DatasetInput),
        (RunInputs, ports.RunInputs),
        (RunInfo, ports.RunInfo),
        (RunData, ports.RunData),
        (Run, ports.Run),
    ],
)
def test_mlflow_has_each_attribute(real, ours):
    fields = getattr(real, "__dataclass_fields__", {})
    missing = [name for name in get_type_hints(ours) if name not in fields and not hasattr(real, name)]
    assert not missing


def test_a_page_has_a_token_and_is_a_list():
    page = PagedList([1, 2], "next")
    assert (page.token, list(page), len(page)) == ("next", [1, 2], 2)


def test_the_check_refuses_another_name_order_or_missing_argument():
    def ours(self, name, version): ...

    for real in (lambda self, name: 0, lambda self, version, name: 0, lambda self, name, version, new: 0):
        assert not _fits(real, ours)
    assert _fits(lambda self, name, version, new=None: 0, ours)
