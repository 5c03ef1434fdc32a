"""From an updated `LinearModel` back to the coefficients of the stored estimator: the folding, inverted.

Scalers, encoders, a calibration and a transformed target make every number of the model a linear function of the
estimator's ``coef_`` and ``intercept_``. This function is found by folding the same model with unit vectors in their place,
so that there is no second description of any preprocessing that could differ from the first. The equations are solved by
groups: coefficients that share no number of the model are in different groups, and a group in which nothing changes keeps
its coefficients to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from coordpath_governance.errors import UpdateError
from coordpath_governance.models.flows import CombinedFlow, Flow, LevelFlow, TableFlow
from coordpath_governance.models.glum_models import GLUM
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.model_numbers import INTERCEPT, ModelNumbers, Place, numbers_of
from coordpath_governance.models.sklearn_folding import Folded, fold_with_estimator
from coordpath_governance.models.tree import ArchivedObject, with_object

__all__ = ["WAY_OUT", "RawNumbers", "difference", "raw_numbers"]

WAY_OUT = (
    "Write the update down with cg.to_coefficients(update, 'coefficients.json') and declare it, or fit such a model and log "
    "it."
)

_ROUNDS = 6
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
_MOST_NAMED = 3
_FACTS = ("family", "link", "power", "classes", "threshold", "target_map")

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RawNumbers:
    """New values of ``coef_`` and ``intercept_`` of one estimator in a tree, as far as they change.

    ``root`` is the tree with these values, and ``model`` is what it is read as.
    """

    estimator: ArchivedObject
    attributes: dict[str, object]
    root: object
    model: LinearModel


def raw_numbers(root: object, column_names: Sequence[str] | None, updated: LinearModel) -> RawNumbers:
    """The estimator's numbers with which the stored model is ``updated``, up to rounding.

    ``root`` is the tree of a file that we read, ``column_names`` are those of its signature. Where the encoder drops a
    level, the effect of that level stays, and a change of it moves the intercept and the other levels instead: the function
    is the same. Otherwise the numbers of the result differ from those of ``updated`` by at most 64 units in the last place
    of the terms that they are the sum of. Raises `UpdateError` if no values of ``coef_`` and ``intercept_`` give the update.
    """
    folded = fold_with_estimator(root, column_names)
    if folded.estimator.class_name in GLUM:
        raise UpdateError(f"the champion is a {folded.estimator.class_name} of glum, which is not written. {WAY_OUT}")
    for fact in _FACTS:
        if getattr(updated, fact) != getattr(folded.model, fact):
            raise UpdateError(
                f"the update has another {fact.replace('_', ' ')} than the champion; only its numbers may differ."
            )
    if len(updated.class_scores) != len(folded.model.class_scores):
        raise UpdateError("the update has another number of scores than the champion; only its numbers may differ.")
    return _Inverse(_Estimator(root, column_names, folded), updated).solve()


def difference(new: ModelNumbers, old: ModelNumbers) -> dict[Place, float]:
    """New minus old, wherever they differ. Raises `UpdateError` if only one of them raises at a place."""
    apart: dict[Place, float] = {}
    for place in dict.fromkeys((*old.values, *new.values)):
        after, before = new.at(place), old.at(place)
        if (after is None) != (before is None):
            raise UpdateError(
                f"{place.label}: only one of the update and the champion raises an error there, and what a model raises on "
                f"lies in its encoders, not in its coefficients. {WAY_OUT}"
            )
        if after is not None and before is not None and after != before:
            apart[place] = after - before
    return apart


def _scores(model: LinearModel) -> tuple[ModelNumbers, ...]:
    return tuple(numbers_of(score) for score in model.class_scores or (model,))


class _Estimator:
    """The stored estimator, and the model that it makes with other coefficients."""

    def __init__(self, root: object, column_names: Sequence[str] | None, folded: Folded) -> None:
        self._root, self._column_names, self.folded = root, column_names, folded
        stored = folded.estimator.attributes
        self._coef, self._intercept = np.asarray(stored["coef_"]), stored["intercept_"]
        count = len(folded.model.class_scores) or 1
        self.weights: Array = self._coef.astype(np.float64).reshape(count, len(folded.frame))
        intercept = np.asarray(self._intercept, dtype=np.float64).reshape(-1)
        self.intercepts: Array = np.broadcast_to(intercept, (count,)).copy()

    def changed(self, weights: Array, intercepts: Array) -> RawNumbers:
        """The tree and the model with these coefficients. What does not change stays as it is stored."""
        attributes: dict[str, object] = {}
        if not np.array_equal(weights, self.weights):
            attributes["coef_"] = weights.reshape(self._coef.shape).copy()
        if not np.array_equal(intercepts, self.intercepts):
            attributes["intercept_"] = self._as_stored(intercepts)
        old = self.folded.estimator
        new = replace(old, attributes={**old.attributes, **attributes})
        root = with_object(self._root, old, new)
        return RawNumbers(old, attributes, root, fold_with_estimator(root, self._column_names).model)

    def scores(self, weights: Array, intercepts: Array) -> tuple[ModelNumbers, ...]:
        """The numbers of the scores with these coefficients."""
        return _scores(self.changed(weights, intercepts).model)

    def _as_stored(self, intercepts: Array) -> object:
        """Intercepts in the form in which they are stored. A classifier has an array, even if it stored a single zero."""
        if isinstance(self._intercept, np.ndarray):
            return intercepts.reshape(self._intercept.shape).copy()
        if self.folded.model.classes:
            return intercepts.copy()
        return float(intercepts[0]) if isinstance(self._intercept, float | int) else np.float64(intercepts[0])


class _Inverse:
    """The equations between the estimator's coefficients and the numbers of the updated model."""

    def __init__(self, estimator: _Estimator, updated: LinearModel) -> None:
        self._estimator = estimator
        self._new = _scores(updated)
        for place, value in (item for numbers in self._new for item in numbers.values.items()):
            if value is not None and not math.isfinite(value):
                raise UpdateError(f"{place.label} is {value} in the update; give a finite number.")
        self._old = _scores(estimator.folded.model)
        changed = [place for new, old in zip(self._new, self._old, strict=True) for place in difference(new, old)]
        self._changed = tuple(dict.fromkeys(changed))
        self._columns = _columns_of(estimator.folded, self._changed)
        base, units = self._probe()
        values = (place for numbers in (base, *units) for place, value in numbers.values.items() if value is not None)
        self._places = {place: row for row, place in enumerate(dict.fromkeys((INTERCEPT, *values)))}
        lines = [[(unit.at(place) or 0.0) - (base.at(place) or 0.0) for unit in units] for place in self._places]
        self._matrix: Array = np.array(lines)
        self._groups = _groups(self._matrix[1:, 1:])
        self._new = tuple(self._recoded(new, old) for new, old in zip(self._new, self._old, strict=True))

    def _recoded(self, new: ModelNumbers, old: ModelNumbers) -> ModelNumbers:
        """The same function with the old effect of every dropped level: other effects and the intercept move instead."""
        values = dict(new.values)
        for place, line in zip(self._places, self._matrix, strict=True):
            after, before = new.at(place), old.at(place)
            if place.kind != "level" or line.any() or after is None or before is None or after == before:
                continue
            shift = before - after
            for each in [each for each in values if each.kind in ("level", "unknown") and each.columns == place.columns]:
                values[each] = None if values[each] is None else _sum(values[each], shift)
            values[place] = before
            values[INTERCEPT] = _sum(values[INTERCEPT], -shift)
            new = ModelNumbers(values)
        return ModelNumbers(values)

    def _probe(self) -> tuple[ModelNumbers, list[ModelNumbers]]:
        """The model's numbers with all coefficients zero, and with one of them 1: the intercept, then each column."""
        zero, none = np.zeros_like(self._estimator.weights), np.zeros_like(self._estimator.intercepts)
        units = [self._estimator.scores(zero, none + 1.0)[0]]
        for column in self._columns:
            weights = zero.copy()
            weights[:, column] = 1.0
            units.append(self._estimator.scores(weights, none)[0])
        return self._estimator.scores(zero, none)[0], units

    @np.errstate(all="ignore")
    def solve(self) -> RawNumbers:
        """Solve, fold, and solve for what is left, until rounding leaves no more to be gained.

        Coefficients that overflow are refused by the fold.
        """
        weights, intercepts = self._estimator.weights.copy(), self._estimator.intercepts.copy()
        best, least = None, np.inf
        excess: list[dict[Place, float]] = []
        for _ in range(_ROUNDS):
            result = self._estimator.changed(weights, intercepts)
            left = [difference(new, now) for new, now in zip(self._new, _scores(result.model), strict=True)]
            excesses = [self._excess(apart, weights[c], intercepts[c], c) for c, apart in enumerate(left)]
            worst = max((value for each in excesses for value in each.values()), default=0.0)
            if best is None or worst < least:
                best, least, excess = result, worst, excesses
            if worst == 0.0:
                break
            for score, apart in enumerate(left):
                self._correct(apart, weights[score], intercepts, score)
        beyond = [place for each in excess for place, value in each.items() if value > 1.0]
        if best is None or beyond:
            raise self._unreachable(beyond)
        return best

    def _correct(self, apart: dict[Place, float], weights: Array, intercepts: Array, score: int) -> None:
        """Change the coefficients of one score, in place, by what its numbers lack."""
        lacking = np.array([apart.get(place, 0.0) for place in self._places])
        steps = np.zeros(len(self._columns))
        for rows, columns in self._groups:
            if lacking[1:][rows].any():
                steps[columns] = _least_squares(self._matrix[1:, 1:][np.ix_(rows, columns)], lacking[1:][rows])
        weights[self._columns] += steps
        gain = self._matrix[0, 0]
        if gain:
            intercepts[score] += (lacking[0] - self._matrix[0, 1:] @ steps) / gain

    def _excess(self, apart: dict[Place, float], weights: Array, intercept: float, score: int) -> dict[Place, float]:
        """By place, how many times larger the difference is than rounding can make it."""
        excess = {}
        for place, size in apart.items():
            scale = abs(self._new[score].at(place) or 0.0) + abs(self._old[score].at(place) or 0.0)
            if place in self._places:
                line = self._matrix[self._places[place]]
                scale += float(np.abs(line[1:]) @ np.abs(weights[self._columns])) + abs(line[0] * intercept)
            excess[place] = abs(size) / (_ROUNDING * scale) if scale else np.inf
        return excess

    def _unreachable(self, beyond: Iterable[Place]) -> UpdateError:
        numbers = tuple(beyond)
        wanted = [place for place in numbers if place in self._changed and place != INTERCEPT] or list(numbers)
        some = ", ".join(place.label for place in wanted[:_MOST_NAMED]) + (", ..." if len(wanted) > _MOST_NAMED else "")
        name = self._estimator.folded.estimator.class_name
        return UpdateError(
            f"no coefficients of the champion's {name} make this update: {some} cannot be changed alone, because the "
            f"preprocessing drops it or ties it to other numbers of the model. {WAY_OUT}"
        )


