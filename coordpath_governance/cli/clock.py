"""The clock, read by commands only: all other code gets the time as an argument."""

from __future__ import annotations

from datetime import datetime, timezone

__all__ = ["utc_moment", "utc_now"]


def utc_moment() -> datetime:
    """Now, in UTC."""
    return datetime.now(timezone.utc)


def utc_now() -> str:
    """Now, in UTC, to the second."""
    return utc_moment().isoformat(timespec="seconds")
