"""An update of a stored model, written as a model file: MLflow serves exactly what was promised, and we read it back."""

from __future__ import annotations

import io
import json
import logging
import pickle
import shutil
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import skops.io
import yaml
from helpers.corpus import COLUMNS, ESTIMATORS, FROZEN, PREPARED, corpus_data, fit_pair, original, predicted, probe_rows
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from coordpath_governance.errors import ModelReadError, UnsupportedModelError, UpdateError, UsageError
from coordpath_governance.models import NumericTerm, from_estimator, manifest_lines, read_model
from coordpath_governance.models.model_numbers import numbers_of
from coordpath_governance.models.raw_numbers import difference
from coordpath_governance.models.update_files import identify, write_update

mlflow = pytest.importorskip("mlflow")

DATA, ROWS = corpus_data(), probe_rows()
USUAL = "scaled, with dummies"
TIED = {
    "ordinal codes": "an unknown level in 'g'",
    "ordinal codes, scaled": "'x' in 'g'",
    "target codes": "'x' in 'g'",
    "principal components": "'a'",
    "whitened components of all": "'a'",
    "singular vectors of dummies": "'a'",
    "best by a test": "'a'",
    "a share by a test": "'a'",
    "eliminated": "'a'",
    "one after the other": "'a'",
    "imputed levels, with indicators": "'x' in 'g'",
    "infrequent levels": "'x' in 'g'",
}
"""Preprocessing that drops the number which `changed` changes, or ties it to others, and the number that the error names."""
DROPPED = ("interactions with dummies", "variance threshold", "from a model")
"""Preprocessing that drops the level which `changed` changes: the same function is written with other numbers."""
PAIRS = [
    *((estimator, USUAL) for estimator in ESTIMATORS),
    *(("Ridge", each) for each in (*PREPARED, FROZEN) if each != USUAL),
]


@pytest.fixture(scope="module", autouse=True)
def _quiet():
    logger = logging.getLogger("mlflow.sklearn")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(before)


