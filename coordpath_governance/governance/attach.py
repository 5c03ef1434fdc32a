"""Attach a report to a version: write, read back, compare digests, and only then say so in tags.

While files are being replaced the version carries no tag with the report's digest; in a guarded registry, which deletes no
tag of ours, the tag says so. A crash half-way leaves no half report that looks whole. Attaching the same report again
changes nothing.

With the report goes `verdict.json`: what was decided when, over which bytes. The report itself holds no time, no approval.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from coordpath_governance.attestation.attest import ATTESTATION_FILE, VERDICT_FILE
from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.errors import AttachError, ReportFormatError, UsageError
from coordpath_governance.governance.shown import (
    COMPLETENESS_TAG,
    PLACE_TAG,
    VERDICT_TAG,
    conclusion_of,
    described,
    report_tags,
    status_tags,
)
from coordpath_governance.registry.attachments import (
    attaching,
    folder_between,
    folder_name,
    read_attachments,
    write_attachments,
)
from coordpath_governance.registry.client_registry import registry_guard
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.rendering.change_report import ChangeReport, rendered_pages
from coordpath_governance.rendering.render import render_summary_markdown
from coordpath_governance.reports.document import HTML_PAGE, MARKDOWN_PAGE, REPORT_FILE, ChangeReportDocument, RuleFacts
from coordpath_governance.review.status import VersionStatus

__all__ = [
    "REPORT_FILES",
    "VERDICT_SCHEMA",
    "Attached",
    "Attest",
    "Verdict",
    "attach",
    "check_same_question",
    "put_again",
    "put_files",
    "report_folder",
]

REPORT_FILES = (REPORT_FILE, HTML_PAGE, MARKDOWN_PAGE)
Attest = Callable[[dict[str, str], str], bytes]
"""Makes attestation.json over the SHA-256 of each of the report's files, at a time: same files and time, same bytes."""

_BEING_REPLACED = "being replaced"

VERDICT_SCHEMA = "coordpath.verdict/1"


@dataclass(frozen=True)
class Attached:
    """Where the report is. ``new`` is False if exactly this report was there already.

    ``replaced`` is the SHA-256 of another report that was in the same place before.
    """

    folder: str
    sha256: str
    new: bool
    replaced: str | None = None


def report_folder(champion: ModelPointer | None, candidate: ModelPointer) -> str:
    """coordpath/<name>/v<champion>-to-v<candidate>; a champion of another name adds it, no champion is "none"."""
    name = folder_name(candidate.name or "")
    if champion is None or champion.name == candidate.name:
        return folder_between(candidate.name or "", None if champion is None else champion.version, str(candidate.version))
    if champion.name is not None:
        before = f"v{champion.version}@{folder_name(champion.name)}"
    else:
        before = f"uri-{sha256_hex(champion.uri.encode())[:12]}"
    return f"coordpath/{name}/{before}-to-v{candidate.version}"


