"""What speaks against adopting a policy: it contradicts its models, its data or the other policies.

A well written policy may still refuse every change of a model, and nobody would notice before the first refusal. Each of the
`CHECKS` looks for one such contradiction. A certain one is an objection and stops the adoption; a possible one is a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from coordpath_governance.policy.patterns import may_both_match
from coordpath_governance.policy.results import listed
from coordpath_governance.policy.starting_policy import UNPINNED
from coordpath_governance.reference.levels import class_reader, number_of

if TYPE_CHECKING:
    from coordpath_governance.models.linear_model import LinearModel
    from coordpath_governance.policy.document import PinnedReference, Policy

__all__ = ["CHECKS", "Circumstances", "Remark", "is_bare_threshold", "label_objection", "remarks", "threshold_objections"]

_TWO = 2
_NOT_TEXT = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
"""Words that some readers of YAML take for something else than text."""
_WHERE = "reference.threshold"


@dataclass(frozen=True)
class Circumstances:
    """A policy, and what is known of its surroundings; None stands for what could not be asked.

    - ``others``: the policies in force under other names.
    - ``registered``: the names of all registered models; ``models``: those that the policy matches and that can be read.
    - ``columns``, ``sha256``: of the file at ``reference.uri``.
    - ``labels``, ``target_values``: a few texts, and a few values of any type, in its target's column; none is missing.
    - ``roles``: the roles of all keys that are not revoked.
    - ``unknown``: sentences on what could not be asked, and why.
    """

    policy: Policy
    others: tuple[Policy, ...] = ()
    registered: tuple[str, ...] | None = None
    models: Mapping[str, LinearModel] = field(default_factory=lambda: MappingProxyType({}))
    columns: tuple[str, ...] | None = None
    sha256: str | None = None
    labels: tuple[str, ...] = ()
    target_values: tuple[object, ...] = ()
    roles: frozenset[str] | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Remark:
    """One sentence about a policy, with what to do; an objection if ``certain``, else a note."""

    text: str
    certain: bool


Check = Callable[[Circumstances], Iterator[Remark]]


def remarks(adoption: Circumstances) -> tuple[Remark, ...]:
    """The remarks of all `CHECKS` on the policy, objections first."""
    unsorted = [remark for check in CHECKS for remark in check(adoption)]
    unsorted += [_note(text) for text in adoption.unknown]
    return tuple(sorted(unsorted, key=lambda remark: not remark.certain))


def _objection(text: str) -> Remark:
    return Remark(text, certain=True)


def _note(text: str) -> Remark:
    return Remark(text, certain=False)


def _overlaps(adoption: Circumstances) -> Iterator[Remark]:
    """A model that two policies match is refused: for registered models that is certain, for others a possibility."""
    for other in adoption.others:
        both = [name for name in adoption.registered or () if adoption.policy.matches(name) and other.matches(name)]
        if both:
            yield _objection(
                f"models: policy '{other.name}', which is in force, matches {_names(both)} too, and a model that two "
                "policies match is refused: make the patterns exclude each other, or retire that policy first "
                "(`coordpath policy retire`)"
            )
        elif any(may_both_match(own, foreign) for own in adoption.policy.models for foreign in other.models):
            yield _note(f"policy '{other.name}' may match the same models; one that both match is refused")


def _pinned_bytes(adoption: Circumstances) -> Iterator[Remark]:
    """Reports are made on the pinned bytes only."""
    pinned = adoption.policy.reference
    if pinned.sha256 == UNPINNED:
        yield _note("reference.sha256 is all zeros, which no data have: nothing passes until it is that of your data")
        return
    if adoption.sha256 is not None and adoption.sha256 != pinned.sha256:
        yield _objection(
            f"reference.sha256: the data at '{pinned.uri}' have the SHA-256 {adoption.sha256}, so no report could be made: "
            "pin that, or point to the data that you mean"
        )


def _pinned_columns(adoption: Circumstances) -> Iterator[Remark]:
    """Every column that the policy names must be among the data's."""
    pinned = adoption.policy.reference
    columns = {"target": pinned.target, "weight": pinned.weight, "offset": pinned.offset, "exposure": pinned.exposure}
    wanted = [(f"reference.{key}", column) for key, column in columns.items() if column is not None]
    wanted += [("reference.segments", column) for column in pinned.segments]
    for where, column in wanted:
        if adoption.columns is not None and column not in adoption.columns:
            yield _objection(
                f"{where}: the data have no column '{column}'; they have: {listed(list(adoption.columns[:20]))}"
            )


