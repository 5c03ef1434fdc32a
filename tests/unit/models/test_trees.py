"""Decision trees, read as data: what scikit-learn predicts, at and next to thresholds too."""

from __future__ import annotations

import io
import json
import pickle
import sys
import zipfile
from pathlib import Path

import cloudpickle
import mlflow
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from coordpath_governance.errors import ModelReadError, ReferenceDataError, UnsupportedModelError
from coordpath_governance.models import fold_stored, read_model
from coordpath_governance.models.archive import read_archive_bytes
from coordpath_governance.models.decision_tree import leaf_of_rows, rows_as_compared, single_leaf
from coordpath_governance.models.pickle_objects import read_pickle_bytes
from coordpath_governance.models.readers import read_version
from coordpath_governance.models.sklearn_reader import tree_from_estimator
from coordpath_governance.models.sklearn_trees import is_tree, read_tree

FOLDER = Path(__file__).parents[2] / "golden" / "trees"
ZIPS = sorted(FOLDER.glob("*.zip"))

sys.path.insert(0, str(FOLDER))
from write_trees import NUMBERS, fitted, models, training_data  # noqa: E402 - the same models as in the older versions


def predict(tree, frame):
    """What the tree says of each row of a frame, by its own columns."""
    rows = rows_as_compared(
        [frame[name].to_numpy(float) for name in tree.names], tree.names, takes_missing=tree.takes_missing
    )
    return tree.value[leaf_of_rows(tree, rows, len(frame))]


def expected(model, frame):
    return model.predict_proba(frame) if hasattr(model, "predict_proba") else model.predict(frame)[:, None]


def next_to_thresholds(tree, frame):
    """Rows in which every column in turn is a threshold of its own, and the doubles and singles next to it."""
    base, rows = frame[list(tree.names)].dropna().iloc[:3], []
    for node in np.flatnonzero(tree.feature >= 0):
        name, at = tree.names[tree.feature[node]], tree.threshold[node]
        single = np.float32(at)
        values = [at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf), single]
        values += [np.nextafter(single, np.float32(-np.inf)), np.nextafter(single, np.float32(np.inf))]
        values += [(float(single) + float(np.nextafter(single, np.float32(np.inf)))) / 2]
        rows += [{**row, name: float(value)} for value in values for row in base.to_dict("records")]
    return pd.DataFrame(rows, columns=list(tree.names)) if rows else base


@pytest.mark.parametrize("form", ["skops", "cloudpickle", *range(6)])
@pytest.mark.parametrize("name", list(models()))
def test_predicts_what_scikit_learn_predicts(name, form, dumps):
    model, columns, target = models()[name]
    frame = training_data()
    model.fit(frame[columns], frame[target])
    if form == "skops":
        stored = read_archive_bytes(dumps(model))
    else:
        stored = read_pickle_bytes(cloudpickle.dumps(model) if form == "cloudpickle" else pickle.dumps(model, form))
    assert is_tree(stored.root)
    tree = read_tree(stored)
    assert tree.names == tuple(columns)
    assert set(tree.columns) <= set(columns)
    assert tree.estimator in ("DecisionTreeRegressor", "DecisionTreeClassifier")
    for rows in (frame[columns], next_to_thresholds(tree, frame)):
        np.testing.assert_array_equal(predict(tree, rows), expected(model, rows))
    if tree.classes:
        assert [str(label) for label in model.classes_] == list(tree.classes)


