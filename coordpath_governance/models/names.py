"""The closed list of names that a stored model may hold, each by its exact module and name.

A file is read only if every name in it is on this list, wherever it occurs and whether it is used or not: an unknown name
could compute something else when the model is served. Names are compared as a whole, never by prefix. `_READ` are classes
whose attributes a reader uses. `_HARMLESS` may occur within them as settings and records, and change no prediction.
`_REBUILT` make plain containers and arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = [
    "ARRAYS",
    "FUNCTIONS",
    "KNOWN",
    "NUMPY_FUNCTIONS",
    "TYPES",
    "UFUNC_HOMES",
    "class_of",
    "class_paths",
    "skops_name",
    "unknown_names",
]


def class_paths(table: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """The full paths of a table that lists names by module."""
    return frozenset(f"{module}.{name}" for module, names in table.items() for name in names)


_READ: Mapping[str, tuple[str, ...]] = {
    "sklearn.pipeline": ("Pipeline", "FeatureUnion"),
    "sklearn.compose._column_transformer": ("ColumnTransformer", "_RemainderColsList", "make_column_selector"),
    "sklearn.impute._base": ("SimpleImputer", "MissingIndicator"),
    "sklearn.preprocessing._data": (
        *("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PowerTransformer", "QuantileTransformer"),
        *("Binarizer", "Normalizer"),
    ),
    "sklearn.preprocessing._discretization": ("KBinsDiscretizer",),
    "sklearn.preprocessing._polynomial": ("PolynomialFeatures", "SplineTransformer"),
    "sklearn.preprocessing._target_encoder": ("TargetEncoder",),
    "sklearn.preprocessing._encoders": ("OneHotEncoder", "OrdinalEncoder"),
    "sklearn.preprocessing._function_transformer": ("FunctionTransformer",),
    "sklearn.feature_selection._variance_threshold": ("VarianceThreshold",),
    "sklearn.feature_selection._rfe": ("RFE", "RFECV"),
    "sklearn.feature_selection._sequential": ("SequentialFeatureSelector",),
    "sklearn.feature_selection._from_model": ("SelectFromModel",),
    "sklearn.feature_selection._univariate_selection": (
        *("SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe", "GenericUnivariateSelect"),
    ),
    "sklearn.decomposition._pca": ("PCA",),
    "sklearn.decomposition._truncated_svd": ("TruncatedSVD",),
    "sklearn.linear_model._base": ("LinearRegression",),
    "sklearn.linear_model._ridge": ("Ridge", "RidgeCV", "RidgeClassifier", "RidgeClassifierCV"),
    "sklearn.linear_model._coordinate_descent": ("Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"),
    "sklearn.linear_model._least_angle": ("Lars", "LarsCV", "LassoLars", "LassoLarsCV", "LassoLarsIC"),
    "sklearn.linear_model._bayes": ("BayesianRidge", "ARDRegression"),
    "sklearn.linear_model._huber": ("HuberRegressor",),
    "sklearn.linear_model._theil_sen": ("TheilSenRegressor",),
    "sklearn.linear_model._ransac": ("RANSACRegressor",),
    "sklearn.linear_model._omp": ("OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV"),
    "sklearn.linear_model._quantile": ("QuantileRegressor",),
    "sklearn.linear_model._passive_aggressive": ("PassiveAggressiveRegressor", "PassiveAggressiveClassifier"),
    "sklearn.linear_model._perceptron": ("Perceptron",),
    "sklearn.linear_model._stochastic_gradient": ("SGDRegressor", "SGDClassifier"),
    "sklearn.linear_model._glm.glm": ("PoissonRegressor", "GammaRegressor", "TweedieRegressor"),
    "sklearn.linear_model._logistic": ("LogisticRegression", "LogisticRegressionCV"),
    "sklearn.svm._classes": ("LinearSVR", "LinearSVC"),
    "sklearn.calibration": ("CalibratedClassifierCV", "_CalibratedClassifier", "_SigmoidCalibration"),
    "sklearn.compose._target": ("TransformedTargetRegressor",),
    "sklearn.preprocessing._label": ("LabelBinarizer",),
    "sklearn.cross_decomposition._pls": ("PLSRegression",),
    "sklearn.model_selection._classification_threshold": (
        *("FixedThresholdClassifier", "TunedThresholdClassifierCV", "_CurveScorer"),
    ),
    "sklearn.model_selection._search": ("GridSearchCV", "RandomizedSearchCV"),
    "sklearn.model_selection._search_successive_halving": ("HalvingGridSearchCV", "HalvingRandomSearchCV"),
    "sklearn.metrics._scorer": ("_CurveScorer",),
    "sklearn.frozen._frozen": ("FrozenEstimator",),
    "sklearn._loss.loss": ("HalfPoissonLoss", "HalfGammaLoss", "HalfTweedieLoss", "HalfTweedieLossIdentity"),
    "sklearn._loss.link": ("LogLink", "IdentityLink"),
    "glum._glm": ("GeneralizedLinearRegressor",),
    "glum._glm_cv": ("GeneralizedLinearRegressorCV",),
    "glum._distribution": (
        *("NormalDistribution", "BinomialDistribution", "PoissonDistribution", "GammaDistribution", "TweedieDistribution"),
    ),
    "glum._link": ("IdentityLink", "LogLink", "LogitLink"),
}

_LOSSES = (
    *("CyHalfBinomialLoss", "CyHalfGammaLoss", "CyHalfPoissonLoss", "CyHalfTweedieLoss", "CyHalfTweedieLossIdentity"),
    *("CyHalfSquaredError", "CyHalfMultinomialLoss", "CyHuberLoss"),
)
_CY_LOSSES = (*_LOSSES, *(f"__pyx_unpickle_{loss}" for loss in _LOSSES))

_SGD = "sklearn.linear_model._sgd_fast"
_HARMLESS: Mapping[str, tuple[str, ...]] = {
    "sklearn._loss._loss": _CY_LOSSES,
    "_loss": _CY_LOSSES,
    "sklearn._loss.link": ("Interval",),
    _SGD: (
        *("Log", "Hinge", "SquaredHinge", "ModifiedHuber", "SquaredLoss", "Huber", "EpsilonInsensitive"),
        "SquaredEpsilonInsensitive",
    ),
    "sklearn.metrics._scorer": ("_PassthroughScorer", "_PredictScorer", "_ProbaScorer", "_ThresholdScorer", "_Scorer"),
    "sklearn.model_selection._split": (
        *("KFold", "StratifiedKFold", "GroupKFold", "TimeSeriesSplit", "RepeatedKFold", "RepeatedStratifiedKFold"),
        *("ShuffleSplit", "StratifiedShuffleSplit", "LeaveOneOut", "PredefinedSplit", "_CVIterableWrapper"),
    ),
    "sklearn.utils._metadata_requests": ("MetadataRequest", "MethodMetadataRequest", "MethodPair", "MetadataRouter"),
    "sklearn.utils._bunch": ("Bunch",),
    "scipy.interpolate._bsplines": ("BSpline",),
    "numpy.random._pickle": ("__randomstate_ctor", "__generator_ctor", "__bit_generator_ctor"),
    "numpy.random.bit_generator": ("SeedSequence", "__pyx_unpickle_SeedSequence"),
    "numpy.random.mtrand": ("RandomState",),
    "numpy.random._generator": ("Generator",),
    "numpy.random._mt19937": ("MT19937",),
    "numpy.random._pcg64": ("PCG64",),
    "numpy.random": ("RandomState", "Generator"),
    "numpy.ma.core": ("MaskedArray", "_mareconstruct"),
    "numpy.ma": ("MaskedArray",),
    "scipy.stats._distn_infrastructure": ("rv_continuous_frozen", "rv_discrete_frozen"),
    "scipy.stats._continuous_distns": ("reciprocal_gen", "uniform_gen", "norm_gen", "expon_gen", "lognorm_gen", "gamma_gen"),
    "scipy.stats._discrete_distns": ("randint_gen",),
    "pandas._libs.missing": ("NAType", "NA"),
    "pandas.api.typing": ("NAType",),
    "pandas": ("CategoricalDtype", "Index", "StringDtype"),
    "pandas.arrays": ("ArrowStringArray",),
    "pandas.core.dtypes.dtypes": ("CategoricalDtype",),
    "pandas.core.indexes.base": ("Index", "_new_Index"),
    "pandas.core.arrays.string_": ("StringDtype",),
    "pandas.core.arrays.string_arrow": ("ArrowStringArray",),
    "pyarrow.lib": ("_restore_array", "py_buffer", "type_for_alias"),
}

ARRAYS: Mapping[str, tuple[str, ...]] = {
    "numpy": ("ndarray", "dtype"),
    "numpy.core.multiarray": ("_reconstruct", "scalar"),
    "numpy._core.multiarray": ("_reconstruct", "scalar"),
    "numpy.core.numeric": ("_frombuffer",),
    "numpy._core.numeric": ("_frombuffer",),
    "_codecs": ("encode",),
}
"""Names with which pickles of any library make numpy's arrays, scalars and types."""

