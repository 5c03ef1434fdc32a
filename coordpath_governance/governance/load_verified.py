"""`load_verified`: load a model only if its bytes are those that were promoted.

The ledger is audited first. The files are downloaded once, into a folder that only we can read, and what is hashed there is
what is loaded: files that the model digest leaves out are not in it.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from coordpath_governance.errors import (
    FilesGoneError,
    LedgerError,
    ModelReadError,
    RefusedError,
    UnsupportedModelError,
    UsageError,
)
from coordpath_governance.governance.declared import vouched_in
from coordpath_governance.ledger.declarations import Vouched
from coordpath_governance.ledger.events import Adoption, Promotion
from coordpath_governance.ledger.export import AnchorFile, read_anchor
from coordpath_governance.ledger.location import ledger_url
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.ledger.verify import audit
from coordpath_governance.models.formats import DECLARED_FORMAT, format_of, is_plugin
from coordpath_governance.models.manifest import manifest_lines, model_digest
from coordpath_governance.models.model_files import uncovered_path
from coordpath_governance.models.readers import read_model
from coordpath_governance.registry.client_registry import ClientRegistry
from coordpath_governance.registry.connection import connect, registry_errors, registry_uri_in_use
from coordpath_governance.registry.download import download_files, load_files
from coordpath_governance.registry.versions import ModelPointer, point_at
from coordpath_governance.review.belonging import check_belongs
from coordpath_governance.review.history import ModelHistory, Standing
from coordpath_governance.review.policies import policy_for

__all__ = ["load_verified"]

_SHOWN = 12
_NAME_COLUMN = 66
"""Where the path begins in a line of the manifest, after 64 digits and two spaces."""


def load_verified(
    uri: str,
    *,
    ledger: Ledger | str | None = None,
    anchors: Sequence[str | Path] = (),
    allow_declared: bool = False,
) -> Any:  # noqa: ANN401 - mlflow.pyfunc.PyFuncModel
    """Load ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION`` as `mlflow.pyfunc.load_model` does, or raise `RefusedError`.

    Its digest must be the one that the newest promotion or adoption in the ledger put under the alias, and the alias must
    not have been found moved since; a version asked for by number must have a guarded alias now.
    ``ledger`` is its URL or file, by default COORDPATH_LEDGER or the one beside the registry. ``anchors`` are files that
    `coordpath audit anchor` wrote and that are kept elsewhere: with one, a ledger that was cut back or replaced is refused
    too. The model's files are there as long as the model is.

    It loads only what a report can explain: files that our own readers read to the last name, in a format that the model's
    policy does not exclude. A model that cannot be read may run anything when it is loaded, so it is refused even if it was
    promoted; with ``allow_declared`` it is loaded if somebody whom the policy lets vouches for it in the ledger.

    Raises `ForeignRegistryError` if the ledger belongs to another registry.
    """
    client = connect()
    pointer = point_at(client, None, uri)
    if pointer.name is None:
        raise UsageError(f"'{uri}' is not a registered version; use models:/NAME@ALIAS or models:/NAME/VERSION")
    if not isinstance(ledger, Ledger):
        ledger = Ledger.open(ledger_url(registry_uri_in_use(), ledger), create=False)
    history = _audited(ledger, pointer.name, anchors)
    check_belongs(ledger, ClientRegistry(client), pointer.name)
    expected = _expected(history, pointer.name, _alias(uri))
    folder = Path(tempfile.mkdtemp(prefix="coordpath-"))
    try:
        files = _download(pointer, folder)
        digest = model_digest(files)
        _check_digest(uri, pointer, digest, expected)
        _check_paths(uri, files)
        why = _check_read(uri, files, _formats(ledger, pointer.name))
        if why is not None:
            _check_declared(uri, why, vouched_in(ledger, pointer, digest), allowed=allow_declared)
        with registry_errors(f"loading {uri}"):
            model = load_files(files)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(model, shutil.rmtree, folder, ignore_errors=True)
    return model


def _alias(uri: str) -> str | None:
    """The alias of a URI that `point_at` has accepted."""
    rest = uri.removeprefix("models:/")
    return None if "/" in rest else rest.rpartition("@")[2]


def _audited(ledger: Ledger, name: str, anchors: Sequence[str | Path]) -> ModelHistory:
    """The model's history. Raises `RefusedError` if the audit of the ledger finds a problem."""
    entries, damaged = ledger.stored()
    audited = audit(entries, ledger.blobs, [_anchor(Path(path)) for path in anchors], damaged)
    if not audited.intact:
        raise RefusedError(
            f"the ledger '{ledger.url}' says what was promoted, but is {audited.conclusion}; see `coordpath audit verify`"
        )
    return ModelHistory(tuple(entry for entry in entries if entry.model == name))