def test_missing_values_go_where_the_nodes_say_or_are_refused():
    """Refused where it depends on the version: with absolute errors scikit-learn takes them in some versions only."""
    frame = training_data()
    columns = ["age", "gaps"]
    holes = frame[columns].copy()
    holes.loc[:20, "age"] = np.nan
    for fitted_on in (frame[columns], frame[columns].dropna()):
        model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(fitted_on, frame.price[fitted_on.index])
        tree = read_tree(read_pickle_bytes(pickle.dumps(model)))
        assert tree.takes_missing
        np.testing.assert_array_equal(predict(tree, holes), expected(model, holes))
    kept = frame[columns].dropna()
    model = DecisionTreeRegressor(criterion="absolute_error", max_depth=3).fit(kept, frame.price[kept.index])
    tree = read_tree(read_pickle_bytes(pickle.dumps(model)))
    with pytest.raises(ReferenceDataError, match=r"column 'age': 21 rows have no value, and the tree takes none"):
        predict(tree, holes)


def test_numbers_too_large_for_single_precision_are_refused_as_scikit_learn_does():
    frame = training_data()[NUMBERS]
    model = DecisionTreeRegressor(max_depth=2).fit(frame, frame.km)
    tree = read_tree(read_pickle_bytes(pickle.dumps(model)))
    frame.loc[3, "km"] = 1e39
    with pytest.raises(ValueError, match="too large for dtype"):
        model.predict(frame)
    with pytest.raises(ReferenceDataError, match=r"column 'km': 1 rows hold infinity or a number too large"):
        predict(tree, frame)


@pytest.mark.parametrize("path", ZIPS, ids=lambda path: path.stem)
def test_older_versions(path):
    """Every stored form of them gives what that version predicted; its classifiers before 1.4 stored counts."""
    with zipfile.ZipFile(path) as archive:
        described = json.loads(archive.read("models.json"))
        files = [name for name in archive.namelist() if name != "models.json"]
        assert len(files) > 20
        for file in files:
            name, read = file.partition(".")[0], read_archive_bytes if file.endswith("skops") else read_pickle_bytes
            stored = read(archive.read(file))
            if path.stem == "sklearn-1.3" and "classes" in name:
                with pytest.raises(UnsupportedModelError, match=r"stores counts and no probabilities.*1\.4 or later"):
                    read_tree(stored)
                continue
            tree = read_tree(stored)
            frame = pd.DataFrame(described[name]["rows"], dtype=float)
            np.testing.assert_allclose(predict(tree, frame), described[name]["predictions"], rtol=0, atol=0)


def test_the_zips_hold_the_models_that_are_tested_now():
    assert len(ZIPS) == 2
    with zipfile.ZipFile(ZIPS[0]) as archive:
        assert list(json.loads(archive.read("models.json"))) == list(fitted())


def test_columns_without_names():
    frame = training_data()
    model = DecisionTreeRegressor(max_depth=2).fit(frame[NUMBERS].to_numpy(), frame.price)
    stored = read_pickle_bytes(pickle.dumps(model))
    assert read_tree(stored).names == ("x0", "x1", "x2")
    assert read_tree(stored, NUMBERS).names == tuple(NUMBERS)
    assert read_tree(stored, ["age", "age", "km"]).names == ("x0", "x1", "x2")


def test_the_tree_before_its_first_split():
    frame = training_data()
    model = DecisionTreeRegressor(max_depth=2).fit(frame[NUMBERS], frame.price)
    leaf = single_leaf(read_tree(read_pickle_bytes(pickle.dumps(model))))
    assert (leaf.count, leaf.leaves, leaf.columns) == (1, 1, ())
    np.testing.assert_allclose(predict(leaf, frame), frame.price.mean())


def test_a_tree_in_memory():
    frame = training_data()
    model, columns, target = models()["pipeline"]
    model.fit(frame[columns], frame[target])
    live, stored = tree_from_estimator(model), read_tree(read_pickle_bytes(pickle.dumps(model)))
    for part in ("feature", "threshold", "left", "right", "missing_left", "value"):
        np.testing.assert_array_equal(getattr(live, part), getattr(stored, part))
    assert (live.names, live.library, live.source) == (stored.names, stored.library, "a fitted estimator in memory")
    assert tree_from_estimator(LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0])) is None


