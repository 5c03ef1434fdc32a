"""What `explain_change` makes of its arguments."""

import numpy as np
import pytest

from coordpath_governance import explain
from coordpath_governance.errors import UsageError


def test_values_of_a_target_need_the_data_they_belong_to(monkeypatch):
    monkeypatch.setattr(explain, "_resolve", lambda model, label: None)
    with pytest.raises(UsageError, match="column name when data= is left out"):
        explain.explain_change(None, "models:/price/2", target=np.array([1.0, 2.0]))
