"""Every attribute of every object in a fitted model replaced by other values: what is read must be what is served.

A forged file is either refused, or scikit-learn predicts from it what we have read, or raises.
"""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier

from coordpath_governance.errors import ModelReadError
from coordpath_governance.models import LinearModel, fold_stored
from coordpath_governance.models.pickle_objects import read_pickle_bytes
from helpers.bent_models import score, taken_back

_WORDS = (
    *("ignore", "error", "first", "if_binary", "passthrough", "drop", "uniform", "normal", "ordinal", "onehot", "constant"),
    *("onehot-dense", "linear", "continue", "periodic", "mean", "median", "use_encoded_value", "infrequent_if_exist"),
    *("yeo-johnson", "box-cox", "warn", "value", "identity", "log", "ovr", "multinomial", "auto", "deprecated", "predict"),
    *("decision_function", "predict_proba", "liblinear", "csr", "pandas", "default", "most_frequent", "k_best", "fpr"),
    *("log_loss", "hinge", "modified_huber", "zeros", "sigmoid", "isotonic", "temperature"),
)
_PLAIN = (None, True, False, 0, 1, -1, 2, 0.5, 3.7, 120, "x", [], {}, (), float("nan"))
_MORE = (
    *(
        "predict",
        "coef_",
        "intercept_",
        "_sklearn_output_config",
        "n_features_in_",
        "classes_",
        "sparse_coef_",
        "multi_class",
    ),
    *(
        "steps",
        "clip",
        "with_mean",
        "with_std",
        "dtype",
        "_x_mean",
        "_y_mean",
        "coef",
        "sparse_output",
        "sparse",
        "positive",
    ),
    *(
        "fit_intercept",
        "normalize",
        "transformer_weights",
        "_label_binarizer",
        "link",
        "power",
        "solver",
        "func",
        "validate",
    ),
    *("kw_args", "inv_kw_args", "feature_name_combiner", "loss_function_", "average_coef_", "average_intercept_", "copy"),
    *("standardized_coef_", "_infrequent_enabled", "_link_instance", "regressor", "transformer", "inverse_func", "a_", "b_"),
)
"""Attributes that most objects do not have, set as well."""

_NOT_CHANGED = ("n_jobs", "verbose", "pre_dispatch")
"""How fast and how loudly scikit-learn works."""


def objects_in(value: object, path: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, object]]:
    """Every object of scikit-learn or scipy in a model, with the way there."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if hasattr(value, "__dict__") and type(value).__module__.partition(".")[0] in ("sklearn", "scipy", "glum"):
        yield path, value
        parts: object = vars(value)
    else:
        parts = value
    if isinstance(parts, dict):
        for key, part in list(parts.items()):
            yield from objects_in(part, f"{path}.{key}", seen)
    elif isinstance(parts, list | tuple) or (isinstance(parts, np.ndarray) and parts.dtype == object):
        for i, part in enumerate(list(parts)):
            yield from objects_in(part, f"{path}[{i}]", seen)


def variants(value: object) -> Iterator[object]:
    """Values of every kind in place of a genuine one."""
    yield from _PLAIN
    if isinstance(value, str):
        yield from _WORDS
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from (value + 1, value * 2, -value, np.float64(value), np.array([value]), np.array(value), str(value))
    elif isinstance(value, np.ndarray) and value.size and value.ndim:
        yield from _arrays(value)
    elif isinstance(value, list) and value:
        yield from (value[::-1], value[:-1], value + value[-1:], tuple(value))
        if isinstance(value[0], tuple):
            for word in ("drop", "passthrough"):
                yield [(value[0][0], word, *value[0][2:]), *value[1:]]
                yield [*value[:-1], (value[-1][0], word, *value[-1][2:])]
        if isinstance(value[0], np.ndarray):
            yield [each[::-1].copy() for each in value]
    elif isinstance(value, dict):
        for key in list(value)[:4]:
            for other in (None, 0.0, [], slice(0, 1), ["age"]):
                yield {**value, key: other}
        yield {**value, "age": 5.0, "a": 3.0}
        yield dict(reversed(value.items()))
    elif isinstance(value, tuple) and value:
        yield from (value[::-1], list(value), value[:-1])
    elif isinstance(value, slice):
        yield from (slice(0, 1), slice(1, None))
    elif isinstance(value, BaseEstimator):
        yield copy.deepcopy(value)


def _arrays(value: np.ndarray) -> Iterator[object]:
    yield from (value[::-1].copy(), value[:-1].copy(), np.concatenate([value, value[-1:]]), value.tolist())
    if value.dtype.kind in "iufb":
        other = value.copy().ravel()
        other[0] = not other[0] if value.dtype.kind == "b" else other[0] + 1
        yield from (other.reshape(value.shape), value * 0, value.astype(object))
        yield value.T.copy() if value.ndim > 1 else value[:, None]
        yield value.astype(np.float32 if value.dtype.kind == "f" else np.float64)
    else:
        yield [str(each) for each in value] if value.dtype == object else value.astype(object)


def forgeries(model: object, share: float = 1.0, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Pickles of the model with one attribute of one object changed, each with what was changed; a share of them, by lot."""
    lot = random.Random(seed)
    yield "genuine", pickle.dumps(model)
    for path, each in list(objects_in(model)):
        own = vars(each)
        for name in (*(name for name in own if name not in _NOT_CHANGED), *(name for name in _MORE if name not in own)):
            had, genuine = name in own, own.get(name)
            for value in variants(genuine):
                if lot.random() > share:
                    continue
                own[name] = value
                yield f"{path}: {type(each).__name__}.{name} = {repr(value)[:80]}", pickle.dumps(model)
            if had:
                own[name] = genuine
            else:
                own.pop(name, None)


