"""Checks that no policy switches off and nobody waives: pinned data and settings, a proof, digests, and how it was read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from coordpath_governance.models.formats import (
    DECLARED,
    DECLARED_FORMAT,
    as_read,
    format_of,
    is_plugin,
    recalled_from,
)
from coordpath_governance.numbers import percent
from coordpath_governance.policy.document import PinnedReference, Policy
from coordpath_governance.policy.results import Finding, combine, listed
from coordpath_governance.policy.rules.base import GateFacts, PageState
from coordpath_governance.reports.document import ChangeReportDocument, RuleFacts
from coordpath_governance.reports.version_parts import EnvironmentFacts
from coordpath_governance.text import visible

__all__ = ["BUILT_IN", "CHAMPION_FILES", "DECLARED_COEFFICIENTS", "PAGES", "built_in_results"]

PAGES = "pages"
DECLARED_COEFFICIENTS = "declared coefficients"
CHAMPION_FILES = "champion's files"
BUILT_IN = (
    "reference data",
    "reference settings",
    "order of the steps",
    "model digests",
    DECLARED_COEFFICIENTS,
    "file formats",
    "environment",
    CHAMPION_FILES,
    PAGES,
)
_SHORT = 12
_REMARKS = 5
_DIGEST = re.compile(r"[0-9a-f]{64}")


def built_in_results(policy: Policy, document: ChangeReportDocument, gate: GateFacts | None = None) -> Iterator[RuleFacts]:
    """All of them, in the order of `BUILT_IN`; the last five only where there is something to look at.

    Those are declared coefficients, formats that the policy lists or that are a plugin's, environment files, which older
    reports do not tell, a champion whose files are gone, and pages, of which older entries hold no digests. Who vouches for
    coefficients and which pages are attached is known to the ``gate`` alone.
    """
    data, settings, order, digests, declared, formats, environment, files, _ = BUILT_IN
    yield _reference_data(data, policy.reference, document)
    yield combine(settings, [_settings(policy.reference, document)], "fail")
    yield combine(order, [_order(document, has_gap_rule="gap" in policy.rules.model_fields_set)], "review")
    yield combine(digests, [_digests(document)], "fail")
    sources = _sources(document)
    read = {who: format_of(source) for who, source in sources.items()}
    sides = {who: as_read(source) == DECLARED for who, source in sources.items() if read[who] == DECLARED_FORMAT}
    if sides:
        vouched, too_few = ({}, {}) if gate is None else (gate.vouched, gate.too_few)
        yield combine(declared, [_declared(sides, vouched, too_few)], "review")
    if policy.formats is not None or any(form is not None and is_plugin(form) for form in read.values()):
        yield _formats(formats, policy.formats, read)
    if document.environments is not None and document.environments.candidate is not None:
        yield combine(environment, list(_environment(document.environments.candidate)), "review")
    report = recalled_from(sources.get("champion"))
    if report is not None or (gate is not None and gate.champion_gone):
        yield combine(files, [_gone(report)], "review")
    if gate is not None and gate.pages is not None:
        yield combine(PAGES, [_pages(gate.pages)], "fail")


def _sources(document: ChangeReportDocument) -> dict[str, object]:
    """How each version was read, the champion first: the order of a document's keys is no order."""
    champion, candidate = document.models.get("champion"), document.models.get("candidate")
    sides = {"champion": champion, "candidate": candidate}
    return {who: model.get("source") for who, model in sides.items() if model is not None}


def _reference_data(rule: str, pinned: PinnedReference, document: ChangeReportDocument) -> RuleFacts:
    """The pinned bytes in the pinned role. Moments that an author logged are never enough by themselves."""
    data = document.data
    observed = f"{visible(data.sha256[:_SHORT])}, {data.role}" + (", logged moments" if data.kind == "moments" else "")
    limit = f"{pinned.sha256[:_SHORT]}, {pinned.role}"
    if data.sha256 != pinned.sha256:
        why = "These are not the reference data that the policy pins: make the report with them."
    elif data.role != pinned.role:
        why = f"The policy says that these data are {pinned.role}: make the report with that role."
    elif data.kind == "moments":
        why = "Moments that the author logged cannot give a pass by themselves: pin rows, or let a person decide."
        return combine(rule, [Finding(observed, limit, met=False, reason=why)], "review")
    else:
        return combine(rule, [Finding(observed, limit, met=True)], "fail")
    return combine(rule, [Finding(observed, limit, met=False, reason=why)], "fail")