def _anchor(path: Path) -> AnchorFile:
    try:
        return read_anchor(path.read_bytes(), str(path))
    except OSError as error:
        raise LedgerError(f"cannot read the anchor '{path}': {error.strerror}") from error


def _expected(history: ModelHistory, name: str, alias: str | None) -> dict[str, Standing]:
    """The version that has the alias; without an alias, of each alias that was ever promoted to or adopted."""
    aliases = {facts.alias for _, facts in history.of(Promotion)} | {facts.alias for _, facts in history.of(Adoption)}
    standing = {each: history.standing(each) for each in sorted(aliases) if alias in (None, each)}
    if not standing:
        where = f"'{alias}' of '{name}'" if alias else f"an alias of '{name}'"
        raise RefusedError(f"the ledger knows of nothing promoted to {where}; use `coordpath promote` or `coordpath adopt`")
    return standing


def _download(pointer: ModelPointer, folder: Path) -> Path:
    """The version's files as its manifest lists them, and no others, in a folder below ``folder``."""
    raw, files = folder / "downloaded", folder / "model"
    raw.mkdir()
    try:
        local = download_files(pointer, raw)
    except FilesGoneError as error:
        raise FilesGoneError(
            f"{pointer.uri} was not loaded: {error}. What the ledger keeps of it explains the next change, but cannot be "
            "served: put the files back or promote another version"
        ) from error
    for line in manifest_lines(local):
        name = line[_NAME_COLUMN:].removesuffix("\n")
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(local / name, files / name)
    shutil.rmtree(raw)
    return files


def _check_digest(uri: str, pointer: ModelPointer, digest: str, expected: dict[str, Standing]) -> None:
    if any(standing.digest == digest and standing.doubt is None for standing in expected.values()):
        return
    standings = "; ".join(
        f"'{alias}' is to be version {standing.version}, digest {str(standing.digest)[:_SHOWN]}"
        + ("" if standing.doubt is None else f", but was found moved: {standing.doubt}")
        for alias, standing in expected.items()
    )
    raise RefusedError(
        f"{uri} was not loaded: it is version {pointer.version}, digest {digest[:_SHOWN]}, and the ledger says: {standings}"
        ". Promote it, or take what stands there as it is with `coordpath adopt`"
    )


def _formats(ledger: Ledger, name: str) -> tuple[str, ...] | None:
    """The formats that the model's policy lists; None if it lists none, or no policy matches."""
    try:
        return policy_for(ledger, name).policy.formats
    except RefusedError:
        return None


def _check_read(uri: str, files: Path, allowed: tuple[str, ...] | None) -> str | None:
    """Why the model cannot be read, None if it can; `RefusedError` if it is damaged or in a format that is not accepted."""
    why: str | None = None
    try:
        form = format_of(read_model(files).source)
    except UnsupportedModelError as error:
        form, why = DECLARED_FORMAT, str(error)
    except ModelReadError as error:
        raise RefusedError(f"{uri} was not loaded: {error}") from error
    if form is None or (is_plugin(form) if allowed is None else form not in allowed):
        listed = "its policy does not list that in 'formats'" if form else "how is not known"
        reason = why or f"it was read as '{form or 'something else'}'"
        raise RefusedError(f"{uri} was not loaded: {reason}, and {listed}")
    if form == DECLARED_FORMAT and why is None:
        return "its coefficients are only declared by its author, since it cannot be read"
    return why


def _check_declared(uri: str, why: str, vouched: Vouched | None, *, allowed: bool) -> None:
    """Raise `RefusedError` unless enough people vouch for a model that cannot be read, and the caller allows that."""
    if vouched is None:
        what = "nobody vouches for it"
    elif vouched.missing:
        what = "one more person has to vouch for it, since nobody vouches for who registered it"
    elif allowed:
        return
    else:
        what = "somebody vouches for it: allow_declared=True loads it all the same"
    raise RefusedError(f"{uri} was not loaded: {why.rstrip('.')}. What it runs is not known; {what} (`coordpath declare`)")


def _check_paths(uri: str, files: Path) -> None:
    """Raise `RefusedError` if MLmodel names files outside of what the digest covers."""
    try:
        flavors = yaml.safe_load((files / "MLmodel").read_bytes())["flavors"]
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise RefusedError(f"{uri} was not loaded: it has no MLmodel file that can be read") from error
    text = uncovered_path(flavors)
    if text is not None:
        raise RefusedError(f"{uri} was not loaded: its MLmodel names '{text}', a file outside of what was promoted")
