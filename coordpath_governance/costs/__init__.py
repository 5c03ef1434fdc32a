"""Costs: c(β), mean per row over the reference data."""

from coordpath_governance.costs.families import FAMILIES, Family, FamilyKind, family_of, kind_of
from coordpath_governance.costs.glm import GlmCost
from coordpath_governance.costs.quadratic import QuadraticCost
from coordpath_governance.costs.rows import RowChunk, Rows, RowsInMemory, evaluate_rows, overflow

__all__ = [
    "FAMILIES",
    "Family",
    "FamilyKind",
    "GlmCost",
    "QuadraticCost",
    "RowChunk",
    "Rows",
    "RowsInMemory",
    "evaluate_rows",
    "family_of",
    "kind_of",
    "overflow",
]
