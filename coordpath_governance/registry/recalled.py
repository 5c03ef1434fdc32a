"""The champion as the ledger knows it, where its files are gone: the next change is explained from there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from shlex import quote

from coordpath_governance.errors import FilesGoneError
from coordpath_governance.ledger.kept_models import kept_models
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.models.coefficients_json import with_source
from coordpath_governance.models.formats import recalled_source
from coordpath_governance.models.linear_model import LinearModel, Provenance
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.review.history import ModelHistory

__all__ = ["RecalledModel", "recalled_in"]

RecalledModel = Callable[[ModelPointer, FilesGoneError], LinearModel]
"""What is known of a version whose files are gone; raises the error that is given, with what to do, if nothing is."""


def recalled_in(ledger: Ledger, alias: str) -> RecalledModel:
    """What the reports of a ledger say of what stands under an alias, by the digest that was promoted or adopted."""

    def recall(pointer: ModelPointer, gone: FilesGoneError) -> LinearModel:
        name = str(pointer.name)
        chain = ledger.entries(name)
        standing = ModelHistory(chain).standing(alias)
        if pointer.name is None or pointer.version != standing.version:
            raise gone
        kept = next(kept_models(chain, ledger.blobs, standing.version, standing.digest), None)
        if kept is None:
            raise FilesGoneError(
                f"{gone}. No report in the ledger has its coefficients, so nobody knows what it was: a policy-admin takes "
                f"that as it is with `coordpath adopt {quote(name)} --alias {quote(alias)}`, and the next version is "
                "explained from zero"
            ) from gone
        provenance = Provenance(
            uri=pointer.uri, name=name, version=pointer.version, digest=standing.digest, run_id=pointer.run_id
        )
        model = with_source(kept.model, recalled_source(kept.report, kept.model.source))
        return replace(model, provenance=provenance)

    return recall
