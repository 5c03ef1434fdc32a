"""Constraints on the way: what a problem's document may ask of every step besides what the step type allows.

`Box` and `Sign` bind every value that a step gives to a feature; what does not move is not bound. A `Frozen` feature never
moves. `Order`: ``then`` may move only after ``first`` has moved, or in the same step where both are in one group or in "all
the rest". Where values in between are chosen, a step may be as small as none: the path then rests at the term of ``first``,
and ``then`` may move from there on. `Place`: of units that move once each, at which step the feature's moves. `Monotone`: no
model on the way costs more than the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.reading import (
    as_list,
    as_mapping,
    as_number,
    as_text,
    as_texts,
    optional,
    refuse_other_keys,
    spelled,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Box", "Constraint", "Constraints", "Frozen", "Monotone", "Order", "Place", "Sign", "parse_constraints"]

_KEYS = ("box", "sign", "frozen", "order", "place", "monotone")
_SIGNS = ("positive", "negative")
_REST = "rest"


@dataclass(frozen=True)
class Box:
    """Steps give the feature values from ``low`` to ``high``; None is no limit."""

    feature: str
    low: float | None
    high: float | None

    def __str__(self) -> str:
        return f"box {self.feature} [{_limit(self.low)}, {_limit(self.high)}]"


@dataclass(frozen=True)
class Sign:
    """Steps give the feature values of at least (``positive``) or at most 0."""

    feature: str
    positive: bool

    @property
    def low(self) -> float | None:
        """0 of a positive one."""
        return 0.0 if self.positive else None

    @property
    def high(self) -> float | None:
        """0 of a negative one."""
        return None if self.positive else 0.0

    def __str__(self) -> str:
        return f"sign {self.feature} {_SIGNS[not self.positive]}"


@dataclass(frozen=True)
class Frozen:
    """The feature never moves."""

    feature: str

    def __str__(self) -> str:
        return f"frozen {self.feature}"


@dataclass(frozen=True)
class Order:
    """``then`` moves only after ``first``."""

    first: str
    then: str

    def __str__(self) -> str:
        return f"order {self.first} → {self.then}"


@dataclass(frozen=True)
class Place:
    """The feature moves at this step; None: with all the rest, after the single steps."""

    feature: str
    step: int | None

    def __str__(self) -> str:
        return f"place {self.feature} {_REST if self.step is None else self.step}"


@dataclass(frozen=True)
class Monotone:
    """No model on the way costs more than the start."""

    def __str__(self) -> str:
        return "monotone"


Constraint = Box | Sign | Frozen | Order | Place | Monotone


@dataclass(frozen=True)
class Constraints:
    """All of a problem's, in the order of its document; each has a name of its own in messages (`str`)."""

    items: tuple[Constraint, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.items)

    @property
    def monotone(self) -> bool:
        """Whether no model on the way may cost more than the start."""
        return any(isinstance(item, Monotone) for item in self.items)

    @property
    def orders(self) -> tuple[Order, ...]:
        """Which features wait for which."""
        return tuple(item for item in self.items if isinstance(item, Order))

    @property
    def places(self) -> tuple[Place, ...]:
        """Which features move at which step."""
        return tuple(item for item in self.items if isinstance(item, Place))

    @property
    def frozen(self) -> frozenset[str]:
        """Features that never move."""
        return frozenset(item.feature for item in self.items if isinstance(item, Frozen))

    def limits(self, feature: str) -> tuple[Box | Sign, ...]:
        """What binds the values of a feature."""
        return tuple(item for item in self.items if isinstance(item, Box | Sign) and item.feature == feature)

    def interval(self, feature: str) -> tuple[float, float]:
        """The least and the largest value that steps may give to a feature."""
        limits = self.limits(feature)
        low = max((each.low for each in limits if each.low is not None), default=-float("inf"))
        return low, min((each.high for each in limits if each.high is not None), default=float("inf"))

    def after(self, steps: int) -> Constraints:
        """What is left of them once so many steps are made, by features with the first places."""
        placed = {each.feature: each.step for each in self.places if each.step is not None}
        left = (each for each in self.items if not isinstance(each, Place) or placed.get(each.feature, steps + 1) > steps)
        return Constraints(
            tuple(Place(i.feature, i.step - steps) if isinstance(i, Place) and i.step is not None else i for i in left)
        )

    def to_dict(self) -> dict[str, Any]:
        """The ``constraints`` entry of the problem document, without what is not asked."""
        document: dict[str, Any] = {
            "box": {each.feature: [each.low, each.high] for each in self.items if isinstance(each, Box)},
            "sign": {each.feature: _SIGNS[not each.positive] for each in self.items if isinstance(each, Sign)},
            "frozen": [each.feature for each in self.items if isinstance(each, Frozen)],
            "order": [[each.first, each.then] for each in self.orders],
            "place": {each.feature: _REST if each.step is None else each.step for each in self.places},
            "monotone": self.monotone,
        }
        return {key: entry for key, entry in document.items() if entry}


