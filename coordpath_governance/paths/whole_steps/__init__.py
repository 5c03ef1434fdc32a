"""Walks by whole steps: coefficients that move by a whole number of spacings at a time."""
