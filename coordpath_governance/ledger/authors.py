"""Who registered a version. Gate and audit use the same function, which needs entries only.

A model that was deleted and created again counts its versions from 1 again. Entries about the old version 1 say nothing
about the new one; the times of creation that entries record tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Adoption, Intent, Registration

__all__ = ["author_of"]


@dataclass(frozen=True)
class _About:
    """What an entry is about: a version, and when its model and it were created, as far as an entry says."""

    facts: Registration | Intent | Adoption
    version: str | None
    model_at: int | None
    version_at: int | None


def author_of(
    chain: Iterable[Entry], version: str, model_created_at: int | None = None, version_created_at: int | None = None
) -> str | None:
    """Who registered a version, if the server or a key vouched for it; of several registrations the newest counts.

    ``chain`` are the entries of the model. The times say when the registry created the model and the version that are asked
    about. Without them the model is the one of the newest promotion or adoption. None if no registration is about this
    version of this model, or if the registrations are about several and nothing says which of them is there.
    """
    entries = tuple(_newest_first(chain, version))
    vouched = (each.model_at for each in entries if not isinstance(each.facts, Registration) and each.model_at is not None)
    model_at = model_created_at if model_created_at is not None else next(vouched, None)
    fitting = [each for each in entries if each.version == version and _agree(each.model_at, model_at)]
    if version_created_at is not None:
        fitting = [each for each in fitting if _agree(each.version_at, version_created_at)]
    unsettled = list(_to_the_last_promotion(fitting))
    if _several(each.model_at for each in unsettled) or _several(each.version_at for each in unsettled):
        return None
    version_at = next((each.version_at for each in unsettled if each.version_at is not None), None)
    for each in fitting:
        if isinstance(each.facts, Registration) and _agree(each.version_at, version_at):
            return each.facts.author if each.facts.authenticated_by else None
    return None


def _newest_first(chain: Iterable[Entry], version: str) -> Iterator[_About]:
    """The entries that may say when the model was created.

    One without times, as older ledgers have them, is about what the next entry with times is about. When a policy-admin
    adopted that the model is gone, what earlier entries say with times is about another model.
    """
    model_at: int | None = None
    version_at: dict[int | None, int | None] = {}
    gone = False
    for entry in reversed(tuple(chain)):
        facts = entry.facts
        if not isinstance(facts, Registration | Intent | Adoption):
            continue
        number = facts.binding.to_version if isinstance(facts, Intent) else facts.version
        if number is None and facts.model_created_at is None:
            gone, model_at = True, None
            continue
        if gone and facts.model_created_at is not None:
            continue
        model_at = facts.model_created_at if facts.model_created_at is not None else model_at
        at = facts.version_created_at
        if number == version:
            at = version_at[model_at] = at if at is not None else version_at.get(model_at)
        yield _About(facts, number, model_at, at)


def _to_the_last_promotion(entries: Iterable[_About]) -> Iterator[_About]:
    """Entries about one version back to the newest that promoted or adopted it: that one was checked by the gate."""
    for each in entries:
        yield each
        if not isinstance(each.facts, Registration):
            return


def _agree(first: int | None, second: int | None) -> bool:
    return first is None or second is None or first == second


def _several(times: Iterable[int | None]) -> bool:
    return len({each for each in times if each is not None}) > 1
