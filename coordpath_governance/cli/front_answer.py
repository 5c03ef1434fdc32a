"""What `coordpath front` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from coordpath_governance.rendering.front_view import FrontRow, front_view
from coordpath_governance.text import visible

if TYPE_CHECKING:
    from coordpath_governance.rendering.front_view import FrontView
    from coordpath_governance.reports.front_document import FrontDocument

__all__ = ["show_front"]

_CHANGED = "changed: from → to"

_WIDEST = 1000

_LEAST_WORDS = 26
"""Characters of a coefficient and its values that stay on one line in a narrow terminal."""


def show_front(document: FrontDocument) -> None:
    """The table of updates, and below it what was asked beside it."""
    view = front_view(document)
    console = _console()
    console.print(Text(visible(f"{view.title}: {view.change}"), style="bold"))
    for sentence in view.sentences:
        console.print(visible(sentence))
    console.print()
    _print(console, _table(view))
    console.print()
    _print(console, _others(view))
    if view.chosen:
        console.print()
        console.print(Text("For a person who chooses the number of steps", style="bold"))
        _print(console, _chosen(view))
        for sentence in view.chosen_sentences:
            console.print(sentence)
    console.print()
    console.print(Text("The front between loss and cost", style="bold"))
    for sentence in view.front_sentences:
        console.print(sentence)
    if view.arcs:
        _print(console, _arcs(view))


def _console(width: int | None = None) -> Console:
    """As wide as the terminal, or ``width``."""
    return Console(highlight=False, markup=False, emoji=False, width=width)


def _print(console: Console, table: Table) -> None:
    """With every figure in full: where the terminal is too narrow, lines are longer than it."""
    for column in table.columns:
        if column.no_wrap:
            column.min_width = max(cell_len(str(cell)) for cell in (column.header, *column.cells))
    least = Measurement.get(console, console.options.update(width=_WIDEST), table).minimum
    _console(max(console.width, least)).print(table)


def _new_table(*headers: str, wraps: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        words = header == wraps
        least = _LEAST_WORDS if words else None
        table.add_column(header, justify="left" if words else "right", no_wrap=not words, min_width=least)
    return table


def _table(view: FrontView) -> Table:
    headers = ["steps", _CHANGED, "fit cost", "proof", "reference", "against champion"]
    table = _new_table(*headers, *(["share of gain"] if view.shares else []), wraps=_CHANGED)
    for row in (*view.rows, *view.recalibrations, view.candidate):
        figures = [row.fit, row.proof, row.reference, row.difference, *([row.share] if view.shares else [])]
        table.add_row(row.steps, Text(_what(row)), *figures)
    return table


def _what(row: FrontRow) -> str:
    """One line for each coefficient, below the name of a recalibration."""
    named = [] if row.steps and row.changes else [row.what]
    return "\n".join(visible(line) for line in (*named, *row.changes))


def _others(view: FrontView) -> Table:
    table = _new_table("steps", "reference cost of the update", "greedy", "LASSO", wraps="")
    for row in view.rows:
        table.add_row(row.steps, row.reference, row.greedy, row.lasso)
    return table


def _chosen(view: FrontView) -> Table:
    headers = ("step", "chosen", _CHANGED, "fit cost", "reference", "LASSO fit", "LASSO reference")
    table = _new_table(*headers, wraps=_CHANGED)
    for row in view.chosen:
        changes = Text("\n".join(map(visible, row.changes)))
        table.add_row(row.k, row.probability, changes, row.fit, row.reference, row.lasso_fit, row.lasso_reference)
    return table


def _arcs(view: FrontView) -> Table:
    table = _new_table("steps", "sequence", "from loss, cost", "to loss, cost", "weighted sums reach", wraps="sequence")
    for row in view.arcs:
        table.add_row(row.steps, Text(visible(row.units)), row.begin, row.end, row.reached)
    return table
