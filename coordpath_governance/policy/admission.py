"""What speaks against adopting a policy: it contradicts what is known of its models, its data or the other policies.

A policy may be well written and still refuse every change of a model, which nobody sees before the first refusal. Each check
of `CHECKS` looks at one such thing. Only what is certain is an objection, which stops the adoption; what cannot be known
here and now is a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from coordpath_governance.policy.matching import may_both_match
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
    """A policy, and what is known where it is adopted or checked; None is what could not be asked.

    ``others`` are the policies in force under other names, ``registered`` the names of all registered models, ``models``
    those of them that the policy matches and that could be read, by name. ``columns`` and ``sha256`` are of the file at
    ``reference.uri``, ``labels`` a few texts in its target's column, ``target_values`` a few values of any type, none of
    them missing. ``roles`` are those of all keys that are not revoked.
    ``unknown`` tells in sentences what could not be asked, and why.
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


def remarks(around: Circumstances) -> tuple[Remark, ...]:
    """Everything that the checks say of the policy, objections first."""
    said = [remark for check in CHECKS for remark in check(around)]
    said += [_note(text) for text in around.unknown]
    return tuple(sorted(said, key=lambda each: not each.certain))


def _objection(text: str) -> Remark:
    return Remark(text, certain=True)


def _note(text: str) -> Remark:
    return Remark(text, certain=False)


def _overlaps(around: Circumstances) -> Iterator[Remark]:
    """A model that two policies match is refused: for registered models that is certain, for others a possibility."""
    for other in around.others:
        both = [name for name in around.registered or () if around.policy.matches(name) and other.matches(name)]
        if both:
            yield _objection(
                f"models: policy '{other.name}', which is in force, matches {_names(both)} too, and a model that two "
                "policies match is refused: make the patterns exclude each other, or retire that policy first "
                "(`coordpath policy retire`)"
            )
        elif any(may_both_match(one, two) for one in around.policy.models for two in other.models):
            yield _note(f"policy '{other.name}' may match the same models; one that both match is refused")


def _pinned_bytes(around: Circumstances) -> Iterator[Remark]:
    """Reports are made on the pinned bytes only."""
    pinned = around.policy.reference
    if pinned.sha256 == UNPINNED:
        yield _note("reference.sha256 is all zeros, which no data have: nothing passes until it is that of your data")
        return
    if around.sha256 is not None and around.sha256 != pinned.sha256:
        yield _objection(
            f"reference.sha256: the data at '{pinned.uri}' have the SHA-256 {around.sha256}, so no report could be made: "
            "pin that, or point to the data that you mean"
        )


def _pinned_columns(around: Circumstances) -> Iterator[Remark]:
    """Every column that the policy names must be among the data's."""
    pinned = around.policy.reference
    named = {"target": pinned.target, "weight": pinned.weight, "offset": pinned.offset, "exposure": pinned.exposure}
    wanted = [(f"reference.{key}", column) for key, column in named.items() if column is not None]
    wanted += [("reference.segments", column) for column in pinned.segments]
    for where, column in wanted:
        if around.columns is not None and column not in around.columns:
            yield _objection(f"{where}: the data have no column '{column}'; they have: {listed(list(around.columns[:20]))}")


def _model_columns(around: Circumstances) -> Iterator[Remark]:
    """A model that needs a column which the data lack cannot be scored on them."""
    for name, model in around.models.items():
        lacking = [column for column in model.columns if around.columns is not None and column not in around.columns]
        if lacking:
            yield _objection(
                f"reference: the model '{name}' needs columns that the data do not have: {listed(lacking)}; pin data for it"
            )


def _target(around: Circumstances) -> Iterator[Remark]:
    """No report is made on a target that is an input of the model."""
    target = around.policy.reference.target
    for name, model in around.models.items():
        if target in model.columns:
            yield _objection(
                f"reference.target: '{target}' is also an input of the registered model {name}, so no report could be made: "
                "name the right column"
            )


def _target_values(around: Circumstances) -> Iterator[Remark]:
    """A classifier's target holds its classes; that of every other model holds numbers."""
    pinned = around.policy.reference
    certain = pinned.weight is None and pinned.missing == "fail"
    for name, model in around.models.items():
        if model.classes:
            read = class_reader(model.classes)
            wrong = [str(value) for value in around.target_values if read(value) not in model.classes]
            wanted = f"is a classifier of {listed(list(model.classes))}"
        else:
            wrong = [value for value in around.target_values if isinstance(value, str) and number_of(value) is None]
            wanted = "predicts numbers"
        if wrong:
            told = (
                f"reference.target: the column '{pinned.target}' holds {listed(wrong)}, and the registered model "
                f"{name} {wanted}, so no report could be made: name the right column, or write its labels as the "
                "model knows them"
            )
            yield _objection(told) if certain or not model.classes else _note(told)


