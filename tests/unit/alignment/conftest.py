"""Two models and rows, all the way to the path problem; and an oracle that scores rows one at a time, without a design."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import pytest

from coordpath_governance.alignment.change import Change, align
from coordpath_governance.alignment.layout import ModelPair, lay_out
from coordpath_governance.alignment.rare_levels import merge_rare_levels
from coordpath_governance.models import CategoricalTerm, LinearModel, NumericTerm, level_label
from coordpath_governance.paths import PathProblem, Solution, solve_problem
from coordpath_governance.paths.problem import BASELINE
from coordpath_governance.reference.collect import collect_moments
from coordpath_governance.reference.encode import ReadingPlan
from coordpath_governance.reference.moments import MIN_COUNT, Moments
from coordpath_governance.reference.sources import TableSource
from coordpath_governance.reports.make import settings_for
from coordpath_governance.reports.problem import moving_units, problem_on_moments
from coordpath_governance.reports.steps import Labels, steps_as_units


@dataclass(frozen=True)
class Aligned:
    """Everything between two models and the answer."""

    pair: ModelPair
    source: TableSource
    plan: ReadingPlan
    moments: Moments
    change: Change

    @property
    def moving(self) -> set[str]:
        return moving_units(self.change)

    @cached_property
    def problem(self) -> PathProblem:
        return problem_on_moments(self.change, settings_for(max_steps=None))

    @cached_property
    def solution(self) -> Solution:
        return solve_problem(self.problem)

    @property
    def order(self) -> tuple[str, ...]:
        return tuple(unit for units in steps_as_units(self.solution.path, Labels.of(self.change)) for unit in units)

    def beta(self, moved: Sequence[str]) -> np.ndarray:
        """The coefficients of the model between champion and candidate in which these units have moved."""
        unit_of = Labels.of(self.change).unit_of
        pairs = zip(self.problem.features, self.problem.start, self.problem.target, strict=True)
        return np.array([new if unit_of[name] in moved else old for name, old, new in pairs])

    def cost(self, moved: Sequence[str]) -> float:
        return self.problem.cost.value(self.beta(moved))


def _align(champion, candidate, frame, *, target="y", weight=None, missing="fail", min_count=MIN_COUNT) -> Aligned:
    pair = ModelPair(champion, candidate)
    source = TableSource(frame)
    plan = ReadingPlan(lay_out(pair), target, weight, (), missing)
    moments = collect_moments(source, plan).moments
    return Aligned(pair, source, plan, moments, align(pair, merge_rare_levels(pair, moments, min_count)))


class RowOracle:
    """Scores of rows by the definition of a linear model, term by term, and the centring of §2 of the design."""

    def __init__(
        self, champion: LinearModel, candidate: LinearModel, frame: pd.DataFrame, weight: str | None = None
    ) -> None:
        self.y = frame["y"].to_numpy(dtype=float)
        self.w = np.ones(len(frame)) if weight is None else frame[weight].to_numpy(dtype=float)
        rows = frame.to_dict("records")
        self.centred = any(m.has_intercept or m.intercept for m in (champion, candidate))
        self.parts = [_parts(model, rows) for model in (champion, candidate)]
        for own, other, encoder in ((0, 1, candidate), (1, 0, champion)):
            for term in encoder.categorical:
                as_number, as_level = (term.column, False), (term.column, True)
                once = (
                    as_number in self.parts[own] and as_level not in self.parts[own] and as_number not in self.parts[other]
                )
                if once and term.unknown is None:
                    self.parts[own][as_level] = self.parts[own].pop(as_number)
        self.units = sorted(set().union(*self.parts))
        self.intercepts = (champion.intercept, candidate.intercept)

    def _part(self, unit: tuple[str, bool], side: int) -> tuple[np.ndarray, float]:
        """What a column adds to every row, and how much of that belongs to the baseline."""
        part = self.parts[side].get(unit, np.zeros(len(self.y)))
        takes_mean = self.centred or unit[1]
        return part, float(self.w @ part / self.w.sum()) if takes_mean else 0.0

    def score(self, moved: Sequence[str]) -> np.ndarray:
        """Score of every row by the model in which these units have moved."""
        side = int(BASELINE in moved)
        total = np.full(len(self.y), self.intercepts[side] + sum(self._part(unit, side)[1] for unit in self.units))
        for unit in self.units:
            part, mean = self._part(unit, int(self.name(unit) in moved))
            total += part - mean
        return total

    def name(self, unit: tuple[str, bool]) -> str:
        both = (unit[0], False) in self.units and (unit[0], True) in self.units
        return f"{unit[0]} (as a category)" if unit[1] and both else unit[0]

    def cost(self, moved: Sequence[str]) -> float:
        return float(self.w @ (self.y - self.score(moved)) ** 2 / self.w.sum())

    def whole(self, side: int) -> float:
        """Mean squared error of the champion (0) or the candidate (1) as it stands, nothing centred."""
        score = self.intercepts[side] + sum(self.parts[side].values(), np.zeros(len(self.y)))
        return float(self.w @ (self.y - score) ** 2 / self.w.sum())


def _parts(model: LinearModel, rows: list[dict]) -> dict[tuple[str, bool], np.ndarray]:
    """By (column, is a category): what that term adds to every row; a row the model cannot score is a test's fault."""
    out = {}
    for term in model.numeric:
        out[term.column, False] = np.array([_numeric(term, row[term.column]) for row in rows])
    for term in model.categorical:
        effects = [term.effect(level_label(row[term.column])) for row in rows]
        assert None not in effects
        out[term.column, True] = np.array(effects)
    return out


def _numeric(term: NumericTerm, value: object) -> float:
    if value is None or math.isnan(float(value)):
        assert term.missing is not None
        return term.missing
    return term.coefficient * float(value)


def _linear(
    intercept: float = 0.0,
    slopes: dict[str, float] | None = None,
    effects: dict[str, dict[str, float]] | None = None,
    *,
    missing: dict[str, float] | None = None,
    unknown: float | None = None,
    has_intercept: bool = True,
) -> LinearModel:
    """A model in a line: slopes by column, effects by column and level."""
    return LinearModel(
        intercept,
        tuple(NumericTerm(name, value, (missing or {}).get(name)) for name, value in (slopes or {}).items()),
        tuple(
            CategoricalTerm(name, tuple(levels), tuple(levels.values()), unknown) for name, levels in (effects or {}).items()
        ),
        has_intercept=has_intercept,
    )


@pytest.fixture(scope="session")
def aligned() -> Callable[..., Aligned]:
    return _align


@pytest.fixture(scope="session")
def oracle() -> type[RowOracle]:
    return RowOracle


@pytest.fixture(scope="session")
def linear() -> Callable[..., LinearModel]:
    return _linear
