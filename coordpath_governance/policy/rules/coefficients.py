"""Rules about coefficients: signs, features that must stay or may come and go, how far one may move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from coordpath_governance.numbers import count, significant
from coordpath_governance.policy.observations import NEEDS_CHAMPION, reversed_functions, ways
from coordpath_governance.policy.results import Finding, listed, value_text
from coordpath_governance.policy.rules.base import JudgedChange, Limit, LimitRule, Most, Name, Rule
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


def _coordinates_of(document: ChangeReportDocument, name: str) -> list[CoordinateFacts]:
    """The coordinates that a name in a policy means: a label, and all of a column or group of that name."""
    return [c for c in document.coordinates if name in (c.label, c.column, c.unit)]


def _not_in_models(names: Sequence[str], limit_words: str) -> list[Finding]:
    """A finding for names that fit no coefficient: they may be misspelt, so whether the rule is met is not known."""
    if not names:
        return []
    why = f"No coefficient is called {listed(names)}: correct the policy, or take the name out."
    return [Finding(f"not in either model: {listed(names)}", limit_words, None, why)]


class SignFlips(Rule):
    """How many slopes may change sign; with ``features`` only those count.

    A function of a number counts if it rises in one version and falls in the other, wherever the report shows it. With
    ``at_least`` a slope does not count whose standardised coefficient is smaller, in both versions, than this share of the
    largest one: a slope near zero changes sign in any refit. One that the data do not exercise counts.
    """

    most: Most = 0
    features: Names | None = None
    at_least: Annotated[float, Field(gt=0, le=1)] | None = None

    def findings(self, change: JudgedChange) -> Sequence[Finding]:
        """One comparison: the flips among all coefficients, or among the named ones."""
        document = change.document
        among = "" if self.features is None else f" among {listed(self.features)}"
        size = "" if self.at_least is None else f" of slopes from {value_text(self.at_least, 'share')} of the largest on"
        limit_words = f"at most {count(self.most)}{among}{size}"
        if document.subject.champion is None:
            return [Finding("sign flips: not known", limit_words, None, NEEDS_CHAMPION)]
        if self.features is None:
            flips = [*(c.label for c in self._counted(document)), *reversed_functions(document)]
            missing: list[str] = []
        else:
            by_name = {name: _coordinates_of(document, name) for name in self.features}
            labels = {c.label for coordinates in by_name.values() for c in coordinates}
            flips = [c.label for c in self._counted(document) if c.label in labels]
            flips += [unit for unit in reversed_functions(document) if unit in self.features]
            missing = [name for name, coordinates in by_name.items() if not coordinates]
        met = len(flips) <= self.most
        observed = f"sign flips: {count(len(flips))}" + (f" ({listed(flips)})" if flips else "")
        why = "" if met else f"The sign changes of {listed(flips)}."
        return [Finding(observed, limit_words, met, why), *_not_in_models(missing, limit_words)]

    def _counted(self, document: ChangeReportDocument) -> list[CoordinateFacts]:
        """The slopes that change sign, without those smaller than ``at_least``."""
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

    A function of a number has the wrong sign if it goes the other way between two places that the report shows. If it goes
    the right way at all of them, it may still turn between them, so a person has to look.
    """

    features: Annotated[dict[Name, Literal["positive", "negative"]], Field(min_length=1, max_length=10_000)]

    def findings(self, change: JudgedChange) -> Sequence[Finding]:
        """The named slopes of the candidate: those with the wrong sign, and those whose sign is not known."""
        terms = [f"{name} {'≥' if sign == 'positive' else '≤'} 0" for name, sign in self.features.items()]
        limit_words = listed(terms)
        by_name = {name: self._slopes(change.document, name) for name in self.features}
        missing = [name for name, coordinates in by_name.items() if not coordinates]
        wrong: list[str] = []
        unknown: list[str] = []
        curves: list[str] = []
        for function in change.document.functions:
            sign = self.features.get(function.unit)
            if sign is None or not function.in_candidate:
                continue
            if (-1 if sign == "positive" else 1) in ways(function, new=True):
                wrong.append(f"{function.unit} {'falls' if sign == 'positive' else 'rises'}")
            else:
                curves.append(function.unit)
        for name, coordinates in by_name.items():
            for c in coordinates:
                if c.kind.startswith("function"):
                    continue
                if c.new is None:
                    unknown.append(c.label)
                elif (c.new < 0) if self.features[name] == "positive" else (c.new > 0):
                    wrong.append(f"{c.label} is {significant(c.new)}")
        findings = _not_in_models(missing, limit_words)
        if unknown:
            why = "The candidate cannot score such rows."
            findings.append(Finding(f"not known: {listed(unknown)}", limit_words, None, why))
        if curves:
            why = f"{listed(curves)} is a function and no slope: a person has to look at its curve."
            findings.append(Finding(f"curves: {listed(curves)}", limit_words, None, why))
        if wrong:
            findings.append(Finding(listed(wrong), limit_words, met=False, reason=f"The wrong sign: {listed(wrong)}."))
        return findings or [Finding(f"{count(len(terms))} with the right sign", limit_words, met=True)]

    @staticmethod
    def _slopes(document: ChangeReportDocument, name: str) -> list[CoordinateFacts]:
        """The slope or level with this label; a whole column has no sign, since its levels are relative to their mean."""
        return [c for c in document.coordinates if c.label == name]


