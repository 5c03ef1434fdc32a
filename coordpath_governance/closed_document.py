"""The base of every document of ours that is stored or read: frozen, and closed to keys that it does not define."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["ClosedDocument"]


class ClosedDocument(BaseModel):
    """A document whose fields cannot be changed, and in which an unknown key is an error.

    What a family of documents needs besides (aliases, strict types) it adds in its own class line.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
