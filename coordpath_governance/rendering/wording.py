"""The sentences that are the same in every report, and the few that follow from a status or from weights."""

from __future__ import annotations

from coordpath_governance.numbers import CostColumn, count, percent, significant
from coordpath_governance.paths.problem import BASELINE
from coordpath_governance.rendering.caps import Caps, cut
from coordpath_governance.rendering.family import FamilyWords
from coordpath_governance.reports.document import ChangeReportDocument, StepFacts

__all__ = [
    "BEFORE_ANY_DECISION",
    "EMPTY_PATH",
    "GLM_MODEL_WORDS",
    "KIND_WORDS",
    "MODEL_WORDS",
    "NO_POLICY",
    "ROLE_WORDS",
    "VERDICT_MARKS",
    "VERDICT_WORDS",
    "by_weight",
    "by_weight_and_exposure",
    "certificate",
    "coefficient_name",
    "cost_name",
    "cuts",
    "order_free",
    "predicted",
    "rate_unit",
    "reading",
    "sentence_start",
    "step_name",
    "version_label",
]

VERDICT_WORDS = {"not assessed": "Not assessed", "pass": "Pass", "review": "Needs review", "fail": "Fail"}

VERDICT_MARKS = {"not assessed": "○", "pass": "✔", "review": "◆", "fail": "✖"}

BEFORE_ANY_DECISION = (
    "This is what the gate said when the report was made, before any decision. What was decided about it is in the files "
    "decision.html and decision.md beside this page, once somebody has decided; coordpath gate says what counts now."
)
"""Stands by the verdict of a report that a gate has judged: a page is never changed, whatever is decided later."""

ROLE_WORDS = {
    "training": "training data: at least one version has seen these rows",
    "holdout": "holdout: said not to be used to train either version",
    "out-of-time": "out of time: said to be later than the training data",
    "not stated": "not stated: whether a version was trained on these rows is not known",
}

KIND_WORDS = {
    "coordinate": "",
    "group": "group",
    "function": "its function",
    "interaction": "interaction",
    "baseline": "average score",
    "rest": "",
}

MODEL_WORDS = {
    "estimator": "Estimator",
    "regularisation": "Regularisation",
    "library": "Library",
    "family": "Family",
    "link": "Link",
    "target": "Target named by the model",
    "has_intercept": "Intercept",
    "source": "How it was read",
}

GLM_MODEL_WORDS = {"power": "Tweedie power", "classes": "Classes", "threshold": "Own threshold"}
"""Facts that only some generalised linear models have."""

LOSS_LENGTH = 48
OVERALL_LEVEL = "overall level"
MOST_NAMES = 5

EMPTY_PATH = "The two models are the same function on these data's coordinates: nothing to explain."

NO_POLICY = "No policy was applied."

READING_STEPS = (
    (
        "What a step is",
        (
            "Each step takes one coefficient, or one group that belongs together, from its old value to its new one. The "
            "cost is that of the model at that point on the reference data; lower is better."
        ),
    ),
    (
        "What the order means",
        (
            "The order is a way of telling the change. It is not the sequence of events, not a cause and not a ranking of "
            "importance."
        ),
    ),
    (
        "The models in between",
        "They were never used and are not proposed. They only mark the way from one version to the other.",
    ),
    (
        "What ± covers",
        "One standard error over the rows of the reference data. It covers neither the choice of order nor future data.",
    ),
)

ORDER_FREE = (
    "Average over all orders",
    (
        "What a step is worth on average if every order were equally likely (its Shapley value). Where it is far from "
        "the step's own difference, the effect depends on what moved before."
    ),
)

TOGETHER = (
    "When all move together",
    (
        "What a step contributes if all coefficients move together, in equal small parts (its Aumann–Shapley value: no "
        "order comes into it, and all of them add up to the total). Where it is far from the step's own difference, the "
        "effect depends on what moved before."
    ),
)

MARKS = (
    "▲ and brackets",
    (
        "▲ marks a step that makes the model worse, at least until a later one completes it. Steps joined by a "
        "bracket compensate one another and are to be read together."
    ),
)

ORDER_OF_ROWS = (
    "How often the class is given a higher probability in a row that has it than in one that has not, equal probabilities "
    "counting half: ½ tells nothing, 1 is the perfect order."
)
ORDER_OF_TWO_CLASSES = ("AUC and Gini", f"AUC: {ORDER_OF_ROWS[:1].lower()}{ORDER_OF_ROWS[1:]} Gini: 2·AUC − 1.")
ORDER_OF_CLASSES = ("AUC of a class", ORDER_OF_ROWS)

ORDER_OF_AMOUNTS = (
    "Gini",
    (
        "How far what was observed is concentrated on the highest predictions, relative to the best possible order, that of "
        "what was observed itself: 0 tells nothing, 1 is that best order."
    ),
)


def order_free(document: ChangeReportDocument) -> tuple[str, str]:
    """The name and the meaning of a step's figure that does not depend on the order."""
    return ORDER_FREE if document.glm is None else TOGETHER