def attach(
    client: RegistryClient,
    champion: ModelPointer | None,
    candidate: ModelPointer,
    report: ChangeReport,
    *,
    now: str,
    verdict: Verdict | None = None,
    attest: Attest | None = None,
    replace: bool = False,
    recorded: Mapping[str, bytes] | None = None,
    status: VersionStatus | None = None,
) -> Attached:
    """Attach ``report`` to the candidate's version; ``now`` is the time (UTC) that verdict.json records.

    ``verdict`` is what the gate said, if it was asked; ``attest`` signs for the files, if there is a key to sign with.
    Without ``replace`` a report about another target is not replaced: `UsageError`. ``recorded`` are the report's files by
    name, as the ledger has them; by default they are laid out now. ``status`` is what tags and description say of the
    version; by default that is the verdict.
    """
    _check_place(candidate)
    folder = report_folder(champion, candidate)
    files = dict(recorded or {REPORT_FILE: report.to_bytes(), **rendered_pages(report)})
    digests = {name: sha256_hex(content) for name, content in files.items()}
    conclusion = verdict or Verdict.of(report.document)
    files[VERDICT_FILE] = conclusion.to_bytes(report.document, digests, now)
    if attest is not None:
        files[ATTESTATION_FILE] = attest(digests, now)
    explained_from = None if champion is None else str(champion.version or champion.uri)
    tags = {VERDICT_TAG: conclusion.verdict, **report_tags(report, folder, explained_from)}
    new = not _is_attached(client, candidate, folder, files, lambda at: attest(digests, at) if attest else None)
    replaced = None
    if new:
        before = read_attachments(candidate, folder, (REPORT_FILE,)).get(REPORT_FILE)
        if before is not None and not replace:
            check_same_question(candidate.uri, before, report)
        replaced = _write(client, candidate, folder, files, before)
    with attaching(f"tagging {candidate.uri}"):
        if status is not None:
            stored = client.get_model_version(*candidate.registered).tags
            tags = {**tags, **status_tags(status, stored), COMPLETENESS_TAG: tags.pop(COMPLETENESS_TAG)}
        for key, value in tags.items():
            client.set_model_version_tag(*candidate.registered, key, value)
        current = client.get_model_version(*candidate.registered).description or ""
        status_words = None if status is None else conclusion_of(status)
        description = described(current, render_summary_markdown(report.document, f"{folder}/{HTML_PAGE}", status_words))
        if description != current:
            client.update_model_version(*candidate.registered, description=description)
    return Attached(folder, digests[REPORT_FILE], new, replaced)


def put_files(
    client: RegistryClient,
    champion: ModelPointer | None,
    candidate: ModelPointer,
    recorded: Mapping[str, bytes],
) -> str | None:
    """Attach a report's files to the version, so that the gate finds them; `attach` sets the tags afterwards.

    Returns the SHA-256 of another report that was there before, if there was one.
    """
    _check_place(candidate)
    folder, files = report_folder(champion, candidate), dict(recorded)
    if read_attachments(candidate, folder, files) == files:
        return None
    return _write(client, candidate, folder, files, read_attachments(candidate, folder, (REPORT_FILE,)).get(REPORT_FILE))


def put_again(
    client: RegistryClient,
    champion: ModelPointer | None,
    candidate: ModelPointer,
    recorded: Mapping[str, bytes],
) -> Attached:
    """Attach a report's recorded files again, without a new verdict. The tags still name the report that they named."""
    folder, digest = report_folder(champion, candidate), sha256_hex(recorded[REPORT_FILE])
    with attaching(f"reading the tags of {candidate.uri}"):
        tags = client.get_model_version(*candidate.registered).tags
    replaced = put_files(client, champion, candidate, recorded)
    tagged = digest if tags.get(PLACE_TAG) == folder else tags.get(COMPLETENESS_TAG, digest)
    with attaching(f"tagging {candidate.uri}"):
        client.set_model_version_tag(*candidate.registered, COMPLETENESS_TAG, tagged)
    return Attached(folder, digest, new=True, replaced=replaced)


def _write(
    client: RegistryClient,
    candidate: ModelPointer,
    folder: str,
    files: dict[str, bytes],
    before: bytes | None,
) -> str | None:
    """Write the files and read them back; the digest of the other report, ``before``, that was there, if any."""
    _tell_that_it_is_being_replaced(client, candidate)
    write_attachments(client, candidate, folder, files)
    if read_attachments(candidate, folder, files) != files:
        raise AttachError(f"the report of {candidate.uri} did not read back as it was written; attach it again")
    return _replaced(before, files[REPORT_FILE])


def _check_place(candidate: ModelPointer) -> None:
    """Raise `AttachError` if the version has no place for files."""
    if candidate.name is None or candidate.version is None:
        raise AttachError(f"{candidate.uri} is not a registered version, so there is nothing to attach a report to")
    if candidate.model_id is None and candidate.run_id is None:
        raise AttachError(
            f"version {candidate.version} of '{candidate.name}' has neither a logged model nor a run that could hold "
            "the report; register it from a run, or use --out FOLDER"
        )


