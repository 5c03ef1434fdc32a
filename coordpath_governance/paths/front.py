"""Front: the price of interpretability, as the models between which loss and cost can be traded.

For every λ > 0 the minimiser of c(β_K) + λ Σₖ αₖ c(βₖ) over all paths of K = 0 … N steps is Pareto-optimal; the models
found this way are the *supported* ones. Along one sequence of units the best coefficients change continuously with λ, so
a front is a list of arcs and single models, and what is listed is a sample whose density the resolution states.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordpath_governance.paths.certificate import OPTIMAL

if TYPE_CHECKING:
    from coordpath_governance.paths.certificate import Certificate, Status
    from coordpath_governance.paths.path import Path
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["FRONT_SCHEMA", "Front", "FrontPoint"]

FRONT_SCHEMA = "coordpath.front/1"


@dataclass(frozen=True, eq=False)
class FrontPoint:
    """A model of the front and the path to it.

    ``lam`` is the interval of λ in which no other listed model is better. The path is the best found at ``solved_at``, and
    ``certificate`` is that of c(β_K) + λ·loss there; both are None for the start, which needs no path.
    """

    cost: float
    loss: float
    path: Path
    coefficients: tuple[float, ...]
    solved_at: float | None = None
    certificate: Certificate | None = None
    lam: tuple[float, float] = (0.0, math.inf)

    @property
    def status(self) -> Status:
        """That of the certificate. The start is the best model from some λ on, which is proved."""
        return OPTIMAL if self.certificate is None else self.certificate.status

    def value(self, lam: float) -> float:
        """The weighted sum cost + λ·loss."""
        return self.cost + lam * self.loss

    def to_dict(self) -> dict[str, object]:
        """As in the front document; an endless interval of λ ends in null."""
        return {
            "lambda": {"from": self.lam[0], "to": self.lam[1] if math.isfinite(self.lam[1]) else None},
            "solved_at": self.solved_at,
            "terms": self.path.terms,
            "cost": self.cost,
            "loss": self.loss,
            "coefficients": list(self.coefficients),
            "status": self.status,
            "gap": 0.0 if self.certificate is None else self.certificate.gap,
            "steps": [step.to_dict() for step in self.path.steps],
        }


@dataclass(frozen=True, eq=False)
class Front:
    """Supported Pareto-optimal models by growing loss, the start first.

    ``shortfall``: whatever λ > 0, no model reached in at most N steps has a smaller c + λ·loss than the best listed one
    by more than this, in the cost's unit. `optimal` if that is within the resolution, a part of c(start) − min c.
    """

    problem: PathProblem
    points: tuple[FrontPoint, ...]
    resolution: float
    shortfall: float
    status: Status

    def to_dict(self) -> dict[str, object]:
        """The document `coordpath.front/1`, of plain numbers and texts."""
        return {
            "schema": FRONT_SCHEMA,
            "features": list(self.problem.features),
            "start": self.problem.start.tolist(),
            "weights": self.problem.weights.to_dict(),
            "max_terms": self.problem.most_terms,
            "resolution": self.resolution,
            "shortfall": self.shortfall,
            "status": self.status,
            "points": [point.to_dict() for point in self.points],
        }