def _sum(number: float | None, shift: float) -> float:
    return (number or 0.0) + shift


def _columns_of(folded: Folded, places: Iterable[Place]) -> list[int]:
    """The estimator's columns that can change numbers at these places, and all that share raw columns with them."""
    position = {name: at for at, name in enumerate(folded.inputs)}
    sources = [_sources(flow) for flow in folded.frame.flows]
    wanted = {position[name] for place in places for name in place.columns if name in position}
    while True:
        chosen = [column for column, used in enumerate(sources) if used & wanted]
        wider = wanted.union(*(sources[column] for column in chosen))
        if wider == wanted:
            return chosen
        wanted = wider


def _sources(flow: Flow) -> frozenset[int]:
    """The positions of the raw columns that a column is made from."""
    if isinstance(flow, CombinedFlow):
        return frozenset().union(*(_sources(factor) for _, factors in flow.parts for factor in factors))
    return frozenset((flow.encoding.source if isinstance(flow, LevelFlow | TableFlow) else flow.source,))


def _groups(matrix: Array) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows and columns of the blocks of a matrix; rows and columns of zeros alone belong to none."""
    rows, columns = matrix.shape
    at = np.nonzero(matrix)
    graph = coo_array((np.ones(len(at[0])), (at[0], at[1] + rows)), shape=(rows + columns, rows + columns))
    count, labels = connected_components(graph, directed=False)
    members = [(np.flatnonzero(labels[:rows] == label), np.flatnonzero(labels[rows:] == label)) for label in range(count)]
    return [(low, high) for low, high in members if len(low) and len(high)]


def _least_squares(matrix: Array, values: Array) -> Array:
    """The shortest solution of least squares, with rows and columns scaled to comparable sizes."""
    by_row = np.abs(matrix).max(axis=1)
    scaled = matrix / by_row[:, None]
    by_column = np.abs(scaled).max(axis=0)
    solution: Array = np.linalg.lstsq(scaled / by_column, values / by_row, rcond=None)[0] / by_column
    return solution
