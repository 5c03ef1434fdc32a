"""What a person reads of a front: every row as texts, the same in the terminal, in HTML and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coordpath_governance.numbers import count, pair, percent, signed, significant
from coordpath_governance.paths.certificate import OPTIMAL
from coordpath_governance.reports.document import Move
from coordpath_governance.reports.front_document import (
    ChosenFacts,
    DataSide,
    FrontDocument,
    ModelFacts,
    RecalibrationRow,
    SequenceRow,
    UpdateRow,
)

__all__ = ["ArcRow", "ChosenRow", "FrontRow", "FrontView", "front_view"]

_DIGITS = 5
_HOW = {
    "intercept": "recalibration: intercept only",
    "intercept and slope": "recalibration: intercept and slope of the score",
    "slope": "recalibration: slope of the score",
}


@dataclass(frozen=True)
class FrontRow:
    """One update; ``changes`` has one text for each coefficient, in the best order of the steps."""

    steps: str
    what: str
    changes: tuple[str, ...]
    fit: str
    proof: str
    reference: str
    difference: str
    share: str
    greedy: str = ""
    lasso: str = ""


@dataclass(frozen=True)
class ChosenRow:
    """One step of the path for a person who chooses the number of steps."""

    k: str
    probability: str
    changes: tuple[str, ...]
    fit: str
    reference: str
    lasso_fit: str
    lasso_reference: str


@dataclass(frozen=True)
class ArcRow:
    """One arc of the front."""

    steps: str
    units: str
    begin: str
    end: str
    reached: str


@dataclass(frozen=True)
class FrontView:
    """All of it; ``chosen`` is empty if nobody said how likely each number of steps is."""

    title: str
    change: str
    sentences: tuple[str, ...]
    loss: str
    rows: tuple[FrontRow, ...]
    recalibrations: tuple[FrontRow, ...]
    candidate: FrontRow
    chosen: tuple[ChosenRow, ...]
    chosen_sentences: tuple[str, ...]
    arcs: tuple[ArcRow, ...]
    front_sentences: tuple[str, ...]
    shares: bool


def front_view(document: FrontDocument) -> FrontView:
    """The texts of a document."""
    subject = document.subject
    before = "zero" if subject.champion is None else subject.champion.label
    return FrontView(
        title=subject.name,
        change=f"{before} → {subject.candidate.label}",
        sentences=tuple(_sentences(document)),
        loss=document.loss,
        rows=tuple(_update(row, document) for row in document.updates),
        recalibrations=tuple(map(_recalibration, document.recalibrations)),
        candidate=_row("", "the candidate", (), document.candidate),
        chosen=() if document.chosen is None else tuple(_chosen_rows(document.chosen)),
        chosen_sentences=() if document.chosen is None else _chosen_sentences(document.chosen),
        arcs=tuple(_arcs(document)),
        front_sentences=_front_sentences(document),
        shares=document.candidate.share is not None,
    )


def _sentences(document: FrontDocument) -> list[str]:
    first = (
        f"The best updates of the champion by 0, 1, 2, … steps, fitted to {_side(document.fit)} and scored on "
        f"{_side(document.reference)}: {document.loss}."
    )
    if document.in_sample:
        second = (
            "In-sample: fit and reference data are the same rows, so these figures flatter every update, and no share of "
            "the candidate's gain is shown. Give other rows with --fit-data or --data."
        )
        return [first, second]
    candidate = document.candidate
    if candidate.difference_se is None:
        return [first, "The reference data are moments only, which tell no standard error: no shares are shown."]
    if candidate.share is None:
        return [
            first,
            "The candidate's gain over the champion does not exceed two standard errors of it: no shares are shown.",
        ]
    return [first, "A share is of the candidate's gain over the champion; ± are standard errors over the reference rows."]


def _side(side: DataSide) -> str:
    return f"{count(side.rows)} rows of {side.name}"


def _update(row: UpdateRow, document: FrontDocument) -> FrontRow:
    what = "" if row.changes else "the champion"
    greedy = document.greedy[min(row.steps, len(document.greedy) - 1)]
    lasso = document.lasso[min(row.steps, len(document.lasso) - 1)]
    proof = "proved" if row.status == OPTIMAL else f"gap {percent(row.gap)}"
    return _row(str(row.steps), what, _changes(row.changes), row, proof, (greedy, lasso))


def _recalibration(row: RecalibrationRow) -> FrontRow:
    """The coefficients that a slope changes are only counted: all of them change by one factor."""
    alone = len(row.changes) == 1
    what = _HOW[row.name] if alone else f"{_HOW[row.name]} ({len(row.changes)} coefficients)"
    return _row("", what, _changes(row.changes) if alone else (), row)


def _row(
    steps: str,
    what: str,
    changes: tuple[str, ...],
    facts: ModelFacts,
    proof: str = "",
    beside: Sequence[SequenceRow] = (),
) -> FrontRow:
    others = [significant(each.reference_cost, _DIGITS) for each in beside] or ["", ""]
    return FrontRow(
        steps=steps,
        what=what,
        changes=changes,
        fit=significant(facts.fit_cost, _DIGITS),
        proof=proof,
        reference=significant(facts.reference_cost, _DIGITS),
        difference=_with_error(signed(significant(facts.difference, 3)), facts.difference_se),
        share="" if facts.share is None else _share(facts.share, facts.share_se),
        greedy=others[0],
        lasso=others[1],
    )


def _with_error(text: str, error: float | None) -> str:
    return text if error is None else f"{text} ± {significant(error, 2)}"


def _share(share: float, error: float | None) -> str:
    return percent(share) if error is None else f"{percent(share)} ± {percent(error)}"


def _changes(moves: Sequence[Move]) -> tuple[str, ...]:
    return tuple(f"{move.feature}: {' → '.join(pair(move.from_, move.to))}" for move in moves)


def _chosen_rows(chosen: ChosenFacts) -> list[ChosenRow]:
    return [
        ChosenRow(
            k=str(step.k),
            probability=percent(step.probability),
            changes=_changes(step.changes) or ("nothing moves",),
            fit=significant(step.fit_cost, _DIGITS),
            reference=significant(step.reference_cost, _DIGITS),
            lasso_fit=significant(step.lasso.fit_cost, _DIGITS),
            lasso_reference=significant(step.lasso.reference_cost, _DIGITS),
        )
        for step in chosen.steps
    ]


def _chosen_sentences(chosen: ChosenFacts) -> tuple[str, ...]:
    proof = "proved" if chosen.status == OPTIMAL else f"to within a gap of {percent(chosen.gap)}"
    ours, lasso = (significant(cost, _DIGITS) for cost in (chosen.reference_expected, chosen.lasso_reference_expected))
    fitted, lasso_fitted = (significant(cost, _DIGITS) for cost in (chosen.fit_expected, chosen.lasso_fit_expected))
    expected = (
        f"Expected cost on the fit data {fitted}, the least of any path ({proof}); of the LASSO sequence {lasso_fitted}. "
        f"On the reference data {ours} and {lasso}."
    )
    numbers = (
        f"The path is told by {chosen.numbers} numbers, one for each coefficient that a step moves; the LASSO sequence by "
        f"{chosen.lasso_numbers}, since every size has coefficients of its own."
    )
    return expected, numbers


def _arcs(document: FrontDocument) -> list[ArcRow]:
    rows = []
    for arc in () if document.whole is None else document.whole.arcs:
        first, last = arc.samples[0], arc.samples[-1]
        reached = sum(sample.supported for sample in arc.samples)
        rows.append(
            ArcRow(
                steps=str(arc.terms),
                units=", ".join(arc.units) or "the champion",
                begin=f"{significant(first.loss, _DIGITS)}, {significant(first.cost, _DIGITS)}",
                end=f"{significant(last.loss, _DIGITS)}, {significant(last.cost, _DIGITS)}",
                reached="all" if reached == len(arc.samples) else "a part" if reached else "none",
            )
        )
    return rows


def _front_sentences(document: FrontDocument) -> tuple[str, ...]:
    most = f"Paths of up to {document.max_terms} steps on the fit data, with the loss Σ αₖ c(βₖ)."
    whole = document.whole
    if whole is None:
        short = significant(document.shortfall, 3)
        return most, f"Weighted sums only: no model has a cost + λ·loss less than the best listed one by more than {short}."
    near = "the sequences that weighted sums find, and near ones"
    how = "all sequences of steps" if whole.method == "all sequences" else near
    open_ = f"not proved: at some loss a model may cost up to {significant(whole.shortfall, 3)} less"
    return most, f"From {how}: {'proved' if whole.status == OPTIMAL else open_}."
