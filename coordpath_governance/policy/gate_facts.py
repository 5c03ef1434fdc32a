"""What only the gate knows: the time, and what was promoted before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from coordpath_governance.reports.document import ChangeReportDocument

__all__ = ["GateFacts", "PageState", "days_between"]

PageState = Literal["as recorded", "changed", "missing", "not known"]


@dataclass(frozen=True)
class GateFacts:
    """``since_validation``: promoted changes since the last full validation, oldest first; ``validated_at`` None: never.

    ``vouched``: of "champion" and "candidate" those whose declared coefficients enough people vouch for, and who they are;
    ``too_few``: those for whom one more person has to, since nobody vouches for who registered them. ``champion_gone``: the
    files of the champion are not there any more. ``pages``: of each file of the report whether the one beside the version is
    the recorded one; None where no pages are on record.
    """

    now: str
    report_made_at: str
    since_validation: tuple[ChangeReportDocument, ...] = ()
    validated_at: str | None = None
    vouched: Mapping[str, str] = field(default_factory=dict)
    too_few: Mapping[str, str] = field(default_factory=dict)
    champion_gone: bool = False
    pages: Mapping[str, PageState] | None = None


def days_between(earlier: str, later: str) -> float | None:
    """Days from one time (ISO 8601 with its zone) to another; None if one is no such time, or they run backwards."""
    try:
        start, end = (datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (earlier, later))
        passed = (end - start) / timedelta(days=1)
    except (ValueError, TypeError):
        return None
    return passed if passed >= 0 else None
