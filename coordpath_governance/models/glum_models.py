"""glum's generalised linear regressions, which are stored in the files and pipelines of scikit-learn.

glum encodes pandas' categorical columns itself: it keeps their levels in ``_categorical_levels_`` and makes one dummy column
per level. ``feature_names_`` names the columns that reach its coefficients. We make these columns again and compare names.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from coordpath_governance.models.fitted import Fitted, as_float, plain, sklearn_class
from coordpath_governance.models.flows import NO_FILL, NO_OUTPUT, Encoding, Flow, Frame, LevelFlow, RawFlow
from coordpath_governance.models.kinds import LINKS
from coordpath_governance.models.linear_model import LinearModel, TrainingFacts
from coordpath_governance.models.sklearn_scores import one_score
from coordpath_governance.models.tree import ArchivedObject, Opaque, brief, describe

__all__ = ["GLUM", "glum_inputs"]

_SETTINGS = (
    *("alphas", "alpha", "l1_ratio", "P1", "P2", "fit_intercept", "family", "link", "solver", "max_iter", "max_inner_iter"),
    *("gradient_tol", "step_size_tol", "hessian_approx", "warm_start", "alpha_search", "n_alphas", "min_alpha_ratio"),
    *("min_alpha", "start_params", "selection", "random_state", "copy_X", "check_input", "verbose", "scale_predictors"),
    *("lower_bounds", "upper_bounds", "A_ineq", "b_ineq", "monotonic_constraints", "force_all_finite", "drop_first"),
    *("robust", "expected_information", "formula", "interaction_separator", "categorical_format", "cat_missing_method"),
    *("cat_missing_name", "cv", "n_jobs"),
)
_FITTED = (
    *("_align_info_logs_emitted", "_feature_dtypes_", "_categorical_levels_", "has_missing_category_", "n_features_in_"),
    "feature_dtypes_",
    *("feature_names_", "term_names_", "_family_instance", "_link_instance", "_center_predictors", "_num_obs", "_solver"),
    *("_gradient_tol", "col_means_", "col_stds_", "n_iter_", "_n_cycles", "diagnostics_", "intercept_", "coef_"),
    *("covariance_matrix_", "_alphas", "coef_path_", "intercept_path_", "alphas_", "alpha_", "l1_ratio_", "_info_criteria"),
    *("deviance_path_", "train_deviance_path_", "_refit_intercept_path", "_refit_coef_path", "_metadata_request"),
)
_KNOWN = frozenset((*_SETTINGS, *_FITTED))
_FORMULA = ("X_model_spec_", "y_model_spec_")
_FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "NormalDistribution": "gaussian",
        "BinomialDistribution": "binomial",
        "PoissonDistribution": "poisson",
        "GammaDistribution": "gamma",
        "TweedieDistribution": "tweedie",
    }
)
_LINK_CLASSES: Mapping[str, str] = MappingProxyType({"IdentityLink": "identity", "LogitLink": "logit", "LogLink": "log"})
_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "normal": "NormalDistribution",
        "gaussian": "NormalDistribution",
        "binomial": "BinomialDistribution",
        "poisson": "PoissonDistribution",
        "gamma": "GammaDistribution",
        "tweedie": "TweedieDistribution",
        "identity": "IdentityLink",
        "log": "LogLink",
        "logit": "LogitLink",
    }
)
"""Classes by the word that a setting uses for them. A Tweedie power may follow the word."""
_POWERS = {0.0: "gaussian", 1.0: "poisson", 2.0: "gamma"}
_CATEGORICAL = ("pandas.CategoricalDtype", "pandas.core.dtypes.dtypes.CategoricalDtype")
_INDEX = "pandas.core.indexes.base._new_Index"
_TEXTS = ("pandas.arrays.ArrowStringArray", "pandas.core.arrays.string_arrow.ArrowStringArray")


def glum_inputs(fitted: Fitted) -> tuple[tuple[str, ...] | None, int]:
    """Names (None if fitted on an array without names) and number of the columns before glum encodes any of them."""
    columns = _columns(fitted)
    if columns is None:
        return None, fitted.count("n_features_in_") or 0
    return tuple(columns), len(columns)


def fold_glum(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    """The model with the score intercept_ + coef_·x, with categorical columns as dummies."""
    _check_attributes(fitted)
    family, link, power = _family(fitted)
    if LINKS.get(family) != link:
        supported = ", ".join(f"{name} with {own_link}" for name, own_link in LINKS.items() if name != "multinomial")
        raise fitted.refusal(
            f"has the family {family} with the link {link}, whose deviance is not a convex function of every score; "
            f"supported: {supported}."
        )
    expanded = _expanded(fitted, frame)
    fitted.check_width(len(expanded))
    return replace(
        one_score(fitted, expanded, inputs),
        family=family,
        link=link,
        power=power,
        classes=("0", "1") if family == "binomial" else (),
        estimator=fitted.archived.class_name,
        regularisation=MappingProxyType(_facts(fitted)),
        library="glum",
    )


def _check_attributes(fitted: Fitted) -> None:
    if fitted.get("formula") is not None or any(fitted.has(name) for name in _FORMULA):
        raise fitted.refusal(
            "was fitted with formula=, whose text is code that glum evaluates; make the columns before the model and fit it "
            "without a formula."
        )
    for name in fitted.archived.attributes:
        if name not in _KNOWN:
            raise fitted.refusal(f"has the attribute '{name}', which glum does not give it; fit and log the model again.")
    logged = fitted.get("_align_info_logs_emitted")
    if isinstance(logged, Opaque | ArchivedObject) and "set" not in describe(logged):
        raise fitted.error("'_align_info_logs_emitted' is not a set")


def _family(fitted: Fitted) -> tuple[str, str, float | None]:
    """Family, link and Tweedie power of the objects that glum predicts with; its settings must agree with them."""
    family, link = _part(fitted, "_family_instance", _FAMILIES), _part(fitted, "_link_instance", _LINK_CLASSES)
    _check_setting(fitted, "family", family)
    _check_setting(fitted, "link", link)
    name, link_name = _FAMILIES[family.class_name], _LINK_CLASSES[link.class_name]
    has = {"_power"} if name == "tweedie" else set()
    if link.attributes or set(family.attributes) != has:
        raise fitted.error("its link or its distribution has attributes that glum does not give it")
    if name != "tweedie":
        return name, link_name, None
    power = plain(family.attributes["_power"])
    if isinstance(power, bool) or not isinstance(power, int | float) or not math.isfinite(power):
        raise fitted.error(f"the power of its TweedieDistribution is {brief(power)}")
    exact = float(str(np.float32(power)))  # glum keeps it in single precision
    if exact in _POWERS:
        return _POWERS[exact], link_name, None
    if not 1.0 < exact < 2.0:
        raise fitted.refusal(f"has the Tweedie power {exact:g}; supported are 0, and 1 to 2.")
    return "tweedie", link_name, exact


def _part(fitted: Fitted, name: str, classes: Mapping[str, str]) -> ArchivedObject:
    """The distribution or the link that glum predicts with."""
    value = fitted.required(name)
    if not isinstance(value, ArchivedObject | Opaque):
        raise fitted.error(f"'{name}' is {describe(value)}, not what glum stores there")
    if not isinstance(value, ArchivedObject) or sklearn_class(value) not in classes:
        raise fitted.refusal(f"has {describe(value)} as '{name}', which is not read; read are {', '.join(classes)}.")
    return value


def _check_setting(fitted: Fitted, setting: str, instance: ArchivedObject) -> None:
    """Refuse an ``instance`` (a family or a link) that glum would not have made from the setting."""
    value = fitted.get(setting)
    if isinstance(value, str):
        same = value == "auto" or _WORDS.get(value.partition("(")[0].strip()) == instance.class_name
    elif isinstance(value, ArchivedObject):
        same = (value.class_path, dict(value.attributes)) == (instance.class_path, dict(instance.attributes))
    else:
        same = value is None
    if not same:
        raise fitted.error(f"'{setting}' is not what its {instance.class_name} was made from")


def _columns(fitted: Fitted) -> Mapping[str, object] | None:
    """The columns of the data frame it was fitted on, with their types; None if it was fitted on an array.

    Before 3.2 the attribute had another name, and only the types held the levels.
    """
    if fitted.has("feature_dtypes_") and (fitted.has("_feature_dtypes_") or fitted.has("_categorical_levels_")):
        raise fitted.error("it has the types of its columns twice")
    dtypes = fitted.get("feature_dtypes_", fitted.get("_feature_dtypes_"))
    if dtypes is None:
        return None
    if not isinstance(dtypes, dict) or not dtypes or not all(isinstance(name, str) for name in dtypes):
        raise fitted.error("'_feature_dtypes_' is not a table of columns")
    return dtypes


def _all_levels(fitted: Fitted, columns: Mapping[str, object]) -> Mapping[str, object]:
    """The levels of every categorical column."""
    if not fitted.has("feature_dtypes_"):
        levels = fitted.get("_categorical_levels_", {})
        if not isinstance(levels, dict) or not set(levels) <= set(columns):
            raise fitted.error("'_categorical_levels_' is not a table of its columns")
        return levels
    if fitted.text("cat_missing_method", "fail") != "fail":
        raise fitted.refusal("was stored by a glum before 3.2, whose missing levels meant something else; fit it again.")
    categorical = {name: dtype for name, dtype in columns.items() if not isinstance(dtype, np.dtype)}
    return {
        name: _categories(dtype.attributes.get("categories")) if isinstance(dtype, ArchivedObject) else None
        for name, dtype in categorical.items()
    }


def _expanded(fitted: Fitted, frame: Frame) -> Frame:
    """The columns that reach the coefficients."""
    columns = _columns(fitted)
    if columns is None:
        return frame
    if len(columns) != len(frame) or (frame.names is not None and tuple(columns) != frame.names):
        raise fitted.error("its columns are not those that reach it")
    levels, absent = _all_levels(fitted, columns), fitted.get("has_missing_category_", {})
    if not isinstance(absent, dict):
        raise fitted.error("'has_missing_category_' is not a table of its columns")
    flows: list[Flow] = []
    encodings: list[Encoding] = []
    names: list[str] = []
    for (name, dtype), flow in zip(columns.items(), frame.flows, strict=True):
        if name not in levels:
            if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf":
                raise fitted.refusal(
                    f"was fitted on the column '{name}' of the type {brief(dtype)}, which glum treats in a way of its own; "
                    "make it a column of numbers or of categories."
                )
            flows.append(flow)
            names.append(name)
            continue
        encoding, labels = _encode(fitted, name, _levels(fitted, name, levels[name], dtype), absent.get(name), flow)
        encodings.append(encoding)
        flows.extend(LevelFlow(encoding, label, output) for output, label in enumerate(labels))
        names.extend(labels)
    if fitted.get("feature_names_") != names:
        raise fitted.error("'feature_names_' are not the names of the columns it was fitted on and of their levels")
    return Frame(tuple(flows), None, encodings=(*frame.encodings, *encodings))


def _encode(fitted: Fitted, name: str, levels: list[object], absent: object, flow: Flow) -> tuple[Encoding, list[str]]:
    """One column as dummies, without the first level if ``drop_first`` is set; the settings decide on missing values."""
    if not isinstance(flow, RawFlow) or flow.fill is not NO_FILL:
        raise fitted.refusal(f"encodes the column '{name}' that an earlier step has changed; encode it in one place.")
    method = fitted.text("cat_missing_method", "fail")
    if method not in ("fail", "zero", "convert"):
        raise fitted.error(f"'cat_missing_method' is {brief(fitted.get('cat_missing_method'))}")
    is_level = plain(absent) is True and method == "convert"
    first = int(fitted.flag("drop_first", False))
    count = len(levels) + is_level - first
    if count < 0:
        raise fitted.error(f"the column '{name}' has no level to drop")
    outputs = {level: i - first if i >= first else NO_OUTPUT for i, level in enumerate(levels)}
    missing: int | None = NO_OUTPUT if method == "zero" else None
    if is_level:
        missing = len(levels) - first if levels or not first else NO_OUTPUT
    encoding = Encoding(flow.source, outputs, count, missing, None, missing_is_level=missing is not None)
    template = fitted.text("categorical_format", "{name}[{category}]")
    texts = [*map(str, levels), *([fitted.text("cat_missing_name", "(MISSING)")] if is_level else [])]
    return encoding, [template.replace("{name}", name).replace("{category}", text) for text in texts[first:]]


def _levels(fitted: Fitted, name: str, levels: object, dtype: object) -> list[object]:
    """The levels of a column. Its type, which glum also stores, must have the same levels."""
    if not isinstance(levels, list) or not all(isinstance(level, str | int | float) for level in levels):
        raise fitted.error(f"the levels of '{name}' are not texts and numbers")
    if len(set(levels)) != len(levels) or any(isinstance(level, float) and not math.isfinite(level) for level in levels):
        raise fitted.error(f"'{name}' has a level twice, or one that is not finite")
    if isinstance(dtype, ArchivedObject) and dtype.class_path in _CATEGORICAL and dtype.is_plain:
        categories = _categories(dtype.attributes.get("categories"))
        if categories is None or set(dtype.attributes) - {"categories", "ordered"}:
            raise fitted.refusal(f"stores the levels of '{name}' in a way that is not read; fit it with another pandas.")
        if categories != levels:
            raise fitted.error(f"'_feature_dtypes_' has other levels of '{name}' than '_categorical_levels_'")
    elif not (isinstance(dtype, Opaque) and dtype.what.endswith("CategoricalDtype")):
        raise fitted.error(f"'{name}' has levels, and its type is {brief(dtype)}")
    return levels


def _categories(index: object) -> list[object] | None:
    """The values of a stored pandas Index of numbers or texts; None for anything else."""
    if not isinstance(index, ArchivedObject) or index.class_path != _INDEX or len(index.arguments) != 2:
        return None
    content = index.arguments[1]
    data = content.get("data") if isinstance(content, dict) and set(content) == {"data", "name"} else None
    if isinstance(data, np.ndarray):
        return [plain(item) for item in data.tolist()] if data.ndim == 1 else None
    if not isinstance(data, ArchivedObject) or data.class_path not in _TEXTS:
        return None
    return _arrow_texts(data.attributes.get("_pa_array"))


def _arrow_texts(array: object) -> list[object] | None:
    """The texts of a stored Arrow array, from its two buffers: where each text begins, and the bytes of all texts."""
    if (
        not isinstance(array, ArchivedObject)
        or array.class_path != "pyarrow.lib._restore_array"
        or len(array.arguments) != 1
    ):
        return None
    parts = array.arguments[0]
    if not isinstance(parts, tuple) or len(parts) != 7:
        return None
    kind, length, _, offset, buffers, children, dictionary = parts
    alias = kind.arguments if isinstance(kind, ArchivedObject) and kind.class_path == "pyarrow.lib.type_for_alias" else None
    widths: Mapping[object, str] = {("string",): "i", ("large_string",): "q"}
    if alias not in widths or children != [] or dictionary is not None or offset != 0 or type(length) is not int:
        return None
    if not isinstance(buffers, list) or len(buffers) != 3 or buffers[0] is not None:
        return None
    starts, texts = map(_buffer, buffers[1:])
    form = f"<{length + 1}{widths[alias]}" if 0 <= length < 1 << 20 else ""
    if starts is None or texts is None or not form or struct.calcsize(form) > len(starts):
        return None
    places = struct.unpack_from(form, starts)
    if places[0] < 0 or places[-1] > len(texts) or any(low > high for low, high in pairwise(places)):
        return None
    try:
        return [texts[low:high].decode("utf-8") for low, high in pairwise(places)]
    except UnicodeDecodeError:
        return None


def _buffer(value: object) -> bytes | None:
    """The bytes of a stored Arrow buffer."""
    if not isinstance(value, ArchivedObject) or value.class_path != "pyarrow.lib.py_buffer" or len(value.arguments) != 1:
        return None
    inner = value.arguments[0]
    if isinstance(inner, ArchivedObject) and inner.class_path == "builtins.bytearray" and len(inner.arguments) == 1:
        inner = inner.arguments[0]
    return bytes(inner) if isinstance(inner, bytes | bytearray | memoryview) else None


def _facts(fitted: Fitted) -> TrainingFacts:
    """The penalty it was fitted with; of a path of penalties the last one, which it predicts with."""
    chosen = fitted.archived.class_name.endswith("CV")
    alpha, share = fitted.get("alpha_" if chosen else "alpha"), fitted.get("l1_ratio_" if chosen else "l1_ratio", 0)
    if not chosen and fitted.flag("alpha_search", False):
        path = fitted.get("_alphas")
        items = path.tolist() if isinstance(path, np.ndarray) and path.ndim == 1 else path
        alpha = items[-1] if isinstance(items, list | tuple) and items else None
    strength, ratio = (0.0 if alpha is None else as_float(alpha)), as_float(share)
    if strength is None or ratio is None:
        raise fitted.error("'alpha' or 'l1_ratio' is not one number")
    facts: TrainingFacts = {"kind": "none"}
    if strength:
        kind = {0.0: "ridge", 1.0: "lasso"}.get(ratio, "elastic net")
        facts = {"kind": kind, "alpha": strength}
        if kind == "elastic net":
            facts["l1_ratio"] = ratio
        facts |= {name: "given for each column" for name in ("P1", "P2") if fitted.text(name, "identity") != "identity"}
    if chosen:
        facts["chosen_by"] = "cross-validation"
    if any(fitted.get(name) is not None for name in ("lower_bounds", "upper_bounds", "A_ineq", "monotonic_constraints")):
        facts["bounded"] = True
    return facts


GLUM: Mapping[str, Callable[[Fitted, Frame, Sequence[str]], LinearModel]] = MappingProxyType(
    {"GeneralizedLinearRegressor": fold_glum, "GeneralizedLinearRegressorCV": fold_glum}
)
"""By class name: what folds an estimator of glum."""
