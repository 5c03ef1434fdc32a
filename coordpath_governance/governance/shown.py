"""What a registry shows of a version, in its tags and in our part of its description: kept to what holds now.

No decision relies on it. What a person wrote in the description stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol

from coordpath_governance.governance.decision_files import put_decisions
from coordpath_governance.registry.attachments import attaching, folder_between, present_attachments
from coordpath_governance.registry.versions import point_at_version
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.rendering.render import Conclusion, render_conclusion_markdown, render_summary_markdown
from coordpath_governance.reports.document import HTML_PAGE, REPORT_FILE
from coordpath_governance.review.gate import ask_gate
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.pages import recorded_files
from coordpath_governance.review.policies import policy_for
from coordpath_governance.review.ports import AliasRegistry
from coordpath_governance.review.status import VersionStatus, version_status

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.registry.ports import VersionClient
    from coordpath_governance.review.gate import Answer

__all__ = [
    "COMPLETENESS_TAG",
    "DECISION_TAG",
    "PLACE_TAG",
    "VERDICT_TAG",
    "conclusion_of",
    "described",
    "report_tags",
    "show_after_promotion",
    "show_version",
    "status_tags",
]

VERDICT_TAG = "coordpath.verdict"
DECISION_TAG = "coordpath.decision"
PLACE_TAG = "coordpath.report_path"
COMPLETENESS_TAG = "coordpath.report_sha256"
_NO_DECISION = "none"
_NO_CHAMPION = "none"
_MARKS = {"pass": "✔", "review": "◆", "fail": "✖", None: "▷"}

BEGIN, END = "<!-- coordpath:begin -->", "<!-- coordpath:end -->"
MAX_CHARACTERS = 5000
_BLOCK = re.compile(rf"{re.escape(BEGIN)}(?:(?!{re.escape(BEGIN)}).)*?{re.escape(END)}", re.DOTALL)


class VersionRegistry(AliasRegistry, Protocol):
    """A registry behind the guard, with the MLflow client that tags its versions."""

    @property
    def client(self) -> VersionClient:
        """The client that reads and marks its versions, unguarded."""
        ...


def show_version(
    client: VersionClient,
    ledger: Ledger,
    name: str,
    version: str,
    ask: Callable[[], Answer] | None = None,
) -> None:
    """Set tags and description of a version to what was decided, or to what the gate says (see `version_status`).

    Decisions are also recorded and attached, if this process has the service key. Raises `AttachError` if the registry
    refuses, and what ``ask`` raises.
    """
    put_decisions(client, ledger, name, version)
    status = version_status(ledger, name, version, ask)
    if status is None:
        return
    with attaching(f"refreshing the tags and the description of version {version} of '{name}'"):
        stored = client.get_model_version(name, version)
        tags = status_tags(status, stored.tags) | _tags_of_report(client, ledger, name, status, stored.tags)
        for key, value in tags.items():
            if stored.tags.get(key) != value:
                client.set_model_version_tag(name, version, key, value)
        current = stored.description or ""
        description = described(current, _summary(ledger, name, status))
        if description != current:
            client.update_model_version(name, version, description=description)


def show_after_promotion(registry: VersionRegistry, ledger: Ledger, name: str, version: str) -> None:
    """`show_version` for a version that a promotion concerns. A version that was deleted shows nothing.

    The version that has the alias was judged a moment ago; for any other version the gate is asked again.
    """
    created = registry.created(name, version)
    if created is None or created.version is None:
        return
    history = ModelHistory(ledger.entries(name))
    stands = version in (history.standing(alias).version for alias in history.aliases)
    show_version(registry.client, ledger, name, version, None if stands else partial(_ask, registry, ledger, name, version))


def _ask(registry: VersionRegistry, ledger: Ledger, name: str, version: str) -> Answer:
    adopted = policy_for(ledger, name)
    return ask_gate(ledger, registry, adopted, name=name, alias=adopted.policy.usual_alias, version=version, record=False)


def status_tags(status: VersionStatus, current: Mapping[str, str]) -> dict[str, str]:
    """The tags for a status. A decision that does not count any more is set to "none", because our tags are not deleted."""
    tags: dict[str, str] = {} if status.verdict is None else {VERDICT_TAG: status.verdict}
    if status.decision is not None or DECISION_TAG in current:
        tags[DECISION_TAG] = status.decision or _NO_DECISION
    return tags


def report_tags(report: ChangeReport, folder: str, champion: str | None) -> dict[str, str]:
    """The tags that lead to a report in ``folder`` and tell what it is about, the one that tells a whole report last.

    ``champion`` is the version, or the URI, of the model that the change starts from.
    """
    document = report.document
    candidate = document.subject.candidate
    return {
        PLACE_TAG: folder,
        "coordpath.champion_version": champion or _NO_CHAMPION,
        "coordpath.status": document.path.status,
        "coordpath.steps": str(len(document.path.steps)),
        "coordpath.subject": f"{candidate.name}/{candidate.version}@sha256:{candidate.digest}",
        COMPLETENESS_TAG: report.sha256,
    }


def _tags_of_report(
    client: VersionClient,
    ledger: Ledger,
    name: str,
    status: VersionStatus,
    current: Mapping[str, str],
) -> dict[str, str]:
    """The tags of the report that a status is about, if they say something else and it lies whole where they lead."""
    made = status.report
    if made is None or ModelHistory(ledger.entries(name)).retired(made.version):
        return {}
    folder = folder_between(name, made.champion, made.version)
    tags = report_tags(ChangeReport.from_bytes(ledger.blob(made.report)), folder, made.champion)
    if tags.items() <= current.items():
        return {}
    pointer = point_at_version(client, name, made.version)
    if pointer.gone is not None:
        return {}
    recorded = recorded_files(ledger, made) or {REPORT_FILE: ledger.blob(made.report)}
    return tags if present_attachments(client, pointer, folder, recorded) == recorded else {}


def conclusion_of(status: VersionStatus) -> Conclusion:
    """A status as a page says it."""
    return Conclusion(_MARKS[status.verdict], status.word, status.text)


def _summary(ledger: Ledger, name: str, status: VersionStatus) -> str:
    conclusion, report = conclusion_of(status), status.report
    if report is None:
        return render_conclusion_markdown(conclusion)
    document = ChangeReport.from_bytes(ledger.blob(report.report)).document
    return render_summary_markdown(
        document, f"{folder_between(name, report.champion, report.version)}/{HTML_PAGE}", conclusion
    )


def described(current: str, summary: str) -> str:
    """``current`` with our block replaced, or added at the end; what a person wrote is kept as it is.

    If both do not fit, our block is left out: what a person wrote is never cut.
    """
    block = f"{BEGIN}\n{summary.strip()}\n{END}"
    match = _BLOCK.search(current)
    if match is None:
        whole, own = f"{current.rstrip()}\n\n{block}" if current.strip() else block, current
    else:
        before, after = current[: match.start()], _BLOCK.sub("", current[match.end() :])
        whole, own = f"{before}{block}{after}", f"{before}{after}"
    return whole if len(whole) <= MAX_CHARACTERS else own