class FrozenFeatures(Rule):
    """Coefficients that must not change: labels, whole columns, or "(baseline)"."""

    features: Names

    def findings(self, change: JudgedChange) -> Sequence[Finding]:
        """One comparison: every named coefficient, also where the data do not exercise it."""
        limit_words = f"unchanged: {listed(self.features)}"
        if change.document.subject.champion is None:
            return [Finding("changed: not known", limit_words, None, NEEDS_CHAMPION)]
        by_name = {name: _coordinates_of(change.document, name) for name in self.features}
        moved = list(dict.fromkeys(c.label for coordinates in by_name.values() for c in coordinates if c.changed))
        missing = [name for name, coordinates in by_name.items() if not coordinates]
        why = f"These must not change: {listed(moved)}." if moved else ""
        return [Finding(f"changed: {listed(moved)}", limit_words, not moved, why), *_not_in_models(missing, limit_words)]


class _ColumnsOfOneSide(Rule):
    """How many columns only one of the models may have; those ``allowed`` do not count."""

    verb: ClassVar[str] = ""

    most: Most = 0
    allowed: tuple[Name, ...] = ()

    def _columns(self, document: ChangeReportDocument) -> tuple[str, ...]:
        raise NotImplementedError

    def findings(self, change: JudgedChange) -> Sequence[Finding]:
        """One comparison: the columns that only one of the models has."""
        limit_words = f"at most {count(self.most)}" + (f" besides {listed(self.allowed)}" if self.allowed else "")
        if change.document.subject.champion is None:
            return [Finding(f"{self.verb}: not known", limit_words, None, NEEDS_CHAMPION)]
        names = [name for name in self._columns(change.document) if name not in self.allowed]
        met = len(names) <= self.most
        why = "" if met else f"More features are {self.verb} than allowed: {listed(names)}."
        return [Finding(f"{self.verb}: {listed(names)}", limit_words, met, why)]


class FeaturesAdded(_ColumnsOfOneSide):
    """How many features the candidate may use that the champion did not."""

    verb: ClassVar[str] = "added"

    def _columns(self, document: ChangeReportDocument) -> tuple[str, ...]:
        return document.counts.columns_added


class FeaturesDropped(_ColumnsOfOneSide):
    """How many features of the champion the candidate may leave out."""

    verb: ClassVar[str] = "dropped"

    def _columns(self, document: ChangeReportDocument) -> tuple[str, ...]:
        return document.counts.columns_dropped


class StandardisedChange(LimitRule):
    """How far one coefficient may move the score, for one standard deviation of its column.

    ``absolute`` is in units of the score, ``relative`` a share of the target's standard deviation.
    """

    limits: ClassVar[dict[str, str]] = {"absolute": "standardised_change", "relative": "standardised_change_relative"}

    absolute: Limit | None = None
    relative: Limit | None = None


class Unexercised(LimitRule):
    """How many coefficients that the reference data do not exercise may change, or may there be at all.

    ``changed`` leaves out "(any other)" of a column, which no data exercise: its change counts in `StandardisedChange`.
    """

    limits: ClassVar[dict[str, str]] = {"changed": "unexercised_changes", "in_all": "unexercised"}

    changed: Most | None = None
    in_all: Most | None = None
