"""Attaching a report to a version: what is stored where, what a crash leaves, and what people wrote stays."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.parse
import uuid
from pathlib import Path

import mlflow
import pytest

from coordpath_governance.errors import AttachError
from coordpath_governance.governance import attach as attaching
from coordpath_governance.governance.attach import REPORT_FILES, attach, report_folder
from coordpath_governance.governance.shown import BEGIN, END, described
from coordpath_governance.governance.version_report import report_on_versions
from coordpath_governance.models import model_digest
from coordpath_governance.reference.sources import open_source
from coordpath_governance.registry.versions import ModelPointer, point_at
from coordpath_governance.reports.document import ChangeFacts
from coordpath_governance.reports.make import ReferenceData, settings_for

TARGET = "price"
NOW = "2026-01-02T03:04:05+00:00"
LATER = "2027-01-02T03:04:05+00:00"
COMPLETE = "coordpath.report_sha256"


class Case:
    """Two versions of a fresh registered model, the second on a logged model of its own."""

    def __init__(self, store, name=None, reason=None):
        self.store = store
        self.model = store.fresh()
        self.name = store.register(name or f"case {uuid.uuid4().hex}", store.first, self.model)
        self.champion = point_at(store.client, self.name, "1")
        self.candidate = point_at(store.client, self.name, "2")
        self.report = self.make(reason)

    def make(self, reason=None):
        reference = ReferenceData(open_source(self.store.rows.csv), TARGET)
        facts = ChangeFacts(reason=reason)
        return report_on_versions(
            self.store.client, self.champion, self.candidate, reference, facts=facts, settings=settings_for()
        )

    def attach(self, report=None, now=NOW):
        return attach(self.store.client, self.champion, self.candidate, report or self.report, now=now)

    @property
    def folder(self):
        return self.store.path(self.model) / report_folder(self.champion, self.candidate)

    def tags(self):
        return self.store.tags(self.name, 2)

    def is_whole(self, report=None):
        """Whether the version says that it has a whole report, which must then be the one that is there."""
        tag = self.tags().get(COMPLETE)
        if tag is None:
            return False
        stored = (self.folder / "change_report.json").read_bytes()
        assert hashlib.sha256(stored).hexdigest() == tag
        document = (report or self.report).to_bytes()
        assert stored == document
        return True


@pytest.fixture
def case(store):
    return Case(store)


def test_files_are_the_renderings_and_tags_are_those_of_the_design(case):
    attached = case.attach()
    path = f"coordpath/{urllib.parse.quote(case.name).replace('%', '=')}/v1-to-v2"
    assert attached == attaching.Attached(path, case.report.sha256, new=True)
    rendered = {
        "change_report.json": case.report.to_bytes(),
        "change_report.html": case.report.to_html().encode(),
        "change_report.md": case.report.to_markdown().encode(),
    }
    assert sorted(file.name for file in case.folder.iterdir()) == sorted([*REPORT_FILES, "verdict.json"])
    for file, content in rendered.items():
        assert (case.folder / file).read_bytes() == content
    digest = model_digest(case.store.path(case.model))
    assert case.tags() == {
        "coordpath.verdict": "not assessed",
        "coordpath.report_sha256": hashlib.sha256(rendered["change_report.json"]).hexdigest(),
        "coordpath.report_path": path,
        "coordpath.champion_version": "1",
        "coordpath.status": "optimal",
        "coordpath.steps": str(len(case.report.document.path.steps)),
        "coordpath.subject": f"{case.name}/2@sha256:{digest}",
    }
    verdict = json.loads((case.folder / "verdict.json").read_text(encoding="utf-8"))
    assert verdict["made_at"] == NOW
    assert verdict["files"] == {file: hashlib.sha256(content).hexdigest() for file, content in rendered.items()}
    assert not case.store.tags(case.name, 1)


def test_the_report_is_seen_under_the_registered_version(case, tmp_path):
    case.attach()
    path = f"models:/{case.name}/2/{case.tags()['coordpath.report_path']}/change_report.json"
    local = mlflow.artifacts.download_artifacts(artifact_uri=path, dst_path=str(tmp_path))
    assert Path(local).read_bytes() == case.report.to_bytes()


def test_attaching_changes_neither_the_digest_nor_what_can_be_loaded(case):
    path = case.store.path(case.model)
    before = model_digest(path)
    rows = case.store.rows.frame
    predicted = mlflow.sklearn.load_model(f"models:/{case.name}/2").predict(rows)
    case.attach()
    assert model_digest(path) == before == case.report.document.subject.candidate.digest
    assert (mlflow.sklearn.load_model(f"models:/{case.name}/2").predict(rows) == predicted).all()
    assert case.make().to_bytes() == case.report.to_bytes()


def test_attaching_again_changes_nothing(case):
    case.attach()
    before = {path.name: path.read_bytes() for path in case.folder.iterdir()}
    description, tags = case.store.description(case.name, 2), case.tags()
    again = case.attach(case.make(), now=LATER)
    assert not again.new
    assert {path.name: path.read_bytes() for path in case.folder.iterdir()} == before
    assert (case.store.description(case.name, 2), case.tags()) == (description, tags)


def test_the_command_says_that_it_was_attached_already(store, coordpath):
    name = store.two_versions()
    args = ("report", name, "--champion", "1", *store.rows.args)
    first, second = coordpath(*args), coordpath(*args)
    assert (first.code, second.code) == (0, 0)
    assert f"\nAttached to models:/{name}/2 under coordpath/" in first.out
    assert f"\nAlready attached to models:/{name}/2 under coordpath/" in second.out
    assert store.tags(name, 2)[COMPLETE] in second.out


def test_another_report_on_the_same_versions_replaces_the_first(case):
    case.attach()
    other = case.make("drift")
    assert case.attach(other).new
    assert case.is_whole(other)


def test_a_report_about_another_target_never_replaces_one_unless_somebody_says_so(store, coordpath, tmp_path):
    name = store.register(f"target {uuid.uuid4().hex}", store.first, store.fresh())
    data = tmp_path / "rows.csv"
    store.rows.frame.assign(rent=store.rows.frame.price / 20).to_csv(data, index=False)
    asked = ("report", name, "--champion", "1", "--data", data, "--target")
    assert coordpath(*asked, "price").code == 0
    before, description = store.tags(name, 2), store.description(name, 2)
    refused = coordpath(*asked, "rent")
    assert refused.code == 2
    assert "has a report about the target 'price' (squared error) attached" in refused.plain
    assert "this one is about the target 'rent' (squared error)" in refused.plain
    assert "--replace" in refused.plain
    assert (store.tags(name, 2), store.description(name, 2)) == (before, description)
    assert "Already attached" in coordpath(*asked, "price").out
    replaced = coordpath(*asked, "rent", "--replace")
    assert replaced.code == 0
    assert f"It replaces the report with SHA-256 {before[COMPLETE]}" in replaced.out
    assert coordpath(*asked, "price").code == 2


def test_what_is_no_report_is_replaced(case):
    case.attach()
    (case.folder / "change_report.json").write_bytes(b"{}")
    assert case.attach().new
    assert case.is_whole()


@pytest.mark.parametrize("damage", ["change_report.html", "change_report.md", "change_report.json", "verdict.json"])
@pytest.mark.parametrize("how", ["deleted", "changed"])
def test_a_damaged_file_is_written_again(case, damage, how):
    case.attach()
    file = case.folder / damage
    content = file.read_bytes()
    if how == "deleted":
        file.unlink()
    else:
        file.write_bytes(content[:-20])
    assert case.attach().new
    assert file.read_bytes() == content


@pytest.mark.parametrize("name", ["change_report.html", "change_report.json", "verdict.json"])
def test_a_folder_in_the_place_of_a_file_is_named(case, coordpath, name):
    """Whoever may write artifacts can put one there, before the report or instead of it."""
    (case.folder / name / "inside").mkdir(parents=True)
    said = coordpath("report", case.name, "--champion", "1", *case.store.rows.args)
    assert said.code == 4, said.plain
    assert f"{name} beside models:/{case.name}/2 is a folder" in said.plain
    assert "unexpected" not in said.plain
    assert COMPLETE not in case.tags()
    shutil.rmtree(case.folder / name)
    assert case.attach().new
    assert case.is_whole()


class Crash(BaseException):
    """Nothing catches it, as nothing catches a power cut."""


def fail_at(monkeypatch, owner, name, occurrence, error):
    """Make the n-th call of ``owner.name`` raise; True in the returned list once it did."""
    original, calls, failed = getattr(owner, name), [], []

    def call(*args, **kwargs):
        calls.append(name)
        if len(calls) == occurrence:
            failed.append(True)
            raise error
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, call)
    return failed


POINTS = [
    *[("client", "get_model_version", n) for n in (1, 2, 3)],
    ("client", "delete_model_version_tag", 1),
    ("client", "log_model_artifacts", 1),
    *[("download", "download_artifacts", n) for n in (2, 4, 5)],
    *[("client", "set_model_version_tag", n) for n in (1, 6, 7)],
    ("client", "update_model_version", 1),
]
FAILURES = [
    *[(*point, Crash) for point in POINTS],
    *[(*point, OSError) for point in POINTS[3:6]],
    *[(*point, mlflow.MlflowException) for point in POINTS[::3]],
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("where", "name", "occurrence", "error"), FAILURES)
def test_a_failure_at_any_point_leaves_no_half_report_that_looks_whole(shared, monkeypatch, where, name, occurrence, error):
    """An earlier report is there, another one is being attached over it, and something fails."""
    case, new = shared
    case.attach()
    assert case.is_whole()
    owner = case.store.client if where == "client" else mlflow.artifacts
    with monkeypatch.context() as patch:
        failed = fail_at(patch, owner, name, occurrence, error("refused"))
        with pytest.raises(Crash if error is Crash else AttachError):
            case.attach(new)
    assert failed
    tag = case.tags().get(COMPLETE)
    if tag is not None:
        stored = (case.folder / "change_report.json").read_bytes()
        assert hashlib.sha256(stored).hexdigest() == tag
        assert stored in (case.report.to_bytes(), new.to_bytes())
    case.attach(new)
    assert case.is_whole(new)
    assert (case.folder / "change_report.html").read_bytes() == new.to_html().encode()
    assert case.store.description(case.name, 2).count(BEGIN) == 1


def rendered_once(report):
    """The same report without the time it takes to lay it out again and again."""
    for name in ("to_bytes", "to_html", "to_markdown"):
        content = getattr(report, name)()
        setattr(report, name, lambda content=content: content)
    return report


@pytest.fixture
def shared(store, _shared):
    """One case for all points of failure: each brings it back to a known state itself."""
    if not _shared:
        case = Case(store)
        rendered_once(case.report)
        _shared.append((case, rendered_once(case.make("another reason"))))
    return _shared[0]


@pytest.fixture(scope="module")
def _shared():
    return []


def test_a_file_cut_off_on_its_way_is_an_error_and_no_tag(case, monkeypatch):
    case.attach()
    new = case.make("drift")
    upload = case.store.client.log_model_artifacts

    def cut(model_id, local):
        upload(model_id, local)
        (case.folder / "change_report.html").write_bytes(b"<html>")

    with monkeypatch.context() as patch:
        patch.setattr(case.store.client, "log_model_artifacts", cut)
        with pytest.raises(AttachError, match="did not read back as it was written"):
            case.attach(new)
    assert COMPLETE not in case.tags()
    assert case.attach(new).new
    assert case.is_whole(new)


def test_the_command_ends_with_4_when_nothing_can_be_read_back(store, coordpath, monkeypatch):
    name = store.two_versions()
    monkeypatch.setattr(attaching, "read_attachments", lambda *_: {})
    outcome = coordpath("report", name, "--champion", "1", *store.rows.args)
    assert outcome.code == 4
    assert "did not read back as it was written; attach it again" in outcome.plain
    assert COMPLETE not in store.tags(name, 2)


@pytest.mark.no_cover
@pytest.mark.parametrize("point", ["log_model_artifacts", "set_model_version_tag"])
def test_a_killed_process_is_repaired_by_the_next_run(case, coordpath, point):
    """The process is killed in the middle of uploading, or between two tags."""
    case.attach()
    script = f"""
