"""Costs: c(β), mean per row over the reference data."""

from coordpath_governance.costs.quadratic import QuadraticCost

__all__ = ["QuadraticCost"]
