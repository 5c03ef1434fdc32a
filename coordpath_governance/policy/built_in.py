"""Checks that no policy switches off and nobody waives.

They look at the pinned data and settings, the proof of the order, the digests, and how the versions were read and served.
"""

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
    """The results of the built-in checks, in the order of `BUILT_IN`; the last five only where they apply.

    They apply to coefficients that are declared, to formats that the policy lists or that a plugin reads, to environment
    files (which older reports do not have), to a champion whose files are gone, and to pages whose digests are recorded.
    Who vouches for coefficients, and which pages are attached, only the ``gate`` knows.
    """
    data, settings, order, digests, declared, formats, environment, files, _ = BUILT_IN
    yield _reference_data(data, policy.reference, document)
    yield combine(settings, [_settings(policy.reference, document)], "fail")
    yield combine(order, [_order(document, has_gap_rule="gap" in policy.rules.model_fields_set)], "review")
    yield combine(digests, [_digests(document)], "fail")
    sources = _sources(document)
    formats_read = {who: format_of(source) for who, source in sources.items()}
    by_author_alone = {
        who: as_read(source) == DECLARED for who, source in sources.items() if formats_read[who] == DECLARED_FORMAT
    }
    if by_author_alone:
        vouched, too_few = ({}, {}) if gate is None else (gate.vouched, gate.too_few)
        yield combine(declared, [_declared(by_author_alone, vouched, too_few)], "review")
    if policy.formats is not None or any(form is not None and is_plugin(form) for form in formats_read.values()):
        yield _formats(formats, policy.formats, formats_read)
    if document.environments is not None and document.environments.candidate is not None:
        yield combine(environment, list(_environment(document.environments.candidate)), "review")
    report = recalled_from(sources.get("champion"))
    if report is not None or (gate is not None and gate.champion_gone):
        yield combine(files, [_gone(report)], "review")
    if gate is not None and gate.pages is not None:
        yield combine(PAGES, [_pages(gate.pages)], "fail")


def _sources(document: ChangeReportDocument) -> dict[str, object]:
    """How each version was read, by side, the champion first whatever the order of the document's keys."""
    champion, candidate = document.models.get("champion"), document.models.get("candidate")
    sides = {"champion": champion, "candidate": candidate}
    return {who: model.get("source") for who, model in sides.items() if model is not None}


