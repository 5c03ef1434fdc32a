"""`coordpath report`: the main job."""

from __future__ import annotations

import math
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from coordpath_governance.cli.answers import say_line
from coordpath_governance.cli.clock import utc_now
from coordpath_governance.cli.governed import alias_option, chosen_alias
from coordpath_governance.cli.options import check_text, ledger_options
from coordpath_governance.cli.report_answer import print_report, show_attached, show_overview
from coordpath_governance.cli.screen import progress_line, say, speaking_aside
from coordpath_governance.errors import RefusedError, UsageError
from coordpath_governance.files import writing
from coordpath_governance.reports.stated_facts import DATE_FACTS, TAGGABLE_FACTS, is_date
from coordpath_governance.text import visible

if TYPE_CHECKING:
    from coordpath_governance.governance.governed_report import GovernedModel
    from coordpath_governance.registry.ports import RegistryClient
    from coordpath_governance.registry.versions import ModelPointer
    from coordpath_governance.rendering.change_report import ChangeReport
    from coordpath_governance.reports.make import ReferenceData

__all__ = ["choose_champion", "command", "reference_data"]

NO_CHAMPION = "none"
_PINNED = (
    *("target", "weight", "offset", "exposure", "role", "period", "missing"),
    *("max_steps", "all_steps", "gamma", "threshold", "champion_threshold", "threshold_class", "segments"),
)
_STATED = (*TAGGABLE_FACTS, "owner", "purpose")
ROLES = ("training", "holdout", "out-of-time", "not stated")


def _finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Raise click's `BadParameter` for NaN and infinity."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.", ctx, param)
    return value


