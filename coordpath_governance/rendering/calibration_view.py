"""Expected against observed: by tenths of the rows for both versions, and the balance of the classes."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import CostColumn, cost_column, count, pair, percent, significant
from coordpath_governance.reference.versions import MOST_CLASSES
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.charts import Calibration, CalibrationPoint, Picture, calibration
from coordpath_governance.rendering.wording import by_weight_and_exposure
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.reports.impact_parts import CalibrationBin, ClassBalance, GlmMetrics

__all__ = ["BalanceRow", "CalibrationView", "ClassTenths", "TenthRow", "TenthSide", "Tenths", "calibration_view"]

FEW_CLASSES = 3
"""Up to so many have their calibration in full view."""

TOO_MANY = f"With more than {MOST_CLASSES} classes AUC and calibration of each against the rest are not measured."
NOT_DEFINED = "–"


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
class Tenths:
    """A table of tenths; ``one_count``: whether both versions have as many rows in every one."""

    rows: Shown[TenthRow]
    one_count: bool
    suffix: str


@dataclass(frozen=True)
class ClassTenths:
    """The calibration of one class's probability."""

    label: str
    caption: str
    tenths: Tenths


@dataclass(frozen=True)
class BalanceRow:
    """One class: its share of the rows, the mean of its predicted probability, its AUC against the rest."""

    label: str
    observed: str
    old: str
    new: str
    old_auc: str
    new_auc: str


@dataclass(frozen=True)
class CalibrationView:
    """Part of section 7; ``folded``: whether the classes' own tables are hidden at first."""

    tenths: Tenths
    caption: str
    picture: Picture | None
    classes: Shown[BalanceRow]
    balance_caption: str
    has_auc: bool
    by_class: Shown[ClassTenths]
    class_caption: str
    folded: bool
    note: str


def calibration_view(document: ChangeReportDocument, caps: Caps) -> CalibrationView | None:
    """Calibration of both versions; None where the cost is the squared error."""
    old, new = document.impact.champion, document.impact.candidate
    if not isinstance(old, GlmMetrics) or not isinstance(new, GlmMetrics):
        return None
    column = _column(old.calibration, new.calibration)
    tenths = _tenths(old.calibration, new.calibration, column, caps)
    by_class = _by_class(old.classes, new.classes, caps)
    by, has_auc = by_weight_and_exposure(document, caps), any(each.auc is not None for each in (*old.classes, *new.classes))
    return CalibrationView(
        tenths=tenths,
        caption=_caption(tenths, by, "the order of its own predictions"),
        picture=calibration(_chart(old, new, column, caps)) if tenths.rows.entries and caps.chart_rows else None,
        classes=_balance(old.classes, new.classes, caps),
        balance_caption=_balance_caption(by, has_auc),
        has_auc=has_auc,
        by_class=by_class,
        class_caption=_caption(None, by, "the order of its own probability of the class"),
        folded=len(by_class.entries) + by_class.left_out > FEW_CLASSES,
        note=TOO_MANY if len(new.classes) > MOST_CLASSES else "",
    )


def _caption(tenths: Tenths | None, by: str, order: str) -> str:
    """What tenths are of, and in which order."""
    among = f"rows ({by})" if by else "rows"
    unit = f", in units of {tenths.suffix}" if tenths is not None and tenths.suffix else ""
    return f"By tenths of the {among}, each version in {order}, lowest first{unit}"


def _balance_caption(by: str, has_auc: bool) -> str:
    among = f"rows ({by})" if by else "rows"
    beside = "its predicted probability" + ("; AUC of the class against all others" if has_auc else "")
    return f"Share of each class among the {among}, and the mean of {beside}"


def _column(old: tuple[CalibrationBin, ...], new: tuple[CalibrationBin, ...]) -> CostColumn:
    return cost_column([value for b in (*old, *new) for value in (b.expected, b.observed)], [])


def _tenths(old: tuple[CalibrationBin, ...], new: tuple[CalibrationBin, ...], column: CostColumn, caps: Caps) -> Tenths:
    bins = max(len(old), len(new))
    rows = [
        TenthRow(str(index + 1), _side(old, index, column), _side(new, index, column))
        for index in range(min(bins, caps.entries))
    ]
    return Tenths(
        rows=Shown(tuple(rows), bins - len(rows)),
        one_count=all(row.old.rows == row.new.rows for row in rows),
        suffix=column.suffix,
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


def _by_class(old: tuple[ClassBalance, ...], new: tuple[ClassBalance, ...], caps: Caps) -> Shown[ClassTenths]:
    """Classes of which there is a calibration; each class has decimals of its own."""
    before = {balance.label: balance.calibration for balance in old}
    known = [(b.label, before.get(b.label, ()), b.calibration) for b in new if b.calibration or before.get(b.label)]
    tables = [_class_tenths(caps.label(label), first, second, caps) for label, first, second in known[: caps.entries]]
    return Shown(tuple(tables), len(known) - len(tables))


def _class_tenths(label: str, old: tuple[CalibrationBin, ...], new: tuple[CalibrationBin, ...], caps: Caps) -> ClassTenths:
    tenths = _tenths(old, new, _column(old, new), caps)
    unit = f", in units of {tenths.suffix}" if tenths.suffix else ""
    return ClassTenths(label, f"“{label}”{unit}", tenths)


def _balance(old: tuple[ClassBalance, ...], new: tuple[ClassBalance, ...], caps: Caps) -> Shown[BalanceRow]:
    before = {balance.label: balance for balance in old}
    rows = [_balance_row(before.get(b.label), b, caps) for b in new[: caps.entries]]
    return Shown(tuple(rows), len(new) - len(rows))


def _balance_row(old: ClassBalance | None, new: ClassBalance, caps: Caps) -> BalanceRow:
    expected = NOT_DEFINED if old is None else percent(old.expected)
    auc = _aucs(None if old is None else old.auc, new.auc)
    return BalanceRow(caps.label(new.label), percent(new.observed), expected, percent(new.expected), *auc)


def _aucs(old: float | None, new: float | None) -> tuple[str, str]:
    """Both with as many digits as tell them apart."""
    if old is not None and new is not None:
        return pair(old, new)
    first, second = (NOT_DEFINED if auc is None else significant(auc) for auc in (old, new))
    return first, second
