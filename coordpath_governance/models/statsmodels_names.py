"""The closed lists for statsmodels: names that a stored result may hold or call, and the attributes of its parts.

The lists come from fitting some 60 models with statsmodels 0.14 and 0.15, pandas 2 and 3. An attribute that is not listed
could replace a method, or the formula's design, when the model predicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from coordpath_governance.models.names import ARRAYS, TYPES, class_paths

__all__ = [
    "DATA_ATTRIBUTES",
    "DATA_CLASSES",
    "FAMILY_ATTRIBUTES",
    "LINK_ATTRIBUTES",
    "MODEL_ATTRIBUTES",
    "PANDAS",
    "RESULT_ATTRIBUTES",
    "VARIANCE_ATTRIBUTES",
    "WRAPPERS",
    "unknown_calls",
    "unknown_names",
]

_LINEAR, _DISCRETE, _GLM = (
    "statsmodels.regression.linear_model",
    "statsmodels.discrete.discrete_model",
    "statsmodels.genmod.generalized_linear_model",
)
_DISCRETE_RESULTS = (
    *("BinaryResults", "LogitResults", "L1BinaryResults", "CountResults", "PoissonResults", "L1CountResults"),
    *("L1PoissonResults", "NegativeBinomialResults", "L1NegativeBinomialResults"),
)
_STATSMODELS: Mapping[str, tuple[str, ...]] = {
    _LINEAR: ("OLS", "WLS", "GLS", "OLSResults", "RegressionResults", "RegressionResultsWrapper"),
    _GLM: ("GLM", "GLMResults", "GLMResultsWrapper"),
    _DISCRETE: (
        *("Logit", "Poisson", "NegativeBinomial"),
        *_DISCRETE_RESULTS,
        *(f"{name}Wrapper" for name in _DISCRETE_RESULTS),
    ),
    "statsmodels.base.elastic_net": ("RegularizedResults", "RegularizedResultsWrapper"),
    "statsmodels.base.l1_slsqp": ("fit_l1_slsqp",),
    "statsmodels.base.l1_cvxopt": ("fit_l1_cvxopt_cp",),
    "statsmodels.stats.sandwich_covariance": ("weights_bartlett", "weights_uniform"),
    "statsmodels.base._constraints": ("LinearConstraints",),
    "statsmodels.base.data": ("ModelData", "PandasData"),
    "statsmodels.genmod.families.family": ("Gaussian", "Binomial", "Poisson", "Gamma", "Tweedie", "NegativeBinomial"),
    "statsmodels.genmod.families.links": ("Identity", "Log", "Logit", "identity", "log", "logit"),
    "statsmodels.genmod.families.varfuncs": ("Power", "Binomial", "NegativeBinomial", "VarianceFunction"),
    "scipy.stats._stats_py": ("NormaltestResult",),
    "scipy.stats._morestats": ("NormaltestResult",),
}

_INDEXES = {
    "base": ("Index", "_new_Index"),
    "range": ("RangeIndex",),
    "multi": ("MultiIndex",),
    "category": ("CategoricalIndex",),
    "datetimes": ("DatetimeIndex", "_new_DatetimeIndex"),
    "timedeltas": ("TimedeltaIndex",),
    "period": ("PeriodIndex", "_new_PeriodIndex"),
    "numeric": ("Int64Index", "Float64Index", "UInt64Index"),
}
_ARRAYS = {
    "boolean": ("BooleanArray", "BooleanDtype"),
    "categorical": ("Categorical",),
    "datetimes": ("DatetimeArray",),
    "timedeltas": ("TimedeltaArray",),
    "period": ("PeriodArray",),
    "floating": ("FloatingArray", "Float64Dtype", "Float32Dtype"),
    "integer": (
        "IntegerArray",
        *(f"{sign}{size}Dtype" for sign in ("Int", "UInt") for size in (8, 16, 32, 64)),
    ),
    "string_": ("StringArray", "StringArrayNumpySemantics", "StringDtype"),
    "string_arrow": ("ArrowStringArray", "ArrowStringArrayNumpySemantics"),
}
_FRAMES = ("DataFrame", "Series")
_TOP = (
    *_FRAMES,
    *("Categorical", "CategoricalDtype", "DatetimeTZDtype", "PeriodDtype", "NA"),
    *(name for module, names in _INDEXES.items() if module != "numeric" for name in names if not name.startswith("_")),
    *(name for names in _ARRAYS.values() for name in names if name.endswith("Dtype")),
)
_PANDAS_DATA: Mapping[str, tuple[str, ...]] = {
    "pandas": _TOP,
    "pandas.core.frame": ("DataFrame",),
    "pandas.core.series": ("Series",),
    **{f"pandas.core.indexes.{module}": names for module, names in _INDEXES.items()},
    "pandas.arrays": tuple(name for names in _ARRAYS.values() for name in names if "Array" in name),
    **{f"pandas.core.arrays.{module}": names for module, names in _ARRAYS.items()},
    "pandas.core.dtypes.dtypes": ("CategoricalDtype", "DatetimeTZDtype", "PeriodDtype"),
    "pandas.core.internals.managers": ("BlockManager", "SingleBlockManager"),
    "pandas._libs.internals": ("_unpickle_block",),
    "pandas._libs.arrays": ("__pyx_unpickle_NDArrayBacked",),
    "pandas._libs.missing": ("NA", "NAType"),
    "pandas.api.typing": ("NAType",),
    "pandas._libs.tslibs.timestamps": ("_unpickle_timestamp",),
    "pandas._libs.tslibs.timedeltas": ("_timedelta_unpickle",),
    "pandas._libs.tslibs.nattype": ("_nat_unpickle",),
    "pandas._libs.tslibs.offsets": ("Day", "Hour", "MonthEnd", "MonthBegin", "BusinessDay", "Week", "QuarterEnd", "YearEnd"),
    "pyarrow.lib": ("_restore_array", "py_buffer", "type_for_alias"),
    "datetime": ("date", "datetime", "timedelta", "timezone"),
    "decimal": ("Decimal",),
}
_PLAIN: Mapping[str, tuple[str, ...]] = {
    **ARRAYS,
    "builtins": ("list", "dict", "tuple", "set", "frozenset", "slice", "bytes", "bytearray", "object"),
    "collections": ("OrderedDict",),
    "copyreg": ("_reconstructor",),
}

_KNOWN = class_paths(_STATSMODELS) | class_paths(_PANDAS_DATA) | class_paths(_PLAIN) | TYPES

_TESTS = frozenset(path for path in class_paths(_STATSMODELS) if path.startswith("scipy."))
_MAY_CALL = class_paths(_PANDAS_DATA) | class_paths(_PLAIN) | _TESTS
"""Callables that make data. A stored result calls nothing of statsmodels: its objects are made from their class alone."""

PANDAS = frozenset(f"{home}.{name}" for home, names in _PANDAS_DATA.items() for name in names if name in _FRAMES)
"""The classes of data frames and series."""

WRAPPERS = frozenset(path for path in class_paths(_STATSMODELS) if path.endswith("Wrapper"))
DATA_CLASSES = class_paths({"statsmodels.base.data": ("ModelData", "PandasData")})

RESULT_ATTRIBUTES = frozenset(
    (
        *("params", "model", "k_constant", "_data_attr", "_data_in_cache", "_data_attr_model", "normalized_cov_params"),
        *("scale", "_use_t", "_cache", "_wexog_singular_values", "df_model", "df_resid", "df_resid_inference", "cov_type"),
        *("cov_kwds", "cov_params_default", "_summary_cache", "_summary_statistics_cache", "diagn", "_nobs_int", "nobs"),
        *("n_groups", "het_scale", "HCCM", "regularized", "converged", "method", "fit_history", "history", "family"),
        *("_endog", "_freq_weights", "_var_weights", "_iweights", "_n_trials", "mle_settings", "mle_retvals"),
        *(
            "constraints",
            "k_constr",
            "results_constrained",
            "results_wls",
            "_separation_etext",
            "trimmed",
            "nnz_params",
            "iter",
        ),
    )
)
MODEL_ATTRIBUTES = frozenset(
    (
        *("data", "endog", "exog", "k_constant", "_data_attr", "_init_keys", "weights", "sigma", "cholsigmainv", "wexog"),
        *("wendog", "nobs", "_df_model", "_df_resid", "df_model", "df_resid", "rank", "pinv_wexog", "formula"),
        *("normalized_cov_params", "wexog_singular_values", "effects", "exog_Q", "exog_R", "freq_weights", "var_weights"),
        *("iweights", "wnobs", "family", "offset", "exposure", "n_trials", "_offset_exposure", "scaletype", "scale", "mu"),
        *("_exposure_name", "_offset_name", "_freq_weights_name", "_var_weights_name", "_has_freq_weights"),
        *("_has_var_weights", "_has_offset", "_has_exposure", "_optim_hessian", "_tmp_like_exog", "_check_rank", "k_extra"),
        *("raise_on_perfect_prediction", "loglike_method", "_transparams", "_cache", "missing_idx"),
    )
)
DATA_ATTRIBUTES = frozenset(
    (
        *("formula", "missing_row_idx", "endog", "exog", "orig_endog", "orig_exog", "const_idx", "k_constant", "_cache"),
        *("frame", "restore_model_spec", "restore_design_info"),
    )
)
FAMILY_ATTRIBUTES = frozenset(("n", "_check_link", "_link", "link", "variance", "var_power", "eql", "alpha"))
LINK_ATTRIBUTES = frozenset(("power",))
VARIANCE_ATTRIBUTES = frozenset(("power", "n", "alpha"))


def unknown_names(names: Iterable[str]) -> list[str]:
    """The names that are not on the list, sorted."""
    return sorted(set(names) - _KNOWN)


def unknown_calls(calls: Iterable[str]) -> list[str]:
    """The calls that no stored result makes, sorted."""
    return sorted(set(calls) - _MAY_CALL)