def test_nobody_can_change_a_tree():
    tree = read_tree(read_pickle_bytes(pickle.dumps(DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0]))))
    with pytest.raises(ValueError, match="read-only"):
        tree.threshold[0] = 3


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (make_pipeline(StandardScaler(), DecisionTreeRegressor()), r"step 'standardscaler' is a StandardScaler in front of"),
        (RandomForestRegressor(2), "a RandomForestRegressor and not a linear model"),
        (ExtraTreeRegressor(), "a ExtraTreeRegressor and not a linear model"),
    ],
)
def test_others_are_refused_by_name(model, reason, tmp_path):
    model.fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0])
    mlflow.sklearn.save_model(model, tmp_path / "m", serialization_format="pickle", pip_requirements=[])
    with pytest.raises(UnsupportedModelError, match=reason):
        read_version(tmp_path / "m")


def test_several_targets_and_no_fit_are_refused():
    two = DecisionTreeRegressor().fit([[1.0], [2.0]], [[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(UnsupportedModelError, match="several targets at once; log one tree per target"):
        read_tree(read_pickle_bytes(pickle.dumps(two)))
    with pytest.raises(UnsupportedModelError, match="was not fitted"):
        read_tree(read_pickle_bytes(pickle.dumps(DecisionTreeRegressor())))


def test_a_split_on_being_missing_alone_is_refused():
    column = np.array([1.0, 2.0, 1.5, np.nan, np.nan, np.nan])[:, None]
    model = DecisionTreeRegressor(max_depth=1).fit(column, [0, 0, 0, 5, 5, 5])
    assert np.isinf(model.tree_.threshold[0])
    with pytest.raises(UnsupportedModelError, match="only asks whether a value is missing"):
        read_tree(read_pickle_bytes(pickle.dumps(model)))


@pytest.mark.parametrize("form", ["skops", "pickle", "cloudpickle"])
def test_a_logged_tree(form, tmp_path):
    """It is read with its target, and whoever needs a linear model is told what it is."""
    frame = training_data()
    model = DecisionTreeClassifier(max_depth=2).fit(frame[NUMBERS], frame.good)
    signature = mlflow.models.infer_signature(frame[NUMBERS], pd.DataFrame({"good": ["yes"]}))
    trusted = ["sklearn.tree._tree.Tree"] if form == "skops" else None
    mlflow.sklearn.save_model(
        model, tmp_path, serialization_format=form, signature=signature, pip_requirements=[], skops_trusted_types=trusted
    )
    tree = read_version(tmp_path)
    assert (tree.target, tree.classes, tree.leaves) == ("good", ("no", "yes"), 4)
    assert tree.library.startswith("scikit-learn ")
    assert tree.settings["max_depth"] == 2
    np.testing.assert_array_equal(predict(tree, frame), expected(model, frame[NUMBERS]))
    with pytest.raises(
        UnsupportedModelError, match="is a DecisionTreeClassifier with 4 leaves, which is read, but a linear"
    ):
        read_model(tmp_path)


def test_a_linear_model_that_hides_a_tree_is_still_refused(dumps):
    """The names of trees are known in trees alone."""
    model = LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0])
    model.extra_ = DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0])
    for stored in (read_archive_bytes(dumps(model)), read_pickle_bytes(pickle.dumps(model))):
        with pytest.raises(ModelReadError):
            fold_stored(stored)
    model.random_state = model.__dict__.pop("extra_")
    for stored in (read_archive_bytes(dumps(model)), read_pickle_bytes(pickle.dumps(model))):
        with pytest.raises(UnsupportedModelError, match=r"sklearn\.tree\._classes\.DecisionTreeRegressor"):
            fold_stored(stored)


def test_archives_are_read_again_from_their_bytes(dumps):
    """An archive holds nothing but the members that skops has written."""
    data = dumps(DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0]))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert sum(name.endswith(".npy") for name in archive.namelist()) == 3
    assert read_tree(read_archive_bytes(data)).leaves == 2
