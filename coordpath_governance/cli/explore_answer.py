"""What `coordpath explore` shows: steps done, the next one and the rest, what is proved, and what choices cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from coordpath_governance.cli.screen import say
from coordpath_governance.numbers import MINUS, cost_column, pair, significant
from coordpath_governance.paths.certificate import OPTIMAL
from coordpath_governance.paths.exploring import Choices
from coordpath_governance.text import shorten, visible

if TYPE_CHECKING:
    from coordpath_governance.paths.exploring import Exploration
    from coordpath_governance.paths.path import Step

__all__ = ["show_exploration"]

_NAME_WIDTH = 40
_WIDEST = 1000


def show_exploration(exploration: Exploration, titles: Mapping[str, str]) -> None:
    """Print the path and what is known of it; ``titles`` are what units are called, by their labels."""
    say()
    if exploration.solution.path.steps:
        _show_steps(exploration, titles)
    else:
        say("No step: the path ends where it starts.")
    for line in _remarks(exploration, titles):
        say(visible(line))


def _show_steps(exploration: Exploration, titles: Mapping[str, str]) -> None:
    path, done = exploration.solution.path, len(exploration.choices.done)
    column = cost_column([path.start_cost, *(step.cost for step in path.steps)], [step.delta for step in path.steps])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("step", "", "what moves", "from", "to", f"cost{column.suffix}", "change"):
        table.add_column(header, justify="left" if header in ("", "what moves") else "right", no_wrap=True)
    table.add_row("", "", "start", "", "", column.cost(path.start_cost), "")
    for step in path.steps:
        state = "done" if exploration.next_step is None or step.k <= done else "next" if step.k == done + 1 else ""
        values = pair(step.moves[0].before, step.moves[0].after) if len(step.moves) == 1 else ("", "")
        what = Text(shorten(visible(_title(step, titles)), _NAME_WIDTH))
        table.add_row(str(step.k), state, what, *values, column.cost(step.cost), column.delta(step.delta))
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True, width=_WIDEST, color_system=None)
    with console.capture() as captured:
        console.print(table)
    say("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _title(step: Step, titles: Mapping[str, str]) -> str:
    if step.kind == "rest":
        return f"{step.label} ({len(step.moves)})"
    return titles.get(step.label, step.label)


def _remarks(exploration: Exploration, titles: Mapping[str, str]) -> Iterator[str]:
    choices, certificate = exploration.choices, exploration.solution.certificate
    for label, step in choices.pinned:
        yield f"Pinned: {titles.get(label, label)} at step {step}"
    if choices.forbidden:
        where = "not moved" if choices.ending == "here" else "moved with the rest"
        yield f"Forbidden, {where}: {', '.join(titles.get(label, label) for label in choices.forbidden)}"
    for first, then in choices.orders:
        yield f"Order: {titles.get(first, first)} before {titles.get(then, then)}"
    if choices.ending == "here":
        yield "The path ends here. `save FILE` keeps it."
    elif certificate.status == OPTIMAL:
        yield "Proved: no path is better" + (" given your choices." if choices != Choices() else ".")
    else:
        better = significant(certificate.gap_per_step, 2)
        given = " that keeps to your choices" if choices != Choices() else ""
        yield f"Not proved: a path{given} might be better, by at most {better} per step on average."
    if choices != Choices():
        yield _price(exploration)


def _price(exploration: Exploration) -> str:
    """The price of the choices in words, as a range where not all is proved."""
    price, total = exploration.price, significant(exploration.objective)
    least, most = (_rounded(value, exploration.objective) for value in (price.least, price.most))
    if least == most == "0":
        return f"Your choices cost nothing: the costs add up to {total}, as without them."
    amount = least if least == most else f"between {least} and {most}"
    if least.startswith(MINUS) and most.startswith(MINUS):
        return f"The costs add up to {total}, {amount} against the best path of single steps to the end."
    return f"Price of your choices: {amount}; the costs add up to {total}."


def _rounded(value: float, size: float) -> str:
    """Three digits; what is lost in the digits of the sum is nothing."""
    return "0" if abs(value) <= 1e-9 * abs(size) else significant(value, 3)
