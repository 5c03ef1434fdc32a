"""A ledger knows its registry again, and records nothing about another one."""

import pytest
from helpers.governed_world import CREATED, NAME, Registry, digest

from coordpath_governance.errors import EXIT_UNKNOWN, ForeignRegistryError, RefusedError, ReviewNeededError
from coordpath_governance.ledger.consistency import contradictions
from coordpath_governance.ledger.events import Adoption, Intent, Promotion
from coordpath_governance.review.belonging import check_belongs
from coordpath_governance.review.decisions import adopt_standing, retire
from coordpath_governance.review.ports import Actor, Created

OTHER = "credit-2"
ANOTHER_TIME = CREATED + 1


def empty():
    """The registry of another database, just created."""
    return Registry()


def same_names():
    """The registry of another database that has a model of the same name, with the same version under the alias."""
    registry = Registry()
    registry.set[NAME] = {"champion": "1"}
    registry.models[NAME] = ANOTHER_TIME
    return registry


def adopt(world, name, **options):
    return adopt_standing(world.ledger, world.registry, name, "champion", world.admin, reason="as it was", **options)


def asks(world):
    """Everything that looks at the registry before it records something."""
    return {
        "gate": lambda: world.ask("2"),
        "promote": lambda: world.promote("2"),
        "adopt": lambda: adopt(world, NAME),
        "retire": lambda: retire(world.ledger, world.registry, NAME, "1", world.admin, "old"),
        "delete alias": lambda: world.guard.forbid(world.registry, "delete alias", NAME, Actor(), alias="champion"),
        "rename onto": lambda: world.guard.forbid(world.registry, "rename model", "free", Actor(), new_name=NAME),
        "first of another": lambda: world.guard.set_alias(world.registry, OTHER, "champion", "1", Actor()),
    }


@pytest.mark.parametrize("what", list(asks(None)))
@pytest.mark.parametrize("foreign", [empty, same_names])
def test_nothing_is_recorded_about_a_foreign_registry(champion_world, foreign, what):
    world = champion_world
    world.approve("2")
    before = world.ledger.head()
    world.registry = foreign()
    stood = {name: dict(aliases) for name, aliases in world.registry.set.items()}
    with pytest.raises(ForeignRegistryError, match=r"is not the one that the ledger .* belongs to") as error:
        asks(world)[what]()
    assert error.value.exit_code == EXIT_UNKNOWN
    assert "the registry of this test" in str(error.value)
    assert world.ledger.head() == before
    assert world.registry.set == stood


def test_an_unfinished_promotion_is_not_finished_in_a_foreign_registry(champion_world):
    world = champion_world
    world.approve("2")
    world.registry.broken["set_alias"] = RuntimeError("crash")
    with pytest.raises(RuntimeError, match="crash"):
        world.promote("2")
    assert world.events()[-1] == "intent"
    ours, world.registry = world.registry, same_names()
    before = world.ledger.head()
    with pytest.raises(ForeignRegistryError):
        world.promote("2")
    assert (world.ledger.head(), world.registry.set[NAME]) == (before, {"champion": "1"})
    world.registry = ours
    world.promote("2")
    assert world.ledger.entries(NAME)[-1].facts.completed == "after a crash"


def test_a_version_of_a_foreign_registry_is_not_recorded_as_registered(champion_world):
    before = champion_world.ledger.head()
    champion_world.guard.registered(empty(), NAME, "9", Actor("Eve", "server"))
    assert champion_world.ledger.head() == before


def test_what_the_registry_says_is_recorded(world):
    world.guard.registered(world.registry, NAME, "1", Actor("Eve", "server"))
    assert world.ledger.entries(NAME)[-1].facts.model_created_at is None
    world.registry.set[NAME] = {}
    world.guard.registered(world.registry, NAME, "1", Actor("Eve", "server"))
    world.report("1")
    world.approve("1")
    world.promote("1")
    adopt(world, NAME)
    by_event = {entry.event: entry.facts for entry in world.ledger.entries(NAME)}
    for event in ("registration", "intent", "adoption"):
        facts = by_event[event]
        assert (facts.model_created_at, facts.version_created_at) == (CREATED, CREATED + 1)


def test_before_the_first_promotion_every_registry_will_do(world):
    world.register("1")
    world.report("1")
    check_belongs(world.ledger, empty(), NAME)
    check_belongs(world.ledger, empty())


def test_a_model_that_is_gone_is_missed_where_another_is_there(champion_world):
    world = champion_world
    world.registry.set[OTHER] = {"champion": "1"}
    adopt(world, OTHER)
    del world.registry.set[NAME]
    answer = world.ask("2")
    assert (answer.verdict, world.events()[-1]) == ("fail", "outside move")
    assert "the registry had nothing" in answer.reason


def test_one_model_created_again_stops_itself_alone(champion_world):
    world = champion_world
    world.registry.set[OTHER] = {"champion": "1"}
    adopt(world, OTHER)
    world.registry.models[OTHER] = ANOTHER_TIME
    with pytest.raises(ForeignRegistryError, match=f"its '{OTHER}' was created at"):
        check_belongs(world.ledger, world.registry, OTHER)
    check_belongs(world.ledger, world.registry, NAME)
    check_belongs(world.ledger, world.registry, "a new one")
    assert world.ask("2").verdict == "review"


def test_the_same_version_number_created_again(champion_world):
    world = champion_world
    world.registry.versions[NAME, "1"] = CREATED + 999
    with pytest.raises(ForeignRegistryError, match="has a version 1 from 2023-11-14 22:13:20"):
        world.ask("2")


