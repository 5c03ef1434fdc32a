"""The clock, read only at the border: everything behind it is told the time."""

from __future__ import annotations

from datetime import datetime, timezone

__all__ = ["utc_moment", "utc_now"]


def utc_moment() -> datetime:
    """Now, in UTC."""
    return datetime.now(timezone.utc)


def utc_now() -> str:
    """Now, in UTC, to the second."""
    return utc_moment().isoformat(timespec="seconds")
