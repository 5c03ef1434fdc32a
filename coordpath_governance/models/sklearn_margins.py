"""scikit-learn's linear classifiers whose score is a margin: no log-odds by itself, but a sigmoid makes it one.

Alone they are refused (see `sklearn_refusals`): a margin has no probability, and so no log loss. RidgeClassifier has been
fitted by the squared error against −1 and +1, the others by the hinge loss and its relatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from coordpath_governance.models.fitted import Fitted, sklearn_class
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.sklearn_classifiers import CLASSIFIERS, class_labels, fold_classifier
from coordpath_governance.models.sklearn_penalties import Facts, sgd_penalty
from coordpath_governance.models.sklearn_scores import hyperparameter, is_cross_validated
from coordpath_governance.models.tree import ArchivedObject

__all__ = ["MARGINS"]

_SQUARED = "squared error against −1 and +1"
_BINARIZER = "LabelBinarizer"


def _fold_margin(facts: Callable[[Fitted], Facts], fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    """A linear score of two classes; of several classes there is one score a class, and no sigmoid joins them."""
    classes = class_labels(fitted)
    if len(classes) > 2:
        raise fitted.refusal(
            f"tells {len(classes)} classes apart one against the rest, which no linear score of the classes gives; fit a "
            "LogisticRegression with the solver 'lbfgs'."
        )
    return fold_classifier(fitted, frame, inputs, classes, facts(fitted))


def _fold_ridge(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    """The classes are those of the binarizer; from scikit-learn 1.9 on they stand beside it, too."""
    binarizer = fitted.required("_label_binarizer")
    if not isinstance(binarizer, ArchivedObject) or sklearn_class(binarizer) != _BINARIZER:
        raise fitted.error("'_label_binarizer' is not a LabelBinarizer")
    classes = class_labels(Fitted(binarizer, f"{fitted.where}, its label binarizer"))
    if fitted.has("classes_") and class_labels(fitted) != classes:
        raise fitted.error("it says in two places which classes there are, and they differ")
    if len(classes) > 2:
        raise fitted.refusal(
            f"has one score for each of {len(classes)} classes, fitted against −1 and +1, which no sigmoid joins; fit a "
            "LogisticRegression with the solver 'lbfgs'."
        )
    facts: Facts = {"kind": "ridge", "alpha": hyperparameter(fitted, "alpha"), "loss": _SQUARED}
    if is_cross_validated(fitted):
        facts["chosen_by"] = "cross-validation"
    return fold_classifier(fitted, frame, inputs, classes, facts, flat=True)


def _support_vectors(fitted: Fitted) -> Facts:
    loss = fitted.text("loss", "squared_hinge").replace("_", " ")
    kind = {"l1": "lasso", "l2": "ridge"}.get(fitted.text("penalty", "l2"), "none")
    return {"kind": kind, "C": hyperparameter(fitted, "C"), "loss": loss}


def _stochastic(fitted: Fitted) -> Facts:
    loss = fitted.text("loss", "hinge")
    return sgd_penalty(fitted) if loss in ("log_loss", "log") else {**sgd_penalty(fitted), "loss": loss.replace("_", " ")}


def _perceptron(fitted: Fitted) -> Facts:
    return {**sgd_penalty(fitted, None), "loss": "perceptron"}


def _passive_aggressive(fitted: Fitted) -> Facts:
    return {"kind": "none", "loss": fitted.text("loss", "hinge").replace("_", " ")}


MARGINS: Mapping[str, Callable[[Fitted, Frame, Sequence[str]], LinearModel]] = MappingProxyType(
    {
        **CLASSIFIERS,
        "SGDClassifier": partial(_fold_margin, _stochastic),
        "RidgeClassifier": _fold_ridge,
        "RidgeClassifierCV": _fold_ridge,
        "LinearSVC": partial(_fold_margin, _support_vectors),
        "Perceptron": partial(_fold_margin, _perceptron),
        "PassiveAggressiveClassifier": partial(_fold_margin, _passive_aggressive),
    }
)
"""By class name: every linear classifier whose score a sigmoid may calibrate."""
