"""The ways round the gate, each refused and recorded; and what the guard leaves alone."""

import pytest

from coordpath_governance.errors import ForeignRegistryError, LedgerError, RefusedError, RegistryError
from coordpath_governance.review.decisions import adopt_standing, retire
from coordpath_governance.review.ports import Actor

NAME = "credit"


def forbid(world, operation, name=NAME, **what):
    world.guard.forbid(world.registry, operation, name, Actor("Mallory", "server"), **what)


WAYS_ROUND = [
    ("delete alias", {"alias": "champion"}, "promote another version instead"),
    ("transition stage", {"version": "1"}, "use `coordpath promote`"),
    ("delete version", {"version": "1"}, "has the alias 'champion'"),
    ("delete model", {}, "a guarded model is not deleted"),
    ("rename model", {"new_name": "away"}, "leave its policy and its ledger behind"),
    ("set tag", {"tag": "mlflow.prompt.is_prompt"}, "would hide 'credit'"),
    ("delete tag", {"tag": "mlflow.prompt.is_prompt"}, "would hide 'credit'"),
    ("delete tag", {"version": "2", "tag": "coordpath.report"}, "`coordpath retire credit 2 --reason …` lets it be deleted"),
    ("something new", {}, "not known to be harmless"),
]


@pytest.mark.parametrize(("operation", "what", "why"), WAYS_ROUND, ids=[way[0] for way in WAYS_ROUND])
def test_ways_round(champion_world, operation, what, why):
    with pytest.raises(RefusedError, match=why):
        forbid(champion_world, operation, **what)
    refusal = champion_world.ledger.entries(NAME)[-1]
    assert refusal.event == "refusal"
    assert refusal.facts.actor == "Mallory"
    assert refusal.facts.operation == operation


@pytest.mark.parametrize(
    ("operation", "what"),
    [
        ("delete alias", {"alias": "shadow"}),
        ("delete version", {"version": "2"}),
        ("set tag", {"tag": "team"}),
        ("delete tag", {"tag": "coordpath.report"}),
    ],
)
def test_what_is_harmless(champion_world, operation, what):
    before = champion_world.events()
    forbid(champion_world, operation, **what)
    assert champion_world.events() == before


@pytest.mark.parametrize(("operation", "what", "_"), WAYS_ROUND, ids=[way[0] for way in WAYS_ROUND])
def test_models_under_no_policy_are_left_alone(world, operation, what, _):
    forbid(world, operation, name="other", **what)


def test_renaming_onto_a_guarded_name(world):
    with pytest.raises(RefusedError, match="'credit-new' is a guarded name"):
        forbid(world, "rename model", name="other", new_name="credit-new")


def test_a_model_stays_guarded_when_its_policy_no_longer_matches(champion_world):
    champion_world.adopt_policy(models=["elsewhere"])
    with pytest.raises(RefusedError):
        forbid(champion_world, "rename model", new_name="away")
    with pytest.raises(RefusedError, match="no policy matches"):
        champion_world.promote("2")


def test_deleted_and_made_again(champion_world):
    """The registry forgot everything; the ledger did not."""
    champion_world.registry.set.clear()
    with pytest.raises(ForeignRegistryError, match="it has none of the models"):
        champion_world.promote("2")


def test_an_empty_guarded_model_may_be_deleted(world):
    forbid(world, "delete model")


def test_a_model_is_not_deleted_with_versions_that_were_promoted(champion_world):
    """Not even where nothing has the alias any more: what was served must be there to be looked at."""
    world = champion_world
    world.approve("2")
    world.promote("2")
    del world.registry.set[NAME]["champion"]
    with pytest.raises(RefusedError, match=r"with it versions 1, 2, which .* `coordpath retire credit VERSION --reason …`"):
        forbid(world, "delete model")
    adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="nothing is served")
    retire(world.ledger, world.registry, NAME, "1", world.admin, "its data were withdrawn")
    with pytest.raises(RefusedError, match="with it version 2, which was promoted"):
        forbid(world, "delete model")
    retire(world.ledger, world.registry, NAME, "2", world.admin, "its data were withdrawn")
    forbid(world, "delete model")


def test_registering_never_fails(world):
    world.registry.broken["digest"] = RuntimeError("no files")
    world.guard.registered(world.registry, NAME, "1", Actor())
    assert world.events() == []
    world.guard.registered(world.registry, NAME, "1", Actor("Eve", "server"))
    assert world.ledger.entries(NAME)[-1].facts.author == "Eve"


def test_a_version_whose_files_cannot_be_had_is_still_recorded(world):
    world.registry.broken["digest"] = LedgerError("slow")
    world.guard.registered(world.registry, NAME, "1", Actor())
    assert world.ledger.entries(NAME)[-1].facts.digest is None


@pytest.mark.parametrize("alias", ["Champion", "champion\n", " champion", "\uff43hampion", "cham\u200bpion"])
def test_aliases_that_look_like_a_guarded_one(champion_world, alias):
    with pytest.raises(RefusedError, match="looks like a guarded alias"):
        champion_world.promote("2", alias=alias)
    with pytest.raises(RefusedError, match="is guarded; promote another"):
        forbid(champion_world, "delete alias", alias=alias)


def test_the_same_refusal_is_recorded_once(champion_world):
    for _ in range(3):
        with pytest.raises(RefusedError):
            forbid(champion_world, "delete model")
    assert champion_world.events().count("refusal") == 1


def test_a_version_whose_promotion_is_under_way_is_not_deleted(champion_world):
    world = champion_world
    world.approve("2")
    world.registry.broken["set_alias"] = RegistryError("down")
    with pytest.raises(RegistryError):
        world.promote("2")
    with pytest.raises(RefusedError, match="version 2 of 'credit' has the alias 'champion'"):
        forbid(world, "delete version", version="2")


def test_files_of_models_that_are_not_guarded_are_not_fetched(world):
    world.guard.registered(world.registry, "other", "1", Actor())
    assert "digest" not in world.registry.calls
    assert world.events("other") == ["registration"]


def test_reports_at_once_if_so_configured(world):
    from dataclasses import replace

    made = []
    guard = replace(world.guard, report=lambda name, version: made.append((name, version)))
    guard.registered(world.registry, NAME, "1", Actor())
    assert made == [(NAME, "1")]
