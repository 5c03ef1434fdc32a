"""The certificate level: the recorded solution, and whether its optimality or its bound can be proved proved."""

from __future__ import annotations

from coordpath_governance.errors import UnknownSetError
from coordpath_governance.paths import Certificate, PathProblem, Solution, evaluate_order, solve_problem
from coordpath_governance.paths.certificate import OPTIMAL_GAP
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.reports.steps import Labels
from coordpath_governance.verification.result import Check

__all__ = ["check_certificate", "recorded_solution"]

_LAST_PLACES = 1e-14
"""Objectives are written in double precision: two that are the same may differ by this part of them."""


def recorded_solution(document: ChangeReportDocument, problem: PathProblem, labels: Labels) -> Solution:
    """The solution that the report records: its order, with costs from ``problem``, and its lower bound."""
    position = {labels.unit_of[problem.features[unit.members[0]]]: i for i, unit in enumerate(problem.changed)}
    order = [
        position[unit]
        for step in document.path.steps
        for unit in dict.fromkeys(labels.unit_of.get(move.feature, "") for move in step.moves)
        if unit in position
    ]
    order += [i for i in range(len(problem.changed)) if i not in order]
    fresh = evaluate_order(problem, order)
    certificate = _certificate_with_bound(fresh, problem, document)
    return Solution(problem, fresh.path, certificate)


def _certificate_with_bound(fresh: Solution, problem: PathProblem, document: ChangeReportDocument) -> Certificate:
    """The certificate with the recorded lower bound and status, and the gap that follows from the bound."""
    recorded = document.path
    objective = fresh.certificate.objective
    weight = float(problem.alphas(fresh.path.terms).sum()) if fresh.path.terms else 0.0
    distance = max(objective - recorded.lower_bound, 0.0)
    excess = objective - weight * problem.cost.minimum()
    gap = 0.0 if distance <= _LAST_PLACES * abs(objective) or excess <= 0 else distance / excess
    return Certificate(
        objective=objective,
        lower_bound=recorded.lower_bound,
        gap=gap,
        gap_per_step=distance / weight if weight and gap else 0.0,
        status=recorded.status,
        solver=recorded.solver,
    )


def check_certificate(document: ChangeReportDocument, problem: PathProblem) -> Check:
    """Solve again: what the report claims must not be more than what is proved now."""
    recorded = document.path
    source = "moments" if document.glm is None else "recorded evaluations of the cost"
    claim = f"status '{recorded.status}' and lower bound are re-established from the {source}"
    try:
        proved = solve_problem(problem).certificate
    except UnknownSetError as error:
        return Check("certificate", claim, (str(error),))
    weight = float(problem.alphas(problem.most_terms).sum()) if problem.most_terms else 0.0
    excess = proved.objective - weight * problem.cost.minimum()
    tolerance = OPTIMAL_GAP * max(excess, 0.0) + _LAST_PLACES * abs(proved.objective)
    findings = []
    if recorded.lower_bound > proved.lower_bound + tolerance:
        findings.append(f"lower bound {recorded.lower_bound!r} is higher than the {proved.lower_bound!r} that can be proved")
    if recorded.objective > proved.objective + tolerance and recorded.status == "optimal":
        findings.append(f"called optimal at {recorded.objective!r}, but {proved.objective!r} is possible")
    if recorded.objective < proved.lower_bound - tolerance:
        findings.append(f"objective {recorded.objective!r} is below what any path can reach, {proved.lower_bound!r}")
    if document.glm is not None and recorded.solver != proved.solver:
        findings.append(f"called found by '{recorded.solver}', but it is '{proved.solver}' that finds it")
    if recorded.status == "optimal" and proved.status != "optimal":
        findings.append(f"called optimal, but only '{proved.status}' can be re-established")
    return Check("certificate", claim, tuple(findings))
