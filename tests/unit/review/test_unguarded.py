"""A champion that was there before its policy is not under guard yet; nobody moved it."""

import pytest
from helpers.governed_world import NAME

from coordpath_governance.errors import RefusedError, UnguardedError
from coordpath_governance.ledger.events import OutsideMove
from coordpath_governance.review.decisions import adopt_standing
from coordpath_governance.review.promotion import look


@pytest.fixture
def older(world):
    """Version 1 was champion when the policy came; version 2 is new."""
    world.registry.set[NAME] = {"champion": "1"}
    world.register("2")
    return world


def test_it_is_refused_and_no_move_is_recorded(older):
    older.report("2")
    answer = older.ask("2")
    assert answer.verdict == "fail"
    assert "Version 1 of 'credit' is 'champion' and not under guard yet" in answer.reason
    assert answer.reason.endswith("`coordpath adopt credit`")
    with pytest.raises(UnguardedError, match="not under guard yet"):
        older.promote("2")
    with pytest.raises(UnguardedError):
        older.promote("1")
    assert "outside move" not in older.events()
    assert older.registry.set[NAME] == {"champion": "1"}


def test_another_alias_is_named_in_the_remedy(older):
    older.registry.set[NAME]["shadow"] = "1"
    with pytest.raises(UnguardedError, match="coordpath adopt credit --alias shadow") as error:
        look(older.ledger, older.registry, NAME, "shadow")
    assert error.value.version == "1"


def test_adopted_it_is_under_guard(older):
    adopt_standing(older.ledger, older.registry, NAME, "champion", older.admin, reason="as it was")
    assert look(older.ledger, older.registry, NAME, "champion").standing("champion").version == "1"
    older.report("2", "1")
    assert older.ask("2").verdict == "review"


def test_once_adopted_a_move_is_one(older):
    adopt_standing(older.ledger, older.registry, NAME, "champion", older.admin, reason="as it was")
    older.registry.set[NAME]["champion"] = "2"
    with pytest.raises(RefusedError, match="was moved outside the gate"):
        older.promote("2")
    assert older.events()[-2:] == ["outside move", "refusal"]


def test_adopted_as_nothing_what_comes_then_was_moved(older):
    adopt_standing(older.ledger, older.registry, NAME, "champion", older.admin, reason="as it was")
    del older.registry.set[NAME]["champion"]
    adopt_standing(older.ledger, older.registry, NAME, "champion", older.admin, reason="withdrawn")
    older.registry.set[NAME]["champion"] = "2"
    with pytest.raises(RefusedError, match="was moved outside the gate"):
        look(older.ledger, older.registry, NAME, "champion")


def test_an_outside_move_that_an_older_ledger_recorded_stays_one(older):
    move = OutsideMove(alias="champion", expected=None, found="1", reason="the ledger knows nothing under 'champion'")
    older.ledger.record("outside move", move, model=NAME)
    with pytest.raises(RefusedError, match="was moved outside the gate") as error:
        look(older.ledger, older.registry, NAME, "champion")
    assert not isinstance(error.value, UnguardedError)
    assert older.events().count("outside move") == 1
