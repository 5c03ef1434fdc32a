"""Whether a report is about these model files: their digest, and the coefficients that can be read from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.errors import NotFoundError, ReaderPluginError, UnsupportedModelError, UsageError
from coordpath_governance.models import read_model
from coordpath_governance.models.coefficients_json import to_document
from coordpath_governance.models.environment import read_environment
from coordpath_governance.models.formats import DECLARED, DECLARED_FORMAT, as_read, format_of
from coordpath_governance.models.manifest import model_digest
from coordpath_governance.reports.document import ChangeReportDocument, VersionFacts
from coordpath_governance.reports.version_parts import EnvironmentFacts, environments_of
from coordpath_governance.verification.compare import differences
from coordpath_governance.verification.result import Check, Verification

__all__ = ["Who", "check_model_files"]

Who = Literal["champion", "candidate"]
_OPTIONS: dict[Who, str] = {"candidate": "--model", "champion": "--champion-model"}
_WORDS = ("source", "remarks", "library")
"""Facts that another version of a reader may word differently; of the source only the format is compared."""


def check_model_files(result: Verification, document: ChangeReportDocument, who: Who, folder: Path) -> None:
    """Add to ``result`` whether the files in ``folder`` are those of the report's ``who`` (`candidate`, `champion`).

    Raises `UsageError` if the report names no such files, `NotFoundError` if there is no such folder.
    """
    stated = _digest(document, who)
    if not folder.exists():
        raise NotFoundError(
            f"there is no model at '{folder}'; give the folder of its files, or a URI such as models:/NAME/3"
        )
    digest = model_digest(folder)
    findings = () if digest == stated else (_other_files(document, who, digest, stated),)
    result.checks.append(Check("model", f"these are the files of the {who} (model digest)", findings))
    if findings:
        return
    stated_model = document.models.get(who) or {}
    read = _read(folder, stated_model)
    if read is not None:
        mismatches = tuple(differences(_comparable(stated_model), _comparable(read), lambda _: 0.0, ("models", who)))
        claim = f"the report states the coefficients of the {who} that its files hold"
        result.checks.append(Check("model", claim, mismatches))
    environment = None if document.environments is None else getattr(document.environments, who)
    if environment is not None:
        result.checks.append(_check_environment(who, environment, folder))
    result.settle(who, coefficients=read is not None)


def _digest(document: ChangeReportDocument, who: Who) -> str:
    """The model digest that the report names."""
    option, side = _OPTIONS[who], _side(document, who)
    if side is None:
        raise UsageError(f"the report is about a first version and has no {who}; leave {option} out")
    if side.digest is None:
        raise UsageError(
            f"the report names no files of its {who}: it was made from a model in memory, so there is nothing to compare "
            f"with; leave {option} out"
        )
    return side.digest


def _side(document: ChangeReportDocument, who: Who) -> VersionFacts | None:
    return document.subject.candidate if who == "candidate" else document.subject.champion


def _other_files(document: ChangeReportDocument, who: Who, digest: str, stated: str) -> str:
    opposite: Who = "champion" if who == "candidate" else "candidate"
    side = _side(document, opposite)
    if side is not None and side.digest == digest:
        return f"these are the files of the {opposite}, not of the {who}; give them with {_OPTIONS[opposite]}"
    return f"the report names {stated[:16]}…, these files have {digest[:16]}…"


def _read(folder: Path, stated: dict[str, Any]) -> dict[str, Any] | None:
    """The model in the files; None if nobody can read it here, or if only its author states the coefficients."""
    try:
        model = read_model(folder)
    except (UnsupportedModelError, ReaderPluginError):
        return None
    vouched = format_of(stated.get("source")) == DECLARED_FORMAT and as_read(stated.get("source")) != DECLARED
    return None if vouched and model.source == DECLARED else dict(to_document(model))


def _comparable(model: dict[str, Any]) -> dict[str, Any]:
    """The facts of a model that follow from its files, as plain JSON values."""
    values = {key: value for key, value in json.loads(canonical_bytes(model)).items() if key not in _WORDS}
    return values | {"format": format_of(model.get("source"))}


def _check_environment(who: Who, stated: EnvironmentFacts, folder: Path) -> Check:
    """Whether the environment files ask for what the report states; of remarks and damage only the number is compared."""
    both = environments_of(None, read_environment(folder))
    read = None if both is None else both.candidate
    parts = ("files", "python", "pins", "channels")
    findings = [f"environments.{who}: the files ask for nothing"] if read is None else []
    if read is not None:
        findings = [f"environments.{who}.{part}: differs" for part in parts if getattr(stated, part) != getattr(read, part)]
        findings += [
            f"environments.{who}.{part}: has {len(getattr(stated, part))} entries, should have {len(getattr(read, part))}"
            for part in ("remarks", "damaged")
            if len(getattr(stated, part)) != len(getattr(read, part))
        ]
    return Check("model", f"the report states what the environment files of the {who} ask for", tuple(findings))
