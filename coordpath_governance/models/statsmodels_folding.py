"""A fitted statsmodels result as a `LinearModel`, from its stored form; the formula is parsed, never evaluated.

A model of arrays predicts from the design itself, by position. A column ``const`` of ones, as ``sm.add_constant`` makes it,
is the intercept. A model of a formula predicts from the columns that the formula names. A model that was fitted with an
offset or an exposure is served without it: MLflow passes only the columns to ``predict``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models.assembly import assemble
from coordpath_governance.models.fitted import plain
from coordpath_governance.models.flows import CombinedFlow, Flow, Frame, NumericFlow
from coordpath_governance.models.formula_design import FormulaDesign, build_design
from coordpath_governance.models.formula_text import parse_formula
from coordpath_governance.models.linear_model import LinearModel, TrainingFacts, rescaled
from coordpath_governance.models.statsmodels_families import kind_of
from coordpath_governance.models.statsmodels_names import unknown_calls, unknown_names
from coordpath_governance.models.statsmodels_parts import Part, StoredResult, open_result
from coordpath_governance.models.statsmodels_rows import scores_agree
from coordpath_governance.models.stored_frames import (
    StoredFrame,
    check_arrow_arrays,
    frame_of,
    is_frame,
    series_values,
)
from coordpath_governance.models.target_maps import canonical_target, fault_of_target
from coordpath_governance.models.tree import ArchivedObject, StoredTree

__all__ = ["fold_result"]

_CONST = "const"
_RESTORES = ("restore_model_spec", "restore_design_info")


def fold_result(
    tree: StoredTree, column_names: Sequence[str] | None = None, types: Mapping[str, str] | None = None
) -> LinearModel:
    """The model that a pickled result holds.

    ``column_names`` and ``types`` are those of the model's signature, if the folder has one. Raises `UnsupportedModelError`
    for a model that is not read, and if the file names or calls anything that we do not know.
    """
    stored = open_result(tree)
    kind = kind_of(stored)
    coefficients = _coefficients(stored)
    formula = _formula(stored)
    training = None if formula is None else _training(stored)
    if formula is None or training is None:
        design, remarks = _by_position(stored, column_names)
    else:
        design, remarks = _by_formula(stored, formula, training, types)
    if len(design.names) != len(coefficients):
        raise stored.result.error(f"it has {len(coefficients)} coefficients for {len(design.names)} columns")
    terms = assemble(coefficients, 0.0, design.frame, design.inputs, f"the {stored.kind}")
    _check_names(tree)
    check_arrow_arrays(tree)
    model = LinearModel(
        intercept=terms.intercept,
        numeric=terms.numeric,
        categorical=terms.categorical,
        functions=terms.functions,
        has_intercept=design.has_intercept or terms.intercept != 0.0,
        family=kind.family,
        link=kind.link,
        power=kind.power,
        classes=kind.classes,
        target=design.target_column or design.target or None,
        estimator=_estimator(stored),
        regularisation=MappingProxyType({**_penalty(stored), **kind.facts}),
        raw=terms.raw,
        library="statsmodels",
        remarks=(*remarks, *_remarks(stored)),
    )
    if training is not None:
        _check_rows(stored, model, training, coefficients)
    return _with_target(stored, model, design)


def _with_target(stored: StoredResult, model: LinearModel, design: FormulaDesign) -> LinearModel:
    """The model with the function of the target that it predicts; an affine map at the end goes into the score.

    Unlike scikit-learn, statsmodels predicts the left-hand side itself, not the target.
    """
    maps, last = canonical_target(design.target_maps)
    if not design.target_maps:
        return model
    fault = fault_of_target(maps)
    if model.family != "gaussian" or fault is not None or last.scale == 0.0:
        raise stored.model.refusal(
            f"predicts {design.target}: {fault or 'only least squares are read of a function of the target'}. Known are "
            "sums and multiples, log, log1p, sqrt, exp and expm1; fit the model on a column that holds the target."
        )
    remark = f"it serves {design.target}, and not {design.target_column} itself"
    try:
        score = rescaled(model, 1.0 / last.scale, -last.shift / last.scale)
    except OverflowError as error:
        raise stored.model.error("its left-hand side is scaled so far that its coefficients overflow") from error
    return replace(score, target_map=maps, remarks=(*score.remarks, remark))


def _check_rows(stored: StoredResult, model: LinearModel, training: StoredFrame, coefficients: Sequence[float]) -> None:
    """Refuse a file whose stored design gives its stored rows another score than our terms do, if it holds both."""
    exog = stored.data.get("exog")
    if isinstance(exog, np.ndarray) and not scores_agree(model, training, exog, coefficients):
        raise UnsupportedModelError(
            "the data frame in the file does not make the design that the model was fitted on: it was changed after "
            "fitting, or is forged. Fit the model again, and log it before the frame is changed."
        )


def _check_names(tree: StoredTree) -> None:
    """Refuse a file that names or calls anything that a stored result does not name or call."""
    foreign = unknown_names(tree.names) or unknown_calls(tree.calls)
    if foreign:
        some = ", ".join(foreign[:5]) + (", ..." if len(foreign) > 5 else "")
        does = "names" if unknown_names(tree.names) else "calls"
        raise UnsupportedModelError(
            f"the file {does} {some}, which we do not know in a statsmodels result, so that it may predict something else "
            "than its coefficients say; log a result of statsmodels' own classes."
        )


def _estimator(stored: StoredResult) -> str:
    family = stored.model.get("family")
    name = getattr(family, "class_name", None)
    return f"{stored.kind} ({name})" if name else stored.kind


def _coefficients(stored: StoredResult) -> tuple[float, ...]:
    """The parameters that multiply columns. A negative binomial also has a dispersion, which is left out."""
    if stored.kind != "NegativeBinomial":
        return stored.params
    method, extra = stored.model.text("loglike_method"), stored.model.count("k_extra")
    expected = {"nb1": 1, "nb2": 1, "geometric": 0}.get(method or "")
    if expected is None or extra != expected or len(stored.params) <= extra:
        raise stored.model.error(f"it has the method {method!r} and {extra} parameters more than columns")
    return stored.params[: len(stored.params) - extra]


def _formula(stored: StoredResult) -> str | None:
    """The text of the formula, None if the model has none. All attributes that concern a formula must agree."""
    of_model, of_data = stored.model.get("formula"), stored.data.get("formula")
    restored = [plain(stored.data.get(name)) for name in _RESTORES if name in stored.data.archived.attributes]
    if of_model is None and of_data is None and not restored and "formula" not in stored.model.archived.attributes:
        return None
    if of_model is None or of_data is None:
        raise stored.data.error("it has another formula than the model")
    if not isinstance(of_model, str) or not isinstance(of_data, str):
        raise stored.model.refusal("has a formula that is not text")
    if of_model != of_data:
        raise stored.data.error("it has another formula than the model")
    if len(restored) != 1 or restored[0] is not True:
        raise stored.data.error("it does not say that its design is made from the formula")
    return of_model


def _training(stored: StoredResult) -> StoredFrame:
    frame = stored.data.get("frame")
    if not is_frame(frame):
        raise stored.data.refusal("does not hold the data frame of its formula, from which levels are taken")
    return frame_of(frame)


def _by_formula(
    stored: StoredResult, text: str, training: StoredFrame, types: Mapping[str, str] | None
) -> tuple[FormulaDesign, list[str]]:
    design = build_design(parse_formula(text), training, types)
    names = _names_of(stored.data)
    if names is not None and tuple(names) != design.names:
        raise stored.data.error("the names of its columns are not those that its formula makes")
    width = _width(stored)
    if width not in (None, len(design.names)):
        raise stored.data.error(f"its design has {width} columns, and its formula makes {len(design.names)}")
    remarks = [
        _holds_data(training.rows, len(training.names), "statsmodels keeps them for the formula, also with remove_data=True")
    ]
    if design.target_column is None:
        remarks.append(f"it predicts {design.target}, so the target it is judged by must be that too")
    return design, remarks


def _by_position(stored: StoredResult, column_names: Sequence[str] | None) -> tuple[FormulaDesign, list[str]]:
    """A design that is the input itself. A column ``const`` that statsmodels has recorded as constant is the intercept."""
    count = len(_coefficients(stored))
    width = _width(stored)
    if width not in (None, count):
        raise stored.data.error(f"it has {width} columns for {count} coefficients")
    names = _input_names(stored, count, column_names)
    constant = _constant(stored, count, names)
    inputs = tuple(names or (f"x{position}" for position in range(count)))
    remarks = []
    flows: list[Flow] = []
    for position, name in enumerate(inputs):
        flows.append(CombinedFlow(name, (), 1.0) if position == constant else NumericFlow(position, name))
    if constant is not None:
        remarks.append(f"its input column '{inputs[constant]}' is taken to be 1 in every row: it is the intercept")
    rows = _rows(stored)
    if rows:
        remarks.append(_holds_data(rows, count, "log it with remove_data=True to leave them out"))
    design = FormulaDesign(Frame(tuple(flows), inputs), inputs, inputs, has_intercept=constant is not None, target="")
    return design, remarks


def _input_names(stored: StoredResult, count: int, column_names: Sequence[str] | None) -> list[str] | None:
    """The names of the design's columns, as the data and the signature give them; None if neither gives names."""
    names = _names_of(stored.data)
    if names is not None and len(names) != count:
        raise stored.data.error(f"it has {len(names)} column names for {count} coefficients")
    if names is not None and len(set(names)) != count:
        raise stored.data.refusal("has two columns of the same name")
    served = list(column_names) if column_names is not None else None
    if served is not None and (len(set(served)) != count or len(served) != count):
        raise UnsupportedModelError(
            f"the model's signature has {len(served)} columns for {count} coefficients, and statsmodels takes them by "
            "position: the column of ones that sm.add_constant makes belongs among them. Log the model with a signature of "
            "its design."
        )
    if names is not None and served is not None and names != served:
        raise UnsupportedModelError(
            "the model's signature has other columns, or another order, than the data the model was fitted on, and "
            "statsmodels takes them by position; log the model with a signature of its design."
        )
    return names if names is not None else served


