"""How a command ended."""

from __future__ import annotations

from dataclasses import dataclass

PATIENCE = 120.0
"""Seconds that anything may take."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def plain(self) -> str:
        """Everything that was printed, with the line breaks of a narrow terminal taken out."""
        return " ".join((self.out + " " + self.err).split())