import os, signal, sys
import mlflow
original = mlflow.MlflowClient.{point}
calls = []
def killed(self, *args, **kwargs):
    original(self, *args, **kwargs)
    calls.append(1)
    if len(calls) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
mlflow.MlflowClient.{point} = killed
from coordpath_governance.cli.main import main
sys.argv = ["coordpath", *{["report", case.name, "--champion", "1", "--reason", "new", *case.store.rows.args]!r}]
main()
"""
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert COMPLETE not in case.tags()
    outcome = coordpath("report", case.name, "--champion", "1", "--reason", "new", *case.store.rows.args)
    assert outcome.code == 0
    assert case.is_whole(case.make("new"))


def test_what_people_wrote_stays_before_and_after_our_block(case):
    store = case.store
    store.describe(case.name, 2, "# Mine\n\nChecked by *Ada*.  ")
    case.attach()
    first = store.description(case.name, 2)
    assert first.startswith(f"# Mine\n\nChecked by *Ada*.\n\n{BEGIN}\n")
    assert first.endswith(f"\n{END}")
    store.describe(case.name, 2, f"{first}\n\nAdded \\1 later: \\g<0>")
    case.attach(case.make("a second report"))
    second = store.description(case.name, 2)
    assert second.startswith(f"# Mine\n\nChecked by *Ada*.\n\n{BEGIN}\n")
    assert second.endswith(f"\n{END}\n\nAdded \\1 later: \\g<0>")
    assert second.count(BEGIN) == second.count(END) == 1
    assert second != first


@pytest.mark.parametrize("length", [4990, 5000])
def test_a_long_description_by_a_person_stays_as_it_is(case, length):
    text = ("words " * 1000)[: length - 1] + "\n"
    case.store.describe(case.name, 2, text)
    case.attach()
    assert case.store.description(case.name, 2) == text
    assert case.is_whole()


def test_our_block_gives_way_to_words_added_later(case):
    case.attach()
    text = case.store.description(case.name, 2) + "x" * 5000
    case.store.describe(case.name, 2, text)
    case.attach(case.make("a second report"))
    assert case.store.description(case.name, 2) == "x" * 5000


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ("", "{block}"),
        (" \n", "{block}"),
        ("mine", "mine\n\n{block}"),
        (f"{BEGIN}\nold\n{END}", "{block}"),
        (f"a\n{BEGIN}old{END}\nb {BEGIN}older{END} c", "a\n{block}\nb  c"),
        (f"a {BEGIN} half a block, and then words of mine", f"a {BEGIN} half a block, and then words of mine\n\n{{block}}"),
        (f"a {BEGIN} half, words {BEGIN}old{END}", f"a {BEGIN} half, words {{block}}"),
        (f"an end {END} alone", f"an end {END} alone\n\n{{block}}"),
    ],
)
def test_only_whole_blocks_of_ours_are_replaced(current, expected):
    once = described(current, "new \\1")
    assert once == expected.format(block=f"{BEGIN}\nnew \\1\n{END}")
    assert described(once, "new \\1") == once


def test_one_logged_model_behind_two_versions(store, coordpath):
    model = store.fresh()
    name = store.register(f"twins {uuid.uuid4().hex}", store.first, model, model)
    for version in ("2", "3"):
        assert coordpath("report", name, "--champion", "1", "--candidate", version, *store.rows.args).code == 0
    encoded = urllib.parse.quote(name).replace("%", "=")
    folder = store.path(model) / "coordpath" / encoded
    assert sorted(path.name for path in folder.iterdir()) == ["v1-to-v2", "v1-to-v3"]
    for version in ("2", "3"):
        stored = (folder / f"v1-to-v{version}" / "change_report.json").read_bytes()
        assert store.tags(name, version)[COMPLETE] == hashlib.sha256(stored).hexdigest()
    outcome = coordpath("report", name, "--champion", "2", "--candidate", "3", *store.rows.args)
    assert outcome.code == 0
    assert store.tags(name, 3)["coordpath.steps"] == "0"


def test_a_version_copied_into_another_name(store, coordpath):
    model = store.fresh()
    name = store.register(f"source {uuid.uuid4().hex}", store.first, model)
    assert coordpath("report", name, "--champion", "1", *store.rows.args).code == 0
    other = f"copy {uuid.uuid4().hex}"
    store.client.copy_model_version(f"models:/{name}/2", other)
    copy_of_copy = f"copy of {other}"
    store.client.copy_model_version(f"models:/{other}/1", copy_of_copy)
    copied = store.tags(other, 1)
    assert copied["coordpath.subject"].startswith(f"{name}/2@sha256:"), "a copied tag shows whose it is"
    assert point_at(store.client, copy_of_copy, "latest").model_id == model.model_id
    assert coordpath("report", other, "--champion", f"models:/{name}/1", *store.rows.args).code == 0
    tags = store.tags(other, 1)
    assert tags["coordpath.subject"].startswith(f"{other}/1@sha256:")
    assert tags["coordpath.subject"].split("@")[-1] == store.tags(name, 2)["coordpath.subject"].split("@")[-1]
    assert len(list((store.path(model) / "coordpath").iterdir())) == 2


def saved_in_run(store, rows):
    """A model as MLflow 2.x stored it: among the artifacts of its run, no LoggedModel."""
    from sklearn.linear_model import Ridge

    with mlflow.start_run(experiment_id=store.experiment) as run:
        folder = store.folder / uuid.uuid4().hex
        mlflow.sklearn.save_model(Ridge().fit(rows[["area", "age"]], rows[TARGET]), folder, pip_requirements=[])
        mlflow.log_artifacts(str(folder), "model")
    return run.info.run_id


def test_a_version_as_of_mlflow_2_gets_its_report_in_the_run(store, coordpath):
    run = saved_in_run(store, store.rows.frame)
    name = f"old style {uuid.uuid4().hex}"
    store.client.create_registered_model(name)
    store.client.create_model_version(name, f"{store.client.get_run(run).info.artifact_uri}/model", run)
    pointer = point_at(store.client, name, "1")
    assert (pointer.model_id, pointer.run_id) == (None, run)
    for how in ("Attached to", "Already attached to"):
        outcome = coordpath("report", name, *store.rows.args)
        assert outcome.code == 0
        assert f"\n{how}" in outcome.out
    tags = store.tags(name, 1)
    stored = mlflow.artifacts.load_text(f"runs:/{run}/{tags['coordpath.report_path']}/change_report.json")
    assert hashlib.sha256(stored.encode()).hexdigest() == tags[COMPLETE]


def test_a_version_with_neither_logged_model_nor_run(store, coordpath, tmp_path):
    from sklearn.linear_model import Ridge

    frame = store.rows.frame
    mlflow.sklearn.save_model(Ridge().fit(frame[["area"]], frame[TARGET]), tmp_path / "model", pip_requirements=[])
    name = f"from a folder {uuid.uuid4().hex}"
    store.client.create_registered_model(name)
    store.client.create_model_version(name, (tmp_path / "model").as_uri())
    outcome = coordpath("report", name, *store.rows.args, "--out", tmp_path / "out")
    assert outcome.code == 4
    assert "has neither a logged model nor a run that could hold the report" in outcome.plain
    assert (tmp_path / "out" / "change_report.json").exists()
    assert coordpath("report", name, *store.rows.args, "--out", tmp_path / "two", "--no-attach").code == 0
    outcome = coordpath("report", name)
    assert outcome.code == 2
    assert "the candidate has no source run" in outcome.plain


def test_only_a_registered_version_can_have_a_report(case):
    with pytest.raises(AttachError, match="not a registered version"):
        attach(case.store.client, None, ModelPointer(uri="models:/m-1"), case.report, now=NOW)


def pointer(name, version="2"):
    return ModelPointer(f"models:/{name}/{version}", name, version)


def test_folders_of_different_models_differ():
    names = [
        "a b",
        "a=20b",
        "a%20b",
        "a+b",
        "A b",
        "é",
        "e\u0301",
        "x" * 100,
        "x" * 101,
        "x" * 102,
        "é" * 256,
        "é" * 255,
        "..a",
    ]
    names += ["x" * 50 + "==" + hashlib.sha256(b"x" * 101).hexdigest()[:16]]
    folders = [report_folder(pointer(name, "1"), pointer(name)) for name in names]
    assert len(set(folders)) == len(names)
    for folder in folders:
        assert "%" not in folder
        assert folder.isascii()
        assert all(len(part) < 200 for part in folder.split("/"))
    assert report_folder(None, pointer("a")) == "coordpath/a/none-to-v2"
    assert report_folder(pointer("b", "7"), pointer("a")) == "coordpath/a/v7@b-to-v2"
    assert report_folder(ModelPointer("./folder"), pointer("a")).startswith("coordpath/a/uri-")
