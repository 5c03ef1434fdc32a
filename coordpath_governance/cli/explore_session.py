"""The prompt of `coordpath explore`: one line per command, each answered with the path as it is then."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from coordpath_governance.cli.answers import say_line
from coordpath_governance.cli.explore_answer import show_exploration
from coordpath_governance.cli.screen import ask, say
from coordpath_governance.errors import CoordpathError, UsageError
from coordpath_governance.files import write_file
from coordpath_governance.paths.certificate import OPTIMAL

if TYPE_CHECKING:
    from coordpath_governance.paths.exploring import Exploration

__all__ = ["walk"]

_PROMPT = "explore> "


@dataclass(frozen=True)
class _Command:
    """``words``: how it is written; ``least`` and ``most`` arguments. ``choose`` makes another exploration."""

    words: str
    help: str
    least: int
    most: int
    choose: Callable[..., Exploration] | None = None


def _number(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise UsageError(f"'{text}' is not the number of a step; give 1 or more")
    return number


def _accept(exploration: Exploration, count: str = "1") -> Exploration:
    return exploration.accept(_number(count))


def _pin(exploration: Exploration, name: str, step: str | None = None) -> Exploration:
    return exploration.pin(name, None if step is None else _number(step))


_COMMANDS = {
    "accept": _Command("accept [N]", "the next step is done, or the next N", 0, 1, _accept),
    "pin": _Command("pin NAME [K]", "NAME moves next, or at step K", 1, 2, _pin),
    "forbid": _Command("forbid NAME", "NAME makes no single step", 1, 1, lambda at, name: at.forbid(name)),
    "order": _Command("order A B", "A moves before B", 2, 2, lambda at, first, then: at.order(first, then)),
    "stop": _Command("stop", "the path ends here; what is left is not done", 0, 0, lambda at: at.stop()),
    "rest": _Command("rest", "all that is left is done at once", 0, 0, lambda at: at.rest()),
    "undo": _Command("undo", "take the last choice back", 0, 0, lambda at: at.undo()),
    "reset": _Command("reset", "take all choices back", 0, 0, lambda at: at.reset()),
    "show": _Command("show", "the path once more", 0, 0),
    "save": _Command("save FILE", "write the problem with your choices as a document that `coordpath solve` takes", 1, 1),
    "help": _Command("help", "this list", 0, 0),
    "quit": _Command("quit", "leave; so does the end of the input", 0, 0),
}


def walk(exploration: Exploration, titles: Mapping[str, str], *, rows: bool) -> Exploration:
    """Answer commands until `quit` or the end of the input; what was chosen then.

    ``titles``: what units are called, by their labels. ``rows``: whether a saved document holds the rows of a cost on rows;
    otherwise it holds what was asked of them.
    """
    labels = {title: label for label, title in titles.items()}
    show_exploration(exploration, titles)
    say("\n`help` lists the commands.")
    while (line := ask(_PROMPT)) is not None:
        try:
            words = shlex.split(line)
        except ValueError:
            say_line("A quotation mark is not closed. Try again.")
            continue
        if words[:1] == ["quit"]:
            break
        try:
            exploration = _answer(exploration, words, labels, titles, rows=rows)
        except CoordpathError as error:
            say_line(f"Not done: {error}")
    return exploration


def _answer(
    exploration: Exploration, words: list[str], labels: Mapping[str, str], titles: Mapping[str, str], *, rows: bool
) -> Exploration:
    """What a command does; raises `UsageError` if it is none, or has too few or too many words."""
    if not words:
        return exploration
    name, *arguments = words
    command = _COMMANDS.get(name)
    if command is None:
        near = get_close_matches(name, _COMMANDS, n=1)
        raise UsageError(f"'{name}' is no command; " + (f"did you mean `{near[0]}`? " if near else "") + "`help` lists them")
    if not command.least <= len(arguments) <= command.most:
        raise UsageError(f"write it as `{command.words}`; a name with spaces goes in quotation marks")
    if command.choose is not None:
        exploration = command.choose(exploration, *(labels.get(word, word) for word in arguments))
        show_exploration(exploration, titles)
    elif name == "show":
        show_exploration(exploration, titles)
    elif name == "save":
        _save(exploration, Path(arguments[0]), rows=rows)
    else:
        for each in _COMMANDS.values():
            say_line(f"  {each.words:<13} {each.help}")
    return exploration


def _save(exploration: Exploration, file: Path, *, rows: bool) -> None:
    write_file(file, (json.dumps(exploration.document(rows=rows), indent=2, allow_nan=False) + "\n").encode())
    proved = exploration.solution.status == OPTIMAL
    again = "finds this path again" if proved else "finds a path that is as good or better, where it can be proved"
    say_line(f"Written to {file}. `coordpath solve {shlex.quote(str(file))}` {again}.")
    say_line("Reports hold the best path without choices; attach this file beside one to show yours.")
