"""Reports of real little changes, made once per session, and one on registered versions."""

from helpers.little_reports import candidate, champion, data_file, document, file_report, report, rows

__all__ = ["candidate", "champion", "data_file", "document", "file_report", "report", "rows"]
