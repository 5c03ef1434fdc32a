"""What a report cannot tell, as sentences; among them what follows if the reference data were used for training."""

from __future__ import annotations

from collections.abc import Iterator

from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.models.formats import DECLARED, DECLARED_FORMAT, as_read, format_of, is_plugin, recalled_from
from coordpath_governance.numbers import count
from coordpath_governance.reference.moments import MIN_COUNT
from coordpath_governance.reference.segments import SMALL_CELLS
from coordpath_governance.reports.class_words import UNWEIGHTED, ClassWeights
from coordpath_governance.reports.document import Counts, DataFacts, PathFacts, Subject, VersionFacts
from coordpath_governance.reports.editions import EDITION, Edition, is_before
from coordpath_governance.reports.impact_parts import GlmFacts, Impact
from coordpath_governance.reports.summary import PREDICTED_LENGTH, loss_name, worse_than_constant
from coordpath_governance.reports.version_parts import DatasetFacts
from coordpath_governance.text import shorten

__all__ = ["limits", "training_remarks"]

_DIGITS = 12
"""Of a SHA-256 in a sentence."""
_NAME = 60
"""Characters of the name of a data set."""


def limits(
    models: ModelPair,
    *,
    data: DataFacts,
    counts: Counts,
    path: PathFacts,
    impact: Impact,
    merged: tuple[str, ...],
    has_rows: bool,
    glm: GlmFacts | None = None,
    weights: ClassWeights = UNWEIGHTED,
    edition: Edition | None = EDITION,
) -> tuple[str, ...]:
    """What a report on these data and models cannot tell, one sentence each.

    ``merged`` are the levels with too few rows, as `coefficients.merged_levels` lists them, ``weights`` the class weights
    that the versions were trained with. ``edition`` is that of the report.
    """
    texts = [
        "These figures hold for the reference data named here. They say nothing of other populations or the future.",
        "A coefficient is not a cause: correlated features share their effect, and another model may share it differently.",
    ]
    if glm is not None and models.has_intercept:
        texts.append(
            "Moving a slope leaves the average score where it is; the average prediction still moves, because "
            "predictions do not follow the score in a straight line."
        )
    if data.predicted is not None:
        texts.append(
            f"The versions are models of {shorten(data.predicted, PREDICTED_LENGTH)}, not of the target itself. "
            "Coefficients, scores, costs and errors are all on that scale; what they are in units of the target is not told "
            "here."
        )
    if data.role == "training":
        texts.append("The reference data were used for training: accuracy on new data will be worse, for either version.")
    if data.role == "not stated":
        texts.append("Nobody stated whether the reference data were used for training.")
    if not has_rows:
        texts.append(
            "Only moments were at hand, not rows: there are no standard errors, flips, segments or absolute errors."
        )
    if counts.not_exercised:
        are = "1 coefficient is" if counts.not_exercised == 1 else f"{count(counts.not_exercised)} coefficients are"
        texts.append(f"{are} not exercised by this data: what a change there does is unknown.")
    if merged:
        texts.append(
            f"Levels with fewer than {MIN_COUNT} rows are merged with the next smallest, so that no row can be recognised: "
            f"{', '.join(merged)}. Their effects are represented exactly, but not told one by one."
        )
    texts += _segments_without_values(impact)
    texts += _separated(path, glm)
    texts += worse_than_constant(
        impact, glm, weights, has_champion=models.has_champion or is_before(edition, 3), edition=edition
    )
    if data.rows_dropped:
        why = "with a rare level or a missing value" if data.kind == "moments" else "with a missing value"
        texts.append(f"{count(data.rows_dropped)} rows {why} were left out; the models were not judged on such rows.")
    texts += _constant_target(data, glm)
    loss = loss_name(data, glm)
    texts += _training(models, loss)
    for who, model in (("champion", models.champion), ("candidate", models.candidate)):
        fitted_by = model.regularisation.get("loss")
        if fitted_by:
            texts.append(f"The {who} was fitted by another loss ({fitted_by}) than the {loss} by which it is judged here.")
        texts += _how_read(who, model.source)
        texts += [f"The {who}: {remark}." for remark in model.remarks]
    return tuple(texts)


