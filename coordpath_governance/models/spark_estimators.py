"""Spark's linear, logistic and generalised linear models over the vectors that reach them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from coordpath_governance.models.kinds import LINKS
from coordpath_governance.models.linear_model import LinearModel, TrainingFacts, classifier
from coordpath_governance.models.sklearn_scores import fold_scores
from coordpath_governance.models.spark_columns import Columns
from coordpath_governance.models.spark_files import REMEDY, SparkStage
from coordpath_governance.models.spark_values import matrix, number, texts, vector, whole
from coordpath_governance.models.tree import brief

__all__ = ["ESTIMATORS"]

_DEFAULT_LINKS = {**LINKS, "gamma": "inverse"}
_LINK_POWERS = {0.0: "log", 1.0: "identity", -1.0: "inverse", 0.5: "sqrt"}
_VARIANCES = {0.0: "gaussian", 1.0: "poisson", 2.0: "gamma"}


def fold_linear(stage: SparkStage, columns: Columns) -> LinearModel:
    """The intercept plus coefficients·x."""
    loss = _word(stage, "loss", "squaredError")
    if loss not in ("squarederror", "huber"):
        raise stage.fitted.error(f"'loss' is {brief(stage.fitted.get('loss'))}")
    facts = _facts(stage)
    if loss == "huber":
        facts["loss"] = loss
    intercept = number(stage, "intercept", stage.row["intercept"])
    model = _scores(stage, columns, [vector(stage, "coefficients")], [intercept])[0]
    return replace(model, regularisation=MappingProxyType(facts))


def fold_generalised(stage: SparkStage, columns: Columns) -> LinearModel:
    """The model with the score intercept + coefficients·x, plus the offset if there is one (a column with coefficient 1)."""
    family, link, power = _family(stage)
    if LINKS.get(family) != link:
        supported = ", ".join(f"{name} with {own_link}" for name, own_link in LINKS.items() if name != "multinomial")
        raise stage.fitted.refusal(
            f"has the family {family} with the link {link}, whose deviance is not a convex function of every score; "
            f"supported: {supported}. {REMEDY}"
        )
    offset = texts(stage, "offsetCol", [stage.fitted.get("offsetCol", "")])[0]
    intercept = number(stage, "intercept", stage.row["intercept"])
    model = _scores(stage, columns, [vector(stage, "coefficients")], [intercept], offset)[0]
    facts = _facts(stage)
    if offset:
        facts["offset"] = offset
    classes = ("0", "1") if family == "binomial" else ()
    return replace(model, family=family, link=link, power=power, classes=classes, regularisation=MappingProxyType(facts))


def _family(stage: SparkStage) -> tuple[str, str, float | None]:
    """Family, link and Tweedie power, as Spark derives them from the author's settings."""
    family = _word(stage, "family", "gaussian")
    if family != "tweedie":
        if family not in _DEFAULT_LINKS or family == "multinomial":
            raise stage.fitted.error(f"'family' is {brief(stage.fitted.get('family'))}")
        return family, _word(stage, "link", _DEFAULT_LINKS[family]), None
    variance = number(stage, "variancePower", stage.fitted.get("variancePower", 0.0))
    family = _VARIANCES.get(variance, "tweedie")
    if stage.fitted.has("linkPower"):
        power = number(stage, "linkPower", stage.fitted.get("linkPower"))
        link = _LINK_POWERS.get(power, f"power {power:g}")
    else:
        link = _DEFAULT_LINKS[family] if family != "tweedie" else f"power {1.0 - variance:g}"
    if family == "tweedie" and not 1.0 < variance < 2.0:
        family = f"tweedie with variancePower {variance:g}"
    return family, link, variance if family == "tweedie" else None


