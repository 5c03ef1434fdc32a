"""A report under the policy that a model is under: on the pinned data, assessed, recorded, attached and attested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote

from coordpath_governance.attestation.attest import attest
from coordpath_governance.errors import UsageError
from coordpath_governance.governance.attach import Attached, Verdict, attach, put_again, put_files
from coordpath_governance.governance.decision_files import put_decisions
from coordpath_governance.governance.declared import declared_in
from coordpath_governance.governance.pinned import pinned_reference, pinned_settings
from coordpath_governance.governance.shown import show_version
from coordpath_governance.governance.version_report import recalled_in, report_on_versions
from coordpath_governance.ledger.events import ReportMade
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.policy.judge import assess
from coordpath_governance.registry.attachments import folder_between
from coordpath_governance.registry.client_registry import ClientRegistry
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import REPORT_FILE, Assessment, ChangeFacts
from coordpath_governance.reports.make import Progress
from coordpath_governance.review.belonging import check_belongs
from coordpath_governance.review.gate import Answer, ask_gate, record_report
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.pages import changed_pages, page_states, recorded_files
from coordpath_governance.review.policies import AdoptedPolicy
from coordpath_governance.review.readiness import gate_word
from coordpath_governance.review.status import version_status
from coordpath_governance.signing.keys import PrivateKey

__all__ = ["GovernedModel"]

_DIGITS = 12
"""Of a SHA-256 in a sentence."""


@dataclass(frozen=True)
class GovernedModel:
    """A registered model under a policy, with the client and the ledger that know it."""

    client: RegistryClient
    ledger: Ledger
    adopted: AdoptedPolicy

    def make(
        self,
        champion: ModelPointer | None,
        candidate: ModelPointer,
        facts: ChangeFacts,
        *,
        alias: str,
        data: Path | None = None,
        progress: Progress | None = None,
    ) -> ChangeReport:
        """The report as the policy asks for it, with the gate's verdict before any decision."""
        policy = self.adopted.policy
        with pinned_reference(policy, data) as reference:
            settings, declared = pinned_settings(policy), declared_in(self.ledger)
            recalled = recalled_in(self.ledger, alias)
            report = report_on_versions(
                self.client,
                champion,
                candidate,
                reference,
                facts=facts,
                settings=settings,
                progress=progress,
                declared=declared,
                recalled=recalled,
            )
        name, version = str(candidate.name), str(candidate.version)
        return self._as_recorded(report, champion, candidate) or ChangeReport(
            assess(
                report.document,
                policy,
                gate_word(self.ledger, report.document, policy, name=name, alias=alias, version=version),
            )
        )

    def explained_from(self, champion: ModelPointer | None, alias: str) -> ModelPointer | None:
        """The champion; None if it was adopted after all that was known about it was gone."""
        if champion is None or champion.name is None:
            return champion
        standing = ModelHistory(self.ledger.entries(champion.name)).standing(alias)
        return None if standing.version == champion.version and standing.digest is None else champion

    def conclude(
        self, champion: ModelPointer | None, candidate: ModelPointer, report: ChangeReport, alias: str
    ) -> tuple[Answer, Attached]:
        """Record the report, ask the gate, attach everything. Done again, it changes nothing.

        Does nothing and raises `ForeignRegistryError` if the ledger belongs to another registry, `UsageError` if the version
        stands by another report on this change: that one stays beside it.
        """
        check_belongs(self.ledger, ClientRegistry(self.client), str(candidate.name))
        _check_replaces_nothing_approved(ModelHistory(self.ledger.entries(str(candidate.name))), report)
        return self._attach(champion, candidate, report, alias, record_report(self.ledger, report))

    def mend(
        self, champion: ModelPointer | None, candidate: ModelPointer, alias: str
    ) -> tuple[ChangeReport, Answer | None, Attached] | None:
        """Attach the recorded files again where others are in their place; decisions about the report stay.

        None if they are as recorded or cannot be looked at, and if the newest report on this change no longer counts: then a
        new one is to be made. A version that was promoted keeps its own, and is not judged again; nor does a report on
        another change than the newest say anything about the version now. Of a version that has ``alias`` no report is
        made again: the files are told to be there.
        """
        name, version = str(candidate.name), str(candidate.version)
        history, registry = ModelHistory(self.ledger.entries(name)), ClientRegistry(self.client)
        check_belongs(self.ledger, registry, name)
        recorded = _report_between(history, champion, candidate)
        files = None if recorded is None else recorded_files(self.ledger, recorded)
        states = None if recorded is None else page_states(registry, name, recorded)
        if recorded is None or files is None or states is None:
            return None
        report, stands = ChangeReport.from_bytes(files[REPORT_FILE]), history.standing(alias).version == version
        if not changed_pages(states):
            unchanged = Attached(folder_between(name, recorded.champion, version), recorded.report, new=False)
            is_settled = "not known" not in states.values() and history.stands_by(version, recorded.champion) == recorded
            return (report, self._shown(name, alias, version), unchanged) if stands and is_settled else None
        if registry.digest(name, version) != recorded.candidate_digest:
            return None
        newest = [each for _, each in history.of(ReportMade) if each.version == version][-1]
        if history.kept(version) is not None or newest != recorded:
            attached = put_again(self.client, champion, candidate, files)
            return report, self._shown(name, alias, version) if stands else None, attached
        applied = report.document.assessment.policy
        if applied is None or applied.sha256 != self.adopted.sha256:
            return None
        return report, *self._attach(champion, candidate, report, alias, files)

    def _shown(self, name: str, alias: str, version: str) -> Answer:
        """The gate's answer for a version that has the alias already; tags and description are brought up to date."""
        answer = ask_gate(
            self.ledger, ClientRegistry(self.client), self.adopted, name=name, alias=alias, version=version, record=False
        )
        show_version(self.client, self.ledger, name, version, lambda: answer)
        return answer

    def _as_recorded(
        self, report: ChangeReport, champion: ModelPointer | None, candidate: ModelPointer
    ) -> ChangeReport | None:
        """The newest recorded report on this change, if it differs from ``report`` by the gate's word only."""
        newest = _report_between(ModelHistory(self.ledger.entries(str(candidate.name))), champion, candidate)
        if newest is None:
            return None
        recorded = ChangeReport.from_bytes(self.ledger.blob(newest.report))
        remade = ChangeReport(assess(report.document, self.adopted.policy, recorded.document.assessment.gate))
        return recorded if remade.sha256 == newest.report else None

    def _attach(
        self,
        champion: ModelPointer | None,
        candidate: ModelPointer,
        report: ChangeReport,
        alias: str,
        recorded: Mapping[str, bytes],
    ) -> tuple[Answer, Attached]:
        """Attach the files, ask the gate, and attach its answer.

        The files come first, because the gate checks what is attached.
        """
        name, version = str(candidate.name), str(candidate.version)
        replaced = put_files(self.client, champion, candidate, recorded)
        answer = ask_gate(self.ledger, ClientRegistry(self.client), self.adopted, name=name, alias=alias, version=version)
        verdict = self._verdict(answer)
        key = self.ledger.signing_key()
        sign = None if key is None else partial(self._attested, report, verdict, key)
        put_decisions(self.client, self.ledger, name, version)
        status, now = version_status(self.ledger, name, version, lambda: answer), self.ledger.now()
        attached = attach(
            self.client,
            champion,
            candidate,
            report,
            now=now,
            verdict=verdict,
            attest=sign,
            replace=True,
            recorded=recorded,
            status=status,
        )
        return answer, replace(attached, replaced=replaced or attached.replaced)

    def _verdict(self, answer: Answer) -> Verdict:
        readiness = answer.readiness
        if readiness is None:
            return Verdict(answer.verdict, answer.reason, policy_sha256=self.adopted.sha256, alias=answer.alias)
        return Verdict(
            answer.verdict,
            answer.reason,
            materiality=readiness.judgement.materiality,
            policy_sha256=self.adopted.sha256,
            alias=answer.alias,
            rules=readiness.facts().rules,
            missing=readiness.missing,
        )

    def _attested(self, report: ChangeReport, verdict: Verdict, key: PrivateKey, digests: dict[str, str], now: str) -> bytes:
        """The bytes of attestation.json; the same time gives the same bytes."""
        assessment = Assessment(verdict=verdict.verdict, reason=verdict.reason, materiality=verdict.materiality)
        policy, ledger = self.adopted.sha256, self.ledger.id
        return attest(report.document, digests, key, made_at=now, assessment=assessment, policy=policy, ledger=ledger)


