"""A ledger belongs to one registry, and knows it by when it created the models that are on record.

MLflow's registries have no name that all their URIs share; whichever way one is asked, it answers with the same millisecond.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from coordpath_governance.errors import ForeignRegistryError
from coordpath_governance.ledger.consistency import creations_on_record
from coordpath_governance.ledger.times import shown_milliseconds

if TYPE_CHECKING:
    from coordpath_governance.ledger.consistency import CreationOnRecord
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.ports import AliasRegistry, Created

__all__ = ["check_belongs", "is_own_registry"]


def check_belongs(ledger: Ledger, registry: AliasRegistry, name: str | None = None) -> None:
    """Raise `ForeignRegistryError` unless the registry is the ledger's own. Callers ask before they record or move anything.

    A model ``name`` that is on record must be the same. Where the registry does not have it, or it is not on record, the
    registry must have one other model that is the same. Models are on record from their first promotion or adoption; before
    any, nothing can be told. The registry is asked until one model is the same, which is once as a rule.
    """
    on_record = creations_on_record(ledger.entries())
    names = sorted(on_record, key=lambda each: each != name)
    differences = []
    for each in names:
        record = on_record[each]
        created = registry.created(each, record.newest if each == name else None)
        if created is None:
            continue
        difference = _difference(record, created)
        if difference is None:
            return
        differences.append(f"its '{each}' {difference}")
        if each == name:
            break
    if names:
        raise ForeignRegistryError(_explain(ledger, registry, names[0], differences))


def is_own_registry(ledger: Ledger, registry: AliasRegistry) -> bool:
    """Whether the registry has a model on record that was created when the ledger says.

    `check_belongs` objects to a model that was created again, and to another registry. This function tells the two apart,
    unless the only model on record was created again.
    """
    for name, record in creations_on_record(ledger.entries()).items():
        created = registry.created(name)
        if created is not None and created.model is not None and created.model == record.created_at:
            return True
    return False


def _difference(record: CreationOnRecord, created: Created) -> str | None:
    """How the registry's times differ from those on record; None if they do not, or one of them is not known."""
    if record.created_at is not None and created.model is not None and record.created_at != created.model:
        here, recorded = shown_milliseconds(created.model), shown_milliseconds(record.created_at)
        return f"was created at {here}, and the one in the ledger at {recorded}"
    at = record.versions.get(record.newest or "")
    if at is not None and created.version is not None and at != created.version:
        here, recorded = shown_milliseconds(created.version), shown_milliseconds(at)
        return f"has a version {record.newest} from {here}, and the one in the ledger is from {recorded}"
    return None


def _explain(ledger: Ledger, registry: AliasRegistry, name: str, differences: list[str]) -> str:
    why = differences[0] if differences else "it has none of the models that were promoted or adopted in the ledger"
    return (
        f"{registry.place} is not the one that the ledger '{ledger.url}' belongs to: {why}. Nothing was recorded, and no "
        "alias was moved. Name a registry and a ledger (COORDPATH_LEDGER) that belong together. If they do, and the model "
        f"was deleted and created again, a policy-admin says so with `coordpath adopt {quote(name)} --created-again`"
    )
