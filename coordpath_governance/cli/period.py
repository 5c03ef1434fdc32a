"""A period of time as people give it: a date, or a date and time, in UTC unless it says otherwise."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from coordpath_governance.errors import UsageError

__all__ = ["first_moment", "last_moment"]

_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_LENGTH_OF_A_DATE = 10
_DAY = timedelta(days=1) - timedelta(microseconds=1)


def first_moment(option: str, text: str) -> str:
    """The first moment that is meant, as the ledger writes times. Raises `UsageError` if ``text`` is not a time."""
    return _written(option, text, timedelta(0))


def last_moment(option: str, text: str) -> str:
    """The last moment that is meant: of a date, the end of that day. Raises `UsageError` if ``text`` is not a time."""
    return _written(option, text, _DAY)


def _written(option: str, text: str, of_a_date: timedelta) -> str:
    wrong = UsageError(
        f"{option}: '{text[:80]}' is not a time; give a date such as 2026-03-31, or 2026-03-31T17:00:00 (UTC)"
    )
    if not _TIME.fullmatch(text):
        raise wrong
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if len(text) == _LENGTH_OF_A_DATE:
            moment += of_a_date
        utc = moment if moment.tzinfo is None else moment.astimezone(timezone.utc).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise wrong from None
    return utc.isoformat(timespec="microseconds") + "Z"