def fold_logistic(stage: SparkStage, columns: Columns) -> LinearModel:
    """The log-odds of the second class, or one score per class (softmax)."""
    count = whole(stage, "numClasses", stage.row["numClasses"])
    width = whole(stage, "numFeatures", stage.row["numFeatures"])
    softmax = stage.row["isMultinomial"]
    if not isinstance(softmax, bool):
        raise stage.fitted.error("'isMultinomial' is not true or false")
    if _word(stage, "family", "auto") not in ("auto", "binomial", "multinomial"):
        raise stage.fitted.error(f"'family' is {brief(stage.fitted.get('family'))}")
    if count < 2:
        raise stage.fitted.refusal("was fitted on one class only, so it distinguishes nothing; fit it on two or more.")
    rows = count if softmax else 1
    weights, intercepts = matrix(stage, "coefficientMatrix"), vector(stage, "interceptVector")
    if (len(weights), len(intercepts)) != (rows, rows) or any(len(row) != width for row in weights):
        raise stage.fitted.error(f"its coefficients are not those of {count} classes and {width} columns")
    if not softmax and count != 2:
        raise stage.fitted.error(f"it has one score for {count} classes")
    facts = MappingProxyType(_facts(stage))
    threshold = _threshold(stage, softmax=softmax)
    if softmax and count == 2:
        weights = [[second - first for first, second in zip(*weights, strict=True)]]
        intercepts = [intercepts[1] - intercepts[0]]
    scores = _scores(stage, columns, weights, intercepts)
    classes = tuple(str(i) for i in range(count))
    return replace(classifier(scores, classes, threshold), regularisation=facts)


def _threshold(stage: SparkStage, *, softmax: bool) -> float:
    """The probability from which it decides for the second of two classes.

    Softmax decides for the likelier class, and uses no setting but ``thresholds``.
    """
    several = stage.fitted.get("thresholds")
    if several is None and softmax:
        return 0.5
    if several is not None:
        if softmax:
            raise stage.fitted.refusal(f"divides probabilities by thresholds before it compares them. {REMEDY}")
        pair = [number(stage, "thresholds", threshold) for threshold in several] if isinstance(several, list) else []
        if len(pair) != 2 or min(pair) < 0.0 or max(pair) <= 0.0:
            raise stage.fitted.error("'thresholds' are not two numbers")
        value = 1.0 / (1.0 + pair[0] / pair[1]) if pair[1] else 0.0
    else:
        value = number(stage, "threshold", stage.fitted.get("threshold", 0.5))
    if not 0.0 <= value <= 1.0:
        raise stage.fitted.error(f"'threshold' is {value:g}")
    if value == 1.0:
        raise stage.fitted.refusal("has the threshold 1, so that it never decides for the second class; set a lower one.")
    return value


def _scores(
    stage: SparkStage, columns: Columns, weights: Sequence[Sequence[float]], intercepts: Sequence[float], offset: str = ""
) -> list[LinearModel]:
    frame = columns.vector(stage, texts(stage, "featuresCol", [stage.fitted.get("featuresCol")])[0], len(weights[0])).frame
    if offset:
        column = columns.scalar(stage, offset)
        encodings = tuple(dict.fromkeys((*frame.encodings, *column.encodings)))
        frame = replace(frame, flows=(*frame.flows, *column.flows), encodings=encodings)
        weights = [[*row, 1.0] for row in weights]
    return fold_scores(stage.fitted, weights, intercepts, frame, columns.inputs, "fitIntercept")


def _facts(stage: SparkStage) -> TrainingFacts:
    """The penalty, and the column that weighted the rows: facts that a report states."""
    strength = number(stage, "regParam", stage.fitted.get("regParam", 0.0))
    share = number(stage, "elasticNetParam", stage.fitted.get("elasticNetParam", 0.0))
    kind = {0.0: "ridge", 1.0: "lasso"}.get(share, "elastic net")
    facts: TrainingFacts = {"kind": kind, "regParam": strength} if strength else {"kind": "none"}
    if strength and kind == "elastic net":
        facts["elasticNetParam"] = share
    if strength and not stage.fitted.flag("standardization", True):
        facts["standardization"] = False
    weight = texts(stage, "weightCol", [stage.fitted.get("weightCol", "")])[0]
    if weight:
        facts["weights"] = weight
    if any("BoundsOn" in name for name in stage.set_by_author):
        facts["bounded"] = True
    return facts


def _word(stage: SparkStage, name: str, default: str) -> str:
    """A setting that Spark reads without regard to case, in lower case."""
    return texts(stage, name, [stage.fitted.get(name, default)])[0].lower()


ESTIMATORS: Mapping[str, Callable[[SparkStage, Columns], LinearModel]] = MappingProxyType(
    {
        "LinearRegressionModel": fold_linear,
        "GeneralizedLinearRegressionModel": fold_generalised,
        "LogisticRegressionModel": fold_logistic,
    }
)
"""By class name: what folds a model."""
