"""`explain_change` and `front`: a change report, and the price of fewer changes, on URIs, estimators or `LinearModel`s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from coordpath_governance.errors import UsageError
from coordpath_governance.models import from_fitted
from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.sklearn_reader import tree_from_estimator
from coordpath_governance.reference.logged import Role
from coordpath_governance.reference.sources import RowSource, TableSource, open_source
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import ChangeFacts, Subject, VersionFacts
from coordpath_governance.reports.front_flow import DEFAULT_STEPS, FrontRequest, make_front
from coordpath_governance.reports.make import (
    DEFAULT_MAX_STEPS,
    Progress,
    ReferenceData,
    Request,
    make_report,
    settings_for,
    version_facts,
)
from coordpath_governance.reports.stated_facts import DATE_FACTS, is_date
from coordpath_governance.reports.version_parts import environments_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from coordpath_governance.models.environment import Environment
    from coordpath_governance.registry.origin import Origin
    from coordpath_governance.reports.front_document import FrontDocument

__all__ = ["explain_change", "front"]

Missing = Literal["fail", "drop"]


def explain_change(
    champion: object,
    candidate: object,
    *,
    data: str | Path | pd.DataFrame | None = None,
    target: str | ArrayLike | None = None,
    weight: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
    role: Role | None = None,
    period: str | None = None,
    missing: Missing = "fail",
    max_steps: int | None = DEFAULT_MAX_STEPS,
    gamma: float = 1.0,
    threshold: float | None = None,
    champion_threshold: float | None = None,
    threshold_class: str | None = None,
    segments: Sequence[str] = (),
    reason: str | None = None,
    change_type: str | None = None,
    planned: str | None = None,
    owner: str | None = None,
    purpose: str | None = None,
    monitoring: str | None = None,
    rollback: str | None = None,
    implementation_date: str | None = None,
    notification_deadline: str | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> ChangeReport:
    """Explain the change from ``champion`` (None: from zero) to ``candidate``.

    Models are registry URIs (``models:/name/3``, ``models:/name@champion``), fitted estimators or pipelines of scikit-learn
    or glum, fitted statsmodels results, or `LinearModel`s.

    - ``data`` is a path (csv, parquet, folder of parquet) or a DataFrame with the features and the column ``target``.
      ``target`` may also be the values themselves. Without ``data`` the reference data that the candidate's run logged are
      used.
    - ``weight`` names a column of weights. ``offset`` names a column that is added to the score, ``exposure`` a column
      whose logarithm is added (logistic, Poisson, gamma and Tweedie models).
    - ``threshold`` is the prediction from which both versions decide "yes"; without it each version uses its own, if it has
      one. ``champion_threshold`` is a different threshold for the champion. For a classifier both are probabilities of
      ``threshold_class``. Without ``threshold_class`` the last class is used, and the report asks whether it was meant.
    - ``max_steps`` single steps are followed by one step with all the rest; None makes every coefficient a step.
      ``gamma`` weights the k-th step with gammaᵏ.
    - ``reason``, ``change_type``, ``planned`` and the other texts are facts that the report states. If one is left out, the
      tag of a registered candidate is used (``coordpath.reason`` …). Dates are written YYYY-MM-DD.

    Raises `UsageError` for arguments that make no sense, `ReferenceDataError` for data that cannot be used,
    `ModelReadError` for a model that cannot be read, and `AlignmentError` for two models that cannot be compared.
    """
    texts = {"weight": weight, "offset": offset, "exposure": exposure, "period": period, "name": name}
    facts = {
        "owner": owner,
        "purpose": purpose,
        "reason": reason,
        "change_type": change_type,
        "planned": planned,
        "monitoring": monitoring,
        "rollback": rollback,
        "implementation_date": implementation_date,
        "notification_deadline": notification_deadline,
    }
    _check_words(texts | facts, role, missing, segments)
    old = None if champion is None else _resolve(champion, "champion")
    new = _resolve(candidate, "candidate")
    reference = replace(
        _reference_data(candidate, data, target, weight=weight, role=role, period=period, missing=missing),
        offset=offset,
        exposure=exposure,
    )
    subject = Subject(name=name or new.facts.name or "model", champion=old.facts if old else None, candidate=new.facts)
    request = Request(
        subject=subject,
        facts=new.with_tags(ChangeFacts(**facts)),
        settings=settings_for(
            max_steps=max_steps,
            gamma=gamma,
            threshold=threshold,
            champion_threshold=champion_threshold,
            threshold_class=threshold_class,
            segments=segments,
        ),
        environments=environments_of(old.environment if old else None, new.environment),
    )
    return ChangeReport(make_report(old.model if old else None, new.model, reference, request, progress))


def front(
    champion: object,
    candidate: object,
    *,
    fit_data: str | Path | pd.DataFrame | None = None,
    data: str | Path | pd.DataFrame | None = None,
    target: str | None = None,
    weight: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
    missing: Missing = "fail",
    max_steps: int = DEFAULT_STEPS,
    gamma: float = 1.0,
    steps_chosen: Mapping[int, float] | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> FrontDocument:
    """The best updates of ``champion`` (None: of zero) by 0, 1, 2, … coefficients, as `coordpath front` tells them.

    They are fitted to ``fit_data`` and scored on ``data``, both paths or DataFrames with the column ``target``. Without
    one of them the reference data that the candidate's run logged are used. If both are the same rows, the document says so
    and has no shares of the candidate's gain. ``steps_chosen`` maps numbers of steps to how likely a person is to choose
    them. Other arguments are those of `explain_change`; ``.model_dump(by_alias=True)`` of the answer is `coordpath.front/1`.

    Raises as `explain_change` does, and `ProblemError` if the probabilities do not add up to 1.
    """
    texts = {"weight": weight, "offset": offset, "exposure": exposure, "name": name}
    _check_words(texts, None, missing, ())
    old = None if champion is None else _resolve(champion, "champion")
    new = _resolve(candidate, "candidate")
    fit, reference = (
        replace(
            _reference_data(candidate, rows, target, weight=weight, role=None, period=None, missing=missing),
            offset=offset,
            exposure=exposure,
        )
        for rows in (fit_data, data)
    )
    subject = Subject(name=name or new.facts.name or "model", champion=old.facts if old else None, candidate=new.facts)
    request = FrontRequest(subject, max_steps, settings_for(gamma=gamma), steps_chosen)
    return make_front(old.model if old else None, new.model, fit, reference, request, progress)


def _check_words(texts: dict[str, str | None], role: object, missing: object, segments: object) -> None:
    """Raise `UsageError` for a text that is not a text or a date, and for an unknown word."""
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise UsageError(f"{name}= is {text!r}; give a text, or leave it out")
        if name in DATE_FACTS and text is not None and not is_date(text):
            raise UsageError(f"{name}= is {text!r}; give a date such as 2026-12-31")
    for name, word, words in (("role", role or "not stated", get_args(Role)), ("missing", missing, get_args(Missing))):
        if word not in words:
            raise UsageError(f"{name}= is {word!r}; give one of {', '.join(words)}")
    if isinstance(segments, str) or not all(isinstance(segment, str) for segment in _listed(segments)):
        raise UsageError(f"segments= is {segments!r}; give a list of column names")


def _listed(values: object) -> Sequence[object]:
    """``values`` if they are a sequence, else a sequence of something that is not text."""
    return values if isinstance(values, Sequence) else (None,)


@dataclass(frozen=True)
class _Version:
    """A model and the facts about it; its environment if it has files, and its origin if it is registered."""

    model: LinearModel | DecisionTree
    facts: VersionFacts
    environment: Environment | None = None
    origin: Origin | None = None

    def with_tags(self, stated: ChangeFacts) -> ChangeFacts:
        """The ``stated`` facts; those left out are taken from the author's tags."""
        if self.origin is None:
            return stated
        from coordpath_governance.registry.origin import with_tagged_facts

        return with_tagged_facts(stated, self.origin.version_tags, self.origin.run_tags)


