"""What can be known about a policy before it is adopted: the other policies, the models that it matches, and its data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from coordpath_governance.errors import CoordpathError, NoVersionError, RegistryError
from coordpath_governance.governance.pinned import is_local, pinned_source
from coordpath_governance.policy.admission import Circumstances
from coordpath_governance.registry.download import fetch_model
from coordpath_governance.registry.versions import find_champion, point_at, registered_names
from coordpath_governance.review.policies import adopted_policies

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.models.linear_model import LinearModel
    from coordpath_governance.policy.document import Policy
    from coordpath_governance.reference.sources import RowSource
    from coordpath_governance.registry.ports import RegistryClient

__all__ = ["circumstances", "standing_model"]

_MOST = 10
"""So many models are read at most; a pattern may match hundreds."""

_MOST_VALUES = 50
_MOST_LABELS = 5
"""Values of the target that are told: two are classes of a classifier."""


def circumstances(policy: Policy, client: RegistryClient | None, ledger: Ledger | None) -> Circumstances:
    """Ask whom there is to ask; whoever does not answer is a sentence in ``unknown``, never an error."""
    unknown: list[str] = []
    registered = _registered(client, unknown)
    columns, sha256, values, texts = _data(policy, client, unknown)
    return Circumstances(
        policy,
        others=() if ledger is None else tuple(p.policy for p in adopted_policies(ledger) if p.policy.name != policy.name),
        registered=registered,
        models={} if client is None else _models(policy, client, registered or (), unknown),
        columns=columns,
        sha256=sha256,
        labels=() if policy.reference.threshold_value is None else _labels(texts),
        target_values=values,
        roles=None if ledger is None else _roles(ledger),
        unknown=tuple(unknown),
    )


def standing_model(client: RegistryClient, name: str, alias: str) -> LinearModel:
    """The version under the alias, else the newest, as its files say.

    Raises `NotFoundError` if there is no such model or no version of it, and other errors of ours if it cannot be read.
    """
    return fetch_model(find_champion(client, name, alias) or point_at(client, name, "latest")).model


def _registered(client: RegistryClient | None, unknown: list[str]) -> tuple[str, ...] | None:
    if client is None:
        return None
    try:
        return tuple(registered_names(client))
    except RegistryError as error:
        unknown.append(f"the registered models were not looked at: {error}")
        return None


def _models(
    policy: Policy,
    client: RegistryClient,
    registered: tuple[str, ...],
    unknown: list[str],
) -> dict[str, LinearModel]:
    models: dict[str, LinearModel] = {}
    matched = [name for name in registered if policy.matches(name)]
    for name in matched[:_MOST]:
        model = _model(client, name, policy.usual_alias, unknown)
        if model is not None:
            models[name] = model
    if len(matched) > _MOST:
        unknown.append(f"it matches {len(matched)} registered models; only the first {_MOST} were looked at")
    return models


def _model(client: RegistryClient, name: str, alias: str, unknown: list[str]) -> LinearModel | None:
    """None if there is no version yet, or it cannot be read."""
    try:
        return standing_model(client, name, alias)
    except NoVersionError:
        return None
    except CoordpathError as error:
        unknown.append(f"whether the policy fits the model '{name}' is not known: {error}")
        return None


def _data(
    policy: Policy,
    client: RegistryClient | None,
    unknown: list[str],
) -> tuple[tuple[str, ...] | None, str | None, tuple[object, ...], list[str]]:
    """The columns and the digest of the data at ``reference.uri``, a few values of the target, and those that are texts."""
    uri, target = policy.reference.uri, policy.reference.target
    if uri is None or (client is None and not is_local(uri)):
        return None, None, (), []
    try:
        with pinned_source(policy) as source:
            columns = tuple(source.column_names())
            values = _values(source, target) if target in columns else ()
            return columns, source.sha256, values, sorted(value for value in values if isinstance(value, str))
    except CoordpathError as error:
        unknown.append(f"the pinned data were not looked at: {error}")
        return None, None, (), []


def _values(source: RowSource, column: str) -> tuple[object, ...]:
    """The first few values of a column that are not missing, in order of their text."""
    values: set[object] = set()
    for chunk in source.chunks([column]):
        distinct = chunk.column(0).unique().to_pylist()
        values.update(value for value in distinct if not _is_missing(value) and value not in source.null_texts)
        if len(values) > _MOST_LABELS:
            break
    return tuple(sorted(values, key=str)[:_MOST_VALUES])


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _labels(texts: list[str]) -> tuple[str, ...]:
    """The first few texts; empty where they are all numbers."""
    return () if all(_is_number(text) for text in texts) else tuple(texts[:_MOST_LABELS])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _roles(ledger: Ledger) -> frozenset[str]:
    return frozenset(role for key in ledger.keyring().keys.values() if key.revoked is None for role in key.facts.roles)