def _settings(pinned: PinnedReference, document: ChangeReportDocument) -> Finding:
    """Target, weight and what else the policy pins of how a report is made."""
    data, settings = document.data, document.settings
    wanted = {
        "target": (pinned.target, data.target),
        "weight": (pinned.weight, data.weight),
        "missing": (pinned.missing, data.missing),
        "threshold": (pinned.threshold_value, settings.threshold),
        "class of the threshold": (pinned.threshold_class, settings.threshold_class),
        "segments": (sorted(pinned.segments), sorted(settings.segments)),
        "max_steps": (pinned.max_steps, settings.max_steps),
        "gamma": (pinned.gamma, settings.gamma),
        "offset": (pinned.offset, data.offset),
        "exposure": (pinned.exposure, data.exposure),
        "champion's threshold": (None, settings.champion_threshold),
    }
    if pinned.period is not None:
        wanted["period"] = (pinned.period, data.period)
    other = [name for name, (want, found) in wanted.items() if want != found]
    why = f"Other than the policy pins: {listed(other)}; make the report as pinned." if other else ""
    return Finding(f"other than pinned: {listed(other)}" if other else "all as pinned", "all as pinned", not other, why)


def _order(document: ChangeReportDocument, *, has_gap_rule: bool) -> Finding:
    """A proved order, or a bounded one where a rule says how large the gap may be."""
    path = document.path
    limit = "proved, or within the gap rule"
    if path.status == "optimal":
        return Finding("proved optimal", limit, met=True)
    why = "" if has_gap_rule else "The order is only bounded, and no rule 'gap' says how far is near enough."
    return Finding(f"bounded, gap {percent(path.gap)}", limit, has_gap_rule, why)


def _declared(sides: Mapping[str, bool], vouched: Mapping[str, str], too_few: Mapping[str, str]) -> Finding:
    """Coefficients that were declared of a model nobody could read: whether it predicts by them is not known.

    It is, once somebody whom the policy names has vouched for exactly these coefficients of exactly these files. ``sides``
    tells of each such version whether the author alone declares them, ``too_few`` of which one more person has to vouch.
    """
    limit = "read from the model's files"
    open_sides = [who for who in sides if who not in vouched]
    if not open_sides:
        told = "; ".join(f"of the {who}, vouched for by {visible(vouched[who])}" for who in sides)
        return Finding(f"declared, {told}", f"{limit}, or vouched for", met=True)
    which = " and the ".join(open_sides)
    if all(who in too_few for who in open_sides):
        told = "; ".join(f"of the {who}, vouched for by {visible(too_few[who])} alone" for who in open_sides)
        why = (
            f"The coefficients of the {which} are declared of a model that cannot be read: one more person has to vouch for "
            "them, since nobody vouches for who registered it."
        )
        return Finding(f"declared, {told}", f"{limit}, or vouched for by two", met=None, reason=why)
    if all(sides[who] for who in open_sides):
        why = (
            f"The coefficients of the {which} are what the author declares of a model that cannot be read: a "
            "person has to vouch that it predicts by them."
        )
    else:
        why = (
            f"The coefficients of the {which} are declared of a model that cannot be read: the gate takes them while "
            "somebody whom the policy lets vouches for exactly them in the ledger."
        )
    return Finding(f"declared, of the {which}", limit, met=None, reason=why)


