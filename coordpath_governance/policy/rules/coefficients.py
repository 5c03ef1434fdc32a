"""Rules about coefficients: signs, features that must stay or may come and go, how far one may move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from coordpath_governance.numbers import count, significant
from coordpath_governance.policy.observations import NEEDS_CHAMPION, reversed_functions, ways
from coordpath_governance.policy.results import Finding, listed, value_text
from coordpath_governance.policy.rules.base import Limit, LimitRule, Most, Name, Rule, Seen
from coordpath_governance.reports.document import ChangeReportDocument, CoordinateFacts

__all__ = [
    "FeaturesAdded",
    "FeaturesDropped",
    "FrozenFeatures",
    "SignConstraints",
    "SignFlips",
    "StandardisedChange",
    "Unexercised",
]

Names = Annotated[tuple[Name, ...], Field(min_length=1, max_length=10_000)]


def _named(document: ChangeReportDocument, name: str) -> list[CoordinateFacts]:
    """The coordinates that a name in a policy means: a label, and all of a column or group of that name."""
    return [c for c in document.coordinates if name in (c.label, c.column, c.unit)]


def _not_there(names: Sequence[str], said: str) -> list[Finding]:
    """A name that fits nothing may be a slip of the pen: it is not known whether the rule is met."""
    if not names:
        return []
    why = f"No coefficient is called {listed(names)}: correct the policy, or take the name out."
    return [Finding(f"not in either model: {listed(names)}", said, None, why)]


class SignFlips(Rule):
    """How many slopes may change sign; with ``features`` only those count.

    A function of a number counts if it rises in one version and falls in the other, wherever the report shows it. With
    ``at_least`` a slope does not count whose standardised coefficient is smaller, in both versions, than this share of the
    largest one: a slope near zero changes sign in any refit. One that the data do not exercise counts.
    """

    of_coefficients: ClassVar[bool] = True

    most: Most = 0
    features: Names | None = None
    at_least: Annotated[float, Field(gt=0, le=1)] | None = None

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """Count flips among all coefficients or the named ones."""
        document = seen.document
        among = "" if self.features is None else f" among {listed(self.features)}"
        size = "" if self.at_least is None else f" of slopes from {value_text(self.at_least, 'share')} of the largest on"
        said = f"at most {count(self.most)}{among}{size}"
        if document.subject.champion is None:
            return [Finding("sign flips: not known", said, None, NEEDS_CHAMPION)]
        if self.features is None:
            flips = [*(c.label for c in self._counted(document)), *reversed_functions(document)]
            missing: list[str] = []
        else:
            named = {name: _named(document, name) for name in self.features}
            labels = {c.label for found in named.values() for c in found}
            flips = [c.label for c in self._counted(document) if c.label in labels]
            flips += [unit for unit in reversed_functions(document) if unit in self.features]
            missing = [name for name, found in named.items() if not found]
        met = len(flips) <= self.most
        observed = f"sign flips: {count(len(flips))}" + (f" ({listed(flips)})" if flips else "")
        why = "" if met else f"The sign changes of {listed(flips)}."
        return [Finding(observed, said, met, why), *_not_there(missing, said)]

    def _counted(self, document: ChangeReportDocument) -> list[CoordinateFacts]:
        """The slopes that change sign and are large enough to count."""
        flipped = [c for c in document.coordinates if c.flips]
        if self.at_least is None:
            return flipped
        sizes = [_standardised_size(c) for c in document.coordinates if c.kind != "baseline"]
        smallest = self.at_least * max((size for size in sizes if size is not None), default=0.0)
        return [c for c in flipped if (size := _standardised_size(c)) is None or size >= smallest]


def _standardised_size(c: CoordinateFacts) -> float | None:
    """The larger of the two versions' standardised coefficients; None if one of them is not known."""
    if not c.exercised or c.standardised_old is None or c.standardised_new is None:
        return None
    return max(abs(c.standardised_old), abs(c.standardised_new))


