"""Costs that are convex but not quadratic: f(set) is only known where rows were asked, and bounded everywhere else."""