def parse_constraints(given: object, features: tuple[str, ...]) -> Constraints:
    """The constraints that a document asks for; null asks for none. `ProblemError` names the key that is wrong."""
    if given is None:
        return Constraints()
    entries = as_mapping(given, "constraints")
    refuse_other_keys(entries, _KEYS, "constraints.")
    items: list[Constraint] = []
    for feature, entry, where in _by_feature(entries, "box", features):
        low, high = _ends(entry, where)
        items.append(Box(feature, low, high))
    for feature, entry, where in _by_feature(entries, "sign", features):
        if entry not in _SIGNS:
            raise ProblemError(f"{where}: is {spelled(entry)}; give 'positive' (at least 0) or 'negative' (at most 0)")
        items.append(Sign(feature, entry == "positive"))
    frozen = as_texts(entries.get("frozen") or (), "constraints.frozen")
    items += [Frozen(_known(name, features, f"constraints.frozen[{i}]")) for i, name in enumerate(dict.fromkeys(frozen))]
    for i, pair in enumerate(as_list(entries.get("order") or (), "constraints.order")):
        where = f"constraints.order[{i}]"
        names = as_texts(pair, where)
        if len(names) != 2 or names[0] == names[1]:
            raise ProblemError(f"{where}: is {spelled(list(names))}; give two features, [first, then]")
        items.append(Order(*(_known(name, features, where) for name in names)))
    for feature, entry, where in _by_feature(entries, "place", features):
        items.append(Place(feature, None if entry == _REST else _step(entry, where)))
    monotone = entries.get("monotone", False)
    if not isinstance(monotone, bool):
        raise ProblemError(f"constraints.monotone: is {spelled(monotone)}; give true or false")
    return Constraints((*dict.fromkeys(items), *([Monotone()] if monotone else [])))


def _by_feature(entries: Mapping[str, Any], key: str, features: tuple[str, ...]) -> Iterator[tuple[str, object, str]]:
    where = f"constraints.{key}"
    for feature, entry in as_mapping(entries.get(key) or {}, where).items():
        yield _known(as_text(feature, where), features, where), entry, f"{where}.{feature}"


def _ends(entry: object, where: str) -> tuple[float | None, float | None]:
    ends = as_list(entry, where)
    if len(ends) != 2:
        raise ProblemError(f"{where}: has {len(ends)} entries; give [lo, hi], null for no limit")
    low, high = (optional(end, f"{where}[{i}]", as_number) for i, end in enumerate(ends))
    if low is not None and high is not None and low > high:
        raise ProblemError(f"{where}: [{_limit(low)}, {_limit(high)}] holds no value; give lo ≤ hi")
    return low, high


def _step(entry: object, where: str) -> int:
    if isinstance(entry, int) and not isinstance(entry, bool) and entry >= 1:
        return entry
    raise ProblemError(f"{where}: is {spelled(entry)}; give the number of a step, from 1 on, or {_REST!r}")


def _known(name: str, features: tuple[str, ...], where: str) -> str:
    if name not in features:
        raise ProblemError(f"{where}: {name!r} is not one of the features")
    return name


def _limit(value: float | None) -> str:
    return "null" if value is None else f"{value:g}"