def saved(model, folder, form, **options):
    if form == "skops":
        options["skops_trusted_types"] = skops.io.get_untrusted_types(data=skops.io.dumps(model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow.sklearn.save_model(model, folder, serialization_format=form, pip_requirements=["mlflow"], **options)
    return folder


def changed(model):
    """Another intercept, and another first coefficient, first level effect and first function."""
    if model.class_scores:
        first, second, *others = model.class_scores
        return replace(model, class_scores=(first, changed(second), *others))
    numeric, categorical, functions = list(model.numeric), list(model.categorical), list(model.functions)
    if numeric and numeric[0].missing is None:
        numeric[0] = replace(numeric[0], coefficient=1.25 * numeric[0].coefficient + 0.01)
    if categorical:
        first, *others = categorical[0].effects
        categorical[0] = replace(categorical[0], effects=(first + 0.125, *others))
    if functions:
        pieces = tuple(replace(piece, weight=1.5 * piece.weight) for piece in functions[0].pieces)
        functions[0] = replace(functions[0], pieces=pieces)
    parts = {"numeric": tuple(numeric), "categorical": tuple(categorical), "functions": tuple(functions)}
    return replace(model, intercept=model.intercept + 0.3, **parts)


def agree(folder, promised, rows=ROWS):
    """MLflow serves the promised predictions to 1e-12, and raises for the same rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        served = original(mlflow.sklearn.load_model(str(folder)), rows)
    own = predicted(promised, rows)
    raises = np.isnan(served).any(axis=1)
    assert raises.tolist() == np.isnan(own).any(axis=1).tolist()
    scale = 1.0 + np.abs(own[~raises])
    assert (np.abs(served[~raises] - own[~raises]) / scale).max() < 1e-12


def forms(number):
    return ("skops", "pickle") if number % 4 == 0 else ("skops",) if number % 2 else ("cloudpickle",)


CASES = [(*pair, form) for number, pair in enumerate(PAIRS) for form in forms(number) if pair[1] not in TIED]


@pytest.mark.parametrize(("estimator", "prepared", "form"), CASES)
def test_what_is_written_is_served_as_it_was_promised(estimator, prepared, form, tmp_path):
    champion = saved(fit_pair(estimator, prepared, DATA), tmp_path / "champion", form)
    before = read_model(champion)
    promised = changed(before)
    written = write_update(champion, promised, tmp_path / "update")
    assert written == replace(read_model(tmp_path / "update"), provenance=written.provenance)
    for new, old in zip(written.class_scores or (written,), before.class_scores or (before,), strict=True):
        assert difference(numbers_of(new), numbers_of(old)) or new == old
    if prepared not in DROPPED:
        for new, own in zip(promised.class_scores or (promised,), written.class_scores or (written,), strict=True):
            apart = difference(numbers_of(new), numbers_of(own))
            assert all(abs(gap) <= 1e-12 * (1.0 + abs(numbers_of(new).at(place))) for place, gap in apart.items())
    assert (written.family, written.threshold, written.estimator) == (before.family, before.threshold, before.estimator)
    agree(tmp_path / "update", promised)


@pytest.mark.parametrize("prepared", TIED)
def test_a_number_that_cannot_be_changed_alone_is_refused_by_name(prepared, tmp_path):
    champion = saved(fit_pair("Ridge", prepared, DATA), tmp_path / "champion", "pickle")
    with pytest.raises(UpdateError, match=r"cannot be changed alone.*cg\.to_coefficients") as refused:
        write_update(champion, changed(read_model(champion)), tmp_path / "update")
    assert TIED[prepared] in str(refused.value)
    assert not (tmp_path / "update").exists()


@pytest.mark.parametrize("prepared", ["principal components", "infrequent levels", "imputed levels, with indicators"])
def test_tied_numbers_are_written_if_they_move_together(prepared, tmp_path):
    model = fit_pair("Ridge", prepared, DATA)
    champion = saved(model, tmp_path / "champion", "skops")
    model[-1].coef_ = model[-1].coef_ * np.linspace(0.5, 2.0, model[-1].coef_.size)
    promised = from_estimator(model)
    write_update(champion, promised, tmp_path / "update")
    agree(tmp_path / "update", promised)
    np.testing.assert_allclose(original(mlflow.sklearn.load_model(str(tmp_path / "update")), ROWS), original(model, ROWS))


def scaled(**encoder):
    part = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(**encoder), ["g"]))
    return make_pipeline(part, Ridge()).fit(DATA[COLUMNS], DATA["amount"])


def effects_moved(model, by):
    (term,) = model.categorical
    return replace(model, categorical=(replace(term, effects=tuple(map(sum, zip(term.effects, by, strict=True)))),))


def test_only_the_coefficients_that_have_to_change_do(tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "skops")
    before = read_model(champion)
    one = replace(before, numeric=(before.numeric[0], replace(before.numeric[1], coefficient=7.0)))
    written = write_update(champion, one, tmp_path / "update")
    assert written.numeric[1].coefficient == pytest.approx(7.0, rel=1e-15)
    assert (written.numeric[0], written.categorical) == (before.numeric[0], before.categorical)
    assert written.intercept == pytest.approx(before.intercept, rel=1e-14)


def test_a_dropped_level_moves_the_others_and_the_intercept(tmp_path):
    """The centred effects of a group move; the level that the encoder drops has no coefficient of its own."""
    champion = saved(scaled(drop="first"), tmp_path / "champion", "skops")
    before = read_model(champion)
    promised = effects_moved(before, (0.5, -0.25, 0.125))
    written = write_update(champion, promised, tmp_path / "update")
    assert written.categorical[0].effects[0] == before.categorical[0].effects[0] == 0.0
    assert written.intercept == pytest.approx(before.intercept + 0.5)
    agree(tmp_path / "update", promised, ROWS[ROWS["g"] != "never seen"])


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def test_an_archive_keeps_its_members_and_only_the_coefficients_change(tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "skops")
    update = tmp_path / "update"
    write_update(champion, changed(read_model(champion)), update)
    before, after = members(champion / "model.skops"), members(update / "model.skops")
    assert list(before) == list(after)
    assert len([name for name in before if name != "schema.json" and before[name] != after[name]]) == 1
    assert {name: len(content) for name, content in before.items() if name != "schema.json"} == {
        name: len(content) for name, content in after.items() if name != "schema.json"
    }
    with zipfile.ZipFile(update / "model.skops") as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("form", ["skops", "pickle"])
def test_the_same_input_gives_the_same_bytes(form, tmp_path):
    champion = saved(scaled(), tmp_path / "champion", form)
    promised = changed(read_model(champion))
    for name in ("one", "two"):
        write_update(champion, promised, tmp_path / name)
    assert manifest_lines(tmp_path / "one") == manifest_lines(tmp_path / "two")
    assert manifest_lines(tmp_path / "one") != manifest_lines(champion)


@pytest.mark.parametrize("form", ["skops", "pickle"])
def test_the_folder_keeps_signature_and_environment(form, tmp_path):
    signature = mlflow.models.infer_signature(DATA[COLUMNS], DATA["amount"])
    champion = saved(scaled(), tmp_path / "champion", form, signature=signature, input_example=DATA[COLUMNS][:3])
    (champion / "registered_model_meta").write_text("model_name: x\n")
    (champion / "coordpath").mkdir()
    (champion / "coordpath" / "report.json").write_text("{}")
    update = tmp_path / "update"
    write_update(champion, changed(read_model(champion)), update)
    before, after = (yaml.safe_load((folder / "MLmodel").read_text()) for folder in (champion, update))
    apart = {key for key in before | after if before.get(key) != after.get(key)}
    assert apart <= {"model_uuid", "model_size_bytes", "flavors", "artifact_path", "run_id"}
    assert ("flavors" in apart) == (form == "pickle")
    assert after["model_uuid"] != before["model_uuid"]
    assert after["model_size_bytes"] - before["model_size_bytes"] == (
        (update / "model.skops").stat().st_size - (champion / before["flavors"]["sklearn"]["pickled_model"]).stat().st_size
    )
    names = {path.name for path in update.iterdir()}
    assert {"input_example.json", "conda.yaml", "python_env.yaml", "requirements.txt"} <= names
    assert not names & {"registered_model_meta", "coordpath", "model.pkl"}
    requirements = (update / "requirements.txt").read_text().split()
    assert requirements == (["mlflow"] if form == "skops" else ["mlflow", "skops"])
    pip = yaml.safe_load((update / "conda.yaml").read_text())["dependencies"][-1]["pip"]
    assert ("skops" in pip) == (form == "pickle")
    assert mlflow.pyfunc.load_model(str(update)).predict(DATA[COLUMNS]).shape == (len(DATA),)


def test_an_update_says_which_logged_model_it_is(tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "skops")
    update = tmp_path / "update"
    write_update(champion, changed(read_model(champion)), update)
    identify(update, "m-1", "file:///store/m-1", "2026-01-02 03:04:05")
    settings = yaml.safe_load((update / "MLmodel").read_text())
    assert (settings["model_id"], settings["artifact_path"]) == ("m-1", "file:///store/m-1")
    assert settings["utc_time_created"] == "2026-01-02 03:04:05"
    read_model(update)


def test_coefficients_of_single_precision_become_double(tmp_path):
    model = scaled()
    model[-1].coef_ = model[-1].coef_.astype(np.float32)
    model[-1].intercept_ = np.float32(model[-1].intercept_)
    champion = saved(model, tmp_path / "champion", "skops")
    promised = changed(read_model(champion))
    written = write_update(champion, promised, tmp_path / "update")
    assert written.numeric[0].coefficient == pytest.approx(promised.numeric[0].coefficient, rel=1e-15)
    agree(tmp_path / "update", promised)


@pytest.mark.parametrize("form", ["skops", "pickle"])
def test_a_classifier_that_stored_a_single_zero_gets_an_intercept(form, tmp_path):
    plain = LogisticRegression(solver="liblinear", fit_intercept=False)
    model = make_pipeline(PREPARED[USUAL](), plain).fit(DATA[COLUMNS], DATA["label"])
    assert model[-1].intercept_ == 0.0
    champion = saved(model, tmp_path / "champion", form)
    promised = changed(read_model(champion))
    write_update(champion, promised, tmp_path / "update")
    agree(tmp_path / "update", promised)


def test_an_update_that_changes_nothing_is_the_same_model(tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "pickle")
    before = read_model(champion)
    written = write_update(champion, before, tmp_path / "update")
    assert (written.numeric, written.categorical, written.intercept) == (
        before.numeric,
        before.categorical,
        before.intercept,
    )


@pytest.mark.parametrize(
    ("other", "named"),
    [({"family": "poisson"}, "family"), ({"threshold": 0.4}, "threshold"), ({"classes": ("a", "b")}, "classes")],
)
def test_only_numbers_may_differ(other, named, tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "skops")
    with pytest.raises(UpdateError, match=f"another {named} than the champion"):
        write_update(champion, replace(read_model(champion), **other), tmp_path / "update")


def test_another_number_of_scores_is_refused(tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "skops")
    before = read_model(champion)
    with pytest.raises(UpdateError, match="another number of scores"):
        write_update(champion, replace(before, class_scores=(before, before)), tmp_path / "update")


def test_what_a_model_raises_on_cannot_be_changed(tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "skops")
    before = read_model(champion)
    (term,) = before.categorical
    with pytest.raises(UpdateError, match="an unknown level in 'g': only one of the update and the champion raises"):
        write_update(champion, replace(before, categorical=(replace(term, unknown=0.0),)), tmp_path / "update")


def test_a_column_or_a_level_that_the_champion_lacks_is_refused(tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "skops")
    before = read_model(champion)
    wider = replace(before, numeric=(*before.numeric, NumericTerm("z", 1.0)))
    with pytest.raises(UpdateError, match=r"'z'"):
        write_update(champion, wider, tmp_path / "update")
    model = scaled(handle_unknown="ignore")
    ignoring = saved(model, tmp_path / "ignoring", "skops")
    before = read_model(ignoring)
    (term,) = before.categorical
    more = replace(term, levels=(*term.levels, "new"), effects=(*term.effects, 2.0))
    with pytest.raises(UpdateError, match="the effect of 'new' in 'g' cannot be changed alone"):
        write_update(ignoring, replace(before, categorical=(more,)), tmp_path / "update")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e308])
def test_numbers_that_are_not_finite_are_refused(value, tmp_path):
    """1e308 is finite, and its product with the scale of the column is not."""
    model = make_pipeline(StandardScaler(), Ridge()).fit(DATA[["a"]] * 1e3, DATA["amount"])
    champion = saved(model, tmp_path / "champion", "skops")
    before = read_model(champion)
    wrong = replace(before, numeric=(replace(before.numeric[0], coefficient=value),))
    with pytest.raises(ModelReadError, match="finite"):
        write_update(champion, wrong, tmp_path / "update")
    assert not (tmp_path / "update").exists()


def test_another_file_of_the_new_name_is_not_written_over(tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "pickle")
    (champion / "model.skops").write_bytes(b"something else")
    with pytest.raises(UpdateError, match=r"another file model\.skops"):
        write_update(champion, changed(read_model(champion)), tmp_path / "update")


def test_an_mlmodel_without_a_size_stays_without(tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "skops")
    mlmodel = champion / "MLmodel"
    lines = mlmodel.read_text().splitlines(keepends=True)
    mlmodel.write_text("".join(line for line in lines if not line.startswith("model_size_bytes")))
    write_update(champion, changed(read_model(champion)), tmp_path / "update")
    assert "model_size_bytes" not in yaml.safe_load((tmp_path / "update" / "MLmodel").read_text())


def test_what_does_not_read_back_is_not_kept(tmp_path, monkeypatch):
    champion = saved(scaled(), tmp_path / "champion", "skops")
    monkeypatch.setattr("coordpath_governance.models.update_files.archive_with", lambda data, *_: data)
    with pytest.raises(UpdateError, match="does not read back as it was meant"):
        write_update(champion, changed(read_model(champion)), tmp_path / "update")
    assert not (tmp_path / "update").exists()


@pytest.mark.parametrize(
    "archive", sorted((Path(__file__).parents[2] / "golden" / "skops").glob("*.skops")), ids=lambda p: p.stem
)
def test_archives_of_earlier_versions_are_written(archive, tmp_path):
    """skops' own loader may fail on them, as on the originals: what is compared is what we read."""
    champion = tmp_path / "champion"
    champion.mkdir()
    shutil.copy(archive, champion / "model.skops")
    flavours = {
        "python_function": {"loader_module": "mlflow.sklearn", "model_path": "model.skops"},
        "sklearn": {"pickled_model": "model.skops", "serialization_format": "skops"},
    }
    (champion / "MLmodel").write_text(yaml.safe_dump({"flavors": flavours}))
    before = read_model(champion)
    score, *others = before.class_scores or (before,)
    score = replace(score, intercept=score.intercept + 1.5)
    promised = replace(before, class_scores=(score, *others)) if others else score
    written = write_update(champion, promised, tmp_path / "update")
    new, *kept = written.class_scores or (written,)
    assert new.intercept == pytest.approx(score.intercept, rel=1e-12)
    assert (new.numeric, new.categorical, new.functions) == (score.numeric, score.categorical, score.functions)
    assert [each.intercept for each in kept] == [each.intercept for each in others]


def test_nothing_is_written_over(tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "skops")
    with pytest.raises(UsageError, match="there is something already"):
        write_update(champion, read_model(champion), champion)


RAN: list[str] = []


class Bomb:
    def __reduce__(self):
        return (RAN.append, ("ran",))


def test_a_pickle_that_runs_code_is_refused_and_not_run(tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "pickle")
    promised = changed(read_model(champion))
    model = scaled()
    model[-1].note = Bomb()
    (champion / "model.pkl").write_bytes(pickle.dumps(model))
    with pytest.raises(ModelReadError):
        write_update(champion, promised, tmp_path / "update")
    assert RAN == []
    assert not (tmp_path / "update").exists()


@pytest.mark.parametrize("forged", ["member", "name", "header"])
def test_a_forged_archive_is_refused_as_reading_refuses_it(forged, tmp_path):
    champion = saved(scaled(), tmp_path / "champion", "skops")
    promised = changed(read_model(champion))
    path = champion / "model.skops"
    contents = members(path)
    if forged == "name":
        contents["schema.json"] = contents["schema.json"].replace(b'"Ridge"', b'"Rigde"')
    if forged == "header":
        path.write_bytes(b"#!" + path.read_bytes())
    else:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, content in contents.items():
                archive.writestr(name, content)
            if forged == "member":
                archive.writestr("schema.json", json.dumps({"protocol": 2}))
        path.write_bytes(buffer.getvalue())
    with pytest.raises(ModelReadError) as on_reading:
        read_model(champion)
    with pytest.raises(type(on_reading.value)) as on_writing:
        write_update(champion, promised, tmp_path / "update")
    assert str(on_writing.value) == str(on_reading.value)
    assert not (tmp_path / "update").exists()


def test_an_estimator_that_stands_in_two_places_is_changed_in_both(tmp_path):
    frame = DATA[["a", "b", "c"]]
    ridge = Ridge().fit(frame, DATA["amount"])
    model = make_pipeline(SelectFromModel(ridge, prefit=True, threshold=-np.inf), ridge)
    champion = saved(model, tmp_path / "champion", "skops")
    before = read_model(champion)
    promised = replace(before, intercept=before.intercept + 1.0)
    write_update(champion, promised, tmp_path / "update")
    served = mlflow.sklearn.load_model(str(tmp_path / "update"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(served.predict(frame), model.predict(frame) + 1.0)


def test_an_update_that_would_change_which_columns_are_selected_is_refused(tmp_path):
    """The estimator that predicts is the one that selects: with other coefficients it selects other columns."""
    frame = DATA[["a", "b", "c"]]
    ridge = Ridge().fit(frame, DATA["amount"])
    selecting = SelectFromModel(Ridge().fit(frame, DATA["amount"]), prefit=True, threshold=1e-3)
    model = make_pipeline(selecting, ridge)
    selecting.estimator = ridge
    champion = saved(model, tmp_path / "champion", "skops")
    before = read_model(champion)
    none = replace(before, numeric=(replace(before.numeric[0], coefficient=0.0), *before.numeric[1:]))
    with pytest.raises(ModelReadError):
        write_update(champion, none, tmp_path / "update")
    assert not (tmp_path / "update").exists()


@pytest.mark.parametrize("library", ["statsmodels", "glum", "spark"])
def test_other_libraries_are_refused_with_the_way_out(library, tmp_path, request):
    if library == "spark":
        champion = next(path for path in sorted(request.getfixturevalue("spark_models").iterdir()) if _reads(path))
    elif library == "glum":
        glum = pytest.importorskip("glum")
        model = glum.GeneralizedLinearRegressor(family="normal", alpha=0.1).fit(DATA[["a", "b"]], DATA["amount"])
        champion = tmp_path / "champion"
        mlflow.sklearn.save_model(model, champion, serialization_format="pickle", pip_requirements=[])
    else:
        api = pytest.importorskip("statsmodels.api")
        champion = tmp_path / "champion"
        model = api.OLS(DATA["amount"], api.add_constant(DATA[["a", "b"]])).fit()
        mlflow.statsmodels.save_model(model, champion, pip_requirements=[])
    copy = shutil.copytree(champion, tmp_path / "copy")
    with pytest.raises(UpdateError, match=r"cg\.to_coefficients"):
        write_update(copy, read_model(copy), tmp_path / "update")


def _reads(path: Path) -> bool:
    try:
        return path.is_dir() and bool(read_model(path))
    except UnsupportedModelError:
        return False
