"""Forged statsmodels results: nothing runs, nothing is written, and the error is one of ours."""

from __future__ import annotations

import contextlib
import io
import pickle
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from helpers.hostile_results import FRAME, MARKER, by_array, by_family, by_formula, hostile_results

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import fold_stored
from coordpath_governance.models.pickle_objects import read_pickle_bytes
from coordpath_governance.models.statsmodels_folding import fold_result

HOSTILE = dict(hostile_results())


def read(data):
    return fold_result(read_pickle_bytes(data, "model.statsmodels"))


def test_there_are_many_and_the_honest_ones_are_read():
    assert len(HOSTILE) >= 50
    assert read(pickle.dumps(by_formula())).estimator == "OLS"
    assert read(pickle.dumps(by_array())).columns == ("age", "km")
    assert read(pickle.dumps(by_family())).family == "poisson"


@pytest.mark.parametrize("what", HOSTILE)
def test_forged_results_are_refused(what):
    with pytest.raises(ModelReadError) as caught:
        read(HOSTILE[what])
    assert 20 < len(str(caught.value)) < 2000
    assert not Path(MARKER).exists()


@pytest.mark.filterwarnings("ignore")
def test_the_code_in_a_formula_would_run(tmp_path, monkeypatch):
    """So that the corpus is of real attacks: loading evaluates the formula."""
    marker = tmp_path / "ran"
    result = by_formula()
    text = f"price ~ I(age * (1 if __import__('os').system('touch {marker}') == 0 else 1))"
    result._results.model.formula = result._results.model.data.formula = text
    data = pickle.dumps(result)
    with pytest.raises(UnsupportedModelError, match="keyword 'if'"):
        read(data)
    assert not marker.exists()
    pickle.loads(data)
    assert marker.exists()


def test_a_deception_by_another_formula_is_named():
    with pytest.raises(ModelReadError, match="names of its columns are not those that its formula makes"):
        read(HOSTILE["another formula, same width"])
    with pytest.raises(ModelReadError, match="another formula than the model"):
        read(HOSTILE["formula of the data only"])


def test_a_frame_in_a_scikit_learn_file_is_none_of_its_names():
    from sklearn.linear_model import LinearRegression

    model = LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0])
    model.note_ = by_formula()._results.model.data.frame
    with pytest.raises(ModelReadError, match=r"DataFrame as its attribute 'note_'"):
        fold_stored(read_pickle_bytes(pickle.dumps(model)))
    model.note_ = [model.note_]
    with pytest.raises(UnsupportedModelError, match=r"names pandas"):
        fold_stored(read_pickle_bytes(pickle.dumps(model)))


@pytest.mark.parametrize("make", [by_formula, by_array, by_family])
def test_no_change_of_bytes_escapes_as_another_error(make):
    honest = pickle.dumps(make(), 5)
    rng = random.Random(7)
    for _ in range(300):
        data = bytearray(honest)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with contextlib.suppress(ModelReadError):
            read(bytes(data))


class _Late(pickle._Pickler):
    """Changes what a call, or a state, has taken once it is taken: whoever loads the file has seen what was there before."""

    def __init__(self, buffer, target, change):
        super().__init__(buffer, 4)
        self._target, self._change, self._kept = target, change, []

    def save_reduce(self, func, args, state=None, *rest, obj=None, **named):
        super().save_reduce(func, args, state, *rest, obj=obj, **named)
        if obj is self._target:
            self._kept.append((args, state))
            self._change(self, args, state)

    def set_item(self, container, key, value):
        self.write(self.get(self.memo[id(container)][0]))
        self.save(key)
        self.save(value)
        self.write(pickle.SETITEM + pickle.POP)


def _dumped(result, target, change):
    buffer = io.BytesIO()
    _Late(buffer, target, change).dump(result)
    return buffer.getvalue()


@pytest.mark.filterwarnings("ignore")
def test_coefficients_that_are_changed_after_they_were_taken_are_refused():
    result = by_array()
    params = result._results.params = pd.Series(np.asarray(result._results.params), index=result.model.exog_names)
    block = {}

    def change(pickler, _, state):
        (block["taken"],) = state[3]["0.14.1"]["blocks"]
        pickler.set_item(block["taken"], "values", np.array([1.0, 2.0, 3.0]))

    data = _dumped(result, params._mgr, change)
    with pytest.raises(ModelReadError, match="changes something after it was used"):
        read(data)


@pytest.mark.filterwarnings("ignore")
def test_levels_that_are_changed_after_they_were_taken_are_refused():
    frame = FRAME.assign(city=pd.Categorical(FRAME.city))
    result = smf.ols("price ~ age + city", frame).fit()
    levels = result.model.data.frame.city.cat.categories

    def change(pickler, args, _):
        pickler.set_item(args[1], "data", np.array(list(levels)[::-1], dtype=object))

    with pytest.raises(ModelReadError, match="changes something after it was used"):
        read(_dumped(result, levels, change))


def test_a_text_array_that_nobody_opens_is_checked_all_the_same():
    frame = FRAME.assign(note=pd.Categorical(["u", "v"] * (len(FRAME) // 2)))
    data = pickle.dumps(smf.ols("price ~ age + note", frame).fit(), 5)
    end = b"\x85\x94R\x94e"  # the last of the buffers in a list of them
    assert end in data
    with pytest.raises(ModelReadError, match="not as pyarrow writes it"):
        read(data.replace(end, b"\x85\x94R\x940e", 1))
