"""An update of a stored model as a model of the same flavour: its folder with other coefficients, and nothing is run.

A skops archive keeps everything but the members of ``coef_`` and ``intercept_``. A pickle is a programme that we do not
write; it becomes a skops archive of the tree that we read from it. What is written is read back before anybody gets it, by
the same readers and the same law as any other model.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from coordpath_governance.errors import UpdateError, UsageError
from coordpath_governance.models.archive import read_archive_bytes
from coordpath_governance.models.archive_members import Limits
from coordpath_governance.models.archive_update import archive_with
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.manifest import manifest_lines
from coordpath_governance.models.mlmodel_text import Setting, setting, with_requirement, with_settings
from coordpath_governance.models.model_files import ModelFiles, open_model_files
from coordpath_governance.models.model_numbers import numbers_of
from coordpath_governance.models.pickle_objects import read_pickle_bytes
from coordpath_governance.models.pickle_values import PickleLimits
from coordpath_governance.models.raw_numbers import WAY_OUT, difference, raw_numbers
from coordpath_governance.models.readers import read_model
from coordpath_governance.models.served import SKLEARN, served_file
from coordpath_governance.models.sklearn_folding import fold_stored
from coordpath_governance.models.tree import StoredTree, path_to, read_limited
from coordpath_governance.models.tree_archive import write_tree

__all__ = ["ARCHIVE_NAME", "identify", "write_update"]

ARCHIVE_NAME = "model.skops"
_MLMODEL = "MLmodel"


def write_update(folder: Path, updated: LinearModel, out: Path) -> LinearModel:
    """Write the model in ``folder`` with the numbers of ``updated`` to the new folder ``out``.

    ``updated`` is the model as `read_model` reads it from ``folder``, with other coefficients, level effects, functions or
    another intercept. Returns the written model as it reads back, whose numbers are those of ``updated`` up to rounding: see
    `raw_numbers`. The MLmodel keeps flavours, signature and environment; the fields that say which logged model it is are
    empty until `identify` fills them. The same input gives the same bytes.

    Raises `ModelReadError` if the folder cannot be read, `UpdateError` if the update cannot be written, and `UsageError` if
    ``out`` exists. Nothing is left at ``out`` then.
    """
    if out.exists():
        raise UsageError(f"{out}: there is something already; give a folder that does not exist.")
    champion = read_model(folder)
    files = open_model_files(folder)
    if SKLEARN.name not in files.flavours:
        raise UpdateError(
            f"{folder}: an update is written into models of scikit-learn only, and the champion is a "
            f"{champion.estimator or 'model'} ({', '.join(files.flavours)}). {WAY_OUT}"
        )
    out.mkdir(parents=True)
    try:
        return _write(files, updated, out)
    except BaseException:
        shutil.rmtree(out)
        raise


def identify(folder: Path, model_id: str, location: str, created: str) -> None:
    """Say in the MLmodel of a written update which logged model it is, where its files are, and when it was made (UTC)."""
    mlmodel = folder / _MLMODEL
    settings: dict[tuple[str, ...], Setting] = {
        ("model_id",): model_id,
        ("artifact_path",): location,
        ("utc_time_created",): created,
    }
    mlmodel.write_text(with_settings(mlmodel.read_text(encoding="utf-8"), settings, str(mlmodel)), encoding="utf-8")


def _write(files: ModelFiles, updated: LinearModel, out: Path) -> LinearModel:
    path, form = served_file(files, SKLEARN)
    settings: dict[tuple[str, ...], Setting] = dict.fromkeys((("model_id",), ("run_id",), ("artifact_path",)))
    name = path.name
    if form == "skops":
        data = read_limited(path, Limits().archive_bytes, "archive")
        stored = read_archive_bytes(data, str(path))
        numbers = raw_numbers(_law_abiding(stored, files), files.columns, updated)
        content = archive_with(data, path_to(stored.root, numbers.estimator), numbers.attributes)
    else:
        data = read_limited(path, PickleLimits().size, "pickle")
        stored = read_pickle_bytes(data, str(path))
        numbers = raw_numbers(_law_abiding(stored, files), files.columns, updated)
        archive = write_tree(numbers.root)
        name, content = ARCHIVE_NAME, archive.data
        settings |= _as_archive(archive.names)
    _copy(files.folder, out, but=path)
    if (out / name).exists():
        raise UpdateError(f"{path}: beside it is another file {name}, where the update belongs; log the champion again.")
    (out / name).write_bytes(content)
    mlmodel = out / _MLMODEL
    text = mlmodel.read_text(encoding="utf-8")
    if name != path.name:
        with_requirement(out, "skops")
    settings["model_uuid",] = hashlib.sha256(text.encode() + content).hexdigest()[:32]
    size = setting(text, "model_size_bytes", str(mlmodel))
    if size is not None and size.isdecimal():
        settings["model_size_bytes",] = int(size) + len(content) - len(data)
    mlmodel.write_text(with_settings(text, settings, str(mlmodel)), encoding="utf-8")
    return _read_back(out, numbers.model)


def _law_abiding(stored: StoredTree, files: ModelFiles) -> object:
    """The root of a tree that is read as a model; a tree with a name that we do not know is refused here."""
    fold_stored(stored, files.columns)
    return stored.root


def _as_archive(names: tuple[str, ...]) -> dict[tuple[str, ...], Setting]:
    """The settings that change when a pickle becomes an archive."""
    flavour = ("flavors", SKLEARN.name)
    return {
        (*flavour, "pickled_model"): ARCHIVE_NAME,
        (*flavour, "serialization_format"): "skops",
        (*flavour, "skops_trusted_types"): names,
        ("flavors", "python_function", "model_path"): ARCHIVE_NAME,
    }


def _copy(folder: Path, out: Path, *, but: Path) -> None:
    """Copy every file that the model digest covers, but one."""
    for line in manifest_lines(folder):
        name = line.partition("  ")[2].rstrip("\n")
        if folder / name != but:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, out / name)


def _read_back(out: Path, promised: LinearModel) -> LinearModel:
    """What was written, which must be the promised model to the last bit."""
    written = read_model(out)
    pairs = zip(written.class_scores or (written,), promised.class_scores or (promised,), strict=True)
    if any(difference(numbers_of(new), numbers_of(old)) for new, old in pairs):
        raise UpdateError(
            f"{out}: what was written does not read back as it was meant, because the champion holds its coefficients in "
            f"more than one place. {WAY_OUT}"
        )
    return written
