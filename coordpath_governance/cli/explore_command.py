"""`coordpath explore`: a person walks a path, and sees what is left solved again after every choice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.core import ParameterSource

from coordpath_governance.cli.answers import print_json, say_line
from coordpath_governance.cli.explore_session import walk
from coordpath_governance.cli.options import check_text, ledger_options
from coordpath_governance.cli.screen import progress_line, speaking_aside
from coordpath_governance.errors import UsageError
from coordpath_governance.files import reading
from coordpath_governance.one_thread import one_thread
from coordpath_governance.paths import parse_json, parse_problem
from coordpath_governance.paths.exploring import Exploration

if TYPE_CHECKING:
    from coordpath_governance.paths import PathProblem

__all__ = ["command"]


@click.command("explore")
@click.argument("what", metavar="PROBLEM.json|NAME")
@click.option("--champion", metavar="ALIAS|VERSION|URI", help="Of a NAME: what to compare with, as in `coordpath report`.")
@click.option("--candidate", metavar="VERSION|latest|URI", default="latest", show_default=True, help="Where the path leads.")
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="FILE", help="Reference data: csv, parquet or a folder of parquet."
)
@click.option("--target", metavar="COL", help="The column of the reference data that both models predict.")
@click.option("--weight", metavar="COL", help="A column of row weights.")
@click.option("--offset", metavar="COL", help="A column that is added to the score.")
@click.option("--exposure", metavar="COL", help="The same for the logarithm of a column.")
@click.option(
    "--missing",
    type=click.Choice(["fail", "drop"]),
    default="fail",
    show_default=True,
    help="Rows that a model cannot score because a value is missing.",
)
@click.option(
    "--max-steps", type=click.IntRange(min=1), default=10, show_default=True, help="Single steps before 'all the rest'."
)
@click.option("--all-steps", is_flag=True, help="Every changed coefficient is a step of its own.")
@click.option("--alias", help="The alias that stands for the champion; default: as in `coordpath report`.")
@click.option("--json", "as_json", is_flag=True, help="Print the final state as one document (coordpath.exploration/1).")
@ledger_options
def command(what: str, *, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - one per option above
    """Walk the path of PROBLEM.json, or from one version of the registered model NAME to another, step by step.

    Commands are read from the terminal or a pipe, one per line; `help` lists them. The registry is only read, and no policy
    is applied.
    """
    check_text(what, *options.values())
    if as_json:
        click.get_current_context().with_resource(speaking_aside())
    document = what.endswith(".json") or Path(what).is_file()
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        problem, titles = _read_problem(Path(what)) if document else _problem_of_versions(what, options)
        reached = walk(Exploration.begin(problem), titles, rows=document)
    if as_json:
        print_json(reached.to_dict())


def _read_problem(path: Path) -> tuple[PathProblem, dict[str, str]]:
    context = click.get_current_context()
    for option in context.command.params[1:]:
        if option.name != "as_json" and context.get_parameter_source(str(option.name)) == ParameterSource.COMMANDLINE:
            raise UsageError(f"{option.opts[0]} is for a registered model; a problem's document says all itself")
    with reading(path):
        content = path.read_bytes()
    return parse_problem(parse_json(content)), {}


def _problem_of_versions(name: str, options: dict[str, Any]) -> tuple[PathProblem, dict[str, str]]:
    """The problem that `coordpath report` solves, and what its units are called."""
    from coordpath_governance.cli.governed import chosen_alias, find_governed, open_registry
    from coordpath_governance.cli.report_command import champion_from, reference_from
    from coordpath_governance.governance.declared import declared_in
    from coordpath_governance.governance.version_report import problem_of_versions
    from coordpath_governance.registry.versions import point_at
    from coordpath_governance.reports.make import settings_for

    where = {key: options[key] for key in ("ledger", "tracking_uri", "registry_uri")}
    client = open_registry(where["tracking_uri"], where["registry_uri"]).client
    governed = find_governed(client, name, **where)
    alias = chosen_alias(options["alias"], None if governed is None else governed.adopted)
    candidate = point_at(client, name, options["candidate"])
    champion = champion_from(client, name, alias, options["champion"], candidate)
    reference = reference_from(client, candidate, {**options, "role": None, "period": None})
    with progress_line() as progress:
        problem, labels = problem_of_versions(
            champion,
            candidate,
            reference,
            settings=settings_for(max_steps=None if options["all_steps"] else options["max_steps"]),
            progress=progress,
            declared=None if governed is None else declared_in(governed.ledger),
        )
    say_line(f"{name}: {'zero' if champion is None else champion.label} → {candidate.label}")
    titles = {unit.label: labels.unit_of[problem.features[unit.members[0]]] for unit in problem.changed}
    return problem, titles