def _ours(model: LinearModel, rows: pd.DataFrame) -> np.ndarray:
    scores = [score(each, rows) for each in model.class_scores or (model,)]
    if model.link == "softmax":
        parts = np.exp(np.stack(scores, 1) - np.max(scores, axis=0)[:, None])
        return parts / parts.sum(axis=1, keepdims=True)
    if model.link == "logit":
        second = 1.0 / (1.0 + np.exp(-scores[0]))
        return np.stack([1.0 - second, second], 1)
    return np.exp(scores[0])[:, None] if model.link == "log" else taken_back(model, scores[0])[:, None]


def _theirs(model: object, rows: pd.DataFrame) -> np.ndarray:
    told = model.predict_proba(rows) if is_classifier(model) else model.predict(rows)
    return np.asarray(told, dtype=float).reshape(len(rows), -1)


def served_by_row(model: object, rows: pd.DataFrame, width: int) -> np.ndarray:
    """What scikit-learn predicts of every row, NaN where it raises or gives something else than that many numbers."""
    try:
        told = _theirs(model, rows)
        if told.shape[1] == width:
            return told
    except Exception:  # noqa: BLE001 - whatever a forged model raises, row by row it may not
        pass
    return np.stack([_served(model, rows.iloc[[row]], width) for row in range(len(rows))])


def _served(model: object, row: pd.DataFrame, width: int) -> np.ndarray:
    try:
        told = _theirs(model, row)[0]
    except Exception:  # noqa: BLE001 - this row cannot be served
        return np.full(width, np.nan)
    return told if len(told) == width else np.full(width, np.nan)


def deceptions(forged: Iterator[tuple[str, bytes]], rows: pd.DataFrame) -> tuple[list[str], int, int]:
    """What reads as one model and serves as another; and how many were read, and refused. Errors not ours are raised."""
    found, read, refused = [], 0, 0
    for what, data in forged:
        try:
            model = fold_stored(read_pickle_bytes(data), list(rows.columns))
        except ModelReadError:
            refused += 1
            continue
        read += 1
        with np.errstate(all="ignore"):
            try:
                ours = _ours(model, rows.assign(**{f"x{i}": rows[name] for i, name in enumerate(rows)}))
            except (KeyError, ValueError):  # another column, or text as a number: no report can be made on these rows
                continue
            try:
                live = pickle.loads(data)
            except Exception:  # noqa: BLE001 - what cannot be loaded is not served
                continue
            theirs = served_by_row(live, rows, ours.shape[1])
            served = np.isfinite(theirs).all(axis=1)
            same = np.isclose(ours, theirs, rtol=1e-6, atol=1e-8).all(axis=1)
        if not same[served].all():
            found.append(what)
    return found, read, refused
