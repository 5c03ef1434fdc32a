"""Where everything came from, and how to do it again. What nobody stated is shown as missing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coordpath_governance.numbers import count, significant
from coordpath_governance.rendering import wording
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.origin_view import DIGEST_NOTE, SideRow, has_mlflow_digest, origin_rows
from coordpath_governance.reports.document import ChangeReportDocument, DataFacts, VersionFacts
from coordpath_governance.reports.impact_parts import GlmFacts
from coordpath_governance.reports.limits import training_remarks
from coordpath_governance.reports.stated_facts import ASKED_FACTS, DATE_FACTS
from coordpath_governance.reports.version_parts import EnvironmentFacts, PinChange, pin_changes

__all__ = [
    "EnvironmentView",
    "FactRow",
    "PersonFact",
    "ProvenanceView",
    "RecheckView",
    "SideRow",
    "provenance_view",
    "recheck_view",
]

Lines = tuple[str, ...]
AUTHORS_WORDS = "the author's words, from a tag"
TWO = 2
TOP = 2


@dataclass(frozen=True)
class FactRow:
    """One fact of the reference data; None is missing."""

    name: str
    value: str | None
    code: bool = False


@dataclass(frozen=True)
class PersonFact:
    """Something only people know; None is missing. ``remark``: who said it, or why it is missing."""

    name: str
    lines: Lines | None
    remark: str = ""


@dataclass(frozen=True)
class EnvironmentView:
    """Which code serves the model: what its environment files ask for, and what changed in them."""

    sentence: str
    changes: Shown[SideRow]
    remarks: Shown[str]


@dataclass(frozen=True)
class ProvenanceView:
    """The view of the section "provenance"; ``environment`` is None where the versions have no files."""

    has_champion: bool
    old_label: str
    new_label: str
    versions: tuple[SideRow, ...]
    data: tuple[FactRow, ...]
    people: tuple[PersonFact, ...]
    people_sentence: str
    training_note: str
    training_remarks: tuple[str, ...]
    environment: EnvironmentView | None


@dataclass(frozen=True)
class RecheckView:
    """The view of the section "recheck"."""

    command: str
    versions: Shown[tuple[str, str]]
    settings: tuple[FactRow, ...]
    problem: str | None
    problem_size: str
    cuts: str | None


def provenance_view(document: ChangeReportDocument, caps: Caps) -> ProvenanceView:
    """The section "provenance": both versions, the data, what people state, and the environment."""
    champion, candidate = document.subject.champion, document.subject.candidate
    people = _people(document, caps)
    return ProvenanceView(
        has_champion=champion is not None,
        old_label=wording.version_label("Champion", caps.label(champion.label)) if champion else "No champion",
        new_label=wording.version_label("Candidate", caps.label(candidate.label)),
        versions=(
            *_versions(champion, candidate, caps),
            *origin_rows(champion, candidate, caps),
            *_training(document, caps),
        ),
        data=_data(document, caps),
        people=people,
        people_sentence=_filled_in(people),
        training_note=DIGEST_NOTE if has_mlflow_digest(champion, candidate) else "",
        training_remarks=tuple(caps.sentence(remark) for remark in training_remarks(document.subject, document.data)),
        environment=_environment(document, caps),
    )


def _environment(document: ChangeReportDocument, caps: Caps) -> EnvironmentView | None:
    both = document.environments
    if both is None or both.candidate is None:
        return None
    changes = pin_changes(both)
    remarks = [
        *(f"{damage}." for damage in both.candidate.damaged),
        *(
            f"{remark.file}{'' if remark.line is None else f', line {remark.line}'}: {remark.what}"
            for remark in both.candidate.remarks
        ),
    ]
    return EnvironmentView(
        sentence=caps.sentence(_environment_sentence(both.champion, both.candidate, len(changes))),
        changes=Shown.first(changes, caps.entries, lambda change: _pin_row(change, caps)),
        remarks=Shown.first(remarks, caps.entries, caps.sentence),
    )


def _pin_row(change: PinChange, caps: Caps) -> SideRow:
    return SideRow(caps.label(change.package), _version_text(change.old, caps), _version_text(change.new, caps), code=False)


def _version_text(version: str | None, caps: Caps) -> str:
    return "not asked for" if version is None else caps.label(version)


def _environment_sentence(old: EnvironmentFacts | None, new: EnvironmentFacts, changed: int) -> str:
    """What the candidate's files ask for, and whether that is what the champion's ask for."""
    if not new.files:
        return "The candidate has no environment files: nothing says which packages serve it."
    python = "" if new.python is None else f" and Python {new.python}"
    packages = "1 package" if len(new.pins) == 1 else f"{count(len(new.pins))} packages"
    asks = f"The candidate's files ({', '.join(new.files)}) ask for {packages}{python}."
    if old is None:
        return asks
    differ = "None differs from what the champion's ask for." if not changed else f"{count(changed)} changed."
    return f"{asks} {differ}"


def _versions(champion: VersionFacts | None, candidate: VersionFacts, caps: Caps) -> tuple[SideRow, ...]:
    def side(version: VersionFacts | None, field: str) -> str | None:
        value = getattr(version, field) if version else None
        return caps.label(value) if value else None

    def aliases(version: VersionFacts | None) -> str | None:
        return caps.label(", ".join(version.aliases)) if version and version.aliases else "none" if version else None

    fields = (
        ("Registered model", "name", False),
        ("Version", "version", False),
        ("URI", "uri", True),
        ("Run", "run_id", True),
        ("Model digest (SHA-256)", "digest", True),
    )
    rows = [SideRow(name, side(champion, key), side(candidate, key), code) for name, key, code in fields]
    rows.insert(2, SideRow("Aliases", aliases(champion), aliases(candidate), code=False))
    return tuple(rows)


def _training(document: ChangeReportDocument, caps: Caps) -> tuple[SideRow, ...]:
    """Facts about how each model was made, as its reader found them."""
    old, new = document.models.get("champion"), document.models.get("candidate")

    def rows(names: Mapping[str, str]) -> list[SideRow]:
        return [SideRow(name, _fact(old, key, caps), _fact(new, key, caps), code=False) for key, name in names.items()]

    of_family = [] if document.glm is None else [row for row in rows(wording.GLM_MODEL_WORDS) if row.old or row.new]
    return (*rows(wording.MODEL_WORDS), *of_family)


def _fact(model: Mapping[str, object] | None, key: str, caps: Caps) -> str | None:
    value = (model or {}).get(key)
    if value is None or value in ("", {}, [], ()):
        return None
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: item[0] != "kind")
        return caps.label(", ".join(f"{name} = {_plain(item)}" for name, item in items))
    if isinstance(value, (list, tuple)):
        return caps.label(", ".join(_plain(item) for item in value))
    return caps.label(_plain(value))


def _plain(value: object) -> str:
    """A setting of an estimator as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return significant(value, 6).rstrip("0").rstrip(".") if value and value == round(value, 9) else significant(value, 6)
    return "none" if value is None else str(value)