def _constant(stored: StoredResult, count: int, names: Sequence[str] | None) -> int | None:
    """The position of the column of ones; None if there is none, or if it is an input that happened to be constant."""
    position = stored.data.count("const_idx")
    if position is None:
        return None
    if not 0 <= position < count:
        raise stored.data.error(f"'const_idx' is {position} for {count} columns")
    if names is not None and names[position] != _CONST:
        return None
    exog = stored.data.get("exog")
    if isinstance(exog, np.ndarray):
        return position if bool(np.all(exog[:, position] == 1)) else None
    return position


def _names_of(data: Part) -> list[str] | None:
    """The names of the columns in the stored data; None if the data are an array or were removed."""
    exog = data.get("orig_exog")
    if exog is None or isinstance(exog, np.ndarray):
        return None
    if isinstance(exog, ArchivedObject) and series_values(exog) is not None:
        name = exog.attributes.get("_name")
        return [name] if isinstance(name, str) else None
    if not is_frame(exog):
        raise data.refusal("was fitted on something else than an array or a data frame")
    return [str(name) for name in frame_of(exog).names]


def _width(stored: StoredResult) -> int | None:
    """How many columns the stored design has; None if it was removed. The model and the data must agree."""
    designs = [part.get("exog") for part in (stored.model, stored.data)]
    arrays = [
        design for design in designs if isinstance(design, np.ndarray) and design.ndim == 2 and design.dtype.kind in "biuf"
    ]
    if len(arrays) != sum(design is not None for design in designs):
        raise stored.data.error("its design is not an array of numbers")
    widths = {array.shape[1] for array in arrays}
    if len(widths) > 1:
        raise stored.data.error("model and data have designs of different widths")
    return widths.pop() if widths else None


