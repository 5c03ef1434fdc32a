"""`coordpath front`: what fewer changes would have brought."""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coordpath_governance.cli.governed import alias_option, chosen_alias
from coordpath_governance.cli.options import check_text, ledger_options
from coordpath_governance.cli.screen import progress_line, say, speaking_aside
from coordpath_governance.errors import UsageError
from coordpath_governance.files import writing
from coordpath_governance.text import visible

if TYPE_CHECKING:
    from coordpath_governance.governance.governed_report import GovernedModel
    from coordpath_governance.registry.client_registry import ClientRegistry
    from coordpath_governance.reports.front_document import FrontDocument

__all__ = ["command"]


@click.command("front")
@click.argument("name")
@click.option(
    "--champion",
    metavar="ALIAS|VERSION|URI",
    help="What to update; default: the version that has the alias; 'none': start from zero.",
)
@click.option(
    "--candidate", metavar="VERSION|latest|URI", default="latest", show_default=True, help="Whose gain it is measured by."
)
@click.option(
    "--fit-data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What the updates are fitted to: csv, parquet or a folder of parquet; default: the moments logged with the "
    "candidate's run.",
)
@click.option("--data", type=click.Path(path_type=Path), metavar="FILE", help="Reference data: what they are scored on.")
@click.option("--target", metavar="COL", help="The column that both models predict.")
@click.option("--weight", metavar="COL", help="A column of row weights.")
@click.option("--offset", metavar="COL", help="A column that is added to the score.")
@click.option("--exposure", metavar="COL", help="The same for the logarithm of a column.")
@click.option(
    "--missing", type=click.Choice(["fail", "drop"]), default="fail", show_default=True, help="Rows with missing values."
)
@click.option(
    "--max-steps",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="The most coefficients that are changed.",
)
@click.option(
    "--steps-chosen",
    metavar="'1:0.2,2:0.5,3:0.3'",
    help="How likely each number of steps is to be chosen: adds the path with the least expected cost.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (coordpath.front/1) instead of lines.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write front.json, front.html and front.md here.",
)
@alias_option
@ledger_options
def command(
    name: str,
    as_json: bool,
    out: Path | None,
    alias: str | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
    **options: Any,  # noqa: ANN401 - one per option above
) -> int:
    """Say what the best updates of the champion of NAME by 0, 1, 2, … coefficients cost, with a proof or a gap.

    Updates are fitted to the fit data and scored on the reference data: those of --data, those that the model's policy pins,
    or those that the candidate's run logged. Nothing is attached or registered.
    """
    if as_json:
        click.get_current_context().with_resource(speaking_aside())
    check_text(name, alias, *options.values())
    chosen = None if options["steps_chosen"] is None else _chances(options["steps_chosen"])
    from coordpath_governance.cli.governed import find_governed, open_registry

    registry = open_registry(tracking_uri, registry_uri)
    governed = find_governed(registry.client, name, ledger=ledger, tracking_uri=tracking_uri, registry_uri=registry_uri)
    document = _make(registry, governed, name, alias, chosen, options)
    if out is not None:
        _write(out, document)
    if as_json:
        from coordpath_governance.rendering.front import front_bytes

        click.echo(front_bytes(document), nl=False)
        return 0
    from coordpath_governance.cli.front_answer import show_front

    show_front(document)
    if out is not None:
        say(f"\nWritten to {visible(str(out))}")
    return 0


def _chances(text: str) -> dict[int, float]:
    """From steps to their probability."""
    found: dict[int, float] = {}
    for part in text.split(","):
        steps, _, chance = part.partition(":")
        try:
            number, probability = int(steps), float(chance)
        except ValueError:
            raise UsageError(
                f"--steps-chosen: '{part.strip()}' is not STEPS:PROBABILITY; write it as '1:0.2,2:0.5,3:0.3'"
            ) from None
        if number in found or not math.isfinite(probability):
            wrong = "is there twice" if number in found else "has no finite probability"
            raise UsageError(f"--steps-chosen: {number} {wrong}; give one probability for each number of steps")
        found[number] = probability
    return found


def _make(
    registry: ClientRegistry,
    governed: GovernedModel | None,
    name: str,
    alias: str | None,
    chosen: dict[int, float] | None,
    options: dict[str, Any],
) -> FrontDocument:
    from coordpath_governance.cli.report_command import champion_from, reference_from, tell_what_is_pinned
    from coordpath_governance.governance.declared import declared_in
    from coordpath_governance.governance.pinned import pinned_reference, pinned_settings
    from coordpath_governance.governance.version_front import fit_data_for, front_on_versions
    from coordpath_governance.governance.version_report import read_versions, recalled_in
    from coordpath_governance.registry.versions import point_at
    from coordpath_governance.reports.front_flow import FrontRequest
    from coordpath_governance.reports.make import settings_for

    client = registry.client
    usual = chosen_alias(alias, None if governed is None else governed.adopted)
    candidate = point_at(client, name, options["candidate"])
    champion = champion_from(client, name, usual, options["champion"], candidate)
    settings = settings_for() if governed is None else pinned_settings(governed.adopted.policy)
    declared = recalled = None
    if governed is not None:
        tell_what_is_pinned(governed.adopted.policy.name)
        champion = governed.explained_from(champion, usual)
        declared, recalled = declared_in(governed.ledger), recalled_in(governed.ledger, usual)
    versions = read_versions(client, champion, candidate, declared=declared, recalled=recalled)
    with ExitStack() as stack:
        if governed is None:
            reference = reference_from(client, candidate, {**options, "role": None, "period": None})
        else:
            reference = stack.enter_context(pinned_reference(governed.adopted.policy, options["data"]))
        fit = fit_data_for(client, candidate, reference, options["fit_data"])
        request = FrontRequest(versions.subject, options["max_steps"], settings, chosen)
        progress = stack.enter_context(progress_line())
        return front_on_versions(versions, fit, reference, request, progress)


def _write(folder: Path, document: FrontDocument) -> None:
    from coordpath_governance.rendering.front import front_bytes, front_html, front_markdown

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "front.json").write_bytes(front_bytes(document))
        (folder / "front.html").write_text(front_html(document), encoding="utf-8")
        (folder / "front.md").write_text(front_markdown(document), encoding="utf-8")