def _data(document: ChangeReportDocument, caps: Caps) -> tuple[FactRow, ...]:
    data, glm = document.data, document.glm
    rows = f"{count(data.rows)} used, {count(data.rows_dropped)} dropped for missing values"
    spread = f"{significant(data.target_mean)}, {significant(data.target_sd)}"
    facts = [
        FactRow("Data", caps.label(data.name)),
        FactRow("Kind", data.kind),
        FactRow("SHA-256", caps.label(data.sha256), code=True),
        FactRow("Role", wording.ROLE_WORDS[data.role]),
        FactRow("Period", caps.label(data.period) if data.period else None),
        FactRow("Rows", rows),
        FactRow("Target", caps.label(data.target)),
    ]
    of = wording.predicted(document)
    if of:
        facts += [
            FactRow("Modelled", of),
            FactRow(f"Mean and standard deviation of {of}", spread),
        ]
    elif glm is None or glm.family != "multinomial":
        facts.append(FactRow("Target mean and standard deviation", spread))
    facts.append(FactRow("Weights", caps.label(data.weight) if data.weight else "none: every row counts the same"))
    return (*facts, *_cost(glm, data, caps)) if glm else tuple(facts)


def _cost(glm: GlmFacts, data: DataFacts, caps: Caps) -> tuple[FactRow, ...]:
    """What the models are judged by, and what is added to their scores."""
    facts = []
    if data.exposure:
        facts.append(FactRow("Exposure (its logarithm is added to the score)", caps.label(data.exposure)))
    if data.offset:
        facts.append(FactRow("Offset (added to the score)", caps.label(data.offset)))
    if not facts:
        facts.append(FactRow("Offset or exposure", "none"))
    family = f"{glm.family}, link {glm.link}" + ("" if glm.power is None else f", power {_plain(glm.power)}")
    facts += [FactRow("Family of the cost", family), FactRow("Cost", caps.label(glm.loss))]
    if len(glm.classes) == TWO:
        facts.append(FactRow("Class predicted", caps.label(glm.classes[1])))
    elif glm.classes:
        facts.append(FactRow("Classes", caps.label(", ".join(glm.classes))))
    return (*facts, FactRow("Cost of the best constant", significant(glm.constant_cost)))


