"""Solvers behind one protocol; `table` maps the contract's names to them."""
