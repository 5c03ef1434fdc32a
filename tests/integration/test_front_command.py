"""`coordpath front` on a real SQLite registry: what is fitted to what, what is scored on what, and how it refuses."""

import json
import uuid

import mlflow
import numpy as np
import pandas as pd
import pytest
from helpers.office import Office
from sklearn.linear_model import LinearRegression, LogisticRegression

import coordpath_governance as cg

TARGET = "price"
COLUMNS = ["area", "age", "rooms", "floor"]


def houses(seed, count):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(count, 4)) @ (np.eye(4) + 0.4), columns=COLUMNS)
    frame[TARGET] = 2.0 * frame.area - 1.0 * frame.age + 0.3 * frame.rooms + rng.normal(0, 1, count)
    return frame


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("front data")
    for name, seed in (("fit", 1), ("reference", 2)):
        houses(seed, 400).to_csv(folder / f"{name}.csv", index=False)
    return folder


def register(store, first, second, *, logs=None):
    name = f"front {uuid.uuid4().hex[:8]}"
    versions = []
    for model in (first, second):
        with mlflow.start_run(experiment_id=store.experiment):
            logged = mlflow.sklearn.log_model(model, name="model", pip_requirements=[])
            if logs is not None:
                cg.log_reference(logs[COLUMNS], logs[TARGET])
        versions.append(mlflow.register_model(f"models:/{logged.model_id}", name).version)
    store.client.set_registered_model_alias(name, "champion", str(versions[0]))
    return name


@pytest.fixture
def linear(store):
    """The champion knows less of the data than the candidate."""
    old, new = houses(3, 40), houses(1, 400)
    first = LinearRegression().fit(old[COLUMNS] * [1, 1, 0, 0], old[TARGET])
    return register(store, first, LinearRegression().fit(new[COLUMNS], new[TARGET]), logs=new)


def sides(data, fit="fit", reference="reference"):
    return ("--fit-data", data / f"{fit}.csv", "--data", data / f"{reference}.csv", "--target", TARGET)


def test_the_table_and_the_document(linear, coordpath, data, tmp_path):
    asked = ("front", linear, *sides(data), "--max-steps", 3, "--steps-chosen", "1:0.2,2:0.5,3:0.3")
    shown = coordpath(*asked, "--out", tmp_path / "front")
    assert shown.code == 0, shown.err
    assert "share of gain" in shown.out
    assert "recalibration: slope" not in shown.out
    print(shown.out)
    assert shown.out.count("recalibration:") == 2
    printed = coordpath(*asked, "--json")
    document = json.loads(printed.out)
    assert (tmp_path / "front" / "front.json").read_text(encoding="utf-8") == printed.out
    assert document["schema"] == "coordpath.front/1"
    assert [row["steps"] for row in document["updates"]] == [0, 1, 2, 3]
    assert {row["status"] for row in document["updates"]} == {"optimal"}
    costs = [row["fit_cost"] for row in document["updates"]]
    assert costs == sorted(costs, reverse=True)
    assert document["updates"][0]["difference"] == 0.0
    assert document["candidate"]["share"] == pytest.approx(1.0)
    assert document["whole"]["status"] == "optimal"
    assert document["chosen"]["numbers"] <= 3
    assert document["chosen"]["lasso_numbers"] == 6
    for name, costs in (("fit_expected", "fit_cost"), ("reference_expected", "reference_cost")):
        expected = sum(step["probability"] * step[costs] for step in document["chosen"]["steps"])
        assert document["chosen"][name] == pytest.approx(expected)
    for page in ("front.html", "front.md"):
        assert linear in (tmp_path / "front" / page).read_text(encoding="utf-8")


def test_what_is_scored_is_the_champion_with_the_changes(linear, coordpath, data, store):
    """Each update, computed anew from raw coefficients on the reference rows."""
    document = json.loads(coordpath("front", linear, *sides(data), "--max-steps", 4, "--json").out)
    champion = mlflow.sklearn.load_model(f"models:/{linear}@champion")
    fit, reference = (pd.read_csv(data / f"{side}.csv") for side in ("fit", "reference"))
    first = (reference[TARGET] - champion.predict(reference[COLUMNS])) ** 2
    gains = (reference[TARGET] - mlflow.sklearn.load_model(f"models:/{linear}/2").predict(reference[COLUMNS])) ** 2 - first
    for row in [*document["updates"], *document["recalibrations"]]:
        score = champion.predict(reference[COLUMNS])
        for change in row["changes"]:
            moved = change["to"] - change["from"]
            name = change["feature"]
            score = score + moved * (1.0 if name == "(baseline)" else reference[name] - fit[name].mean())
        loss = (reference[TARGET] - score) ** 2
        apart = loss - first
        assert row["reference_cost"] == pytest.approx(loss.mean())
        assert row["difference"] == pytest.approx(apart.mean(), abs=1e-9)
        assert row["difference_se"] == pytest.approx(apart.std(ddof=1) / np.sqrt(len(apart)), abs=1e-9)
        share = apart.mean() / gains.mean()
        rest = apart - share * gains
        assert row["share"] == pytest.approx(share, abs=1e-9)
        assert row["share_se"] == pytest.approx(rest.std(ddof=1) / np.sqrt(len(rest)) / abs(gains.mean()), abs=1e-9)


