"""Sample documents for every kind of report, each validated as a `ChangeReportDocument`."""

from helpers.changed_tree import changed_tree
from helpers.sample_documents import hostile_sample, make, make_hostile, sample

__all__ = ["changed_tree", "hostile_sample", "make", "make_hostile", "sample"]