@click.command("report")
@click.argument("name")
@click.option(
    "--champion",
    metavar="ALIAS|VERSION|URI",
    help="What to compare with; default: the version that has the alias; 'none': explain from zero.",
)
@click.option("--candidate", metavar="VERSION|latest|URI", default="latest", show_default=True, help="What to explain.")
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="FILE", help="Reference data: csv, parquet or a folder of parquet."
)
@click.option("--target", metavar="COL", help="The column of the reference data that both models predict.")
@click.option("--weight", metavar="COL", help="A column of row weights.")
@click.option("--offset", metavar="COL", help="A column that is added to the score (logistic, Poisson, gamma, Tweedie).")
@click.option("--exposure", metavar="COL", help="The same for the logarithm of a column, such as years insured.")
@click.option("--role", type=click.Choice(ROLES), help="What the reference data are to the models.")
@click.option("--period", help="The period that the reference data cover, in words.")
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
@click.option(
    "--gamma",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    callback=_finite,
    help="Weight γᵏ of step k.",
)
@click.option(
    "--threshold",
    type=float,
    callback=_finite,
    help="Count decisions 'prediction ≥ threshold' that flip (with an exposure: rate per unit of it ≥ threshold); "
    "default: each version's own threshold, if it has one.",
)
@click.option(
    "--champion-threshold",
    type=float,
    callback=_finite,
    help="The same for the champion alone, if its decisions were made at another threshold.",
)
@click.option(
    "--threshold-class",
    metavar="CLASS",
    help="Of a classifier: the class whose probability the thresholds are of; asked about in the report if not said.",
)
@click.option(
    "--segment",
    "segments",
    multiple=True,
    metavar="COL",
    help="Also tell the impact by the values of this column; repeatable.",
)
@click.option("--reason", help="Why the model changed; default, here and below: the tag coordpath.reason … of the version.")
@click.option("--change-type", help="Recalibration, feature change, redevelopment …")
@click.option("--planned", help="Whether and how the change was planned.")
@click.option("--monitoring", metavar="PLAN", help="How the model is watched once it is in use.")
@click.option("--rollback-plan", "rollback", metavar="PLAN", help="How the change is taken back if it turns out wrong.")
@click.option("--implementation-date", metavar="DATE", help="The day from which the version is used, as YYYY-MM-DD.")
@click.option("--notify-by", "notification_deadline", metavar="DATE", help="The day by which somebody has to be told of it.")
@click.option("--owner", help="Who owns the model.")
@click.option("--purpose", help="What the model is used for.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Also write the report's three files here.",
)
@click.option("--no-attach", is_flag=True, help="Do not touch the registry, nor apply its policy; needs --out.")
@click.option("--replace", is_flag=True, help="Attach it also where a report about another target is attached.")
@click.option("--gate", is_flag=True, help="Exit with the verdict's code: 0 pass, 1 fail, 3 review.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (coordpath.report/1) instead of lines.")
@alias_option
@ledger_options
def command(
    name: str,
    out: Path | None,
    no_attach: bool,
    replace: bool,
    gate: bool,
    as_json: bool,
    alias: str | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
    **options: Any,  # noqa: ANN401 - one per option above
) -> int:
    """Explain what changed in the registered model NAME and attach the report to the candidate version.

    A model under an adopted policy is explained on the data that the policy pins, assessed, and recorded in the ledger.
    Exits 0 once the report is made and attached; with --gate, with the verdict's code.
    """
    if no_attach and (out is None or gate):
        wrong = "--gate needs the report attached" if gate else "--no-attach without --out would throw the report away"
        raise UsageError(f"{wrong}; " + ("leave out --no-attach" if gate else "add --out FOLDER"))
    if as_json:
        click.get_current_context().with_resource(speaking_aside())
    check_text(name, alias, *options.values())
    _check_dates(options)
    from coordpath_governance.cli.governed import find_governed, open_registry

    client = open_registry(tracking_uri, registry_uri).client
    governed = find_governed(client, name, ledger=ledger, tracking_uri=tracking_uri, registry_uri=registry_uri)
    if gate and governed is None:
        raise RefusedError(f"'{name}' is under no adopted policy, so there is no gate to ask; see `coordpath policy adopt`")
    alias = chosen_alias(alias, governed.adopted if governed is not None else None)
    if governed is not None and not no_attach:
        if not as_json and not _shaping_options():
            code = _mend(governed, name, alias, options, out)
            if code is not None:
                return code if gate else 0
        _tell_what_is_pinned(governed.adopted.policy.name)
    report, champion, candidate = _make(client, name, alias, options, attached=not no_attach, governed=governed)
    finish = partial(print_report, report, champion, candidate)
    if not as_json:
        show_overview(report.document, verdict=governed is None or no_attach)
    if out is not None:
        _write(out, report)
        say(f"\nWritten to {visible(str(out))}")
    if no_attach:
        return finish(exit_code=0) if as_json else 0
    answer = None
    if governed is None:
        from coordpath_governance.governance.attach import attach

        attached = attach(client, champion, candidate, report, now=utc_now(), replace=replace)
    else:
        answer, attached = governed.conclude(champion, candidate, report, alias)
    if as_json:
        code = answer.exit_code if answer is not None and gate else 0
        return finish(exit_code=code, attached=attached, answer=answer, governed=governed)
    action = "Attached to" if attached.new else "Already attached to"
    code = show_attached(governed, answer, report, candidate, attached, action)
    return code if gate else 0


def _shaping_options() -> bool:
    """Whether an option asks for a report other than the recorded one."""
    context = click.get_current_context()
    return any(context.get_parameter_source(name) == ParameterSource.COMMANDLINE for name in (*_PINNED, *_STATED, "data"))


def _mend(governed: GovernedModel, name: str, alias: str, options: dict[str, Any], out: Path | None) -> int | None:
    """Attach the recorded report again if other files are in its place; None if there is nothing to mend."""
    from coordpath_governance.registry.versions import point_at

    client = governed.client
    candidate = point_at(client, name, options["candidate"])
    if candidate.name != name or candidate.version is None:
        return None
    champion = _named_champion(client, name, alias, options["champion"])
    mended = governed.mend(champion, candidate, alias)
    if mended is None:
        return None
    report, answer, attached = mended
    show_overview(report.document, verdict=False)
    if out is not None:
        _write(out, report)
        say(f"\nWritten to {visible(str(out))}")
    unchanged = "It stands by this report. Already attached to"
    action = "Other files were in its place. Attached again to" if attached.new else unchanged
    return show_attached(governed, answer, report, candidate, attached, action)


def _check_dates(options: dict[str, Any]) -> None:
    for option in click.get_current_context().command.params:
        date = options.get(option.name or "")
        if option.name in DATE_FACTS and date is not None and not is_date(date):
            raise UsageError(f"{option.opts[0]} is '{date}'; give a date such as 2026-12-31")


