"""Recheck a report on two decision trees: compose it again from its own evidence, prove the order again, and the data again.

The evidence are both trees, the sums over the rows by step (`problem.terms`), and what only rows can tell.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.alignment.tree_units import align_trees
from coordpath_governance.errors import CoordpathError, ReportFormatError
from coordpath_governance.models.tree_document import is_tree_document, tree_from_document
from coordpath_governance.paths.certificate import OPTIMAL_GAP
from coordpath_governance.paths.splits.split_loss import SplitLoss
from coordpath_governance.paths.splits.tree_change import TreeChange
from coordpath_governance.reports.compose import ReportInputs
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.reports.tree_evidence import proved_again, recorded_path, split_loss_of
from coordpath_governance.reports.trees import TreeFindings, compose_trees

__all__ = ["TreeEvidence", "certificate_findings", "composed_again", "tree_evidence_of"]

_LAST_PLACES = 1e-12


@dataclass(frozen=True)
class TreeEvidence:
    """What a report on trees rests on."""

    change: TreeChange
    loss: SplitLoss
    has_champion: bool


def tree_evidence_of(document: ChangeReportDocument) -> TreeEvidence:
    """Read the evidence in a report; `ReportFormatError` if it contradicts itself so far that it cannot be read."""
    champion, candidate = document.models.get("champion"), document.models.get("candidate")
    problem = document.problem
    try:
        if not is_tree_document(candidate) or (champion is not None and not is_tree_document(champion)):
            raise ReportFormatError("models: are not both decision trees")
        old = None if champion is None else tree_from_document(champion)
        change = align_trees(old, tree_from_document(candidate or {}))
        loss = split_loss_of(change, problem)
        steps = len(document.path.steps)
        if document.tree is None or document.rows is None or len(document.rows.step_se) != steps:
            raise ReportFormatError("the report does not say what the rows tell of every step")
        if document.tree.classes != change.new.classes or len(change.new.classes) > 2:
            raise ReportFormatError("tree.classes: are not the classes of the trees")
        settings = document.settings
        if (problem.get("gamma"), problem.get("max_steps")) != (settings.gamma, settings.max_steps):
            raise ReportFormatError("problem: is not the one that the settings ask for")
    except (CoordpathError, OverflowError) as error:
        raise ReportFormatError(f"the evidence in the report cannot be read: {error}") from error
    return TreeEvidence(change, loss, champion is not None)


def composed_again(document: ChangeReportDocument, evidence: TreeEvidence) -> ChangeReportDocument:
    """The report that follows from the evidence, for the recorded order and the recorded bound."""
    if document.tree is None or document.rows is None:
        raise ReportFormatError("the report does not say what the rows tell")
    told = ReportInputs(
        document.subject,
        document.facts,
        document.data,
        document.settings,
        document.recheck.versions,
        environments=document.environments,
        edition=document.edition,
    )
    path = recorded_path(evidence.loss, document.path, document.settings)
    found = TreeFindings(evidence.loss, path, document.rows, document.tree)
    return compose_trees(told, evidence.has_champion, evidence.change, found)


def certificate_findings(document: ChangeReportDocument, evidence: TreeEvidence) -> list[str]:
    """Solve again: the recorded claim must not be stronger than what is proved now."""
    recorded, again = document.path, proved_again(evidence.loss, document.settings)
    certificate = again.certificate
    excess = certificate.objective - again.weight * again.least
    tolerance = OPTIMAL_GAP * max(excess, 0.0) + _LAST_PLACES * abs(certificate.objective)
    findings = []
    if recorded.lower_bound > certificate.lower_bound + tolerance:
        proved = certificate.lower_bound
        findings.append(f"lower bound {recorded.lower_bound!r} is higher than the {proved!r} that can be proved")
    if recorded.status == "optimal" and recorded.objective > certificate.objective + tolerance:
        findings.append(f"called optimal at {recorded.objective!r}, but {certificate.objective!r} is possible")
    if recorded.status == "optimal" and certificate.status != "optimal":
        findings.append(f"called optimal, but only '{certificate.status}' can be re-established")
    if recorded.objective < certificate.lower_bound - tolerance:
        findings.append(f"objective {recorded.objective!r} is below what any order can reach, {certificate.lower_bound!r}")
    if recorded.solver != certificate.solver:
        findings.append(f"called found by '{recorded.solver}', but it is '{certificate.solver}' that finds it")
    return findings
