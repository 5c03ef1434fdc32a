"""A report under the policy that a model is under: on the pinned data, assessed, recorded, attached and attested."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from coordpath_governance.attestation.attest import attest
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.policy.assess import assess
from coordpath_governance.registry.attach import Attached, attach
from coordpath_governance.registry.client_registry import ClientRegistry
from coordpath_governance.registry.declared import declared_in
from coordpath_governance.registry.pinned import pinned_reference, pinned_settings
from coordpath_governance.registry.recalled import recalled_in
from coordpath_governance.registry.verdict_file import Verdict
from coordpath_governance.registry.version_report import report_on_versions
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.reports.change_report import ChangeReport
from coordpath_governance.reports.document import Assessment, ChangeFacts
from coordpath_governance.reports.make import Progress
from coordpath_governance.review.adopted import AdoptedPolicy
from coordpath_governance.review.belonging import check_belongs
from coordpath_governance.review.gate import Answer, ask_gate, record_report
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.readiness import gate_word
from coordpath_governance.signing.keys import PrivateKey

__all__ = ["GovernedModel"]


@dataclass(frozen=True)
class GovernedModel:
    """A registered model under a policy, with the client and the ledger that know it."""

    client: Any
    ledger: Ledger
    adopted: AdoptedPolicy

    def make(
        self,
        champion: ModelPointer | None,
        candidate: ModelPointer,
        facts: ChangeFacts,
        alias: str,
        data: Path | None = None,
        progress: Progress | None = None,
    ) -> ChangeReport:
        """The report as the policy wants it, with what the gate says of it before any decision."""
        policy = self.adopted.policy
        with pinned_reference(policy, data) as reference:
            settings, declared = pinned_settings(policy), declared_in(self.ledger)
            recalled = recalled_in(self.ledger, alias)
            report = report_on_versions(
                self.client, champion, candidate, reference, facts, settings, progress, declared, recalled
            )
        name, version = str(candidate.name), str(candidate.version)
        return ChangeReport(
            assess(report.document, policy, gate_word(self.ledger, report.document, policy, name, alias, version))
        )

    def explained_from(self, champion: ModelPointer | None, alias: str) -> ModelPointer | None:
        """The champion, or None if a policy-admin took it under guard when nobody knew what it was any more."""
        if champion is None or champion.name is None:
            return champion
        standing = ModelHistory(self.ledger.entries(champion.name)).standing(alias)
        return None if standing.version == champion.version and standing.digest is None else champion

    def conclude(
        self, champion: ModelPointer | None, candidate: ModelPointer, report: ChangeReport, alias: str
    ) -> tuple[Answer, Attached]:
        """Record the report, ask the gate, attach everything. Done again, it changes nothing.

        Raises `ForeignRegistryError`, and does nothing, if the ledger belongs to another registry.
        """
        name, version = str(candidate.name), str(candidate.version)
        check_belongs(self.ledger, ClientRegistry(self.client), name)
        record_report(self.ledger, report)
        answer = ask_gate(self.ledger, ClientRegistry(self.client), self.adopted, name, alias, version)
        verdict = self._told(answer)
        key = self.ledger.signing_key()
        sign = None if key is None else partial(self._attested, report, verdict, key)
        now = self.ledger.now()
        return answer, attach(self.client, champion, candidate, report, now, verdict, sign, replace=True)

    def _told(self, answer: Answer) -> Verdict:
        readiness = answer.readiness
        if readiness is None:
            return Verdict(answer.verdict, answer.reason, None, self.adopted.sha256, answer.alias)
        return Verdict(
            answer.verdict,
            answer.reason,
            readiness.judgement.materiality,
            self.adopted.sha256,
            answer.alias,
            readiness.facts().rules,
            readiness.missing,
        )

    def _attested(self, report: ChangeReport, verdict: Verdict, key: PrivateKey, digests: dict[str, str], now: str) -> bytes:
        """attestation.json; the same for the same time."""
        told = Assessment(verdict=verdict.verdict, reason=verdict.reason, materiality=verdict.materiality)
        policy, ledger = self.adopted.sha256, self.ledger.id
        return attest(report.document, digests, key, made_at=now, assessment=told, policy=policy, ledger=ledger)
