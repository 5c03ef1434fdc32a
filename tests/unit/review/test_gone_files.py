"""The champion's files were deleted: one thing more for a person to decide, and nothing is easier than before."""

import pytest

from coordpath_governance.errors import (
    FilesGoneError,
    RefusedError,
    RegistryError,
    ReviewNeededError,
    StandingFilesGoneError,
)
from coordpath_governance.ledger.events import Intent
from coordpath_governance.ledger.kept_models import is_kept, kept_models
from coordpath_governance.ledger.verify import audit
from coordpath_governance.models.coefficients_json import to_document
from coordpath_governance.models.formats import recalled_from
from coordpath_governance.review.decisions import adopt_standing
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.promotion import stands_already
from coordpath_governance.verification.verify import verify_report

NAME = "credit"
FILES = "champion's files"
FREE = [
    {"class": "major", "when": {"features_added": 1}, "approvals": [{"role": "validator", "count": 1}]},
    {"class": "minor"},
]


def check(world, version="2"):
    results = world.ask(version).readiness.judgement.results
    return next((each for each in results if each.rule == FILES), None)


def problems(world):
    return [str(each) for each in audit(world.ledger.entries(), world.ledger.blobs).problems]


def kept(world, version, digest):
    return next(kept_models(world.ledger.entries(NAME), world.ledger.blobs, version, digest), None)


@pytest.fixture
def gone(world):
    """Version 1 is champion and its files are gone; version 2 needs nobody's approval otherwise."""
    world.first_champion()
    world.adopt_policy(materiality=FREE)
    world.ready()
    world.registry.gone.add((NAME, "1"))
    return world


def test_there_is_no_such_check_while_the_files_are_there(champion_world):
    assert check(champion_world) is None


def test_a_report_made_before_still_counts_but_a_person_decides(gone):
    found = check(gone)
    assert (found.result, found.observed) == ("unknown", "gone")
    assert "They were there when this report was made, and are gone now" in found.reason
    with pytest.raises(ReviewNeededError, match="Still needed: 1 approval by validator"):
        gone.promote("2")
    gone.approve("2")
    gone.promote("2")
    assert gone.registry.set[NAME]["champion"] == "2"
    assert problems(gone) == []


def test_a_report_from_the_ledger_says_so_and_a_person_decides(gone):
    report = gone.report_from_ledger("2", "1")
    first = kept(gone, "1", f"{1:064x}").report
    assert recalled_from(report.document.models["champion"]["source"]) == first
    said = f"The files of the champion are gone. Its coefficients are those of report {first[:12]} in the ledger, made while"
    assert any(each.startswith(said) for each in report.document.limits)
    assert report.document.assessment.verdict == "review"
    assert verify_report(report).passed
    assert first[:12] in check(gone).reason
    with pytest.raises(ReviewNeededError):
        gone.promote("2")
    gone.approve("2")
    gone.promote("2")
    assert problems(gone) == []


def test_it_is_left_to_a_person_even_when_the_files_are_back(gone):
    gone.report_from_ledger("2", "1")
    gone.registry.gone.clear()
    assert check(gone).result == "unknown"


def test_where_nobody_approves_it_fails(world):
    world.first_champion()
    world.adopt_policy(materiality=[{"class": "any"}])
    world.ready()
    assert world.ask("2").verdict == "pass"
    world.registry.gone.add((NAME, "1"))
    assert world.ask("2").verdict == "fail"


def test_rolling_back_from_a_champion_whose_files_are_gone(champion_world):
    world = champion_world
    world.approve("2")
    world.promote("2")
    world.registry.gone.add((NAME, "2"))
    world.report_from_ledger("1", "2")
    world.approve("1")
    world.promote("1")
    assert world.registry.set[NAME]["champion"] == "1"
    assert problems(world) == []


def test_a_candidate_without_files_is_refused(champion_world):
    champion_world.approve("2")
    champion_world.registry.gone.add((NAME, "2"))
    with pytest.raises(RefusedError, match=r"cannot be served: .* its files are gone; register the model again"):
        champion_world.promote("2")


def test_files_that_are_others_are_still_refused(gone):
    gone.registry.gone.clear()
    gone.registry.digests[NAME, "1"] = "f" * 64
    with pytest.raises(RefusedError, match="have changed"):
        gone.promote("2")


def test_a_registry_that_does_not_answer_is_not_taken_for_deleted_files(gone):
    history = ModelHistory(gone.ledger.entries(NAME))
    gone.registry.broken["digest"] = RegistryError("nobody answers")
    with pytest.raises(RegistryError, match="nobody answers") as caught:
        stands_already(gone.registry, history, NAME, "champion", "1")
    assert not isinstance(caught.value, FilesGoneError)


def test_what_stands_without_files_says_what_to_do(gone):
    history = ModelHistory(gone.ledger.entries(NAME))
    with pytest.raises(StandingFilesGoneError, match="Put them back, or promote another version: `coordpath report credit"):
        stands_already(gone.registry, history, NAME, "champion", "1")
    answer = gone.ask("1")
    assert answer.verdict == "fail"
    assert "its files are gone" in answer.reason


