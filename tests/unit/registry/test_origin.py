"""Dates, tags and training data of a version, and runs that cannot be read."""

from types import SimpleNamespace

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR, PERMISSION_DENIED, RESOURCE_DOES_NOT_EXIST

from coordpath_governance.errors import RegistryError
from coordpath_governance.registry.origin import Origin, origin_of
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.reports.version_parts import LAST_MOMENT

POINTER = ModelPointer("models:/price/2", "price", "2", "run")


class Client:
    """A client of one version and its run."""

    def __init__(self, start=1, fails=None, inputs=True):
        self.fails = fails
        data = SimpleNamespace(tags={"coordpath.reason": "of the run"})
        info = SimpleNamespace(start_time=start)
        self.run = SimpleNamespace(info=info, data=data, inputs=SimpleNamespace(dataset_inputs=[]) if inputs else None)

    def get_model_version(self, *_):
        return SimpleNamespace(creation_timestamp=7, tags={"a": "b"})

    def get_run(self, _):
        if self.fails is not None:
            raise MlflowException("no", error_code=self.fails)
        return self.run


def test_what_is_not_registered_has_no_origin():
    assert origin_of(None, ModelPointer("./folder")) == Origin()


@pytest.mark.parametrize("inputs", [True, False])
def test_dates_and_tags(inputs):
    origin = origin_of(Client(inputs=inputs), POINTER)
    assert (origin.registered_ms, origin.run_started_ms) == (7, 1)
    assert (origin.version_tags, origin.run_tags) == ({"a": "b"}, {"coordpath.reason": "of the run"})
    assert origin.run_remark is origin.training is None


@pytest.mark.parametrize("moment", [-1, LAST_MOMENT + 1, None])
def test_a_time_that_no_calendar_has_is_not_known(moment):
    assert origin_of(Client(start=moment), POINTER).run_started_ms is None


@pytest.mark.parametrize(("code", "remark"), [(RESOURCE_DOES_NOT_EXIST, "not there"), (PERMISSION_DENIED, "not readable")])
def test_a_run_that_cannot_be_had_is_no_reason_to_have_no_report(code, remark):
    origin = origin_of(Client(fails=code), POINTER)
    assert (origin.run_remark, origin.run_started_ms, origin.registered_ms) == (remark, None, 7)


def test_a_server_that_does_not_answer_is_an_error_and_not_a_missing_fact():
    with pytest.raises(RegistryError, match="reading run run"):
        origin_of(Client(fails=INTERNAL_ERROR), POINTER)


def test_a_version_without_a_run():
    assert origin_of(Client(), ModelPointer("models:/price/2", "price", "2")).run_remark is None
