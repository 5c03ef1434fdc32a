"""ChangeReport: the document with its three renderings, as users hold it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from coordpath_governance.canonical import canonical_bytes, read_json, sha256_hex
from coordpath_governance.errors import ReportFormatError
from coordpath_governance.reports.document import HTML_PAGE, MARKDOWN_PAGE, REPORT_SCHEMA, ChangeReportDocument

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ChangeReport", "json_schema", "rendered_pages"]


_SHOWN = 3


class ChangeReport:
    """A change report as users hold it: ``document`` is the truth, and everything else is laid out from it."""

    def __init__(self, document: ChangeReportDocument) -> None:
        self.document = document

    def __repr__(self) -> str:
        return f"<ChangeReport {self.document.subject.name}: {self.document.summary.headline}>"

    def _repr_html_(self) -> str:
        """Shown inline in a notebook, in a frame of its own so that styles do not leak."""
        from html import escape

        page = escape(self.to_html(), quote=True)
        return f'<iframe title="Change report" sandbox srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'

    def to_bytes(self) -> bytes:
        """The canonical JSON bytes: what is attached, hashed and verified."""
        return canonical_bytes(self.document.model_dump(mode="json", by_alias=True))

    def to_json(self) -> str:
        """The canonical JSON as text."""
        return self.to_bytes().decode("utf-8")

    @property
    def sha256(self) -> str:
        """SHA-256 of `to_bytes`."""
        return sha256_hex(self.to_bytes())

    def to_html(self) -> str:
        """One self-contained page."""
        return self._html

    def to_markdown(self) -> str:
        """GitHub Markdown, complete on its own."""
        return self._markdown

    @cached_property
    def _as_read(self) -> ChangeReportDocument:
        """The document as its bytes give it: a page does not depend on the order in which somebody wrote the keys."""
        return self.from_bytes(self.to_bytes()).document

    @cached_property
    def _html(self) -> str:
        from coordpath_governance.rendering.render import render_html

        return render_html(self._as_read)

    @cached_property
    def _markdown(self) -> str:
        from coordpath_governance.rendering.render import render_markdown

        return render_markdown(self._as_read)

    def to_frame(self) -> pd.DataFrame:
        """The steps as a pandas DataFrame, one row per step."""
        import pandas as pd

        columns = [
            "k",
            "kind",
            "feature",
            "from",
            "to",
            "cost",
            "delta",
            "delta_se",
            "share",
            "shapley",
            "worsens",
            "bracket",
        ]
        steps = [step.model_dump(by_alias=True) for step in self.document.path.steps]
        return pd.DataFrame([{name: step[name] for name in columns} for step in steps], columns=columns)

    @classmethod
    def from_bytes(cls, content: bytes) -> ChangeReport:
        """The report in ``content``; raises `ReportFormatError`, which names the place, for anything but a valid report."""
        raw = read_json(content, "the report", ReportFormatError)
        if not isinstance(raw, dict) or raw.get("schema") != REPORT_SCHEMA:
            schema = raw.get("schema") if isinstance(raw, dict) else type(raw).__name__
            raise ReportFormatError(f"not a change report: its schema is {str(schema)[:80]!r}, expected {REPORT_SCHEMA!r}")
        try:
            return cls(ChangeReportDocument.model_validate(raw, strict=False))
        except ValidationError as error:
            where = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:_SHOWN])
            raise ReportFormatError(f"not a valid change report: {where}") from error


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a change report, kept in docs/ for those who read reports without us."""
    return ChangeReportDocument.model_json_schema(by_alias=True)


def rendered_pages(report: ChangeReport) -> dict[str, bytes]:
    """The pages of a report as this version of the program lays them out."""
    return {HTML_PAGE: report.to_html().encode(), MARKDOWN_PAGE: report.to_markdown().encode()}
