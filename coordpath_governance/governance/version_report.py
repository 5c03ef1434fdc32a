"""A report on two versions of the registry: fetch both, then the common flow.

A champion whose files are gone is explained from what the ledger keeps of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from shlex import quote

from coordpath_governance.errors import FilesGoneError, UnsupportedModelError
from coordpath_governance.ledger.kept_models import kept_models
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.models.coefficients_json import with_source
from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.models.formats import recalled_source
from coordpath_governance.models.linear_model import LinearModel, Provenance
from coordpath_governance.paths import PathProblem
from coordpath_governance.registry.download import DeclaredModel, FetchedVersion, fetch_version, way_out
from coordpath_governance.registry.origin import Origin, origin_of, with_tagged_facts
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import ChangeFacts, Settings, Subject, VersionFacts
from coordpath_governance.reports.make import Progress, ReferenceData, Request, make_report, pose_problem, version_facts
from coordpath_governance.reports.steps import Labels
from coordpath_governance.reports.version_parts import environments_of
from coordpath_governance.review.history import ModelHistory

__all__ = [
    "ReadVersions",
    "RecalledModel",
    "problem_of_versions",
    "read_versions",
    "recalled_in",
    "report_on_versions",
]

RecalledModel = Callable[[ModelPointer, FilesGoneError], LinearModel]
"""What is known of a version whose files are gone; raises the error that is given, with what to do, if nothing is."""


def report_on_versions(
    client: RegistryClient,
    champion: ModelPointer | None,
    candidate: ModelPointer,
    reference: ReferenceData,
    *,
    facts: ChangeFacts,
    settings: Settings,
    progress: Progress | None = None,
    declared: DeclaredModel | None = None,
    recalled: RecalledModel | None = None,
) -> ChangeReport:
    """Read both models from their files and explain the change; no champion explains the candidate from zero.

    What ``facts`` do not say, tags of the candidate's version or run may say.

    ``declared`` knows the coefficients that somebody vouches for, of a version that cannot be read; ``recalled`` those of a
    champion whose files are gone.
    """
    versions = read_versions(client, champion, candidate, declared=declared, recalled=recalled)
    old, new, origin = versions.champion, versions.candidate, versions.origin
    facts = with_tagged_facts(facts, origin.version_tags, origin.run_tags)
    environments = environments_of(None if old is None else old.environment, new.environment)
    request = Request(versions.subject, facts, settings, environments)
    return ChangeReport(make_report(versions.champion_model, new.model, reference, request, progress))


@dataclass(frozen=True)
class ReadVersions:
    """Both versions as they were read, where the candidate came from, and what a document says of the two."""

    champion: FetchedVersion | None
    candidate: FetchedVersion
    origin: Origin
    subject: Subject

    @property
    def champion_model(self) -> LinearModel | DecisionTree | None:
        """The champion as it was read; None from zero."""
        return None if self.champion is None else self.champion.model


def read_versions(
    client: RegistryClient,
    champion: ModelPointer | None,
    candidate: ModelPointer,
    *,
    declared: DeclaredModel | None = None,
    recalled: RecalledModel | None = None,
) -> ReadVersions:
    """Read both models from their files; see `report_on_versions`."""
    new = _fetch(candidate, declared)
    old = None if champion is None else _champion(champion, declared, recalled)
    origin = origin_of(client, candidate)
    subject = Subject(
        name=candidate.name or candidate.uri,
        champion=None if old is None else _side(client, old, _label(old.pointer, candidate)),
        candidate=origin.added_to(version_facts(new.model, candidate.label, candidate.aliases)),
    )
    return ReadVersions(old, new, origin, subject)


def problem_of_versions(
    champion: ModelPointer | None,
    candidate: ModelPointer,
    reference: ReferenceData,
    *,
    settings: Settings,
    progress: Progress | None = None,
    declared: DeclaredModel | None = None,
) -> tuple[PathProblem, Labels]:
    """The path problem that `report_on_versions` solves, and what its steps are called."""
    new = _fetch(candidate, declared).model
    old = None if champion is None else _champion(champion, declared, None).model
    return pose_problem(old, new, reference, settings, progress)


def _side(client: RegistryClient, fetched: FetchedVersion, label: str) -> VersionFacts:
    return origin_of(client, fetched.pointer).added_to(version_facts(fetched.model, label, fetched.pointer.aliases))


def _fetch(pointer: ModelPointer, declared: DeclaredModel | None) -> FetchedVersion:
    try:
        return fetch_version(pointer, declared)
    except UnsupportedModelError as error:
        raise UnsupportedModelError(f"{error} {way_out(pointer.name, pointer.version)}".rstrip()) from error


def _champion(pointer: ModelPointer, declared: DeclaredModel | None, recalled: RecalledModel | None) -> FetchedVersion:
    try:
        return _fetch(pointer, declared)
    except FilesGoneError as error:
        if recalled is None:
            raise
        model = recalled(pointer, error)
        return FetchedVersion(model, pointer, str(model.provenance.digest))


def _label(champion: ModelPointer, candidate: ModelPointer) -> str:
    """The champion's label; with its name, if it is of another registered model."""
    same = champion.name is None or champion.name == candidate.name
    return champion.label if same else f"{champion.name} {champion.label}"


def recalled_in(ledger: Ledger, alias: str) -> RecalledModel:
    """The coefficients of the version that has ``alias``, from the ledger's reports, by its promoted or adopted digest."""

    def recall(pointer: ModelPointer, gone: FilesGoneError) -> LinearModel:
        name = str(pointer.name)
        chain = ledger.entries(name)
        standing = ModelHistory(chain).standing(alias)
        if pointer.name is None or pointer.version != standing.version:
            raise gone
        account = next(kept_models(chain, ledger.blobs, standing.version, standing.digest), None)
        if account is None:
            raise FilesGoneError(
                f"{gone}. No report in the ledger has its coefficients, so nobody knows what it was: a policy-admin takes "
                f"that as it is with `coordpath adopt {quote(name)} --alias {quote(alias)}`, and the next version is "
                "explained from zero"
            ) from gone
        provenance = Provenance(
            uri=pointer.uri, name=name, version=pointer.version, digest=standing.digest, run_id=pointer.run_id
        )
        model = with_source(account.model, recalled_source(account.report, account.model.source))
        return replace(model, provenance=provenance)

    return recall
