"""Walks whose values in between keep to constraints, under a quadratic cost."""