def _model_columns(adoption: Circumstances) -> Iterator[Remark]:
    """A model that needs a column which the data lack cannot be scored on them."""
    for name, model in adoption.models.items():
        lacking = [column for column in model.columns if adoption.columns is not None and column not in adoption.columns]
        if lacking:
            yield _objection(
                f"reference: the model '{name}' needs columns that the data do not have: {listed(lacking)}; pin data for it"
            )


def _target(adoption: Circumstances) -> Iterator[Remark]:
    """No report is made on a target that is an input of the model."""
    target = adoption.policy.reference.target
    for name, model in adoption.models.items():
        if target in model.columns:
            yield _objection(
                f"reference.target: '{target}' is also an input of the registered model {name}, so no report could be made: "
                "name the right column"
            )


def _target_values(adoption: Circumstances) -> Iterator[Remark]:
    """A classifier's target holds its classes; that of every other model holds numbers."""
    pinned = adoption.policy.reference
    certain = pinned.weight is None and pinned.missing == "fail"
    for name, model in adoption.models.items():
        if model.classes:
            read = class_reader(model.classes)
            wrong = [str(value) for value in adoption.target_values if read(value) not in model.classes]
            wanted = f"is a classifier of {listed(list(model.classes))}"
        else:
            wrong = [value for value in adoption.target_values if isinstance(value, str) and number_of(value) is None]
            wanted = "predicts numbers"
        if wrong:
            objection = (
                f"reference.target: the column '{pinned.target}' holds {listed(wrong)}, and the registered model "
                f"{name} {wanted}, so no report could be made: name the right column, or write its labels as the "
                "model knows them"
            )
            yield _objection(objection) if certain or not model.classes else _note(objection)


def _never_judged(adoption: Circumstances) -> Iterator[Remark]:
    """A limit on something that is never known would leave every change to a person."""
    rules = dict(adoption.policy.named_rules())
    flips, moves = rules.get("decision_flips"), rules.get("standardised_change")
    for rule in ("decision_flips", "mean_score_shift"):
        if rule in rules and _limit(rules[rule], "by_segment") is not None and not adoption.policy.reference.segments:
            yield _objection(
                f"rules.{rule}: a limit by_segment is never known without segments: name some in reference.segments, or "
                "take the limit out"
            )
    if flips is not None and adoption.policy.reference.threshold is None:
        undecided = [
            name for name, model in adoption.models.items() if model.threshold is None and model.family != "multinomial"
        ]
        if undecided:
            yield _objection(
                f"rules.decision_flips: {_names(undecided)} decides nothing by itself, so decisions are never known: give a "
                "reference.threshold, or take the rule out"
            )
    scored = [name for name, model in adoption.models.items() if model.family != "gaussian"]
    if moves is not None and _limit(moves, "relative") is not None and scored:
        yield _objection(
            f"rules.standardised_change: the score of {_names(scored)} is not in the target's unit, so a relative limit is "
            "never known: give an absolute one"
        )
    several = [name for name, model in adoption.models.items() if model.family == "multinomial"]
    shift = rules.get("mean_score_shift")
    if shift is not None and _limit(shift, "overall") is not None and several:
        yield _objection(
            f"rules.mean_score_shift: {_names(several)} has several classes, and no one score whose mean could move: take "
            "the limit 'overall' out"
        )


def _offsets(adoption: Circumstances) -> Iterator[Remark]:
    """Only a generalised linear model takes an offset or an exposure."""
    set_keys = [key for key in ("offset", "exposure") if getattr(adoption.policy.reference, key) is not None]
    linear = [name for name, model in adoption.models.items() if model.family in ("gaussian", "multinomial")]
    if set_keys and linear:
        yield _objection(
            f"reference.{set_keys[0]}: {_names(linear)} takes none, only a logistic, Poisson, gamma or Tweedie model does: "
            "take it out, or write a policy of its own for this model"
        )


