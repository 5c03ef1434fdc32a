"""Path: the steps from one model to the other, with what each one costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Move", "Path", "Step", "StepKind"]

StepKind = Literal["coordinate", "group", "function", "interaction", "baseline", "rest"]


@dataclass(frozen=True)
class Move:
    """One coefficient, before and after."""

    feature: str
    before: float
    after: float

    def to_dict(self) -> dict[str, object]:
        """As in the path document."""
        return {"feature": self.feature, "from": self.before, "to": self.after}


@dataclass(frozen=True, kw_only=True)
class Step:
    """βₖ₋₁ → βₖ: what moved, c(βₖ), and by how much that differs from the cost before it."""

    k: int
    kind: StepKind
    label: str
    moves: tuple[Move, ...]
    cost: float
    delta: float

    def to_dict(self) -> dict[str, object]:
        """As in the path document; ``from`` and ``to`` only where one coefficient moves."""
        document: dict[str, object] = {"k": self.k, "kind": self.kind, "feature": self.label}
        if len(self.moves) == 1:
            document |= {"from": self.moves[0].before, "to": self.moves[0].after}
        moves = [move.to_dict() for move in self.moves]
        return document | {"moves": moves, "cost": self.cost, "delta": self.delta}


@dataclass(frozen=True)
class Path:
    """Steps in order; a term at which the path rests has no step, so ``k`` may have gaps up to ``terms``."""

    start_cost: float
    steps: tuple[Step, ...]
    terms: int

    def costs(self) -> tuple[float, ...]:
        """c(β₁) … c(β_K), resting terms included."""
        at = {step.k: step.cost for step in self.steps}
        costs: list[float] = []
        current = self.start_cost
        for k in range(1, self.terms + 1):
            current = at.get(k, current)
            costs.append(current)
        return tuple(costs)
