"""What `coordpath report --json` prints: the report in short, where it is attached, and what the gate says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordpath_governance.cli.answer_document import answer_document, print_json

if TYPE_CHECKING:
    from coordpath_governance.governance.attach import Attached
    from coordpath_governance.governance.governed_report import GovernedModel
    from coordpath_governance.registry.versions import ModelPointer
    from coordpath_governance.rendering.change_report import ChangeReport
    from coordpath_governance.review.gate import Answer

__all__ = ["REPORT_SCHEMA", "print_report"]

REPORT_SCHEMA = "coordpath.report/1"
_OF_THE_GATE = ("alias", "verdict", "reason", "materiality", "policy", "rules", "missing")


def print_report(
    report: ChangeReport,
    champion: ModelPointer | None,
    candidate: ModelPointer,
    exit_code: int,
    attached: Attached | None = None,
    answer: Answer | None = None,
    governed: GovernedModel | None = None,
) -> int:
    """Print the document and return ``exit_code``. Without a policy the verdict is "not assessed" and there are no rules."""
    document = report.document
    path = document.path
    gate: dict[str, Any] = dict.fromkeys(_OF_THE_GATE) | {"verdict": "not assessed", "rules": [], "missing": []}
    if answer is not None and governed is not None:
        name, version = str(candidate.name), str(candidate.version)
        said = answer_document(answer, governed.adopted, governed.ledger, name, version)
        gate = {key: said[key] for key in _OF_THE_GATE}
    print_json(
        {
            "schema": REPORT_SCHEMA,
            "name": document.subject.name,
            "version": candidate.version,
            "champion": None if champion is None else champion.version or champion.uri,
            "digest": document.digest,
            "sha256": report.sha256,
            "path": {"status": path.status, "gap": path.gap, "steps": len(path.steps)},
            "folder": None if attached is None else attached.folder,
            "attached": attached is not None,
            "new": attached is not None and attached.new,
            "replaced": None if attached is None else attached.replaced,
            **gate,
            "exit_code": exit_code,
        }
    )
    return exit_code