def _people(document: ChangeReportDocument, caps: Caps) -> tuple[PersonFact, ...]:
    facts = document.facts
    people = []
    for key, name in ASKED_FACTS.items():
        value = getattr(facts, key)
        filled = bool(value and value.strip())
        remark = AUTHORS_WORDS if filled and key in facts.tagged else ""
        if not filled and key in facts.unusable_tags:
            remark = f"the tag coordpath.{key} was not used: it is too long" + (", or no date" if key in DATE_FACTS else "")
        people.append(PersonFact(name, caps.lines(value) if filled else None, remark))
    return tuple(people)


def _filled_in(people: Sequence[PersonFact]) -> str:
    """Whether everything was filled in, and by name what was not."""
    missing = [fact.name for fact in people if fact.lines is None]
    if not missing:
        return f"All {len(people)} facts this report asks for are filled in."
    are = "is" if len(missing) == 1 else "are"
    names = ", ".join(missing).lower()
    return f"{len(missing)} of the {len(people)} facts this report asks for {are} missing: {names}."


def recheck_view(document: ChangeReportDocument, caps: Caps) -> RecheckView:
    """The section "recheck": command, settings and versions, and the problem itself if it is small."""
    problem = problem_text(document.problem)
    settings = document.settings
    versions = sorted(document.recheck.versions.items())
    return RecheckView(
        command=caps.sentence(document.recheck.command),
        versions=Shown.first(versions, caps.entries, lambda version: (caps.label(version[0]), caps.label(version[1]))),
        settings=(
            FactRow("Digest of this report", caps.label(document.digest), code=True),
            FactRow("Seed", str(document.recheck.seed)),
            FactRow("Solver asked for", caps.label(settings.solver)),
            FactRow("Order found by the solver", caps.label(document.path.solver)),
            FactRow("Single steps at most", "no limit" if settings.max_steps is None else str(settings.max_steps)),
            FactRow("Weight of later steps (γ)", significant(settings.gamma).rstrip("0").rstrip(".")),
            FactRow(
                "Time limit", "none: the work is bounded" if settings.time_limit is None else f"{settings.time_limit:g} s"
            ),
        ),
        problem=problem if len(problem) <= caps.problem else None,
        problem_size=count(len(problem)),
        cuts=None if document.glm is None else wording.cuts(_evaluations(document.problem)),
    )


def _evaluations(problem: Mapping[str, object]) -> int:
    """How many evaluations of its cost a problem records."""
    value: object = problem
    for key in ("cost", "record", "evaluations"):
        value = value.get(key) if isinstance(value, Mapping) else None
    return len(value) if isinstance(value, (list, tuple)) else 0


def problem_text(problem: Mapping[str, object]) -> str:
    """The problem as JSON, one line for each key and for each row of a matrix; ASCII, so that nothing hides in it."""
    lines = [f" {json.dumps(key)}: {_laid_out(value, 2)}" for key, value in problem.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _laid_out(value: object, depth: int) -> str:
    """A value as JSON: each key, and each row below the first level, on a line of its own, ``depth`` spaces in."""
    indent = " " * depth
    if isinstance(value, dict) and value:
        lines = [f"{indent}{json.dumps(key)}: {_laid_out(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + "}"
    if depth > TOP and isinstance(value, (list, tuple)) and value and isinstance(value[0], (list, tuple, dict)):
        return "[\n" + ",\n".join(f"{indent}{json.dumps(row)}" for row in value) + "]"
    return json.dumps(value)
