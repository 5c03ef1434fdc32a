"""Coefficients old and new: common coordinates, standardised, raw; what the data do not exercise; what came and went."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coordpath_governance.numbers import count, pair, signed, significant
from coordpath_governance.rendering import wording
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.dumbbell import Dumbbell, DumbbellRow, dumbbell
from coordpath_governance.rendering.family import FamilyWords, arrow, family_words, ratios, standing_for
from coordpath_governance.rendering.functions_view import FunctionView, functions_view
from coordpath_governance.rendering.path_view import end_label, start_label
from coordpath_governance.rendering.svg import Picture
from coordpath_governance.reports.document import ChangeReportDocument, CoordinateFacts, DataFacts, RawChange

__all__ = ["CoefficientRow", "CoefficientTable", "CoefficientsView", "NameList", "RawRow", "coefficients_view"]

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
    both: str
    change: str
    standardised_old: str
    standardised_new: str
    standardised: str
    by_unit: str
    by_deviation: str
    stands_for: str | None
    remarks: tuple[str, ...]
    flips: bool


@dataclass(frozen=True)
class CoefficientTable:
    """Rows of coefficients; ``remarked``: whether any row has remarks, and the table a column for them."""

    rows: tuple[CoefficientRow, ...]
    remarked: bool
    left_out: int = 0

    @classmethod
    def of(cls, rows: list[CoefficientRow], left_out: int = 0) -> CoefficientTable:
        """A table of ``rows`` that leaves out ``left_out`` others."""
        return cls(tuple(rows), any(row.remarks for row in rows), left_out)


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
    """The view of the section "coefficients"."""

    sentence: str
    lead: CoefficientTable
    more: CoefficientTable
    not_exercised: CoefficientTable
    not_exercised_total: int
    lists: tuple[NameList, ...]
    raw: Shown[RawRow]
    raw_sentence: str
    picture: Picture | None
    picture_note: str
    score: str
    ratio: str
    ratio_note: str
    functions: Shown[FunctionView]


def coefficients_view(document: ChangeReportDocument, caps: Caps) -> CoefficientsView:
    """The section "coefficients": the baseline first, then by the size of the standardised change."""
    counts = document.counts
    single = [c for c in document.coordinates if not (c.exercised and c.kind in ("function", "function-change"))]
    exercised = sorted((c for c in single if c.exercised), key=_rank)
    idle = [c for c in single if not c.exercised]
    words = family_words(document, caps)
    stands_for = standing_for(document)
    rows = [_row(c, stands_for.get(c.label), caps) for c in exercised[: caps.rows]]
    chart = _chart(document, exercised, caps)
    return CoefficientsView(
        sentence=(
            f"{count(counts.changed)} of {count(counts.coefficients)} coefficients differ in the coordinates both models "
            f"share; {wording.slopes_that_flip(document, caps)}."
        ),
        lead=CoefficientTable.of(rows[: caps.lead_rows]),
        more=CoefficientTable.of(rows[caps.lead_rows :], len(exercised) - len(rows)),
        not_exercised=CoefficientTable.of(
            [_idle(_row(c, None, caps)) for c in idle[: caps.entries]], max(len(idle) - caps.entries, 0)
        ),
        not_exercised_total=len(idle),
        lists=_lists(document, caps),
        raw=Shown.first(sorted(document.raw, key=lambda raw: not raw.differs), caps.rows, lambda raw: _raw_row(raw, caps)),
        raw_sentence=(
            f"{count(counts.raw_changed)} of {count(counts.raw_coefficients)} numbers in the models' own coefficient "
            "vectors differ. The same function can be coded in several ways, so these may differ where the common "
            "coordinates do not."
        ),
        picture=dumbbell(chart) if chart else None,
        picture_note=_not_drawn(len(_drawable(exercised)) - len(chart.rows)) if chart else "",
        score=_in_brackets(wording.predicted(document) if words is None else words.score),
        ratio="" if words is None else wording.sentence_start(words.ratio),
        ratio_note="" if words is None else _ratio_note(words, document.data),
        functions=functions_view(document, caps),
    )


def _in_brackets(score: str) -> str:
    return f" ({score})" if score else ""


def _ratio_note(words: FamilyWords, data: DataFacts) -> str:
    """What a ratio compares, and what the average score is."""
    without = f", without the {'offset' if data.exposure is None else 'exposure'}" if data.exposure or data.offset else ""
    return (
        f"{wording.sentence_start(words.ratio)}: what one unit, or one standard deviation, of the feature multiplies the "
        f"{words.base} by; of a level, against the average over all rows. The baseline is the average score{without}, not "
        f"the average prediction: beside it stands the {words.prediction} that this score {words.alone} stands for."
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


def _row(c: CoordinateFacts, stands_for: str | None, caps: Caps) -> CoefficientRow:
    old, new = _texts(c.old, c.new, CANNOT_SCORE)
    standardised = _texts(c.standardised_old, c.standardised_new, NOT_DEFINED)
    by_unit, by_deviation = ratios(c)
    change = NOT_DEFINED if c.old is None or c.new is None else signed(significant(c.new - c.old, 3))
    return CoefficientRow(
        label=caps.label(wording.coefficient_name(c.label)),
        unit=caps.label(c.unit) if c.unit != c.label else None,
        baseline=c.kind == "baseline",
        merged=caps.label(", ".join(c.merged)) if c.merged else None,
        old=old,
        new=new,
        both=arrow(old, new),
        change=change,
        standardised_old=standardised[0],
        standardised_new=standardised[1],
        standardised=arrow(*standardised),
        by_unit=by_unit,
        by_deviation=by_deviation,
        stands_for=stands_for,
        remarks=_remarks(c),
        flips=c.flips,
    )


def _idle(row: CoefficientRow) -> CoefficientRow:
    """Of a column that does not vary: a standard deviation of zero says nothing of its effect."""
    return replace(
        row,
        standardised_old=NOT_DEFINED,
        standardised_new=NOT_DEFINED,
        standardised=NOT_DEFINED,
        by_deviation=NOT_DEFINED,
    )


def _not_drawn(number: int) -> str:
    """A sentence on how many coefficients the chart has no room for; "" if none."""
    if not number:
        return ""
    return "The other one is in the table." if number == 1 else f"The other {count(number)} are in the table."


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
    return tuple(NameList(title, Shown.first(names, caps.entries, caps.label)) for title, names in named)


def _drawable(coordinates: list[CoordinateFacts]) -> list[CoordinateFacts]:
    """Changed coordinates with a standardised value, the baseline apart: it has no standard deviation."""
    return [
        c
        for c in coordinates
        if c.changed and c.kind != "baseline" and (c.standardised_old, c.standardised_new) != (None, None)
    ]


def _chart(document: ChangeReportDocument, coordinates: list[CoordinateFacts], caps: Caps) -> Dumbbell | None:
    rows = tuple(
        DumbbellRow(caps.label(wording.coefficient_name(c.label)), c.standardised_old, c.standardised_new, c.flips)
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