def test_a_forged_account_of_the_champion_is_found(gone):
    """Whoever has the service key may write a report; what it says of the champion must be in an earlier one."""
    gone.report("2", "1", sources=(f"kept in the ledger by report {'a' * 64}, since the files are gone; before: x", "x"))
    gone.approve("2")
    gone.promote("2")
    assert problems(gone) == []
    world = gone
    entries = world.ledger.entries(NAME)
    stated = to_document(kept(world, "1", f"{1:064x}").model)
    assert is_kept(entries, world.ledger.blobs, version="1", digest=f"{1:064x}", stated=stated)
    assert not is_kept(entries, world.ledger.blobs, version="1", digest=f"{1:064x}", stated={**stated, "intercept": 9.0})
    assert not is_kept(entries, world.ledger.blobs, version="1", digest=f"{1:064x}", stated={"schema": "other"})
    assert not is_kept(entries, world.ledger.blobs, version="1", digest="b" * 64, stated=stated)


def test_a_champion_that_no_report_ever_read_cannot_be_recalled(world):
    """Taken under guard as it stood, and reported on only after its files were gone."""
    world.registry.set[NAME] = {"champion": "1"}
    adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="as it was")
    world.adopt_policy(materiality=FREE)
    world.register("2")
    world.report("2", "1", sources=(f"kept in the ledger by report {'a' * 64}, since the files are gone; before: x", "x"))
    world.registry.gone.add((NAME, "1"))
    world.approve("2")
    world.promote("2")
    assert any("no earlier report there has them" in each for each in problems(world))


def test_a_service_key_alone_does_not_promote_over_deleted_files(gone):
    gone.report_from_ledger("2", "1")
    readiness = gone.ask("2").readiness
    forged = Intent(
        binding=readiness.binding,
        actor=None,
        authenticated_by=None,
        approvals=(),
        waivers=(),
        materiality="minor",
        full_validation=False,
    )
    gone.ledger.record("intent", forged, model=NAME)
    assert any("it lacks approvals" in each for each in problems(gone))


def test_a_service_key_alone_does_not_promote_where_nobody_could_approve(world):
    world.first_champion()
    world.adopt_policy(materiality=[{"class": "any"}])
    world.register("2")
    world.report_from_ledger("2", "1")
    binding = world.ask("2").readiness.binding
    nobody = {"actor": None, "authenticated_by": None, "approvals": (), "waivers": ()}
    forged = Intent(binding=binding, **nobody, materiality="any", full_validation=False)
    world.ledger.record("intent", forged, model=NAME)
    assert any("the files of its champion were gone, and nobody could approve" in each for each in problems(world))


@pytest.mark.parametrize("changed", [{"from_version": None, "from_digest": None}, {"from_digest": None}])
def test_what_stands_cannot_be_passed_over(champion_world, changed):
    world = champion_world
    world.approve("2")
    binding = world.ask("2").readiness.binding.model_copy(update=changed)
    nobody = {"actor": None, "authenticated_by": None, "approvals": (), "waivers": ()}
    forged = Intent(binding=binding, **nobody, materiality="ordinary", full_validation=False)
    world.ledger.record("intent", forged, model=NAME)
    assert any("not a change of what stood there, which was version 1" in each for each in problems(world))


def test_an_admin_takes_what_is_gone_for_what_was_promoted(gone):
    entry = adopt_standing(gone.ledger, gone.registry, NAME, "champion", gone.admin, reason="deleted by mistake")
    assert (entry.body["version"], entry.body["digest"]) == ("1", f"{1:064x}")


def test_an_admin_takes_what_is_gone_for_what_was_reported(gone):
    """The alias was moved to version 2, whose files were then deleted."""
    gone.registry.set[NAME]["champion"] = "2"
    gone.registry.gone.add((NAME, "2"))
    entry = adopt_standing(gone.ledger, gone.registry, NAME, "champion", gone.admin, reason="looked into")
    assert (entry.body["version"], entry.body["digest"]) == ("2", f"{2:064x}")


def test_what_nobody_knows_is_adopted_as_unknown_and_the_next_version_explained_from_zero(world):
    world.registry.set[NAME] = {"champion": "1"}
    world.registry.gone.add((NAME, "1"))
    entry = adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="nobody knows what it was")
    assert (entry.body["version"], entry.body["digest"]) == ("1", None)
    world.register("2")
    assert "no report" in world.ask("2").reason
    world.report("2", "1")
    assert (
        "explains the change from version 1, but version 1, of which nothing is known, has the alias"
        in world.ask("2").reason
    )
    world.report("2")
    world.approve("2")
    binding = world.ask("2").readiness.binding
    assert (binding.from_version, binding.from_digest) == ("1", None)
    world.promote("2")
    assert world.registry.set[NAME]["champion"] == "2"
    assert problems(world) == []


def test_files_that_come_back_after_they_were_adopted_as_unknown(world):
    world.registry.set[NAME] = {"champion": "1"}
    world.registry.gone.add((NAME, "1"))
    adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="")
    world.registry.gone.clear()
    assert "not those that were promoted" in world.ask("1").reason
    adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="found in the backup")
    assert world.ask("1").verdict == "pass"


def test_reports_that_cannot_tell_are_passed_over(champion_world):
    """Another version's digest, bytes that are missing or changed, and a report that recalls itself."""
    world = champion_world
    entries, digest = world.ledger.entries(NAME), f"{1:064x}"
    assert list(kept_models(entries, world.ledger.blobs, None, digest)) == []
    assert list(kept_models(entries, world.ledger.blobs, "1", "c" * 64)) == []
    assert len(list(kept_models(entries, world.ledger.blobs, "1", digest))) == 2
    blobs = dict.fromkeys(world.ledger.blobs, b"{}")
    assert list(kept_models(entries, blobs, "1", digest)) == []
    assert list(kept_models(entries, {}, "1", digest)) == []
    world.report_from_ledger("2", "1")
    assert len(list(kept_models(world.ledger.entries(NAME), world.ledger.blobs, "1", digest))) == 2
