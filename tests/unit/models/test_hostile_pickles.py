"""Forged pickles: nothing runs, nothing is written, and the error is one of ours."""

from __future__ import annotations

import contextlib
import pickle
import random
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from helpers.hostile_pickles import MARKER, calling, endless_pickles, honest, hostile_pickles
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import ArchivedObject, fold_stored
from coordpath_governance.models.pickle_objects import read_pickle_bytes

sys.path.insert(0, str(Path(__file__).parents[2] / "golden" / "pickles"))
from write_pickles import fitted

HOSTILE, ENDLESS = dict(hostile_pickles()), dict(endless_pickles())


def read(data):
    return fold_stored(read_pickle_bytes(data, "model.pkl"))


def is_refused(data):
    try:
        read(data)
    except ModelReadError:
        return True
    return False


def test_there_are_many_and_the_honest_one_is_read():
    assert len(HOSTILE) >= 60
    assert read(pickle.dumps(honest())).estimator == "LinearRegression"


def test_the_calls_would_run(tmp_path):
    """So that the corpus is of real attacks."""
    pickle.loads(pickle.dumps(calling(str(tmp_path / "ran"))))
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_pickles_are_refused(what):
    with pytest.raises(ModelReadError) as caught:
        read(HOSTILE[what])
    assert len(str(caught.value)) < 2000
    assert not Path(MARKER).exists()


@pytest.mark.thorough
@pytest.mark.parametrize("what", ENDLESS)
def test_what_is_endless_is_never_walked_through(what):
    assert read(ENDLESS[what]).estimator == "LinearRegression"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("a call in an attribute that nobody looks at", r"names builtins\.exec, which we do not know"),
        ("a call that is thrown away", r"names builtins\.exec, which we do not know"),
        ("a name that leads into another module", "holds the name 'numpy.f2py.os.system', which leads into another object"),
        ("a subclass by value", "is a class or function that the pickle brings itself"),
        ("a second pickle behind the first", "bytes follow its end"),
        ("a persistent id", r"stored somewhere else \(PERSID\)"),
        ("a state set twice", "sets the state of a LinearRegression twice"),
        ("a class set by the state", "sets '__class__'"),
        ("a method set by the state", r"stores numpy\.log as its attribute 'predict', which no LinearRegression has"),
        ("a pipeline within itself", "is a part of itself"),
        ("a function given to a constructor", "step 'functiontransformer' is what a call of .*FunctionTransformer makes"),
        ("another format", "does not begin like one"),
        ("more text than is built", "holds more text than we read"),
        ("many texts", "holds more text than we read"),
        ("a whole number that is octal", "is not written as pickles write it"),
        ("a number with a line under it", "is not written as pickles write it"),
        ("a type that is numpy's own and not a copy", "made in another way than numpy writes it"),
        ("a type whose numbers are addresses", "a numpy type has a state that numpy does not write"),
        ("objects that are no addresses", "a numpy type has a state that numpy does not write"),
        ("a type of several fields", "names the numpy type V8, which we do not know"),
        ("arguments that are changed after the call", "changes something after it was used"),
        ("a state that is changed after it was set", "changes something after it was used"),
        ("a state that is set after a call has used the object", "changes something after it was used"),
    ],
)
def test_refusals_say_what_is_wrong(what, said):
    with pytest.raises(ModelReadError, match=said):
        read(HOSTILE[what])


def test_a_pickle_of_something_else_says_what_it_holds():
    forest = RandomForestRegressor(n_estimators=2).fit(np.arange(6.0).reshape(3, 2), [1.0, 2.0, 3.0])
    with pytest.raises(
        UnsupportedModelError, match="the model is a RandomForestRegressor and not a linear model that we read"
    ):
        read(pickle.dumps(forest))


class Endless:
    """Stands for what is shared so often that writing it out, or hashing it, would never end."""

    def __repr__(self):
        raise AssertionError("written out")

    def __hash__(self):
        raise AssertionError("hashed")


def objects_in(root):
    pending, seen = [root], set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, ArchivedObject):
            yield value
        parts = value.attributes if isinstance(value, ArchivedObject) else value
        if isinstance(parts, (list, tuple, dict, Mapping)):
            pending.extend(parts.values() if isinstance(parts, Mapping) else parts)


@pytest.mark.thorough
def test_no_attribute_of_a_model_is_ever_written_out_in_full():
    """Whichever attribute is endless, in whichever object of a model."""
    tried = 0
    for model, _, _ in fitted().values():
        tree = read_pickle_bytes(pickle.dumps(model))
        for part in objects_in(tree.root):
            for name, genuine in list(part.attributes.items()):
                for endless in ((Endless(),), [(Endless(),)], {"a": (Endless(),)}):
                    part.attributes[name] = endless
                    with contextlib.suppress(ModelReadError):
                        fold_stored(tree)
                    tried += 1
                part.attributes[name] = genuine
        fold_stored(tree)
    assert tried > 5000


@pytest.mark.thorough
def test_every_prefix_and_many_changes_are_read_or_refused():
    """Nothing but an error of ours, wherever a file is cut or a byte is changed."""
    model = make_pipeline(StandardScaler(), Ridge()).fit(np.arange(6.0).reshape(3, 2), [1.0, 2.0, 3.0])
    numbers = random.Random(5)
    refused = 0
    for protocol in (0, 2, 5):
        data = pickle.dumps(model, protocol)
        changed = [data[:end] for end in range(0, len(data), 3)]
        for _ in range(1500):
            forged = bytearray(data)
            for _ in range(numbers.choice((1, 1, 2, 5))):
                forged[numbers.randrange(len(forged))] = numbers.randrange(256)
            changed.append(bytes(forged))
        refused += sum(map(is_refused, changed))
    assert refused > 2000
