"""Checks that no policy switches off and nobody waives: pinned data and settings, a proof, digests, declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from coordpath_governance.models.coefficients_json import DECLARED
from coordpath_governance.numbers import percent
from coordpath_governance.policy.document import PinnedReference, Policy
from coordpath_governance.policy.results import Finding, RuleResult, combine, listed
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.text import visible

__all__ = ["BUILT_IN", "built_in_results"]

BUILT_IN = ("reference data", "reference settings", "order of the steps", "model digests", "declared coefficients")
_SHORT = 12
_DIGEST = re.compile(r"[0-9a-f]{64}")


def built_in_results(policy: Policy, document: ChangeReportDocument) -> Iterator[RuleResult]:
    """All of them, in the order of `BUILT_IN`; of declared coefficients only where there are any."""
    data, settings, order, digests, declared = BUILT_IN
    yield _reference_data(data, policy.reference, document)
    yield combine(settings, [_settings(policy.reference, document)], "fail")
    yield combine(order, [_order(document, has_gap_rule="gap" in policy.rules.model_fields_set)], "review")
    yield combine(digests, [_digests(document)], "fail")
    sides: list[str] = [
        who for who, model in document.models.items() if model is not None and model.get("source") == DECLARED
    ]
    if sides:
        yield combine(declared, [_declared(sides)], "review")


def _reference_data(rule: str, pinned: PinnedReference, document: ChangeReportDocument) -> RuleResult:
    """The pinned bytes in the pinned role. Moments that an author logged are never enough by themselves."""
    data = document.data
    observed = f"{visible(data.sha256[:_SHORT])}, {data.role}" + (", logged moments" if data.kind == "moments" else "")
    limit = f"{pinned.sha256[:_SHORT]}, {pinned.role}"
    if data.sha256 != pinned.sha256:
        why = "These are not the reference data that the policy pins: make the report with them."
    elif data.role != pinned.role:
        why = f"The policy says that these data are {pinned.role}: make the report with that role."
    elif data.kind == "moments":
        why = "Moments that the author logged cannot give a pass by themselves: pin rows, or let a person decide."
        return combine(rule, [Finding(observed, limit, met=False, reason=why)], "review")
    else:
        return combine(rule, [Finding(observed, limit, met=True)], "fail")
    return combine(rule, [Finding(observed, limit, met=False, reason=why)], "fail")


def _settings(pinned: PinnedReference, document: ChangeReportDocument) -> Finding:
    """Target, weight and what else the policy pins of how a report is made."""
    data, settings = document.data, document.settings
    wanted = {
        "target": (pinned.target, data.target),
        "weight": (pinned.weight, data.weight),
        "missing": (pinned.missing, data.missing),
        "threshold": (pinned.threshold, settings.threshold),
        "segments": (sorted(pinned.segments), sorted(settings.segments)),
        "max_steps": (pinned.max_steps, settings.max_steps),
        "gamma": (pinned.gamma, settings.gamma),
        "offset": (pinned.offset, data.offset),
        "exposure": (pinned.exposure, data.exposure),
        "champion's threshold": (None, settings.champion_threshold),
    }
    if pinned.period is not None:
        wanted["period"] = (pinned.period, data.period)
    other = [name for name, (want, found) in wanted.items() if want != found]
    why = f"Other than the policy pins: {listed(other)}; make the report as pinned." if other else ""
    return Finding(f"other than pinned: {listed(other)}" if other else "all as pinned", "all as pinned", not other, why)


def _order(document: ChangeReportDocument, *, has_gap_rule: bool) -> Finding:
    """A proved order, or a bounded one where a rule says how large the gap may be."""
    path = document.path
    limit = "proved, or within the gap rule"
    if path.status == "optimal":
        return Finding("proved optimal", limit, met=True)
    if path.status == "heuristic":
        return Finding(
            "not established", limit, met=False, reason="No bound was established: a person has to look at the order."
        )
    why = "" if has_gap_rule else "The order is only bounded, and no rule 'gap' says how far is near enough."
    return Finding(f"bounded, gap {percent(path.gap)}", limit, has_gap_rule, why)


def _declared(sides: list[str]) -> Finding:
    """Coefficients that an author wrote beside a model nobody could read: whether it predicts by them is not known."""
    why = (
        f"The coefficients of the {' and the '.join(sides)} are what the author declares of a model that cannot be read: a "
        "person has to vouch that it predicts by them."
    )
    return Finding(f"declared, of the {' and the '.join(sides)}", "read from the model's files", met=None, reason=why)


def _digests(document: ChangeReportDocument) -> Finding:
    """An approval binds both models byte for byte, so both must be known byte for byte."""
    sides = [("candidate", document.subject.candidate), ("champion", document.subject.champion)]
    missing = [who for who, side in sides if side is not None and not _DIGEST.fullmatch(side.digest or "")]
    why = f"No digest of the {' and the '.join(missing)}: make the report from registered versions." if missing else ""
    return Finding(f"missing: {listed(missing)}" if missing else "all there", "of both versions", not missing, why)