def _report_between(history: ModelHistory, champion: ModelPointer | None, candidate: ModelPointer) -> ReportMade | None:
    """The report on exactly this change between registered versions of one model: the newest, or what stands by it."""
    if champion is not None and champion.name != candidate.name:
        return None
    before = None if champion is None else champion.version
    stands_by = history.stands_by(str(candidate.version), before)
    if stands_by is not None:
        return stands_by
    newest = history.report(str(candidate.version), before)
    return newest[1] if newest is not None and newest[1].champion == before else None


def _check_replaces_nothing_approved(history: ModelHistory, report: ChangeReport) -> None:
    """`UsageError` if another report would take the place of the one by which a version was promoted and stands now."""
    subject = report.document.subject
    candidate, champion = subject.candidate, subject.champion
    if champion is not None and champion.name != candidate.name:
        return
    approved = history.stands_by(str(candidate.version), None if champion is None else champion.version)
    if approved is None or approved.pages is None or approved.report == report.sha256:
        return
    command = (
        f"coordpath report {quote(subject.name)} --candidate {approved.version} --champion {approved.champion or 'none'}"
    )
    raise UsageError(
        f"version {approved.version} of '{subject.name}' was promoted by another report on this change, of SHA-256 "
        f"{approved.report[:_DIGITS]}…, and that one stays beside it: `{command}` attaches it again if it was changed. "
        "To look at this one, add --no-attach --out FOLDER --data FILE --target COL"
    )
