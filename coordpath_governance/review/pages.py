"""What people read of a report: the recorded bytes of its pages, and whether the attached files are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import NotFoundError, RegistryError
from coordpath_governance.reports.document import REPORT_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordpath_governance.ledger.events import ReportMade
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.policy.rules.base import PageState
    from coordpath_governance.review.ports import AliasRegistry

__all__ = ["changed_pages", "page_states", "recorded_files"]


def recorded_files(ledger: Ledger, report: ReportMade) -> dict[str, bytes] | None:
    """All files of a report by name, as the ledger keeps them; None if the entry, an older one, names no pages."""
    if report.pages is None:
        return None
    return {file: ledger.blob(digest) for file, digest in _digests(report, report.pages).items()}


def page_states(registry: AliasRegistry, name: str, report: ReportMade) -> dict[str, PageState] | None:
    """For each file of a report, whether the attached one is the recorded one; None if no pages are on record."""
    if report.pages is None:
        return None
    recorded = _digests(report, report.pages)
    try:
        attached = registry.attached(name, report.champion, report.version, tuple(recorded))
    except (NotFoundError, RegistryError):
        return dict.fromkeys(recorded, "not known")
    return {file: _state(digest, attached.get(file)) for file, digest in recorded.items()}


def changed_pages(states: Mapping[str, PageState] | None) -> dict[str, PageState]:
    """The files that are known not to be the recorded ones."""
    return {file: state for file, state in (states or {}).items() if state in ("changed", "missing")}


def _digests(report: ReportMade, pages: Mapping[str, str]) -> dict[str, str]:
    return {REPORT_FILE: report.report, **{file: pages[file] for file in sorted(pages)}}


def _state(recorded: str, attached: bytes | None) -> PageState:
    if attached is None:
        return "missing"
    return "as recorded" if sha256_hex(attached) == recorded else "changed"
