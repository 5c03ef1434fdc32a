"""Alignment: two models on one canonical set of coordinates, so that the same function gives an empty path."""
