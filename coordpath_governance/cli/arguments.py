"""Texts that people give: what neither a report nor the ledger can hold is wrong use."""

from __future__ import annotations

from pathlib import Path

from coordpath_governance.errors import UsageError
from coordpath_governance.ledger.events import LONGEST_WORDS

__all__ = ["check_text", "check_words"]


def check_text(*values: object) -> None:
    """Bytes that are not UTF-8 reach Python as lone surrogates."""
    for value in values:
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str | Path) and any("\ud800" <= char <= "\udfff" for char in str(text)):
                raise UsageError(f"'{text}' is not valid UTF-8; write it in UTF-8")


def check_words(option: str, words: str) -> None:
    """What a person writes into the ledger has a longest length."""
    check_text(words)
    if len(words) > LONGEST_WORDS:
        raise UsageError(f"{option} has {len(words)} characters; the ledger holds up to {LONGEST_WORDS}")
