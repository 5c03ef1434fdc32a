"""What somebody does to a report who wants it to say something else, and whether anybody notices."""

import copy
import json

from coordpath_governance.errors import ReportFormatError
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import document_digest
from coordpath_governance.verification.verify import verify_report


def leaves(value, where=()):
    """Every number, text and blank in a document, with the way to it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*where, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, (*where, i))
    else:
        yield where, value


def changed(document, where, value):
    """The document with another value in one place; everything else is shared with it."""
    key, *within = where
    out = copy.copy(document)
    out[key] = changed(document[key], within, value) if within else value
    return out


def reread(document):
    """The report that a document's JSON is."""
    return ChangeReport.from_bytes(json.dumps(document).encode())


def forge(document):
    """What somebody does who knows our digest: change a figure and compute the digest again."""
    report = reread(document)
    return ChangeReport(report.document.model_copy(update={"digest": document_digest(report.document)}))


def noticed(report, data=None):
    """Whether a change was noticed: a failed check, or a report so contradictory that it cannot be read."""
    try:
        return not verify_report(report, data).passed
    except ReportFormatError:
        return True