def _formats(rule: str, allowed: Sequence[str] | None, read: Mapping[str, str | None]) -> RuleFacts:
    """Whether both versions were read in a way that the policy lists.

    A candidate that was not fails. A champion stands there already: leaving its format behind must be possible, so a person
    decides. Without a list our own readers are trusted, those of others are not known.
    """
    limit = ", ".join(allowed) if allowed is not None else "formats that coordpath reads itself"
    findings = [_format(who, form, allowed, limit) for who, form in read.items()]
    refused = next((each for each, who in zip(findings, read, strict=True) if who == "candidate"), None)
    return combine(rule, findings, "fail" if refused is not None and refused.met is False else "review")


def _format(who: str, form: str | None, allowed: Sequence[str] | None, limit: str) -> Finding:
    observed = f"{who}: {'not known' if form is None else form}"
    if form is None:
        return Finding(observed, limit, None, f"How the {who} was read cannot be told: make the report from its files.")
    if allowed is None:
        known = not is_plugin(form)
        why = "" if known else f"The {who} was read by somebody else's reader, which the policy does not list in 'formats'."
        return Finding(observed, limit, True if known else None, why)
    why = "" if form in allowed else f"The policy does not list '{form}', the format in which the {who} was read."
    return Finding(observed, limit, form in allowed, why)


def _environment(environment: EnvironmentFacts) -> Iterator[Finding]:
    """Packages by name and version only: an index, an address, a path or an option is for a person to look at."""
    limit = "packages by name and version"
    for damage in environment.damaged:
        yield Finding("not known", limit, None, f"The environment files cannot be read: {_sentence(visible(damage))}")
    remarks = [
        f"{each.file}{'' if each.line is None else f' line {each.line}'}: {each.what}" for each in environment.remarks
    ]
    if remarks:
        things = "1 thing" if len(remarks) == 1 else f"{len(remarks)} things"
        more = f" And {len(remarks) - _REMARKS} more." if len(remarks) > _REMARKS else ""
        told = " ".join(f"{visible(each)}." for each in remarks[:_REMARKS])
        yield Finding(
            f"{things} to look at", limit, met=False, reason=f"They decide which code serves the model. {told}{more}"
        )
    if not remarks and not environment.damaged:
        yield Finding("packages by name and version" if environment.files else "no environment files", limit, met=True)


def _gone(report: str | None) -> Finding:
    """The champion's files are not there: what is said of it is what the ledger keeps. ``report``: the one that has it."""
    if report is None:
        told = "They were there when this report was made, and are gone now"
    else:
        told = f"Its coefficients are those of report {report[:_SHORT]} in the ledger, made while the files were there"
    why = f"The files of the champion are gone. {told}: a person has to find out who deleted them, and decide."
    return Finding("gone", "as they were promoted", met=None, reason=why)


def _pages(states: Mapping[str, PageState]) -> Finding:
    """What a person reads must be what was recorded, and what an approval therefore binds."""
    limit = "as recorded"
    other = {file: state for file, state in states.items() if state != "as recorded"}
    observed = ", ".join(f"{file}: {state}" for file, state in other.items()) or limit
    damaged = [file for file, state in other.items() if state in ("changed", "missing")]
    if damaged:
        why = (
            f"The recorded {listed(damaged)} {'is' if len(damaged) == 1 else 'are'} not beside the version: find out who "
            "changed that, then attach the recorded report again with `coordpath report`."
        )
        return Finding(observed, limit, met=False, reason=why)
    why = "The registry could not be asked for the attached report: ask again when its artifacts can be reached."
    return Finding(observed, limit, met=None if other else True, reason=why if other else "")


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _digests(document: ChangeReportDocument) -> Finding:
    """An approval binds both models byte for byte, so both must be known byte for byte."""
    sides = [("candidate", document.subject.candidate), ("champion", document.subject.champion)]
    missing = [who for who, side in sides if side is not None and not _DIGEST.fullmatch(side.digest or "")]
    why = f"No digest of the {' and the '.join(missing)}: make the report from registered versions." if missing else ""
    return Finding(f"missing: {listed(missing)}" if missing else "all there", "of both versions", not missing, why)