def _rows(stored: StoredResult) -> int:
    exog = stored.data.get("exog")
    return int(exog.shape[0]) if isinstance(exog, np.ndarray) and exog.ndim else 0


def _holds_data(rows: int, columns: int, remedy: str) -> str:
    return (
        f"its file holds the training data ({rows} rows, {columns} columns), which everybody who can download the model can "
        f"read; {remedy}"
    )


def _remarks(stored: StoredResult) -> list[str]:
    """Remarks on fitting with counts, with an offset, or with an exposure (of which the file stores the logarithm)."""
    trials = [part.get(name) for part, name in ((stored.model, "n_trials"), (stored.result, "_n_trials"))]
    counts = any(isinstance(n, np.ndarray) and n.dtype.kind in "iuf" and bool(np.any(n != 1)) for n in trials)
    remarks = ["it was fitted on counts of successes and failures, and predicts the share of successes"] if counts else []
    return remarks + [
        f"it was fitted with an {name}, and MLflow serves it without: predictions are those of {name} {neutral}"
        for name, neutral in (("offset", 0), ("exposure", 1))
        if stored.model.has_values(name)
    ]


def _penalty(stored: StoredResult) -> TrainingFacts:
    name = stored.result.archived.class_name
    if name == "RegularizedResults":
        return {"kind": "elastic net", "alpha": "not stored in the file"}
    if name.startswith("L1"):
        return {"kind": "lasso", "alpha": "not stored in the file"}
    if plain(stored.result.get("regularized")) is True:
        return {"kind": "none", "chosen_by": "an elastic net, then fitted again"}
    return {"kind": "none"}
