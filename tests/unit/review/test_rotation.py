"""A running guard whose service key was rotated away fails closed; started again with the new key it goes on."""

import pytest

from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.events import KeyAdded, KeyFacts, KeyRevoked
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.ledger.verify import audit
from coordpath_governance.review.guard import Guard
from coordpath_governance.signing.keys import new_key


def test_a_guard_with_the_old_key_moves_nothing(champion_world, tmp_path):
    world = champion_world
    world.approve("2")
    new = new_key()
    facts = KeyFacts(id=new.public.id, public=new.public.text, owner="coordpath service", roles=("service",))
    world.ledger.append("key added", KeyAdded(key=facts), world.admin)
    old = world.ledger.service.public.id
    world.ledger.append("key revoked", KeyRevoked(key=old, reason="rotated"), world.admin)
    entries = len(world.ledger.entries())
    with pytest.raises(LedgerError, match="set COORDPATH_SERVICE_KEY to the file of the new one"):
        world.promote("2")
    assert world.registry.aliases("credit") == {"champion": "1"}
    assert len(world.ledger.entries()) == entries
    new.save(tmp_path / "new.key")
    world.ledger = Ledger.open(world.ledger.url, service_key=tmp_path / "new.key")
    world.guard = Guard(world.ledger)
    world.promote("2")
    assert world.registry.aliases("credit") == {"champion": "2"}
    found = audit(world.ledger.entries(), world.ledger.blobs)
    assert found.intact, found.problems