def test_a_policy_admin_may_say_that_a_model_was_created_again(champion_world):
    world = champion_world
    world.registry.models[NAME] = ANOTHER_TIME
    with pytest.raises(ForeignRegistryError, match="adopt credit --created-again"):
        adopt(world, NAME)
    adopt(world, NAME, created_again=True)
    check_belongs(world.ledger, world.registry, NAME)
    world.approve("2")
    world.promote("2")
    assert world.registry.set[NAME] == {"champion": "2"}
    assert list(contradictions(world.ledger.entries())) == []


def test_a_policy_admin_may_say_that_the_only_model_is_gone(champion_world):
    world = champion_world
    world.registry.set.clear()
    adopt(world, NAME, created_again=True)
    check_belongs(world.ledger, world.registry, NAME)
    with pytest.raises(RefusedError, match="has no alias"):
        adopt(world, OTHER)


def test_of_an_older_ledger_only_the_name_is_asked(world):
    world.ledger.append(
        "adoption", Adoption(alias="champion", version="1", digest=digest("1"), reason=""), world.admin, model=NAME
    )
    world.ledger.append(
        "adoption", Adoption(alias="champion", version="1", digest=digest("1"), reason=""), world.admin, model=OTHER
    )
    check_belongs(world.ledger, same_names(), NAME)
    check_belongs(world.ledger, same_names(), OTHER)
    with pytest.raises(ForeignRegistryError, match="it has none of the models"):
        check_belongs(world.ledger, empty(), NAME)


def test_a_registry_that_does_not_say_when_is_asked_for_names_only(champion_world):
    registry = same_names()
    registry.created = lambda name, version=None: Created(None) if name == NAME else None
    check_belongs(champion_world.ledger, registry, NAME)


def test_one_question_is_enough(champion_world):
    world = champion_world
    for number in range(5):
        world.registry.set[f"credit-{number}"] = {"champion": "1"}
        adopt(world, f"credit-{number}")
    world.registry.calls.clear()
    check_belongs(world.ledger, world.registry, NAME)
    check_belongs(world.ledger, world.registry)
    assert world.registry.calls == ["created"] * 2


def faked(world, **changed):
    """An intent and promotion that somebody with the service key wrote."""
    intent = next(entry.facts for entry in world.ledger.entries(NAME) if isinstance(entry.facts, Intent))
    made = world.ledger.record("intent", intent.model_copy(update={"approvals": (), **changed}), model=NAME)
    binding = made.facts.binding
    done = Promotion(
        intent=made.hash,
        alias="champion",
        from_version=binding.from_version,
        to_version=binding.to_version,
        to_digest=binding.to_digest,
        completed="at once",
    )
    world.ledger.record("promotion", done, model=NAME)
    return [what for _, what in contradictions(world.ledger.entries())]


def test_the_audit_finds_a_registry_that_was_slipped_in(champion_world):
    said = faked(champion_world, model_created_at=ANOTHER_TIME)
    assert said == ["it is about a model that was created at another time than the one in earlier entries"]


def test_the_audit_finds_a_version_that_was_slipped_in(champion_world):
    said = faked(champion_world, version_created_at=ANOTHER_TIME + 5)
    assert said == ["it is about a version 1 that was created at another time than the one in earlier entries"]


def test_leaving_the_times_out_gains_nothing(champion_world):
    assert faked(champion_world, model_created_at=None, version_created_at=None) == []
    with pytest.raises(ForeignRegistryError):
        check_belongs(champion_world.ledger, same_names(), NAME)


def registers(world, version, author):
    world.guard.registered(world.registry, NAME, version, Actor(author, "server"))


def created_again(world, *, other):
    """Eve's version 1 was promoted; the model was created again, Bob registered a version 1, and an admin adopted that."""
    world.registry.set[NAME] = {}
    registers(world, "1", "Eve")
    world.report("1")
    world.approve("1")
    world.promote("1")
    if other:
        world.registry.set[OTHER] = {"champion": "1"}
        adopt(world, OTHER)
    world.registry.set[NAME] = {}
    world.registry.models[NAME] = ANOTHER_TIME
    world.registry.versions[NAME, "1"] = CREATED + 5000
    registers(world, "1", "Bob")
    adopt(world, NAME, created_again=True)
    world.report("1")
    return world


def test_nobody_approves_their_own_version_of_a_model_that_was_created_again(world):
    created_again(world, other=True)
    assert [entry.facts.author for entry in world.ledger.entries(NAME) if entry.event == "registration"] == ["Eve", "Bob"]
    with pytest.raises(RefusedError, match="Bob registered this version"):
        world.approve("1")
    world.approve("1", world.person("Cleo", "validator"))
    world.promote("1")
    assert world.registry.set[NAME] == {"champion": "1"}


def test_where_it_cannot_be_recorded_who_registered_it_nobody_is_known(world):
    created_again(world, other=False)
    world.approve("1")
    with pytest.raises(ReviewNeededError, match="nobody vouches for who registered it"):
        world.promote("1")
    world.approve("1", world.person("Cleo", "validator"))
    world.promote("1")
    assert world.registry.set[NAME] == {"champion": "1"}


def test_a_version_that_another_version_replaced_outside_has_no_known_author(world):
    world.registry.set[NAME] = {}
    registers(world, "1", "Eve")
    world.registry.versions[NAME, "1"] = CREATED + 5000
    world.report("1")
    assert world.ask("1").readiness.author is None
