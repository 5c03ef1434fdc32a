"""Fronts beyond weighted sums: for each sequence of units the least cost at every loss, and the least of them all."""