def _tell_what_is_pinned(policy: str) -> None:
    """Say which given options the policy decides, so that they were ignored."""
    context = click.get_current_context()
    ignored = [
        option.opts[0]
        for option in context.command.params
        if option.name in _PINNED and context.get_parameter_source(option.name) == ParameterSource.COMMANDLINE
    ]
    if ignored:
        say_line(f"As policy '{policy}' pins, not as given: {', '.join(ignored)}")
        say()


def _make(
    client: RegistryClient, name: str, alias: str, options: dict[str, Any], *, attached: bool, governed: GovernedModel | None
) -> tuple[ChangeReport, ModelPointer | None, ModelPointer]:
    from coordpath_governance.governance.declared import declared_in
    from coordpath_governance.governance.version_report import report_on_versions
    from coordpath_governance.registry.versions import point_at
    from coordpath_governance.reports.document import ChangeFacts
    from coordpath_governance.reports.make import settings_for

    candidate = point_at(client, name, options["candidate"])
    if attached and candidate.version is None:
        raise UsageError(
            f"{candidate.uri} is not a registered version, so there is nothing to attach a report to; "
            "register it, or use --no-attach --out FOLDER"
        )
    if attached and candidate.name != name:
        raise UsageError(
            f"{candidate.uri} is not a version of '{name}'; explain it under its own name: "
            f"`coordpath report {shlex.quote(str(candidate.name))} --candidate {candidate.version}`"
        )
    champion = choose_champion(client, name, alias, options["champion"], candidate)
    if governed is not None and attached:
        champion = governed.explained_from(champion, alias)
    facts = ChangeFacts(**{key: options[key] for key in _STATED})
    if governed is not None and attached:
        with progress_line() as progress:
            report = governed.make(champion, candidate, facts, alias=alias, data=options["data"], progress=progress)
        return report, champion, candidate
    settings = settings_for(
        max_steps=None if options["all_steps"] else options["max_steps"],
        gamma=options["gamma"],
        threshold=options["threshold"],
        champion_threshold=options["champion_threshold"],
        threshold_class=options["threshold_class"],
        segments=tuple(dict.fromkeys(options["segments"])),
    )
    reference = reference_data(client, candidate, options)
    declared = None if governed is None else declared_in(governed.ledger)
    with progress_line() as progress:
        report = report_on_versions(
            client, champion, candidate, reference, facts=facts, settings=settings, progress=progress, declared=declared
        )
    return report, champion, candidate


def reference_data(client: RegistryClient, candidate: ModelPointer, options: dict[str, Any]) -> ReferenceData:
    """The rows that the options name, or the moments that the candidate's run logged."""
    from coordpath_governance.reference.sources import open_source
    from coordpath_governance.registry.reference import reference_of
    from coordpath_governance.reports.make import ReferenceData

    target, role = options["target"], options["role"]
    stated = {key: options[key] for key in ("weight", "period", "missing", "offset", "exposure")}
    if options["data"] is None:
        return reference_of(client, candidate, target=target, role=role, **stated)
    if target is None:
        raise UsageError("--data needs --target COL, the column that both models predict")
    return ReferenceData(open_source(options["data"]), target, role=role or "not stated", **stated)


def choose_champion(
    client: RegistryClient, name: str, alias: str, which: str | None, candidate: ModelPointer
) -> ModelPointer | None:
    """The version that is meant; None where the path begins at zero."""
    champion = _named_champion(client, name, alias, which)
    if champion is None and which != NO_CHAMPION:
        say(
            f"'{visible(name)}' has no alias '{visible(alias)}' yet: explaining {visible(candidate.label)} from zero. "
            "Use --champion to compare with a version."
        )
    elif champion is not None and (champion.uri, champion.version) == (candidate.uri, candidate.version):
        raise UsageError(
            f"champion and candidate are both {candidate.uri}; nothing changed between them. "
            "Name another version with --champion or --candidate."
        )
    return champion


def _named_champion(client: RegistryClient, name: str, alias: str, which: str | None) -> ModelPointer | None:
    from coordpath_governance.registry.versions import find_champion, point_at

    if which == NO_CHAMPION:
        return None
    return find_champion(client, name, alias) if which is None else point_at(client, name, which)


def _write(folder: Path, report: ChangeReport) -> None:
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "change_report.json").write_bytes(report.to_bytes())
        (folder / "change_report.html").write_text(report.to_html(), encoding="utf-8")
        (folder / "change_report.md").write_text(report.to_markdown(), encoding="utf-8")