def test_the_same_rows_are_in_sample(linear, coordpath, data, tmp_path):
    pd.read_csv(data / "fit.csv").to_parquet(tmp_path / "same.parquet")
    for reference in (data / "fit.csv", tmp_path / "same.parquet"):
        asked = ("front", linear, "--fit-data", data / "fit.csv", "--data", reference, "--target", TARGET, "--max-steps", 2)
        document = json.loads(coordpath(*asked, "--json").out)
        assert document["in_sample"] is True
        assert document["candidate"]["share"] is None
        assert "In-sample" in coordpath(*asked).out


def test_logged_moments_are_what_is_fitted_to(linear, coordpath, data):
    rows = json.loads(coordpath("front", linear, *sides(data), "--max-steps", 2, "--json").out)
    asked = ("front", linear, "--data", data / "reference.csv", "--target", TARGET, "--max-steps", 2, "--json")
    logged = json.loads(coordpath(*asked).out)
    assert logged["fit"]["kind"] == "moments"
    for mine, other in zip(logged["updates"], rows["updates"], strict=True):
        assert mine["moved"] == other["moved"]
        assert mine["reference_cost"] == pytest.approx(other["reference_cost"])
    alone = json.loads(coordpath("front", linear, "--max-steps", 2, "--json").out)
    assert alone["in_sample"] is True
    assert alone["candidate"]["difference_se"] is None


def test_a_classifier(store, coordpath, data, tmp_path):
    def rows(seed, count):
        frame = houses(seed, count)
        frame[TARGET] = np.where(frame[TARGET] > 0, "dear", "cheap")
        return frame

    old, new = rows(3, 60), rows(1, 400)
    models = [LogisticRegression().fit(frame[COLUMNS], frame[TARGET]) for frame in (old, new)]
    name = register(store, *models)
    rows(4, 300).to_csv(tmp_path / "fit.csv", index=False)
    rows(5, 300).to_csv(tmp_path / "reference.csv", index=False)
    document = json.loads(coordpath("front", name, *sides(tmp_path), "--max-steps", 3, "--json").out)
    assert document["loss"] == "log loss"
    assert document["whole"] is None
    assert {row["status"] for row in document["updates"]} == {"optimal"}
    refused = coordpath("front", name, "--data", tmp_path / "reference.csv", "--target", TARGET)
    assert refused.code == 2
    assert "--fit-data" in refused.err


def test_under_a_policy_the_pinned_rows_are_the_reference(store, coordpath, tmp_path):
    office = Office(store, coordpath, tmp_path)
    store.register(office.name, store.first, store.second)
    office.adopt_policy()
    fit = tmp_path / "fit.csv"
    store.rows.frame.assign(price=lambda rows: rows.price + 1.0)[:150].to_csv(fit, index=False)
    asked = ("front", office.name, "--champion", "1", "--fit-data", fit, "--max-steps", 2)
    told = office.run(*asked, "--json", "--target", "area")
    document = json.loads(told.out)
    assert document["reference"]["sha256"] == office.pinned["sha256"]
    assert (document["reference"]["target"], document["reference"]["role"]) == ("price", "holdout")
    assert "not as given: --target" in told.err
    refused = office.run(*asked, "--data", fit)
    assert refused.code == 2
    assert "is not the reference data that policy 'prices' pins" in refused.err
    from_zero = office.run(*asked[:2], "--champion", "none", "--fit-data", fit, "--max-steps", 1)
    assert from_zero.code == 0, from_zero.err
    assert "zero → v2" in from_zero.out


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ("1:0.5,2:0.4", "add up to 0.9"),
        ("1:1.5,2:-0.5", "is not between 0 and 1"),
        ("0:1", "is no number of steps"),
        ("1;0.5", "is not STEPS:PROBABILITY"),
        ("1:0.5,1:0.5", "is there twice"),
    ],
)
def test_probabilities_that_are_none(linear, coordpath, data, chosen, words):
    refused = coordpath("front", linear, *sides(data), "--steps-chosen", chosen)
    assert refused.code == 2
    assert words in refused.err


def test_the_same_input_gives_the_same_bytes(linear, coordpath, data, tmp_path):
    for folder in ("one", "other"):
        assert coordpath("front", linear, *sides(data), "--max-steps", 2, "--out", tmp_path / folder).code == 0
    for name in ("front.json", "front.html", "front.md"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_decision_trees_have_no_front(data):
    from sklearn.tree import DecisionTreeRegressor

    rows = houses(3, 60)
    old, new = (DecisionTreeRegressor(max_depth=depth, random_state=0).fit(rows[COLUMNS], rows[TARGET]) for depth in (1, 2))
    with pytest.raises(cg.CoordpathError, match=r"`coordpath report` explains a change of trees"):
        cg.front(old, new, fit_data=rows, data=houses(4, 60), target=TARGET)