def _reference_data(rule: str, pinned: PinnedReference, document: ChangeReportDocument) -> RuleFacts:
    """Whether the report is on the pinned bytes in the pinned role; moments that an author logged are left to a person."""
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
    """Whether target, weight and all other pinned settings are those of the report."""
    data, settings = document.data, document.settings
    settings_by_name = {
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
        settings_by_name["period"] = (pinned.period, data.period)
    differing = [name for name, (pinned_value, value) in settings_by_name.items() if pinned_value != value]
    limit = "all as pinned"
    if not differing:
        return Finding(limit, limit, met=True)
    why = f"Other than the policy pins: {listed(differing)}; make the report as pinned."
    return Finding(f"other than pinned: {listed(differing)}", limit, met=False, reason=why)


def _order(document: ChangeReportDocument, *, has_gap_rule: bool) -> Finding:
    """Whether the order is proved, or bounded while a rule says how large the gap may be."""
    path = document.path
    limit = "proved, or within the gap rule"
    if path.status == "optimal":
        return Finding("proved optimal", limit, met=True)
    why = "" if has_gap_rule else "The order is only bounded, and no rule 'gap' says how far is near enough."
    return Finding(f"bounded, gap {percent(path.gap)}", limit, has_gap_rule, why)


def _declared(by_author_alone: Mapping[str, bool], vouched: Mapping[str, str], too_few: Mapping[str, str]) -> Finding:
    """Whether people vouch for the coefficients that are declared of a model nobody can read; not known until they do.

    Somebody whom the policy names has to vouch for exactly these coefficients of exactly these files. ``by_author_alone``
    says, for each version with declared coefficients, whether only its author declares them. ``vouched`` and ``too_few`` are
    as in `GateFacts`.
    """
    limit = "read from the model's files"
    open_sides = [who for who in by_author_alone if who not in vouched]
    if not open_sides:
        vouchers = "; ".join(f"of the {who}, vouched for by {visible(vouched[who])}" for who in by_author_alone)
        return Finding(f"declared, {vouchers}", f"{limit}, or vouched for", met=True)
    which = " and the ".join(open_sides)
    if all(who in too_few for who in open_sides):
        vouchers = "; ".join(f"of the {who}, vouched for by {visible(too_few[who])} alone" for who in open_sides)
        why = (
            f"The coefficients of the {which} are declared of a model that cannot be read: one more person has to vouch for "
            "them, since nobody vouches for who registered it."
        )
        return Finding(f"declared, {vouchers}", f"{limit}, or vouched for by two", met=None, reason=why)
    if all(by_author_alone[who] for who in open_sides):
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


def _formats(rule: str, allowed: Sequence[str] | None, formats_read: Mapping[str, str | None]) -> RuleFacts:
    """Whether both versions were read in a format that the policy lists.

    If not, a candidate fails. For a champion a person decides, so that a format can be left behind. Without a list our own
    readers are trusted, and what a plugin read is not known.
    """
    limit = ", ".join(allowed) if allowed is not None else "formats that coordpath reads itself"
    findings = {who: _format(who, form, allowed, limit) for who, form in formats_read.items()}
    candidate = findings.get("candidate")
    is_refused = candidate is not None and candidate.met is False
    return combine(rule, list(findings.values()), "fail" if is_refused else "review")


def _format(who: str, form: str | None, allowed: Sequence[str] | None, limit: str) -> Finding:
    observed = f"{who}: {'not known' if form is None else form}"
    if form is None:
        return Finding(observed, limit, None, f"How the {who} was read cannot be told: make the report from its files.")
    if allowed is None:
        is_ours = not is_plugin(form)
        why = (
            "" if is_ours else f"The {who} was read by somebody else's reader, which the policy does not list in 'formats'."
        )
        return Finding(observed, limit, True if is_ours else None, why)
    why = "" if form in allowed else f"The policy does not list '{form}', the format in which the {who} was read."
    return Finding(observed, limit, form in allowed, why)


def _environment(environment: EnvironmentFacts) -> Iterator[Finding]:
    """Whether the environment files ask for packages by name and version only; a person looks at anything else."""
    limit = "packages by name and version"
    for damage in environment.damaged:
        yield Finding("not known", limit, None, f"The environment files cannot be read: {_sentence(visible(damage))}")
    remarks = [
        f"{remark.file}{'' if remark.line is None else f' line {remark.line}'}: {remark.what}"
        for remark in environment.remarks
    ]
    if remarks:
        things = "1 thing" if len(remarks) == 1 else f"{len(remarks)} things"
        more = f" And {len(remarks) - _REMARKS} more." if len(remarks) > _REMARKS else ""
        first = " ".join(f"{visible(remark)}." for remark in remarks[:_REMARKS])
        yield Finding(
            f"{things} to look at", limit, met=False, reason=f"They decide which code serves the model. {first}{more}"
        )
    if not remarks and not environment.damaged:
        yield Finding("packages by name and version" if environment.files else "no environment files", limit, met=True)


def _gone(report: str | None) -> Finding:
    """The champion's files are gone. ``report``: SHA-256 of the recorded report that its coefficients come from, if any."""
    if report is None:
        origin = "They were there when this report was made, and are gone now"
    else:
        origin = f"Its coefficients are those of report {report[:_SHORT]} in the ledger, made while the files were there"
    why = f"The files of the champion are gone. {origin}: a person has to find out who deleted them, and decide."
    return Finding("gone", "as they were promoted", met=None, reason=why)


def _pages(states: Mapping[str, PageState]) -> Finding:
    """Whether the attached pages, which people read, are the recorded ones, which an approval binds."""
    limit = "as recorded"
    deviating = {file: state for file, state in states.items() if state != "as recorded"}
    observed = ", ".join(f"{file}: {state}" for file, state in deviating.items()) or limit
    damaged = [file for file, state in deviating.items() if state in ("changed", "missing")]
    if damaged:
        why = (
            f"The recorded {listed(damaged)} {'is' if len(damaged) == 1 else 'are'} not beside the version: find out who "
            "changed that, then attach the recorded report again with `coordpath report`."
        )
        return Finding(observed, limit, met=False, reason=why)
    why = "The registry could not be asked for the attached report: ask again when its artifacts can be reached."
    return Finding(observed, limit, met=None if deviating else True, reason=why if deviating else "")


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _digests(document: ChangeReportDocument) -> Finding:
    """Whether the digests of both models are known: an approval binds both, byte for byte."""
    sides = [("candidate", document.subject.candidate), ("champion", document.subject.champion)]
    missing = [who for who, side in sides if side is not None and not _DIGEST.fullmatch(side.digest or "")]
    why = f"No digest of the {' and the '.join(missing)}: make the report from registered versions." if missing else ""
    return Finding(f"missing: {listed(missing)}" if missing else "all there", "of both versions", not missing, why)
