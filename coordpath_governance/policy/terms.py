"""What both a policy and the ledger use: the two roles with a meaning of their own, the number of admins, and retention."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from coordpath_governance.closed_document import ClosedDocument

__all__ = ["ADMIN", "MOST_ADMINS", "SERVICE", "Retention"]


MOST_ADMINS = 2
SERVICE = "service"
ADMIN = "policy-admin"


class Retention(ClosedDocument, serialize_by_alias=True):
    """How long the policy asks to keep the record of a promotion: the class of its record, and so many years."""

    class_: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")] = Field(alias="class")
    years: Annotated[int, Field(ge=1, le=100)]