def reading(document: ChangeReportDocument, words: FamilyWords | None) -> tuple[tuple[str, str], ...]:
    """The section "reading": terms and what they mean."""
    entries = (*READING_STEPS, order_free(document), MARKS)
    if words is None:
        return (*entries, _transformed(document)) if predicted(document) else entries
    return (
        *entries,
        (
            "Score and prediction",
            (
                f"Coefficients add up to a score, the {words.score}; a prediction is the {words.prediction} that a score "
                "stands for. The baseline is the average score; what that stands for is not the average prediction."
            ),
        ),
        _order_of_rows(document),
    )


def _transformed(document: ChangeReportDocument) -> tuple[str, str]:
    """The meaning of score and prediction where models predict a function of the target."""
    return (
        "Score and prediction",
        (
            f"The score of both versions is one of {predicted(document)}. Coefficients, costs and shifts are on that scale; "
            "equal scores are equal predictions."
        ),
    )


def _order_of_rows(document: ChangeReportDocument) -> tuple[str, str]:
    """The name and the meaning of the figures for how well predictions put rows in order."""
    if document.glm is None or not document.glm.classes:
        return ORDER_OF_AMOUNTS
    return ORDER_OF_CLASSES if document.glm.link == "softmax" else ORDER_OF_TWO_CLASSES


def cuts(evaluations: int) -> str:
    """How a certificate is rechecked where the cost does not follow from moments."""
    return (
        f"The cost of these models does not follow from moments. The report keeps {count(evaluations)} evaluations of it "
        "(“cuts”: the cost, and its slopes, at one model in between). The cost is convex, so they bound it at all models in "
        "between; from them the certificate is rechecked without any row."
    )


def sentence_start(text: str) -> str:
    """``text`` with a capital first letter."""
    return text[:1].upper() + text[1:]


def version_label(role: str, label: str) -> str:
    """Role and label, or the role alone where the label says no more than that."""
    return role if label.casefold() == role.casefold() else f"{role} {label}"


def step_name(step: StepFacts) -> str:
    """What a step moves, in words where its label is a name of ours."""
    if step.kind == "rest" and len(step.moves) > 1:
        return f"the other {count(len(step.moves))} coefficients, together"
    return coefficient_name(step.feature)


def coefficient_name(label: str) -> str:
    """The label of a coefficient, or what the baseline is."""
    return OVERALL_LEVEL if label == BASELINE else label


def slopes_that_flip(document: ChangeReportDocument, caps: Caps) -> str:
    """Which slopes change sign, in words; effects of levels are relative to an average, and have no sign of their own."""
    names = [c.label for c in document.coordinates if c.flips]
    if not names:
        return "no slope changes sign"
    shown = ", ".join(caps.label(name) for name in names[:MOST_NAMES])
    more = f" and {count(len(names) - MOST_NAMES)} more" if len(names) > MOST_NAMES else ""
    return f"{shown} changes sign" if len(names) == 1 else f"{count(len(names))} slopes change sign: {shown}{more}"


def cost_name(document: ChangeReportDocument) -> str:
    """What the cost is called: by its family, or half the squared error where the problem is scaled so."""
    if document.glm is not None:
        return cut(document.glm.loss, LOSS_LENGTH)
    cost = document.problem.get("cost")
    halved = isinstance(cost, dict) and cost.get("scale") == "1/2n"
    name = "half the mean squared error" if halved else "mean squared error"
    return f"{name} of {predicted(document)}" if predicted(document) else name


def predicted(document: ChangeReportDocument) -> str:
    """The function of the target that the models predict, "" where it is the target itself."""
    return cut(document.data.predicted, LOSS_LENGTH) if document.data.predicted else ""


def certificate(document: ChangeReportDocument, column: CostColumn) -> str:
    """How good the order is, as a sentence; only an optimal one is called proved."""
    path = document.path
    if path.status == "optimal":
        return "This order is proved to be the best one on these rows."
    small = significant(column.scaled(path.gap_per_step), 2) + (f" {column.suffix}" if column.suffix else "")
    return (
        f"No order can be better by more than {small} per step on average "
        f"({percent(path.gap)} of what any order could still change)."
    )


def by_weight(document: ChangeReportDocument, caps: Caps) -> str:
    """How rows are weighted, such as "by weight w"; "" where every row counts once."""
    weight = document.data.weight
    return "" if weight is None else f"by weight {caps.label(weight)}"


def by_weight_and_exposure(document: ChangeReportDocument, caps: Caps) -> str:
    """The weight of a rate: that of the row times its exposure."""
    unit = rate_unit(document, caps)
    if not unit:
        return by_weight(document, caps)
    weight = document.data.weight
    return f"by exposure {unit}" if weight is None else f"by weight {caps.label(weight)} times exposure {unit}"


def rate_unit(document: ChangeReportDocument, caps: Caps) -> str:
    """The exposure that rates are per unit of; "" where predictions are no rates."""
    exposure, glm = document.data.exposure, document.glm
    return "" if exposure is None or glm is None or glm.classes else caps.label(exposure)
