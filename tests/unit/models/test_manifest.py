"""The model digest: exact bytes, what it leaves out, what it refuses."""

from __future__ import annotations

import hashlib
import os
import subprocess

import pytest

from coordpath_governance.errors import ModelReadError
from coordpath_governance.models import manifest_lines, model_digest


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "model"
    (folder / "data" / "deep").mkdir(parents=True)
    (folder / "MLmodel").write_bytes(b"flavors: {}\n")
    (folder / "data.txt").write_bytes(b"")
    (folder / "data" / "deep" / "ä.bin").write_bytes(b"\x00" * 3_000_000)
    return folder


def test_exact_bytes(folder):
    sha = {
        path: hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in ("MLmodel", "data.txt", "data/deep/ä.bin")
    }
    expected = [
        f"{sha['MLmodel']}  MLmodel\n",
        f"{sha['data.txt']}  data.txt\n",
        f"{sha['data/deep/ä.bin']}  data/deep/ä.bin\n",
    ]
    assert list(manifest_lines(folder)) == expected
    assert model_digest(folder) == hashlib.sha256("".join(expected).encode()).hexdigest()


def test_sha256sum_can_check_it(folder):
    check = subprocess.run(
        ["sha256sum", "--check", "--strict"], input="".join(manifest_lines(folder)).encode(), cwd=folder, check=False
    )
    assert check.returncode == 0


def test_what_mlflow_and_we_add_is_left_out(folder):
    before = model_digest(folder)
    (folder / "registered_model_meta").write_text("version: 3")
    (folder / "coordpath" / "demo").mkdir(parents=True)
    (folder / "coordpath" / "demo" / "change_report.json").write_text("{}")
    (folder / "empty").mkdir()
    assert model_digest(folder) == before
    (folder / "data" / "registered_model_meta").write_text("version: 3")
    assert model_digest(folder) != before


@pytest.mark.parametrize("change", ["content", "name", "added", "removed"])
def test_every_change_shows(change, folder):
    before = model_digest(folder)
    if change == "content":
        (folder / "data.txt").write_bytes(b"x")
    elif change == "name":
        (folder / "data.txt").rename(folder / "data2.txt")
    elif change == "added":
        (folder / "coordpathology").write_bytes(b"")
    else:
        (folder / "data.txt").unlink()
    assert model_digest(folder) != before


def test_links(folder, tmp_path):
    (folder / "link").symlink_to("data.txt")
    assert any(line.endswith("  link\n") for line in manifest_lines(folder))
    (folder / "link").unlink()
    for target in (tmp_path / "outside", folder / "data", "absent/../../outside"):
        (tmp_path / "outside").write_bytes(b"x")
        (folder / "link").symlink_to(target)
        with pytest.raises(ModelReadError, match="symbolic link"):
            model_digest(folder)
        (folder / "link").unlink()
    (folder / "link").symlink_to("absent")
    with pytest.raises(ModelReadError, match="not a regular file"):
        model_digest(folder)


def test_odd_files_and_names(folder, tmp_path):
    os.mkfifo(folder / "pipe")
    with pytest.raises(ModelReadError, match="not a regular file"):
        model_digest(folder)
    (folder / "pipe").unlink()
    (folder / "two\nlines").write_bytes(b"")
    with pytest.raises(ModelReadError, match="control characters"):
        model_digest(folder)
    (folder / "two\nlines").unlink()
    (folder / os.fsdecode(b"\xff")).write_bytes(b"")
    with pytest.raises(ModelReadError, match="UTF-8"):
        model_digest(folder)


def test_a_single_file_and_nothing(folder, tmp_path):
    (line,) = manifest_lines(folder / "MLmodel")
    assert line.endswith("  MLmodel\n")
    with pytest.raises(ModelReadError, match="no such model folder"):
        model_digest(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelReadError, match="no model files"):
        model_digest(tmp_path / "empty")


def test_unreadable_file(folder, monkeypatch):
    def refuse(*_args, **_options):
        raise PermissionError("no")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(ModelReadError, match="cannot be read"):
        model_digest(folder)