def _threshold(adoption: Circumstances) -> Iterator[Remark]:
    """A threshold of a classifier is a probability, of one class or of the other."""
    reference = adoption.policy.reference
    labels = () if adoption.models else adoption.labels
    objections = [*threshold_objections(reference, adoption.models), *label_objection(reference, labels)]
    yield from map(_objection, objections)
    if is_bare_threshold(reference) and not adoption.models and not objections:
        yield _note(
            "reference.threshold is a number without a class. That is right for models that predict no class; of a "
            "classifier decisions are not known until it is written as {value: …, class: …}"
        )


def _relative_path(adoption: Circumstances) -> Iterator[Remark]:
    """A path that means another file in another folder."""
    uri = adoption.policy.reference.uri
    if uri is not None and "://" not in uri and not Path(uri).is_absolute():
        yield _note(f"reference.uri '{uri}' is a relative path: whoever makes reports must do it in the right folder")


def _roles(adoption: Circumstances) -> Iterator[Remark]:
    """A role without a key: nobody could approve, but a key can still come."""
    if adoption.roles is None:
        return
    wanted = {need.role for materiality in adoption.policy.materiality for need in materiality.approvals} | set(
        adoption.policy.waivers.roles
    )
    for role in sorted(wanted - adoption.roles):
        yield _note(f"nobody has the role '{role}' yet; add a key with `coordpath key new OWNER --role {role}`")


CHECKS: tuple[Check, ...] = (
    _overlaps,
    _pinned_bytes,
    _pinned_columns,
    _model_columns,
    _target,
    _target_values,
    _never_judged,
    _offsets,
    _threshold,
    _relative_path,
    _roles,
)
"""Each looks at one thing; a new check is a function here."""


def _limit(rule: object, parameter: str) -> float | None:
    value: float | None = getattr(rule, parameter)
    return value


def _names(models: Iterable[str]) -> str:
    names = list(models)
    return f"the registered model{'' if len(names) == 1 else 's'} {listed(names)}"


def is_bare_threshold(reference: PinnedReference) -> bool:
    """Whether the policy pins a threshold without its class."""
    return reference.threshold_value is not None and reference.threshold_class is None


def threshold_objections(reference: PinnedReference, models: Mapping[str, LinearModel]) -> Iterator[str]:
    """One sentence for each of the ``models``, by registered name, that cannot be judged at the pinned threshold."""
    if reference.threshold_value is None:
        return
    for name, model in models.items():
        about = f"{_WHERE}: the registered model {listed([name])}"
        if model.family == "multinomial":
            yield f"{about} decides for the most probable of several classes: take the threshold out"
        elif len(model.classes) == _TWO:
            yield from (f"{about} {objection}" for objection in _threshold_of_two(reference, model.classes))
        elif reference.threshold_class is not None:
            value = f"{reference.threshold_value:g}"
            yield f"{about} predicts no probability of a class: write the number alone, threshold: {value}"


def label_objection(reference: PinnedReference, labels: Sequence[str]) -> Iterator[str]:
    """The same by the ``labels`` in the target's column of the reference data, where no model can be asked."""
    named = reference.threshold_class
    wrong = named is None or (len(labels) == _TWO and named not in labels)
    if labels and reference.threshold_value is not None and wrong:
        about = f"{_WHERE}: the column '{reference.target}' of the reference data holds the classes {listed(labels)}"
        yield f"{about}: {_how_to_name_the_class(reference, labels)}"


def _threshold_of_two(reference: PinnedReference, classes: Sequence[str]) -> Iterator[str]:
    named = reference.threshold_class
    if named not in classes:
        yield f"is a classifier of {listed(classes)}: {_how_to_name_the_class(reference, classes)}"


def _how_to_name_the_class(reference: PinnedReference, classes: Sequence[str]) -> str:
    value = f"{reference.threshold_value:g}"
    ways = " or ".join(f"threshold: {{value: {value}, class: {_yaml(label)}}}" for label in list(classes)[:_TWO])
    named = reference.threshold_class
    return f"say whose probability the {value} is, {ways}" + ("" if named is None else f"; there is no class '{named}'")


def _yaml(label: str) -> str:
    """The label as YAML reads it as text."""
    shown = listed([label])
    return shown if shown.isidentifier() and shown.lower() not in _NOT_TEXT else f'"{shown}"'
