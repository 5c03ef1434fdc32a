"""Reference data: rows in one pass to moments, and the figures that only rows can give."""
