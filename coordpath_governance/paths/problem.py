"""PathProblem: the question a path answers, and the units that move in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.quadratic import QuadraticCost
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.conflicts import check_constraints
from coordpath_governance.paths.constraints import Constraints
from coordpath_governance.paths.row_orders.evaluated_sets import EvaluatedSets
from coordpath_governance.paths.row_orders.recorded_cost import RecordedCost, RecordedSets
from coordpath_governance.paths.step_types import COORDINATE, GridSteps, StepType, fewest_steps
from coordpath_governance.paths.weights import GeometricWeights, Weights, checked_alphas

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.costs.glm import GlmCost
    from coordpath_governance.paths.path import StepKind

__all__ = [
    "BASELINE",
    "LONGEST",
    "REST_LABEL",
    "SOLVERS",
    "PathProblem",
    "StepRange",
    "Unit",
    "check_features",
    "check_solver",
]

BASELINE = "(baseline)"
"""The feature that stands for the average score; its step has a kind of its own."""

REST_LABEL = "all the rest"

SOLVERS = ("auto", "exact", "quick", "local", "greedy", "direct", "gurobi")
"""The names the contract knows; ``paths.solvers`` maps them to code."""

LONGEST = 200
"""Most terms of a path beyond one for every changed unit."""


@dataclass(frozen=True)
class StepRange:
    """Between ``least`` and ``most`` terms; the loss chooses."""

    least: int
    most: int

    def __post_init__(self) -> None:
        if self.least < 1 or self.most < self.least:
            raise ProblemError(f"steps: the range {self.least} to {self.most} is empty; give 1 ≤ min ≤ max")


@dataclass(frozen=True)
class Unit:
    """Coordinates that move together: one feature, the baseline, or a group."""

    label: str
    kind: StepKind
    members: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PathProblem:
    """min Σₖ αₖ c(βₖ) over paths that change one unit a step, from ``start`` to ``target`` (None: any end).

    ``steps`` None: every changed unit moves exactly once, or as often as its step type needs to reach the target. ``steps``
    N or a range: that many terms, and units may be visited again. ``max_steps`` m: the best m single steps, then all the
    rest at once. ``constraints`` bind every path.
    """

    features: tuple[str, ...]
    cost: QuadraticCost | GlmCost | RecordedCost
    start: NDArray[np.float64]
    target: NDArray[np.float64] | None = None
    steps: int | StepRange | None = None
    max_steps: int | None = None
    groups: tuple[tuple[str, ...], ...] = ()
    weights: Weights = field(default_factory=GeometricWeights)
    solver: str = "auto"
    time_limit: float | None = None
    seed: int = 0
    step_type: StepType = COORDINATE
    constraints: Constraints = field(default_factory=Constraints)
    units: tuple[Unit, ...] = field(init=False, repr=False)
    changed: tuple[Unit, ...] = field(init=False, repr=False)
    fewest: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        features = tuple(self.features)
        check_features(features)
        if len(features) != self.cost.size:
            raise ProblemError(f"features: {len(features)} names for a cost of {self.cost.size} coordinates; give as many")
        start = _coefficients(self.start, "start", len(features))
        target = None if self.target is None else _coefficients(self.target, "target", len(features))
        units = _units(features, self.groups)
        changed: tuple[Unit, ...] = ()
        if target is not None:
            moved = start != target
            changed = tuple(
                Unit(unit.label, unit.kind, tuple(i for i in unit.members if moved[i]))
                for unit in units
                if moved[list(unit.members)].any()
            )
        for name, value in (
            ("features", features),
            ("start", start),
            ("target", target),
            ("units", units),
            ("changed", changed),
        ):
            object.__setattr__(self, name, value)
        self._check_steps()
        self._check_counts()
        check_constraints(self)
        self._check_record()
        check_solver(self.solver, self.target)
        if self.time_limit is not None and not (np.isfinite(self.time_limit) and self.time_limit >= 0):
            raise ProblemError(f"time_limit: {self.time_limit} is not a number of seconds; give 0 or more, or null")
        if not 0 <= self.seed < 2**63:
            raise ProblemError(f"seed: {self.seed} is not an integer from 0 to 2⁶³−1")
        for terms in {self.least_terms, self.most_terms}:
            checked_alphas(self.weights, terms)

    @property
    def quadratic(self) -> QuadraticCost:
        """The cost, where only a quadratic one will do."""
        if isinstance(self.cost, QuadraticCost):
            return self.cost
        raise ProblemError("cost.kind: this needs a quadratic cost; `solve` takes others")

    @cached_property
    def sets(self) -> EvaluatedSets:
        """What was asked of a cost that is not quadratic about sets of moved units."""
        depth = self.singles
        if isinstance(self.cost, RecordedCost):
            return EvaluatedSets(RecordedSets(self.cost), depth, self.cost.evaluations, self.cost.aim)
        from coordpath_governance.costs.glm import GlmCost
        from coordpath_governance.paths.row_orders.sets_on_rows import SetsOnRows

        if isinstance(self.cost, GlmCost) and self.target is not None:
            return EvaluatedSets(SetsOnRows(self, self.cost), depth)
        raise ProblemError("target: sets of moved units need a target, and a cost that is not quadratic")

    def _check_record(self) -> None:
        if not isinstance(self.cost, RecordedCost):
            return
        if not self.moves_once:
            raise ProblemError("cost.record: is of sets of moved units, so every unit moves once; leave steps null")
        if len(self.cost.curvature) != len(self.changed):
            raise ProblemError(
                f"cost.record.curvature: is for {len(self.cost.curvature)} units, but {len(self.changed)} change"
            )

    def _check_counts(self) -> None:
        if self.max_steps is not None:
            if self.steps is not None:
                raise ProblemError("max_steps: contradicts steps; give one of them and leave the other null")
            if self.target is None:
                raise ProblemError("max_steps: needs a target, since the rest moves there at once; give steps instead")
            if self.max_steps < 1:
                raise ProblemError(f"max_steps: {self.max_steps} is too small; give at least 1")
        if self.target is None and self.steps is None:
            raise ProblemError("steps: a free end (target null) needs a number of steps; give an integer or a range")
        if isinstance(self.steps, int) and self.steps < 1:
            raise ProblemError(f"steps: {self.steps} is too small; give at least 1")
        if self.steps is not None:
            most = self.steps if isinstance(self.steps, int) else self.steps.most
            if most < self.fewest:
                units = f"{len(self.changed)} units one at a time"
                if self.fewest > len(self.changed):
                    units += f", which takes {self.fewest} steps of the type {self.step_type.name!r}"
                raise ProblemError(f"steps: {most} are too few to change {units}; give more, or use max_steps")
            longest = LONGEST + len(self.changed)
            if most > longest:
                raise ProblemError(f"steps: {most} is more than {longest}, the longest path that is solved here")
        elif self.fewest > len(self.changed) + LONGEST:
            raise ProblemError(
                f"target: takes {self.fewest} steps of the type {self.step_type.name!r}, and no more than "
                f"{len(self.changed) + LONGEST} are solved here; give a nearer one, or another step_type"
            )

    def _check_steps(self) -> None:
        """The target can be reached by steps of the type: in one of each unit, if every unit moves once."""
        needed = [self._fewest_of(unit) for unit in self.changed]
        object.__setattr__(self, "fewest", sum(needed))
        several = next((unit for unit, steps in zip(self.changed, needed, strict=True) if steps > 1), None)
        if several is not None and (len(several.members) > 1 or self.max_steps is not None):
            raise ProblemError(
                f"{'max_steps' if self.max_steps is not None else 'groups'}: every unit would move once, but from start to "
                f"target {several.label!r} needs more than one step of the type {self.step_type.name!r}; leave it out"
            )
        if self.moves_once:
            for i in (i for unit in self.changed for i in unit.members):
                if not self.step_type.allows(*self._ends(i)):
                    raise self._unreachable(i)
        grouped = next((unit for unit in self.units if len(unit.members) > 1), None)
        if isinstance(self.step_type, GridSteps) and grouped is not None and not self.moves_once:
            raise ProblemError(
                f"groups: {grouped.label!r}: with steps of the type {self.step_type.name!r} groups move only where every "
                "unit moves once; leave steps null, or take the groups apart"
            )

    def _fewest_of(self, unit: Unit) -> int:
        """How many steps a changed unit needs at least to reach its target."""
        most = 1
        for i in unit.members:
            steps = fewest_steps(self.step_type, *self._ends(i))
            if steps is None:
                raise self._unreachable(i)
            most = max(most, steps)
        return most

    def _ends(self, i: int) -> tuple[float, float]:
        """Where a feature begins and ends; where it begins, if the end is free."""
        start = float(self.start[i])
        return start, start if self.target is None else float(self.target[i])

    def _unreachable(self, i: int) -> ProblemError:
        before, after = self._ends(i)
        return ProblemError(
            f"target[{i}]: steps of the type {self.step_type.name!r} do not lead from {before} to {after} "
            f"({self.features[i]!r}); give a target that they reach, or another step_type"
        )

    @property
    def moves_once(self) -> bool:
        """Whether every changed unit moves exactly once, so that only the order is open."""
        return self.target is not None and self.fewest == len(self.changed) >= self.most_terms

    @property
    def singles(self) -> int:
        """Number of single steps when every unit moves once: all of them, or ``max_steps``."""
        return len(self.changed) if self.max_steps is None else min(self.max_steps, len(self.changed))

    @property
    def least_terms(self) -> int:
        """Smallest K of the objective; a range is raised to the fewest steps that reach the target."""
        if isinstance(self.steps, StepRange):
            return max(self.steps.least, self.fewest)
        return self.most_terms

    @property
    def most_terms(self) -> int:
        """Largest K of the objective: m + 1 when a rest remains after m single steps."""
        if isinstance(self.steps, StepRange):
            return self.steps.most
        if self.steps is not None:
            return self.steps
        if self.max_steps is None:
            return self.fewest
        return self.singles + (self.singles < len(self.changed))

    def alphas(self, terms: int) -> NDArray[np.float64]:
        """α₁ … α_K, checked."""
        return checked_alphas(self.weights, terms)


def check_features(features: tuple[str, ...]) -> None:
    """At least one name, and none twice."""
    if not features:
        raise ProblemError("features: is empty; name at least one")
    names: set[str] = set()
    for i, name in enumerate(features):
        if name in names:
            raise ProblemError(f"features[{i}]: {name!r} is there twice; names are unique")
        names.add(name)


def check_solver(name: str, target: NDArray[np.float64] | None) -> None:
    """One of the names of the contract, and one that can do with a free end if that is asked."""
    if name not in SOLVERS:
        raise ProblemError(f"solver: {name!r} is not known; use one of {', '.join(SOLVERS)}")
    if name == "direct" and target is None:
        raise ProblemError("solver: 'direct' needs a target, since every unit goes straight to it; give one, or use auto")


def _coefficients(values: NDArray[np.float64], name: str, size: int) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    if array.shape != (size,):
        raise ProblemError(f"{name}: has shape {array.shape}, but there are {size} features; give one number for each")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ProblemError(f"{name}[{bad[0]}]: is not a finite number")
    array += 0.0
    array.setflags(write=False)
    return array


def _units(features: tuple[str, ...], groups: tuple[tuple[str, ...], ...]) -> tuple[Unit, ...]:
    """Groups and single features in the order in which their first member is listed."""
    index = {name: i for i, name in enumerate(features)}
    group_of: dict[int, int] = {}
    for g, group in enumerate(groups):
        if not group:
            raise ProblemError(f"groups[{g}]: is empty; name the features that move together, or leave it out")
        for j, name in enumerate(group):
            if name not in index:
                raise ProblemError(f"groups[{g}][{j}]: {name!r} is not one of the features")
            if index[name] in group_of:
                raise ProblemError(f"groups[{g}][{j}]: {name!r} is already in a group; groups must not overlap")
            group_of[index[name]] = g
    units: list[Unit] = []
    placed: set[int] = set()
    for i, name in enumerate(features):
        g = group_of.get(i, -1)
        if g < 0:
            units.append(Unit(name, _single_kind(name), (i,)))
        elif g not in placed:
            placed.add(g)
            members = tuple(index[member] for member in groups[g])
            units.append(Unit(" + ".join(groups[g]), "group" if len(members) > 1 else _single_kind(name), members))
    return tuple(units)


def _single_kind(name: str) -> StepKind:
    return "baseline" if name == BASELINE else "coordinate"