def _resolve(model: object, label: str) -> _Version:
    if isinstance(model, LinearModel | DecisionTree):
        return _Version(model, version_facts(model, label))
    if isinstance(model, str | Path):
        from coordpath_governance.registry.connection import connect
        from coordpath_governance.registry.download import fetch_version
        from coordpath_governance.registry.origin import origin_of
        from coordpath_governance.registry.versions import point_at

        client = connect()
        fetched = fetch_version(point_at(client, None, str(model)))
        facts = version_facts(fetched.model, fetched.pointer.label, fetched.pointer.aliases)
        origin = origin_of(client, fetched.pointer)
        return _Version(fetched.model, origin.added_to(facts), fetched.environment, origin)
    read = tree_from_estimator(model) or from_fitted(model)
    return _Version(read, version_facts(read, label))


def _reference_data(
    candidate: object,
    data: str | Path | pd.DataFrame | None,
    target: str | ArrayLike | None,
    *,
    weight: str | None,
    role: Role | None,
    period: str | None,
    missing: Missing,
) -> ReferenceData:
    """The reference data that the arguments name; without ``data``, those that the candidate's run logged."""
    if data is None:
        if not isinstance(candidate, str | Path):
            raise UsageError(
                "give data= (a path or a DataFrame) and target=; only a registered model has logged reference data"
            )
        if target is not None and not isinstance(target, str):
            raise UsageError("target= must be a column name when data= is left out")
        from coordpath_governance.registry.connection import connect
        from coordpath_governance.registry.reference import reference_of
        from coordpath_governance.registry.versions import point_at

        client = connect()
        return reference_of(
            client,
            point_at(client, None, str(candidate)),
            target=target,
            weight=weight,
            role=role,
            period=period,
            missing=missing,
        )
    if target is None:
        raise UsageError("target= is missing: name the column of data that both models predict")
    source: RowSource
    if isinstance(data, str | Path):
        if not isinstance(target, str):
            raise UsageError("target= must be a column name when data= is a path")
        source, column = open_source(Path(data)), target
    elif isinstance(target, str):
        source, column = TableSource(data), target
    else:
        column = str(getattr(target, "name", None) or "target")
        shape = np.shape(target)
        if len(shape) != 1 or shape[0] != len(data):
            raise UsageError(f"target= has the shape {shape}, but data= has {len(data)} rows; give one value for each")
        values: Any = target
        source = TableSource(data.assign(**{column: values}))
    return ReferenceData(source, column, weight=weight, role=role or "not stated", period=period, missing=missing)