_REBUILT: Mapping[str, tuple[str, ...]] = {
    **ARRAYS,
    "builtins": ("list", "dict", "tuple", "set", "frozenset", "slice", "bytearray", "range", "complex", "object"),
    "collections": ("OrderedDict", "defaultdict"),
    "copyreg": ("_reconstructor",),
    "scipy.sparse._csr": ("csr_matrix", "csr_array"),
    "scipy.sparse._csc": ("csc_matrix", "csc_array"),
}

_NUMPY_TYPES = (
    *("bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intc", "uintc"),
    *("longlong", "ulonglong", "float16", "float32", "float64", "longdouble", "float128", "str_", "bytes_", "object_"),
    *("number", "integer", "floating", "signedinteger", "unsignedinteger", "generic"),
)
TYPES = class_paths({"numpy": _NUMPY_TYPES, "builtins": ("int", "float", "bool", "str", "bytes", "object")})
"""Types that settings may name: of columns, of outputs."""

NUMPY_FUNCTIONS = (
    *("log", "log1p", "log2", "log10", "sqrt", "cbrt", "exp", "expm1", "exp2", "square", "absolute", "negative"),
)
"""Functions of one number that a model may apply to a column or to its prediction."""

_SUMMARIES = ("max", "min", "amax", "amin", "mean", "median", "nanmax", "nanmin", "nanmean", "nanmedian")
"""Functions from which an imputer may have computed its values; a prediction uses the values only."""

