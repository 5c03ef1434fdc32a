"""Coefficients old and new: common coordinates, standardised, raw; what the data do not exercise; what came and went."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import count, pair, signed, significant
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.charts import Dumbbell, DumbbellRow, Picture, dumbbell
from coordpath_governance.rendering.path_view import end_label, start_label
from coordpath_governance.reports.document import ChangeReportDocument, CoordinateFacts, RawChange

__all__ = ["CoefficientRow", "CoefficientsView", "NameList", "RawRow", "coefficients_view"]

CANNOT_SCORE = "cannot score"
NOT_DEFINED = "–"
ABSENT = "–"


@dataclass(frozen=True)
class CoefficientRow:
    """One coordinate: its values, its change, what there is to say about it."""

    label: str
    unit: str | None
    baseline: bool
    merged: str | None
    old: str
    new: str
    change: str
    standardised_old: str
    standardised_new: str
    remarks: tuple[str, ...]
    flips: bool


@dataclass(frozen=True)
class RawRow:
    """One number of the models' own coefficient vectors."""

    name: str
    old: str
    new: str
    differs: str


@dataclass(frozen=True)
class NameList:
    """Columns or levels that came or went."""

    title: str
    names: Shown[str]


@dataclass(frozen=True)
class CoefficientsView:
    """Section 5."""

    sentence: str
    lead: tuple[CoefficientRow, ...]
    more: tuple[CoefficientRow, ...]
    left_out: int
    not_exercised: Shown[CoefficientRow]
    not_exercised_total: int
    lists: tuple[NameList, ...]
    raw: Shown[RawRow]
    raw_sentence: str
    picture: Picture | None
    picture_left_out: int


def coefficients_view(document: ChangeReportDocument, caps: Caps) -> CoefficientsView:
    """Section 5 of the report: largest standardised change first, the baseline before all."""
    counts = document.counts
    exercised = sorted((c for c in document.coordinates if c.exercised), key=_rank)
    idle = [c for c in document.coordinates if not c.exercised]
    rows = [_row(c, caps) for c in exercised[: caps.rows]]
    chart = _chart(document, exercised, caps)
    raw = [_raw_row(r, caps) for r in sorted(document.raw, key=lambda r: not r.differs)[: caps.rows]]
    flips = counts.sign_flips
    return CoefficientsView(
        sentence=(
            f"{count(counts.changed)} of {count(counts.coefficients)} coefficients differ in the coordinates both models "
            f"share; {count(flips) if flips else 'none'} of them change{'s' if flips < 2 else ''} sign."
        ),
        lead=tuple(rows[: caps.lead_rows]),
        more=tuple(rows[caps.lead_rows :]),
        left_out=len(exercised) - len(rows),
        not_exercised=Shown(tuple(_row(c, caps) for c in idle[: caps.entries]), max(len(idle) - caps.entries, 0)),
        not_exercised_total=len(idle),
        lists=_lists(document, caps),
        raw=Shown(tuple(raw), len(document.raw) - len(raw)),
        raw_sentence=(
            f"{count(counts.raw_changed)} of {count(counts.raw_coefficients)} numbers in the models' own coefficient "
            "vectors differ. The same function can be coded in several ways, so these may differ where the common "
            "coordinates do not."
        ),
        picture=dumbbell(chart) if chart else None,
        picture_left_out=len(_drawable(exercised)) - len(chart.rows) if chart else 0,
    )


def _rank(coordinate: CoordinateFacts) -> tuple[bool, bool, float]:
    return coordinate.kind != "baseline", not coordinate.changed, -_standardised_change(coordinate)


def _standardised_change(coordinate: CoordinateFacts) -> float:
    return abs((coordinate.standardised_new or 0.0) - (coordinate.standardised_old or 0.0))


def _texts(old: float | None, new: float | None, absent: str) -> tuple[str, str]:
    """Both values with as many digits as tell them apart; a word where one is absent."""
    if old is not None and new is not None:
        return pair(old, new)
    return (absent if old is None else significant(old)), (absent if new is None else significant(new))


def _row(c: CoordinateFacts, caps: Caps) -> CoefficientRow:
    old, new = _texts(c.old, c.new, CANNOT_SCORE)
    standardised = _texts(c.standardised_old, c.standardised_new, NOT_DEFINED)
    change = NOT_DEFINED if c.old is None or c.new is None else signed(significant(c.new - c.old, 3))
    return CoefficientRow(
        label=caps.label(c.label),
        unit=caps.label(c.unit) if c.unit != c.label else None,
        baseline=c.kind == "baseline",
        merged=caps.label(", ".join(c.merged)) if c.merged else None,
        old=old,
        new=new,
        change=change,
        standardised_old=standardised[0],
        standardised_new=standardised[1],
        remarks=_remarks(c),
        flips=c.flips,
    )


def _remarks(c: CoordinateFacts) -> tuple[str, ...]:
    remarks: list[str] = []
    if c.flips:
        remarks.append("⇄ sign flips")
    if c.changed and not c.kind.startswith("rare"):
        remarks += ["was zero"] * (c.old == 0.0) + ["now zero"] * (c.new == 0.0)
    if not c.changed:
        remarks.append("unchanged")
    return tuple(remarks)


def _raw_row(raw: RawChange, caps: Caps) -> RawRow:
    old, new = _texts(raw.old, raw.new, ABSENT)
    word = "differs" if raw.differs else "same"
    if raw.old is None or raw.new is None:
        word = "only new" if raw.old is None else "only old"
    return RawRow(caps.label(raw.name), old, new, word)


def _lists(document: ChangeReportDocument, caps: Caps) -> tuple[NameList, ...]:
    counts = document.counts
    named = (
        ("Columns added", counts.columns_added),
        ("Columns dropped", counts.columns_dropped),
        ("Levels added", counts.levels_added),
        ("Levels dropped", counts.levels_dropped),
    )
    return tuple(
        NameList(title, Shown(tuple(caps.label(n) for n in names[: caps.entries]), max(len(names) - caps.entries, 0)))
        for title, names in named
    )


def _drawable(coordinates: list[CoordinateFacts]) -> list[CoordinateFacts]:
    """Changed coordinates with a standardised value, the baseline apart: it has no standard deviation."""
    return [
        c
        for c in coordinates
        if c.changed and c.kind != "baseline" and (c.standardised_old, c.standardised_new) != (None, None)
    ]


def _chart(document: ChangeReportDocument, coordinates: list[CoordinateFacts], caps: Caps) -> Dumbbell | None:
    rows = tuple(
        DumbbellRow(caps.label(c.label), c.standardised_old, c.standardised_new, c.flips)
        for c in _drawable(coordinates)[: caps.chart_rows]
    )
    if not rows:
        return None
    words = "; ".join(f"{row.label}: {' to '.join(_texts(row.old, row.new, 'none'))}" for row in rows)
    return Dumbbell(
        rows=rows,
        old_label=start_label(document, caps),
        new_label=end_label(document, caps),
        description=f"Change of score for one standard deviation, old to new. {words}.",
    )