def _never_judged(around: Circumstances) -> Iterator[Remark]:
    """A limit that no report could ever be compared with leaves every change to a person, or refuses it."""
    rules = dict(around.policy.named_rules())
    flips, moves = rules.get("decision_flips"), rules.get("standardised_change")
    for rule in ("decision_flips", "mean_score_shift"):
        if rule in rules and _limit(rules[rule], "by_segment") is not None and not around.policy.reference.segments:
            yield _objection(
                f"rules.{rule}: a limit by_segment is never known without segments: name some in reference.segments, or "
                "take the limit out"
            )
    if flips is not None and around.policy.reference.threshold is None:
        undecided = [
            name for name, model in around.models.items() if model.threshold is None and model.family != "multinomial"
        ]
        if undecided:
            yield _objection(
                f"rules.decision_flips: {_names(undecided)} decides nothing by itself, so decisions are never known: give a "
                "reference.threshold, or take the rule out"
            )
    scored = [name for name, model in around.models.items() if model.family != "gaussian"]
    if moves is not None and _limit(moves, "relative") is not None and scored:
        yield _objection(
            f"rules.standardised_change: the score of {_names(scored)} is not in the target's unit, so a relative limit is "
            "never known: give an absolute one"
        )
    several = [name for name, model in around.models.items() if model.family == "multinomial"]
    shift = rules.get("mean_score_shift")
    if shift is not None and _limit(shift, "overall") is not None and several:
        yield _objection(
            f"rules.mean_score_shift: {_names(several)} has several classes, and no one score whose mean could move: take "
            "the limit 'overall' out"
        )


def _offsets(around: Circumstances) -> Iterator[Remark]:
    """Only a generalised linear model takes an offset or an exposure."""
    given = [key for key in ("offset", "exposure") if getattr(around.policy.reference, key) is not None]
    linear = [name for name, model in around.models.items() if model.family in ("gaussian", "multinomial")]
    if given and linear:
        yield _objection(
            f"reference.{given[0]}: {_names(linear)} takes none, only a logistic, Poisson, gamma or Tweedie model does: "
            "take it out, or write a policy of its own for this model"
        )


def _threshold(around: Circumstances) -> Iterator[Remark]:
    """A threshold of a classifier is a probability, of one class or of the other."""
    reference = around.policy.reference
    labels = () if around.models else around.labels
    objections = [*threshold_objections(reference, around.models), *label_objection(reference, labels)]
    yield from map(_objection, objections)
    if is_bare_threshold(reference) and not around.models and not objections:
        yield _note(
            "reference.threshold is a number without a class. That is right for models that predict no class; of a "
            "classifier decisions are not known until it is written as {value: …, class: …}"
        )


def _relative_path(around: Circumstances) -> Iterator[Remark]:
    """A path that means another file in another folder."""
    uri = around.policy.reference.uri
    if uri is not None and "://" not in uri and not Path(uri).is_absolute():
        yield _note(f"reference.uri '{uri}' is a relative path: whoever makes reports must do it in the right folder")


def _roles(around: Circumstances) -> Iterator[Remark]:
    """A role without a key: nobody could approve, but a key can still come."""
    if around.roles is None:
        return
    wanted = {need.role for each in around.policy.materiality for need in each.approvals} | set(around.policy.waivers.roles)
    for role in sorted(wanted - around.roles):
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
    """Whether there is a threshold without a class."""
    return reference.threshold_value is not None and reference.threshold_class is None


def threshold_objections(reference: PinnedReference, models: Mapping[str, LinearModel]) -> Iterator[str]:
    """One sentence for each of the ``models``, by registered name, that cannot be judged at the threshold."""
    if reference.threshold_value is None:
        return
    for name, model in models.items():
        about = f"{_WHERE}: the registered model {listed([name])}"
        if model.family == "multinomial":
            yield f"{about} decides for the most probable of several classes: take the threshold out"
        elif len(model.classes) == _TWO:
            yield from (f"{about} {what}" for what in _of_two(reference, model.classes))
        elif reference.threshold_class is not None:
            value = f"{reference.threshold_value:g}"
            yield f"{about} predicts no probability of a class: write the number alone, threshold: {value}"


def label_objection(reference: PinnedReference, labels: Sequence[str]) -> Iterator[str]:
    """The same from the texts that the target's column of the reference data holds, where no model can be asked."""
    named = reference.threshold_class
    wrong = named is None or (len(labels) == _TWO and named not in labels)
    if labels and reference.threshold_value is not None and wrong:
        about = f"{_WHERE}: the column '{reference.target}' of the reference data holds the classes {listed(labels)}"
        yield f"{about}: {_say_which(reference, labels)}"


def _of_two(reference: PinnedReference, classes: Sequence[str]) -> Iterator[str]:
    named = reference.threshold_class
    if named not in classes:
        yield f"is a classifier of {listed(classes)}: {_say_which(reference, classes)}"


def _say_which(reference: PinnedReference, classes: Sequence[str]) -> str:
    value = f"{reference.threshold_value:g}"
    ways = " or ".join(f"threshold: {{value: {value}, class: {_yaml(label)}}}" for label in list(classes)[:_TWO])
    named = reference.threshold_class
    return f"say whose probability the {value} is, {ways}" + ("" if named is None else f"; there is no class '{named}'")


def _yaml(label: str) -> str:
    """The label as YAML reads it as text."""
    shown = listed([label])
    return shown if shown.isidentifier() and shown.lower() not in _NOT_TEXT else f'"{shown}"'
