"""Walks under a cost on rows: units may move again, rest, or end anywhere, to values found by Newton's method."""
