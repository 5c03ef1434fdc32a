"""Paths with more terms than changed units: values in between, searched and bounded."""
