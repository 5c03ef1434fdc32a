"""Register a version and give it its report, in one call at the end of a training script.

What the author says goes into tags of the version, so that whoever makes the report finds it: the guarded server while the
version is being registered, the sweep later, or this call.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import RefusedError, UsageError
from coordpath_governance.governance.attach import REPORT_FILES, attach, report_folder
from coordpath_governance.governance.governed_report import GovernedModel
from coordpath_governance.governance.version_report import report_on_versions
from coordpath_governance.ledger.store import find_ledger
from coordpath_governance.reference.logged import Role
from coordpath_governance.reference.sources import TableSource, open_source
from coordpath_governance.registry.attachments import read_attachments
from coordpath_governance.registry.client_registry import registry_guard
from coordpath_governance.registry.connection import connect, registry_errors, registry_uri_in_use
from coordpath_governance.registry.origin import FACT_TAG
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.reference import reference_of
from coordpath_governance.registry.versions import CHAMPION_ALIAS, ModelPointer, find_champion, point_at, register_version
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import ChangeFacts
from coordpath_governance.reports.make import ReferenceData, settings_for
from coordpath_governance.reports.stated_facts import objection_to_fact
from coordpath_governance.review.policies import policy_for

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RegisteredVersion", "ReportTerms", "fact_tags", "register_with_report", "report_on_registered"]


@dataclass(frozen=True)
class RegisteredVersion:
    """A version that was registered. ``report`` is None if it has none yet; then ``why_no_report`` says why."""

    name: str
    version: str
    report: ChangeReport | None
    why_no_report: str | None


@dataclass(frozen=True)
class ReportTerms:
    """The reference data of a report, as far as no policy pins them, and where the ledger is."""

    data: str | Path | pd.DataFrame | None = None
    target: str | None = None
    weight: str | None = None
    role: Role | None = None
    period: str | None = None
    ledger: str | None = None


def register_with_report(
    model_uri: str,
    name: str,
    *,
    reason: str | None = None,
    change_type: str | None = None,
    planned: str | None = None,
    monitoring: str | None = None,
    rollback: str | None = None,
    implementation_date: str | None = None,
    notification_deadline: str | None = None,
    data: str | Path | pd.DataFrame | None = None,
    target: str | None = None,
    weight: str | None = None,
    role: Role | None = None,
    period: str | None = None,
    tags: Mapping[str, object] | None = None,
    ledger: str | None = None,
    await_registration_for: int = 300,
) -> RegisteredVersion:
    """Register ``model_uri`` as a new version of ``name`` and make and attach its change report.

    ``reason`` … ``notification_deadline`` become version tags (``coordpath.reason`` …) and are shown in the report as the
    author's words; dates are written YYYY-MM-DD. On a guarded server the server makes the report while it registers, and
    this call fetches it. Under an adopted policy the report is made on the data that the policy pins; else on ``data``, a
    path or a DataFrame with the column ``target``, or on what the model's run logged. ``ledger`` is where the ledger is, if
    it is not beside the registry.

    A report that cannot be made or fetched is a warning, and ``why_no_report`` of what is returned: the version is
    registered all the same. Raises `UsageError` before anything is registered if a fact is no text, too long, or no date
    where one is asked for; and whatever `mlflow.register_model` raises.
    """
    facts = {
        "reason": reason,
        "change_type": change_type,
        "planned": planned,
        "monitoring": monitoring,
        "rollback": rollback,
        "implementation_date": implementation_date,
        "notification_deadline": notification_deadline,
    }
    client = connect()
    version = register_version(model_uri, name, {**(tags or {}), **fact_tags(facts)}, await_registration_for)
    terms = ReportTerms(data=data, target=target, weight=weight, role=role, period=period, ledger=ledger)
    return report_on_registered(client, name, version, terms)


def report_on_registered(client: RegistryClient, name: str, version: str, terms: ReportTerms) -> RegisteredVersion:
    """Report on a version that was just registered. If there is no report, the result says why; nothing is raised."""
    try:
        report = _report(client, name, version, terms)
    except Exception as error:  # noqa: BLE001 - the version has been registered, whatever keeps us from explaining it
        why = str(error) or type(error).__name__
        warnings.warn(f"version {version} of '{name}' is registered, but has no report: {why}", stacklevel=3)
        return RegisteredVersion(name, version, None, why)
    return RegisteredVersion(name, version, report, None)


def fact_tags(facts: Mapping[str, str | None]) -> dict[str, str]:
    """The tags for these facts. Raises `UsageError` for a fact that a report could not use."""
    tags = {}
    for fact, text in facts.items():
        if text is None:
            continue
        if not isinstance(text, str):
            raise UsageError(f"{fact}= is {text!r}; give a text, or leave it out")
        objection = objection_to_fact(fact, text) if text.strip() else "is blank"
        if objection:
            raise UsageError(f"{fact}= {objection}")
        tags[FACT_TAG + fact] = text
    return tags


def _report(client: RegistryClient, name: str, version: str, terms: ReportTerms) -> ChangeReport:
    """The report that the registry made already, else one made here."""
    candidate = point_at(client, name, version)
    guard = registry_guard(client, name)
    if guard is not None:
        attached = _attached(client, find_champion(client, name, guard.alias), candidate)
        if attached is not None:
            return attached
    governed = _governed(client, name, terms.ledger)
    if governed is not None:
        alias = governed.adopted.policy.usual_alias
        champion = find_champion(client, name, alias)
        report = governed.make(champion, candidate, ChangeFacts(), alias=alias, data=_pinned_file(terms.data))
        governed.conclude(champion, candidate, report, alias)
        return report
    if guard is not None:
        raise RefusedError(
            "the guarded registry made none while it registered the version. One that takes long is there soon after; "
            f"otherwise the registry's log says why, and `coordpath report {quote(name)} --candidate {version}` or "
            "`coordpath sweep` makes it where its ledger is"
        )
    champion = find_champion(client, name, CHAMPION_ALIAS)
    reference = _reference(client, candidate, terms)
    report = report_on_versions(client, champion, candidate, reference, facts=ChangeFacts(), settings=settings_for())
    attach(client, champion, candidate, report, now=datetime.now(timezone.utc).isoformat(timespec="seconds"))
    return report


def _attached(client: RegistryClient, champion: ModelPointer | None, candidate: ModelPointer) -> ChangeReport | None:
    """The attached report, if it is complete: its digest is the one that the version's tag names."""
    content = read_attachments(candidate, report_folder(champion, candidate), REPORT_FILES[:1]).get(REPORT_FILES[0])
    if content is None:
        return None
    with registry_errors(f"reading the tags of {candidate.uri}"):
        tags = client.get_model_version(*candidate.registered).tags
    return ChangeReport.from_bytes(content) if tags.get("coordpath.report_sha256") == sha256_hex(content) else None


