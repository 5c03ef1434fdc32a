"""The family's language: what score, ratio and prediction of a generalised linear model are called.

With η the score, a prediction is σ(η) for two classes, softmax(η) for several, e^η under a log link. So one unit of a column
with coefficient β multiplies the odds, the relative odds or the rate by e^β.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from coordpath_governance.numbers import NUMBER_SPACE, exponentials, pair
from coordpath_governance.rendering.caps import Caps
from coordpath_governance.reports.document import ChangeReportDocument, CoordinateFacts, DataFacts

__all__ = ["FamilyWords", "arrow", "family_words", "ratios", "standing_for"]

NOT_DEFINED = "–"
ALONE = "alone"


@dataclass(frozen=True)
class FamilyWords:
    """Names for one report: of the score, of e^β and what it multiplies, of the prediction, and a short one of the loss.

    ``own_score`` is the score whose shift is told of a row, ``alone`` how an average score makes a prediction.
    """

    score: str
    own_score: str
    alone: str
    ratio: str
    base: str
    prediction: str
    loss: str


def family_words(document: ChangeReportDocument, caps: Caps) -> FamilyWords | None:
    """The words for the family of a document's models; None where the cost is the squared error."""
    glm = document.glm
    if glm is None:
        return None
    if glm.family == "binomial":
        event = f"“{caps.label(glm.classes[-1])}”" if glm.classes else "the event"
        return FamilyWords("log-odds", "log-odds", ALONE, "odds ratio", "odds", f"probability of {event}", "log loss")
    if glm.family == "multinomial":
        score = "log-odds against the average class"
        own, together = f"{score}, for the row's own class", "with those of the other classes"
        base = "odds of a class against the average class"
        return FamilyWords(score, own, together, "relative odds", base, "probability", "log loss")
    if glm.family == "poisson" or document.data.exposure is not None:
        return FamilyWords("log rate", "log rate", ALONE, "rate ratio", "rate", _rate(document.data, caps), "deviance")
    return FamilyWords("log of the mean", "log of the mean", ALONE, "ratio of means", "mean", "mean", "deviance")


def _rate(data: DataFacts, caps: Caps) -> str:
    return "rate" if data.exposure is None else f"rate per unit of {caps.label(data.exposure)}"


def arrow(old: str, new: str) -> str:
    """Old → new, or the one text that both are; a line may break after the arrow."""
    return old if old == new else f"{old}{NUMBER_SPACE}→ {new}"


def ratios(c: CoordinateFacts) -> tuple[str, str]:
    """e^β, old → new, for one unit and for one standard deviation; "–" where it is not defined.

    It is not defined for the baseline, nor for a missing value: its effect is relative to the value 0, and would be misread.
    The coefficient of levels that are merged as one version scores them is a share of that score, and has no unit.
    """
    if c.kind in ("baseline", "missing"):
        return NOT_DEFINED, NOT_DEFINED
    by_unit = NOT_DEFINED if c.kind.startswith("rare-") else _ratio(c.old, c.new)
    return by_unit, _ratio(c.standardised_old, c.standardised_new)


def _ratio(old: float | None, new: float | None) -> str:
    if old is not None and new is not None:
        return arrow(*exponentials(old, new))
    return arrow(*(NOT_DEFINED if value is None else exponentials(value, value)[0] for value in (old, new)))


def standing_for(document: ChangeReportDocument) -> dict[str, str]:
    """The prediction that an average score alone stands for, old → new, by the label of the baseline coordinate."""
    glm = document.glm
    if glm is None:
        return {}
    baselines = [c for c in document.coordinates if c.kind == "baseline"]
    old, new = [c.old or 0.0 for c in baselines], [c.new or 0.0 for c in baselines]
    if glm.link == "log":
        texts = [exponentials(*both) for both in zip(old, new, strict=True)]
    else:
        inverse = _softmax if glm.link == "softmax" else _logistic
        texts = [pair(*both) for both in zip(inverse(old), inverse(new), strict=True)]
    return {c.label: arrow(*both) for c, both in zip(baselines, texts, strict=True)}


def _softmax(scores: list[float]) -> list[float]:
    shares = [math.exp(score - max(scores)) for score in scores]
    return [share / sum(shares) for share in shares]


def _logistic(scores: list[float]) -> list[float]:
    return [_softmax([0.0, score])[1] for score in scores]
