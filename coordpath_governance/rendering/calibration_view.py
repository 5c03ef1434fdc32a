"""Expected against observed: both versions by tenths of the rows, as tables and a chart, and the balance of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coordpath_governance.numbers import CostColumn, cost_column, count, fixed, pair, percent, significant
from coordpath_governance.reference.versions import MOST_CLASSES
from coordpath_governance.rendering import svg
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.svg import Picture, Scale, decimals_of, padded_domain, round_ticks
from coordpath_governance.rendering.wording import by_weight_and_exposure
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.reports.impact_parts import CalibrationBin, ClassBalance, GlmMetrics

__all__ = [
    "BalanceRow",
    "Calibration",
    "CalibrationPoint",
    "CalibrationView",
    "ClassTenths",
    "TenthRow",
    "TenthSide",
    "Tenths",
    "calibration",
    "calibration_view",
]

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
    """Part of the section "impact"; ``folded``: whether the classes' own tables are hidden at first."""

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
    by, has_auc = by_weight_and_exposure(document, caps), any(side.auc is not None for side in (*old.classes, *new.classes))
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
    rows = Shown.first(
        range(max(len(old), len(new))),
        caps.entries,
        lambda index: TenthRow(str(index + 1), _side(old, index, column), _side(new, index, column)),
    )
    return Tenths(
        rows=rows,
        one_count=all(row.old.rows == row.new.rows for row in rows.entries),
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
    measured = [(b.label, before.get(b.label, ()), b.calibration) for b in new if b.calibration or before.get(b.label)]
    return Shown.first(measured, caps.entries, lambda sides: _class_tenths(caps.label(sides[0]), sides[1], sides[2], caps))


def _class_tenths(label: str, old: tuple[CalibrationBin, ...], new: tuple[CalibrationBin, ...], caps: Caps) -> ClassTenths:
    tenths = _tenths(old, new, _column(old, new), caps)
    unit = f", in units of {tenths.suffix}" if tenths.suffix else ""
    return ClassTenths(label, f"“{label}”{unit}", tenths)


def _balance(old: tuple[ClassBalance, ...], new: tuple[ClassBalance, ...], caps: Caps) -> Shown[BalanceRow]:
    before = {balance.label: balance for balance in old}
    return Shown.first(new, caps.entries, lambda balance: _balance_row(before.get(balance.label), balance, caps))


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


NEAR_ZERO = 0.4
"""The axes start at zero if the lowest value is below this part of the highest."""


@dataclass(frozen=True)
class CalibrationPoint:
    """Rows with like predictions: mean prediction and mean target."""

    expected: float
    observed: float


@dataclass(frozen=True)
class Calibration:
    """What the chart shows; ``column`` is the number format, which both axes share."""

    old: tuple[CalibrationPoint, ...]
    new: tuple[CalibrationPoint, ...]
    column: CostColumn
    description: str

    def domain(self) -> tuple[float, float]:
        """One range for both axes, so that the diagonal is where expected and observed agree."""
        values = [value for p in (*self.old, *self.new) for value in (p.expected, p.observed)]
        from_zero = 0.0 <= min(values) < NEAR_ZERO * max(values)
        return padded_domain([*values, 0.0] if from_zero else values)


@dataclass(frozen=True)
class Layout:
    """Where things go: the square of the plot and its margins."""

    name: str
    left: float
    side: float
    ticks: int

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the picture."""
        return self.left + self.side + RIGHT, TOP + self.side + BOTTOM


WIDE = Layout("wide", 74, 400, 5)
NARROW = Layout("narrow", 58, 268, 4)
TOP, RIGHT, BOTTOM = 26, 14, 46


def calibration(chart: Calibration) -> Picture:
    """The chart as SVG text."""
    return Picture(_draw(chart, WIDE), _draw(chart, NARROW))


def _draw(chart: Calibration, layout: Layout) -> str:
    low, high = chart.domain()
    across = Scale(low, high, layout.left, layout.left + layout.side)
    up = Scale(low, high, TOP + layout.side, TOP)
    parts = [
        _axes(chart, layout, across, up),
        svg.line(across(low), up(low), across(high), up(high), "diagonal"),
        _track(chart.old, across, up, "track-old"),
        _track(chart.new, across, up, "track-new"),
        *(svg.circle(across(p.expected), up(p.observed), 5, "mark-old") for p in chart.old),
        *(svg.diamond(across(p.expected), up(p.observed), 6, "mark-new") for p in chart.new),
    ]
    title = "Expected against observed, by tenths of the rows"
    return svg.document(f"calibration-{layout.name}", f"chart {layout.name}", layout.size, title, chart.description, *parts)


def _axes(chart: Calibration, layout: Layout, across: Scale, up: Scale) -> str:
    unit = 10.0**chart.column.exponent
    ticks = round_ticks(chart.column.scaled(across.low), chart.column.scaled(across.high), layout.ticks)
    decimals = decimals_of(ticks)
    bottom, right = TOP + layout.side, layout.left + layout.side
    parts: list[str] = []
    for tick in ticks:
        x, y = across(tick * unit), up(tick * unit)
        parts += [svg.line(x, TOP, x, bottom, "grid"), svg.line(layout.left, y, right, y, "grid")]
        parts.append(svg.text(x, bottom + 18, fixed(tick, decimals), "tick", "middle"))
        parts.append(svg.text(layout.left - 8, y + 4, fixed(tick, decimals), "tick", "end"))
    suffix = f" ({chart.column.suffix})" if chart.column.suffix else ""
    parts.append(svg.text(right, bottom + 38, f"expected{suffix} →", "tick", "end"))
    parts.append(svg.text(layout.left, TOP - 12, f"↑ observed{suffix}", "tick", "start"))
    return svg.group("axis", *parts)


def _track(points: Sequence[CalibrationPoint], across: Scale, up: Scale, class_: str) -> str:
    """A line from tenth to tenth."""
    places = [f"{svg.number(across(p.expected))} {svg.number(up(p.observed))}" for p in points]
    return svg.path("M" + "L".join(places), class_) if places else ""
