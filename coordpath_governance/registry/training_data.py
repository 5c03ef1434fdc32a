"""What a version was trained on: the dataset inputs that its run logged, and what tags say beside them.

Nothing here is loaded or followed: a dataset's source is text that whoever logged the run has chosen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from coordpath_governance.registry.author_tags import TRAINING_TAG, author_tag
from coordpath_governance.reports.origin_parts import DatasetFacts, TrainingFacts
from coordpath_governance.text import shorten

__all__ = ["MOST_DATASETS", "training_facts"]

MOST_DATASETS = 20
_LONGEST = 500
_LARGEST_JSON = 200_000
_CONTEXT_TAG = "mlflow.data.context"
_TRAINING_CONTEXTS = ("train", "training")
_SOURCE_KEYS = ("uri", "url", "path", "delta_table_name", "table_name", "dataset", "query")
_WHOLE_NUMBER = re.compile(r"\d{1,15}", re.ASCII)

StatedBy = Literal["run input", "run input without context"]


def training_facts(
    inputs: Sequence[Any],  # MLflow's DatasetInput
    version_tags: Mapping[str, str],
    run_tags: Mapping[str, str],
) -> TrainingFacts | None:
    """The training data of a version; None if neither its run nor a tag says anything of them.

    Inputs logged for training count; if there is none, those logged without a context do, and say so. Tags name one more
    data set: what they say replaces nothing that was logged.
    """
    logged = [(dataset, _context(dataset)) for dataset in inputs]
    chosen = [dataset for dataset, context in logged if context in _TRAINING_CONTEXTS]
    stated_by: StatedBy = "run input" if chosen else "run input without context"
    chosen = chosen or [dataset for dataset, context in logged if not context]
    period, exclusions, *named = (
        _text(author_tag(TRAINING_TAG + key, version_tags, run_tags))
        for key in ("period", "exclusions", "source", "digest", "rows")
    )
    datasets = [_dataset(each.dataset, stated_by) for each in chosen[:MOST_DATASETS]]
    if any(named):
        source, digest, rows = named
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


def _context(dataset: Any) -> str:  # noqa: ANN401 - MLflow's DatasetInput
    return next((str(tag.value).strip().lower() for tag in dataset.tags if tag.key == _CONTEXT_TAG), "")


def _dataset(dataset: Any, stated_by: StatedBy) -> DatasetFacts:  # noqa: ANN401 - MLflow's Dataset
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