def _governed(client: RegistryClient, name: str, ledger: str | None) -> GovernedModel | None:
    """The model under its policy; None where there is no ledger, or no policy matches."""
    opened = find_ledger(registry_uri_in_use(), ledger)
    if opened is None:
        return None
    try:
        return GovernedModel(client, opened, policy_for(opened, name))
    except RefusedError:
        return None


def _pinned_file(data: str | Path | pd.DataFrame | None) -> Path | None:
    """``data`` as a path. Raises `UsageError` for a table in memory, because a policy pins the bytes of a file."""
    if data is None or isinstance(data, str | Path):
        return None if data is None else Path(data)
    raise UsageError("a policy pins the reference data by their bytes: give data= as a path, or leave it out")


def _reference(client: RegistryClient, candidate: ModelPointer, terms: ReportTerms) -> ReferenceData:
    if terms.data is None:
        return reference_of(
            client, candidate, target=terms.target, weight=terms.weight, role=terms.role, period=terms.period, missing="fail"
        )
    if terms.target is None:
        raise UsageError("target= is missing: name the column of data that both models predict")
    rows = open_source(Path(terms.data)) if isinstance(terms.data, str | Path) else TableSource(terms.data)
    return ReferenceData(rows, terms.target, weight=terms.weight, role=terms.role or "not stated", period=terms.period)
