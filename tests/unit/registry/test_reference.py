"""The reference data that MLflow has of a version."""

from types import SimpleNamespace

import pytest

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.registry import reference
from coordpath_governance.registry.versions import ModelPointer


def test_a_run_without_inputs_is_said_to_have_none(monkeypatch):
    monkeypatch.setattr(reference, "_logged_moments", lambda run_id, tried: None)
    client = SimpleNamespace(get_run=lambda run_id: SimpleNamespace(inputs=None))
    with pytest.raises(ReferenceDataError, match="run r1 has no dataset inputs"):
        reference.find_reference(client, ModelPointer("models:/price/2", "price", "2", run_id="r1"))
