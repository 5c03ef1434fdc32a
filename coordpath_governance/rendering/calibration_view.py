"""Expected against observed: by tenths of the rows for both versions, and the balance of the classes."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import CostColumn, cost_column, count, percent
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.charts import Calibration, CalibrationPoint, Picture, calibration
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.reports.impact_parts import CalibrationBin, ClassBalance, GlmMetrics

__all__ = ["BalanceRow", "CalibrationView", "TenthRow", "TenthSide", "calibration_view"]


@dataclass(frozen=True)
class TenthSide:
    """A tenth of the rows in the order of one version's predictions."""

    rows: str
    expected: str
    observed: str


NOTHING = TenthSide("", "", "")


@dataclass(frozen=True)
class TenthRow:
    """The same tenth of both versions; each puts the rows in its own order."""

    name: str
    old: TenthSide
    new: TenthSide


@dataclass(frozen=True)
class BalanceRow:
    """One class: its share of the rows, and the mean of its predicted probability."""

    label: str
    observed: str
    old: str
    new: str


@dataclass(frozen=True)
class CalibrationView:
    """Part of section 7.

    ``one_count``: whether both versions have as many rows in every tenth; ``weighted``: by what, if not by rows.
    """

    tenths: Shown[TenthRow]
    one_count: bool
    weighted: str
    suffix: str
    picture: Picture | None
    classes: Shown[BalanceRow]


def calibration_view(document: ChangeReportDocument, caps: Caps) -> CalibrationView | None:
    """Calibration of both versions; None where the cost is the squared error."""
    old, new = document.impact.champion, document.impact.candidate
    if not isinstance(old, GlmMetrics) or not isinstance(new, GlmMetrics):
        return None
    bins = max(len(old.calibration), len(new.calibration))
    column = cost_column([value for b in (*old.calibration, *new.calibration) for value in (b.expected, b.observed)], [])
    rows = [
        TenthRow(str(index + 1), _side(old.calibration, index, column), _side(new.calibration, index, column))
        for index in range(min(bins, caps.entries))
    ]
    return CalibrationView(
        tenths=Shown(tuple(rows), bins - len(rows)),
        one_count=all(row.old.rows == row.new.rows for row in rows),
        weighted="exposure" if document.data.exposure else "weight" if document.data.weight else "",
        suffix=column.suffix,
        picture=calibration(_chart(old, new, column, caps)) if rows and caps.chart_rows else None,
        classes=_balance(old.classes, new.classes, caps),
    )


def _side(bins: tuple[CalibrationBin, ...], index: int, column: CostColumn) -> TenthSide:
    if index >= len(bins):
        return NOTHING
    return TenthSide(count(bins[index].rows), column.cost(bins[index].expected), column.cost(bins[index].observed))


def _chart(old: GlmMetrics, new: GlmMetrics, column: CostColumn, caps: Caps) -> Calibration:
    before, after = (
        tuple(CalibrationPoint(b.expected, b.observed) for b in side.calibration[: caps.entries]) for side in (old, new)
    )
    words = "; ".join(
        f"{name}: " + ", ".join(f"{column.cost(p.expected)} and {column.cost(p.observed)}" for p in points)
        for name, points in (("old", before), ("new", after))
    )
    suffix = f" in units of {column.suffix}" if column.suffix else ""
    return Calibration(before, after, column, f"Expected and observed by tenths of the rows{suffix}. {words}.")


def _balance(old: tuple[ClassBalance, ...], new: tuple[ClassBalance, ...], caps: Caps) -> Shown[BalanceRow]:
    before = {balance.label: percent(balance.expected) for balance in old}
    rows = [
        BalanceRow(caps.label(b.label), percent(b.observed), before.get(b.label, "–"), percent(b.expected))
        for b in new[: caps.entries]
    ]
    return Shown(tuple(rows), len(new) - len(rows))
