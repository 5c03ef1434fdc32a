"""The sweep: look at every model under a policy, hash the champions again, and report on versions that lack a report.

It finds what bypassed the guard since the last sweep. A move and a move back between two sweeps cannot be found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from shlex import quote
from typing import Literal

from coordpath_governance.errors import (
    EXIT_NO,
    EXIT_UNKNOWN,
    AlignmentError,
    CoordpathError,
    FilesGoneError,
    ModelReadError,
    NotFoundError,
    RefusedError,
    StandingFilesGoneError,
    UnguardedError,
)
from coordpath_governance.governance.decision_files import foreign_decisions
from coordpath_governance.governance.governed_report import GovernedModel
from coordpath_governance.governance.shown import show_version
from coordpath_governance.ledger.events import LONGEST_WORDS, ReportMade, VersionUnreadable
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.registry.client_registry import ClientRegistry
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.versions import ListedVersion, point_at, registered_names, registered_versions
from coordpath_governance.reports.document import ChangeFacts, RuleFacts
from coordpath_governance.review.belonging import check_belongs
from coordpath_governance.review.emergency import emergency_words
from coordpath_governance.review.gate import Answer, ask_gate
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.pages import changed_pages, page_states
from coordpath_governance.review.policies import AdoptedPolicy, adopted_policies, guarding_policies, policy_for
from coordpath_governance.review.ports import AliasRegistry
from coordpath_governance.review.promotion import look, stands_already

__all__ = [
    "SWEEP_SCHEMA",
    "Scope",
    "SweepFinding",
    "exit_code",
    "failed_before",
    "is_about_the_files",
    "sweep",
    "sweep_document",
]

SWEEP_SCHEMA = "coordpath.sweep/1"
_MOVED = frozenset(("moved", "gone", "emergency"))
_OPEN = ("fail", "review", "unknown")


@dataclass(frozen=True)
class SweepFinding:
    """One thing that a sweep found or did: an alias is as recorded or was moved, a report was made or could not be made.

    "gone": the alias is where it should be, but the files of its version were deleted. "emergency": somebody rolled back
    alone, and others have not settled that yet. "changed": the attached report or decision is not the recorded one.
    ``rules`` are those that a report made now does not meet. Without ``counts`` the exit code does not depend on it.
    """

    kind: Literal[
        "stands", "gone", "emergency", "moved", "unguarded", "reported", "changed", "unreadable", "failed", "ignored"
    ]
    name: str
    text: str
    version: str | None = None
    rules: tuple[RuleFacts, ...] = ()
    counts: bool = True

    def to_dict(self) -> dict[str, object]:
        """The finding as JSON."""
        version = {} if self.version is None else {"version": self.version}
        rules = [{"rule": each.rule, "result": each.result} for each in self.rules]
        return {"kind": self.kind, "name": self.name, **version, "text": self.text, "counts": self.counts, "rules": rules}


@dataclass(frozen=True)
class Scope:
    """What a sweep is about: these models only (all, if none is named), and for reports versions created since (ms).

    Of models that a pattern of ``ignore`` matches, nothing counts but a move or an open emergency rollback.
    """

    models: tuple[str, ...] = ()
    since: int = 0
    ignore: tuple[str, ...] = ()

    def ignores(self, name: str) -> bool:
        """Whether a pattern matches the name."""
        return any(fnmatchcase(name, pattern) for pattern in self.ignore)


def sweep(client: RegistryClient, ledger: Ledger, scope: Scope | None = None) -> Iterator[SweepFinding]:
    """All models that a policy matches, in force or retired, by name; one that fails does not stop the others.

    Raises `ForeignRegistryError` if the ledger belongs to another registry, and `NotFoundError` if a model was named that
    neither has.
    """
    scope = scope or Scope()
    registry = ClientRegistry(client)
    check_belongs(ledger, registry)
    versions = registered_versions(client)
    recorded = {entry.model for entry in ledger.entries() if entry.model is not None}
    for name in _names(client, ledger, scope, recorded | set(versions)):
        swept = _look_at_model(client, ledger, name, versions.get(name, []), scope)
        yield from _only_moves(name, swept) if scope.ignores(name) else swept


def exit_code(findings: Iterable[SweepFinding]) -> int:
    """1 if something was moved, changed or deleted outside the gate, 4 if something could not be looked at or reported."""
    kinds = {each.kind for each in findings if each.counts}
    return EXIT_NO if kinds & {*_MOVED, "changed"} else EXIT_UNKNOWN if kinds & {"failed", "unreadable"} else 0


def sweep_document(findings: Collection[SweepFinding]) -> dict[str, object]:
    """What `coordpath sweep --json` prints."""
    return {"schema": SWEEP_SCHEMA, "exit_code": exit_code(findings), "findings": [each.to_dict() for each in findings]}


def _names(client: RegistryClient, ledger: Ledger, scope: Scope, names: set[str]) -> list[str]:
    """The models that were named; else those that a policy matches."""
    if scope.models:
        for name in set(scope.models) - names - set(registered_names(client)):
            raise NotFoundError(f"neither {ClientRegistry(client).place} nor the ledger has a model '{name}'")
        return sorted(set(scope.models))
    policies = [adopted.policy for adopted in guarding_policies(ledger)]
    return sorted(name for name in names if any(policy.matches(name) for policy in policies))


def _look_at_model(
    client: RegistryClient,
    ledger: Ledger,
    name: str,
    versions: list[ListedVersion],
    scope: Scope,
) -> Iterator[SweepFinding]:
    recorded = ModelHistory(ledger.entries(name)).aliases
    try:
        adopted = policy_for(ledger, name)
    except RefusedError as error:
        guarding = [each.policy for each in guarding_policies(ledger) if each.policy.matches(name)]
        yield from _look_at_aliases(client, ledger, recorded.union(*(policy.aliases for policy in guarding)), name)
        yield from (SweepFinding("emergency", name, words) for words in emergency_words(ledger, name))
        if not guarding or any(each.policy.matches(name) for each in adopted_policies(ledger)):
            yield SweepFinding("failed", name, str(error))
        return
    on_aliases = [*_look_at_aliases(client, ledger, recorded.union(adopted.policy.aliases), name)]
    yield from on_aliases
    yield from (SweepFinding("emergency", name, words) for words in emergency_words(ledger, name))
    numbers = [each.number for each in versions]
    yield from _look_at_pages(ClientRegistry(client), ledger, name, numbers)
    yield from _look_at_decisions(client, ledger, name, numbers)
    if all(each.kind in ("stands", "gone") for each in on_aliases) and not scope.ignores(name):
        yield from _report_what_lacks_one(client, ledger, adopted, name, versions, scope.since)
    yield from _show_what_holds(client, ledger, adopted, name, numbers)


def _only_moves(name: str, findings: Iterable[SweepFinding]) -> Iterator[SweepFinding]:
    """The findings that count for an ignored model: moves and emergency rollbacks; one more finding lists the others."""
    others = []
    for each in findings:
        if each.kind in _MOVED:
            yield each
        elif each.kind != "stands":
            others.append(f"{each.kind}: {each.text}")
    uncounted = f"; not counted: {'; '.join(others)}" if others else ""
    yield SweepFinding(
        "ignored",
        name,
        f"as --ignore says, no report was tried and nothing counts but a move or an open emergency rollback{uncounted}",
        counts=False,
    )


def _look_at_aliases(client: RegistryClient, ledger: Ledger, aliases: Iterable[str], name: str) -> Iterator[SweepFinding]:
    registry = ClientRegistry(client)
    for alias in sorted(aliases):
        try:
            swept = _look_at_alias(ledger, registry, name, alias)
        except UnguardedError as error:
            swept = SweepFinding("unguarded", name, str(error), error.version, counts=False)
        except StandingFilesGoneError as error:
            swept = SweepFinding("gone", name, str(error))
        except RefusedError as error:
            swept = SweepFinding("moved", name, str(error))
        except CoordpathError as error:
            swept = SweepFinding("failed", name, str(error))
        if swept is not None:
            yield swept


def _look_at_alias(ledger: Ledger, registry: ClientRegistry, name: str, alias: str) -> SweepFinding | None:
    """The alias as the ledger has it, its files hashed again; None if nothing was ever put under it."""
    history = look(ledger, registry, name, alias)
    version = history.standing(alias).version
    if version is None:
        return None
    stands_already(registry, history, name, alias, version)
    return SweepFinding("stands", name, f"'{alias}' is version {version}, with the files that were promoted", version)


def _look_at_pages(registry: ClientRegistry, ledger: Ledger, name: str, versions: list[int]) -> Iterator[SweepFinding]:
    """The report on each change to a version that is still there, compared with the files that are attached.

    It is the newest one, or the one by which the version was promoted to where it stands now.
    """
    newest: dict[tuple[str, str | None], ReportMade] = {}
    history = ModelHistory(ledger.entries(name))
    for _, report in history.of(ReportMade):
        if not history.retired(report.version):
            newest[report.version, report.champion] = history.stands_by(report.version, report.champion) or report
    for (version, champion), report in sorted(newest.items(), key=lambda each: (int(each[0][0]), int(each[0][1] or 0))):
        if int(version) not in versions:
            continue
        try:
            states = page_states(registry, name, report) or {}
        except CoordpathError as error:
            yield SweepFinding("failed", name, str(error))
            continue
        if "not known" in states.values():
            yield SweepFinding("failed", name, f"the report attached to version {version} cannot be reached")
        changed = changed_pages(states)
        if changed and set(states.values()) == {"missing"} and _files_are_gone(registry, name, version):
            if version not in (history.standing(alias).version for alias in history.aliases):
                text = f"the files of version {version} are gone, and the attached report with them; the ledger keeps it"
                yield SweepFinding("unreadable", name, text, version, counts=False)
        elif changed:
            files = ", ".join(f"{file}: {state}" for file, state in changed.items())
            command = f"coordpath report {quote(name)} --candidate {version} --champion {champion or 'none'}"
            text = (
                f"the attached report on version {version} is not the recorded one ({files}); `{command}` attaches it again"
            )
            yield SweepFinding("changed", name, text)


def _files_are_gone(registry: ClientRegistry, name: str, version: str) -> bool:
    try:
        registry.digest(name, version)
    except FilesGoneError:
        return True
    except CoordpathError:
        return False
    return False


def _look_at_decisions(client: RegistryClient, ledger: Ledger, name: str, versions: list[int]) -> Iterator[SweepFinding]:
    """Check the attached decision files of each version; the recorded ones are attached again when the version is shown."""
    for version in map(str, sorted(versions)):
        yield from _look_at_decision(client, ledger, name, version)


def _look_at_decision(client: RegistryClient, ledger: Ledger, name: str, version: str) -> Iterator[SweepFinding]:
    try:
        for foreign in foreign_decisions(client, ledger, name, version):
            yield SweepFinding("changed", name, foreign.sentence(version), version)
    except CoordpathError as error:
        yield SweepFinding("failed", name, str(error))


def _show_what_holds(
    client: RegistryClient,
    ledger: Ledger,
    adopted: AdoptedPolicy,
    name: str,
    versions: list[int],
) -> Iterator[SweepFinding]:
    """Tags and descriptions say what was decided, or what the gate says now; what could not be refreshed is a finding."""
    registry, alias = ClientRegistry(client), adopted.policy.usual_alias
    for version in map(str, sorted(versions)):
        ask = partial(ask_gate, ledger, registry, adopted, name=name, alias=alias, version=version)
        problem = _show(client, ledger, name, version, ask)
        if problem is not None:
            yield SweepFinding("failed", name, f"what the registry shows of version {version} is out of date: {problem}")


def _show(client: RegistryClient, ledger: Ledger, name: str, version: str, ask: Callable[..., Answer]) -> str | None:
    """Refresh one version. Returns the error's text if that failed, else None."""
    try:
        show_version(client, ledger, name, version, partial(ask, record=False))
    except CoordpathError as error:
        return str(error)
    return None


