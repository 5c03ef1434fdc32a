"""The base class of every document that we store or read: it is frozen, and refuses keys that it does not define."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["ClosedDocument"]


class ClosedDocument(BaseModel):
    """A document whose fields cannot be changed, and in which an unknown key is an error.

    Other settings (aliases, strict types) are added in the class line of the documents that need them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
