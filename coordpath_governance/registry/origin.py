"""How a version came to be: dates, training data and facts, as the registry, the run and the author's tags say.

The author can write all of it, so no decision uses it; a report shows each fact with its source.
Nothing is loaded or followed: a dataset's source is text that whoever logged the run has chosen. A version's tag wins over
its run's. A tag that is too long, or is not a date where a date is needed, is not used, and the report says
so: half a sentence could say the opposite of the whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from coordpath_governance.errors import NotFoundError, RegistryError
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.ports import Dataset, DatasetInput, RegistryClient, Run
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.reports.document import ChangeFacts, VersionFacts
from coordpath_governance.reports.stated_facts import TAGGABLE_FACTS, objection_to_fact
from coordpath_governance.reports.version_parts import LAST_MOMENT, DatasetFacts, TrainingFacts
from coordpath_governance.text import shorten

__all__ = [
    "FACT_TAG",
    "MOST_DATASETS",
    "TRAINING_TAG",
    "Origin",
    "author_tag",
    "origin_of",
    "training_facts",
    "with_tagged_facts",
]

MOST_DATASETS = 20
_LONGEST = 500
_LARGEST_JSON = 200_000
_CONTEXT_TAG = "mlflow.data.context"
_TRAINING_CONTEXTS = ("train", "training")
_SOURCE_KEYS = ("uri", "url", "path", "delta_table_name", "table_name", "dataset", "query")
_WHOLE_NUMBER = re.compile(r"\d{1,15}", re.ASCII)

StatedBy = Literal["run input", "run input without context"]

FACT_TAG = "coordpath."
"""Before the name of a fact: ``coordpath.reason``."""

TRAINING_TAG = "coordpath.training."
"""Before source, digest, rows, period or exclusions of the training data."""

Tags = Mapping[str, str]


@dataclass(frozen=True)
class Origin:
    """When and how a version was made; times in ms since 1970. ``run_remark`` says why nothing is known of its run."""

    registered_ms: int | None = None
    run_started_ms: int | None = None
    run_remark: Literal["not there", "not readable"] | None = None
    training: TrainingFacts | None = None
    version_tags: Mapping[str, str] = field(default_factory=dict)
    run_tags: Mapping[str, str] = field(default_factory=dict)

    def added_to(self, facts: VersionFacts) -> VersionFacts:
        """``facts`` with everything that a report shows of this origin."""
        return facts.model_copy(
            update={
                "registered_ms": self.registered_ms,
                "run_started_ms": self.run_started_ms,
                "run_remark": self.run_remark,
                "training": self.training,
            }
        )


def origin_of(client: RegistryClient, pointer: ModelPointer) -> Origin:
    """The origin of a registered version; empty for a model that is not registered.

    A run that is gone, or may not be read, leaves its part unknown. Raises `RegistryError` if the registry or the tracking
    server does not answer, `NotFoundError` if the version is gone.
    """
    if pointer.name is None or pointer.version is None:
        return Origin()
    with registry_errors(f"reading version {pointer.version} of '{pointer.name}'"):
        version = client.get_model_version(pointer.name, pointer.version)
    run, remark = _run(client, pointer)
    version_tags, run_tags = dict(version.tags or {}), {} if run is None else dict(run.data.tags)
    datasets = () if run is None or run.inputs is None else tuple(run.inputs.dataset_inputs)
    return Origin(
        registered_ms=_moment(version.creation_timestamp),
        run_started_ms=None if run is None else _moment(run.info.start_time),
        run_remark=remark,
        training=training_facts(datasets, version_tags, run_tags),
        version_tags=version_tags,
        run_tags=run_tags,
    )


def _run(client: RegistryClient, pointer: ModelPointer) -> tuple[Run | None, Literal["not there", "not readable"] | None]:
    if pointer.run_id is None:
        return None, None
    try:
        with registry_errors(f"reading run {pointer.run_id}"):
            return client.get_run(pointer.run_id), None
    except NotFoundError:
        return None, "not there"
    except RegistryError as error:
        if getattr(error.__cause__, "error_code", None) != "PERMISSION_DENIED":
            raise
        return None, "not readable"


def _moment(value: object) -> int | None:
    """A time in the calendar, else None: the author of a run can write any number."""
    return value if isinstance(value, int) and 0 <= value <= LAST_MOMENT else None


def training_facts(
    inputs: Sequence[DatasetInput],
    version_tags: Mapping[str, str],
    run_tags: Mapping[str, str],
) -> TrainingFacts | None:
    """The training data of a version; None if neither its run nor a tag says anything about them.

    Inputs that were logged for training count. If there are none, those without a context count, and are marked so. Tags add
    one more data set and replace nothing that was logged.
    """
    logged = [(dataset, _context(dataset)) for dataset in inputs]
    chosen = [dataset for dataset, context in logged if context in _TRAINING_CONTEXTS]
    stated_by: StatedBy = "run input" if chosen else "run input without context"
    chosen = chosen or [dataset for dataset, context in logged if not context]
    period, exclusions, *source_tags = (
        _text(author_tag(TRAINING_TAG + key, version_tags, run_tags))
        for key in ("period", "exclusions", "source", "digest", "rows")
    )
    datasets = [_dataset(each.dataset, stated_by) for each in chosen[:MOST_DATASETS]]
    if any(source_tags):
        source, digest, rows = source_tags
        datasets.append(
            DatasetFacts(stated_by="tags", name=None, source=_without_secrets(source), digest=digest, rows=_count(rows))
        )
    if not datasets and period is None and exclusions is None:
        return None
    return TrainingFacts(
        datasets=tuple(datasets),
        more_datasets=max(len(chosen) - MOST_DATASETS, 0),
        period=period,
        exclusions=exclusions,
    )


def _context(dataset: DatasetInput) -> str:
    return next((str(tag.value).strip().lower() for tag in dataset.tags if tag.key == _CONTEXT_TAG), "")


def _dataset(dataset: Dataset, stated_by: StatedBy) -> DatasetFacts:
    return DatasetFacts(
        stated_by=stated_by,
        name=_text(dataset.name),
        source=_source(dataset.source, dataset.source_type),
        digest=_text(dataset.digest),
        rows=_rows(_object(dataset.profile)),
    )


def _source(source: object, source_type: object) -> str | None:
    """Where the data are, else the script that made them, else what kind of source it is."""
    content = _object(source)
    for key in _SOURCE_KEYS:
        if isinstance(content.get(key), str) and content[key].strip():
            return _without_secrets(_text(content[key]))
    tags = content.get("tags")
    script = tags.get("mlflow.source.name") if isinstance(tags, dict) else None
    if isinstance(script, str) and script.strip():
        return f"in memory, logged by {_text(script)}"
    return _text(source_type)


def _without_secrets(source: str | None) -> str | None:
    """A URL without user, password and query, which may hold a signature that opens the file."""
    if source is None or "://" not in source:
        return source
    try:
        parts = urlsplit(source)
    except ValueError:
        return source.partition("://")[0] + "://…"
    query = "…" if parts.query else ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, ""))


def _rows(profile: Mapping[str, Any]) -> int | None:
    """The number of rows in an MLflow profile: of a table, or the first length of an array."""
    shape = profile.get("features_shape")
    rows = profile.get("num_rows", shape[0] if isinstance(shape, list) and shape else None)
    return rows if isinstance(rows, int) and not isinstance(rows, bool) and rows >= 0 else None


def _count(text: str | None) -> int | None:
    """A whole number, also with commas or blanks between thousands."""
    digits = re.sub(r"[, _]", "", text or "")
    return int(digits) if _WHOLE_NUMBER.fullmatch(digits) else None


def _object(text: object) -> Mapping[str, Any]:
    """The JSON object in ``text``; empty if there is none."""
    if not isinstance(text, str) or len(text) > _LARGEST_JSON:
        return {}
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _text(value: object) -> str | None:
    """A text of bounded length that JSON can hold; None if it is blank."""
    text = str(value or "").strip().encode("utf-8", "replace").decode()
    return shorten(text, _LONGEST) if text else None


def author_tag(key: str, version_tags: Tags, run_tags: Tags) -> str | None:
    """The tag ``key`` of the version, else that of its run; a blank one counts as not set."""
    return next((text for tags in (version_tags, run_tags) if (text := str(tags.get(key) or "")).strip()), None)


def with_tagged_facts(facts: ChangeFacts, version_tags: Tags, run_tags: Tags) -> ChangeFacts:
    """``facts`` of the person who asks for the report; facts that are missing there are taken from the tags."""
    from_tags: dict[str, str] = {}
    unusable = []
    for fact in TAGGABLE_FACTS:
        text = author_tag(FACT_TAG + fact, version_tags, run_tags)
        if text is None or (getattr(facts, fact) or "").strip():
            continue
        if objection_to_fact(fact, text):
            unusable.append(fact)
        else:
            from_tags[fact] = text.strip()
    return facts.model_copy(update={**from_tags, "tagged": tuple(from_tags), "unusable_tags": tuple(unusable)})
