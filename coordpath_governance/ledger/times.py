"""Times of the ledger: UTC with microseconds, as text that sorts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, Field

__all__ = ["LAST_MILLISECOND", "Time", "moment", "shown_milliseconds"]

LAST_MILLISECOND = 253_402_300_799_999
"""Of the year 9999, counted since 1970."""

_THOUSAND = 1000


def moment(text: str) -> datetime:
    """The time that a text names."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _real(text: str) -> str:
    try:
        moment(text)
    except ValueError as error:
        raise ValueError(f"'{text}' is not a time in the calendar: {error}") from None
    return text


Time = Annotated[
    str,
    Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"),
    AfterValidator(_real),
]


def shown_milliseconds(since_1970: int) -> str:
    """A registry's time for people, to the millisecond."""
    time = datetime.fromtimestamp(since_1970 / _THOUSAND, UTC)
    return f"{time:%Y-%m-%d %H:%M:%S}.{since_1970 % _THOUSAND:03d} UTC"