def _report_what_lacks_one(
    client: RegistryClient,
    ledger: Ledger,
    adopted: AdoptedPolicy,
    name: str,
    versions: list[ListedVersion],
    since: int,
) -> Iterator[SweepFinding]:
    """Report on each version that is newer than the one with the usual alias and has no report on the change from there."""
    alias = adopted.policy.usual_alias
    model = GovernedModel(client, ledger, adopted)
    standing = ModelHistory(ledger.entries(name)).standing(alias)
    champion = standing.explained_from
    newest = max((each.number for each in versions), default=0)
    for each in versions:
        if each.number <= int(standing.version or 0) or each.created_at < since:
            continue
        newest_report = ModelHistory(ledger.entries(name)).report(str(each.number), champion)
        if newest_report is not None and newest_report[1].champion == champion:
            continue
        yield _make_report(model, name, alias, champion, str(each.number), is_newest=each.number == newest)


def _make_report(
    model: GovernedModel, name: str, alias: str, champion: str | None, version: str, *, is_newest: bool
) -> SweepFinding:
    """Report on one version. An error becomes a finding, so that the others are still looked at."""
    client, ledger = model.client, model.ledger
    try:
        before = None if champion is None else point_at(client, name, champion)
        candidate = point_at(client, name, version)
        report = model.make(before, candidate, ChangeFacts(), alias=alias)
        answer, _ = model.conclude(before, candidate, report, alias)
    except CoordpathError as error:
        text = f"no report on version {version}: {error}"
        if not is_about_the_files(error):
            return SweepFinding("failed", name, text, version)
        is_repeated = failed_before(ledger, ClientRegistry(client), name, version=version, champion=champion, error=error)
        return SweepFinding("unreadable", name, text, version, counts=is_newest and not is_repeated)
    except Exception as error:  # noqa: BLE001 - see above
        text = f"no report on version {version}, by a fault of coordpath: {type(error).__name__}: {error}"
        return SweepFinding("failed", name, text, version)
    rules = _open_rules(answer)
    why = f" ({', '.join(f'{each.rule}: {each.result}' for each in rules)})" if rules else ""
    text = f"version {version} has its report now; the gate says {answer.verdict}{why}"
    return SweepFinding("reported", name, text, version, rules)


def _open_rules(answer: Answer) -> tuple[RuleFacts, ...]:
    """The rules that are not met, or that people have to decide."""
    if answer.readiness is None:
        return ()
    return tuple(rule for rule in answer.readiness.facts().rules if rule.result in _OPEN)


def is_about_the_files(error: CoordpathError) -> bool:
    """Whether trying again would end the same way: the files are not there, or cannot be read or compared."""
    return isinstance(error, FilesGoneError | ModelReadError | AlignmentError)


def failed_before(
    ledger: Ledger, registry: AliasRegistry, name: str, *, version: str, champion: str | None, error: CoordpathError
) -> bool:
    """Whether the version failed before with the same files against the same champion; if not, record that it did now."""
    digest = None
    with suppress(CoordpathError):
        digest = registry.digest(name, version)
    what = (version, champion, digest)
    history = ModelHistory(ledger.entries(name))
    if any((each.version, each.champion, each.digest) == what for _, each in history.of(VersionUnreadable)):
        return True
    if ledger.service is not None:
        facts = VersionUnreadable(version=version, champion=champion, digest=digest, reason=str(error)[:LONGEST_WORDS])
        ledger.record("version unreadable", facts, model=name)
    return False
