"""A change report with the verdict of a policy in it; no clock, so the same report and policy give the same bytes."""

from __future__ import annotations

from coordpath_governance.policy.document import Policy
from coordpath_governance.policy.judge import judge, judge_with
from coordpath_governance.policy.load import policy_sha256
from coordpath_governance.reports.compose import document_digest
from coordpath_governance.reports.document import Assessment, ChangeReportDocument, GateWord, PolicyFacts

__all__ = ["assess"]


def assess(document: ChangeReportDocument, policy: Policy, gate: GateWord | None = None) -> ChangeReportDocument:
    """``document`` under ``policy``: the model's facts, the verdict with every rule, and the digest of it all.

    ``gate`` is what only the gate knew when the report was made; without it the verdict is that of the rules alone.
    """
    judgement = judge(policy, document, edition=document.edition) if gate is None else judge_with(policy, document, gate)
    assessment = Assessment(
        verdict=judgement.verdict,
        reason=judgement.reason,
        materiality=judgement.materiality,
        policy=PolicyFacts(
            name=policy.name,
            sha256=policy_sha256(policy),
            document=policy.model_dump(mode="json", by_alias=True, exclude_unset=True),
        ),
        rules=judgement.results,
        gate=gate,
        materiality_reason=judgement.materiality_reason,
    )
    assessed = document.model_copy(update={"facts": policy.merged_facts(document.facts), "assessment": assessment})
    return assessed.model_copy(update={"digest": document_digest(assessed)})
