"""Reports of real little changes, made once per session, and sample documents."""

from helpers.little_reports import candidate, champion, data_file, file_report, report, rows
from helpers.sample_documents import make

__all__ = ["candidate", "champion", "data_file", "file_report", "make", "report", "rows"]
