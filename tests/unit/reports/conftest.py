"""Reports of real little changes, made once per session."""

from helpers.little_reports import candidate, champion, data_file, file_report, report, rows

__all__ = ["candidate", "champion", "data_file", "file_report", "report", "rows"]
