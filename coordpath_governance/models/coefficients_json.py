"""``coefficients.json``: a linear model written down, schema ``coordpath.coefficients/1``.

Authors whose model we cannot read can declare it in this form, and a report stores its two models in it. It covers every
field of `LinearModel` except the provenance, and the round trip is exact:
``from_document(to_document(model)) == replace(model, provenance=Provenance())``, also through JSON text.

Required are ``schema``, ``intercept`` and at least one of ``numeric``, ``categorical`` and ``functions``. Any other key has
the default of `LinearModel`; the default of ``link`` is that of the family. A multinomial model has ``class_scores`` in
place of terms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from coordpath_governance.canonical import canonical_bytes, read_json
from coordpath_governance.errors import ModelReadError
from coordpath_governance.models.formats import DECLARED
from coordpath_governance.models.functions import MOST_COLUMNS, Curve, FunctionTerm, Piece, Shape
from coordpath_governance.models.kinds import LINKS, fault_of_kind
from coordpath_governance.models.linear_model import CategoricalTerm, LinearModel, NumericTerm, RawCoefficient
from coordpath_governance.models.maps import MAPS, Map, map_document
from coordpath_governance.models.tree import read_limited

__all__ = [
    "DECLARED",
    "SCHEMA",
    "declared_bytes",
    "from_document",
    "read_coefficients",
    "to_document",
    "with_source",
]

SCHEMA = "coordpath.coefficients/1"
_MAX_BYTES, _MAX_PARTS = 32 << 20, 3_000_000
_MOST = {"functions": 2_000, "pieces": 10_000, "shapes": 100, "maps": 1_000}
_MOST_NUMBERS = 20_000
"""`_MOST`: the most entries of a list, by its key; `_MOST_NUMBERS`: the most edges, knots or quantiles of a map."""

_Item = TypeVar("_Item")


def to_document(model: LinearModel) -> dict[str, object]:
    """The model as JSON values. Keys that mean nothing for a least-squares model are written for other models only."""
    kind: dict[str, object] = {"family": model.family, "link": model.link}
    if model.power is not None:
        kind["power"] = model.power
    if model.classes:
        kind["classes"] = list(model.classes)
    if model.class_scores:
        kind["class_scores"] = [_score_document(score, {}) for score in model.class_scores]
    if model.threshold is not None:
        kind["threshold"] = model.threshold
    if model.target_map:
        kind["target_map"] = [map_document(step) for step in model.target_map]
    return {"schema": SCHEMA, **_score_document(model, kind)}


def _score_document(model: LinearModel, kind: Mapping[str, object]) -> dict[str, object]:
    """One linear score, and the facts about it; ``kind`` holds the keys of a whole model."""
    return {
        "intercept": model.intercept,
        "has_intercept": model.has_intercept,
        "numeric": [
            {"column": term.column, "coefficient": term.coefficient, "missing": term.missing} for term in model.numeric
        ],
        "categorical": [_categorical_document(term) for term in model.categorical],
        **({"functions": [_function_document(term) for term in model.functions]} if model.functions else {}),
        **kind,
        "target": model.target,
        "estimator": model.estimator,
        "source": model.source,
        "regularisation": dict(model.regularisation),
        "raw": [{"name": coefficient.name, "value": coefficient.value} for coefficient in model.raw],
        "library": model.library,
        **({"remarks": list(model.remarks)} if model.remarks else {}),
    }


def _categorical_document(term: CategoricalTerm) -> dict[str, object]:
    """One categorical term. ``text_levels`` is written only if it is set."""
    return {
        "column": term.column,
        "levels": list(term.levels),
        "effects": list(term.effects),
        "unknown": term.unknown,
        "numeric_levels": term.numeric_levels,
        **({"text_levels": True} if term.text_levels else {}),
    }


def _function_document(term: FunctionTerm) -> dict[str, object]:
    pieces = [
        {"weight": piece.weight, "shapes": [_shape_document(shape) for shape in piece.shapes]} for piece in term.pieces
    ]
    return {"columns": list(term.columns), "pieces": pieces}


def _shape_document(shape: Shape) -> dict[str, object]:
    if isinstance(shape, CategoricalTerm):
        return _categorical_document(shape)
    return {"column": shape.column, "maps": [map_document(step) for step in shape.maps], "missing": shape.missing}


def from_document(document: Mapping[str, object]) -> LinearModel:
    """The model that a document describes.

    Raises `ModelReadError` for a key that is unknown, missing or of the wrong type, for duplicates, and for numbers that are
    not finite.
    """
    fields = _Fields(document, "")
    schema = fields.get("schema", None)
    if schema != SCHEMA:
        raise ModelReadError(f"the key 'schema' is {schema!r}; a coefficients file has the schema '{SCHEMA}'.")
    family = fields.choice("family", tuple(LINKS), "gaussian")
    model = replace(
        _score(fields, has_terms=not fields.has("class_scores")),
        family=family,
        link=fields.choice("link", tuple(dict.fromkeys(LINKS.values())), LINKS[family]),
        power=fields.optional_number("power"),
        classes=fields.texts("classes", ()),
        class_scores=fields.items("class_scores", _score),
        threshold=fields.optional_number("threshold"),
        target_map=fields.items("target_map", _map),
    )
    fields.refuse_others()
    fault = fault_of_kind(model)
    if fault is not None:
        raise ModelReadError(f"{fault}.")
    return model


def _score(fields: _Fields, *, has_terms: bool = True) -> LinearModel:
    """One linear score. A multinomial model as a whole has no terms, so the keys for terms may be missing there."""
    if has_terms and not any(map(fields.has, ("numeric", "categorical", "functions"))):
        both = f"'{fields.path('numeric')}' and '{fields.path('categorical')}'"
        raise ModelReadError(f"the keys {both} are both missing; give at least one.")
    model = LinearModel(
        intercept=fields.number("intercept") if has_terms or fields.has("intercept") else 0.0,
        numeric=fields.items("numeric", _numeric_term),
        categorical=fields.items("categorical", _categorical_term),
        functions=fields.items("functions", _function_term),
        has_intercept=fields.flag("has_intercept", True),
        target=None if fields.get("target", None) is None else fields.text("target"),
        estimator=fields.text("estimator", ""),
        source=fields.text("source", DECLARED),
        regularisation=MappingProxyType(fields.facts("regularisation")),
        raw=fields.items("raw", _raw_coefficient),
        library=fields.text("library", ""),
        remarks=fields.texts("remarks", ()),
    )
    _refuse_duplicates(fields.path("numeric"), [term.column for term in model.numeric])
    _refuse_duplicates(fields.path("categorical"), [term.column for term in model.categorical])
    _refuse_duplicates(fields.path("functions"), [term.name for term in model.functions])
    return model


def read_coefficients(path: Path) -> LinearModel:
    """Read a file of declared coefficients. The ``source`` of the model says that it is declared, whatever the file claims.

    Raises `ModelReadError` if the file cannot be read or describes no model.
    """
    data = read_limited(path, _MAX_BYTES, "file")
    document = read_json(data, str(path), ModelReadError, max_parts=_MAX_PARTS)
    if not isinstance(document, dict):
        raise ModelReadError(f"{path}: this is not a JSON object; write it with coordpath_governance.models.to_document.")
    try:
        return replace(with_source(from_document(document), DECLARED), remarks=())
    except ModelReadError as error:
        raise ModelReadError(f"{path}: {error}") from error


def with_source(model: LinearModel, source: str) -> LinearModel:
    """The same model with ``source`` as the source of all its scores."""
    return replace(model, source=source, class_scores=tuple(replace(score, source=source) for score in model.class_scores))


def declared_bytes(model: LinearModel) -> bytes:
    """The canonical JSON of the document that declares a model, whatever its source is.

    Two files that describe the same model have the same bytes, whatever the order of their keys and the keys left out.
    """
    return canonical_bytes(to_document(replace(with_source(model, DECLARED), remarks=())))


def _numeric_term(fields: _Fields) -> NumericTerm:
    return NumericTerm(fields.text("column"), fields.number("coefficient"), fields.optional_number("missing"))


def _categorical_term(fields: _Fields) -> CategoricalTerm:
    levels, effects = fields.texts("levels"), fields.numbers("effects")
    if len(levels) != len(effects):
        raise fields.error("effects", f"has {len(effects)} entries for {len(levels)} levels; give one for each")
    _refuse_duplicates(fields.path("levels"), levels)
    return CategoricalTerm(
        fields.text("column"),
        levels,
        effects,
        fields.optional_number("unknown"),
        numeric_levels=fields.flag("numeric_levels", False),
        text_levels=fields.flag("text_levels", False),
    )


def _function_term(fields: _Fields) -> FunctionTerm:
    term = FunctionTerm(fields.texts("columns"), fields.items("pieces", _piece))
    if not term.columns or list(term.columns) != sorted(set(term.columns)):
        raise fields.error("columns", "is not a list of different columns in the order of their names")
    if len(term.columns) > MOST_COLUMNS:
        raise fields.error("columns", f"has {len(term.columns)} columns; an interaction has at most {MOST_COLUMNS}")
    if any(not piece.columns <= set(term.columns) for piece in term.pieces):
        raise fields.error("pieces", "looks at a column that is not among 'columns'")
    return term


def _piece(fields: _Fields) -> Piece:
    piece = Piece(fields.number("weight"), fields.items("shapes", _shape))
    if not piece.shapes:
        raise fields.error("shapes", "is empty; a constant belongs into the intercept")
    return piece


def _shape(fields: _Fields) -> Shape:
    if fields.has("levels"):
        return _categorical_term(fields)
    return Curve(fields.text("column"), fields.items("maps", _map), fields.optional_number("missing"))


def _map(fields: _Fields) -> Map:
    kind = MAPS[fields.choice("kind", tuple(MAPS))]
    values: dict[str, Any] = {}
    for field in dataclass_fields(kind):
        if field.type == "tuple[float, ...]":
            values[field.name] = fields.numbers(field.name)
            if len(values[field.name]) > _MOST_NUMBERS:
                raise fields.error(field.name, f"has {len(values[field.name])} numbers; at most {_MOST_NUMBERS} are read")
        elif field.type == "float":
            values[field.name] = fields.number(field.name)
        elif field.type == "float | None":
            values[field.name] = fields.optional_number(field.name)
        elif field.type == "int":
            number = fields.number(field.name)
            values[field.name] = int(number) if number.is_integer() else number
        else:
            values[field.name] = fields.text(field.name)
    try:
        return kind(**values)
    except ValueError as error:
        raise fields.error("kind", f"has numbers that make no map: {error}") from error


def _raw_coefficient(fields: _Fields) -> RawCoefficient:
    return RawCoefficient(fields.text("name"), fields.number("value"))


def _refuse_duplicates(key: str, values: list[str] | tuple[str, ...]) -> None:
    if len(set(values)) != len(values):
        twice = Counter(values).most_common(1)[0][0]
        raise ModelReadError(f"the key '{key}' has {twice!r} twice; keep one of them.")


class _Fields:
    """The keys of one JSON object. Each is read by its type; a key that nobody has read is unknown."""

    def __init__(self, document: object, prefix: str) -> None:
        self._prefix = prefix
        if not isinstance(document, Mapping):
            raise ModelReadError(f"the key '{prefix.rstrip('.')}' has an entry that is not an object.")
        self._values = document
        self._read: set[str] = set()

    def path(self, key: str) -> str:
        return f"{self._prefix}{key}"

    def error(self, key: str, reason: str) -> ModelReadError:
        return ModelReadError(f"the key '{self.path(key)}' {reason}.")

    def has(self, key: str) -> bool:
        return key in self._values

    def get(self, key: str, *default: object) -> object:
        self._read.add(key)
        if key not in self._values and not default:
            raise self.error(key, "is missing")
        return self._values[key] if key in self._values else default[0]

    def text(self, key: str, *default: str) -> str:
        return self._text(key, self.get(key, *default))

    def texts(self, key: str, *default: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._text(key, value) for value in self._list(key, self.get(key, *default)))

    def number(self, key: str) -> float:
        return self._number(key, self.get(key))

    def numbers(self, key: str) -> tuple[float, ...]:
        return tuple(self._number(key, value) for value in self._list(key, self.get(key)))

    def optional_number(self, key: str) -> float | None:
        value = self.get(key, None)
        return None if value is None else self._number(key, value)

    def flag(self, key: str, default: bool) -> bool:
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, f"is {value!r}; write true or false")
        return value

    def choice(self, key: str, choices: tuple[str, ...], *default: str) -> str:
        value = self.text(key, *default)
        if value not in choices:
            raise self.error(key, f"is {value!r}; known are {', '.join(choices)}")
        return value

    def items(self, key: str, make: Callable[[_Fields], _Item]) -> tuple[_Item, ...]:
        items: list[_Item] = []
        values = self._list(key, self.get(key, []))
        if len(values) > _MOST.get(key, len(values)):
            raise self.error(key, f"has {len(values)} entries; at most {_MOST[key]} are read")
        for position, value in enumerate(values):
            fields = _Fields(value, f"{self.path(key)}[{position}].")
            items.append(make(fields))
            fields.refuse_others()
        return tuple(items)

    def facts(self, key: str) -> dict[str, float | str | bool | None]:
        value = self.get(key, {})
        if not isinstance(value, Mapping):
            raise self.error(key, "is not an object")
        return {
            self._text(key, name): fact if fact is None or isinstance(fact, (str, bool)) else self._number(key, fact)
            for name, fact in value.items()
        }

    def refuse_others(self) -> None:
        unknown = [key for key in self._values if key not in self._read]
        if unknown:
            raise self.error(str(unknown[0]), f"is unknown; known are {', '.join(sorted(self._read))}")

    def _list(self, key: str, value: object) -> list[object] | tuple[object, ...]:
        if not isinstance(value, (list, tuple)):
            raise self.error(key, "is not a list")
        return value

    def _text(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            raise self.error(key, f"has {value!r} where text belongs")
        return value

    def _number(self, key: str, value: object) -> float:
        try:
            number = math.nan if isinstance(value, bool) or not isinstance(value, (int, float)) else float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error(key, f"has {repr(value)[:50]} where a finite number belongs")
        return number
