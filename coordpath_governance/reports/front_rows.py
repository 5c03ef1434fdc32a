"""From the models of a front and their scores to the rows of its document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.costs.glm import GlmCost
from coordpath_governance.paths import Step
from coordpath_governance.paths.front import Front
from coordpath_governance.paths.problem import PathProblem
from coordpath_governance.paths.updates.chosen_steps import ChosenSteps
from coordpath_governance.paths.updates.updates import Model, Updates
from coordpath_governance.reports.document import Move, Subject
from coordpath_governance.reports.front_document import (
    ChosenFacts,
    ChosenStep,
    DataSide,
    FrontDocument,
    ModelFacts,
    RecalibrationRow,
    SequenceRow,
    UpdateRow,
)
from coordpath_governance.reports.front_scores import Scored

__all__ = ["FrontModels", "lay_rows_out"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FrontModels:
    """All models that are scored, after champion and candidate, one per row of ``betas``; ``target`` is the candidate's."""

    updates: Updates
    chosen: ChosenSteps | None
    chosen_betas: tuple[Array, ...]
    chosen_lasso: tuple[Model, ...]
    target: Array

    @classmethod
    def of(cls, updates: Updates, chosen: ChosenSteps | None, target: Array) -> FrontModels:
        """From what was fitted."""
        return cls(
            updates,
            chosen,
            () if chosen is None else tuple(_along(updates.problem, chosen)),
            () if chosen is None else chosen.lasso,
            target,
        )

    @property
    def betas(self) -> Array:
        """In the order in which `lay_rows_out` takes their scores."""
        own = self.updates
        models = [*(update.model for update in own.best), *own.greedy, *own.lasso, *(m for _, m in own.recalibrations)]
        return np.stack([*(m.beta for m in models), *self.chosen_betas, *(m.beta for m in self.chosen_lasso)])


def _along(problem: PathProblem, chosen: ChosenSteps) -> Iterator[Array]:
    """The models of the path at every term, rests included."""
    position = {name: i for i, name in enumerate(problem.features)}
    steps = {step.k: step for step in chosen.solution.path.steps}
    beta = problem.start.copy()
    for k in range(1, chosen.solution.path.terms + 1):
        for move in steps[k].moves if k in steps else ():
            beta[position[move.feature]] = move.after
        yield beta.copy()


def lay_rows_out(
    models: FrontModels,
    scores: Sequence[Scored],
    front: Front,
    *,
    subject: Subject,
    loss: str,
    sides: tuple[DataSide, DataSide],
    in_sample: bool,
) -> FrontDocument:
    """The document. ``scores`` are of champion, candidate and the models, in their order."""
    own, problem = models.updates, models.updates.problem
    first = own.best[0].model.cost
    champion, candidate, *others = scores
    scored = iter(others)
    names = [unit.label for unit in problem.units]

    def facts(cost: float) -> dict[str, Any]:
        return _facts(cost, next(scored))

    def sequence(found: Sequence[Model]) -> tuple[SequenceRow, ...]:
        return tuple(
            SequenceRow(steps=k, moved=tuple(names[u] for u in model.units), **facts(model.cost))
            for k, model in enumerate(found)
        )

    updates = tuple(
        UpdateRow(
            steps=update.size,
            moved=() if update.order is None else tuple(step.label for step in update.order.path.steps),
            changes=() if update.order is None else _moves(update.order.path.steps),
            costs=() if update.order is None else update.order.path.costs(),
            status=update.status,
            gap=update.gap,
            lower_bound=update.lower_bound,
            order_status=None if update.order is None else update.order.status,
            **facts(update.model.cost),
        )
        for update in own.best
    )
    greedy, lasso = sequence(own.greedy), sequence(own.lasso)
    recalibrations = tuple(
        RecalibrationRow(name=name, changes=_changes(problem, model.beta), **facts(model.cost))
        for name, model in own.recalibrations
    )
    curve = front.to_dict()
    content = {
        **curve,
        "subject": subject,
        "loss": loss,
        "fit": sides[0],
        "reference": sides[1],
        "in_sample": in_sample,
        "champion": ModelFacts(**_facts(first, champion)),
        "candidate": ModelFacts(**_facts(_cost(problem, models.target), candidate)),
        "updates": updates,
        "greedy": greedy,
        "lasso": lasso,
        "recalibrations": recalibrations,
        "chosen": None if models.chosen is None else _chosen(models, models.chosen, list(scored)),
    }
    return FrontDocument.model_validate(content)


def _facts(cost: float, score: Scored) -> dict[str, Any]:
    return {
        "fit_cost": cost,
        "reference_cost": score.cost,
        "difference": score.difference,
        "difference_se": score.difference_se,
        "share": score.share,
        "share_se": score.share_se,
    }


def _cost(problem: PathProblem, beta: Array) -> float:
    cost = problem.cost
    return float(cost.values(beta)[0]) if isinstance(cost, GlmCost) else problem.quadratic.value(beta)


def _moves(steps: Sequence[Step]) -> tuple[Move, ...]:
    """What some steps of a path move, one after the other."""
    moves = (move for step in steps for move in step.moves)
    return tuple(Move(feature=move.feature, from_=move.before, to=move.after) for move in moves)


def _changes(problem: PathProblem, beta: Array) -> tuple[Move, ...]:
    """Every coefficient that differs from the champion's."""
    return tuple(
        Move(feature=name, from_=float(before), to=float(after))
        for name, before, after in zip(problem.features, problem.start, beta, strict=True)
        if before != after
    )


def _chosen(models: FrontModels, chosen: ChosenSteps, scores: list[Scored]) -> ChosenFacts:
    path, chances = chosen.solution.path, chosen.probabilities
    ours, lasso = scores[: len(chances)], scores[len(chances) :]
    by_term = {step.k: step for step in path.steps}
    steps = []
    for k, (chance, cost, score) in enumerate(zip(chances, path.costs(), ours, strict=True), start=1):
        step = by_term.get(k)
        other = ModelFacts(**_facts(models.chosen_lasso[k - 1].cost, lasso[k - 1]))
        steps.append(
            ChosenStep(
                k=k,
                probability=chance,
                moved=() if step is None else (step.label,),
                changes=() if step is None else _moves((step,)),
                lasso=other,
                **_facts(cost, score),
            )
        )
    return ChosenFacts(
        steps=tuple(steps),
        status=chosen.solution.status,
        gap=chosen.solution.gap,
        fit_expected=chosen.solution.objective,
        reference_expected=_expected(chances, ours),
        numbers=chosen.numbers,
        lasso_fit_expected=chosen.lasso_expected,
        lasso_reference_expected=_expected(chances, lasso),
        lasso_numbers=chosen.lasso_numbers,
    )


def _expected(chances: Sequence[float], scores: Sequence[Scored]) -> float:
    return math.fsum(chance * score.cost for chance, score in zip(chances, scores, strict=True))
