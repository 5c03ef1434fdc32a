"""scikit-learn's CalibratedClassifierCV with one sigmoid: p = 1/(1 + e^(a·f + b)) of the score f of the classifier within.

So the log-odds are −(a·f + b), and the calibration folds into the coefficients. f is what ``decision_function`` returns,
which every linear classifier of scikit-learn has, also where its score is no log-odds. Several calibrated classifiers are
averaged, an isotonic calibration is a step function of the score, and neither leaves a linear log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coordpath_governance.models.fitted import Fitted, as_float, sklearn_class
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.rescaling import rescaled
from coordpath_governance.models.sklearn_classifiers import HALF, WAY_OUT, class_labels
from coordpath_governance.models.tree import ArchivedObject, brief

__all__ = ["CALIBRATED", "Sigmoid", "one_sigmoid"]

CALIBRATED = "CalibratedClassifierCV"
_PAIR = "_CalibratedClassifier"
_SIGMOID = "_SigmoidCalibration"


@dataclass(frozen=True)
class Sigmoid:
    """The classifier within a calibrated one, and the numbers of its sigmoid."""

    fitted: Fitted
    within: object
    a: float
    b: float
    classes: tuple[str, ...]

    def calibrated(self, model: LinearModel) -> LinearModel:
        """The model within, its score turned into the calibrated log-odds; it decides at the probability ½."""
        if model.family != "binomial":
            raise self.fitted.refusal("calibrates what is no classifier of two classes, which is not supported.")
        if model.classes != self.classes:
            raise self.fitted.error("its classes are not those of the classifier within")
        try:
            score = rescaled(model, -self.a, -self.b)
        except OverflowError as error:
            raise self.fitted.error(f"its sigmoid is so steep that {error}") from error
        return replace(score, threshold=HALF, estimator=f"{CALIBRATED} ({model.estimator})")


def one_sigmoid(fitted: Fitted) -> Sigmoid:
    """The one sigmoid of a calibrated classifier of two classes; anything else is refused by name."""
    classes = class_labels(fitted)
    if len(classes) > 2:
        raise fitted.refusal(
            f"calibrates {len(classes)} classes one against the rest and divides by the sum, which no linear score of the "
            "classes gives; calibrate two classes, or use a LogisticRegression without calibration."
        )
    pairs = fitted.required("calibrated_classifiers_")
    if not isinstance(pairs, list) or not pairs:
        raise fitted.error("'calibrated_classifiers_' is not a list of calibrated classifiers")
    if len(pairs) > 1:
        raise fitted.refusal(
            f"averages the probabilities of {len(pairs)} calibrated classifiers, which is the probability of no linear "
            f"score; fit it as {WAY_OUT}, which is read."
        )
    pair = pairs[0]
    if not isinstance(pair, ArchivedObject) or sklearn_class(pair) != _PAIR:
        raise fitted.error("'calibrated_classifiers_' has an entry that is not a calibrated classifier of scikit-learn")
    inner = Fitted(pair, f"{fitted.where}, its calibration")
    method = inner.text("method", "sigmoid")
    if method != fitted.text("method", "sigmoid"):
        raise fitted.error("it says in two places by which method it calibrates, and they differ")
    if method in ("isotonic", "temperature"):
        raise fitted.refusal(f"{_WHY_NOT[method]}; fit it as {WAY_OUT}, which is read.")
    if method != "sigmoid":
        raise fitted.error(f"'method' is {brief(fitted.get('method'))}")
    if class_labels(inner, "classes") != classes:
        raise inner.error("its classes are not those of the CalibratedClassifierCV")
    return Sigmoid(fitted, _classifier(inner), *_numbers(inner), classes)


_WHY_NOT = {
    "isotonic": "calibrates by isotonic regression, a step function of the score and not of any column",
    "temperature": "calibrates by temperature scaling, which takes a score of exactly 1 for a probability, so that what it "
    "predicts for a row can depend on the rows beside it",
}


def _classifier(pair: Fitted) -> object:
    """The classifier within; before scikit-learn 1.2 it was called ``base_estimator``."""
    names = [name for name in ("estimator", "base_estimator") if pair.has(name)]
    if len(names) != 1:
        raise pair.error("it does not have exactly one classifier within")
    return pair.required(names[0])


def _numbers(pair: Fitted) -> tuple[float, float]:
    """A and b of the only calibrator."""
    calibrators = pair.required("calibrators")
    items = calibrators.tolist() if isinstance(calibrators, np.ndarray) else calibrators
    only = items[0] if isinstance(items, list) and len(items) == 1 else None
    if not isinstance(only, ArchivedObject) or sklearn_class(only) != _SIGMOID:
        raise pair.error("'calibrators' is not one sigmoid of scikit-learn")
    sigmoid = Fitted(only, f"{pair.where}, its sigmoid")
    a, b = as_float(sigmoid.required("a_")), as_float(sigmoid.required("b_"))
    if a is None or b is None:
        raise sigmoid.error("'a_' and 'b_' are not two finite numbers")
    return a, b
