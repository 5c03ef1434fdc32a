"""Who registered a version, when its model was created again, restored, or recorded before times were."""

import pytest

from coordpath_governance.ledger.authors import author_of
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Adoption, Binding, Intent, Registration

OLD, NEW = 1_000, 2_000


def entry(event, facts):
    return Entry(
        1, "2026-01-01T00:00:00.000000Z", event, "m", 1, "0" * 64, "0" * 64, facts.model_dump(mode="json"), "0" * 64
    )


def came(author, model_at=None, version_at=None, version="1", by="server"):
    facts = Registration(
        version=version,
        digest=None,
        author=author,
        authenticated_by=by if author else None,
        model_created_at=model_at,
        version_created_at=version_at,
    )
    return entry("registration", facts)


def adopted(model_at=None, version_at=None, version="1"):
    facts = Adoption(
        alias="champion",
        version=version,
        digest="1" * 64 if version else None,
        reason="",
        model_created_at=model_at,
        version_created_at=version_at,
    )
    return entry("adoption", facts)


def intended(model_at=None, version_at=None, version="1"):
    binding = Binding(
        registry="r",
        name="m",
        alias="champion",
        from_version=None,
        to_version=version,
        from_digest=None,
        to_digest="1" * 64,
        report="2" * 64,
        policy="3" * 64,
    )
    facts = Intent(
        binding=binding,
        actor=None,
        authenticated_by=None,
        approvals=(),
        waivers=(),
        materiality="any",
        full_validation=False,
        model_created_at=model_at,
        version_created_at=version_at,
    )
    return entry("intent", facts)


EVE, BOB = came("Eve", OLD, 1), came("Bob", NEW, 2)
PROMOTED, AGAIN = intended(OLD, 1), adopted(NEW, None, None)

STORIES = {
    "nobody": ([], None),
    "another version": ([came("Eve", OLD, 1, version="2")], None),
    "one": ([EVE], "Eve"),
    "nobody vouches": ([came("Eve", OLD, 1, by=None)], None),
    "the newest of the same": ([EVE, came("Joe", OLD, 1)], "Joe"),
    "created again and registered": ([EVE, PROMOTED, BOB, AGAIN], "Bob"),
    "created again and registered after the adoption": ([EVE, PROMOTED, AGAIN, BOB], "Bob"),
    "created again without a registration": ([EVE, PROMOTED, AGAIN], None),
    "created again and not adopted": ([EVE, PROMOTED, BOB], "Eve"),
    "restored and adopted": ([EVE, PROMOTED, BOB, AGAIN, adopted(OLD, 1)], "Eve"),
    "created again before any promotion": ([EVE, BOB], None),
    "a version that was restored away and registered again": ([EVE, PROMOTED, came("Bob", OLD, 3)], None),
    "that version, promoted since": ([EVE, PROMOTED, came("Bob", OLD, 3), intended(OLD, 3)], "Bob"),
    "the same before any promotion": ([EVE, came("Bob", OLD, 3)], None),
    "gone, and another": ([EVE, PROMOTED, adopted(None, None, None), BOB], "Bob"),
    "gone, and nobody": ([EVE, PROMOTED, adopted(None, None, None)], None),
    "an old ledger": ([came("Eve"), intended(), came("Joe")], "Joe"),
    "an old ledger, promoted since": ([came("Eve"), intended(), intended(OLD, 1)], "Eve"),
    "an old ledger, adopted again": ([came("Eve"), adopted(OLD, 1), AGAIN], None),
    "an old ledger, registered again": ([came("Eve"), PROMOTED, AGAIN, BOB], "Bob"),
    "an old ledger that adopted nothing": ([came("Eve"), adopted(None, None, None)], "Eve"),
    "a registry that does not say when": ([EVE, PROMOTED, came("Joe")], "Joe"),
}


@pytest.mark.parametrize("story", STORIES)
def test_who_registered_the_version_that_is_there(story):
    chain, author = STORIES[story]
    assert author_of(chain, "1") == author


def test_what_the_registry_says_settles_which_it_is():
    assert author_of([EVE, BOB], "1", OLD, 1) == "Eve"
    assert author_of([EVE, BOB], "1", NEW, 2) == "Bob"
    assert author_of([EVE, BOB], "1", NEW + 1, 2) is None
    assert author_of([EVE, PROMOTED], "1", OLD, 3) is None
    assert author_of([came("Eve")], "1", OLD, 3) == "Eve"
