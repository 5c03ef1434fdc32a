"""A fitted scikit-learn model as a `LinearModel`: pipelines, column transformers, unions and wrappers are folded away.

The same code folds a model from a file (`fold_stored`) and a fitted estimator in memory (`sklearn_reader.from_estimator`):
both are trees of `ArchivedObject`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.fitted import Fitted, as_float, sklearn_class
from coordpath_governance.models.flows import Frame, RawFlow, side_by_side
from coordpath_governance.models.glum_models import GLUM, glum_inputs
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.maps import Affine
from coordpath_governance.models.names import unknown_names
from coordpath_governance.models.sklearn_classifiers import CLASSIFIERS, MARGINS
from coordpath_governance.models.sklearn_columns import column_positions
from coordpath_governance.models.sklearn_refusals import reason_against
from coordpath_governance.models.sklearn_regressions import REGRESSIONS
from coordpath_governance.models.sklearn_targets import TARGETED, check_invertible, with_target
from coordpath_governance.models.sklearn_transformers import TRANSFORMERS
from coordpath_governance.models.sklearn_wrappers import (
    CALIBRATED,
    FROZEN,
    SEES_COLUMNS,
    THRESHOLD_CLASSIFIERS,
    WITHIN,
    classifier_within,
    estimator_within,
    one_sigmoid,
    with_threshold,
)
from coordpath_governance.models.stored_frames import check_arrow_arrays
from coordpath_governance.models.tree import ArchivedObject, StoredTree, describe

__all__ = ["Folded", "fold_model", "fold_stored", "fold_with_estimator"]

ESTIMATORS: Mapping[str, Callable[[Fitted, Frame, Sequence[str]], LinearModel]] = MappingProxyType(
    {**REGRESSIONS, **CLASSIFIERS, **GLUM}
)
"""By class name: what folds an estimator, given the columns that reach it and the names of the raw columns."""

_COMPOSITES = ("Pipeline", "ColumnTransformer", "FeatureUnion")
_MAX_WORK = 5_000_000
_WORK_PER_STEP = 500
_MAX_COLUMNS = 1_000_000


def fold_stored(tree: StoredTree, column_names: Sequence[str] | None = None) -> LinearModel:
    """The model that a file holds.

    Raises `UnsupportedModelError` if the file names anything that we do not know. If there is another reason not to read the
    model, the error gives that reason, because it says more.
    """
    model = fold_model(tree.root, column_names)
    foreign = unknown_names(tree.names)
    if foreign:
        some = ", ".join(foreign[:5]) + (", ..." if len(foreign) > 5 else "")
        raise UnsupportedModelError(
            f"the file names {some}, which we do not know, so that it may predict something else than its coefficients say; "
            "log a model that is made of scikit-learn's own parts."
        )
    check_arrow_arrays(tree)
    return model


@dataclass(frozen=True)
class Folded:
    """A folded model, the stored estimator whose coefficients it has, and the columns that reach that estimator.

    ``inputs`` are the names of the raw columns, to whose positions the columns of ``frame`` refer.
    """

    model: LinearModel
    estimator: ArchivedObject
    frame: Frame
    inputs: tuple[str, ...]


def fold_model(model: object, column_names: Sequence[str] | None = None) -> LinearModel:
    """The model as a function of its raw input columns.

    The columns have the names that the model gives (``feature_names_in_``), else those of ``column_names`` if there is one
    for each column, else x0, x1, ...
    """
    return fold_with_estimator(model, column_names).model


def fold_with_estimator(model: object, column_names: Sequence[str] | None = None) -> Folded:
    """The same as `fold_model`, with the part of the tree that holds the coefficients."""
    try:
        own_names, count = _inputs(model)
        positions = tuple(f"x{position}" for position in range(count))
        inputs = own_names or positions
        if own_names is None and column_names is not None and len(set(column_names)) == len(column_names) == count:
            inputs = tuple(column_names)
        frame = Frame(tuple(RawFlow(position, name) for position, name in enumerate(inputs)), own_names or positions)
        folding = _Folding(inputs)
        linear = folding.model(model, frame, ())
        return Folded(linear, *folding.reached[-1], inputs)
    except RecursionError as error:
        raise ModelReadError("the model is nested too deeply to be read; flatten its pipelines.") from error


def _inputs(model: object) -> tuple[tuple[str, ...] | None, int]:
    """The names of the raw columns (None if the model was fitted on an array without names), and their number."""
    first = _first_fitted(model)
    if sklearn_class(first) in (None, *WITHIN) and sklearn_class(first) not in SEES_COLUMNS:
        return None, 1  # the fold will refuse it by name
    fitted = Fitted(first, f"the {first.class_name}")
    names, count = fitted.feature_names(), fitted.count("n_features_in_")
    if sklearn_class(first) in GLUM:
        names, count = glum_inputs(fitted)
    count = count if count is not None else len(names or ())
    if names is not None and count != len(names):
        raise fitted.error(f"it has {len(names)} column names for {count} columns")
    if not 0 <= count <= _MAX_COLUMNS:
        raise fitted.error(f"it was fitted on {count} columns")
    if not count:
        raise fitted.refusal("was not fitted on any columns; fit the whole model before logging it.")
    return names, count


def _first_fitted(model: object) -> ArchivedObject:
    """The object that receives the raw columns: the first step of a pipeline, or the first step of that step, and so on."""
    visited: set[int] = set()
    while True:
        if not isinstance(model, ArchivedObject):
            raise UnsupportedModelError(_not_linear(model, ()))
        if id(model) in visited:
            raise ModelReadError(f"the {model.class_name} is a part of itself; the model is damaged or forged.")
        visited.add(id(model))
        parts: list[object] = []
        if sklearn_class(model) == "Pipeline":
            parts = [part for _, part in _pairs(Fitted(model, "the Pipeline"), "steps")]
        elif sklearn_class(model) == "FeatureUnion":
            parts = [part for _, part in _pairs(Fitted(model, "the FeatureUnion"), "transformer_list")]
        elif sklearn_class(model) in THRESHOLD_CLASSIFIERS:
            parts = [classifier_within(Fitted(model, f"the {model.class_name}"))]
        elif sklearn_class(model) == CALIBRATED:
            parts = [one_sigmoid(Fitted(model, f"the {CALIBRATED}")).within]
        elif sklearn_class(model) == TARGETED:
            parts = [Fitted(model, f"the {TARGETED}").required("regressor_")]
        elif sklearn_class(model) in WITHIN and sklearn_class(model) not in SEES_COLUMNS:
            parts = [estimator_within(Fitted(model, f"the {model.class_name}"))]
        elif sklearn_class(model) == "SelectFromModel" and "n_features_in_" not in model.attributes:
            parts = [model.attributes.get("estimator_"), model.attributes.get("estimator")]
        active = [part for part in parts if isinstance(part, ArchivedObject)]
        while len(active) > 1 and _passes_unseen(active[0]):
            active = active[1:]
        if not active:
            return model
        model = active[0]


def _passes_unseen(part: ArchivedObject) -> bool:
    """Whether a step passes its columns on without recording their number, as a FunctionTransformer did before 1.2."""
    return sklearn_class(part) == "FunctionTransformer" and "n_features_in_" not in part.attributes


@dataclass
class _Folding:
    """One walk through a model over the raw columns ``inputs``, and how much work is left for it.

    ``sharing``: how many transformers around the current one pass the same columns to several transformers. ``reached``: the
    estimators that were folded, each with the columns that reach it.
    """

    inputs: tuple[str, ...]
    work_left: int = _MAX_WORK
    sharing: int = 0
    reached: list[tuple[ArchivedObject, Frame]] = field(default_factory=list)

    def model(self, value: object, frame: Frame, path: tuple[str, ...], *, margin: bool = False) -> LinearModel:
        """Fold a whole model, or the estimator at its end.

        ``margin``: a sigmoid will calibrate the score, so the score need not be a log-odds.
        """
        value = self._thawed(value, path)
        if not isinstance(value, ArchivedObject):
            raise UnsupportedModelError(_not_linear(value, path))
        if sklearn_class(value) == "Pipeline":
            *steps, (last_name, last) = _pairs(self._open(value, frame, path), "steps")
            for name, step in steps:
                frame = self._step(step, frame, (*path, name))
            return self.model(last, frame, (*path, last_name), margin=margin)
        name = sklearn_class(value) or ""
        if name in WITHIN:
            fitted = self._open(value, frame, path)
            model = self.model(estimator_within(fitted), frame, (*path, WITHIN[name]), margin=margin)
            return replace(model, estimator=f"{name} ({model.estimator})")
        if name in THRESHOLD_CLASSIFIERS:
            within = classifier_within(Fitted(value, _where(value, path)))
            model = self.model(within, frame, (*path, "estimator_"), margin=margin)
            return with_threshold(self._open(value, frame, path), model)
        if name == CALIBRATED:
            sigmoid = one_sigmoid(Fitted(value, _where(value, path)))
            if margin:
                raise sigmoid.fitted.refusal(
                    "is calibrated once more: the second sigmoid is one of a probability and not of a linear score; "
                    "calibrate once."
                )
            model = self.model(sigmoid.within, frame, (*path, "estimator"), margin=True)
            self._open(value, frame, path)
            return sigmoid.calibrated(model)
        if name == TARGETED:
            return self._targeted(value, frame, path)
        estimators = MARGINS if margin else ESTIMATORS
        if name not in estimators:
            raise UnsupportedModelError(_not_linear(value, path))
        fitted = self._open(value, frame, path)
        self._spend(_scores_of(fitted) * (len(frame) + sum(len(encoding.outputs) for encoding in frame.encodings)))
        self.reached.append((value, frame))
        version = fitted.get("_sklearn_version")
        library = f"scikit-learn {version}" if isinstance(version, str) else "scikit-learn"
        model = estimators[name](fitted, frame, self.inputs)
        return model if model.library else replace(model, library=library)

    def _targeted(self, value: ArchivedObject, frame: Frame, path: tuple[str, ...]) -> LinearModel:
        """Fold a regression of a transformed target. The transformer folds like any other, with the target as its column."""
        fitted = self._open(value, frame, path)
        if fitted.count("_training_dim") not in (1, 2):
            raise fitted.error("'_training_dim' is neither 1 nor 2, so that it was not fitted on one target")
        transformer = fitted.required("transformer_")
        check_invertible(transformer, (*path, "transformer_"))
        target = Frame((RawFlow(0, "the target"),), None)
        transformed = self.transformer(transformer, target, (*path, "transformer_"))
        model = self.model(fitted.required("regressor_"), frame, (*path, "regressor_"))
        return with_target(fitted, model, transformed)

    def transformer(self, value: object, frame: Frame, path: tuple[str, ...]) -> Frame:
        """Fold one transformer."""
        value = self._thawed(value, path)
        name = sklearn_class(value) or ""
        if not isinstance(value, ArchivedObject) or (name not in TRANSFORMERS and name not in _COMPOSITES):
            reason = reason_against(value)
            if reason is not None:
                raise UnsupportedModelError(f"step '{'/'.join(path)}' {reason}")
            raise UnsupportedModelError(
                f"step '{'/'.join(path)}' is {describe(value)}, which cannot be written as a linear function of single "
                f"columns; supported: {', '.join((*_COMPOSITES, *TRANSFORMERS))}."
            )
        fitted = self._open(value, frame, path)
        if self.sharing and fitted.get("copy", True) is not True:
            raise fitted.refusal(
                "writes into the columns it is given (copy=False), which other transformers may be given too; fit it with "
                "copy=True."
            )
        if name == "Pipeline":
            for step_name, step in _pairs(fitted, "steps"):
                frame = self._step(step, frame, (*path, step_name))
            return frame
        if name == "ColumnTransformer":
            return self._column_transformer(fitted, frame, path)
        if name == "FeatureUnion":
            return self._feature_union(fitted, frame, path)
        folded = TRANSFORMERS[name](fitted, frame)
        self._spend(sum(len(encoding.outputs) for encoding in folded.encodings[len(frame.encodings) :]))
        return folded

    def _step(self, step: object, frame: Frame, path: tuple[str, ...]) -> Frame:
        if step is None or (isinstance(step, str) and step == "passthrough"):
            return frame
        return self.transformer(step, frame, path)

    def _column_transformer(self, fitted: Fitted, frame: Frame, path: tuple[str, ...]) -> Frame:
        expected = fitted.feature_names()
        if expected is not None and frame.names is None:
            raise fitted.refusal(
                "selects columns by name, and a function or a format string names them, which we do not run; leave out "
                "feature_name_combiner and feature_names_out, set verbose_feature_names_out to True or False, and fit it "
                "again."
            )
        if expected is not None and expected != frame.names:
            raise fitted.error("it selects columns by name, and the names it knows are not those of its input")
        parts: list[Frame] = []
        for name, transformer, columns in _triples(fitted, "transformers_"):
            if isinstance(transformer, str) and transformer == "drop":
                continue
            positions = column_positions(fitted, name, columns, len(frame))
            if positions:
                parts.append(self._part(fitted, name, transformer, frame.take(positions), path))
        return side_by_side(frame, parts, sparse=fitted.flag("sparse_output_", False))

    def _feature_union(self, fitted: Fitted, frame: Frame, path: tuple[str, ...]) -> Frame:
        parts = [
            self._part(fitted, name, transformer, frame, path)
            for name, transformer in _pairs(fitted, "transformer_list")
            if not (isinstance(transformer, str) and transformer == "drop")
        ]
        return side_by_side(frame, parts, sparse=any(part.sparse for part in parts))

    def _part(self, fitted: Fitted, name: str, transformer: object, frame: Frame, path: tuple[str, ...]) -> Frame:
        """Fold one transformer of several, apply its weight, and name its columns as scikit-learn does."""
        passes = isinstance(transformer, str) and transformer == "passthrough"
        self.sharing += 1
        part = frame if passes else self.transformer(transformer, frame, (*path, name))
        self.sharing -= 1
        self._spend(len(part) + len(part.encodings))
        verbose = fitted.get("verbose_feature_names_out", True)
        part = part.renamed(f"{name}__" if verbose is True else "" if verbose is False else None)
        weights = fitted.get("transformer_weights")
        if weights is None or (isinstance(weights, dict) and weights.get(name) is None):
            return part
        weight = as_float(weights[name]) if isinstance(weights, dict) else None
        if weight is None:
            raise fitted.error(f"the weight of '{name}' is not a finite number")
        return part.scaled([Affine(weight)] * len(part), fitted.where)

    def _thawed(self, value: object, path: tuple[str, ...]) -> object:
        """The estimator within any number of frozen ones. The limit on work ends the loop if an object holds itself."""
        while isinstance(value, ArchivedObject) and sklearn_class(value) == FROZEN:
            self._spend(_WORK_PER_STEP)
            value = estimator_within(Fitted(value, _where(value, path)))
        return value

    def _open(self, value: ArchivedObject, frame: Frame, path: tuple[str, ...]) -> Fitted:
        """The attributes of an object, which must have been fitted on as many columns as reach it."""
        self._spend(_WORK_PER_STEP + len(frame) + len(value.attributes))
        fitted = Fitted(value, _where(value, path))
        if sklearn_class(value) not in GLUM:  # glum counts the columns after it has encoded some of them
            fitted.check_width(len(frame))
        return fitted

    def _spend(self, work: int) -> None:
        """Count work against the limit: parts shared at every level could otherwise make it exponential."""
        self.work_left -= work
        if self.work_left < 0:
            raise ModelReadError("the model has more steps or columns than we read; it is damaged or forged.")


def _where(value: ArchivedObject, path: tuple[str, ...]) -> str:
    return f"step '{'/'.join(path)}'" if path else f"the {value.class_name}"


def _scores_of(fitted: Fitted) -> int:
    """How many scores an estimator has in addition to the first; each is assembled separately."""
    coefficients = fitted.get("coef_")
    return len(coefficients) - 1 if isinstance(coefficients, np.ndarray) and coefficients.ndim > 1 else 0


def _entries(fitted: Fitted, name: str, size: int) -> list[tuple[object, ...]]:
    """The named parts of a composite: tuples of length ``size``, each of which begins with a different name."""
    value = fitted.required(name)
    entries = [entry for entry in value if isinstance(entry, (tuple, list))] if isinstance(value, list) else []
    names = {entry[0] for entry in entries if entry and isinstance(entry[0], str)}
    if not isinstance(value, list) or not value or len(names) != len(value):
        raise fitted.error(f"'{name}' is not a list of differently named parts")
    if any(len(entry) != size for entry in entries):
        raise fitted.error(f"'{name}' has entries that do not have {size} parts")
    return [tuple(entry) for entry in entries]


def _pairs(fitted: Fitted, name: str) -> list[tuple[str, object]]:
    return [(str(part), value) for part, value in _entries(fitted, name, 2)]


def _triples(fitted: Fitted, name: str) -> list[tuple[str, object, object]]:
    return [(str(part), value, columns) for part, value, columns in _entries(fitted, name, 3)]


def _not_linear(value: object, path: tuple[str, ...]) -> str:
    """Why ``value`` cannot be the last step of a model that we read."""
    subject = f"the last step '{'/'.join(path)}'" if path else "the model"
    reason = reason_against(value)
    if reason is not None:
        return f"{subject} {reason}"
    supported = (*ESTIMATORS, *THRESHOLD_CLASSIFIERS, CALIBRATED, TARGETED, *WITHIN)
    advice = f"supported: {', '.join(supported)}, alone or at the end of a Pipeline."
    return f"{subject} is {describe(value)} and not a linear model that we read; {advice}"
