"""Files that a user names: whatever keeps us from writing one is an error that says so."""

import errno

import pytest

from coordpath_governance.errors import CoordpathError, NotFoundError, UsageError
from coordpath_governance.files import reading, write_file, write_new, writing


def test_a_file_is_written_over_and_a_new_one_is_not(tmp_path):
    path = tmp_path / "file"
    write_file(path, b"one")
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    with pytest.raises(UsageError, match="is there already; name another"):
        write_new(path, [b"three"], "name another")
    assert path.read_bytes() == b"two"
    write_new(tmp_path / "new", [b"a", b"b"], "name another")
    assert (tmp_path / "new").read_bytes() == b"ab"


@pytest.mark.parametrize("name", ["x" * 300, "no folder/file", "a folder", "a file/below"])
def test_a_name_that_cannot_be_written_is_wrong_use(tmp_path, name):
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a file").touch()
    with pytest.raises(UsageError, match="cannot write"):
        write_file(tmp_path / name, b"")
    with pytest.raises(UsageError, match=r"cannot write|is there already"):
        write_new(tmp_path / name, [b""], "name another")


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (errno.EACCES, UsageError, 2),
        (errno.EROFS, UsageError, 2),
        (errno.ENOSPC, CoordpathError, 4),
        (errno.EIO, CoordpathError, 4),
    ],
)
def test_a_disk_that_is_full_or_fails_is_no_wrong_use(tmp_path, number, kind, code):
    with pytest.raises(kind, match=r"cannot write '.*file': ") as raised, writing(tmp_path / "file"):
        raise OSError(number, "what the system says")
    assert raised.value.exit_code == code


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (errno.ENOENT, NotFoundError, 2),
        (errno.ENAMETOOLONG, UsageError, 2),
        (errno.EISDIR, UsageError, 2),
        (errno.EACCES, UsageError, 2),
        (errno.EIO, CoordpathError, 4),
    ],
)
def test_what_keeps_us_from_reading_is_said(tmp_path, number, kind, code):
    with pytest.raises(kind, match=r"(cannot read|there is no file) '.*file'") as raised, reading(tmp_path / "file"):
        raise OSError(number, "what the system says")
    assert raised.value.exit_code == code


def test_a_reader_that_left_is_left_to_the_command(tmp_path):
    with pytest.raises(BrokenPipeError), writing(tmp_path / "file"):
        raise BrokenPipeError


def test_a_new_file_is_whole_or_not_there(tmp_path):
    def parts():
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_new(tmp_path / "file", parts(), "name another")
    assert list(tmp_path.iterdir()) == []