UFUNC_HOMES = ("numpy", "numpy.core._multiarray_umath", "numpy._core._multiarray_umath")
"""Modules under which files store numpy's functions of one number: those of numpy 1 and 2, and the package itself."""

FUNCTIONS = class_paths(
    {
        **dict.fromkeys(UFUNC_HOMES, NUMPY_FUNCTIONS),
        "numpy": (*NUMPY_FUNCTIONS, *_SUMMARIES),
        "scipy._lib.array_api_compat.numpy._aliases": ("asarray",),
        "sklearn.metrics._regression": (
            *("mean_squared_error", "mean_absolute_error", "r2_score", "mean_squared_log_error", "median_absolute_error"),
            *("root_mean_squared_error", "root_mean_squared_log_error", "mean_absolute_percentage_error", "max_error"),
            *("explained_variance_score", "mean_poisson_deviance", "mean_gamma_deviance", "mean_tweedie_deviance"),
            *("mean_pinball_loss", "d2_absolute_error_score"),
        ),
        "sklearn.metrics._classification": (
            *("accuracy_score", "balanced_accuracy_score", "f1_score", "fbeta_score", "precision_score", "recall_score"),
            *("jaccard_score", "matthews_corrcoef", "cohen_kappa_score", "log_loss", "brier_score_loss", "zero_one_loss"),
        ),
        "sklearn.metrics._ranking": ("roc_auc_score", "average_precision_score", "top_k_accuracy_score"),
        "sklearn.metrics._scorer": ("_passthrough_scorer",),
        "sklearn.feature_selection._univariate_selection": ("f_regression", "f_classif", "r_regression", "chi2", "f_oneway"),
        "sklearn.feature_selection._mutual_info": ("mutual_info_regression", "mutual_info_classif"),
    }
)
"""Functions that a model may hold as a setting."""

KNOWN = class_paths(_READ) | class_paths(_HARMLESS) | class_paths(_REBUILT) | TYPES | FUNCTIONS

_CLASS_NAMES = {path: path.rpartition(".")[2] for path in class_paths(_READ)}


_SKOPS: Mapping[str, frozenset[str]] = {
    "ListNode": frozenset(("builtins.list",)),
    "TupleNode": frozenset(("builtins.tuple",)),
    "DictNode": frozenset(("builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch")),
    "SetNode": frozenset(("builtins.set",)),
    "SliceNode": frozenset(("builtins.slice",)),
    "NdArrayNode": frozenset(("numpy.ndarray", *(f"numpy.{name}" for name in _NUMPY_TYPES))),
    "MaskedArrayNode": frozenset(("numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray")),
    "DTypeNode": frozenset(("numpy.dtype",)),
    "RandomStateNode": frozenset(("numpy.random.mtrand.RandomState",)),
    "RandomGeneratorNode": frozenset(("numpy.random._generator.Generator",)),
    "SparseMatrixNode": class_paths({key: names for key, names in _REBUILT.items() if key.startswith("scipy.sparse.")}),
    "TypeNode": TYPES,
    "FunctionNode": FUNCTIONS,
    "LossNode": class_paths(dict.fromkeys(("_loss", "sklearn._loss._loss"), _LOSSES) | {_SGD: _HARMLESS[_SGD]}),
    "ConstructorFromReduceNode": class_paths({_SGD: _HARMLESS[_SGD]}),
    "ObjectNode": class_paths(_READ) | class_paths(_HARMLESS),
}
"""By kind of node of a skops archive: the names it may have. A JsonNode holds plain values whatever its class is."""


def skops_name(loader: str, path: str) -> str:
    """The name of a node of a skops archive; with the kind of node if nodes of that kind may not have this name."""
    if loader == "CachedNode":
        return "builtins.str"
    return path if path in _SKOPS.get(loader, frozenset()) and path in KNOWN else f"{path} ({loader})"


def class_of(path: str) -> str | None:
    """The name of a class of scikit-learn or glum that a reader reads; None for anything else."""
    return _CLASS_NAMES.get(path)


def unknown_names(names: Iterable[str]) -> list[str]:
    """The names that are not on the list, sorted."""
    return sorted(set(names) - KNOWN)