def _is_attached(
    client: RegistryClient,
    candidate: ModelPointer,
    folder: str,
    files: dict[str, bytes],
    attested: Callable[[str], bytes | None],
) -> bool:
    """Whether all files are attached already, at any time; ``attested`` signs for the time of the attached verdict."""
    with attaching(f"reading the tags of {candidate.uri}"):
        tags = client.get_model_version(*candidate.registered).tags
    if tags.get(COMPLETENESS_TAG) != sha256_hex(files[REPORT_FILE]):
        return False
    stored = read_attachments(candidate, folder, files)
    if any(stored.get(name) != files[name] for name in REPORT_FILES):
        return False
    made_at = _same_but_for_time(stored[VERDICT_FILE], files[VERDICT_FILE])
    return made_at is not None and stored.get(ATTESTATION_FILE) == attested(made_at)


def _same_but_for_time(stored: bytes, new: bytes) -> str | None:
    """The time of the stored verdict if it is equal to the new one except for its time, else None."""
    try:
        before = json.loads(stored)
    except (ValueError, RecursionError):
        return None
    same = isinstance(before, dict) and before | {"made_at": None} == json.loads(new) | {"made_at": None}
    return str(before["made_at"]) if same and "made_at" in before else None


def _replaced(before: bytes | None, new: bytes) -> str | None:
    """The digest of another report in the place of this one; None if there is none."""
    return sha256_hex(before) if before is not None and before != new else None


def _tell_that_it_is_being_replaced(client: RegistryClient, candidate: ModelPointer) -> None:
    name, version = candidate.registered
    with attaching(f"untagging {candidate.uri}"):
        if COMPLETENESS_TAG not in client.get_model_version(name, version).tags:
            return
        if registry_guard(client, name) is None:
            client.delete_model_version_tag(name, version, COMPLETENESS_TAG)
        else:
            client.set_model_version_tag(name, version, COMPLETENESS_TAG, _BEING_REPLACED)


def check_same_question(uri: str, attached_bytes: bytes, report: ChangeReport) -> None:
    """Raise `UsageError` if the report that is attached to the version ``uri`` is about another target than ``report``.

    Nothing is raised if what is attached cannot be read as a report.
    """
    try:
        attached = ChangeReport.from_bytes(attached_bytes)
    except ReportFormatError:
        return
    before, now = _question(attached.document), _question(report.document)
    if before != now:
        raise UsageError(
            f"{uri} has a report about {before} attached, and this one is about {now}: nothing was attached or "
            "replaced; name the right target, or say --replace if this one is right"
        )


def _question(document: ChangeReportDocument) -> str:
    """The target, the function of it that is predicted, and the loss of the models."""
    data, glm = document.data, document.glm
    predicted = f", predicted as {data.predicted}" if data.predicted is not None else ""
    return f"the target '{data.target}'{predicted} ({'squared error' if glm is None else glm.loss})"


@dataclass(frozen=True)
class Verdict:
    """What the gate said, under which policy, and what is still needed."""

    verdict: Literal["not assessed", "pass", "review", "fail"]
    reason: str
    materiality: str | None = None
    policy_sha256: str | None = None
    alias: str | None = None
    rules: tuple[RuleFacts, ...] = ()
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: ChangeReportDocument) -> Verdict:
        """What the report says of itself, where no gate was asked."""
        assessment = document.assessment
        return cls(assessment.verdict, assessment.reason, assessment.materiality)

    def to_bytes(self, document: ChangeReportDocument, digests: dict[str, str], now: str) -> bytes:
        """The file."""
        return canonical_bytes(
            {
                "schema": VERDICT_SCHEMA,
                "verdict": self.verdict,
                "reason": self.reason,
                "materiality": self.materiality,
                "policy_sha256": self.policy_sha256,
                "alias": self.alias,
                "rules": [rule.model_dump(mode="json") for rule in self.rules],
                "missing": list(self.missing),
                "subject": document.subject.model_dump(mode="json"),
                "files": digests,
                "made_at": now,
                "tool": document.tool.model_dump(mode="json"),
            }
        )
