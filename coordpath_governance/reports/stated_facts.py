"""The facts that people state about a change: which ones a report asks for, and which texts it accepts."""

from __future__ import annotations

import re
from datetime import date

__all__ = ["ASKED_FACTS", "DATE_FACTS", "LONGEST_FACT", "TAGGABLE_FACTS", "is_date", "objection_to_fact"]

ASKED_FACTS = {
    "owner": "Owner",
    "purpose": "Purpose",
    "tier": "Tier",
    "developer": "Developer",
    "validator": "Validator",
    "reason": "Reason for the change",
    "change_type": "Type of change",
    "planned": "Planned in advance",
    "monitoring": "Monitoring plan",
    "rollback": "Rollback plan",
    "implementation_date": "Implementation date",
    "notification_deadline": "Notification deadline",
}
"""Every fact that a report asks people for, with its name for readers."""

DATE_FACTS = ("implementation_date", "notification_deadline")

TAGGABLE_FACTS = ("reason", "change_type", "planned", "monitoring", "rollback", *DATE_FACTS)
"""The facts that an author may give when registering; those about the model itself are the policy's."""

LONGEST_FACT = 2000
"""Characters of a fact that a tag may hold."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def is_date(text: str) -> bool:
    """Whether ``text`` is a day of the calendar, written YYYY-MM-DD."""
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def objection_to_fact(fact: str, text: str) -> str | None:
    """Why ``text`` cannot be used as the ``fact``, as the end of a sentence; None if it can."""
    if fact in DATE_FACTS and not is_date(text.strip()):
        return "is not a date such as 2026-12-31"
    if any("\ud800" <= char <= "\udfff" for char in text):
        return "is not valid Unicode"
    if len(text) > LONGEST_FACT:
        return f"has {len(text)} characters; up to {LONGEST_FACT} are accepted"
    return None
