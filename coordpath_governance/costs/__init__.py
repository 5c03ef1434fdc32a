"""Costs: c(β), mean per row over the reference data."""

from coordpath_governance.costs.accumulate import evaluate_rows, overflow
from coordpath_governance.costs.families import KINDS, Family, family_of
from coordpath_governance.costs.glm import GlmCost
from coordpath_governance.costs.quadratic import QuadraticCost
from coordpath_governance.costs.rows import RowChunk, Rows, RowsInMemory

__all__ = [
    "KINDS",
    "Family",
    "GlmCost",
    "QuadraticCost",
    "RowChunk",
    "Rows",
    "RowsInMemory",
    "evaluate_rows",
    "family_of",
    "overflow",
]
