"""A real report on pinned data, policies over it, and ways to change one figure of it."""

from helpers.changed_tree import changed_tree
from helpers.judged_reports import (
    alter,
    candidate,
    champion,
    data_file,
    document,
    explain,
    first_document,
    flipped_document,
    policy_of,
    policy_text,
    report,
)

__all__ = [
    "alter",
    "candidate",
    "champion",
    "changed_tree",
    "data_file",
    "document",
    "explain",
    "first_document",
    "flipped_document",
    "policy_of",
    "policy_text",
    "report",
]
