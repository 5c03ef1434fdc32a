"""The policy document: which models it is for, the data they are judged on, the rules, and who has to agree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, create_model, model_validator

from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.models.formats import FORMATS, is_format
from coordpath_governance.models.linear_model import level_label
from coordpath_governance.policy.observations import OBSERVATIONS
from coordpath_governance.policy.rules import RULES, Rule
from coordpath_governance.policy.rules.base import Amount
from coordpath_governance.policy.terms import ADMIN, MOST_ADMINS, SERVICE, Retention
from coordpath_governance.reports.document import ChangeFacts
from coordpath_governance.text import visible

__all__ = [
    "POLICY_SCHEMA",
    "ApprovalRule",
    "ApprovalTerms",
    "ClassThreshold",
    "DeclarationTerms",
    "EmergencyTerms",
    "MaterialityClass",
    "ModelFacts",
    "PinnedReference",
    "Policy",
    "WaiverTerms",
]

POLICY_SCHEMA = "coordpath.policy/1"
USUAL_ALIAS = "champion"
NOT_FOR_APPROVAL = (SERVICE, ADMIN)
_VERSION_ALIAS = re.compile(r"v\d+|latest", re.IGNORECASE)


def _approver(role: str) -> str:
    if role in NOT_FOR_APPROVAL:
        raise ValueError(f"the role '{role}' does not approve or waive; name a role of your own")
    return role


def _unique(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"'{value[:80]}' is there twice")
    return values


def _plain(text: str) -> str:
    if visible(text) != text:
        raise ValueError(f"'{visible(text)[:80]}' holds characters that cannot be seen; write it without them")
    return text


def _alias(alias: str) -> str:
    if _VERSION_ALIAS.fullmatch(alias):
        raise ValueError(f"'{alias}' cannot be an alias in MLflow")
    return alias


def _class_name(label: object) -> object:
    """1 and true, as YAML reads them, are the classes "1" and "True"."""
    return level_label(label) if isinstance(label, bool | int | float) else label


def _format(text: str) -> str:
    if not is_format(text):
        raise ValueError(f"there is no format '{visible(text)[:80]}'; there are {', '.join(FORMATS)} and plugin:NAME")
    return text


Text = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
Label = Annotated[Text, AfterValidator(_plain)]
ClassName = Annotated[Label, BeforeValidator(_class_name)]
Alias = Annotated[Label, AfterValidator(_alias)]
Role = Annotated[Label, AfterValidator(_approver)]
FormatName = Annotated[Text, AfterValidator(_format)]
Several = Field(min_length=1, max_length=1000)
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Plan = Annotated[str, Field(min_length=1, max_length=4000)]
Days = Annotated[int, Field(ge=1, le=3660)]


class PolicyPart(ClosedDocument, serialize_by_alias=True):
    """A part of a policy; keys are written as policy files spell them."""


class ModelFacts(PolicyPart):
    """What the model is. The report takes these facts before those that an author states."""

    owner: Text | None = None
    purpose: Annotated[str, Field(min_length=1, max_length=4000)] | None = None
    tier: Text | None = None
    developer: Text | None = None
    validator: Text | None = None
    monitoring: Plan | None = None
    rollback: Plan | None = None


class ClassThreshold(PolicyPart):
    """A cut-off of a classifier: a row is decided for ``class`` if its probability is at least ``value``."""

    value: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
    class_: ClassName = Field(alias="class")


class PinnedReference(PolicyPart):
    """The data and settings that every change is judged on, which the author cannot choose.

    ``threshold`` is a number where the models predict no class, and otherwise a value with its class.
    """

    sha256: Sha256
    uri: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    role: Literal["holdout", "out-of-time"]
    target: Text
    weight: Text | None = None
    period: Text | None = None
    missing: Literal["fail", "drop"] = "fail"
    threshold: Amount | ClassThreshold | None = None
    segments: Annotated[tuple[Text, ...], AfterValidator(_unique)] = ()
    max_steps: Annotated[int, Field(ge=1)] | None = 10
    gamma: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    offset: Text | None = None
    exposure: Text | None = None

    @property
    def threshold_value(self) -> float | None:
        """The threshold as a number, without its class; None if none is pinned."""
        return self.threshold.value if isinstance(self.threshold, ClassThreshold) else self.threshold

    @property
    def threshold_class(self) -> str | None:
        """The class whose probability the threshold is compared with; None if none is named."""
        return self.threshold.class_ if isinstance(self.threshold, ClassThreshold) else None


class ApprovalRule(PolicyPart):
    """``count`` people with this ``role`` have to agree."""

    role: Role
    count: Annotated[int, Field(ge=1, le=100)] = 1


class MaterialityClass(PolicyPart):
    """A class of change. It applies when any observation in ``when`` reaches its value, or is not known.

    ``full_validation``: a promotion in this class is a full validation, from which `ChangeSinceValidation` counts anew.
    """

    class_: Label = Field(alias="class")
    when: Annotated[dict[str, Amount], Field(min_length=1)] | None = None
    approvals: tuple[ApprovalRule, ...] = ()
    full_validation: bool = False

    @property
    def conditions(self) -> dict[str, float]:
        """The observations and values of ``when``; empty for the class that takes all the others."""
        return self.when or {}

    @property
    def people(self) -> int:
        """How many have to agree."""
        return sum(need.count for need in self.approvals)

    @model_validator(mode="after")
    def _makes_sense(self) -> MaterialityClass:
        for name in self.conditions:
            if name not in OBSERVATIONS:
                raise ValueError(f"when: there is no observation '{name[:80]}'; there are {', '.join(OBSERVATIONS)}")
        _unique(tuple(need.role for need in self.approvals))
        if self.full_validation and not self.approvals:
            raise ValueError("full_validation: a full validation needs somebody who approves it")
        return self


class WaiverTerms(PolicyPart):
    """Which roles may waive a rule that is not met, and for how many days at most; nobody by default."""

    roles: Annotated[tuple[Role, ...], AfterValidator(_unique)] = ()
    longest_days: Days = 30


class ApprovalTerms(PolicyPart):
    """For how many days an approval holds at most, and how many more it takes if nobody vouches for the author."""

    longest_days: Days = 30
    extra_for_unverified_author: Annotated[int, Field(ge=1, le=100)] = 1


class DeclarationTerms(PolicyPart):
    """Which roles may vouch for the coefficients of a version that cannot be read; nobody by default."""

    roles: Annotated[tuple[Role, ...], AfterValidator(_unique)] = ()


def _plain_class(retention: Retention) -> Retention:
    _plain(retention.class_)
    return retention


class EmergencyTerms(PolicyPart):
    """Which roles may put the previous champion back alone, and within how many days others review that."""

    roles: Annotated[tuple[Role, ...], Field(min_length=1), AfterValidator(_unique)]
    days: Days


class _AnyRules(PolicyPart):
    """At least one rule."""

    @model_validator(mode="after")
    def _not_empty(self) -> _AnyRules:
        if not self.model_fields_set:
            raise ValueError("there is no rule; a policy without rules would let everything pass")
        return self


def _no_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


_FIELDS: dict[str, Any] = {name: (rule, Field(default=None, json_schema_extra=_no_default)) for name, rule in RULES.items()}

if TYPE_CHECKING:
    Rules = _AnyRules
else:
    Rules = create_model("Rules", __base__=_AnyRules, **_FIELDS)


class Policy(PolicyPart):
    """The whole policy.

    - ``materiality``: the classes of change, the most severe first; the last one takes all other changes.
    - ``formats``: the formats in which a version may have been read; None for any that our own readers read.
    - ``retention``: how long the record of a promotion is to be kept. The ledger records it; we delete nothing.
    - ``emergency``: who may roll back alone; None for nobody.
    - ``admins``: how many policy-admins have to agree to any key or policy while this policy is in force.
    """

    schema_: Literal["coordpath.policy/1"] = Field(alias="schema")
    name: Label
    models: Annotated[tuple[Text, ...], Several, AfterValidator(_unique)]
    aliases: Annotated[tuple[Alias, ...], Several, AfterValidator(_unique)] = (USUAL_ALIAS,)
    facts: ModelFacts = ModelFacts()
    reference: PinnedReference
    rules: Rules
    materiality: Annotated[tuple[MaterialityClass, ...], Several]
    waivers: WaiverTerms = WaiverTerms()
    approvals: ApprovalTerms = ApprovalTerms()
    declarations: DeclarationTerms = DeclarationTerms()
    emergency: EmergencyTerms | None = Field(default=None, json_schema_extra=_no_default)
    formats: Annotated[tuple[FormatName, ...], Several, AfterValidator(_unique)] | None = Field(
        default=None, json_schema_extra=_no_default
    )
    retention: Annotated[Retention, AfterValidator(_plain_class)] | None = Field(default=None, json_schema_extra=_no_default)
    admins: Annotated[int, Field(ge=1, le=MOST_ADMINS)] = 1

    def matches(self, name: str) -> bool:
        """Whether one of the patterns fits the whole ``name`` of a registered model; case counts."""
        return any(fnmatchcase(name, pattern) for pattern in self.models)

    def merged_facts(self, stated: ChangeFacts) -> ChangeFacts:
        """The facts that people ``stated``, replaced by the policy's where it has them.

        A fact from the policy is no longer listed as one from an author's tag.
        """
        own = self.facts.model_dump(exclude_none=True)
        tags = {key: tuple(f for f in getattr(stated, key) if f not in own) for key in ("tagged", "unusable_tags")}
        return stated.model_copy(update=own | tags)

    @property
    def usual_alias(self) -> str:
        """The alias that is meant if nobody names one: `champion` if it is guarded, else the first guarded one."""
        return USUAL_ALIAS if USUAL_ALIAS in self.aliases else self.aliases[0]

    def named_rules(self) -> Iterator[tuple[str, Rule]]:
        """Each rule that is set, with its name, in the order of `RULES`."""
        for name in RULES:
            if name in self.rules.model_fields_set:
                yield name, getattr(self.rules, name)

    @model_validator(mode="after")
    def _classes_are_in_order(self) -> Policy:
        classes = self.materiality
        _unique(tuple(materiality.class_ for materiality in classes))
        if classes[-1].conditions:
            raise ValueError(
                f"materiality: the last class, '{classes[-1].class_}', has a 'when'; it must take all other changes"
            )
        for materiality in classes[:-1]:
            if not materiality.conditions:
                raise ValueError(f"materiality: '{materiality.class_}' has no 'when' and would hide the classes after it")
        _check_severity(classes)
        return self


def _check_severity(classes: Sequence[MaterialityClass]) -> None:
    """Raises `ValueError` if a class asks for less than the next milder one."""
    for severe, mild in pairwise(classes):
        if severe.people < mild.people or (mild.full_validation and not severe.full_validation):
            raise ValueError(
                f"materiality: '{severe.class_}' is more severe than '{mild.class_}', but asks for less; "
                "put the most severe class first"
            )
