"""The sweep: every model under a policy is looked at, what stands is hashed again, and what lacks a report gets one.

It finds what went round the guard since the last look; a move and back between two sweeps it cannot find.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from coordpath_governance.errors import CoordpathError, RefusedError, StandingFilesGoneError
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.registry.client_registry import ClientRegistry
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.governed_report import GovernedModel
from coordpath_governance.registry.versions import point_at
from coordpath_governance.reports.document import ChangeFacts
from coordpath_governance.review.adopted import AdoptedPolicy, adopted_policies, guarding_policies, policy_for
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.promotion import stands_already
from coordpath_governance.review.reconcile import look

__all__ = ["Swept", "sweep"]

_PAGE = 200


@dataclass(frozen=True)
class Swept:
    """One thing that was seen or done: an alias that stands or was moved, a report that was made or could not be.

    "gone": the alias is where it should be, but the files of its version were deleted.
    """

    kind: Literal["stands", "gone", "moved", "reported", "failed"]
    name: str
    text: str


def sweep(client: Any, ledger: Ledger) -> Iterator[Swept]:  # noqa: ANN401 - MlflowClient
    """All models that a policy matches, in force or retired, by name; one that fails does not stop the others."""
    versions = _versions(client)
    known = {entry.model for entry in ledger.entries() if entry.model is not None}
    in_force = [adopted.policy for adopted in adopted_policies(ledger)]
    policies = [adopted.policy for adopted in guarding_policies(ledger)]
    for name in sorted(known | set(versions)):
        guarding = [policy for policy in policies if policy.matches(name)]
        if not guarding:
            continue
        try:
            adopted = policy_for(ledger, name)
        except RefusedError as error:
            yield from _look_at_aliases(client, ledger, {alias for each in guarding for alias in each.aliases}, name)
            if any(policy.matches(name) for policy in in_force):
                yield Swept("failed", name, str(error))
            continue
        moved = [*_look_at_aliases(client, ledger, adopted.policy.aliases, name)]
        yield from moved
        if all(each.kind in ("stands", "gone") for each in moved):
            yield from _report_what_lacks_one(client, ledger, adopted, name, versions[name])


def _versions(client: Any) -> defaultdict[str, list[int]]:  # noqa: ANN401 - MlflowClient
    """All versions of all models: a filter by name cannot be written for every name that MLflow allows."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    token = None
    while True:
        with registry_errors("listing the registered versions"):
            page = client.search_model_versions(max_results=_PAGE, page_token=token)
        for version in page:
            found[version.name].append(int(version.version))
        token = page.token
        if not token:
            return found


def _look_at_aliases(client: Any, ledger: Ledger, aliases: Iterable[str], name: str) -> Iterator[Swept]:  # noqa: ANN401 - MlflowClient
    registry = ClientRegistry(client)
    for alias in sorted(aliases):
        try:
            swept = _look_at_alias(ledger, registry, name, alias)
        except StandingFilesGoneError as error:
            swept = Swept("gone", name, str(error))
        except RefusedError as error:
            swept = Swept("moved", name, str(error))
        except CoordpathError as error:
            swept = Swept("failed", name, str(error))
        if swept is not None:
            yield swept


def _look_at_alias(ledger: Ledger, registry: ClientRegistry, name: str, alias: str) -> Swept | None:
    """The alias as the ledger has it, its files hashed again; None if nothing was ever put under it."""
    history = look(ledger, registry, name, alias)
    version = history.standing(alias).version
    if version is None:
        return None
    stands_already(registry, history, name, alias, version)
    return Swept("stands", name, f"'{alias}' is version {version}, with the files that were promoted")


def _report_what_lacks_one(
    client: Any,  # noqa: ANN401 - MlflowClient
    ledger: Ledger,
    adopted: AdoptedPolicy,
    name: str,
    versions: list[int],
) -> Iterator[Swept]:
    """Versions newer than what stands under the usual alias, each explained from there."""
    alias = adopted.policy.usual_alias
    model = GovernedModel(client, ledger, adopted)
    standing = ModelHistory(ledger.entries(name)).standing(alias)
    champion = standing.explained_from
    for number in sorted(each for each in versions if each > int(standing.version or 0)):
        made = ModelHistory(ledger.entries(name)).report(str(number), champion)
        if made is not None and made[1].champion == champion:
            continue
        try:
            before = None if champion is None else point_at(client, name, champion)
            candidate = point_at(client, name, str(number))
            report = model.make(before, candidate, ChangeFacts(), alias)
            answer, _ = model.conclude(before, candidate, report, alias)
        except CoordpathError as error:
            yield Swept("failed", name, f"no report on version {number}: {error}")
        except Exception as error:  # noqa: BLE001 - whatever one version is, the others are looked at
            said = f"{type(error).__name__}: {error}"
            yield Swept("failed", name, f"no report on version {number}, by a fault of coordpath: {said}")
        else:
            yield Swept("reported", name, f"version {number} has its report now; the gate says {answer.verdict}")
