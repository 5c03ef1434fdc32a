"""Sample documents for every kind of report, each validated as a `ChangeReportDocument`."""

from helpers.sample_documents import hostile_sample, make, make_hostile, sample

__all__ = ["hostile_sample", "make", "make_hostile", "sample"]