class SignConstraints(Rule):
    """The sign that a slope of the candidate must have; zero is allowed.

    A function of a number has the wrong sign if it goes the other way between two places that the report shows. That it
    goes the right way there does not say that it does everywhere: then a person has to look.
    """

    of_coefficients: ClassVar[bool] = True

    features: Annotated[dict[Name, Literal["positive", "negative"]], Field(min_length=1, max_length=10_000)]

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """Every named slope of the candidate."""
        terms = [f"{name} {'≥' if sign == 'positive' else '≤'} 0" for name, sign in self.features.items()]
        said = listed(terms)
        named = {name: self._slopes(seen.document, name) for name in self.features}
        missing = [name for name, found in named.items() if not found]
        wrong: list[str] = []
        unknown: list[str] = []
        curves: list[str] = []
        for function in seen.document.functions:
            sign = self.features.get(function.unit)
            if sign is None or not function.in_candidate:
                continue
            if (-1 if sign == "positive" else 1) in ways(function, new=True):
                wrong.append(f"{function.unit} {'falls' if sign == 'positive' else 'rises'}")
            else:
                curves.append(function.unit)
        for name, found in named.items():
            for c in found:
                if c.kind.startswith("function"):
                    continue
                if c.new is None:
                    unknown.append(c.label)
                elif (c.new < 0) if self.features[name] == "positive" else (c.new > 0):
                    wrong.append(f"{c.label} is {significant(c.new)}")
        out = _not_there(missing, said)
        if unknown:
            out.append(Finding(f"not known: {listed(unknown)}", said, None, "The candidate cannot score such rows."))
        if curves:
            why = f"{listed(curves)} is a function and no slope: a person has to look at its curve."
            out.append(Finding(f"curves: {listed(curves)}", said, None, why))
        if wrong:
            out.append(Finding(listed(wrong), said, met=False, reason=f"The wrong sign: {listed(wrong)}."))
        return out or [Finding(f"{count(len(terms))} with the right sign", said, met=True)]

    @staticmethod
    def _slopes(document: ChangeReportDocument, name: str) -> list[CoordinateFacts]:
        """A slope or one level; the levels of a column are told against their mean and have no sign together."""
        return [c for c in document.coordinates if c.label == name]


class FrozenFeatures(Rule):
    """Coefficients that must not change: labels, whole columns, or "(baseline)"."""

    of_coefficients: ClassVar[bool] = True

    features: Names

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """Every named coefficient, also where the data do not exercise it."""
        said = f"unchanged: {listed(self.features)}"
        if seen.document.subject.champion is None:
            return [Finding("changed: not known", said, None, NEEDS_CHAMPION)]
        named = {name: _named(seen.document, name) for name in self.features}
        moved = list(dict.fromkeys(c.label for found in named.values() for c in found if c.changed))
        missing = [name for name, found in named.items() if not found]
        why = f"These must not change: {listed(moved)}." if moved else ""
        return [Finding(f"changed: {listed(moved)}", said, not moved, why), *_not_there(missing, said)]


class _CameOrWent(Rule):
    """How many features may come or go; those ``allowed`` do not count."""

    verb: ClassVar[str] = ""

    most: Most = 0
    allowed: tuple[Name, ...] = ()

    def _columns(self, document: ChangeReportDocument) -> tuple[str, ...]:
        raise NotImplementedError

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """Columns that only one of the models has."""
        said = f"at most {count(self.most)}" + (f" besides {listed(self.allowed)}" if self.allowed else "")
        if seen.document.subject.champion is None:
            return [Finding(f"{self.verb}: not known", said, None, NEEDS_CHAMPION)]
        names = [name for name in self._columns(seen.document) if name not in self.allowed]
        met = len(names) <= self.most
        why = "" if met else f"More features are {self.verb} than allowed: {listed(names)}."
        return [Finding(f"{self.verb}: {listed(names)}", said, met, why)]


class FeaturesAdded(_CameOrWent):
    """How many features the candidate may use that the champion did not."""

    verb: ClassVar[str] = "added"

    def _columns(self, document: ChangeReportDocument) -> tuple[str, ...]:
        return document.counts.columns_added


class FeaturesDropped(_CameOrWent):
    """How many features of the champion the candidate may leave out."""

    verb: ClassVar[str] = "dropped"

    def _columns(self, document: ChangeReportDocument) -> tuple[str, ...]:
        return document.counts.columns_dropped


class StandardisedChange(LimitRule):
    """How far one coefficient may move the score for one standard deviation: in its unit, or of the target's spread."""

    limits: ClassVar[dict[str, str]] = {"absolute": "standardised_change", "relative": "standardised_change_relative"}

    absolute: Limit | None = None
    relative: Limit | None = None


class Unexercised(LimitRule):
    """How many coefficients may change, or be there at all, that the reference data do not exercise.

    "(any other)" of a column, a level that nobody has seen, is never exercised: its change counts in `StandardisedChange`.
    """

    limits: ClassVar[dict[str, str]] = {"changed": "unexercised_changes", "in_all": "unexercised"}

    changed: Most | None = None
    in_all: Most | None = None
