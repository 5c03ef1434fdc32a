"""What commands are tried on: sample documents, and a real report on pinned data with policies over it."""

from helpers.judged_reports import candidate, champion, data_file, document, explain, policy_text, report
from helpers.sample_documents import make

__all__ = ["candidate", "champion", "data_file", "document", "explain", "make", "policy_text", "report"]
