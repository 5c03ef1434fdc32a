"""What every part of a report's document is made of: closed, frozen models and the numbers in them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from coordpath_governance.closed_document import ClosedDocument

__all__ = ["Count", "Finite", "Part", "Share", "Sparse", "Spread"]

Finite = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1 + 1e-9, allow_inf_nan=False)]
Spread = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Part(ClosedDocument, populate_by_name=True):
    """A part of a document that a report or an attestation is made of; `class` and `from` are `class_` and `from_` here."""


class Sparse(Part):
    """A part in which keys that say nothing are left out: what came later changes no digest of what there was before."""

    left_out_when_blank: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_blanks(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = serialise(self)
        return {
            key: value
            for key, value in content.items()
            if value not in (None, [], ()) or key not in self.left_out_when_blank
        }
