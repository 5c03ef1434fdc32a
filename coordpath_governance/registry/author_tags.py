"""What an author says in tags of a version or of its run. These are an author's words: a report shows them as such.

A version's tag wins over its run's. A tag that is too long, or holds no date where one is asked for, is not used and said
to be unusable: half a sentence could say the opposite of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping

from coordpath_governance.reports.document import ChangeFacts
from coordpath_governance.reports.stated_facts import TAGGABLE_FACTS, objection_to_fact

__all__ = ["FACT_TAG", "TRAINING_TAG", "author_tag", "with_tagged_facts"]

FACT_TAG = "coordpath."
"""Before the name of a fact: ``coordpath.reason``."""

TRAINING_TAG = "coordpath.training."
"""Before source, digest, rows, period or exclusions of the training data."""

Tags = Mapping[str, str]


def author_tag(key: str, version_tags: Tags, run_tags: Tags) -> str | None:
    """The tag ``key`` of the version, else that of its run; a blank one counts as not set."""
    return next((text for tags in (version_tags, run_tags) if (text := str(tags.get(key) or "")).strip()), None)


def with_tagged_facts(said: ChangeFacts, version_tags: Tags, run_tags: Tags) -> ChangeFacts:
    """``said`` by whoever asks for the report, and what the tags say of the rest."""
    taken: dict[str, str] = {}
    unusable = []
    for fact in TAGGABLE_FACTS:
        text = author_tag(FACT_TAG + fact, version_tags, run_tags)
        if text is None or (getattr(said, fact) or "").strip():
            continue
        if objection_to_fact(fact, text):
            unusable.append(fact)
        else:
            taken[fact] = text.strip()
    return said.model_copy(update={**taken, "tagged": tuple(taken), "unusable_tags": tuple(unusable)})
