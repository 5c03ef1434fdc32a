"""What an author says in tags: whose tag wins, and what is not used."""

from coordpath_governance.registry.origin import author_tag, with_tagged_facts
from coordpath_governance.reports.document import ChangeFacts
from coordpath_governance.reports.stated_facts import LONGEST_FACT


def test_a_tag_of_the_version_wins_over_one_of_its_run():
    run = {"coordpath.reason": "of the run", "coordpath.planned": "yes"}
    facts = with_tagged_facts(ChangeFacts(), {"coordpath.reason": " of the version "}, run)
    assert (facts.reason, facts.planned) == ("of the version", "yes")
    assert facts.tagged == ("reason", "planned")


def test_who_asks_for_the_report_wins_over_tags():
    facts = with_tagged_facts(ChangeFacts(reason="on the command line"), {"coordpath.reason": "in a tag"}, {})
    assert facts.reason == "on the command line"
    assert facts.tagged == facts.unusable_tags == ()


def test_a_blank_counts_as_not_said():
    facts = with_tagged_facts(ChangeFacts(reason=" "), {"coordpath.reason": "\n"}, {"coordpath.reason": "of the run"})
    assert facts.reason == "of the run"
    assert with_tagged_facts(ChangeFacts(), {"coordpath.reason": " "}, {}).reason is None
    assert author_tag("key", {}, {}) is None


def test_what_is_too_long_or_no_date_is_not_used_and_said_to_be_unusable():
    tags = {"coordpath.reason": "x" * (LONGEST_FACT + 1), "coordpath.implementation_date": "soon"}
    facts = with_tagged_facts(ChangeFacts(), tags, {"coordpath.reason": "of the run"})
    assert facts.reason is None, "the newer word is unusable, which does not make the older one right"
    assert facts.implementation_date is None
    assert facts.unusable_tags == ("reason", "implementation_date")


def test_facts_about_the_model_are_not_the_authors():
    facts = with_tagged_facts(ChangeFacts(), {"coordpath.owner": "Mallory", "coordpath.tier": "3"}, {})
    assert facts == ChangeFacts()