def _how_read(who: str, source: str) -> list[str]:
    """A remark if the coefficients come from a declaration, from a plugin, or from an earlier report in the ledger."""
    report = recalled_from(source)
    if report is not None:
        origin = (
            f"The files of the {who} are gone. Its coefficients are those of report {report[:_DIGITS]} in the ledger, made"
        )
        return [f"{origin} while the files were there; nobody can compare them now.", *_how_read(who, str(as_read(source)))]
    form = format_of(source)
    if source == DECLARED or (form is None and "declared" in source):
        return [f"The coefficients of the {who} are {source}; nobody checked that the model predicts with them."]
    if form == DECLARED_FORMAT:
        return [f"The coefficients of the {who} are {source}; they were not read from the model's files."]
    if form is not None and is_plugin(form):
        return [f"The {who} was {source}: whether that reads what is served, coordpath does not know."]
    return []


def _segments_without_values(impact: Impact) -> list[str]:
    """A remark on segment columns whose values are all rare, such as amounts: all rows fall into one segment."""
    values: dict[str, set[str]] = {}
    for segment in impact.segments:
        values.setdefault(segment.segment, set()).add(segment.value)
    return [
        f"No value of the segment {name!r} has {MIN_COUNT} rows, so it tells nothing: name a column of bands instead."
        for name, texts in values.items()
        if texts == {SMALL_CELLS}
    ]


def _separated(path: PathFacts, glm: GlmFacts | None) -> list[str]:
    """A warning if the columns separate the classes: the log loss can then come down to 0."""
    if glm is None or not glm.classes or path.minimum_cost > 0.0:
        return []
    warning = (
        "In these rows the columns tell the classes apart completely, so that no model is best: "
        f"the {glm.loss} comes down to 0 as coefficients grow. "
        "How far the versions are from the best possible model says little here."
    )
    return [warning]


def _constant_target(data: DataFacts, glm: GlmFacts | None) -> list[str]:
    """A warning if the target does not vary, so that there is nothing to explain."""
    if glm is None:
        if data.target_sd:
            return []
        return [
            "The target is constant in the reference data: no share of its variation can be explained, and R² is undefined."
        ]
    if glm.constant_cost:
        return []
    return ["A constant predicts these data without any error: no share of the deviance can be explained."]


def _training(models: ModelPair, loss: str) -> list[str]:
    """Remarks on penalties, class weights and Tweedie powers of the training that the cost does not have."""
    out = []
    sides = (models.champion, models.candidate)
    penalty = any(m.regularisation.get("kind", "none") != "none" for m in sides)
    weights = any(m.regularisation.get("class_weight") is not None for m in sides)
    if penalty or weights:
        terms = {(True, False): "the penalty", (False, True): "the class weights"}.get(
            (penalty, weights), "penalty and class weights"
        )
        are = "are" if weights else "is"
        out.append(f"The cost is the plain {loss}: {terms} that a version was trained with {are} not part of it.")
    old, new = (m.power for m in sides)
    if old is not None and new is not None and old != new:
        out.append(
            f"The versions were trained for different Tweedie powers, the champion for {old:g}, the candidate for {new:g}: "
            "both are judged by the candidate's."
        )
    return out


def training_remarks(subject: Subject, data: DataFacts) -> tuple[str, ...]:
    """One remark for each version whose training data look like the reference data.

    An equal SHA-256 means the same bytes; an equal name only asks for a look. MLflow's own digests cannot be compared with
    the SHA-256 of a file.
    """
    return tuple(
        remark
        for who, version in (("champion", subject.champion), ("candidate", subject.candidate))
        if version is not None and version.training is not None
        for remark in _remarks(who, version, data)
    )


def _remarks(who: str, version: VersionFacts, data: DataFacts) -> Iterator[str]:
    datasets = version.training.datasets if version.training is not None else ()
    although = f", although their role is said to be {data.role}" if data.role in ("holdout", "out-of-time") else ""
    if any(_digest(dataset.digest) == _digest(data.sha256) for dataset in datasets):
        yield (
            f"The {who} names the reference data as its training data (the same SHA-256){although}: accuracy on them "
            "flatters it."
        )
    elif any(_same_name(dataset, data) for dataset in datasets):
        yield (
            f"The training data of the {who} have the name of the reference data, '{shorten(data.name, _NAME)}'{although}: "
            "check that they are not the same rows."
        )


def _digest(text: str | None) -> str:
    return (text or "").strip().lower().removeprefix("sha256:")


def _same_name(dataset: DatasetFacts, data: DataFacts) -> bool:
    """Whether a data set has the name of the reference data, which only files and folders have."""
    if data.kind not in ("file", "folder"):
        return False
    last = (dataset.source or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    return data.name in (dataset.name, last)
